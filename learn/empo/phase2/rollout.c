#include "learn/empo/phase2/rollout.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/ranks/divide.h"
#include "learn/empo/memory/archive.h"
#include "learn/empo/memory/environments.h"
#include "learn/empo/memory/successor_list.h"
#include "learn/empo/people/human_profiles.h"
#include "learn/nn/arrays.h"

/* Draws that belong to all robots or to the whole environment name this agent. */
#define NOBODY UINT32_MAX
/* Counters within a purpose, where a step draws several times. */
enum { LANE_BEHAVIOUR, LANE_FRESH };
enum { LANE_WAY = 0xffff };
enum { LANE_TO_STEP, LANE_TO_RESTART };
enum { MAX_ACTIONS = 256, PARALLEL_FROM = 64, MAX_CHOICES = 16 };
/* Environments of a share from which on processes divide what networks say of them; a search is always worth
 * it. */
enum { DIVIDED_FROM = 16 };

/* The transition of one environment while it is put together. */
typedef struct builder {
    lud_empo_successor_list list;
    lud_successors found;
    int profiles_capacity;
    int32_t *profile;   /* [profiles_capacity] people's part of a link's joint action, with expected_people */
    float *policies;    /* of people in this state, likewise */
    int32_t *offsets;   /* [n_robot_actions + 1] */
    int32_t *joint;     /* [n_agents] */
    int32_t *behaviour; /* [n_agents] actions of people that are acted on */
    int32_t *fresh;     /* [n_agents] actions of people that targets use */
    int32_t *fresh_goal;  /* [n_humans] */
    double *p;            /* [MAX_ACTIONS] */
    double *pi;           /* [n_robot_actions] */
    double *novelty;      /* [n_robot_actions] */
    int32_t explored;     /* as in a transition */
    int32_t *next_record; /* [words] of next_state, with trajectories */
    float *likelihood;    /* [n_goals] with likelihoods */
    int first_novelty;    /* of its successors in the curiosity's list */
    int32_t robot_action, next;
    uint8_t *next_state; /* [state_bytes] */
    lud_status status;
    lud_error error;
} builder;

struct lud_empo_rollout {
    lud_empo_rollout_parts parts;
    const lud_empo_learner_options *options;
    const lud_empo_features *features;
    const lud_empo_prior *prior;
    const lud_model *model;
    lud_arena *arena;
    int n; /* environments */
    bool keeps_trajectories;
    int64_t *last_step; /* [n_envs] steps after which the episode ends, 0: no limit but the world's */
    uint32_t *episode;  /* [n_envs] */
    lud_empo_environments env;
    const int32_t **record_of; /* [n_envs] of env.records */
    float *q;                  /* [n_envs][n_robot_actions] */
    builder *builders;         /* [n_envs] */
    double *searched;          /* [n_envs][n_robot_actions] what the search says; with it only */
    const lud_empo_now *now;   /* of this step, */
    bool searching;            /* and whether robots search in it */
    double *people;          /* [n_envs][policy entries] of people, evaluated all at once; null: one by one */
    int32_t *people_records; /* [n_envs][words of the network] */
    const int32_t **people_record_of; /* [n_envs] */
    lud_empo_curiosity *curiosity;
    int32_t *last_records;          /* [n_envs][words] */
    const int32_t **last_record_of; /* [n_envs] */
    int32_t *last_actions;          /* [n_envs][n_humans] */
    lud_empo_archive *archive;      /* with restarts */
    lud_empo_rollout_counts counts;
};

/* ---- making and freeing ---- */

static bool prepare_builder(lud_empo_rollout *a, builder *b) {
    const lud_empo_layout *layout = &a->features->layout;
    const size_t n_agents = (size_t)a->model->layout.n_agents, n_actions = (size_t)layout->n_robot_actions;
    const size_t n_policies = (size_t)layout->policy_begin[layout->n_humans];
#define TAKE(pointer, count) ((pointer) = lud_arena_take_array(a->arena, count, sizeof *(pointer)))
    return TAKE(b->offsets, n_actions + 1) && TAKE(b->joint, n_agents) && TAKE(b->behaviour, n_agents) &&
           TAKE(b->fresh, n_agents) && TAKE(b->fresh_goal, (size_t)layout->n_humans) &&
           TAKE(b->p, MAX_ACTIONS) && TAKE(b->pi, n_actions) && TAKE(b->novelty, n_actions) &&
           TAKE(b->next_state, a->model->layout.state_bytes) &&
           TAKE(b->next_record, (size_t)a->features->words) && TAKE(b->likelihood, (size_t)layout->n_goals) &&
           TAKE(b->policies, n_policies);
}

/* Policies of learned people, evaluated for all environments at once. */
static bool prepare_people(lud_empo_rollout *a) {
    if (!a->prior->network) return true;
    const lud_empo_layout *layout = &a->features->layout;
    const size_t n = (size_t)a->n, words = (size_t)a->prior->network->features.words;
    if (!TAKE(a->people, n * (size_t)layout->policy_begin[layout->n_humans]) ||
        !TAKE(a->people_records, n * words) || !TAKE(a->people_record_of, n))
        return false;
    for (size_t e = 0; e < n; e++) a->people_record_of[e] = a->people_records + e * words;
    return true;
}

static bool prepare(lud_empo_rollout *a) {
    const lud_empo_learner_options *o = a->options;
    const lud_empo_layout *layout = &a->features->layout;
    const size_t n = (size_t)a->n, words = (size_t)a->features->words,
                 n_actions = n * (size_t)layout->n_robot_actions;
    a->curiosity = lud_empo_curiosity_create(o, a->parts.novelty, a->features, a->n);
    if (o->restart_prob > 0.0)
        a->archive = lud_empo_archive_create(a->model->layout.state_bytes, o->restart_states);
    bool complete =
        a->curiosity && (a->archive || o->restart_prob <= 0.0) && TAKE(a->last_step, n) &&
        TAKE(a->episode, n) && TAKE(a->q, n_actions) && TAKE(a->builders, n) && TAKE(a->record_of, n) &&
        TAKE(a->searched, a->parts.search ? n_actions : 1) && TAKE(a->last_records, n * words) &&
        TAKE(a->last_record_of, n) && TAKE(a->last_actions, n * (size_t)layout->n_humans) &&
        lud_empo_environments_create(a->arena, a->features, a->model, a->parts.seed, a->n, &a->env) &&
        prepare_people(a);
#undef TAKE
    for (size_t e = 0; complete && e < n; e++) {
        a->record_of[e] = a->env.records + e * words;
        a->last_record_of[e] = a->last_records + e * words;
        complete = prepare_builder(a, &a->builders[e]);
    }
    return complete;
}

/* Begins in the archive, if chance and what is there will have it so. */
static bool restart(lud_empo_rollout *a, int e) {
    const lud_empo_learner_options *o = a->options;
    const lud_random_key key = {a->env.seed, (uint32_t)e};
    const lud_words w = lud_draw(key, a->env.tick[e], NOBODY, LUD_PURPOSE_EXPLORE, LANE_TO_RESTART);
    if (!a->archive || lud_empo_archive_count(a->archive) == 0 || lud_unit(w.v[0]) >= o->restart_prob)
        return false;
    double uniform[MAX_CHOICES];
    const int n = o->restart_choices < MAX_CHOICES ? (int)o->restart_choices : MAX_CHOICES;
    for (int i = 0; i < n; i++) {
        const lud_words place =
            lud_draw(key, a->env.tick[e], NOBODY, LUD_PURPOSE_EXPLORE, LANE_TO_RESTART + 1 + (uint32_t)i);
        uniform[i] = lud_unit53(place.v[0], place.v[1]);
    }
    memcpy(lud_empo_environments_state(&a->env, e), lud_empo_archive_draw(a->archive, n, uniform),
           a->model->layout.state_bytes);
    a->last_step[e] = o->restart_steps;
    a->counts.restarts++;
    return true;
}

static void begin_episode(lud_empo_rollout *a, int e) {
    lud_empo_environments_begin(&a->env, e);
    if (restart(a, e)) return;
    a->last_step[e] = a->options->steps_per_episode;
    lud_empo_environments_reset(&a->env, e);
}

lud_status lud_empo_rollout_create(const lud_empo_rollout_parts *parts, lud_empo_rollout **rollout,
                                   lud_error *error) {
    *rollout = NULL;
    const lud_model *model = &parts->features->grid->model;
    assert(lud_max_discrete(&model->layout) <= MAX_ACTIONS);
    lud_empo_rollout *a = calloc(1, sizeof *a);
    if (a) {
        *a = (lud_empo_rollout){.parts = *parts,
                                .options = parts->options,
                                .features = parts->features,
                                .prior = parts->prior,
                                .model = model,
                                .n = (int)parts->options->environments,
                                .keeps_trajectories = lud_empo_learner_keeps_trajectories(parts->options),
                                .arena = lud_arena_create(0)};
    }
    if (!a || !a->arena || !prepare(a)) {
        lud_empo_rollout_destroy(a);
        return lud_no_memory(error, "%d environments", (int)parts->options->environments);
    }
    for (int e = 0; e < a->n; e++) begin_episode(a, e);
    const lud_status status = lud_empo_environments_check(&a->env, error);
    if (status)
        lud_empo_rollout_destroy(a);
    else
        *rollout = a;
    return status;
}

void lud_empo_rollout_destroy(lud_empo_rollout *a) {
    if (!a) return;
    for (int e = 0; a->builders && e < a->n; e++) {
        builder *b = &a->builders[e];
        lud_successors_free(&b->found);
        lud_empo_successor_list_free(&b->list);
        free(b->profile);
    }
    lud_empo_curiosity_destroy(a->curiosity);
    lud_empo_archive_destroy(a->archive);
    lud_arena_destroy(a->arena);
    free(a);
}

/* ---- successors ---- */

static void set_joint(const lud_empo_rollout *a, builder *b, const int32_t *people, int32_t robot_action) {
    memcpy(b->joint, people, (size_t)a->model->layout.n_agents * sizeof *b->joint);
    lud_empo_robot_decode(&a->features->layout, a->model, robot_action, b->joint);
}

/* ---- choosing ---- */

/* Of all environments what `work` fills in for some of them, arrays[n] of an item for each: divided among the
 * processes, which step the same environments, where that is worth it. */
static lud_status for_all(lud_empo_rollout *a, lud_ranks_work work, const lud_ranks_array *arrays, int n,
                          bool search, lud_error *error) {
    const int shares = (int)a->options->shares;
    if (shares == 1 || a->n < (search ? 1 : DIVIDED_FROM) * shares) return work(a, 0, a->n, error);
    return lud_ranks_divide(a->parts.values->device->ranks, shares, a->n, work, a, arrays, n, error);
}

/* Evaluates learned people in some environments, before threads share them out. */
static lud_status evaluate_some_people(void *rollout, int64_t first, int64_t n, lud_error *error) {
    lud_empo_rollout *a = rollout;
    const lud_empo_features *f = &a->prior->network->features;
    const lud_empo_layout *layout = &a->features->layout;
    (void)error;
    for (int64_t e = first; e < first + n; e++)
        lud_empo_features_encode(f, lud_empo_environments_state(&a->env, (int)e),
                                 a->people_records + (size_t)e * (size_t)f->words);
    lud_empo_human_net_policies(a->prior->network, n, a->people_record_of + first,
                                a->people + first * layout->policy_begin[layout->n_humans], NULL);
    return LUD_OK;
}

static lud_status evaluate_people(lud_empo_rollout *a, lud_error *error) {
    const lud_empo_layout *layout = &a->features->layout;
    const lud_ranks_array people = {
        a->people, (size_t)layout->policy_begin[layout->n_humans] * sizeof *a->people, 1, a->n};
    return for_all(a, evaluate_some_people, &people, 1, false, error);
}

/* p[n_human_actions] of person h with its goal in environment e. */
static void prior_policy(const lud_empo_rollout *a, int e, const uint8_t *state, int h, int goal, double *p) {
    const lud_empo_layout *layout = &a->features->layout;
    const int n = layout->n_human_actions[h];
    if (!a->people) {
        lud_empo_prior_policy(a->prior, a->features, state, h, goal, p);
        return;
    }
    const double *own = a->people + (size_t)e * (size_t)layout->policy_begin[layout->n_humans];
    memcpy(p, own + layout->policy_begin[h] + goal * n, (size_t)n * sizeof *p);
}

/* From P(a) exp(bonus(a)), P uniform or the prior. */
static int32_t choose_curiously(const lud_empo_rollout *a, builder *b, int e, const uint8_t *state, int h,
                                bool exploring) {
    const lud_empo_layout *layout = &a->features->layout;
    const int n = layout->n_human_actions[h], agent = layout->humans[h];
    const float *bonus = lud_empo_curiosity_of_actions(a->curiosity, e, h);
    const lud_words w = lud_draw((lud_random_key){a->env.seed, (uint32_t)e}, a->env.tick[e], (uint32_t)agent,
                                 LUD_PURPOSE_ACTION, LANE_BEHAVIOUR);
    for (int i = 0; i < n; i++) b->p[i] = 1.0 / n;
    if (!exploring) prior_policy(a, e, state, h, a->env.goals[e * layout->n_humans + h], b->p);
    double most = -INFINITY, sum = 0; /* the largest is taken off so that no exponential overflows */
    for (int i = 0; i < n; i++)
        if (b->p[i] > 0) most = fmax(most, (double)bonus[i]);
    for (int i = 0; i < n; i++)
        if (b->p[i] > 0) sum += b->p[i] *= exp((double)bonus[i] - most);
    for (int i = 0; i < n; i++) b->p[i] /= sum;
    return lud_empo_draw(b->p, n, lud_unit53(w.v[0], w.v[1]));
}

/* Links to the successors of one joint action; `profile` is the people's part of it. */
static lud_status link_to(const lud_empo_rollout *a, builder *b, const uint8_t *state, const int32_t *people,
                          int profile, int32_t robot_action) {
    const int before = b->list.n_links;
    set_joint(a, b, people, robot_action);
    LUD_TRY(lud_empo_successor_list_add(&b->list, a->features, state, b->joint, &b->error));
    if (b->list.n_links > b->profiles_capacity) {
        const int capacity = 2 * b->list.n_links;
        if (!lud_grow(&b->profile, (size_t)capacity, sizeof *b->profile))
            return lud_no_memory(&b->error, "successors");
        b->profiles_capacity = capacity;
    }
    for (int i = before; i < b->list.n_links; i++) b->profile[i] = profile;
    return LUD_OK;
}

/* The policies of all people for all of their goals. */
static void all_policies(const lud_empo_rollout *a, builder *b, int e, const uint8_t *state) {
    const lud_empo_layout *layout = &a->features->layout;
    for (int h = 0; h < layout->n_humans; h++) {
        const int n = layout->n_human_actions[h], n_goals = lud_empo_goals_of(layout, h);
        float *to = b->policies + layout->policy_begin[h];
        for (int g = 0; g < n_goals; g++) {
            prior_policy(a, e, state, h, g, b->p);
            for (int k = 0; k < n; k++) to[g * n + k] = (float)b->p[k];
        }
    }
}

static lud_status enumerate(const lud_empo_rollout *a, builder *b, int e, const uint8_t *state) {
    const lud_empo_layout *layout = &a->features->layout;
    const bool expected = a->options->expected_people;
    lud_empo_successor_list_begin(&b->list);
    if (expected) all_policies(a, b, e, state);
    for (int32_t r = 0; r < layout->n_robot_actions; r++) {
        b->offsets[r] = b->list.n_links;
        if (!expected) LUD_TRY(link_to(a, b, state, b->fresh, 0, r));
        for (int p = 0; expected && p < layout->n_human_profiles; p++) {
            if (!lud_empo_people_possible(layout, b->policies, p)) continue;
            for (int h = 0; h < layout->n_humans; h++)
                b->fresh[layout->humans[h]] = lud_empo_own_action(layout, h, p);
            LUD_TRY(link_to(a, b, state, b->fresh, p, r));
        }
    }
    b->offsets[layout->n_robot_actions] = b->list.n_links;
    return LUD_OK;
}

static void choose_people(const lud_empo_rollout *a, builder *b, int e, const uint8_t *state,
                          double epsilon) {
    const lud_empo_layout *layout = &a->features->layout;
    const lud_random_key key = {a->env.seed, (uint32_t)e};
    b->explored = 0;
    for (int h = 0; h < layout->n_humans; h++) {
        const int agent = layout->humans[h], goal = a->env.goals[e * layout->n_humans + h];
        const lud_words explore = lud_draw(key, a->env.tick[e], (uint32_t)agent, LUD_PURPOSE_EXPLORE, 0);
        const bool exploring = lud_unit(explore.v[0]) < epsilon;
        if (exploring || lud_empo_curiosity_of_people(a->curiosity)) b->explored |= LUD_EMPO_PEOPLE_EXPLORED;
        if (lud_empo_curiosity_of_people(a->curiosity)) {
            b->behaviour[agent] = choose_curiously(a, b, e, state, h, exploring);
        } else if (exploring) {
            b->behaviour[agent] = (int32_t)lud_below(explore.v[1], (uint32_t)layout->n_human_actions[h]);
        } else {
            const lud_words w =
                lud_draw(key, a->env.tick[e], (uint32_t)agent, LUD_PURPOSE_ACTION, LANE_BEHAVIOUR);
            prior_policy(a, e, state, h, goal, b->p);
            b->behaviour[agent] = lud_empo_draw(b->p, layout->n_human_actions[h], lud_unit53(w.v[0], w.v[1]));
        }
        if (!a->options->fresh_goals || a->options->expected_people) {
            b->fresh_goal[h] = goal;
            b->fresh[agent] = b->behaviour[agent];
            continue;
        }
        const lud_words w = lud_draw(key, a->env.tick[e], (uint32_t)agent, LUD_PURPOSE_ACTION, LANE_FRESH);
        b->fresh_goal[h] = lud_empo_environments_goal(&a->env, e, h, LUD_EMPO_GOAL_ANEW);
        prior_policy(a, e, state, h, b->fresh_goal[h], b->p);
        b->fresh[agent] = lud_empo_draw(b->p, layout->n_human_actions[h], lud_unit53(w.v[0], w.v[1]));
    }
}

/* How likely what each person does anew is for each of its goals. */
static void weigh_goals(const lud_empo_rollout *a, builder *b, int e, const uint8_t *state) {
    const lud_empo_layout *layout = &a->features->layout;
    all_policies(a, b, e, state);
    for (int h = 0; h < layout->n_humans; h++) {
        const int action = b->fresh[layout->humans[h]], n = layout->n_human_actions[h];
        for (int g = layout->goal_begin[h]; g < layout->goal_begin[h + 1]; g++)
            b->likelihood[g] =
                b->policies[layout->policy_begin[h] + (g - layout->goal_begin[h]) * n + action];
    }
}

/* Weighted mean bonus of the successors of each joint robot action, people's parts counting alike. */
static void measure_novelty(const lud_empo_rollout *a, builder *b) {
    for (int32_t r = 0; r < a->features->layout.n_robot_actions; r++) {
        double total = 0;
        b->novelty[r] = 0;
        for (int32_t i = b->offsets[r]; i < b->offsets[r + 1]; i++) {
            const int32_t *record = b->list.records + (size_t)b->list.link[i] * (size_t)a->features->words;
            const double bonus = lud_empo_curiosity_of_state(
                a->curiosity, record, b->first_novelty + b->list.link[i], a->counts.steps);
            b->novelty[r] += (double)b->list.probability[i] * bonus;
            total += (double)b->list.probability[i];
        }
        if (total > 0) b->novelty[r] /= total;
    }
}

/* Novelty of all successors of all environments in one go. */
static bool measure_successors(lud_empo_rollout *a) {
    int n = 0;
    for (int e = 0; e < a->n; e++) {
        a->builders[e].first_novelty = n;
        n += a->builders[e].list.n;
    }
    const int32_t **records = lud_empo_curiosity_reserve(a->curiosity, n);
    if (!records) return false;
    for (int e = 0; e < a->n; e++) {
        const builder *b = &a->builders[e];
        for (int i = 0; i < b->list.n; i++)
            records[b->first_novelty + i] = b->list.records + (size_t)i * (size_t)a->features->words;
    }
    lud_empo_curiosity_evaluate_states(a->curiosity, n);
    return true;
}

static void choose_robots(const lud_empo_rollout *a, builder *b, int e, const lud_empo_now *now) {
    const int n = a->features->layout.n_robot_actions;
    const lud_random_key key = {a->env.seed, (uint32_t)e};
    const lud_words explore = lud_draw(key, a->env.tick[e], NOBODY, LUD_PURPOSE_EXPLORE, LANE_TO_STEP);
    const double uniform = lud_unit53(explore.v[2], explore.v[3]);
    const bool exploring = lud_unit(explore.v[0]) < now->epsilon_r || now->beta_r == 0.0;
    const bool curious = lud_empo_curiosity_of_robots(a->curiosity);
    /* with beta_r = 0 the policy is uniform, and so is exploration */
    if (curious || a->searching || (exploring && now->beta_r > 0.0)) b->explored |= LUD_EMPO_ROBOTS_EXPLORED;
    if (curious) measure_novelty(a, b);
    if (exploring || a->searching) {
        double most = -INFINITY, sum = 0;
        for (int r = 0; r < n; r++) {
            b->pi[r] = exploring ? 1.0 : a->searched[e * n + r];
            if (curious && b->pi[r] > 0) most = fmax(most, b->novelty[r]);
        }
        for (int r = 0; r < n; r++)
            if (b->pi[r] > 0) sum += b->pi[r] *= curious ? exp(b->novelty[r] - most) : 1.0;
        for (int r = 0; r < n; r++) b->pi[r] /= sum;
    } else {
        double values[MAX_ACTIONS];
        double *q = n <= MAX_ACTIONS ? values : b->novelty;
        for (int r = 0; r < n; r++) {
            const double value = fmin((double)a->q[(size_t)e * (size_t)n + (size_t)r], -1e-10);
            q[r] = curious ? fmin(value * exp(-b->novelty[r]), -1e-300) : value;
        }
        lud_empo_power_policy(now->beta_r, q, n, b->pi);
    }
    b->robot_action = lud_empo_draw(b->pi, n, uniform);
}

/* Draws the state that follows; keeps its number when it is among those listed. */
static lud_status move_on(const lud_empo_rollout *a, builder *b, int e, const uint8_t *state) {
    const lud_empo_layout *layout = &a->features->layout;
    const size_t bytes = a->model->layout.state_bytes;
    const lud_random_key key = {a->env.seed, (uint32_t)e};
    const lud_words w = lud_draw(key, a->env.tick[e], NOBODY, LUD_PURPOSE_TRANSITION, LANE_WAY);
    double left = lud_unit53(w.v[0], w.v[1]);
    bool same = !a->options->expected_people;
    for (int h = 0; h < layout->n_humans; h++)
        same &= b->behaviour[layout->humans[h]] == b->fresh[layout->humans[h]];
    b->next = -1;
    if (same) {
        for (int32_t i = b->offsets[b->robot_action]; i < b->offsets[b->robot_action + 1]; i++) {
            b->next = b->list.link[i];
            if (left < (double)b->list.probability[i]) break;
            left -= (double)b->list.probability[i];
        }
        memcpy(b->next_state, b->list.states + (size_t)b->next * bytes, bytes);
        return LUD_OK;
    }
    set_joint(a, b, b->behaviour, b->robot_action);
    LUD_TRY(a->model->world->successors(a->model, state, b->joint, &b->found, &b->error));
    size_t i = 0;
    while (i + 1 < b->found.n && left >= b->found.probability[i]) left -= b->found.probability[i++];
    memcpy(b->next_state, b->found.states + i * bytes, bytes);
    return LUD_OK;
}

/* ---- stepping ---- */

static void look_ahead(const lud_empo_rollout *a, int e, const lud_empo_now *now) {
    builder *b = &a->builders[e];
    const uint8_t *state = lud_empo_environments_state(&a->env, e);
    choose_people(a, b, e, state, now->epsilon_h);
    if (a->options->hindsight_prob > 0) weigh_goals(a, b, e, state);
    b->status = enumerate(a, b, e, state);
}

static void act(const lud_empo_rollout *a, int e, const lud_empo_now *now) {
    builder *b = &a->builders[e];
    const uint8_t *state = lud_empo_environments_state(&a->env, e);
    if (b->status) return;
    choose_robots(a, b, e, now);
    b->status = move_on(a, b, e, state);
    if (a->keeps_trajectories && !b->status)
        lud_empo_features_encode(a->features, b->next_state, b->next_record);
}

static bool store(lud_empo_rollout *a, int e, int64_t step, lud_empo_replay *replay) {
    const builder *b = &a->builders[e];
    const lud_empo_transition t = {
        .inserted = step,
        .environment = (uint32_t)(a->parts.first_environment + e),
        .episode = a->episode[e],
        .robot_action = b->robot_action,
        .next = b->next,
        .n_links = b->list.n_links,
        .n_successors = b->list.n,
        .state = a->env.records + (size_t)e * (size_t)a->features->words,
        .goals = b->fresh_goal,
        .offsets = b->offsets,
        .link = b->list.link,
        .probability = b->list.probability,
        .terminal = b->list.terminal,
        .successor = b->list.records,
        .profile = b->profile,
        .policies = b->policies,
        .behaviour_goals = a->env.goals + (size_t)e * (size_t)a->features->layout.n_humans,
        .next_record = b->next_record,
        .likelihood = b->likelihood,
        .explored = b->explored,
        .next_terminal = a->keeps_trajectories && a->model->world->is_terminal(a->model, b->next_state),
    };
    a->counts.links += (uint64_t)b->list.n_links;
    a->counts.successors += (uint64_t)b->list.n;
    return a->parts.sink ? a->parts.sink(a->parts.sink_context, &t) : lud_empo_replay_push(replay, &t);
}

/* Archives what came next, or all that might have. */
static bool remember(lud_empo_rollout *a, int e) {
    const builder *b = &a->builders[e];
    const lud_world *world = a->model->world;
    if (!a->archive) return true;
    bool complete = true;
    for (int i = 0; a->options->restart_from == LUD_EMPO_SUCCESSORS && i < b->list.n; i++)
        if (!b->list.terminal[i])
            complete &=
                lud_empo_archive_add(a->archive, b->list.states + (size_t)i * a->model->layout.state_bytes);
    if (!world->is_terminal(a->model, b->next_state))
        complete &= lud_empo_archive_add(a->archive, b->next_state);
    return complete;
}

static void go_on(lud_empo_rollout *a, int e) {
    memcpy(lud_empo_environments_state(&a->env, e), a->builders[e].next_state, a->model->layout.state_bytes);
    a->counts.steps++;
    lud_empo_environments_advance(&a->env, e);
    a->counts.achieved +=
        (uint64_t)lud_empo_environments_renew_goals(&a->env, e, a->options->goal_resample_prob);
    if (!lud_empo_environments_over(&a->env, e, a->last_step[e])) return;
    a->episode[e]++;
    a->counts.episodes++;
    begin_episode(a, e);
}

static bool count_actions(lud_empo_rollout *a, int e) {
    const lud_empo_layout *layout = &a->features->layout;
    const size_t words = (size_t)a->features->words;
    const int32_t *record = a->env.records + (size_t)e * words;
    memcpy(a->last_records + (size_t)e * words, record, words * sizeof *record);
    for (int h = 0; h < layout->n_humans; h++) {
        const int32_t action = a->builders[e].behaviour[layout->humans[h]];
        a->last_actions[e * layout->n_humans + h] = action;
        if (!lud_empo_curiosity_count_action(a->curiosity, record, h, action)) return false;
    }
    return true;
}

/* What robots act by in some environments: Q_r, and what a search from the states finds. */
static lud_status evaluate_some_robots(void *rollout, int64_t first, int64_t n, lud_error *error) {
    lud_empo_rollout *a = rollout;
    const lud_empo_rollout_parts *p = &a->parts;
    const lud_empo_now *now = a->now;
    const size_t from = (size_t)first, n_actions = (size_t)a->features->layout.n_robot_actions;
    LUD_TRY(lud_empo_values_for_acting(p->values, (int)n, a->record_of + from, now->beta_r,
                                       a->q + from * n_actions, error));
    if (!a->searching) return LUD_OK;
    return lud_empo_search_run(
        p->search, (int)n, (uint32_t)first, lud_empo_environments_state(&a->env, (int)first),
        a->env.goals + from * (size_t)a->features->layout.n_humans, a->env.tick + from, now->beta_r,
        now->gamma_r, lud_empo_values_for_search, p->values, a->searched + from * n_actions, error);
}

static lud_status evaluate_robots(lud_empo_rollout *a, const lud_empo_now *now, int64_t step,
                                  lud_error *error) {
    const size_t n_actions = (size_t)a->features->layout.n_robot_actions;
    a->now = now;
    a->searching =
        a->parts.search && now->beta_r > 0.0 && step >= a->options->mcts_enable_after_training_step;
    if (now->beta_r <= 0.0) return LUD_OK;
    const lud_ranks_array robots[] = {
        {a->q, n_actions * sizeof *a->q, 1, a->n},
        {a->searching ? a->searched : NULL, n_actions * sizeof *a->searched, 1, a->n}};
    return for_all(a, evaluate_some_robots, robots, 2, a->searching, error);
}

lud_status lud_empo_rollout_step(lud_empo_rollout *a, const lud_empo_now *now, int64_t step,
                                 lud_empo_replay *replay, lud_error *error) {
    const int n = a->n;
    for (int e = 0; e < n; e++) {
        const int32_t *record = lud_empo_environments_encode(&a->env, e);
        if (!lud_empo_curiosity_count_state(a->curiosity, record))
            return lud_no_memory(error, "the count of states");
    }
    LUD_TRY(evaluate_robots(a, now, step, error));
    if (a->people) LUD_TRY(evaluate_people(a, error));
    if (lud_empo_curiosity_of_people(a->curiosity))
        lud_empo_curiosity_measure_people(a->curiosity, a->record_of, a->counts.steps);
        /* a step of one environment takes microseconds: few of them are not worth waking threads for */
#pragma omp parallel for schedule(static) if (n >= PARALLEL_FROM)
    for (int e = 0; e < n; e++) look_ahead(a, e, now);
    if (lud_empo_curiosity_needs_novelty(a->curiosity) && !measure_successors(a))
        return lud_no_memory(error, "the novelty of successors");
#pragma omp parallel for schedule(static) if (n >= PARALLEL_FROM)
    for (int e = 0; e < n; e++) act(a, e, now);
    for (int e = 0; e < n; e++) {
        builder *b = &a->builders[e];
        if (b->status) {
            if (error) *error = b->error;
            return b->status;
        }
        if (!store(a, e, step, replay))
            return lud_fail(error, LUD_ERROR_LIMIT,
                            "a transition with %d successors is larger than the replay memory; raise "
                            "buffer_memory",
                            b->list.n);
        if (!count_actions(a, e)) return lud_no_memory(error, "the count of actions");
        if (!remember(a, e)) return lud_no_memory(error, "the archive of states");
        go_on(a, e);
    }
    return LUD_OK;
}

lud_empo_last_step lud_empo_rollout_last_step(const lud_empo_rollout *a) {
    return (lud_empo_last_step){a->n, a->last_record_of, a->last_actions};
}

lud_empo_rollout_counts lud_empo_rollout_get_counts(const lud_empo_rollout *a) {
    lud_empo_rollout_counts counts = a->counts;
    counts.states_seen = lud_empo_curiosity_states(a->curiosity);
    if (a->archive) counts.archived = lud_empo_archive_count(a->archive);
    return counts;
}

void lud_empo_rollout_visit(lud_empo_rollout *a, const char *prefix, lud_checkpoint *checkpoint) {
    const int64_t n = a->n;
    const struct {
        const char *name;
        lud_tensor_type type;
        int64_t width;
        void *data;
    } fields[] = {{"last_step", LUD_TENSOR_I64, 1, a->last_step}, {"episode", LUD_TENSOR_U32, 1, a->episode}};
    lud_empo_environments_visit(&a->env, prefix, checkpoint);
    char text[128];
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        snprintf(text, sizeof text, "%s%s", prefix, fields[i].name);
        lud_checkpoint_tensor(checkpoint, text, fields[i].type, 2, (const int64_t[]){n, fields[i].width},
                              fields[i].data);
    }
    snprintf(text, sizeof text, "%slast_step", prefix);
    for (int e = 0; e < a->n && !lud_checkpoint_status(checkpoint, NULL); e++)
        lud_checkpoint_limit(checkpoint, text, (uint64_t)a->last_step[e], LUD_CHECKPOINT_MOST);
    snprintf(text, sizeof text, "%scounts", prefix);
    lud_checkpoint_bytes(checkpoint, text, &a->counts, sizeof a->counts);
    lud_checkpoint_limit(checkpoint, text, a->counts.steps, LUD_CHECKPOINT_MOST);
    lud_empo_curiosity_visit(a->curiosity, prefix, checkpoint);
    snprintf(text, sizeof text, "%sarchive.", prefix);
    if (a->archive) lud_empo_archive_visit(a->archive, a->model, text, checkpoint);
}
