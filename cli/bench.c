#include "tests/bench/bench.h"

#include <jansson.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/progress.h"
#include "cli/cli.h"

typedef struct bench_values {
    bool list, json;
    int64_t threads;
    const char *rows, *device;
} bench_values;

#define FLAGS bench_values
static const lud_flag flags[] = {
    SWITCH_FLAG("list", 'l', list, "name the benchmarks and stop"),
    INT_FLAG("threads", 't', threads, 1, 4096, "N", "threads to use"),
    TEXT_FLAG("rows", 'r', rows, "TEXT", "only the rows whose name contains this"),
    TEXT_FLAG(
        "device", 'd', device, "DEVICE",
        "cpu or cuda: only what is measured there; default: on the CPU, and on a GPU where there is one"),
    SWITCH_FLAG("json", 'j', json, "results as JSON on standard output"),
};

static void print_report(const lud_bench *bench, const lud_bench_report *report) {
    char value[16], spread[16], bound[16];
    printf("%s: %s\n", bench->name, bench->about);
    for (int i = 0; i < report->n; i++) {
        const lud_bench_row *row = &report->rows[i];
        printf("  %-44s %10s", row->name, lud_format_count(row->value, value));
        if (row->spread > 0)
            printf(" ± %-8s", lud_format_count(row->spread, spread));
        else
            printf("   %-8s", "");
        printf(" %-16s", row->unit);
        if (row->floor > 0) printf(" (bound %s)", lud_format_count(row->floor, bound));
        printf("\n");
    }
    printf("\n");
}

static json_t *report_json(const lud_bench *bench, const lud_bench_report *report) {
    json_t *rows = json_array();
    for (int i = 0; i < report->n; i++) {
        const lud_bench_row *row = &report->rows[i];
        json_array_append_new(rows,
                              json_pack("{s:s, s:f, s:f, s:s, s:f}", "name", row->name, "value", row->value,
                                        "spread", row->spread, "unit", row->unit, "bound", row->floor));
    }
    return json_pack("{s:s, s:s, s:o}", "name", bench->name, "about", bench->about, "rows", rows);
}

/* *kept counts the rows that are left. */
static lud_status run_one(const lud_bench *bench, const bench_values *values, json_t *all, int *kept,
                          lud_error *error) {
    lud_bench_report report = {.only = values->rows, .device = values->device};
    lud_status status = bench->run(&report, error);
    *kept += report.n;
    /* also the rows that were finished before an interruption */
    if (report.n > 0 || (!status && !values->rows)) {
        if (all)
            json_array_append_new(all, report_json(bench, &report));
        else
            print_report(bench, &report);
    }
    lud_bench_report_free(&report);
    fflush(stdout);
    return status;
}

static lud_status check_name(const char *name, lud_error *error) {
    enum { MAX_NAMES = 64 };
    const char *names[MAX_NAMES];
    int n;
    const lud_bench *const *all = lud_benches(&n);
    for (int i = 0; i < n; i++)
        if (lud_bench_is(all[i], name)) return LUD_OK;
    for (int i = 0; i < n && i < MAX_NAMES; i++) names[i] = all[i]->name;
    const char *near = lud_nearest_name(name, names, n < MAX_NAMES ? n : MAX_NAMES);
    return lud_invalid(error, "unknown benchmark '%s'%s%s%s; 'ludus bench --list' names them", name,
                       near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* A device that is known, and that all benchmarks that are named have rows of. */
static lud_status check_device(const char *device, const char *const *names, int n_names, lud_error *error) {
    if (!device || strcmp(device, "cpu") == 0) return LUD_OK;
    if (strcmp(device, "cuda") != 0)
        return lud_invalid(error, "--device: expected cpu or cuda, not '%s'", device);
    int n;
    const lud_bench *const *all = lud_benches(&n);
    for (int i = 0; i < n_names; i++) {
        bool any = false;
        for (int k = 0; k < n; k++) any = any || (lud_bench_is(all[k], names[i]) && all[k]->on_cuda);
        if (!any) return lud_invalid(error, "the benchmark '%s' has no rows on cuda", names[i]);
    }
    return LUD_OK;
}

/* Whether one runs: when it is named, or when none is named and it is not slow; on a GPU, if it has rows
 * there. */
static bool chosen(const lud_bench *bench, const char *device, const char *const *names, int n_names) {
    if (device && strcmp(device, "cuda") == 0 && !bench->on_cuda) return false;
    for (int i = 0; i < n_names; i++)
        if (lud_bench_is(bench, names[i])) return true;
    return n_names == 0 && !bench->slow;
}

static lud_status run(void *data, const char *const *arguments, int n_arguments, lud_error *error) {
    const bench_values *values = data;
    int n;
    const lud_bench *const *benches = lud_benches(&n);
    if (values->list) {
        for (int i = 0; i < n; i++)
            printf("%-16s %s%s\n", benches[i]->name, benches[i]->about, benches[i]->slow ? " (slow)" : "");
        return LUD_OK;
    }
    for (int i = 0; i < n_arguments; i++) LUD_TRY(check_name(arguments[i], error));
    LUD_TRY(check_device(values->device, arguments, n_arguments, error));
    if (values->threads) omp_set_num_threads((int)values->threads);
    json_t *all = values->json ? json_array() : NULL;
    int kept = 0;
    lud_status status = LUD_OK;
    for (int i = 0; !status && i < n; i++) {
        if (!chosen(benches[i], values->device, arguments, n_arguments)) continue;
        if (lud_interrupted())
            status = lud_fail(error, LUD_INTERRUPTED, "interrupted");
        else
            status = run_one(benches[i], values, all, &kept, error);
    }
    if (!status && values->rows && kept == 0)
        status = lud_invalid(error, "no row of these benchmarks has '%s' in its name", values->rows);
    if (!all) return status;
    lud_status printed = lud_print_json(all, status ? NULL : error);
    return status ? status : printed;
}

const lud_verb lud_verb_bench = {
    .name = "bench",
    .about = "run benchmarks and print their tables",
    .arguments = "[NAME...]",
    .min_arguments = 0,
    .max_arguments = 64,
    VERB_FLAGS,
    .notes = "Without a name all but the slow ones run. A rate is the median over repetitions, "
             "± half the distance between\nthe quartiles.\n",
    .run = run};
