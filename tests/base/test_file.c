/* Files: whole reads, atomic replacement, folders. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "full_disk.h"

static char folder[] = "/tmp/ludus-file-XXXXXX";
static lud_arena *arena;

static int setup(void **state) {
    (void)state;
    arena = lud_arena_create(0);
    return !arena || !mkdtemp(folder);
}

static int teardown(void **state) {
    (void)state;
    char command[100];
    lud_arena_destroy(arena);
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static const char *in_folder(const char *name) {
    char path[300];
    int n = snprintf(path, sizeof path, "%s/%s", folder, name);
    return lud_arena_text(arena, path, (size_t)n);
}

static int count_files(void) {
    int n = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; (e = readdir(d));) n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static void expect_content(const char *path, const char *text) {
    char *bytes;
    size_t length;
    lud_error error = {0};
    if (lud_file_read(arena, path, 0, &bytes, &length, &error)) fail_msg("%s", error.text);
    assert_int_equal(length, strlen(text));
    assert_string_equal(bytes, text);
}

static void test_replace(void **state) {
    (void)state;
    const char *path = in_folder("a.txt");
    lud_error error = {0};
    lud_file_writer writer;
    assert_int_equal(lud_file_write(path, "old", 3, &error), LUD_OK);
    assert_int_equal(lud_file_write_begin(&writer, path, &error), LUD_OK);
    fputs("new and longer", writer.stream);
    fflush(writer.stream);
    expect_content(path, "old"); /* until it is complete, the old file stands */
    assert_int_equal(count_files(), 2);
    assert_int_equal(lud_file_write_commit(&writer, &error), LUD_OK);
    lud_file_write_abandon(&writer);
    expect_content(path, "new and longer");
    assert_int_equal(count_files(), 1);
    assert_int_equal(lud_file_write_begin(&writer, path, &error), LUD_OK);
    fputs("given up", writer.stream);
    lud_file_write_abandon(&writer);
    expect_content(path, "new and longer");
    assert_int_equal(count_files(), 1);
    assert_int_equal(lud_file_write(path, "", 0, &error), LUD_OK);
    expect_content(path, "");
}

static void test_failures(void **state) {
    (void)state;
    lud_error error = {0};
    lud_file_writer writer;
    char *bytes, expected[400];
    size_t length;
    const char *lost = in_folder("none/a.txt");
    assert_int_equal(lud_file_write_begin(&writer, lost, &error), LUD_ERROR_IO);
    snprintf(expected, sizeof expected, "%s: cannot be written: No such file or directory", lost);
    assert_string_equal(error.text, expected);
    lud_file_write_abandon(&writer);
    assert_int_equal(lud_file_read(arena, lost, 0, &bytes, &length, &error), LUD_ERROR_INPUT);
    snprintf(expected, sizeof expected, "%s: no such file", lost);
    assert_string_equal(error.text, expected);
    assert_int_equal(lud_file_read(arena, folder, 0, &bytes, &length, &error), LUD_ERROR_INPUT);
    snprintf(expected, sizeof expected, "%s: expected a file, found a folder", folder);
    assert_string_equal(error.text, expected);
    const char *path = in_folder("b.txt");
    assert_int_equal(lud_file_write(path, "0123456789", 10, &error), LUD_OK);
    assert_int_equal(lud_file_read(arena, path, 9, &bytes, &length, &error), LUD_ERROR_INPUT);
    snprintf(expected, sizeof expected, "%s: expected at most 9 bytes, found 10", path);
    assert_string_equal(error.text, expected);
    assert_int_equal(lud_file_read(arena, path, 10, &bytes, &length, &error), LUD_OK);
    /* a full disk: nothing of the old file is lost, and nothing is left behind */
    const char *full = in_folder("full");
    char partial[400];
    snprintf(partial, sizeof partial, "%s.partial-%ld", full, (long)getpid());
    assert_int_equal(lud_file_write(full, "old", 3, &error), LUD_OK);
    full_disk(2);
    assert_int_equal(lud_file_write(full, "new", 3, &error), LUD_ERROR_IO);
    empty_disk();
    snprintf(expected, sizeof expected, "%s: cannot be written: " FULL_DISK, full);
    assert_string_equal(error.text, expected);
    assert_false(lud_file_exists(partial));
    expect_content(full, "old");
    /* a folder stands where the file should be */
    assert_int_equal(lud_folder_make(in_folder("d/e"), &error), LUD_OK);
    assert_int_equal(lud_file_write(in_folder("d"), "x", 1, &error), LUD_ERROR_IO);
    assert_true(lud_folder_exists(in_folder("d/e")));
}

static void test_folders(void **state) {
    (void)state;
    lud_error error = {0};
    assert_int_equal(lud_folder_make(in_folder("x/y/z"), &error), LUD_OK);
    assert_int_equal(lud_folder_make(in_folder("x/y/z/"), &error), LUD_OK);
    assert_true(lud_folder_exists(in_folder("x/y/z")));
    assert_false(lud_file_exists(in_folder("x/y/z")));
    const char *path = in_folder("x/file");
    assert_int_equal(lud_file_write(path, "1", 1, &error), LUD_OK);
    assert_true(lud_file_exists(path));
    assert_false(lud_folder_exists(path));
    char expected[400];
    assert_int_equal(lud_folder_make(path, &error), LUD_ERROR_INPUT);
    snprintf(expected, sizeof expected, "%s: expected a folder, found a file", path);
    assert_string_equal(error.text, expected);
    assert_int_equal(lud_folder_make(in_folder("x/file/below"), &error), LUD_ERROR_IO);
    assert_string_equal(lud_path_beside(arena, "a/b.yaml", "c.txt"), "a/c.txt");
    assert_string_equal(lud_path_beside(arena, "b.yaml", "c.txt"), "c.txt");
    assert_string_equal(lud_path_beside(arena, "a/b.yaml", "/c.txt"), "/c.txt");
    assert_string_equal(lud_path_beside(arena, "/b.yaml", "c.txt"), "/c.txt");
}

/* Lets the process open no more files than it has, until `lift`. */
static struct rlimit old_limit;
static void forbid_opening(int below) {
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old_limit), 0);
    struct rlimit few = {(rlim_t)below, old_limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
}
static void allow_opening(void) {
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old_limit), 0);
}

static void expect_message(const lud_error *error, const char *path, const char *message) {
    char expected[400];
    snprintf(expected, sizeof expected, "%s: %s", path, message);
    if (strncmp(error->text, expected, strlen(expected)) != 0)
        fail_msg("expected '%s', found '%s'", expected, error->text);
}

/* Each system call that may fail, and the message with its name. */
static void test_system_errors(void **state) {
    (void)state;
    lud_error error = {0};
    lud_file_writer writer;
    char *bytes;
    size_t length;
    const char *path = in_folder("there");
    assert_int_equal(lud_file_write(path, "1", 1, &error), LUD_OK);
    forbid_opening(0);
    lud_status status = lud_file_read(arena, path, 0, &bytes, &length, &error);
    allow_opening();
    assert_int_equal(status, LUD_ERROR_IO);
    expect_message(&error, path, "cannot be opened: Too many open files");
    if (lud_file_exists("/proc/self/mem")) { /* nothing is mapped at address 0 */
        assert_int_equal(lud_file_read(arena, "/proc/self/mem", 0, &bytes, &length, &error), LUD_ERROR_IO);
        expect_message(&error, "/proc/self/mem", "cannot be read: ");
    }
    /* a folder where the file should be, and one that cannot be made */
    assert_int_equal(lud_folder_make(in_folder("folder/below"), &error), LUD_OK);
    assert_int_equal(lud_file_write(in_folder("folder"), "x", 1, &error), LUD_ERROR_IO);
    expect_message(&error, in_folder("folder"), "cannot be replaced: ");
    assert_int_equal(lud_folder_make(in_folder("there/below"), &error), LUD_ERROR_IO);
    expect_message(&error, in_folder("there/below"), "cannot be made: Not a directory");
    /* the new file is there, but its name may not survive a power cut */
    assert_int_equal(lud_file_write_begin(&writer, path, &error), LUD_OK);
    fputs("2", writer.stream);
    forbid_opening(fileno(writer.stream));
    status = lud_file_write_commit(&writer, &error);
    allow_opening();
    assert_int_equal(status, LUD_ERROR_IO);
    expect_message(&error, path, "its folder cannot be flushed to disk: ");
    expect_content(path, "2");
    /* more bytes than a stream holds back */
    static char much[1 << 20];
    full_disk(1 << 16);
    assert_int_equal(lud_file_write(path, much, sizeof much, &error), LUD_ERROR_IO);
    empty_disk();
    expect_message(&error, path, "cannot be written: " FULL_DISK);
    expect_content(path, "2");
}

/* Somebody has laid links where files will be written: what they lead to stays as it is. */
static void test_links(void **state) {
    (void)state;
    lud_error error = {0};
    char partial[400];
    const char *path = in_folder("linked"), *treasure = in_folder("treasure");
    assert_int_equal(lud_file_write(treasure, "gold", 4, &error), LUD_OK);
    snprintf(partial, sizeof partial, "%s.partial-%ld", path, (long)getpid());
    assert_int_equal(symlink(treasure, partial), 0);
    assert_int_equal(symlink(treasure, path), 0);
    assert_int_equal(lud_file_write(path, "lead", 4, &error), LUD_OK);
    expect_content(path, "lead");
    expect_content(treasure, "gold");
    struct stat info;
    assert_int_equal(lstat(path, &info), 0);
    assert_true(S_ISREG(info.st_mode));
}

/* Files that killed processes left behind go; those of the living, and what only looks alike, stay. */
static void test_leftovers(void **state) {
    (void)state;
    lud_error error = {0};
    char dead[400], alive[400], own[400];
    assert_int_equal(lud_folder_make(in_folder("run"), &error), LUD_OK);
    const pid_t gone = fork(), child = gone ? fork() : 0;
    if (gone == 0) _exit(0);
    if (child == 0) {
        pause();
        _exit(0);
    }
    assert_int_equal(waitpid(gone, NULL, 0), gone);
    const char *path = in_folder("run/a.bin");
    snprintf(dead, sizeof dead, "%s.partial-%ld", path, (long)gone);
    snprintf(alive, sizeof alive, "%s.partial-%ld", path, (long)child);
    snprintf(own, sizeof own, "%s.partial-%ld", path, (long)getpid());
    const char *const files[] = {dead, alive, in_folder("run/notes.partial-by-hand"), in_folder("run/a.bin"),
                                 in_folder("run/.partial-1")};
    for (int i = 0; i < 5; i++) assert_int_equal(lud_file_write(files[i], "x", 1, &error), LUD_OK);
    lud_file_writer writer; /* this process is at it */
    assert_int_equal(lud_file_write_begin(&writer, path, &error), LUD_OK);
    assert_int_equal(lud_folder_remove_leftovers(in_folder("run"), "b.bin"), 0);
    assert_int_equal(lud_folder_remove_leftovers(in_folder("run"), NULL), 1);
    assert_false(lud_file_exists(dead));
    for (int i = 1; i < 5; i++) assert_true(lud_file_exists(files[i]));
    assert_true(lud_file_exists(own));
    assert_int_equal(lud_file_write_commit(&writer, &error), LUD_OK);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    /* a folder that was being copied goes with all that is in it */
    snprintf(dead, sizeof dead, "%s.partial-%ld", in_folder("run/files"), (long)gone);
    assert_int_equal(lud_folder_make(dead, &error), LUD_OK);
    char deep[440];
    snprintf(deep, sizeof deep, "%s/deep/er", dead);
    assert_int_equal(lud_folder_make(deep, &error), LUD_OK);
    strcat(deep, "/file");
    assert_int_equal(lud_file_write(deep, "x", 1, &error), LUD_OK);
    assert_int_equal(lud_folder_remove_leftovers(in_folder("run"), NULL), 2);
    assert_false(lud_folder_exists(dead));
    assert_false(lud_file_exists(alive));
}

static void test_stamp(void **state) {
    (void)state;
    lud_error error = {0};
    const char *path = in_folder("stamped");
    assert_true(lud_file_stamp(path) == 0);
    assert_int_equal(lud_file_write(path, "1", 1, &error), LUD_OK);
    uint64_t first = lud_file_stamp(path);
    assert_true(first != 0 && lud_file_stamp(path) == first);
    assert_int_equal(link(path, in_folder("kept")), 0); /* so that its number is not given to the next */
    assert_int_equal(lud_file_write(path, "2", 1, &error), LUD_OK);
    assert_true(lud_file_stamp(path) != first);
    assert_true(lud_file_stamp(path) != 0);
}

static void test_pipe(void **state) {
    (void)state;
    const char *path = in_folder("pipe");
    char *bytes;
    size_t length;
    lud_error error = {0};
    assert_int_equal(mkfifo(path, 0600), 0); /* nobody will ever write into it */
    errno = 0;
    assert_null(lud_file_stream(path));
    assert_int_equal(errno, EINVAL);
    assert_int_equal(lud_file_descriptor(path), -1);
    assert_int_equal(errno, EINVAL);
    assert_null(lud_file_stream("/tmp"));
    assert_int_equal(errno, EISDIR);
    assert_null(lud_file_stream("/no such file"));
    assert_int_equal(errno, ENOENT);
    assert_int_equal(lud_file_read(arena, path, 0, &bytes, &length, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "expected a regular file, found a pipe, a socket or a device"));
    assert_int_equal(lud_file_read(arena, "/dev/zero", 0, &bytes, &length, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "found a pipe, a socket or a device"));
}

static void give_up(int number) {
    (void)number;
    static const char message[] = "waited for the other end of a pipe\n";
    _exit(write(STDERR_FILENO, message, sizeof message - 1) > 0 ? 1 : 2);
}

/* Pipes lie where files will be written, or where killed processes left theirs: nobody waits for readers. */
static void test_pipes_give_way(void **state) {
    (void)state;
    lud_error error = {0};
    char partial[400];
    struct stat info;
    signal(SIGALRM, give_up);
    alarm(30);
    const char *path = in_folder("piped");
    snprintf(partial, sizeof partial, "%s.partial-%ld", path, (long)getpid());
    assert_int_equal(mkfifo(partial, 0600), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(lud_file_write(path, "lead", 4, &error), LUD_OK);
    expect_content(path, "lead");

    const char *log = in_folder("log");
    for (int how = 0; how < 2; how++) {
        if (how) assert_int_equal(symlink(path, log), 0);
        if (!how) assert_int_equal(mkfifo(log, 0600), 0);
        FILE *stream = lud_file_own_stream(log, true);
        assert_non_null(stream);
        assert_int_equal(fputs("one", stream) < 0 || fclose(stream), 0);
        stream = lud_file_own_stream(log, true); /* what is a file stays, with what is in it */
        assert_non_null(stream);
        assert_int_equal(fputs(" two", stream) < 0 || fclose(stream), 0);
        expect_content(log, "one two");
        assert_int_equal(unlink(log), 0);
    }
    expect_content(path, "lead");
    const int descriptor = lud_file_own(path, O_RDWR | O_TRUNC);
    assert_true(descriptor >= 0 && fstat(descriptor, &info) == 0 && info.st_size == 0);
    assert_int_equal(write(descriptor, "iron", 4), 4);
    assert_int_equal(close(descriptor), 0);
    expect_content(path, "iron");

    assert_int_equal(lud_file_own("/tmp", O_RDWR), -1);
    assert_int_equal(errno, EISDIR);
    assert_int_equal(lud_file_own("/dev/null", O_WRONLY), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(stat("/dev/null", &info), 0); /* what belongs to the machine stays */

    const pid_t gone = fork();
    if (gone == 0) _exit(0);
    assert_int_equal(waitpid(gone, NULL, 0), gone);
    snprintf(partial, sizeof partial, "%s.partial-%ld", path, (long)gone);
    assert_int_equal(mkfifo(partial, 0600), 0);
    assert_int_equal(lud_file_remove_leftovers(path), 1);
    assert_int_equal(lstat(partial, &info), -1);
    alarm(0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replace),       cmocka_unit_test(test_failures),
        cmocka_unit_test(test_folders),       cmocka_unit_test(test_links),
        cmocka_unit_test(test_leftovers),     cmocka_unit_test(test_system_errors),
        cmocka_unit_test(test_stamp),         cmocka_unit_test(test_pipe),
        cmocka_unit_test(test_pipes_give_way)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
