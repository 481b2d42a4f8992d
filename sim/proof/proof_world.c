#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/options/option_rows.h"
#include "sim/proof/proof_model.h"
#include "sim/proof/proof_tree.h"

/* ---- Options ---- */

static const char *const syntax_names[] = {"triples", "relations", NULL};
static const char *const format_names[] = {"auto", "atoms", "tabs", "commas", "n-triples", NULL};
static const char *const split_names[] = {"train", "valid", "test", NULL};
static const char *const corrupt_names[] = {"head", "tail", "both", NULL};
static const char *const known_names[] = {"all", "filtered", NULL};

#define BIG 2147483647.0

#define OPTIONS struct lud_proof_query_options
TABLE(query_table, "queries", "what is to be proved",
      TEXT(train, NULL, "file of training queries, with or without depths", .names = LUD_NAMES_FILE),
      TEXT(valid, NULL, "file of validation queries", .names = LUD_NAMES_FILE),
      TEXT(test, NULL, "file of test queries", .names = LUD_NAMES_FILE),
      CHOICE(play, "train", split_names, "the list that single episodes (run, view, record) draw from"),
      INTS(depths, "[]", -1, BIG, "training queries kept by the depth their file states; empty: all"),
      BOOL(with_rules, "true", "drop training queries whose predicate heads no rule"),
      INT(n_train, "0", 0, BIG, "use only the first n training queries (after the filters); 0: all"),
      INT(n_valid, "0", 0, BIG, "use only the first n validation queries; 0: all"),
      INT(n_test, "0", 0, BIG, "use only the first n test queries; 0: all"));

#undef OPTIONS
#define OPTIONS struct lud_proof_limit_options
TABLE(limit_table, "limits", "budgets of the search and the actions offered",
      INT(depth, "20", 1, 10000, "an episode is cut after this many", "steps"),
      INT(goals, "6", 1, LUD_PROOF_MAX_GOALS, "successors with more goals are cut"),
      INT(successors, "64", 2, LUD_PROOF_MAX_SUCCESSORS, "candidates of one state kept, rules before facts"),
      INT(fact_cap, "0", 0, BIG, "facts of each predicate that take part in resolution; 0: all"),
      BOOL(fact_cap_random, "false",
           "the cap keeps a random choice (depends on run.seed) instead of the first ones"),
      BOOL(memory, "true", "never offer a state that the episode has visited"),
      BOOL(end_action, "true", "offer the action that gives up"),
      BOOL(skip_unary, "false", "pass through states with one successor (only without the end action)"));

#undef OPTIONS
#define OPTIONS struct lud_proof_negative_options
TABLE(negative_table, "negatives", "corrupted queries mixed into training",
      REAL(per_positive, "1", 0, 1000, "corrupted queries for each true one in training"),
      CHOICE(corrupt, "both", corrupt_names, "which argument is replaced"),
      CHOICE(known, "all", known_names,
             "what is never used as a corruption: every fact and query, or only queries left by the depth "
             "filter"));

#undef OPTIONS
#define OPTIONS struct lud_proof_score_options
TABLE(score_table, "scores", "scores of triples from elsewhere",
      TEXT(file, NULL, "file of `p(a,b) score rank` lines", .names = LUD_NAMES_FILE),
      BOOL(as_facts, "false",
           "add the best of them to the facts; note that they may contain valid and test queries"),
      INT(top_k, "10", 0, BIG, "largest rank added as a fact"),
      REAL(threshold, "0", -BIG, BIG, "smallest score added as a fact"),
      REAL(shaping, "0", -1000, 1000,
           "beta of the potential beta * log(score of the first goal); 0: no shaping"),
      REAL(shaping_gamma, "0.99", 0, 1, "discount of the shaping term"));

#undef OPTIONS
#define OPTIONS lud_proof_options
static const lud_option proof_options[] = {
    TEXT(folder, NULL, "folder of the files named here; without it they are looked for beside the scenario"),
    TEXT(facts, NULL, "file of facts; required", .names = LUD_NAMES_FILE),
    TEXT(rules, NULL, "file of rules; required", .names = LUD_NAMES_FILE),
    TEXT(domains, NULL, "file of domains, to corrupt a query within its argument's domain",
         .names = LUD_NAMES_FILE),
    CHOICE(syntax, "triples", syntax_names,
           "triples: two arguments, other lines of a Prolog file skipped; relations: one to four arguments"),
    CHOICE(format, "auto", format_names,
           "of fact and query files: auto, by the first line; atoms, p(a,b); tabs and commas, a line of "
           "subject, "
           "predicate and object; n-triples"),
    INT(reward, "4", 0, LUD_PROOF_REWARDS - 1, "reward scheme 0 to 5"),
    SECTION(queries, query_table, "what is to be proved"),
    SECTION(limits, limit_table, "budgets of the search"),
    SECTION(negatives, negative_table, "corrupted queries in training"),
    SECTION(scores, score_table, "scores of triples from elsewhere"),
};
const lud_option_table lud_proof_option_table =
    OPTION_TABLE("proof", "a knowledge graph in which queries are proved", proof_options);

/* ---- Scenario -> model ---- */

enum { FILE_LIMIT = INT32_MAX, MOST_WARNINGS = 3 };

typedef enum file_kind { FACTS, RULES, TRAIN, VALID, TEST, DOMAINS, SCORES } file_kind;

/* The path of a file of the options: beside the scenario, or in the folder, which is beside the scenario. */
static char *path_of(lud_arena *arena, const lud_proof_options *o, const char *scenario, const char *path) {
    if (!o->folder) return lud_path_beside(arena, scenario, path);
    lud_text joined = {0};
    lud_text_append(&joined, "%s/%s", o->folder, path);
    char *full =
        joined.failed ? NULL : lud_path_beside(arena, scenario, path[0] == '/' ? path : joined.bytes);
    lud_text_free(&joined);
    return full;
}

static lud_status read_one(lud_proof_builder *builder, const lud_proof_options *o, file_kind kind,
                           const char *scenario, const char *path, lud_error *error) {
    if (!path) return LUD_OK;
    lud_arena *arena = lud_arena_create(0);
    char *full = arena ? path_of(arena, o, scenario, path) : NULL, *text;
    size_t length;
    lud_status status =
        full ? lud_file_read(arena, full, FILE_LIMIT, &text, &length, error) : lud_out_of_memory(error);
    if (!status) switch (kind) {
        case FACTS:
            status = lud_proof_read_facts(builder, full, text, length, error);
            break;
        case RULES:
            status = lud_proof_read_rules(builder, full, text, length, error);
            break;
        case DOMAINS:
            status = lud_proof_read_domains(builder, full, text, length, error);
            break;
        case SCORES:
            status = lud_proof_read_scores(builder, full, text, length, o->scores.as_facts, o->scores.top_k,
                                           o->scores.threshold, error);
            break;
        default:
            status =
                lud_proof_read_queries(builder, (lud_proof_split)(kind - TRAIN), full, text, length, error);
        }
    lud_arena_destroy(arena);
    return status;
}

static void warn(void *unused, const char *text) {
    (void)unused;
    lud_log(NULL, LUD_LOG_WARNING, "%s", text);
}

lud_status lud_proof_model_load(const lud_proof_options *options, const char *file, uint64_t seed,
                                lud_proof_model **model, lud_error *error) {
    if (!options->facts || !options->rules)
        return lud_invalid_at(error, (lud_place){file, 0, 0}, "proof: no `%s`, expected the path of a file",
                              options->facts ? "rules" : "facts");
    lud_proof_builder *builder = lud_proof_builder_create((lud_proof_syntax)options->syntax);
    if (!builder) return lud_out_of_memory(error);
    lud_proof_builder_set_format(builder, (lud_proof_format)options->format);
    const char *paths[] = {options->facts,         options->rules,        options->queries.train,
                           options->queries.valid, options->queries.test, options->domains,
                           options->scores.file};
    lud_status status = LUD_OK;
    for (int i = 0; !status && i < (int)(sizeof paths / sizeof *paths); i++)
        status = read_one(builder, options, (file_kind)i, file, paths[i], error);
    lud_proof_base *base = NULL;
    lud_proof_build_options build = {options->limits.fact_cap, options->limits.fact_cap_random, seed};
    if (!status) status = lud_proof_build(builder, &build, &base, error);
    if (!status && lud_proof_builder_skipped(builder) > 0)
        lud_log(NULL, LUD_LOG_WARNING, "%s: %lld lines that hold no triple were skipped", options->facts,
                (long long)lud_proof_builder_skipped(builder));
    if (!status && (status = lud_proof_builder_check(builder, MOST_WARNINGS, warn, NULL, error)))
        lud_proof_base_destroy(base);
    lud_proof_builder_destroy(builder);
    if (status) return status;
    return lud_proof_model_create(base, options, model, error);
}

/* The absolute form of a path; that of a file that does not exist is made from the present folder, so that
 * the message about it names the place that was looked at. */
static char *absolute_path(lud_arena *arena, const char *path) {
    char *real = realpath(path, NULL), *here = real || path[0] == '/' ? NULL : getcwd(NULL, 0);
    lud_text joined = {0};
    lud_text_append(&joined, "%s%s%s", here ? here : "", here ? "/" : "", real ? real : path);
    char *absolute = joined.failed ? NULL : lud_arena_text(arena, joined.bytes, joined.length);
    lud_text_free(&joined);
    free(here);
    free(real);
    return absolute;
}

/* Absolute paths, so that the effective configuration reads back from any folder. */
static bool make_absolute(lud_arena *arena, const char *file, lud_proof_options *o) {
    const char **paths[] = {&o->facts,        &o->rules,   &o->queries.train, &o->queries.valid,
                            &o->queries.test, &o->domains, &o->scores.file};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        if (!*paths[i]) continue;
        char *beside = path_of(arena, o, file, *paths[i]);
        if (!beside) return false;
        *paths[i] = absolute_path(arena, beside);
        if (!*paths[i]) return false;
    }
    o->folder = NULL;
    return true;
}

/* A file that cannot be opened is told where the scenario names it. */
static lud_status check_files(const lud_proof_options *o, const lud_tree *section, lud_error *error) {
    if (!o->facts) return LUD_OK; /* loading tells what is not named */
    const struct {
        const char *section, *key, *path;
    } files[] = {{NULL, "facts", o->facts},
                 {NULL, "rules", o->rules},
                 {"queries", "train", o->queries.train},
                 {"queries", "valid", o->queries.valid},
                 {"queries", "test", o->queries.test},
                 {NULL, "domains", o->domains},
                 {"scores", "file", o->scores.file}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (!files[i].path) continue;
        const lud_tree *in = section && files[i].section ? lud_tree_find(section, files[i].section) : section;
        LUD_TRY(lud_tree_check_file(in ? lud_tree_find(in, files[i].key) : NULL, files[i].path, error));
    }
    return LUD_OK;
}

/* What there is was dropped by the filters of training queries, or there is nothing. */
static lud_status no_queries(const lud_proof_model *model, const lud_proof_options *options, const char *file,
                             lud_error *error) {
    const lud_place place = {file, 0, 0};
    const int32_t n = model->base->n_queries[options->queries.play];
    if (n == 0)
        return lud_invalid_at(error, place,
                              "proof.queries: no %s queries are left to play, expected a file with some",
                              split_names[options->queries.play]);
    return lud_invalid_at(
        error, place,
        "proof.queries: of %d %s queries none is left to play; with_rules drops those that no rule "
        "concludes (false keeps them), depths those of other depths",
        (int)n, split_names[options->queries.play]);
}

static lud_status parse(const lud_world *world, lud_tree *root, const char *file, uint64_t seed,
                        lud_model **model, lud_error *error) {
    (void)world;
    lud_arena *arena = lud_arena_create(0);
    lud_proof_options options;
    lud_proof_model *loaded = NULL;
    lud_status status = arena ? LUD_OK : lud_out_of_memory(error);
    if (!status)
        status =
            lud_options_read(&lud_proof_option_table, arena, lud_tree_get(root, "proof"), &options, error);
    if (!status && !make_absolute(arena, file, &options)) status = lud_out_of_memory(error);
    if (!status) status = check_files(&options, lud_tree_find(root, "proof"), error);
    if (!status) status = lud_proof_model_load(&options, file, seed, &loaded, error);
    if (!status && loaded->pools[options.queries.play].n == 0) {
        status = no_queries(loaded, &options, file, error);
        lud_proof_model_destroy(loaded);
        loaded = NULL;
    }
    if (status) {
        lud_arena_destroy(arena);
        return status;
    }
    loaded->option_arena = arena; /* keeps the texts that the model's options point to */
    *model = &loaded->model;
    return LUD_OK;
}

static void free_model(lud_model *model) {
    lud_proof_model_destroy((lud_proof_model *)(void *)model);
}

static lud_status write_model(const lud_model *model, lud_arena *arena, lud_tree *root, lud_error *error) {
    lud_tree *section = lud_tree_add_mapping(arena, root, "proof");
    if (!section) return lud_out_of_memory(error);
    return lud_options_write(&lud_proof_option_table, arena,
                             &((const lud_proof_model *)(const void *)model)->options, section, error);
}

/* ---- The world ---- */

/* Successors of one state on the stack. The limits of a model keep it below a megabyte. */
typedef struct window {
    int32_t begin[LUD_PROOF_MAX_SUCCESSORS + 1];
    lud_proof_atom atoms[LUD_PROOF_MAX_SUCCESSORS * LUD_PROOF_MAX_GOALS];
    uint64_t hash[LUD_PROOF_MAX_SUCCESSORS];
    lud_proof_step step[LUD_PROOF_MAX_SUCCESSORS];
} window;

static lud_proof_successors open_window(window *w) {
    w->begin[0] = 0;
    return (lud_proof_successors){.begin = w->begin, .atoms = w->atoms, .hash = w->hash, .step = w->step};
}

static const lud_proof_model *proof_model(const lud_model *model) {
    return (const lud_proof_model *)(const void *)model;
}
static const lud_proof_state *head(const uint8_t *state) {
    return (const lud_proof_state *)(const void *)state;
}

/* Leaves only states in which a choice is due (skip_unary). */
static void settle(const lud_proof_model *m, uint8_t *state, window *w) {
    if (!m->options.limits.skip_unary || m->limits.end_action) return;
    lud_proof_successors out = open_window(w);
    lud_proof_settle(m, state, &out, NULL);
}

static void reset(const lud_model *model, lud_range range, uint8_t *states) {
    const lud_proof_model *m = proof_model(model);
    const lud_proof_pool *pool = &m->pools[m->options.queries.play];
    window w;
    for (int e = 0; e < range.n; e++) {
        lud_random_key key = {range.seed, range.first_environment + (uint32_t)e};
        lud_words words = lud_draw(key, range.tick[e], 0, LUD_PURPOSE_RESET, 0);
        int32_t index = (int32_t)lud_below(words.v[0], (uint32_t)pool->n);
        lud_proof_atom query = pool->atoms[index];
        int32_t label = 1;
        double ratio = m->options.negatives.per_positive;
        if (lud_unit(words.v[1]) < ratio / (1.0 + ratio)) {
            lud_proof_corrupt mode = (lud_proof_corrupt)m->options.negatives.corrupt;
            if (mode == LUD_PROOF_BOTH) mode = words.v[2] & 1 ? LUD_PROOF_TAIL : LUD_PROOF_HEAD;
            if (lud_proof_corrupt_once(m, &pool->atoms[index], mode, key, range.tick[e], &query)) label = 0;
        }
        uint8_t *state = states + (size_t)e * model->layout.state_bytes;
        lud_proof_start(m, &query, label, index, state);
        settle(m, state, &w);
    }
}

/* Takes successor `action` modulo their number, so that every number of the action space means something. */
static void take_action(const lud_proof_model *m, uint8_t *state, int32_t action, window *w) {
    lud_proof_successors out = open_window(w);
    lud_proof_successors_of(m, state, &out, NULL);
    int32_t i = action % out.n;
    lud_proof_enter(m, w->atoms + w->begin[i], w->begin[i + 1] - w->begin[i], w->step[i], state);
    settle(m, state, w);
}

static void step(const lud_model *model, lud_range range, uint8_t *states, lud_actions actions,
                 lud_outcome outcome) {
    const lud_proof_model *m = proof_model(model);
    window w;
    for (int e = 0; e < range.n; e++) {
        uint8_t *state = states + (size_t)e * model->layout.state_bytes;
        float reward = 0.0f;
        if (head(state)->outcome == LUD_PROOF_RUNNING) {
            const float before = lud_proof_potential(m, state);
            take_action(m, state, actions.discrete[e], &w);
            reward = lud_proof_shaped_reward(m, state, before);
        }
        int32_t ended = head(state)->outcome;
        if (outcome.rewards) outcome.rewards[e] = reward;
        if (outcome.terminated)
            outcome.terminated[e] = ended != LUD_PROOF_RUNNING && ended != LUD_PROOF_TRUNCATED;
        if (outcome.truncated) outcome.truncated[e] = ended == LUD_PROOF_TRUNCATED;
    }
}

static void write_goals(int32_t *to, int width, const lud_proof_atom *goals, int32_t n) {
    for (int32_t g = 0; g < n; g++, to += width) {
        to[0] = goals[g].predicate;
        memcpy(to + 1, goals[g].terms, (size_t)(width - 1) * sizeof *to);
    }
}

static void observe(const lud_model *model, lud_range range, const uint8_t *states, void *const *parts) {
    const lud_proof_model *m = proof_model(model);
    const lud_observation_part *part = model->layout.parts;
    int width = part[0].dimensions[1];
    window w;
    for (int e = 0; e < range.n; e++) {
        const uint8_t *state = states + (size_t)e * model->layout.state_bytes;
        if (parts[0]) {
            uint8_t *to = (uint8_t *)parts[0] + (size_t)e * part[0].bytes;
            memset(to, 0, part[0].bytes);
            write_goals((int32_t *)(void *)to, width, lud_proof_goals_const(state), head(state)->n_goals);
        }
        if (!parts[1] && !parts[2]) continue;
        lud_proof_successors out = open_window(&w);
        lud_proof_successors_of(m, state, &out, NULL);
        if (parts[1]) {
            uint8_t *to = (uint8_t *)parts[1] + (size_t)e * part[1].bytes;
            memset(to, 0, part[1].bytes);
            for (int32_t i = 0; i < out.n; i++)
                write_goals((int32_t *)(void *)to + (size_t)i * (size_t)(m->limits.max_goals * width), width,
                            w.atoms + w.begin[i], w.begin[i + 1] - w.begin[i]);
        }
        if (parts[2]) {
            uint8_t *to = (uint8_t *)parts[2] + (size_t)e * part[2].bytes;
            memset(to, 1, (size_t)out.n);
            memset(to + out.n, 0, part[2].bytes - (size_t)out.n);
        }
    }
}

static bool is_terminal(const lud_model *model, const uint8_t *state) {
    (void)model;
    return head(state)->outcome != LUD_PROOF_RUNNING;
}

static lud_status check_state(const lud_model *model, const uint8_t *state, lud_error *error) {
    return lud_proof_check_state(proof_model(model), state, error);
}

static int elapsed(const lud_model *model, const uint8_t *state) {
    (void)model;
    return head(state)->depth;
}

static void measure(const lud_model *model, int n, const uint8_t *states, double *values) {
    for (int e = 0; e < n; e++)
        values[e] = head(states + (size_t)e * model->layout.state_bytes)->outcome == LUD_PROOF_PROVED;
}

static lud_status successors(const lud_model *model, const uint8_t *state, const int32_t *joint_action,
                             lud_successors *out, lud_error *error) {
    const lud_proof_model *m = proof_model(model);
    out->n = 0;
    if (is_terminal(model, state)) return LUD_OK;
    LUD_TRY(lud_successors_reserve(out, model->layout.state_bytes, 1, error));
    window w;
    memcpy(out->states, state, model->layout.state_bytes);
    take_action(m, out->states, joint_action[0], &w);
    out->probability[0] = 1.0;
    out->n = 1;
    return LUD_OK;
}

static void describe_goals(const lud_proof_base *base, const lud_proof_atom *goals, int32_t n,
                           lud_text *out) {
    for (int32_t g = 0; g < n; g++) {
        if (g) lud_text_append(out, ", ");
        lud_proof_print_atom(base, NULL, &goals[g], out);
    }
}

/* The goals of a successor, or what the end of the search is; numbers past the successors stand for them too,
 * see take_action. */
static bool describe_action(const lud_model *model, const uint8_t *state, int agent, int action,
                            lud_text *out) {
    (void)agent;
    const lud_proof_model *m = proof_model(model);
    window w;
    lud_proof_successors choices = open_window(&w);
    lud_proof_successors_of(m, state, &choices, NULL);
    if (action < 0 || choices.n == 0) return false;
    const int32_t i = action % choices.n;
    const lud_proof_atom *goals = w.atoms + w.begin[i];
    if (w.step[i].kind == LUD_PROOF_GIVE_UP)
        lud_text_append(out, "give up");
    else if (w.step[i].kind == LUD_PROOF_DEAD_END)
        lud_text_append(out, "no way on");
    else if (lud_proof_is_terminal(m->base, goals))
        lud_text_append(out, "proved");
    else
        describe_goals(m->base, goals, w.begin[i + 1] - w.begin[i], out);
    return i == action;
}

static void describe(const lud_model *model, const uint8_t *state, lud_text *out) {
    const lud_proof_model *m = proof_model(model);
    const lud_proof_state *s = head(state);
    static const char *const outcomes[] = {"running", "proved", "no goal could be resolved", "gave up",
                                           "cut at the depth limit"};
    lud_text_append(out, "query: ");
    if (s->query.predicate) lud_proof_print_atom(m->base, NULL, &s->query, out);
    lud_text_append(out, " (%s)\nstep %d of %d, %s\ngoals: ", s->label ? "true triple" : "corruption",
                    s->depth, m->max_depth, outcomes[s->outcome]);
    describe_goals(m->base, lud_proof_goals_const(state), s->n_goals, out);
    lud_text_append(out, "\n");
    window w;
    lud_proof_successors choices = open_window(&w);
    lud_proof_successors_of(m, state, &choices, NULL);
    for (int32_t i = 0; i < choices.n; i++) {
        lud_text_append(out, "  %d: ", i);
        describe_goals(m->base, w.atoms + w.begin[i], w.begin[i + 1] - w.begin[i], out);
        if (w.step[i].kind == LUD_PROOF_BY_RULE)
            lud_text_append(out, "  by %s", m->base->rules[w.step[i].index].name);
        if (w.step[i].kind == LUD_PROOF_BY_FACT) {
            lud_text_append(out, "  by ");
            lud_proof_print_atom(m->base, NULL, &m->base->facts[w.step[i].index], out);
        }
        lud_text_append(out, "\n");
    }
    lud_proof_tree tree = {0};
    if (s->query.predicate && !lud_proof_tree_of(m, state, &tree, NULL))
        lud_proof_tree_print(m->base, &tree, out);
    lud_proof_tree_free(&tree);
}

static const lud_option_table *const option_tables[] = {&lud_proof_option_table, NULL};

/* Embeddings belong to constants and predicates, choices to rules. */
static void names(const lud_model *model, lud_text *out) {
    const lud_proof_base *base = proof_model(model)->base;
    for (int32_t i = 1; i <= base->n_constants; i++)
        lud_text_append(out, "constant %s\n", base->constants[i]);
    for (int32_t i = 1; i <= base->n_predicates; i++)
        lud_text_append(out, "predicate %s/%d\n", base->predicates[i], base->arity[i]);
    for (int32_t i = 0; i < base->n_rules; i++) {
        lud_text_append(out, "rule ");
        lud_proof_print_rule(base, &base->rules[i], out);
        lud_text_append(out, "\n");
    }
}

const lud_world lud_proof_world = {
    .name = "proof",
    .about = "a knowledge graph: prove queries from facts by rules, one resolution step at a time",
    .options = option_tables,
    .parse = parse,
    .free = free_model,
    .write = write_model,
    .reset = reset,
    .step = step,
    .observe = observe,
    .successors = successors,
    .is_terminal = is_terminal,
    .check_state = check_state,
    .elapsed = elapsed,
    .measure = measure,
    .describe = describe,
    .describe_action = describe_action,
    .names = names,
};
