#include "learn/empo/phase1/networks.h"
#include "learn/runs/parameters.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* States and entries that go through a network at once. */
enum { CHUNK = 256, ENTRIES = 2048 };
/* Streams of the dropout draws, beyond those of the other networks. */
enum { STREAM_Q_H = 20, STREAM_MARGINAL = 22 };

/* One network for inference. */
typedef struct inference_net {
    lud_nn *net;
    lud_empo_graph graph;
    int output;
} inference_net;

struct lud_empo_human_run {
    inference_net q, marginal;
    lud_empo_staging staging;
    int64_t chunk, entries;
    lud_arrays arrays;
    float *raw;             /* [entries][n_actions] read back */
    int32_t *begin;         /* [chunk + 1] query for all goals */
    int32_t *person, *goal; /* [chunk * n_goals] */
    double *policy, *value; /* [chunk * n_goals][n_actions], [chunk * n_goals] */
    int64_t query_states;   /* states of such a query */
};

/* ---- declaring and making ---- */

lud_empo_graph lud_empo_human_declare(lud_nn *net, const lud_empo_shape *s, bool marginal, int64_t n_actions,
                                      double dropout, int64_t max_entries, int *output) {
    lud_empo_graph g = lud_empo_declare_inputs(net, s, max_entries);
    const int state = lud_nn_gather(
        net, lud_empo_state_encoder(net, &g, s, marginal ? "pi_h.state_encoder" : "q_h.state_encoder"),
        g.entry_state);
    const int agent =
        lud_empo_agent_encoder(net, &g, s, marginal ? "pi_h.agent_encoder" : "q_h.agent_encoder");
    if (marginal) {
        const int both = lud_nn_concat(net, (const int[]){state, agent}, 2);
        *output = lud_empo_value_head(net, both, s, "pi_h.policy_head", n_actions, dropout, STREAM_MARGINAL);
        lud_nn_output(net, *output);
    } else {
        const int goal = lud_empo_goal_encoder(net, &g, s, "q_h.goal_encoder");
        const int all = lud_nn_concat(net, (const int[]){state, goal, agent}, 3);
        const int raw = lud_empo_value_head(net, all, s, "q_h.value_head", n_actions, dropout, STREAM_Q_H);
        *output = lud_empo_clamped(net, raw, 0.0, 1.0);
    }
    return g;
}

static lud_empo_shape shape_of(const lud_empo_features *f, const lud_empo_phase1_options *o) {
    lud_empo_shape s = lud_empo_shape_of(f);
    s.hidden = o->hidden_dim;
    s.goal_features = o->goal_feature_dim;
    s.agent_embedding = o->agent_embedding_dim;
    s.position_features = o->agent_position_feature_dim;
    s.agent_features = o->agent_feature_dim;
    return s;
}

static lud_parameters *make_parameters(lud_empo_human_net *n, bool marginal, uint64_t seed,
                                       lud_error *error) {
    lud_parameters *p = lud_parameters_create(n->device, false);
    lud_nn *registering = p ? lud_nn_create(p, 0) : NULL;
    lud_status status = LUD_ERROR_MEMORY;
    if (registering) {
        int output;
        lud_empo_human_declare(registering, &n->shape, marginal, n->n_actions, 0.0, 0, &output);
        lud_nn_destroy(registering);
        status = lud_parameters_build(p, seed, error);
    }
    if (status == LUD_OK) return p;
    lud_parameters_destroy(p);
    return NULL;
}

static bool make_inference(lud_empo_human_net *n, bool marginal, inference_net *made, lud_error *error) {
    made->net = lud_nn_create(marginal ? n->marginal : n->q, n->run->chunk);
    if (!made->net) return false;
    made->graph = lud_empo_human_declare(made->net, &n->shape, marginal, n->n_actions, 0.0, n->run->entries,
                                         &made->output);
    return lud_nn_plan(made->net, LUD_NN_INFERENCE, error) == LUD_OK &&
           lud_empo_prepare(made->net, &made->graph, &n->shape);
}

static bool make_run(lud_empo_human_net *n, lud_error *error) {
    struct lud_empo_human_run *r = n->run = calloc(1, sizeof *n->run);
    if (!r) return false;
    const lud_empo_layout *layout = &n->features.layout;
    r->chunk = CHUNK;
    r->entries = ENTRIES;
    if (r->entries < layout->n_goals) r->entries = layout->n_goals;
    if (r->entries < r->chunk * layout->n_humans) r->entries = r->chunk * layout->n_humans;
    r->query_states = r->entries / layout->n_goals < r->chunk ? r->entries / layout->n_goals : r->chunk;
    const size_t most = (size_t)(r->query_states * layout->n_goals), actions = (size_t)n->n_actions;
    LUD_TAKE(&r->arrays, r->raw, (size_t)r->entries * actions);
    LUD_TAKE(&r->arrays, r->begin, (size_t)r->query_states + 1);
    LUD_TAKE(&r->arrays, r->person, most);
    LUD_TAKE(&r->arrays, r->goal, most);
    LUD_TAKE(&r->arrays, r->policy, most * actions);
    LUD_TAKE(&r->arrays, r->value, most);
    if (r->arrays.failed) return false;
    int64_t entry = 0;
    for (int64_t i = 0; i < r->query_states; i++, r->begin[i] = (int32_t)entry)
        for (int h = 0; h < layout->n_humans; h++)
            for (int g = 0; g < lud_empo_goals_of(layout, h); g++, entry++) {
                r->person[entry] = h;
                r->goal[entry] = g;
            }
    return lud_empo_staging_create(n->device, &n->features, &n->shape.walk, r->chunk, r->entries,
                                   &r->staging) &&
           make_inference(n, false, &r->q, error) &&
           (!n->marginal || make_inference(n, true, &r->marginal, error));
}

lud_status lud_empo_human_net_create(lud_device *device, const lud_model *model,
                                     const lud_empo_phase1_options *options, uint64_t seed,
                                     lud_empo_human_net *n, lud_error *error) {
    *n = (lud_empo_human_net){.device = device, .options = *options};
    LUD_TRY(lud_empo_features_create(model, options->include_step_count, &n->features, error));
    assert(n->features.height >= 2 && n->features.width >= 2); /* the world's own limit is 3 */
    n->shape = shape_of(&n->features, options);
    n->n_actions = n->features.layout.max_human_actions;
    assert(n->n_actions <= 256);
    lud_error reason = {0};
    n->q = make_parameters(n, false, seed, &reason);
    n->q_target = n->q ? lud_parameters_clone(n->q) : NULL;
    if (options->marginal_network) n->marginal = make_parameters(n, true, seed, &reason);
    if (n->q_target && (n->marginal || !options->marginal_network) && make_run(n, &reason)) return LUD_OK;
    lud_empo_human_net_free(n);
    if (!reason.status) return lud_no_memory(error, "the networks of people");
    if (error) *error = reason;
    return reason.status;
}

void lud_empo_human_net_free(lud_empo_human_net *n) {
    struct lud_empo_human_run *r = n->run;
    if (r) {
        lud_nn_destroy(r->q.net);
        lud_nn_destroy(r->marginal.net);
        lud_empo_staging_free(&r->staging);
        lud_arrays_free(&r->arrays);
        free(r);
    }
    lud_parameters_destroy(n->q);
    lud_parameters_destroy(n->q_target);
    lud_parameters_destroy(n->marginal);
    lud_empo_features_free(&n->features);
    *n = (lud_empo_human_net){0};
}

/* ---- loading ---- */

/* The options of a run from the configuration that its checkpoint keeps. They point into the arena. */
static lud_status read_options(const lud_checkpoint *checkpoint, lud_arena *arena,
                               lud_empo_phase1_options *options, lud_error *error) {
    const char *learner = lud_checkpoint_text(checkpoint, "learner");
    const char *text = lud_checkpoint_text(checkpoint, "configuration");
    if (!learner || strcmp(learner, "empo-phase1") != 0)
        return lud_invalid(error, "a run of the learner %s; expected empo-phase1", learner ? learner : "?");
    lud_tree *root = NULL;
    if (!text) return lud_invalid(error, "the checkpoint does not say its configuration");
    LUD_TRY(lud_tree_read_text(arena, "configuration", text, strlen(text), &root, error));
    lud_tree *section = root->kind == LUD_TREE_MAPPING ? lud_tree_get(root, "learner") : NULL;
    return lud_empo_phase1_options_read(arena, section, options, error);
}

lud_status lud_empo_human_net_open(lud_device *device, const lud_model *model, const char *folder,
                                   lud_empo_human_net *n, lud_error *error) {
    *n = (lud_empo_human_net){0};
    lud_checkpoint *checkpoint = NULL;
    lud_arena *arena = lud_arena_create(0);
    lud_status status = arena ? lud_run_parameters(folder, NULL, NULL, &checkpoint, NULL, error)
                              : lud_no_memory(error, "a run");
    lud_empo_phase1_options options = {0};
    if (status == LUD_OK) status = read_options(checkpoint, arena, &options, error);
    options.type = "empo-phase1"; /* the other text would end with the arena */
    if (status == LUD_OK) status = lud_empo_human_net_create(device, model, &options, 0, n, error);
    if (status == LUD_OK) {
        lud_empo_human_net_visit_policy(n, checkpoint);
        status = lud_checkpoint_status(checkpoint, error);
        if (status) lud_empo_human_net_free(n);
    }
    if (status) lud_fail_context(error, "%s", folder);
    lud_checkpoint_destroy(checkpoint);
    lud_arena_destroy(arena);
    return status;
}

void lud_empo_human_net_visit_policy(lud_empo_human_net *n, lud_checkpoint *checkpoint) {
    lud_parameters_visit(n->q, "online.", checkpoint);
    if (n->marginal) lud_parameters_visit(n->marginal, "online.", checkpoint);
}

void lud_empo_human_net_visit(lud_empo_human_net *n, lud_checkpoint *checkpoint) {
    lud_empo_human_net_visit_policy(n, checkpoint);
    lud_parameters_visit(n->q_target, "target.", checkpoint);
}

/* ---- inference ---- */

/* Policy and value of one entry from its row of the network. */
static void conclude(const lud_empo_human_net *n, const int32_t *record, int h, int goal, const float *row,
                     double *policy, double *value) {
    const int n_own = n->features.layout.n_human_actions[h];
    double q[256], p[256];
    for (int a = 0; a < n_own; a++) q[a] = (double)row[a];
    if (lud_empo_features_achieved(&n->features, record, h, goal)) {
        for (int a = 0; a < n_own; a++) p[a] = a == 0;
        if (value) *value = 0.0;
    } else {
        lud_empo_softmax(n->options.theory.beta_h, q, 1, n_own, p);
        if (value) *value = 0.0;
        for (int a = 0; value && a < n_own; a++) *value += p[a] * q[a];
    }
    for (int64_t a = 0; policy && a < n->n_actions; a++) policy[a] = a < n_own ? p[a] : 0.0;
}

void lud_empo_human_net_evaluate(lud_empo_human_net *n, const lud_empo_human_query *query, bool target,
                                 double *policy, double *value) {
    struct lud_empo_human_run *r = n->run;
    lud_nn_use(r->q.net, target ? n->q_target : n->q);
    for (int64_t first = 0, end; first < query->n; first = end) {
        const int32_t at = query->begin[first];
        int64_t rows = 0;
        while (first + rows < query->n && rows < r->chunk &&
               query->begin[first + rows + 1] - at <= r->entries)
            rows++;
        end = first + rows;
        const int64_t entries = query->begin[end] - at;
        lud_empo_staging_states(&r->staging, r->q.net, &r->q.graph, rows, query->records + first);
        for (int64_t i = 0; i < rows; i++)
            for (int32_t e = query->begin[first + i]; e < query->begin[first + i + 1]; e++)
                lud_empo_staging_entry(&r->staging, e - at, i, query->records[first + i], query->person[e],
                                       query->goal[e]);
        lud_empo_staging_entries(&r->staging, r->q.net, &r->q.graph, entries);
        lud_nn_forward(r->q.net, rows, false);
        lud_device_download(n->device, r->raw, lud_nn_value(r->q.net, r->q.output),
                            (size_t)(entries * n->n_actions) * sizeof *r->raw);
        for (int64_t i = first; i < end; i++)
            for (int32_t e = query->begin[i]; e < query->begin[i + 1]; e++)
                conclude(n, query->records[i], query->person[e], query->goal[e],
                         r->raw + (e - at) * n->n_actions, policy ? policy + e * n->n_actions : NULL,
                         value ? value + e : NULL);
    }
}

void lud_empo_human_net_policies(lud_empo_human_net *n, int64_t n_states, const int32_t *const *records,
                                 double *policies, double *value) {
    struct lud_empo_human_run *r = n->run;
    const lud_empo_layout *layout = &n->features.layout;
    const size_t width = (size_t)layout->policy_begin[layout->n_humans];
    for (int64_t first = 0; first < n_states; first += r->query_states) {
        const int64_t rows = n_states - first < r->query_states ? n_states - first : r->query_states;
        const lud_empo_human_query all = {
            .n = rows, .records = records + first, .begin = r->begin, .person = r->person, .goal = r->goal};
        lud_empo_human_net_evaluate(n, &all, false, r->policy, r->value);
        if (value)
            memcpy(value + first * layout->n_goals, r->value,
                   (size_t)(rows * layout->n_goals) * sizeof *value);
        double *to = policies + (size_t)first * width;
        for (int64_t e = 0; e < rows * layout->n_goals; e++) {
            const int n_own = layout->n_human_actions[r->person[e]];
            memcpy(to, r->policy + e * n->n_actions, (size_t)n_own * sizeof *to);
            to += n_own;
        }
    }
}

/* Mean of the policies over goals, for want of a network. */
static void mean_policies(lud_empo_human_net *n, const int32_t *record, double *marginals) {
    const lud_empo_layout *layout = &n->features.layout;
    const struct lud_empo_human_run *r = n->run;
    const lud_empo_human_query all = {
        .n = 1, .records = &record, .begin = r->begin, .person = r->person, .goal = r->goal};
    lud_empo_human_net_evaluate(n, &all, false, r->policy, NULL);
    for (int g = 0; g < layout->n_goals; g++)
        for (int64_t a = 0; a < n->n_actions; a++)
            marginals[r->person[g] * n->n_actions + a] += n->features.goal_weight[g] *
                                                          r->policy[g * n->n_actions + a] /
                                                          n->features.weight_sum[r->person[g]];
}

void lud_empo_human_net_marginals(lud_empo_human_net *n, int64_t n_states, const int32_t *const *records,
                                  double *marginals) {
    struct lud_empo_human_run *r = n->run;
    const int n_humans = n->features.layout.n_humans;
    memset(marginals, 0, (size_t)(n_states * n_humans * n->n_actions) * sizeof *marginals);
    if (!n->marginal) {
        for (int64_t i = 0; i < n_states; i++)
            mean_policies(n, records[i], marginals + i * n_humans * n->n_actions);
        return;
    }
    for (int64_t first = 0; first < n_states; first += r->chunk) {
        const int64_t rows = n_states - first < r->chunk ? n_states - first : r->chunk;
        lud_empo_staging_states(&r->staging, r->marginal.net, &r->marginal.graph, rows, records + first);
        for (int64_t i = 0; i < rows; i++)
            for (int h = 0; h < n_humans; h++)
                lud_empo_staging_entry(&r->staging, i * n_humans + h, i, records[first + i], h, -1);
        lud_empo_staging_entries(&r->staging, r->marginal.net, &r->marginal.graph, rows * n_humans);
        lud_nn_forward(r->marginal.net, rows, false);
        lud_device_download(n->device, r->raw, lud_nn_value(r->marginal.net, r->marginal.output),
                            (size_t)(rows * n_humans * n->n_actions) * sizeof *r->raw);
        for (int64_t e = 0; e < rows * n_humans; e++) {
            double logits[256];
            const int n_own = n->features.layout.n_human_actions[e % n_humans];
            for (int a = 0; a < n_own; a++) logits[a] = (double)r->raw[e * n->n_actions + a];
            lud_empo_softmax(1.0, logits, 1, n_own, marginals + (first * n_humans + e) * n->n_actions);
        }
    }
}
