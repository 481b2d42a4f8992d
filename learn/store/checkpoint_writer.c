/* The thread that writes checkpoints beside the training. */
#include "learn/store/checkpoint.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct lud_checkpoint_writer {
    char *path;
    lud_checkpoint
        *checkpoint; /* filled by the training, written by the thread; one of them owns it at a time */
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool busy, stop;
    lud_error error; /* of the last write */
};

static void *write_loop(void *argument) {
    lud_checkpoint_writer *writer = argument;
    pthread_mutex_lock(&writer->mutex);
    for (;;) {
        while (!writer->busy && !writer->stop) pthread_cond_wait(&writer->changed, &writer->mutex);
        if (!writer->busy) break;
        pthread_mutex_unlock(&writer->mutex);
        lud_error error = {0};
        lud_checkpoint_write(writer->checkpoint, writer->path, &error);
        pthread_mutex_lock(&writer->mutex);
        writer->error = error;
        writer->busy = false;
        pthread_cond_broadcast(&writer->changed);
    }
    pthread_mutex_unlock(&writer->mutex);
    return NULL;
}

/* Removes `NAME.partial-PID` and `NAME.previous.EXT.partial-PID` of processes that no longer exist. */
static void remove_leftovers(const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    char *previous = lud_checkpoint_previous_path(name);
    DIR *directory = folder && previous ? opendir(folder) : NULL;
    const struct dirent *entry;
    while (directory && (entry = readdir(directory))) {
        const char *mark = strstr(entry->d_name, ".partial-");
        if (!mark) continue;
        const size_t stem = (size_t)(mark - entry->d_name);
        const bool ours = (stem == strlen(name) && memcmp(entry->d_name, name, stem) == 0) ||
                          (stem == strlen(previous) && memcmp(entry->d_name, previous, stem) == 0);
        const long pid = strtol(mark + strlen(".partial-"), NULL, 10);
        if (ours && pid > 0 && kill((pid_t)pid, 0) != 0 && errno == ESRCH)
            unlinkat(dirfd(directory), entry->d_name, 0);
    }
    if (directory) closedir(directory);
    free(previous);
    free(folder);
}

lud_status lud_checkpoint_writer_create(const char *path, lud_checkpoint_writer **writer, lud_error *error) {
    *writer = NULL;
    lud_checkpoint_writer *created = calloc(1, sizeof *created);
    if (created) {
        created->path = strdup(path);
        created->checkpoint = lud_checkpoint_create();
    }
    bool ok = created && created->path && created->checkpoint;
    if (ok) {
        pthread_mutex_init(&created->mutex, NULL);
        pthread_cond_init(&created->changed, NULL);
        /* signals belong to the training thread: a Ctrl-C must not land in the middle of a write */
        sigset_t all, old;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &old);
        ok = pthread_create(&created->thread, NULL, write_loop, created) == 0;
        pthread_sigmask(SIG_SETMASK, &old, NULL);
    }
    if (!ok) {
        if (created) {
            lud_checkpoint_destroy(created->checkpoint);
            free(created->path);
        }
        free(created);
        return lud_fail(error, LUD_ERROR_MEMORY, "%s: cannot start the checkpoint writer", path);
    }
    remove_leftovers(path);
    *writer = created;
    return LUD_OK;
}

lud_checkpoint *lud_checkpoint_writer_begin(lud_checkpoint_writer *writer) {
    pthread_mutex_lock(&writer->mutex);
    const bool busy = writer->busy;
    pthread_mutex_unlock(&writer->mutex);
    if (busy) return NULL;
    lud_checkpoint_clear(writer->checkpoint);
    return writer->checkpoint;
}

lud_status lud_checkpoint_writer_submit(lud_checkpoint_writer *writer, lud_error *error) {
    LUD_TRY(lud_checkpoint_status(writer->checkpoint, error));
    LUD_TRY(lud_checkpoint_check_finite(writer->checkpoint, error));
    pthread_mutex_lock(&writer->mutex);
    writer->busy = true;
    pthread_cond_broadcast(&writer->changed);
    pthread_mutex_unlock(&writer->mutex);
    return LUD_OK;
}

lud_status lud_checkpoint_writer_wait(lud_checkpoint_writer *writer, lud_error *error) {
    pthread_mutex_lock(&writer->mutex);
    while (writer->busy) pthread_cond_wait(&writer->changed, &writer->mutex);
    const lud_error last = writer->error;
    writer->error = (lud_error){0};
    pthread_mutex_unlock(&writer->mutex);
    if (last.status) return lud_fail(error, last.status, "%s", last.text);
    return LUD_OK;
}

void lud_checkpoint_writer_destroy(lud_checkpoint_writer *writer) {
    if (!writer) return;
    pthread_mutex_lock(&writer->mutex);
    writer->stop = true;
    pthread_cond_broadcast(&writer->changed);
    pthread_mutex_unlock(&writer->mutex);
    pthread_join(writer->thread, NULL);
    pthread_mutex_destroy(&writer->mutex);
    pthread_cond_destroy(&writer->changed);
    lud_checkpoint_destroy(writer->checkpoint);
    free(writer->path);
    free(writer);
}
