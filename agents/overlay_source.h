/* What a solution, a learner or a policy publishes about the states of a world, to be drawn with the world.
 *
 * Data and functions only: who fills a source does not know how it is drawn (render/overlay.h), who draws it
 * does not know where the numbers come from. Everything but `destroy` may be left out (null or 0). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

/* One number that every state has, such as its value. Quantities with the same group stand next to each other
 * and share a chart. */
typedef struct lud_overlay_quantity {
    char name[24];  /* beside its bar */
    char group[24]; /* title of its chart */
    bool unit;      /* the bar ends at `most`; else at the largest amount of the episode so far */
    double most;
    const char *about; /* what the name stands for, said when it is pointed at; null: it says so itself */
} lud_overlay_quantity;

/* Every maker's own struct begins with this. Every function fills its array for a state and returns false
 * when it knows nothing about it. */
typedef struct lud_overlay_source {
    const char *goal_value_name;  /* what values of goals are, for the colour bar; null: there are none */
    const char *goal_value_about; /* what that stands for, as of quantities */
    double goal_value_most;       /* they lie in 0..most */
    int n_quantities;
    const lud_overlay_quantity *quantities; /* [n_quantities] */
    const char *choice_name, *choice_group; /* above the bars of choices; title of their chart */
    const char *choice_about;               /* what they stand for, as of quantities */
    int n_choices;                          /* what the robots may do together; 0: nothing is shown */
    const char *const *choice_names;        /* [n_choices] */
    /* Above the bars of one agent's action probabilities; null: no such bars. Their names are those of the
     * world: lud_world.describe_action where it has one, else those of the layout. */
    const char *policy_name;
    bool (*quantity_values)(struct lud_overlay_source *source, const uint8_t *state, double *values);
    /* Where quantities follow from all states of an episode so far: the next ones asked about are those of an
     * episode, the first one first. Null: they follow from the state alone. */
    void (*restart)(struct lud_overlay_source *source);
    bool (*choice_probabilities)(struct lud_overlay_source *source, const uint8_t *state, double *values);
    /* values[number of the agent's goals]; false too for agents whose goals have none. */
    bool (*goal_values)(struct lud_overlay_source *source, const uint8_t *state, int agent, double *values);
    /* probabilities[n_discrete of the agent], when it has this goal (-1: not known). `hidden`: what the cast
     * remembers before it acts in that state (agents/cast.h), null where that is not known. */
    bool (*action_probabilities)(struct lud_overlay_source *source, const uint8_t *state,
                                 const uint8_t *hidden, int agent, int goal, double *probabilities);
    /* For worlds with a graph of entities: weights[n_entities] is how strongly the agent attends to each, sum
     * at most 1. */
    bool (*attention)(struct lud_overlay_source *source, const uint8_t *state, int agent, float *weights);
    /* What the numbers below are, such as a delight; null: there are none. */
    const char *agent_number_name;
    /* A number for every agent about the step that led from the state `before` by the joint action to the
     * state `after` and paid the rewards: values[n_agents], of either sign, not a number where none is known
     * of an agent. Drawn as a bar beside each agent. */
    bool (*agent_numbers)(struct lud_overlay_source *source, const uint8_t *before, const int32_t *actions,
                          const float *rewards, const uint8_t *after, double *values);
    /* For agents that read and write: what an agent was given to read in a state and what it wrote, appended.
     */
    bool (*agent_text)(struct lud_overlay_source *source, const uint8_t *state, int agent, lud_text *read,
                       lud_text *written);
    void (*destroy)(struct lud_overlay_source *source);
} lud_overlay_source;

/* Null is fine. */
void lud_overlay_source_destroy(lud_overlay_source *source);
