#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agents/cast.h"
#include "agents/kinds.h"
#include "sim/agent_key.h"

/* A policy and the agents it acts for. */
typedef struct member {
    lud_policy *policy;
    lud_cast_run run; /* the RUN that the scenario names instead of a policy */
    size_t hidden_offset;
    int n_agents;
    int *agents; /* [n_agents of the model] room for all */
} member;

struct lud_cast {
    const lud_model *model;
    int n_members, room;  /* the scenario's policies, and how many there may be */
    member *members;      /* [room + n_agents] [room + agent] is what replaces them for one agent */
    int *scenario_member; /* [n_agents] */
    size_t hidden_bytes;
};

/* Hidden bytes of an environment: the goals, the counts of goals reached, then each member's part. */
static size_t aligned(size_t bytes) {
    return (bytes + 7) & ~(size_t)7;
}
static int32_t *goals_of(uint8_t *hidden) {
    return (int32_t *)(void *)hidden;
}
static int32_t *reached_of(const lud_cast *cast, uint8_t *hidden) {
    return goals_of(hidden) + cast->model->layout.n_agents;
}

/* Who acts for whom and where hidden parts lie. */
static void arrange(lud_cast *cast) {
    int n_agents = cast->model->layout.n_agents, n = cast->room + n_agents;
    for (int m = 0; m < n; m++) cast->members[m].n_agents = 0;
    for (int i = 0; i < n_agents; i++) {
        member *own = &cast->members[cast->room + i];
        member *acting = own->policy ? own : &cast->members[cast->scenario_member[i]];
        acting->agents[acting->n_agents++] = i;
    }
    size_t offset = aligned(2 * (size_t)n_agents * sizeof(int32_t));
    for (int m = 0; m < n; m++) {
        cast->members[m].hidden_offset = offset;
        if (cast->members[m].policy) offset += aligned(cast->members[m].policy->hidden_bytes);
    }
    cast->hidden_bytes = offset;
}

/* A policy, or the RUN that is named instead. */
static lud_status read_policy(lud_cast *cast, lud_tree *description, const char *file, bool open, member *m,
                              lud_error *error) {
    lud_tree *type;
    const lud_policy_kind *kind;
    LUD_TRY(lud_policy_kind_of(description, &type, &kind, error));
    if (!open || kind != &lud_policy_run)
        return lud_policy_create(cast->model, description, file, &m->policy, error);
    m->run.place = description->place;
    return lud_policy_run_read(description, &m->run.name, error);
}

static lud_status add_member(lud_cast *cast, lud_tree *description, const char *file, bool open,
                             lud_error *error) {
    member *m = &cast->members[cast->n_members];
    lud_status status;
    if (description)
        status = read_policy(cast, description, file, open, m, error);
    else
        status = lud_policy_random.create(&lud_policy_random, cast->model, NULL, file, &m->policy, error);
    if (status == LUD_OK) cast->n_members++;
    return status;
}

static lud_status read_entry(lud_cast *cast, lud_tree *entry, const char *file, bool open,
                             lud_agent_key_kind wanted, lud_error *error) {
    const lud_layout *layout = &cast->model->layout;
    lud_agent_key key;
    if (!lud_agent_key_find(layout, entry->key, &key))
        return lud_agent_key_unknown(layout, entry->key, entry->key_place, error);
    if (key.kind != wanted) return LUD_OK;
    LUD_TRY(add_member(cast, entry, file, open, error));
    for (int i = 0; i < layout->n_agents; i++)
        if (lud_agent_key_names(layout, key, i)) cast->scenario_member[i] = cast->n_members - 1;
    return LUD_OK;
}

static lud_status read_policies(lud_cast *cast, lud_tree *policies, const char *file, bool open,
                                lud_error *error) {
    LUD_TRY(add_member(cast, NULL, file, open, error)); /* for agents that nobody is named for */
    if (!policies || policies->kind == LUD_TREE_NULL) return LUD_OK;
    if (policies->kind != LUD_TREE_MAPPING)
        return lud_invalid_at(error, policies->place,
                              "policies: expected a mapping such as {human: {type: random}}");
    /* roles first, then teams, kinds and single agents: the narrower entry wins */
    for (int kind = 0; kind < LUD_AGENT_KEYS; kind++)
        for (lud_tree *entry = policies->child; entry; entry = entry->next)
            LUD_TRY(read_entry(cast, entry, file, open, (lud_agent_key_kind)kind, error));
    return LUD_OK;
}

static lud_status create(const lud_model *model, lud_tree *policies, const char *file, bool open,
                         lud_cast **out, lud_error *error) {
    *out = NULL;
    lud_cast *cast = calloc(1, sizeof *cast);
    if (!cast) return lud_no_memory(error, "policies");
    size_t n_agents = (size_t)model->layout.n_agents;
    cast->room = 1 + (policies ? (int)policies->n_children : 0) + (open ? (int)n_agents : 0);
    const size_t room = (size_t)cast->room + n_agents;
    cast->model = model;
    cast->members = calloc(room, sizeof *cast->members);
    cast->scenario_member = calloc(n_agents + 1, sizeof *cast->scenario_member);
    int *agents = calloc(room * n_agents + 1, sizeof *agents);
    if (!cast->members || !cast->scenario_member || !agents) {
        LUD_FREE(agents, cast->members, cast->scenario_member, cast);
        return lud_no_memory(error, "policies");
    }
    for (size_t m = 0; m < room; m++) cast->members[m].agents = agents + m * n_agents;
    lud_status status = read_policies(cast, policies, file, open, error);
    if (status) {
        lud_cast_destroy(cast);
        return status;
    }
    arrange(cast);
    *out = cast;
    return LUD_OK;
}

lud_status lud_cast_create(const lud_model *model, lud_tree *policies, const char *file, lud_cast **cast,
                           lud_error *error) {
    return create(model, policies, file, false, cast, error);
}

lud_status lud_cast_create_open(const lud_model *model, lud_tree *policies, const char *file, lud_cast **cast,
                                lud_error *error) {
    return create(model, policies, file, true, cast, error);
}

void lud_cast_destroy(lud_cast *cast) {
    if (!cast) return;
    for (int m = 0; m < cast->room + cast->model->layout.n_agents; m++)
        lud_policy_destroy(cast->members[m].policy);
    LUD_FREE(cast->members[0].agents, cast->members, cast->scenario_member, cast);
}

void lud_cast_set(lud_cast *cast, int agent, lud_policy *policy) {
    member *own = &cast->members[cast->room + agent];
    lud_policy_destroy(own->policy);
    own->policy = policy;
    arrange(cast);
}

lud_policy *lud_cast_take(lud_cast *cast, int agent) {
    member *own = &cast->members[cast->room + agent];
    lud_policy *policy = own->policy;
    own->policy = NULL;
    arrange(cast);
    return policy;
}

void lud_cast_fill(lud_cast *cast, int agent, lud_policy *policy) {
    assert(cast->members[cast->scenario_member[agent]].run.name && cast->n_members < cast->room);
    cast->scenario_member[agent] = cast->n_members;
    cast->members[cast->n_members++].policy = policy;
    arrange(cast);
}

static const member *member_of(const lud_cast *cast, int agent) {
    const member *own = &cast->members[cast->room + agent];
    return own->policy ? own : &cast->members[cast->scenario_member[agent]];
}

lud_policy *lud_cast_get(const lud_cast *cast, int agent) {
    return member_of(cast, agent)->policy;
}

const lud_cast_run *lud_cast_missing(const lud_cast *cast, int agent) {
    const member *m = member_of(cast, agent);
    return m->policy ? NULL : &m->run;
}

lud_status lud_cast_complete(const lud_cast *cast, lud_error *error) {
    for (int i = 0; i < cast->model->layout.n_agents; i++) {
        const lud_cast_run *run = lud_cast_missing(cast, i);
        if (run)
            return lud_fail_at(error, LUD_ERROR_UNSUPPORTED, run->place,
                               "agent %d acts by the RUN %s, which is not opened here", i, run->name);
    }
    return LUD_OK;
}

const uint8_t *lud_cast_remembered(const lud_cast *cast, const uint8_t *hidden, int agent) {
    return hidden + member_of(cast, agent)->hidden_offset;
}

size_t lud_cast_hidden_bytes(const lud_cast *cast) {
    return cast->hidden_bytes;
}

bool lud_cast_needs_observations(const lud_cast *cast) {
    for (int m = 0; m < cast->room + cast->model->layout.n_agents; m++)
        if (cast->members[m].n_agents && cast->members[m].policy->needs_observations) return true;
    return false;
}

bool lud_cast_acts_on_observations(const lud_cast *cast) {
    for (int m = 0; m < cast->room + cast->model->layout.n_agents; m++)
        if (cast->members[m].n_agents && !cast->members[m].policy->reads_no_states) return false;
    return true;
}

int lud_cast_goal(const lud_cast *cast, const uint8_t *hidden, int agent) {
    (void)cast;
    return ((const int32_t *)(const void *)hidden)[agent];
}

lud_status lud_cast_check_hidden(const lud_cast *cast, int n, const uint8_t *hidden, lud_error *error) {
    const lud_model *model = cast->model;
    for (int e = 0; e < n; e++)
        for (int i = 0; i < model->layout.n_agents; i++) {
            const uint8_t *own = hidden + (size_t)e * cast->hidden_bytes;
            const int goal = lud_cast_goal(cast, own, i),
                      n_goals = model->world->n_goals ? model->world->n_goals(model, i) : 0;
            if (goal < -1 || goal >= n_goals || lud_cast_goals_reached(cast, own, i) < 0)
                return lud_invalid(error, "environment %d: agent %d has goal %d of %d", e, i, goal, n_goals);
        }
    return LUD_OK;
}

int lud_cast_goals_reached(const lud_cast *cast, const uint8_t *hidden, int agent) {
    return ((const int32_t *)(const void *)hidden)[cast->model->layout.n_agents + agent];
}

/* A goal of the agent, with probability in proportion to its weight; -1 where the agent has none. */
static int draw_goal(const lud_model *model, lud_range range, int e, int agent, uint32_t lane) {
    int n = model->world->n_goals ? model->world->n_goals(model, agent) : 0;
    if (n == 0) return -1;
    double sum = 0;
    for (int g = 0; g < n; g++) sum += model->world->goal_weight(model, agent, g);
    lud_words words = lud_draw((lud_random_key){range.seed, range.first_environment + (uint32_t)e},
                               range.tick[e], (uint32_t)agent, LUD_PURPOSE_GOAL, lane);
    double left = lud_unit53(words.v[0], words.v[1]) * sum;
    int drawn = -1;
    for (int g = 0; g < n; g++) {
        double weight = model->world->goal_weight(model, agent, g);
        if (weight <= 0) continue;
        drawn = g;
        if (left < weight) break;
        left -= weight;
    }
    return drawn;
}

void lud_cast_reset(const lud_cast *cast, lud_range range, const uint8_t *states, uint8_t *hidden) {
    (void)states;
    const lud_model *model = cast->model;
    int n_agents = model->layout.n_agents;
    memset(hidden, 0, (size_t)range.n * cast->hidden_bytes);
    for (int e = 0; e < range.n; e++)
        for (int i = 0; i < n_agents; i++)
            goals_of(hidden + (size_t)e * cast->hidden_bytes)[i] = draw_goal(model, range, e, i, 0);
    for (int m = 0; m < cast->room + n_agents; m++) {
        lud_policy *policy = cast->members[m].policy;
        if (policy && policy->kind->reset)
            policy->kind->reset(policy, hidden + cast->members[m].hidden_offset, cast->hidden_bytes, range.n);
    }
}

static void renew_goals(const lud_cast *cast, lud_range range, const uint8_t *states, uint8_t *hidden) {
    const lud_model *model = cast->model;
    if (!model->world->n_goals) return;
    for (int e = 0; e < range.n; e++) {
        uint8_t *own = hidden + (size_t)e * cast->hidden_bytes;
        const uint8_t *state = states + (size_t)e * model->layout.state_bytes;
        for (int i = 0; i < model->layout.n_agents; i++) {
            int goal = goals_of(own)[i];
            if (goal < 0 || !model->world->achieved(model, state, i, goal)) continue;
            reached_of(cast, own)[i]++;
            goals_of(own)[i] = draw_goal(model, range, e, i, 1);
        }
    }
}

void lud_cast_act(const lud_cast *cast, lud_range range, const uint8_t *states, void *const *observations,
                  uint8_t *hidden, int32_t *discrete, float *continuous) {
    lud_cast_act_told(cast, range, states, observations, hidden, discrete, continuous, NULL);
}

void lud_cast_act_told(const lud_cast *cast, lud_range range, const uint8_t *states,
                       void *const *observations, uint8_t *hidden, int32_t *discrete, float *continuous,
                       float *log_probs) {
    const size_t n_log_probs = log_probs ? (size_t)range.n * (size_t)cast->model->layout.n_agents : 0;
    for (size_t k = 0; k < n_log_probs; k++) log_probs[k] = NAN;
    renew_goals(cast, range, states, hidden);
    for (int m = 0; m < cast->room + cast->model->layout.n_agents; m++) {
        const member *acting = &cast->members[m];
        if (!acting->n_agents) continue;
        lud_act act = {.model = cast->model,
                       .range = range,
                       .states = states,
                       .observations = observations,
                       .goals = goals_of(hidden),
                       .goal_stride = cast->hidden_bytes / sizeof(int32_t),
                       .hidden = hidden + acting->hidden_offset,
                       .hidden_stride = cast->hidden_bytes,
                       .agents = acting->agents,
                       .n_agents_acting = acting->n_agents,
                       .discrete = discrete,
                       .continuous = continuous,
                       .log_prob = log_probs};
        acting->policy->kind->act(acting->policy, &act);
    }
}

lud_status lud_cast_check(const lud_cast *cast, lud_error *error) {
    for (int m = 0; m < cast->room + cast->model->layout.n_agents; m++)
        if (cast->members[m].n_agents) LUD_TRY(lud_policy_check(cast->members[m].policy, error));
    return LUD_OK;
}
