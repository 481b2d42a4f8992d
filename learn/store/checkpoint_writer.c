/* The thread that writes checkpoints beside the training. */
#include "learn/store/checkpoint.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FILES = 2 };

/* One of the files. Its checkpoint is filled by the training and written by the thread; one of them owns it
 * at a time. */
typedef struct slot {
    char *path;
    lud_checkpoint *checkpoint;
    bool filled; /* and not yet in the file */
} slot;

struct lud_checkpoint_writer {
    slot slots[MOST_FILES];
    int n;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool busy, stop;
    lud_error error; /* of the last write */
};

/* In order: a file is not written when one before it could not be, which is tried again the next time. */
static void write_all(lud_checkpoint_writer *writer, lud_error *error) {
    for (int i = 0; i < writer->n; i++) {
        slot *s = &writer->slots[i];
        if (!s->filled) continue;
        if (lud_checkpoint_write(s->checkpoint, s->path, error)) return;
        s->filled = false;
    }
}

static void *write_loop(void *argument) {
    lud_checkpoint_writer *writer = argument;
    pthread_mutex_lock(&writer->mutex);
    for (;;) {
        while (!writer->busy && !writer->stop) pthread_cond_wait(&writer->changed, &writer->mutex);
        if (!writer->busy) break;
        pthread_mutex_unlock(&writer->mutex);
        lud_error error = {0};
        write_all(writer, &error);
        pthread_mutex_lock(&writer->mutex);
        writer->error = error;
        writer->busy = false;
        pthread_cond_broadcast(&writer->changed);
    }
    pthread_mutex_unlock(&writer->mutex);
    return NULL;
}

static void free_slots(lud_checkpoint_writer *writer) {
    for (int i = 0; i < writer->n; i++) {
        lud_checkpoint_destroy(writer->slots[i].checkpoint);
        free(writer->slots[i].path);
    }
    free(writer);
}

lud_status lud_checkpoint_writer_create(const char *const *paths, int n, lud_checkpoint_writer **writer,
                                        lud_error *error) {
    *writer = NULL;
    lud_checkpoint_writer *created = calloc(1, sizeof *created);
    bool ok = created && n <= MOST_FILES;
    for (int i = 0; ok && i < n; i++) {
        created->n++;
        created->slots[i] = (slot){.path = strdup(paths[i]), .checkpoint = lud_checkpoint_create()};
        ok = created->slots[i].path && created->slots[i].checkpoint;
    }
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
        if (created) free_slots(created);
        return lud_fail(error, LUD_ERROR_MEMORY, "%s: cannot start the checkpoint writer", paths[0]);
    }
    *writer = created;
    return LUD_OK;
}

bool lud_checkpoint_writer_busy(lud_checkpoint_writer *writer) {
    pthread_mutex_lock(&writer->mutex);
    const bool busy = writer->busy;
    pthread_mutex_unlock(&writer->mutex);
    return busy;
}

lud_checkpoint *lud_checkpoint_writer_begin(lud_checkpoint_writer *writer, int file) {
    if (lud_checkpoint_writer_busy(writer)) return NULL;
    slot *s = &writer->slots[file];
    lud_checkpoint_clear(s->checkpoint);
    s->filled = true;
    return s->checkpoint;
}

void lud_checkpoint_writer_exchange(lud_checkpoint_writer *writer, int file, lud_checkpoint **filled) {
    slot *s = &writer->slots[file];
    lud_checkpoint *own = s->checkpoint;
    s->checkpoint = *filled;
    s->filled = true;
    *filled = own;
}

lud_status lud_checkpoint_writer_submit(lud_checkpoint_writer *writer, lud_error *error) {
    lud_status status = LUD_OK;
    for (int i = 0; i < writer->n && !status; i++) {
        slot *s = &writer->slots[i];
        if (!s->filled) continue;
        status = lud_checkpoint_status(s->checkpoint, error);
        if (!status) status = lud_checkpoint_check_finite(s->checkpoint, error);
        s->filled = !status;
    }
    if (status) return status;
    pthread_mutex_lock(&writer->mutex);
    writer->busy = true;
    pthread_cond_broadcast(&writer->changed);
    pthread_mutex_unlock(&writer->mutex);
    return LUD_OK;
}

lud_status lud_checkpoint_writer_failure(lud_checkpoint_writer *writer, lud_error *error) {
    pthread_mutex_lock(&writer->mutex);
    const lud_error last = writer->error;
    if (!writer->busy) writer->error = (lud_error){0};
    const bool known = !writer->busy && last.status;
    pthread_mutex_unlock(&writer->mutex);
    return known ? lud_fail(error, last.status, "%s", last.text) : LUD_OK;
}

lud_status lud_checkpoint_writer_wait(lud_checkpoint_writer *writer, lud_error *error) {
    pthread_mutex_lock(&writer->mutex);
    while (writer->busy) pthread_cond_wait(&writer->changed, &writer->mutex);
    pthread_mutex_unlock(&writer->mutex);
    return lud_checkpoint_writer_failure(writer, error);
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
    free_slots(writer);
}
