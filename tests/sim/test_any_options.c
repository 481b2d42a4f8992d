/* Every world that ships with options that nobody has chosen for it, several at a time, at and around the
 * ends of what its table allows. Either they are refused with a message that has a place, or the world keeps
 * its promises (sim/world.h): the configuration in effect reads back as the same world, which steps to the
 * same bytes with two threads; states pass their check; probabilities sum to 1, steps stay inside successors,
 * which end where the world does; nothing is infinite; a state with another count of steps has the same
 * successors. (How to try others: tests/any_options.h.) */
#include "any_options.h"
#include "effort.h"
#include "sim/batch.h"
#include "sim/scenario.h"
#include "sim/support_shipped.h"

enum {
    DRAWS = SANITIZED ? 60 : 200,
    MOST_SET = 4,
    ENVS = 3,
    MANY = 64,     /* agents whose million outcomes take a minute to list */
    MOST_TOLD = 8, /* agents that are told what they see */
    STEPS = 12,
    SECONDS = SANITIZED ? 300 : 60,
    MOST_JOINT = 500
};

static support_shipped shipped;

/* ---- a world under way ---- */

typedef struct bed {
    const lud_model *model;
    lud_batch *batch;
    int32_t *discrete;
    float *continuous, *rewards;
    void *parts[LUD_MAX_OBSERVATION_PARTS];
    uint8_t terminated[ENVS], truncated[ENVS];
} bed;

static bed bed_open(const lud_model *model, int n_threads) {
    bed b = {.model = model};
    const lud_layout *layout = &model->layout;
    const size_t agents = (size_t)(ENVS * layout->n_agents);
    const size_t width = (size_t)lud_max_continuous(layout);
    if (lud_batch_create(model, ENVS, 5, 0, &b.batch, NULL)) fail_msg("no batch");
    b.batch->n_threads = n_threads;
    b.batch->end = LUD_END_STAYS;
    b.discrete = calloc(agents, sizeof *b.discrete);
    b.continuous = calloc(agents * width + 1, sizeof *b.continuous);
    b.rewards = calloc(agents, sizeof *b.rewards);
    for (int p = 0; p < layout->n_parts; p++) b.parts[p] = calloc(ENVS, layout->parts[p].bytes + 1);
    lud_batch_reset(b.batch, &(lud_batch_out){.observations = b.parts});
    return b;
}

static void bed_close(bed *b) {
    lud_batch_destroy(b->batch);
    free(b->discrete);
    free(b->continuous);
    free(b->rewards);
    for (int p = 0; p < LUD_MAX_OBSERVATION_PARTS; p++) free(b->parts[p]);
}

static void choose(any_draw *d, bed *b) {
    const lud_layout *layout = &b->model->layout;
    const int width = lud_max_continuous(layout);
    for (int i = 0; i < ENVS * layout->n_agents; i++) {
        const lud_action_space *space = &layout->actions[i % layout->n_agents];
        if (space->n_discrete) b->discrete[i] = (int32_t)any_below(d, (uint32_t)space->n_discrete);
        for (int k = 0; k < space->n_continuous; k++)
            b->continuous[i * width + k] = (float)any_between(d, (double)space->low, (double)space->high);
    }
}

static void step(bed *b) {
    const lud_batch_out out = {.observations = b->parts,
                               .rewards = b->rewards,
                               .terminated = b->terminated,
                               .truncated = b->truncated};
    lud_batch_step(b->batch, (lud_actions){b->discrete, b->continuous}, &out);
}

static const uint8_t *state_of(const bed *b, int e) {
    return b->batch->states + (size_t)e * b->model->layout.state_bytes;
}

/* ---- promises ---- */

static void all_is_finite(const bed *b) {
    const lud_layout *layout = &b->model->layout;
    for (int i = 0; i < ENVS * layout->n_agents; i++)
        if (!isfinite(b->rewards[i])) fail_msg("reward %g", (double)b->rewards[i]);
    for (int p = 0; p < layout->n_parts; p++) {
        const float *numbers = b->parts[p];
        if (layout->parts[p].dtype != LUD_F32) continue;
        for (size_t i = 0; i < ENVS * layout->parts[p].bytes / sizeof *numbers; i++)
            if (!isfinite(numbers[i]))
                fail_msg("%s: number %zu is %g", layout->parts[p].name, i, (double)numbers[i]);
    }
    double *measures = calloc((size_t)(ENVS * layout->n_measures) + 1, sizeof *measures);
    if (b->model->world->measure) b->model->world->measure(b->model, ENVS, b->batch->states, measures);
    for (int i = 0; i < ENVS * layout->n_measures; i++)
        if (!layout->measures[i % layout->n_measures].absent && isinf(measures[i]))
            fail_msg("%s is %g", layout->measures[i % layout->n_measures].name, measures[i]);
    free(measures);
}

static void states_are_states(const bed *b) {
    lud_error error = {0};
    lud_text text = {0};
    const lud_world *world = b->model->world;
    if (lud_world_check_states(b->model, ENVS, b->batch->states, &error)) fail_msg("%s", error.text);
    for (int e = 0; e < ENVS; e++) {
        world->describe(b->model, state_of(b, e), &text);
        for (int i = 0; i < b->model->layout.n_agents && i < MOST_TOLD; i++) {
            if (world->describe_agent) world->describe_agent(b->model, state_of(b, e), i, &text);
            if (world->situation) world->situation(b->model, state_of(b, e), i);
            for (int g = 0; world->n_goals && g < world->n_goals(b->model, i); g++)
                world->achieved(b->model, state_of(b, e), i, g);
        }
    }
    assert_false(text.failed);
    lud_text_free(&text);
}

static void same_states(const bed *a, const bed *b) {
    const lud_layout *layout = &a->model->layout;
    assert_int_equal(layout->state_bytes, b->model->layout.state_bytes);
    assert_int_equal(layout->n_agents, b->model->layout.n_agents);
    assert_int_equal(layout->n_parts, b->model->layout.n_parts);
    if (memcmp(a->batch->states, b->batch->states, ENVS * layout->state_bytes) != 0)
        fail_msg("states differ");
    if (memcmp(a->rewards, b->rewards, (size_t)(ENVS * layout->n_agents) * sizeof *a->rewards) != 0)
        fail_msg("rewards differ");
    for (int p = 0; p < layout->n_parts; p++)
        if (memcmp(a->parts[p], b->parts[p], ENVS * layout->parts[p].bytes) != 0)
            fail_msg("%s differs", layout->parts[p].name);
    assert_memory_equal(a->terminated, b->terminated, ENVS);
    assert_memory_equal(a->truncated, b->truncated, ENVS);
}

/* False: they are more than the program lists. */
static bool list(const lud_model *model, const uint8_t *state, const int32_t *joint, lud_successors *out) {
    lud_error error = {0};
    const lud_status status = model->world->successors(model, state, joint, out, &error);
    if (status == LUD_ERROR_LIMIT) out->n = 0;
    if (status == LUD_ERROR_LIMIT) return false;
    if (status) fail_msg("%s", error.text);
    double sum = 0;
    for (size_t i = 0; i < out->n; i++) {
        assert_true(out->probability[i] > 0);
        sum += out->probability[i];
        if (lud_world_check_states(model, 1, out->states + i * model->layout.state_bytes, &error))
            fail_msg("a successor: %s", error.text);
    }
    assert_true(model->world->is_terminal(model, state) == (out->n == 0));
    if (out->n && fabs(sum - 1) > 1e-9) fail_msg("probabilities sum to %.12f", sum);
    return true;
}

static bool is_among(const lud_successors *found, const uint8_t *state, size_t bytes) {
    for (size_t i = 0; i < found->n; i++)
        if (!memcmp(found->states + i * bytes, state, bytes)) return true;
    return false;
}

/* With another count of steps the successors are the same ones, in the same order and as likely. */
static void clock_tells_only_time(const lud_model *model, const uint8_t *state, const int32_t *joint,
                                  const lud_successors *found) {
    const lud_layout *layout = &model->layout;
    if (!layout->clock.bytes || found->n == 0) return;
    uint8_t *other = malloc(layout->state_bytes);
    lud_successors others = {0};
    memcpy(other, state, layout->state_bytes);
    memset(other + layout->clock.offset, 0, layout->clock.bytes);
    list(model, other, joint, &others);
    if (others.n != found->n) fail_msg("%zu successors, at step 0 %zu", found->n, others.n);
    for (size_t i = 0; i < found->n; i++) {
        uint8_t *a = found->states + i * layout->state_bytes, *b = others.states + i * layout->state_bytes;
        assert_true(found->probability[i] == others.probability[i]);
        memcpy(b + layout->clock.offset, a + layout->clock.offset, layout->clock.bytes);
        if (memcmp(a, b, layout->state_bytes) != 0) fail_msg("successor %zu depends on the step", i);
    }
    lud_successors_free(&others);
    free(other);
}

/* What is found for all joint actions at once is what is found for each. */
static void all_are_the_single_ones(const lud_model *model, const uint8_t *state) {
    const int64_t n_joint = lud_joint_action_count(&model->layout);
    if (!model->world->all_successors || n_joint <= 0 || n_joint > MOST_JOINT) return;
    const size_t bytes = model->layout.state_bytes;
    lud_error error = {0};
    lud_successors scratch = {0}, all = {0}, one = {0};
    uint32_t *count = calloc((size_t)n_joint, sizeof *count);
    int32_t *joint = calloc((size_t)model->layout.n_agents, sizeof *joint);
    const lud_status status = model->world->all_successors(model, state, &scratch, &all, count, &error);
    if (status && status != LUD_ERROR_LIMIT) fail_msg("%s", error.text);
    size_t at = 0;
    for (int32_t k = 0; !status && k < n_joint; at += count[k++]) {
        lud_joint_action_decode(&model->layout, k, joint);
        list(model, state, joint, &one);
        if (one.n != count[k]) fail_msg("joint action %d: %zu successors, %u among all", k, one.n, count[k]);
        assert_memory_equal(one.probability, all.probability + at, one.n * sizeof *one.probability);
        assert_memory_equal(one.states, all.states + at * bytes, one.n * bytes);
    }
    if (!status) assert_int_equal(at, all.n);
    lud_successors_free(&scratch);
    lud_successors_free(&all);
    lud_successors_free(&one);
    free(count);
    free(joint);
}

/* ---- draws ---- */

static void walk(any_draw *d, const lud_model *model, const lud_model *again) {
    const lud_world *world = model->world;
    const size_t bytes = model->layout.state_bytes;
    bed a = bed_open(model, 1), b = bed_open(again, 2);
    lud_successors found[ENVS] = {0};
    uint8_t *before = malloc(ENVS * bytes);
    same_states(&a, &b);
    const bool lists = world->successors && model->layout.n_agents <= MANY;
    for (int t = 0; t < STEPS; t++) {
        states_are_states(&a);
        memcpy(before, a.batch->states, ENVS * bytes);
        choose(d, &a);
        memcpy(b.discrete, a.discrete, (size_t)(ENVS * model->layout.n_agents) * sizeof *a.discrete);
        memcpy(b.continuous, a.continuous,
               (size_t)(ENVS * model->layout.n_agents * lud_max_continuous(&model->layout)) *
                   sizeof *a.continuous);
        bool over[ENVS] = {0};
        for (int e = 0; lists && e < ENVS; e++) {
            const int32_t *joint = a.discrete + e * model->layout.n_agents;
            over[e] = a.terminated[e] || a.truncated[e]; /* it stays as it is */
            list(model, before + (size_t)e * bytes, joint, &found[e]);
            clock_tells_only_time(model, before + (size_t)e * bytes, joint, &found[e]);
        }
        if (lists && t % 4 == 0) all_are_the_single_ones(model, before);
        step(&a);
        step(&b);
        same_states(&a, &b);
        all_is_finite(&a);
        for (int e = 0; lists && e < ENVS; e++)
            if (!over[e] && !is_among(&found[e], state_of(&a, e), bytes))
                fail_msg("a step leaves its successors");
    }
    for (int e = 0; e < ENVS; e++) lud_successors_free(&found[e]);
    free(before);
    bed_close(&a);
    bed_close(&b);
    print_message("walked\n");
}

/* The options of the world's section, and those of the section `generate` where it has one. */
static int options_of(const lud_scenario *scenario, any_leaf *leaves) {
    const lud_world *world = scenario->world;
    lud_error error = {0};
    lud_arena *arena = lud_arena_create(0);
    lud_tree *root = NULL;
    if (lud_scenario_effective(scenario, arena, &root, &error)) fail_msg("%s", error.text);
    const lud_tree *section = lud_tree_find(root, world->name);
    int n = any_collect(world->options[0], world->name, leaves, 0);
    for (int k = 1; world->options[k]; k++) {
        char path[96];
        snprintf(path, sizeof path, "%s.%s", world->name, world->options[k]->name);
        if (!strcmp(world->options[k]->name, "generate") && lud_tree_find(section, "generate"))
            n = any_collect(world->options[k], path, leaves, n);
    }
    lud_arena_destroy(arena);
    return n;
}

/* The scenario as its effective configuration says. */
static lud_scenario *read_back(const lud_scenario *scenario, const char *file) {
    lud_error error = {0};
    lud_arena *arena = lud_arena_create(0);
    lud_tree *root = NULL;
    lud_scenario *again = NULL;
    char *written = NULL;
    size_t length = 0;
    if (lud_scenario_effective(scenario, arena, &root, &error) ||
        lud_tree_write(arena, root, &written, &length, &error) ||
        lud_scenario_read(file, written, length, NULL, 0, &again, &error))
        fail_msg("the configuration in effect: %s\n%s", error.text, written ? written : "");
    lud_arena_destroy(arena);
    return again;
}

static void one_draw(void **state) {
    (void)state;
    static any_leaf leaves[ANY_MOST_LEAVES];
    static char text[MOST_SET][ANY_BYTES];
    any_draw d = {.seed = any_seed, .number = any_number};
    const char *file = shipped.files[any_below(&d, (uint32_t)shipped.n)], *set[MOST_SET];
    lud_error error = {0};
    lud_scenario *scenario = NULL;
    print_message("%s", file);
    alarm(SECONDS);
    if (lud_scenario_load(file, NULL, 0, &scenario, &error)) {
        print_message("\nneeds files that do not ship\n");
        return;
    }
    const uint32_t n = (uint32_t)options_of(scenario, leaves);
    lud_scenario_destroy(scenario);
    const int drawn = 1 + (int)any_below(&d, MOST_SET);
    for (int i = 0; i < drawn; i++) {
        any_value(&d, &leaves[any_below(&d, n)], text[i]);
        set[i] = text[i];
        print_message(" --set '%s'", text[i]);
    }
    print_message("\n");
    if (lud_scenario_load(file, set, drawn, &scenario, &error)) {
        const bool has_place =
            strstr(error.text, ".yaml") || strstr(error.text, ".txt:") || strstr(error.text, "--set");
        if (error.status != LUD_ERROR_INPUT || !has_place) fail_msg("refused with: %s", error.text);
        print_message("refused: %s\n", error.text);
        return;
    }
    lud_scenario *again = read_back(scenario, file);
    walk(&d, scenario->model, again->model);
    lud_scenario_destroy(scenario);
    lud_scenario_destroy(again);
}

static void worlds_keep_their_promises(void **state) {
    (void)state;
    any_draws(DRAWS, "walked");
}

int main(int n, char **arguments) {
    support_list_shipped(&shipped);
    return any_main(n, arguments, worlds_keep_their_promises, one_draw, NULL, NULL);
}
