/* The driving loop with a small regression learner: resume equals no interruption bit for bit, faults are
 * told. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/random.h"
#include "folder.h"
#include "full_disk.h"
#include "learn/nn/nn.h"
#include "learn/nn/optimiser.h"
#include "learn/runs/parameters.h"
#include "learn/support_trainings.h"
#include "learn/train.h"

enum { ROWS = 16, INPUTS = 6, HIDDEN = 24, ITERATIONS = 40 };

/* Learns y = sin(sum x) by Adam and APOLLO on the two layers, with dropout; draws are keyed by the iteration.
 */
typedef struct regression {
    lud_learner base;
    lud_device *device;
    lud_parameters *parameters;
    lud_nn *net;
    lud_optimiser *optimiser;
    bool unjudged;       /* evaluations fail */
    uint64_t spoiled;    /* evaluations after this iteration are bad; 0: none is */
    const char *awaited; /* the last evaluation looks whether this checkpoint has all iterations; null: no */
    int x, y;
    uint64_t iteration;
    float *target, *losses;
} regression;

static const lud_metric columns[] = {{"loss", "%.4f", "mean squared error"},
                                     {"grad_norm", NULL, "of all gradients"}};
static const lud_metric evaluation[] = {{"evaluation/loss", NULL, "without dropout"}};

static void draw_batch(regression *r, uint32_t step) {
    double x[ROWS * INPUTS];
    for (int i = 0; i < ROWS; i++) {
        double sum = 0.0;
        for (int k = 0; k < INPUTS; k++) {
            const lud_words w =
                lud_draw((lud_random_key){1, (uint32_t)i}, step, (uint32_t)k, LUD_PURPOSE_USER, 0);
            x[i * INPUTS + k] = 2.0 * lud_unit(w.v[0]) - 1.0;
            sum += x[i * INPUTS + k];
        }
        r->target[i] = (float)sin(sum);
    }
    lud_nn_write(r->net, r->x, ROWS, x);
}

static double mean_loss(const regression *r) {
    double sum = 0.0;
    for (int i = 0; i < ROWS; i++) sum += (double)r->losses[i] / ROWS;
    return sum;
}

static lud_status iterate(lud_learner *learner, double *row, lud_error *error) {
    (void)error;
    regression *r = (regression *)learner;
    draw_batch(r, (uint32_t)r->iteration);
    lud_nn_set_step(r->net, 1, (uint32_t)r->iteration);
    lud_nn_forward(r->net, ROWS, true);
    r->device->ops->mse_loss(r->device, ROWS, lud_nn_value(r->net, r->y), r->target, NULL, 1.0 / ROWS,
                             r->losses, lud_nn_gradient(r->net, r->y), false);
    lud_parameters_zero_gradients(r->parameters);
    lud_nn_backward(r->net);
    lud_optimiser_step(r->optimiser, 0, 0.01);
    r->iteration++;
    row[0] = mean_loss(r);
    row[1] = lud_optimiser_norm(r->optimiser, 0);
    return LUD_OK;
}

/* Whether a checkpoint of so many iterations lies there within ten seconds. */
static bool comes(const char *path, uint64_t iterations) {
    for (int i = 0; i < 10000; i++, usleep(1000)) {
        lud_checkpoint *checkpoint = NULL;
        uint64_t n = 0;
        if (lud_checkpoint_open(path, &checkpoint, NULL)) continue;
        lud_checkpoint_u64(checkpoint, "iterations", &n);
        lud_checkpoint_destroy(checkpoint);
        if (n == iterations) return true;
    }
    return false;
}

static lud_status evaluate(lud_learner *learner, double *row, lud_error *error) {
    regression *r = (regression *)learner;
    if (r->awaited && r->iteration == ITERATIONS) assert_true(comes(r->awaited, ITERATIONS));
    if (r->unjudged) return lud_fail(error, LUD_ERROR_MEMORY, "no memory to evaluate");
    draw_batch(r, 1u << 30);
    lud_nn_forward(r->net, ROWS, false);
    r->device->ops->mse_loss(r->device, ROWS, lud_nn_value(r->net, r->y), r->target, NULL, 1.0, r->losses,
                             NULL, false);
    row[0] = mean_loss(r) + (r->spoiled && r->iteration > r->spoiled ? 1e3 : 0.0);
    return LUD_OK;
}

static void visit_policy(lud_learner *learner, lud_checkpoint *checkpoint) {
    lud_parameters_visit(((regression *)learner)->parameters, "", checkpoint);
}

static void visit(lud_learner *learner, lud_checkpoint *checkpoint) {
    regression *r = (regression *)learner;
    lud_checkpoint_u64(checkpoint, "regression.iteration", &r->iteration);
    visit_policy(learner, checkpoint);
    lud_optimiser_visit(r->optimiser, "optimiser.", checkpoint);
}

static void destroy(lud_learner *learner) {
    regression *r = (regression *)learner;
    lud_nn_destroy(r->net);
    lud_optimiser_destroy(r->optimiser);
    lud_parameters_destroy(r->parameters);
    lud_device_close(r->device);
    free(r->target);
    free(r->losses);
    free(r);
}

static const lud_learner_kind regression_kind = {.name = "regression",
                                                 .about = "a test",
                                                 .destroy = destroy,
                                                 .iterate = iterate,
                                                 .evaluate = evaluate,
                                                 .visit = visit,
                                                 .visit_policy = visit_policy,
                                                 .score = {.column = "evaluation/loss", .least = true},
                                                 .training_score = {.column = "loss", .least = true}};

static lud_learner *make(lud_optimiser_kind kind) {
    regression *r = calloc(1, sizeof *r);
    r->base = (lud_learner){.kind = &regression_kind,
                            .columns = columns,
                            .n_columns = 2,
                            .evaluation_columns = evaluation,
                            .n_evaluation_columns = 1,
                            .n_iterations = ITERATIONS};
    lud_error error = {0};
    assert_int_equal(lud_device_open("cpu", 1, &r->device, &error), LUD_OK);
    r->parameters = lud_parameters_create(r->device, false);
    r->net = lud_nn_create(r->parameters, ROWS);
    r->x = lud_nn_input(r->net, INPUTS);
    int h = lud_nn_linear(r->net, r->x, "a", HIDDEN, LUD_TANH);
    h = lud_nn_dropout(r->net, lud_nn_linear(r->net, h, "b", HIDDEN, LUD_TANH), 0.1, 0);
    r->y = lud_nn_linear(r->net, h, "c", 1, LUD_LINEAR);
    lud_nn_output(r->net, r->y);
    lud_parameters_set_low_rank(r->parameters, "b.weight", true);
    assert_int_equal(lud_parameters_build(r->parameters, 3, &error), LUD_OK);
    assert_int_equal(lud_nn_plan(r->net, LUD_NN_TRAIN, &error), LUD_OK);
    r->optimiser = lud_optimiser_create(r->parameters);
    lud_optimiser_options o = lud_optimiser_defaults(kind);
    o.rank = 4;
    o.scale = 1.0;
    o.projection_gap = 7;
    o.max_norm = 1.0;
    assert_int_equal(lud_optimiser_group(r->optimiser, "", &o, false), 0);
    assert_int_equal(lud_optimiser_build(r->optimiser, 9, &error), LUD_OK);
    r->target = calloc(ROWS, sizeof *r->target);
    r->losses = calloc(ROWS, sizeof *r->losses);
    return &r->base;
}

TEST_FOLDER("/tmp/ludus-train-XXXXXX")

static lud_status train(lud_learner *learner, const char *name, bool resume, uint64_t stop_after,
                        lud_train_result *result, lud_error *error) {
    char path[96];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    const lud_train_options options = {.folder = path,
                                       .resume = resume,
                                       .checkpoint_every = 6,
                                       .evaluate_every = 10,
                                       .stop_after = stop_after,
                                       .configuration = "ludus: 1\n"};
    return lud_train(learner, &options, result, error);
}

/* The rows of metrics.csv without the column of seconds. */
static char *rows_of(lud_arena *arena, const char *name) {
    char path[128], *bytes = NULL;
    size_t length = 0;
    snprintf(path, sizeof path, "%s/%s/metrics.csv", folder, name);
    assert_int_equal(lud_file_read(arena, path, 0, &bytes, &length, NULL), LUD_OK);
    char *out = lud_arena_take(arena, length + 1), *to = out;
    for (char *line = strtok(bytes, "\n"); line; line = strtok(NULL, "\n")) {
        char *first = strchr(line, ','), *second = strchr(first + 1, ',');
        to += sprintf(to, "%.*s%s\n", (int)(first - line), line, second);
    }
    return out;
}

static void resume_equals_no_interruption(void **state) {
    (void)state;
    const lud_optimiser_kind kinds[] = {LUD_OPTIMISER_ADAM, LUD_OPTIMISER_APOLLO, LUD_OPTIMISER_SGD};
    for (int k = 0; k < 3; k++) {
        char whole[24], parts[24];
        snprintf(whole, sizeof whole, "whole%d", k);
        snprintf(parts, sizeof parts, "parts%d", k);
        lud_train_result result;
        lud_error error = {0};
        lud_learner *learner = make(kinds[k]);
        assert_int_equal(train(learner, whole, false, 0, &result, &error), LUD_OK);
        assert_true(result.finished && result.iterations == ITERATIONS);
        lud_learner_destroy(learner);
        const uint64_t stops[] = {13, 9, 0};
        for (int part = 0; part < 3; part++) {
            learner = make(kinds[k]);
            const lud_status status = train(learner, parts, part > 0, stops[part], &result, &error);
            assert_int_equal(status, part < 2 ? LUD_INTERRUPTED : LUD_OK);
            lud_learner_destroy(learner);
        }
        lud_arena *arena = lud_arena_create(0);
        const char *expected = rows_of(arena, whole);
        assert_string_equal(rows_of(arena, parts), expected);
        support_expect_same_runs(folder, whole, parts);
        lud_arena_destroy(arena);
    }
}

static void training_learns(void **state) {
    (void)state;
    const lud_optimiser_kind kinds[] = {LUD_OPTIMISER_ADAM, LUD_OPTIMISER_ADAMW, LUD_OPTIMISER_APOLLO,
                                        LUD_OPTIMISER_APOLLO_MINI};
    for (int k = 0; k < 4; k++) {
        lud_learner *learner = make(kinds[k]);
        double row[2], first, last;
        evaluate(learner, &first, NULL);
        for (int i = 0; i < 400; i++) iterate(learner, row, NULL);
        evaluate(learner, &last, NULL);
        print_message("%s: loss %.4f -> %.4f\n", lud_optimiser_names[kinds[k]], first, last);
        assert_true(last < 0.25 * first);
        lud_learner_destroy(learner);
    }
}

static void faults_are_told(void **state) {
    (void)state;
    lud_train_result result;
    lud_error error = {0};
    lud_learner *learner = make(LUD_OPTIMISER_ADAM);
    assert_int_equal(train(learner, "fault", true, 0, &result, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "checkpoint.safetensors"));
    assert_int_equal(train(learner, "fault", false, 14, &result, &error), LUD_INTERRUPTED);
    assert_string_equal(error.text,
                        "stopped after 14 of 40 iterations, the state is saved; --resume continues");
    lud_learner_destroy(learner);
    learner = make(LUD_OPTIMISER_ADAM);
    assert_int_equal(train(learner, "fault", false, 0, &result, &error), LUD_ERROR_INPUT);
    char path[128], expected[300];
    snprintf(expected, sizeof expected,
             "%s/fault: there is a run already; --resume continues it, --overwrite starts anew", folder);
    assert_string_equal(error.text, expected);
    /* damage the checkpoint: the message offers the previous one */
    snprintf(path, sizeof path, "%s/fault/checkpoint.safetensors", folder);
    FILE *file = fopen(path, "r+b");
    fseek(file, -5, SEEK_END);
    fputc(77, file);
    fclose(file);
    assert_int_equal(train(learner, "fault", true, 0, &result, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "damaged"));
    assert_non_null(strstr(error.text, "checkpoint.previous.safetensors is readable, --resume-previous"));
    lud_learner_destroy(learner);
    /* and going on from that one ends where a run without faults ends; the damaged file stays beside */
    learner = make(LUD_OPTIMISER_ADAM);
    snprintf(path, sizeof path, "%s/fault", folder);
    const lud_train_options again = {.folder = path,
                                     .resume_previous = true,
                                     .checkpoint_every = 6,
                                     .evaluate_every = 10,
                                     .configuration = "ludus: 1\n"};
    char aside[160];
    snprintf(aside, sizeof aside, "%s/checkpoint.aside.safetensors", path);
    assert_int_equal(mkdir(aside, 0700), 0); /* a folder of that name is in the way */
    assert_int_equal(lud_train(learner, &again, &result, &error), LUD_ERROR_INPUT);
    snprintf(expected, sizeof expected, "%s/checkpoint.safetensors: cannot move it aside: Is a directory",
             path);
    assert_string_equal(error.text, expected);
    assert_int_equal(rmdir(aside), 0);
    lud_learner_destroy(learner);
    learner = make(LUD_OPTIMISER_ADAM);
    assert_int_equal(lud_train(learner, &again, &result, &error), LUD_OK);
    assert_true(result.finished);
    lud_learner_destroy(learner);
    learner = make(LUD_OPTIMISER_ADAM);
    assert_int_equal(train(learner, "faultless", false, 0, &result, &error), LUD_OK);
    support_expect_same_runs(folder, "fault", "faultless");
    lud_arena *arena = lud_arena_create(0);
    assert_string_equal(rows_of(arena, "fault"), rows_of(arena, "faultless"));
    lud_arena_destroy(arena);
    snprintf(path, sizeof path, "%s/fault/checkpoint.aside.safetensors", folder);
    assert_true(lud_file_exists(path));
    lud_learner_destroy(learner);
    /* the checkpoint of another learner */
    learner = make(LUD_OPTIMISER_ADAM);
    snprintf(path, sizeof path, "%s/foreign", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/foreign/checkpoint.safetensors", folder);
    lud_checkpoint *checkpoint = lud_checkpoint_create();
    lud_checkpoint_set_text(checkpoint, "learner", "kge");
    assert_int_equal(lud_checkpoint_write(checkpoint, path, &error), LUD_OK);
    lud_checkpoint_destroy(checkpoint);
    assert_int_equal(train(learner, "foreign", true, 0, &result, &error), LUD_ERROR_INPUT);
    snprintf(expected, sizeof expected, "%s: a checkpoint of learner 'kge', this scenario trains '%s'", path,
             learner->kind->name);
    assert_string_equal(error.text, expected);
    lud_learner_destroy(learner);
    /* another optimiser has other state */
    learner = make(LUD_OPTIMISER_SGD);
    lud_learner *other = make(LUD_OPTIMISER_ADAM);
    assert_int_equal(train(learner, "other", false, 3, &result, &error), LUD_INTERRUPTED);
    assert_int_equal(train(other, "other", true, 0, &result, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "has no tensor 'optimiser.m.a.weight'"));
    lud_learner_destroy(other);
    lud_learner_destroy(learner);
}

/* A disk that is full between two iterations, which `context` points to. */
typedef struct fault {
    uint64_t now, first, last;
    const char *there; /* what has to be there before; null: nothing */
} fault;

static bool fill_disk(void *context, const lud_learner *learner, uint64_t iterations,
                      const lud_metric *metrics, int n_metrics, const double *row) {
    fault *f = context;
    (void)learner, (void)iterations, (void)metrics, (void)n_metrics, (void)row;
    f->now++;
    while (f->there && f->now == f->first && !lud_file_exists(f->there)) usleep(1000);
    if (f->now == f->first) full_disk(8000); /* rows of metrics fit, checkpoints do not */
    if (f->now == f->last) empty_disk();
    return true;
}

static lud_status train_with_fault(const char *name, bool resume, fault f, lud_error *error) {
    char path[96];
    lud_train_result result;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    const lud_train_options options = {.folder = path,
                                       .resume = resume,
                                       .checkpoint_every = 3,
                                       .evaluate_every = 10,
                                       .configuration = "ludus: 1\n",
                                       .after_iteration = fill_disk,
                                       .context = &f};
    lud_learner *learner = make(LUD_OPTIMISER_ADAM);
    const lud_status status = lud_train(learner, &options, &result, error);
    empty_disk();
    lud_learner_destroy(learner);
    return status;
}

static void expect_no_partial_files(const char *name) {
    char command[160];
    snprintf(command, sizeof command, "! ls -a %s/%s | grep -q -e partial -e '^.lock$'", folder, name);
    assert_int_equal(system(command), 0);
}

/* A checkpoint that fails in the middle costs nothing; one that fails at the end is told, with what is saved.
 */
static void the_last_checkpoint_is_always_tried(void **state) {
    (void)state;
    lud_error error = {0};
    assert_int_equal(train_with_fault("well", false, (fault){0}, &error), LUD_OK);
    assert_int_equal(train_with_fault("middle", false, (fault){0, 5, 21, NULL}, &error), LUD_OK);
    support_expect_same_runs(folder, "well", "middle");
    expect_no_partial_files("middle");
    /* from the first iteration to beyond the last */
    assert_int_equal(train_with_fault("never", false, (fault){0, 1, 100, NULL}, &error), LUD_ERROR_IO);
    assert_non_null(strstr(error.text, FULL_DISK));
    assert_non_null(strstr(error.text, "the training is not saved"));
    expect_no_partial_files("never");
    char path[128];
    snprintf(path, sizeof path, "%s/end/checkpoint.safetensors", folder);
    assert_int_equal(train_with_fault("end", false, (fault){0, 20, 100, path}, &error), LUD_ERROR_IO);
    static const char saved[] = "; what is saved is of iteration ";
    const char *told = strstr(error.text, saved);
    assert_non_null(told);
    lud_checkpoint *checkpoint;
    uint64_t iterations = 0;
    assert_int_equal(lud_checkpoint_open(path, &checkpoint, &error), LUD_OK);
    lud_checkpoint_u64(checkpoint, "iterations", &iterations);
    lud_checkpoint_destroy(checkpoint);
    assert_int_equal(iterations, strtoull(told + sizeof saved - 1, NULL, 10));
    expect_no_partial_files("end");
    assert_int_equal(train_with_fault("end", true, (fault){0}, &error), LUD_OK);
    support_expect_same_runs(folder, "well", "end");
}

/* Whoever is killed in the last evaluation has lost nothing of what was learned. */
static void what_is_learned_is_saved_before_it_is_evaluated(void **state) {
    (void)state;
    char path[96], checkpoint[128];
    lud_error error = {0};
    lud_train_result result;
    snprintf(path, sizeof path, "%s/evaluated", folder);
    snprintf(checkpoint, sizeof checkpoint, "%s/checkpoint.safetensors", path);
    const lud_train_options options = {
        .folder = path, .checkpoint_seconds = 1e-9, .evaluate_every = 10, .configuration = "ludus: 1\n"};
    lud_learner *learner = make(LUD_OPTIMISER_ADAM);
    ((regression *)learner)->awaited = checkpoint;
    assert_int_equal(lud_train(learner, &options, &result, &error), LUD_OK);
    lud_learner_destroy(learner);
    expect_no_partial_files("evaluated");
}

/* An evaluation that fails costs nothing of what was learned: it is saved, and evaluated when the run goes
 * on. */
static void what_cannot_be_evaluated_is_saved(void **state) {
    (void)state;
    lud_error error = {0};
    lud_train_result result;
    lud_learner *well = make(LUD_OPTIMISER_ADAM), *learner = make(LUD_OPTIMISER_ADAM);
    assert_int_equal(train(well, "judged", false, 0, &result, &error), LUD_OK);
    ((regression *)learner)->unjudged = true;
    assert_int_equal(train(learner, "unjudged", false, 0, &result, &error), LUD_ERROR_MEMORY);
    assert_string_equal(error.text, "after iteration 10, which is saved: no memory to evaluate");
    lud_learner_destroy(learner);
    learner = make(LUD_OPTIMISER_ADAM);
    assert_int_equal(train(learner, "unjudged", true, 0, &result, &error), LUD_OK);
    support_expect_same_runs(folder, "judged", "unjudged");
    lud_learner_destroy(learner);
    lud_learner_destroy(well);
}

/* Column k of a row of metrics.csv, behind the iteration and the clock; NaN where it is empty. */
static double column_of(const char *row, int k) {
    for (k += 1; k > 0; k--) row = strchr(row, ',') + 1;
    return *row == ',' || *row == 0 || *row == '\n' ? NAN : strtod(row, NULL);
}

/* What the file of parameters says of itself, and what the rows say: the evaluation, else means of ten. */
static void the_best_parameters_are_kept(void **state) {
    (void)state;
    for (int evaluated = 0; evaluated < 2; evaluated++) {
        char path[128];
        lud_error error = {0};
        lud_train_result result;
        snprintf(path, sizeof path, "%s/best%d", folder, evaluated);
        const lud_train_options options = {
            .folder = path, .evaluate_every = evaluated ? 4 : 0, .configuration = "ludus: 1\n"};
        lud_learner *learner = make(LUD_OPTIMISER_ADAM);
        assert_int_equal(lud_train(learner, &options, &result, &error), LUD_OK);
        lud_learner_destroy(learner);
        lud_arena *arena = lud_arena_create(0);
        char name[16], *text, *line;
        snprintf(name, sizeof name, "best%d", evaluated);
        text = rows_of(arena, name);
        double least = INFINITY, sum = 0.0;
        uint64_t best = 0;
        line = strchr(text, '\n') + 1;
        for (uint64_t i = 1; *line; i++, line = strchr(line, '\n') + 1) {
            sum += column_of(line, 0);
            const double score = evaluated ? column_of(line, 2) : i % 10 ? NAN : sum / 10.0;
            if (i % 10 == 0) sum = 0.0;
            if (score <= least) best = i;
            if (score <= least) least = score;
        }
        lud_arena_destroy(arena);
        assert_int_equal(result.kept.iteration, best);
        assert_true(result.kept.scored && fabs(result.kept.score - least) <= 1e-6 * least);
        assert_string_equal(result.kept.column, evaluated ? "evaluation/loss" : "loss");
        lud_checkpoint *policy = NULL;
        lud_kept kept = {0};
        assert_int_equal(lud_run_parameters(path, "regression", NULL, &policy, &kept, &error), LUD_OK);
        assert_memory_equal(&kept.score, &result.kept.score, sizeof kept.score);
        assert_int_equal(kept.iteration, best);
        assert_null(lud_checkpoint_find(policy, "optimiser.m.a.weight")); /* only what acts */
        assert_non_null(lud_checkpoint_find(policy, "a.weight"));
        lud_checkpoint_destroy(policy);
    }
}

/* The best parameters are those of before the interruption, where nothing after it was better. */
static void a_resumed_run_knows_the_best(void **state) {
    (void)state;
    lud_error error = {0};
    lud_train_result whole, parts;
    lud_learner *learner = make(LUD_OPTIMISER_ADAM);
    ((regression *)learner)->spoiled = 12;
    assert_int_equal(train(learner, "spoiled", false, 0, &whole, &error), LUD_OK);
    lud_learner_destroy(learner);
    assert_true(whole.kept.scored && whole.kept.iteration == 10);
    for (int part = 0; part < 2; part++) {
        learner = make(LUD_OPTIMISER_ADAM);
        ((regression *)learner)->spoiled = 12;
        assert_int_equal(train(learner, "spoiled_parts", part == 1, part == 0 ? 15 : 0, &parts, &error),
                         part == 0 ? LUD_INTERRUPTED : LUD_OK);
        lud_learner_destroy(learner);
    }
    assert_int_equal(parts.kept.iteration, 10);
    assert_true(parts.kept.scored && parts.kept.score == whole.kept.score);
    support_expect_same_runs(folder, "spoiled", "spoiled_parts");
    lud_checkpoint *policy[2];
    static const char *const runs[] = {"spoiled", "spoiled_parts"};
    for (int i = 0; i < 2; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s/policy.safetensors", folder, runs[i]);
        assert_int_equal(lud_run_parameters(path, "regression", NULL, &policy[i], NULL, &error), LUD_OK);
    }
    support_expect_within(policy[0], policy[1], "the best parameters");
    for (int i = 0; i < 2; i++) lud_checkpoint_destroy(policy[i]);
}

/* Another signature in the file that is locked, which stays the same file. */
static void sign_lock(const char *run, const char *signature) {
    char lock[128];
    snprintf(lock, sizeof lock, "%s/.lock", run);
    assert_int_equal(truncate(lock, 0), 0);
    FILE *file = fopen(lock, "r+");
    assert_non_null(file);
    fputs(signature, file);
    fclose(file);
}

/* Another training of the same folder while one is at it. */
static bool begin_another(void *context, const lud_learner *learner, uint64_t iterations,
                          const lud_metric *metrics, int n_metrics, const double *row) {
    lud_error error = {0};
    lud_train_result result;
    (void)learner, (void)iterations, (void)metrics, (void)n_metrics, (void)row;
    const lud_train_options options = {.folder = context, .overwrite = true, .configuration = "ludus: 1\n"};
    lud_learner *other = make(LUD_OPTIMISER_ADAM);
    char expected[200];
    assert_int_equal(lud_train(other, &options, &result, &error), LUD_ERROR_INPUT);
    snprintf(expected, sizeof expected,
             "%s: process %ld is writing this run; wait for it, or end it (kill %ld)", (const char *)context,
             (long)getpid(), (long)getpid());
    assert_string_equal(error.text, expected);
    /* whoever has signed it, in a container also the first process of all; and nobody that can be read */
    static const struct {
        const char *signature, *message;
    } holders[] = {{"1\n", ": process 1 is writing this run; wait for it, or end it (kill 1)"},
                   {"?\n", ": another process is writing this run"}};
    for (size_t i = 0; i < sizeof holders / sizeof *holders; i++) {
        sign_lock(context, holders[i].signature);
        assert_int_equal(lud_train(other, &options, &result, &error), LUD_ERROR_INPUT);
        assert_non_null(strstr(error.text, holders[i].message));
    }
    char own[32];
    snprintf(own, sizeof own, "%ld\n", (long)getpid());
    sign_lock(context, own);
    lud_learner_destroy(other);
    return true;
}

static void one_folder_has_one_writer(void **state) {
    (void)state;
    char path[96];
    lud_error error = {0};
    lud_train_result result;
    snprintf(path, sizeof path, "%s/shared", folder);
    const lud_train_options options = {.folder = path,
                                       .stop_after = 2,
                                       .configuration = "ludus: 1\n",
                                       .after_iteration = begin_another,
                                       .context = path};
    lud_learner *learner = make(LUD_OPTIMISER_ADAM);
    assert_int_equal(lud_train(learner, &options, &result, &error), LUD_INTERRUPTED);
    lud_learner_destroy(learner);
    expect_no_partial_files("shared");
}

/* A zero gradient is no update by default; the reference's freeze is an option. */
static void zero_gradients_skip_low_rank_matrices(void **state) {
    (void)state;
    regression *r = (regression *)make(LUD_OPTIMISER_APOLLO);
    double row[2], before[HIDDEN * HIDDEN], after[HIDDEN * HIDDEN], norm, norm_after;
    for (int i = 0; i < 3; i++) iterate(&r->base, row, NULL);
    const int index = lud_parameters_find(r->parameters, "b.weight");
    double m[4 * HIDDEN], m_after[4 * HIDDEN];
    lud_parameters_read(r->parameters, index, before);
    lud_optimiser_read(r->optimiser, index, m, NULL, &norm);
    lud_parameters_zero_gradients(r->parameters);
    lud_optimiser_step(r->optimiser, 0, 0.01);
    lud_parameters_read(r->parameters, index, after);
    lud_optimiser_read(r->optimiser, index, m_after, NULL, &norm_after);
    assert_memory_equal(before, after, sizeof before);
    assert_memory_equal(m, m_after, sizeof m);
    assert_true(norm == norm_after && norm > 0.0);
    lud_text report = {0};
    lud_optimiser_report(r->optimiser, &report);
    assert_non_null(strstr(report.bytes, "apollo"));
    /* b.weight keeps 2 x 24 x 4 + 2 numbers instead of 2 x 24 x 24 */
    assert_int_equal(lud_optimiser_numbers(r->optimiser),
                     2 * 24 * 4 + 2 + 2 * (INPUTS * HIDDEN + HIDDEN + HIDDEN + HIDDEN + 1));
    lud_text_free(&report);
    lud_learner_destroy(&r->base);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resume_equals_no_interruption),
        cmocka_unit_test(training_learns),
        cmocka_unit_test(faults_are_told),
        cmocka_unit_test(the_last_checkpoint_is_always_tried),
        cmocka_unit_test(what_is_learned_is_saved_before_it_is_evaluated),
        cmocka_unit_test(what_cannot_be_evaluated_is_saved),
        cmocka_unit_test(the_best_parameters_are_kept),
        cmocka_unit_test(a_resumed_run_knows_the_best),
        cmocka_unit_test(one_folder_has_one_writer),
        cmocka_unit_test(zero_gradients_skip_low_rank_matrices),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
