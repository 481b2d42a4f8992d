#include "learn/empo/explore/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The `agent` of draws within simulation s is this plus s: no agent of a world has such a number. */
enum { SIMULATIONS_FROM = 0x40000000, LANES_A_STEP = 128, LANE_WAY = 127, LANE_NOISE = 0x1000 };

typedef struct node {
    int parent, action; /* that led here; -1 at the root */
    int next;           /* sibling in the parent's list of children */
    int children;       /* the first of them */
    bool terminal;
    int visits;
    double u, v; /* learned: weighted U_r, V_r */
} node;

typedef struct tree {
    int n;            /* nodes */
    int leaf;         /* of the simulation underway, -1: nothing to evaluate */
    node *nodes;      /* [simulations + 1] */
    uint8_t *states;  /* [simulations + 1][state_bytes] */
    int32_t *records; /* [simulations + 1][words] */
    double *prior;    /* [simulations + 1][n_actions] */
    double *base;     /* learned Q_r, likewise */
    double *sum;      /* of values backed up */
    int32_t *count;   /* of visits */
} tree;

struct lud_empo_search {
    const lud_empo_learner_options *options;
    uint64_t seed;
    const lud_empo_features *features;
    const lud_empo_prior *prior;
    const lud_model *model;
    lud_arena *arena;
    tree *trees;                      /* [n_envs] */
    const int32_t **records, **goals; /* [n_envs] of the leaves */
    int *which;                       /* [n_envs] the trees of those */
    float *q, *u, *v;                 /* [n_envs][n_actions], [n_envs] */
    double *p, *policy;               /* [256], [n_actions] */
    int32_t *joint;                   /* [n_agents] */
    int *path_node, *path_action;     /* [max_depth + 1] */
    lud_successors found;
    double beta_r, gamma_r;
};

/* ---- making ---- */

#define TAKE(pointer, count) ((pointer) = lud_arena_take_array(s->arena, count, sizeof *(pointer)))

static bool make_tree(lud_empo_search *s, tree *t) {
    const size_t n = (size_t)s->options->mcts_num_simulations + 1,
                 actions = (size_t)s->features->layout.n_robot_actions;
    return TAKE(t->nodes, n) && TAKE(t->records, n * (size_t)s->features->words) &&
           TAKE(t->states, n * s->model->layout.state_bytes) && TAKE(t->prior, n * actions) &&
           TAKE(t->base, n * actions) && TAKE(t->sum, n * actions) && TAKE(t->count, n * actions);
}

lud_status lud_empo_search_create(const lud_empo_learner_options *options, int n_envs, uint64_t seed,
                                  const lud_empo_features *features, const lud_empo_prior *prior,
                                  lud_empo_search **search, lud_error *error) {
    *search = NULL;
    lud_empo_search *s = calloc(1, sizeof *s);
    bool complete = s;
    if (s) {
        *s = (lud_empo_search){.options = options,
                               .seed = seed,
                               .features = features,
                               .prior = prior,
                               .model = &features->grid->model};
        const size_t n = (size_t)n_envs, actions = (size_t)features->layout.n_robot_actions;
        s->arena = lud_arena_create(0);
        complete = s->arena;
        if (complete) {
            const size_t depth = (size_t)options->mcts_max_depth + 1;
            complete = TAKE(s->trees, n) && TAKE(s->records, n) && TAKE(s->goals, n) && TAKE(s->which, n) &&
                       TAKE(s->q, n * actions) && TAKE(s->u, n) && TAKE(s->v, n) && TAKE(s->p, 256) &&
                       TAKE(s->policy, actions) && TAKE(s->joint, (size_t)s->model->layout.n_agents) &&
                       TAKE(s->path_node, depth) && TAKE(s->path_action, depth);
        }
        for (size_t i = 0; complete && i < n; i++) complete = make_tree(s, &s->trees[i]);
    }
    if (!complete) {
        lud_empo_search_destroy(s);
        return lud_fail(error, LUD_ERROR_MEMORY, "no memory to search");
    }
    *search = s;
    return LUD_OK;
}

void lud_empo_search_destroy(lud_empo_search *s) {
    if (!s) return;
    lud_successors_free(&s->found);
    lud_arena_destroy(s->arena);
    free(s);
}

/* ---- nodes ---- */

static int add_node(lud_empo_search *s, tree *t, int parent, int action, const uint8_t *state) {
    const size_t bytes = s->model->layout.state_bytes, actions = (size_t)s->features->layout.n_robot_actions;
    const int made = t->n++;
    t->nodes[made] = (node){.parent = parent, .action = action, .next = -1, .children = -1};
    memcpy(t->states + (size_t)made * bytes, state, bytes);
    t->nodes[made].terminal = s->model->world->is_terminal(s->model, state);
    lud_empo_features_encode(s->features, state, t->records + (size_t)made * (size_t)s->features->words);
    memset(t->sum + (size_t)made * actions, 0, actions * sizeof *t->sum);
    memset(t->count + (size_t)made * actions, 0, actions * sizeof *t->count);
    if (parent >= 0) {
        t->nodes[made].next = t->nodes[parent].children;
        t->nodes[parent].children = made;
    }
    return made;
}

/* The child that an action and a state lead to, -1: none yet. */
static int find_child(const lud_empo_search *s, const tree *t, int parent, int action, const uint8_t *state) {
    const size_t bytes = s->model->layout.state_bytes;
    for (int child = t->nodes[parent].children; child >= 0; child = t->nodes[child].next)
        if (t->nodes[child].action == action && memcmp(t->states + (size_t)child * bytes, state, bytes) == 0)
            return child;
    return -1;
}

static double mean_value(const tree *t, size_t at) {
    return t->count[at] ? t->sum[at] / (double)t->count[at] : t->base[at];
}

/* In proportion to visits^(1/temperature); the prior before any. */
static void visit_policy(const lud_empo_search *s, const tree *t, int at, double *policy) {
    const size_t n = (size_t)s->features->layout.n_robot_actions, first = (size_t)at * n;
    double most = 0, sum = 0;
    for (size_t a = 0; a < n; a++) most = fmax(most, t->count[first + a]);
    for (size_t a = 0; a < n; a++) {
        policy[a] = most > 0 ? pow(t->count[first + a] / most, 1.0 / s->options->mcts_temperature)
                             : t->prior[first + a];
        sum += policy[a];
    }
    for (size_t a = 0; a < n; a++) policy[a] /= sum;
}

static double state_value(lud_empo_search *s, const tree *t, int at) {
    const size_t n = (size_t)s->features->layout.n_robot_actions, first = (size_t)at * n;
    if (t->nodes[at].terminal) return s->options->theory.terminal_value;
    if (t->nodes[at].visits == 0) return t->nodes[at].v;
    double value = t->nodes[at].u;
    visit_policy(s, t, at, s->policy);
    for (size_t a = 0; a < n; a++) value += s->policy[a] * mean_value(t, first + a);
    return value;
}

static int select_action(const lud_empo_search *s, const tree *t, int at) {
    const size_t n = (size_t)s->features->layout.n_robot_actions, first = (size_t)at * n;
    const double reach = s->options->mcts_c_puct * sqrt(fmax(t->nodes[at].visits, 1));
    int best = 0;
    double highest = -INFINITY;
    for (size_t a = 0; a < n; a++) {
        const double score =
            mean_value(t, first + a) + reach * t->prior[first + a] / (1.0 + t->count[first + a]);
        if (score <= highest) continue;
        highest = score;
        best = (int)a;
    }
    return best;
}

/* ---- a simulation ---- */

/* One step from a node: people by the prior, one successor. Null when memory is out. */
static const uint8_t *next_state(lud_empo_search *s, const tree *t, int at, int action, lud_random_key key,
                                 uint32_t tick, uint32_t simulation, uint32_t depth, const int32_t *goals,
                                 lud_error *error) {
    const lud_empo_layout *layout = &s->features->layout;
    const uint8_t *state = t->states + (size_t)at * s->model->layout.state_bytes;
    const uint32_t agent = SIMULATIONS_FROM + simulation, lane = depth * LANES_A_STEP;
    memset(s->joint, 0, (size_t)s->model->layout.n_agents * sizeof *s->joint);
    for (int h = 0; h < layout->n_humans; h++) {
        const lud_words w = lud_draw(key, tick, agent, LUD_PURPOSE_ACTION, lane + (uint32_t)h);
        lud_empo_prior_policy(s->prior, s->features, state, h, goals[h], s->p);
        s->joint[layout->humans[h]] =
            lud_empo_draw(s->p, layout->n_human_actions[h], lud_unit53(w.v[0], w.v[1]));
    }
    lud_empo_robot_decode(layout, s->model, action, s->joint);
    if (s->model->world->successors(s->model, state, s->joint, &s->found, error)) return NULL;
    const lud_words w = lud_draw(key, tick, agent, LUD_PURPOSE_TRANSITION, lane + LANE_WAY);
    const int drawn = lud_empo_draw(s->found.probability, (int)s->found.n, lud_unit53(w.v[0], w.v[1]));
    return s->found.states + (size_t)drawn * s->model->layout.state_bytes;
}

/* Down to a state not met before, a terminal one, or the greatest depth; returns the length of the path,
 * whose last node is t->leaf when it has to be evaluated. -1 when memory is out. */
static int descend(lud_empo_search *s, tree *t, lud_random_key key, uint32_t tick, uint32_t simulation,
                   const int32_t *goals, lud_error *error) {
    int at = 0, length = 0;
    t->leaf = -1;
    while (length < s->options->mcts_max_depth && !t->nodes[at].terminal) {
        const int action = select_action(s, t, at);
        const uint8_t *state =
            next_state(s, t, at, action, key, tick, simulation, (uint32_t)length, goals, error);
        if (!state) return -1;
        s->path_node[length] = at;
        s->path_action[length++] = action;
        const int known = find_child(s, t, at, action, state);
        at = known >= 0 ? known : add_node(s, t, at, action, state);
        if (known >= 0) continue;
        t->leaf = at;
        break;
    }
    s->path_node[length] = at;
    return length;
}

static void back_up(lud_empo_search *s, tree *t, int last) {
    const size_t n = (size_t)s->features->layout.n_robot_actions;
    for (int at = last; t->nodes[at].parent >= 0; at = t->nodes[at].parent) {
        const int parent = t->nodes[at].parent;
        const size_t edge = (size_t)parent * n + (size_t)t->nodes[at].action;
        const double value = s->gamma_r * state_value(s, t, at);
        t->sum[edge] += value;
        t->count[edge]++;
        t->nodes[parent].visits++;
    }
}

/* ---- learned values ---- */

static void fill_node(lud_empo_search *s, tree *t, int at, const float *q, float u, float v) {
    const int n = s->features->layout.n_robot_actions;
    double *base = t->base + (size_t)at * (size_t)n;
    for (int a = 0; a < n; a++) base[a] = fmin((double)q[a], -1e-10);
    lud_empo_power_policy(s->beta_r, base, n, t->prior + (size_t)at * (size_t)n);
    t->nodes[at].u = (double)u;
    t->nodes[at].v = (double)v;
}

/* Evaluates the leaves of all trees that have one. */
static lud_status evaluate(lud_empo_search *s, int n, const int32_t *goals, lud_empo_search_values values,
                           void *context, lud_error *error) {
    const int n_humans = s->features->layout.n_humans, n_actions = s->features->layout.n_robot_actions;
    int m = 0;
    for (int i = 0; i < n; i++) {
        tree *t = &s->trees[i];
        if (t->leaf < 0 || t->nodes[t->leaf].terminal) continue;
        s->which[m] = i;
        s->records[m] = t->records + (size_t)t->leaf * (size_t)s->features->words;
        s->goals[m++] = goals + i * n_humans;
    }
    if (m == 0) return LUD_OK;
    LUD_TRY(values(context, m, s->records, s->goals, s->beta_r, s->q, s->u, s->v, error));
    for (int k = 0; k < m; k++) {
        tree *t = &s->trees[s->which[k]];
        fill_node(s, t, t->leaf, s->q + (size_t)k * (size_t)n_actions, s->u[k], s->v[k]);
    }
    return LUD_OK;
}

/* Gamma(alpha) for the Dirichlet distribution, alpha > 0 (Marsaglia and Tsang, 2000; alpha < 1 by its own
 * boost). */
static double draw_gamma(double alpha, lud_random_key key, uint32_t tick, uint32_t lane) {
    const double d = (alpha < 1 ? alpha + 1 : alpha) - 1.0 / 3.0, c = 1.0 / sqrt(9.0 * d);
    double boost = 1.0;
    for (uint32_t attempt = 0;; attempt++) {
        const lud_words w = lud_draw(key, tick, SIMULATIONS_FROM - 1 - attempt, LUD_PURPOSE_EXPLORE, lane);
        const lud_words more = lud_draw(key, tick, SIMULATIONS_FROM - 1 - attempt, LUD_PURPOSE_GATE, lane);
        double normal[2];
        lud_normal_pair(w.v[0], w.v[1], normal);
        const double x = 1.0 + c * normal[0], cube = x * x * x, u = lud_unit(w.v[2]) + 1e-12;
        if (attempt == 0 && alpha < 1) boost = pow(lud_unit(more.v[0]) + 1e-12, 1.0 / alpha);
        if (cube > 0 && log(u) < 0.5 * normal[0] * normal[0] + d - d * cube + d * log(cube))
            return boost * d * cube;
    }
}

static void add_noise(const lud_empo_search *s, tree *t, lud_random_key key, uint32_t tick) {
    const int n = s->features->layout.n_robot_actions;
    double sum = 0;
    for (int a = 0; a < n; a++)
        sum += s->policy[a] =
            draw_gamma(s->options->mcts_dirichlet_alpha, key, tick, LANE_NOISE + (uint32_t)a);
    for (int a = 0; a < n && sum > 0; a++)
        t->prior[a] = (1 - s->options->mcts_root_noise_frac) * t->prior[a] +
                      s->options->mcts_root_noise_frac * s->policy[a] / sum;
}

lud_status lud_empo_search_run(lud_empo_search *s, int n, uint32_t first_environment, const uint8_t *states,
                               const int32_t *goals, const uint32_t *tick, double beta_r, double gamma_r,
                               lud_empo_search_values values, void *context, double *policy,
                               lud_error *error) {
    const int n_humans = s->features->layout.n_humans, n_actions = s->features->layout.n_robot_actions;
    s->beta_r = beta_r;
    s->gamma_r = gamma_r;
    for (int i = 0; i < n; i++) {
        s->trees[i].n = 0;
        s->trees[i].leaf =
            add_node(s, &s->trees[i], -1, -1, states + (size_t)i * s->model->layout.state_bytes);
    }
    lud_status status = evaluate(s, n, goals, values, context, error);
    for (int i = 0; i < n && status == LUD_OK && s->options->mcts_root_noise_frac > 0; i++)
        add_noise(s, &s->trees[i], (lud_random_key){s->seed, first_environment + (uint32_t)i}, tick[i]);
    for (int simulation = 0; simulation < s->options->mcts_num_simulations && status == LUD_OK;
         simulation++) {
        for (int i = 0; i < n; i++) {
            const lud_random_key key = {s->seed, first_environment + (uint32_t)i};
            const int length =
                descend(s, &s->trees[i], key, tick[i], (uint32_t)simulation, goals + i * n_humans, error);
            if (length < 0) return LUD_ERROR_MEMORY;
            /* a path that ends in a known state is backed up at once: its values are there */
            if (s->trees[i].leaf < 0) back_up(s, &s->trees[i], s->path_node[length]);
        }
        status = evaluate(s, n, goals, values, context, error);
        for (int i = 0; i < n && status == LUD_OK; i++)
            if (s->trees[i].leaf >= 0) back_up(s, &s->trees[i], s->trees[i].leaf);
    }
    for (int i = 0; i < n && status == LUD_OK; i++)
        visit_policy(s, &s->trees[i], 0, policy + (size_t)i * (size_t)n_actions);
    return status;
}

void lud_empo_search_root(lud_empo_search *s, int i, int32_t *visits, double *q, double *value) {
    const tree *t = &s->trees[i];
    for (int a = 0; a < s->features->layout.n_robot_actions; a++) {
        if (visits) visits[a] = t->count[a];
        if (q) q[a] = mean_value(t, (size_t)a);
    }
    if (value) *value = state_value(s, t, 0);
}
