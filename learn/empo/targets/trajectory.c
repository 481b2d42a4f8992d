#include "learn/empo/targets/trajectory.h"

#include <math.h>
#include <stdlib.h>

#include "learn/nn/arrays.h"

/* Weighted values of states on the way that go into slots (transition, joint robot action). */
typedef struct terms {
    int64_t n, run_n;    /* run_n: with padding */
    int32_t *row, *slot; /* [n] row: of the states on the way */
    float *weight;       /* [n] */
    const int32_t *device_row, *device_slot;
    const float *device_weight;
    float *device_value;
} terms;

struct lud_empo_trajectory {
    lud_arrays arrays, term_arrays; /* of fixed size; device_value of the terms */
    lud_empo_values *values;
    const lud_empo_replay *replay;
    const lud_empo_learner_options *options;
    lud_device *device;
    int64_t n, n_entries, n_actions;
    /* of an entry: target = keep x one-step target + constant + factor x V_h^e at place */
    float *keep, *constant, *factor;
    int32_t *place;
    float *keep_action; /* [n][n_actions] */
    const float *device_keep, *device_constant, *device_factor, *device_keep_action;
    const int32_t *device_place;
    float *device_value;
    lud_empo_transition *path; /* [path_room] steps of one transition */
    int64_t *row_of;           /* [path_room] row of the state after a step, -1: its values are not needed */
    int64_t path_room;
    lud_empo_trajectory_state *states; /* [state_room] */
    int64_t n_states, state_room;
    terms rewards, values_beyond; /* U_r on the way, V_r at its end: [state_room] each */
    int64_t steps, n_people, n_achieved, n_people_bootstrapped, n_robots, n_robots_bootstrapped;
    bool with_robots;
    uint64_t n_grown;
};

/* ---- making and freeing ---- */

/* Room for one more state. */
static bool room_for_state(lud_empo_trajectory *t) {
    if (t->n_states < t->state_room) return true;
    int64_t room = 64; /* a power of two, and at least the size of a batch */
    while (room < t->n || room <= t->state_room) room *= 2;
    const size_t n = (size_t)room;
    if (!lud_grow(&t->states, n, sizeof *t->states)) return false;
    t->n_grown++;
    terms *const all[] = {&t->rewards, &t->values_beyond};
    lud_arrays_free(&t->term_arrays);
    for (int i = 0; i < 2; i++) {
        terms *own = all[i];
        LUD_TAKE_ON_DEVICE(&t->term_arrays, own->device_value, n);
        if (t->term_arrays.failed || !lud_grow(&own->row, n, sizeof *own->row) ||
            !lud_grow(&own->slot, n, sizeof *own->slot) || !lud_grow(&own->weight, n, sizeof *own->weight))
            return false;
    }
    t->state_room = room;
    return true;
}

static bool room_for_step(lud_empo_trajectory *t, int64_t n) {
    if (n < t->path_room) return true;
    const size_t room = 2 * (size_t)t->path_room + 16;
    if (!lud_grow(&t->path, room, sizeof *t->path) || !lud_grow(&t->row_of, room, sizeof *t->row_of))
        return false;
    t->path_room = (int64_t)room;
    return true;
}

lud_status lud_empo_trajectory_create(lud_empo_values *values, const lud_empo_replay *replay,
                                      const lud_empo_learner_options *options, int64_t n,
                                      lud_empo_trajectory **trajectory, lud_error *error) {
    *trajectory = NULL;
    lud_empo_trajectory *t = calloc(1, sizeof *t);
    if (!t) return lud_no_memory(error, "trajectories");
    *t = (lud_empo_trajectory){.values = values,
                               .replay = replay,
                               .options = options,
                               .device = values->device,
                               .n = n,
                               .n_entries = values->n_entries,
                               .n_actions = values->features->layout.n_robot_actions};
    t->arrays.device = t->term_arrays.device = t->device;
    const size_t entries = (size_t)(n * t->n_entries), actions = (size_t)(n * t->n_actions);
    LUD_TAKE(&t->arrays, t->place, entries);
    LUD_TAKE(&t->arrays, t->keep, entries);
    LUD_TAKE(&t->arrays, t->constant, entries);
    LUD_TAKE(&t->arrays, t->factor, entries);
    LUD_TAKE(&t->arrays, t->keep_action, actions);
    LUD_TAKE_ON_DEVICE(&t->arrays, t->device_value, entries);
    if (t->arrays.failed || !room_for_state(t) || !room_for_step(t, 0)) {
        lud_empo_trajectory_destroy(t);
        return lud_no_memory(error, "trajectories");
    }
    *trajectory = t;
    return LUD_OK;
}

void lud_empo_trajectory_destroy(lud_empo_trajectory *t) {
    if (!t) return;
    lud_arrays_free(&t->arrays);
    LUD_FREE(t->path, t->row_of, t->states);
    lud_arrays_free(&t->term_arrays);
    terms *const all[] = {&t->rewards, &t->values_beyond};
    for (int i = 0; i < 2; i++) LUD_FREE(all[i]->row, all[i]->slot, all[i]->weight);
    free(t);
}

/* ---- following ---- */

/* Most steps of a target; 0: one-step targets. */
static int64_t most_steps(int mode, int64_t n_step) {
    return mode == LUD_EMPO_ONE_STEP ? 0 : mode == LUD_EMPO_N_STEP ? n_step : INT64_MAX;
}

/* The steps from a transition on, as far as some target needs them; 0 when memory is out. */
static int64_t walk(lud_empo_trajectory *t, int64_t index, const lud_empo_transition *first, int64_t most) {
    t->path[0] = *first;
    t->row_of[0] = -1;
    int64_t n = 1;
    while (n < most && !t->path[n - 1].next_terminal) {
        index = lud_empo_replay_following(t->replay, index);
        if (index < 0) break;
        const lud_empo_transition next = lud_empo_replay_get(t->replay, index);
        if (t->options->trajectory_cut_at_exploration && next.explored) break;
        if (!room_for_step(t, n)) return 0;
        t->path[n] = next;
        t->row_of[n++] = -1;
    }
    return n;
}

/* Row of the state after step k; -1 when memory is out. */
static int64_t add_state(lud_empo_trajectory *t, int64_t k, const int32_t *goals) {
    if (t->row_of[k] >= 0) return t->row_of[k];
    if (!room_for_state(t)) return -1;
    t->states[t->n_states] = (lud_empo_trajectory_state){
        .record = t->path[k].next_record, .goals = goals, .terminal = t->path[k].next_terminal};
    return t->row_of[k] = t->n_states++;
}

/* The entry of person h and its goal, over at most n steps of the path. */
static bool follow_person(lud_empo_trajectory *t, int64_t i, int64_t k, int h, int goal, int64_t n,
                          double gamma_h) {
    const int64_t entry = i * t->n_entries + k;
    if (t->path[0].behaviour_goals[h] != goal) return true;
    double factor = 1.0;
    t->keep[entry] = 0.0f;
    t->n_people++;
    int64_t step = 0;
    for (; step < n && t->path[step].behaviour_goals[h] == goal; step++) {
        if (lud_empo_features_achieved(t->values->features, t->path[step].next_record, h, goal)) {
            t->constant[entry] = (float)factor;
            t->n_achieved++;
            return true;
        }
        if (t->path[step].next_terminal) return true;
        factor *= gamma_h;
    }
    const int64_t row = add_state(t, step - 1, t->path[0].goals);
    t->factor[entry] = (float)factor;
    t->place[entry] = (int32_t)(row * t->n_entries + k);
    t->n_people_bootstrapped++;
    return row >= 0;
}

static void add_term(terms *t, int64_t row, int64_t slot, double weight) {
    t->row[t->n] = (int32_t)row;
    t->slot[t->n] = (int32_t)slot;
    t->weight[t->n++] = (float)weight;
}

static bool follow_robots(lud_empo_trajectory *t, int64_t i, int64_t n, double gamma_r) {
    const int64_t slot = i * t->n_actions + t->path[0].robot_action;
    double factor = gamma_r;
    t->keep_action[slot] = 0.0f;
    t->n_robots++;
    for (int64_t step = 0; step < n; step++, factor *= gamma_r) {
        const int64_t row = add_state(t, step, t->path[0].goals);
        if (row < 0) return false;
        if (step + 1 < n)
            add_term(&t->rewards, row, slot, factor * t->values->reward_scale);
        else
            add_term(&t->values_beyond, row, slot, factor);
    }
    t->n_robots_bootstrapped += !t->path[n - 1].next_terminal;
    return true;
}

lud_status lud_empo_trajectory_follow(lud_empo_trajectory *t, int64_t n_transitions, const int64_t *indices,
                                      const lud_empo_transition *transitions, const lud_empo_now *now,
                                      bool robots, lud_error *error) {
    const lud_empo_learner_options *o = t->options;
    t->n = n_transitions;
    const int64_t of_people = most_steps(o->v_h_e_target_mode, o->v_h_e_n_step),
                  of_robots = robots ? most_steps(o->q_r_target_mode, o->q_r_n_step) : 0,
                  most = of_people > of_robots ? of_people : of_robots;
    t->n_states = t->rewards.n = t->values_beyond.n = t->steps = 0;
    t->n_people = t->n_achieved = t->n_people_bootstrapped = t->n_robots = t->n_robots_bootstrapped = 0;
    t->with_robots = of_robots > 0;
    for (int64_t e = 0; e < t->n * t->n_entries; e++) {
        t->keep[e] = 1.0f;
        t->constant[e] = t->factor[e] = 0.0f;
        t->place[e] = -1;
    }
    for (int64_t a = 0; a < t->n * t->n_actions; a++) t->keep_action[a] = 1.0f;
    bool complete = true;
    for (int64_t i = 0; i < t->n && most > 0 && complete; i++) {
        const int64_t n = walk(t, indices[i], &transitions[i], most);
        const int explored = o->trajectory_cut_at_exploration ? transitions[i].explored : 0;
        const int64_t n_people = explored        ? 0
                                 : n < of_people ? n
                                                 : of_people,
                      n_robots = explored & LUD_EMPO_PEOPLE_EXPLORED ? 0
                                 : n < of_robots                     ? n
                                                                     : of_robots;
        complete = n > 0;
        t->steps += n_people > n_robots ? n_people : n_robots;
        for (int64_t k = 0; k < t->n_entries && n_people > 0 && complete; k++) {
            int h, goal;
            lud_empo_values_entry(t->values, (int)k, transitions[i].goals, &h, &goal);
            complete = follow_person(t, i, k, h, goal, n_people, now->gamma_h);
        }
        if (n_robots > 0 && complete) complete = follow_robots(t, i, n_robots, now->gamma_r);
    }
    return complete ? LUD_OK : lud_no_memory(error, "trajectories");
}

const lud_empo_trajectory_state *lud_empo_trajectory_states(const lud_empo_trajectory *t, int64_t *n) {
    *n = t->n_states;
    return t->states;
}

/* ---- on the device ---- */

/* Off the CPU up to run_n, so that sizes recur. */
static void pack_terms(terms *t, int64_t run_n, int64_t first_row, lud_upload_batch *upload) {
    t->run_n = upload->direct ? t->n : run_n;
    const size_t n = (size_t)t->run_n;
    for (int64_t i = 0; i < t->n; i++) t->row[i] += (int32_t)first_row;
    for (int64_t i = t->n; i < t->run_n; i++) {
        t->row[i] = t->slot[i] = -1;
        t->weight[i] = 0.0f;
    }
    lud_upload_batch_add(upload, &t->device_row, t->row, n * sizeof *t->row);
    lud_upload_batch_add(upload, &t->device_slot, t->slot, n * sizeof *t->slot);
    lud_upload_batch_add(upload, &t->device_weight, t->weight, n * sizeof *t->weight);
}

void lud_empo_trajectory_pack(lud_empo_trajectory *t, int64_t first_row, lud_upload_batch *upload) {
    const size_t entries = (size_t)(t->n * t->n_entries), actions = (size_t)(t->n * t->n_actions);
    for (size_t e = 0; e < entries; e++)
        if (t->place[e] >= 0) t->place[e] += (int32_t)(first_row * t->n_entries);
    lud_upload_batch_add(upload, &t->device_keep, t->keep, entries * sizeof *t->keep);
    lud_upload_batch_add(upload, &t->device_constant, t->constant, entries * sizeof *t->constant);
    lud_upload_batch_add(upload, &t->device_factor, t->factor, entries * sizeof *t->factor);
    lud_upload_batch_add(upload, &t->device_place, t->place, entries * sizeof *t->place);
    lud_upload_batch_add(upload, &t->device_keep_action, t->keep_action, actions * sizeof *t->keep_action);
    int64_t most = 64;
    while (most < t->n || most < t->rewards.n) most *= 2;
    pack_terms(&t->rewards, most, first_row, upload);
    pack_terms(&t->values_beyond, t->n, first_row, upload); /* one of a transition at most */
}

uint64_t lud_empo_trajectory_grown(const lud_empo_trajectory *t) {
    return t->n_grown;
}

void lud_empo_trajectory_people(lud_empo_trajectory *t, float *v_h_e) {
    const lud_ops *ops = t->device->ops;
    const int64_t n = t->n * t->n_entries;
    ops->gather_rows(t->device, n, 1, t->values->v_h_e, t->device_place, t->device_value);
    ops->multiply(t->device, n, t->device_value, t->device_factor, t->device_value);
    ops->combine(t->device, n, 1.0, t->device_value, 1.0, t->device_constant, t->device_value);
    ops->multiply(t->device, n, v_h_e, t->device_keep, v_h_e);
    ops->combine(t->device, n, 1.0, v_h_e, 1.0, t->device_value, v_h_e);
}

static void add_up(lud_empo_trajectory *t, const terms *all, const float *value, float *q_r) {
    const lud_ops *ops = t->device->ops;
    ops->gather_rows(t->device, all->run_n, 1, value, all->device_row, all->device_value);
    ops->scatter_add(t->device, all->run_n, 1, t->n * t->n_actions, all->device_value, all->device_weight,
                     all->device_slot, q_r);
}

void lud_empo_trajectory_robots(lud_empo_trajectory *t, float *q_r) {
    t->device->ops->multiply(t->device, t->n * t->n_actions, q_r, t->device_keep_action, q_r);
    add_up(t, &t->rewards, t->values->u_r, q_r);
    add_up(t, &t->values_beyond, t->values->v_r, q_r);
}

lud_empo_trajectory_counts lud_empo_trajectory_count(const lud_empo_trajectory *t) {
    const bool people = t->options->v_h_e_target_mode != LUD_EMPO_ONE_STEP;
    return (lud_empo_trajectory_counts){.n = (double)t->n,
                                        .steps = (double)t->steps,
                                        .people = (double)t->n_people,
                                        .people_achieved = (double)t->n_achieved,
                                        .people_bootstrapped = (double)t->n_people_bootstrapped,
                                        .of_people = people ? (double)(t->n * t->n_entries) : 0.0,
                                        .robots = (double)t->n_robots,
                                        .robots_bootstrapped = (double)t->n_robots_bootstrapped,
                                        .of_robots = t->with_robots ? (double)t->n : 0.0};
}

static double share(double part, double whole) {
    return whole > 0.0 ? part / whole : NAN;
}

lud_empo_trajectory_figures lud_empo_trajectory_figures_of(const lud_empo_trajectory_counts *c) {
    return (lud_empo_trajectory_figures){.people = share(c->people, c->of_people),
                                         .achieved = share(c->people_achieved, c->people),
                                         .people_bootstrapped = share(c->people_bootstrapped, c->people),
                                         .robots = share(c->robots, c->of_robots),
                                         .robots_bootstrapped = share(c->robots_bootstrapped, c->robots),
                                         .length = share(c->steps, c->n)};
}
