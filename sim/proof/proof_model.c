#include "sim/proof/proof_model.h"

#include <assert.h>
#include <math.h>
#include <string.h>

bool lud_proof_is_known(const lud_proof_model *model, const lud_proof_atom *atom) {
    uint64_t hash = lud_proof_atom_hash(atom);
    if (model->options.negatives.known == LUD_PROOF_KNOWN_ALL &&
        lud_proof_find_fact(model->base, atom, hash) >= 0)
        return true;
    for (uint32_t i = (uint32_t)hash & model->known_mask; model->known[i].predicate;
         i = (i + 1) & model->known_mask)
        if (lud_proof_atom_equal(&model->known[i], atom)) return true;
    return false;
}

static bool depth_is_wanted(const lud_proof_options *options, int32_t depth) {
    const lud_int_list *list = &options->queries.depths;
    for (size_t i = 0; i < list->n; i++)
        if (list->items[i] == depth) return true;
    return list->n == 0;
}

static void remember(lud_proof_atom *table, uint32_t mask, const lud_proof_atom *atom) {
    uint32_t i = (uint32_t)lud_proof_atom_hash(atom) & mask;
    while (table[i].predicate && !lud_proof_atom_equal(&table[i], atom)) i = (i + 1) & mask;
    table[i] = *atom;
}

/* The query lists after the filters, and the table of known positives. */
static bool build_pools(lud_proof_model *model) {
    const lud_proof_base *base = model->base;
    const lud_proof_options *o = &model->options;
    int64_t first[LUD_PROOF_SPLITS] = {o->queries.n_train, o->queries.n_valid, o->queries.n_test};
    uint32_t size = 16;
    size_t n_all = 0;
    for (int s = 0; s < LUD_PROOF_SPLITS; s++) n_all += (size_t)base->n_queries[s];
    while (size < 2 * n_all + 2) size *= 2;
    lud_proof_atom *known = lud_arena_take_array(model->arena, size, sizeof *known);
    if (!known) return false;
    for (int s = 0; s < LUD_PROOF_SPLITS; s++) {
        size_t n = (size_t)base->n_queries[s];
        lud_proof_atom *atoms = lud_arena_take_array(model->arena, n, sizeof *atoms);
        int32_t *depths = lud_arena_take_array(model->arena, n, sizeof *depths);
        if (!atoms || !depths) return false;
        int32_t kept = 0;
        for (size_t i = 0; i < n; i++) {
            const lud_proof_query *query = &base->queries[s][i];
            int32_t p = query->atom.predicate;
            bool wanted = s != LUD_PROOF_TRAIN || depth_is_wanted(o, query->depth);
            if (wanted || o->negatives.known == LUD_PROOF_KNOWN_ALL) remember(known, size - 1, &query->atom);
            if (s == LUD_PROOF_TRAIN && o->queries.with_rules &&
                base->rule_begin[p] == base->rule_begin[p + 1])
                wanted = false;
            if (!wanted || (first[s] > 0 && kept >= first[s])) continue;
            atoms[kept] = query->atom;
            depths[kept++] = query->depth;
        }
        model->pools[s] = (lud_proof_pool){atoms, NULL, kept};
        model->pool_depths[s] = depths;
    }
    model->known = known;
    model->known_mask = size - 1;
    return true;
}

static size_t align8(size_t bytes) {
    return (bytes + 7) & ~(size_t)7;
}

/* Observation parts `goals` [A][1 + arity], `successors` [S][A][1 + arity] and `mask` [S], padded. */
static bool build_layout(lud_proof_model *model) {
    lud_layout *layout = &model->model.layout;
    int width = 1 + (model->base->max_arity > 2 ? model->base->max_arity : 2);
    int a = model->limits.max_goals, s = model->limits.max_successors;
    lud_action_space *actions = lud_arena_take_array(model->arena, 1, sizeof *actions);
    lud_role *roles = lud_arena_take_array(model->arena, 1, sizeof *roles);
    const char **names = lud_arena_take_array(model->arena, (size_t)s, sizeof *names);
    if (!actions || !roles || !names) return false;
    for (int i = 0; i < s; i++) {
        lud_text name = {0};
        lud_text_append(&name, "successor %d", i);
        names[i] = name.failed ? NULL : lud_arena_text(model->arena, name.bytes, name.length);
        lud_text_free(&name);
        if (!names[i]) return false;
    }
    *actions = (lud_action_space){.n_discrete = s, .names = names};
    *roles = LUD_ROLE_ROBOT;
    layout->n_agents = 1;
    layout->max_steps = model->max_depth;
    layout->actions = actions;
    layout->roles = roles;
    static const lud_measure measures[] = {
        {.name = "proved", .format = "%.3f", .help = "episodes that found a proof", .caption = "proved"}};
    layout->n_measures = layout->n_columns = 1;
    layout->measures = measures;
    layout->n_parts = 3;
    layout->parts[0] = (lud_observation_part){.name = "goals",
                                              .kind = LUD_OBSERVATION_TEXT,
                                              .dtype = LUD_I32,
                                              .n_dimensions = 2,
                                              .dimensions = {a, width},
                                              .bytes = sizeof(int32_t) * (size_t)(a * width)};
    layout->parts[1] = (lud_observation_part){.name = "successors",
                                              .kind = LUD_OBSERVATION_TEXT,
                                              .dtype = LUD_I32,
                                              .n_dimensions = 3,
                                              .dimensions = {s, a, width},
                                              .bytes = sizeof(int32_t) * (size_t)s * (size_t)(a * width)};
    layout->parts[2] = (lud_observation_part){.name = "mask",
                                              .kind = LUD_OBSERVATION_MASK,
                                              .dtype = LUD_U8,
                                              .n_dimensions = 1,
                                              .dimensions = {s},
                                              .bytes = (size_t)s};
    model->memory_offset = align8(sizeof(lud_proof_state) + (size_t)a * sizeof(lud_proof_atom));
    model->path_offset = model->memory_offset +
                         (model->options.limits.memory ? (size_t)model->path_capacity * sizeof(uint64_t) : 0);
    layout->state_bytes = align8(model->path_offset + (size_t)model->path_capacity * sizeof(int32_t));
    return true;
}

lud_status lud_proof_model_create(lud_proof_base *base, const lud_proof_options *options,
                                  lud_proof_model **model, lud_error *error) {
    lud_arena *arena = lud_arena_create(0);
    lud_proof_model *m = arena ? lud_arena_take(arena, sizeof *m) : NULL;
    if (m) {
        m->model.world = &lud_proof_world;
        m->arena = arena;
        m->base = base;
        m->options = *options;
        m->limits = (lud_proof_limits){(int32_t)options->limits.goals, (int32_t)options->limits.successors,
                                       options->limits.end_action};
        m->max_depth = (int32_t)options->limits.depth;
        /* a path entry for every action and every unary move, at the start and after each action */
        m->path_capacity =
            options->limits.skip_unary ? (m->max_depth + 1) * (1 + LUD_PROOF_SKIPS) : m->max_depth + 1;
    }
    if (!m || !build_pools(m) || !build_layout(m)) {
        lud_arena_destroy(arena);
        lud_proof_base_destroy(base);
        return lud_fail(error, LUD_ERROR_MEMORY, "out of memory while building the proof model");
    }
    *model = m;
    return LUD_OK;
}

void lud_proof_model_destroy(lud_proof_model *model) {
    if (!model) return;
    lud_proof_base_destroy(model->base);
    lud_arena_destroy(model->option_arena);
    lud_arena_destroy(model->arena);
}

static uint64_t *memory_of(const lud_proof_model *model, uint8_t *state) {
    return (uint64_t *)(void *)(state + model->memory_offset);
}

static void set_goals(const lud_proof_model *model, uint8_t *state, const lud_proof_atom *goals,
                      int32_t n_goals) {
    lud_proof_state *s = (lud_proof_state *)(void *)state;
    lud_proof_atom *to = lud_proof_goals(state);
    assert(n_goals <= model->limits.max_goals);
    memmove(to, goals, (size_t)n_goals * sizeof *to);
    memset(to + n_goals, 0, (size_t)(model->limits.max_goals - n_goals) * sizeof *to);
    s->n_goals = n_goals;
}

static void record(const lud_proof_model *model, uint8_t *state, int32_t entry) {
    lud_proof_state *s = (lud_proof_state *)(void *)state;
    assert(s->n_path < model->path_capacity);
    ((int32_t *)(void *)(state + model->path_offset))[s->n_path] = entry;
    if (model->options.limits.memory)
        memory_of(model, state)[s->n_path] = lud_proof_state_hash(lud_proof_goals(state), s->n_goals);
    s->n_path++;
}

void lud_proof_start(const lud_proof_model *model, const lud_proof_atom *query, int32_t label,
                     int32_t query_index, uint8_t *state) {
    lud_proof_state *s = (lud_proof_state *)(void *)state;
    memset(state, 0, model->model.layout.state_bytes);
    s->query = *query;
    s->label = label;
    s->query_index = query_index;
    s->excluded = -1;
    if (query->predicate == 0) {
        s->outcome = LUD_PROOF_FAILED;
        return;
    }
    lud_proof_canonicalise(model->base, &s->query, 1);
    s->excluded = lud_proof_find_fact(model->base, &s->query, lud_proof_atom_hash(&s->query));
    set_goals(model, state, &s->query, 1);
    record(model, state, 0);
}

/* Whether an atom has a predicate of the base, terminal ones included, and as many terms as that takes, with
 * variables numbered in order of appearance; *n_variables have appeared before it. */
static bool is_atom(const lud_proof_base *base, const lud_proof_atom *atom, int32_t *n_variables) {
    if (atom->predicate < 1 || atom->predicate > lud_proof_end(base)) return false;
    for (int i = 0; i < LUD_PROOF_MAX_ARITY; i++) {
        const int32_t term = atom->terms[i];
        if (i >= base->arity[atom->predicate]) {
            if (term != 0) return false;
        } else if (term < 1 || term > base->n_constants + *n_variables + 1) {
            return false;
        } else if (term == base->n_constants + *n_variables + 1) {
            (*n_variables)++;
        }
    }
    return true;
}

static bool is_blank(const lud_proof_atom *atom) {
    static const lud_proof_atom blank;
    return memcmp(atom, &blank, sizeof blank) == 0;
}

static lud_status check_goals(const lud_proof_model *model, const uint8_t *state, lud_error *error) {
    const lud_proof_state *s = (const lud_proof_state *)(const void *)state;
    const lud_proof_base *base = model->base;
    const lud_proof_atom *goals = lud_proof_goals_const(state);
    const bool running = s->outcome == LUD_PROOF_RUNNING;
    int32_t n_variables = 0, of_query = 0;
    if (s->n_goals < 0 || s->n_goals > model->limits.max_goals || (running && s->n_goals == 0))
        return lud_invalid(error, "%d goals, at most %d can be", s->n_goals, model->limits.max_goals);
    for (int32_t g = 0; g < model->limits.max_goals; g++) {
        const bool known = g < s->n_goals ? is_atom(base, &goals[g], &n_variables) : is_blank(&goals[g]);
        const bool ends = known && g < s->n_goals && lud_proof_is_terminal(base, &goals[g]);
        if (!known || (ends && (running || s->n_goals != 1)))
            return lud_invalid(error, "goal %d is no atom of the knowledge base", g);
    }
    if (!is_blank(&s->query) &&
        (!is_atom(base, &s->query, &of_query) || lud_proof_is_terminal(base, &s->query)))
        return lud_invalid(error, "the query is no atom of the knowledge base");
    return running && is_blank(&s->query) ? lud_invalid(error, "a search without a query") : LUD_OK;
}

static lud_status check_path(const lud_proof_model *model, const uint8_t *state, lud_error *error) {
    const lud_proof_state *s = (const lud_proof_state *)(const void *)state;
    const int32_t *path = lud_proof_path(model, state);
    const uint64_t *memory = (const uint64_t *)(const void *)(state + model->memory_offset);
    const int64_t each = model->options.limits.skip_unary ? 1 + LUD_PROOF_SKIPS : 1;
    if (s->n_path < 0 || s->n_path > each * (s->depth + 1))
        return lud_invalid(error, "a way of %d moves in %d steps", s->n_path, s->depth);
    for (int32_t i = 0; i < model->path_capacity; i++) {
        const bool used = i < s->n_path;
        if (used ? path[i] > model->base->n_rules || path[i] < -model->base->n_facts : path[i] != 0)
            return lud_invalid(error, "move %d is by no rule or fact of the knowledge base", i);
        if (!used && model->options.limits.memory && memory[i] != 0)
            return lud_invalid(error, "more states are remembered than were visited");
    }
    return LUD_OK;
}

lud_status lud_proof_check_state(const lud_proof_model *model, const uint8_t *state, lud_error *error) {
    const lud_proof_state *s = (const lud_proof_state *)(const void *)state;
    const bool running = s->outcome == LUD_PROOF_RUNNING;
    if (s->outcome < LUD_PROOF_RUNNING || s->outcome > LUD_PROOF_TRUNCATED)
        return lud_invalid(error, "%d is no outcome of a search", s->outcome);
    if (s->depth < 0 || s->depth > model->max_depth || (running && s->depth == model->max_depth))
        return lud_invalid(error, "step %d of at most %d", s->depth, model->max_depth);
    if (s->label < 0 || s->label > 1) return lud_invalid(error, "the label is %d, expected 0 or 1", s->label);
    if (s->excluded < -1 || s->excluded >= model->base->n_facts)
        return lud_invalid(error, "fact %d, there are %d", s->excluded, model->base->n_facts);
    if (s->query_index < -1) return lud_invalid(error, "query %d", s->query_index);
    LUD_TRY(check_goals(model, state, error));
    return check_path(model, state, error);
}

void lud_proof_successors_of(const lud_proof_model *model, const uint8_t *state, lud_proof_successors *out,
                             lud_proof_cuts *cuts) {
    const lud_proof_state *s = (const lud_proof_state *)(const void *)state;
    if (s->outcome != LUD_PROOF_RUNNING) return;
    const uint64_t *memory = (const uint64_t *)(const void *)(state + model->memory_offset);
    lud_proof_expand(model->base, &model->limits, lud_proof_goals_const(state), s->n_goals, s->excluded,
                     memory, model->options.limits.memory ? s->n_path : 0, out, cuts);
}

/* Goals and path entry of a successor, without counting an action. */
static void move_to(const lud_proof_model *model, const lud_proof_atom *goals, int32_t n_goals,
                    lud_proof_step step, uint8_t *state) {
    set_goals(model, state, goals, n_goals);
    int32_t entry = step.kind == LUD_PROOF_BY_RULE   ? 1 + step.index
                    : step.kind == LUD_PROOF_BY_FACT ? -1 - step.index
                                                     : 0;
    record(model, state, entry);
}

void lud_proof_enter(const lud_proof_model *model, const lud_proof_atom *goals, int32_t n_goals,
                     lud_proof_step step, uint8_t *state) {
    lud_proof_state *s = (lud_proof_state *)(void *)state;
    assert(s->outcome == LUD_PROOF_RUNNING && n_goals > 0);
    const lud_proof_base *base = model->base;
    move_to(model, goals, n_goals, step, state);
    s->depth++;
    int32_t predicate = lud_proof_goals(state)[0].predicate;
    if (predicate == lud_proof_true(base))
        s->outcome = LUD_PROOF_PROVED;
    else if (predicate == lud_proof_false(base))
        s->outcome = LUD_PROOF_FAILED;
    else if (predicate == lud_proof_end(base))
        s->outcome = LUD_PROOF_GAVE_UP;
    else if (s->depth >= model->max_depth)
        s->outcome = LUD_PROOF_TRUNCATED;
}

void lud_proof_settle(const lud_proof_model *model, uint8_t *state, lud_proof_successors *out,
                      lud_proof_cuts *cuts) {
    int32_t first = out->n;
    for (int i = 0;; i++) {
        lud_proof_successors_of(model, state, out, cuts);
        bool unary =
            out->n == first + 1 && !lud_proof_is_terminal(model->base, &out->atoms[out->begin[first]]);
        if (!unary || i == LUD_PROOF_SKIPS || !model->options.limits.skip_unary || model->limits.end_action)
            return;
        move_to(model, &out->atoms[out->begin[first]], out->begin[first + 1] - out->begin[first],
                out->step[first], state);
        out->n = first;
    }
}

float lud_proof_reward(const lud_proof_model *model, const uint8_t *state) {
    const lud_proof_state *s = (const lud_proof_state *)(const void *)state;
    if (s->outcome == LUD_PROOF_RUNNING) return 0.0f;
    double ratio = model->options.negatives.per_positive;
    float w = ratio > 0.0 ? (float)(1.0 / ratio) : 1.0f;
    float bonus = s->outcome == LUD_PROOF_GAVE_UP ? 0.3f : 0.0f;
    /* columns: true positive, false negative, false positive, true negative */
    const float table[LUD_PROOF_REWARDS][4] = {{1, 0, 0, 0},         {1, 0, -1, 0},  {1, 0, 0, 1},
                                               {1, -0.5f, -1.5f, 1}, {1, -1, -1, w}, {1, -1, -1, w + bonus}};
    bool proved = s->outcome == LUD_PROOF_PROVED;
    int column = s->label ? (proved ? 0 : 1) : (proved ? 2 : 3);
    return table[model->options.reward][column];
}

float lud_proof_potential(const lud_proof_model *model, const uint8_t *state) {
    const lud_proof_state *s = (const lud_proof_state *)(const void *)state;
    double beta = model->options.scores.shaping;
    if (beta == 0.0 || s->outcome != LUD_PROOF_RUNNING || s->n_goals == 0) return 0.0f;
    float score = lud_proof_score(model->base, lud_proof_goals_const(state), -1.0f);
    if (score < 0.0f) return 0.0f;
    return (float)(beta * log(score > 1e-9f ? (double)score : 1e-9));
}

float lud_proof_shaped_reward(const lud_proof_model *model, const uint8_t *state, float before) {
    const float reward = lud_proof_reward(model, state);
    if (model->options.scores.shaping == 0.0) return reward;
    return reward + ((float)model->options.scores.shaping_gamma * lud_proof_potential(model, state) - before);
}
