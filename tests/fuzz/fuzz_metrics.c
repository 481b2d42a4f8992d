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

#include "answers.h"
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

static void answer_history(const lud_history *history) {
    fuzz_answer_text(history->steps_name);
    for (int i = 0; i < history->n; i++) {
        const double values[] = {history->steps[i], history->value[i]};
        for (int k = 0; k < 2; k++) /* of what is no number there are many */
            fuzz_answer(&values[k], isnan(values[k]) ? 0 : sizeof *values);
    }
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
    for (int over = 0; over < 2; over++) {
        error = (lud_error){0};
        const lud_status status =
            over ? lud_history_read_over(arena, folder, "seconds", "loss", &history, &error)
                 : lud_history_read(arena, folder, "loss", &history, &error);
        if (status && !error.text[0]) abort();
        fuzz_answer_without(error.text, folder);
        if (!status) answer_history(&history);
    }
    const char *names = NULL;
    if (!lud_history_columns(arena, folder, &names, NULL)) fuzz_answer_text(names);
    lud_arena_destroy(arena);
    if (length % 8) return 0; /* files are written: now and then is enough */
    static const lud_metric columns[] = {{"loss", NULL, "loss"}};
    lud_metrics *metrics = NULL;
    const double row[] = {0.5};
    error = (lud_error){0};
    if (lud_metrics_open(folder, columns, 1, 2, &metrics, &error)) {
        if (!error.text[0]) abort();
        fuzz_answer_without(error.text, folder);
        return 0;
    }
    if (lud_metrics_write(metrics, 2, 1.0, row, &error)) abort();
    lud_metrics_close(metrics, NULL);
    return 0;
}
