/* Observations of a multigrid.
 *
 * Coding `compact`, full view: one int32 word a cell (kernels/grid_code.h), 4 global features, 13 features an
 * agent, 96 of buttons and switches. Partial view: each agent's window of words, its own 13 features and the
 * global ones. Coding `cells`: six bytes a cell for each agent, full or partial.
 *
 * The features are raw numbers:
 *   globals      steps left; stumble probability of the first unsteady cell; entry and solidify probability
 * of the first magic wall (0 where there is none) agents       x, y, one-hot direction (4), can enter magic
 * walls, can push rocks, carried type (1 ball, 2 box, 31 key, -1 nothing), its colour or -1, paused,
 * terminated, forced action or -1. Agents stand in alphabetical order of their colours' names, within a
 * colour in index order. interactive  4 kill buttons (x, y, enabled, trigger, target colour), 4 pause
 * switches (x, y, enabled, on, toggle, target colour), 4 disabling switches (x, y, 1, 0, toggle colour, 10
 * kill | 11 pause | 13 control), 4 control buttons (x, y, enabled, trigger, controlled colour, recorded
 * action or -1, awaiting); row-major order, surplus left out, missing ones zero. The reference's encoder
 * differs in two points, which the encode functions below reproduce with `reference`: a carried key looks
 * like nothing (-1), and the global probabilities are always 0, 1, 0. */
#pragma once

#include "kernels/grid_code.h"
#include "sim/multigrid/grid_model.h"

enum {
    LUD_GRID_MAX_VIEW = 31,
    LUD_GRID_CELL_NUMBERS = 6,
    LUD_GRID_GLOBALS = 4,
    LUD_GRID_INTERACTIVE = 96,
    /* A cell outside the light of a partial view: type nothing with door state 3, which no other cell has. */
    LUD_GRID_WORD_UNSEEN = LUD_CODE_EMPTY | 3 << LUD_CODE_DOOR_SHIFT
};

/* An agent's features. */
typedef enum lud_grid_agent_feature {
    LUD_GRID_AGENT_X,
    LUD_GRID_AGENT_Y,
    LUD_GRID_AGENT_DIRECTION, /* east, south, west, north */
    LUD_GRID_AGENT_ENTERS_MAGIC = LUD_GRID_AGENT_DIRECTION + 4,
    LUD_GRID_AGENT_PUSHES_ROCKS,
    LUD_GRID_AGENT_CARRIED_TYPE,
    LUD_GRID_AGENT_CARRIED_COLOUR,
    LUD_GRID_AGENT_PAUSED,
    LUD_GRID_AGENT_TERMINATED,
    LUD_GRID_AGENT_FORCED,
    LUD_GRID_AGENT_FEATURES
} lud_grid_agent_feature;

/* Describes the observation parts in the layout and prepares what is constant in them; false when memory is
 * out. */
bool lud_grid_compile_observations(lud_grid_model *m);
/* lud_world.observe of this world. */
void lud_grid_observe(const lud_model *model, lud_range range, const uint8_t *states, void *const *parts);

/* words[height][width]: a world smaller than that is padded with walls at the right and bottom, a larger one
 * cut. With `reference` the words are those of the reference program. */
void lud_grid_encode_words(const lud_grid_model *m, const uint8_t *state, bool reference, int height,
                           int width, int32_t *words);
/* tensor[40][height][width] as the reference makes it: an agent hides what it stands on, except a bush. */
void lud_grid_encode_tensor(const lud_grid_model *m, const uint8_t *state, int height, int width,
                            float *tensor);
void lud_grid_encode_globals(const lud_grid_model *m, const uint8_t *state, bool reference,
                             float globals[LUD_GRID_GLOBALS]);
/* features[sum of most][13]: up to most[c] agents of colour c; unused places are zero. */
void lud_grid_encode_agents(const lud_grid_model *m, const uint8_t *state, bool reference,
                            const int most[LUD_COLOURS], float *features);
/* Which of the rows above is an agent's when `most` counts all agents: by colour name, then by index. */
int lud_grid_agent_place(const lud_grid_model *m, int agent);
void lud_grid_encode_interactive(const lud_grid_model *m, const uint8_t *state,
                                 float features[LUD_GRID_INTERACTIVE]);
/* Six numbers a cell, cells[width][height][6] with x first: type, colour and four that depend on the type.
 * Agent `observer` is marked in its cell (-1: none). */
void lud_grid_encode_cells(const lud_grid_model *m, const uint8_t *state, int observer, uint8_t *cells);
