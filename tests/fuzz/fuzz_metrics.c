/* Any text as a RUN's metrics: an error, or curves; and a training that goes on writes behind what it keeps.
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "learn/store/history.h"
#include "learn/store/metrics.h"
#include "memory_folder.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static char folder[MEMORY_FOLDER], path[MEMORY_FOLDER + 16];

static void clean(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (system(command)) fputs("the folder stays\n", stderr);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    if (!path[0]) {
        make_memory_folder(folder, "metrics");
        snprintf(path, sizeof path, "%s/metrics.csv", folder);
        atexit(clean);
    }
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, length, file) != length || fclose(file)) abort();
    lud_arena *arena = lud_arena_create(0);
    lud_history history;
    lud_error error = {0};
    if (lud_history_read(arena, folder, "loss", &history, &error) && !error.text[0]) abort();
    error = (lud_error){0};
    if (lud_history_read_over(arena, folder, "seconds", "loss", &history, &error) && !error.text[0]) abort();
    const char *names = NULL;
    (void)lud_history_columns(arena, folder, &names, NULL);
    lud_arena_destroy(arena);
    if (length % 8) return 0; /* files are written: now and then is enough */
    static const lud_metric columns[] = {{"loss", NULL, "loss"}};
    lud_metrics *metrics = NULL;
    const double row[] = {0.5};
    error = (lud_error){0};
    if (lud_metrics_open(folder, columns, 1, 2, &metrics, &error)) {
        if (!error.text[0]) abort();
        return 0;
    }
    if (lud_metrics_write(metrics, 2, 1.0, row, &error)) abort();
    lud_metrics_close(metrics, NULL);
    return 0;
}
