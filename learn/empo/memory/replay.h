/* Replay memory of the neural EMPO learner: a ring of transitions of unequal size.
 *
 * A transition keeps the successors of every joint robot action under the human actions that were drawn, as
 * CSR rows into a list of distinct successor records (learn/empo/memory/features.h). Nothing in it refers to
 * a state, so transitions of different maps stand side by side. When either the number of transitions or the
 * memory is used up, the oldest ones go.
 *
 * A memory of trajectories (lud_empo_replay_keep_trajectories) also keeps what really happened, which need
 * not be among the successors listed, and knows which transition followed which: targets over several steps
 * and hindsight read that. */
#pragma once

#include "learn/empo/memory/features.h"
#include "learn/store/checkpoint.h"

typedef struct lud_empo_transition {
    int64_t inserted;         /* training step at which it was stored */
    uint32_t environment;     /* that it comes from */
    uint32_t episode;         /* of that environment */
    int32_t robot_action;     /* joint action taken */
    int32_t next;             /* the successor that followed, -1: none of those listed (exploration) */
    int32_t n_links;          /* (joint robot action, successor) pairs */
    int32_t n_successors;     /* distinct ones */
    const int32_t *state;     /* [words] */
    const int32_t *goals;     /* [n_humans] each person's goal, counted within its own */
    const int32_t *offsets;   /* [n_actions + 1] links of a joint robot action */
    const int32_t *link;      /* [n_links] successor of a link */
    const float *probability; /* [n_links] positive, sum 1 for each joint (robot) action */
    const uint8_t *terminal;  /* [n_successors] */
    const int32_t *successor; /* [n_successors][words] */
    /* only in a memory for targets in expectation over people: links are those of every joint action */
    const int32_t *profile; /* [n_links] the people's part of it, and probability[] is given that part */
    const float *policies;  /* [n_policies] of people here, for each person [goals][actions] */
    /* only in a memory of trajectories */
    const int32_t *behaviour_goals; /* [n_humans] what people pursued in fact */
    const int32_t *next_record;     /* [words] the state that came next */
    const float *likelihood; /* [n_likelihoods] for each goal of each person, the chance that who pursues it
                                does what the successors listed are given */
    int32_t explored;        /* LUD_EMPO_ROBOTS_EXPLORED, LUD_EMPO_PEOPLE_EXPLORED */
    int32_t next_terminal;   /* the world ended in next_record */
} lud_empo_transition;

/* Somebody's action was not drawn from its policy. */
enum { LUD_EMPO_ROBOTS_EXPLORED = 1, LUD_EMPO_PEOPLE_EXPLORED = 2 };

typedef struct lud_empo_replay lud_empo_replay;

/* Room for at most `capacity` transitions and `bytes` of them. n_policies is 0 for transitions under one draw
 * of human actions. Null when memory is out. */
lud_empo_replay *lud_empo_replay_create(int64_t capacity, size_t bytes, int words, int n_actions,
                                        int n_humans, int n_policies);
/* Makes an empty memory one of trajectories. The environments of its transitions are 0 .. n_environments - 1;
 * with 0 it does not know which transition followed. False when memory is out. */
bool lud_empo_replay_keep_trajectories(lud_empo_replay *replay, int n_environments, int n_likelihoods);
/* Null is allowed. */
void lud_empo_replay_destroy(lud_empo_replay *replay);
/* Appends a copy; false when a single transition is larger than the whole memory. `inserted` must not be
 * below that of the one before. */
bool lud_empo_replay_push(lud_empo_replay *replay, const lud_empo_transition *transition);
/* Whether a push would keep everything that is stored at present. */
bool lud_empo_replay_fits(const lud_empo_replay *replay, const lud_empo_transition *transition);
int64_t lud_empo_replay_count(const lud_empo_replay *replay);
/* For who waits for n transitions: LUD_ERROR_LIMIT when the bytes were filled several times over and never
 * held so many, for which one would wait for ever. */
lud_status lud_empo_replay_check_room(const lud_empo_replay *replay, int64_t n, lud_error *error);
/* Transition `index`, 0 is the oldest. Its pointers hold until the next push. */
lud_empo_transition lud_empo_replay_get(const lud_empo_replay *replay, int64_t index);
/* Index of the transition that came after `index` in the same episode; -1: none is stored. Only in a memory
 * of trajectories that knows its environments. */
int64_t lud_empo_replay_following(const lud_empo_replay *replay, int64_t index);
/* Forgets everything. */
void lud_empo_replay_clear(lud_empo_replay *replay);
/* Draws n different transitions (n <= count) uniformly among those stored at step `oldest` or later; among
 * all when fewer than n are that young. The draw depends on seed and `draw` only. indices[n] */
void lud_empo_replay_sample(const lud_empo_replay *replay, int64_t n, int64_t oldest, uint64_t seed,
                            uint32_t draw, int64_t *indices);
/* Draws n * k as above (k less when so many are not there), splits them into n groups of k and takes from
 * each the one with the largest priority: transitions whose targets were missed by much come more often
 * (compare Schaul et al., "Prioritized experience replay", 2016). indices[n * k], of which the first n are
 * filled. */
void lud_empo_replay_contest(const lud_empo_replay *replay, int64_t n, int64_t k, int64_t oldest,
                             uint64_t seed, uint32_t draw, int64_t *indices);
/* Priority of a stored transition; it starts at infinity. */
void lud_empo_replay_set_priority(lud_empo_replay *replay, int64_t index, float priority);
/* Bytes taken by a transition, mean over those stored. */
double lud_empo_replay_mean_bytes(const lud_empo_replay *replay);
/* What the numbers of stored transitions refer to: what is loaded is checked against it. */
typedef struct lud_empo_replay_bounds {
    const lud_empo_features *features;
    int32_t n_goals[LUD_EMPO_MAX_AGENTS]; /* [n_humans] goals[h] is below */
    int32_t n_profiles;                   /* joint actions of people */
    int64_t step;                         /* present training step */
} lud_empo_replay_bounds;
/* Saves or loads everything, so that what follows is the same bit for bit. Without bounds (null) only that
 * the memory can be walked through is checked. */
void lud_empo_replay_visit(lud_empo_replay *replay, const lud_empo_replay_bounds *bounds, const char *prefix,
                           lud_checkpoint *checkpoint);
