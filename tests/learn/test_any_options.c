/* Every learner with options that nobody has chosen for it: several at a time, drawn from its own table, at
 * and around the ends of what the table allows. Either they are refused with a message that names the
 * learner's section, or the training ends, or stops with what became infinite; then it is the same on one
 * thread and on two, a RUN that was broken off goes on from its own scenario.yaml to the same bytes, and what
 * was learned is evaluated, acts and is told of. (How to try others: tests/any_options.h.) */
#include <math.h>
#include <unistd.h>

#include "agents/cast.h"
#include "agents/rollout.h"
#include "any_options.h"
#include "effort.h"
#include "folder.h"
#include "learn/runs/run.h"
#include "learn/support_trainings.h"

TEST_FOLDER("/tmp/ludus-any-options-XXXXXX")

enum {
    DRAWS = SANITIZED ? 28 : 84,
    MOST_SET = 6,
    MOST_ITERATIONS = 3,
    MOST_COLUMNS = 512,
    SECONDS = SANITIZED ? 600 : 120,
    STEPS = 5
};

/* What one draw is: a small training with options set anew. */
typedef struct trial {
    support_training training;
    char text[MOST_SET][ANY_BYTES];
    char all[MOST_SET * ANY_BYTES]; /* for messages */
} trial;

static const lud_option_table *options_of(const support_training *t) {
    support_bed b = support_bed_open(t, "cpu", 1);
    const lud_option_table *options = b.learner->kind->options;
    support_bed_close(&b);
    return options;
}

static void draw_trial(uint32_t number, trial *t) {
    static any_leaf leaves[ANY_MOST_LEAVES];
    any_draw d = {.seed = any_seed, .number = number};
    *t = (trial){.training = support_trainings[number % (uint32_t)n_support_trainings]};
    const uint32_t n = (uint32_t)any_collect(options_of(&t->training), "learner", leaves, 0);
    int n_set = 0;
    while (t->training.set[n_set]) n_set++;
    const int drawn = 1 + (int)any_below(&d, MOST_SET);
    assert_true(n_set + drawn <= SUPPORT_MOST_SET);
    for (int i = 0; i < drawn; i++) {
        any_value(&d, &leaves[any_below(&d, n)], t->text[i]);
        t->training.set[n_set++] = t->text[i];
        const size_t end = strlen(t->all);
        snprintf(t->all + end, sizeof t->all - end, " --set '%s'", t->text[i]);
    }
}

/* ---- training ---- */

static void shorten(support_bed *b) {
    if (b->learner->n_iterations > MOST_ITERATIONS) b->learner->n_iterations = MOST_ITERATIONS;
}

/* As the RUN says by itself. */
static support_bed open_run(const char *run) {
    char path[300];
    snprintf(path, sizeof path, "%s/scenario.yaml", run);
    support_bed b =
        support_bed_open(&(support_training){.name = "the RUN's own scenario.yaml", .file = path}, "cpu", 1);
    shorten(&b);
    return b;
}

/* What a training that may end with what is infinite ends with. */
static lud_status train(support_bed *b, const char *run, bool resume, int64_t until, lud_error *error) {
    lud_train_result result;
    const lud_train_options options = {.folder = run, .resume = resume, .evaluate_every = 2, .until = until};
    return support_train(b->scenario, b->learner, &options, &result, error);
}

/* The same evaluation twice, reports, and some steps of whom it says may act. */
static void use(const char *run, const support_bed *b) {
    lud_error error = {0};
    lud_scenario *scenario = NULL;
    lud_cast *cast = NULL;
    const lud_learner_kind *kind = b->learner->kind;
    double first[MOST_COLUMNS], second[MOST_COLUMNS];
    for (int i = 0; i < MOST_COLUMNS; i++) first[i] = second[i] = NAN;
    if (kind->evaluate &&
        (kind->evaluate(b->learner, first, &error) || kind->evaluate(b->learner, second, &error)))
        fail_msg("evaluation: %s", error.text);
    support_expect_same_evaluation(b->learner, first, second);
    support_tell(b);
    lud_rollout played = {0};
    if (lud_run_scenario(run, NULL, &scenario, &error) ||
        lud_cast_create(scenario->model, scenario->policies, run, &cast, &error) ||
        (kind->policy && lud_run_act(run, scenario, cast, &error)) ||
        lud_rollout_run(scenario, cast, 1, STEPS, NULL, &played, &error))
        fail_msg("acting: %s", error.text);
    lud_rollout_free(&played);
    lud_cast_destroy(cast);
    lud_scenario_destroy(scenario);
}

/* Exit code 0 of a process: they were refused or stopped as they may be, or all is well. */
static void try_options(const trial *t, const char *where) {
    lud_error error = {0}, other = {0};
    support_bed one, two;
    char whole[200], parts[200];
    snprintf(whole, sizeof whole, "%s/whole", where);
    snprintf(parts, sizeof parts, "%s/parts", where);
    if (support_bed_try(&t->training, "cpu", 1, &one, &error)) {
        const bool names_it = strstr(error.text, "learner.") ||
                              (strstr(error.text, ".yaml:") && strstr(error.text, "expected"));
        if ((error.status != LUD_ERROR_INPUT && error.status != LUD_ERROR_UNSUPPORTED) || !names_it)
            fail_msg("refused with: %s", error.text);
        print_message("refused: %s\n", error.text);
        support_bed_drop(&one);
        return;
    }
    shorten(&one);
    const lud_status status = train(&one, whole, false, 0, &error);
    two = support_bed_open(&t->training, "cpu", 2);
    shorten(&two);
    const lud_status half = train(&two, parts, false, status ? 0 : 1, &other);
    support_bed_drop(&two);
    if (status) {
        if (status != LUD_ERROR_NUMERIC && status != LUD_ERROR_LIMIT) fail_msg("%s", error.text);
        if (half != status || !other.text[0])
            fail_msg("%s; with two threads: %s", error.text, half ? other.text : "it goes on");
        print_message("stopped: %s\n", error.text);
        support_bed_drop(&one);
        return;
    }
    if (half) fail_msg("with two threads: %s", other.text);
    two = open_run(parts);
    if (two.learner->n_iterations > 1 && train(&two, parts, true, 0, &other))
        fail_msg("resumed: %s", other.text);
    if (!strstr(t->all, "async_training=true")) /* of which no two runs are the same */
        support_expect_same_runs(where, "whole", "parts");
    support_bed_close(&two);
    use(whole, &one);
    support_bed_close(&one);
    print_message("trained\n");
}

static void one_draw(void **state) {
    (void)state;
    static trial t;
    draw_trial(any_number, &t);
    print_message("%s,%s\n", t.training.name, t.all);
    alarm(SECONDS);
    try_options(&t, folder);
}

static void options_are_refused_or_work(void **state) {
    (void)state;
    any_draws(DRAWS, "trained");
}

int main(int n, char **arguments) {
    return any_main(n, arguments, options_are_refused_or_work, one_draw, set_up, tear_down);
}
