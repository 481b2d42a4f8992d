/* The five networks of the neural EMPO learner, declared into one graph.
 *
 *   V_h^e(s, h, g)  effective value of goal g to human h          [0, 1]
 *   X_h(s, h)       aggregate goal achievement ability            [floor, 1]
 *   U_r(s)          intrinsic reward, -y^eta, y = 1 + exp(raw)    below -1
 *   Q_r(s, .)       value of each joint robot action              below 0
 *   V_r(s)          value of the state                            below 0
 *
 * Rows: states on axis 0, entries (a human and a goal in a state) on an axis of their own, which gathers the
 * features of its state; where an agent stands is encoded once per cell and gathered. Parameters are named
 * `network.module.layer`; the shared encoders stand under `v_h_e` and learn from V_h^e only. */
#pragma once

#include "learn/empo/memory/features.h"
#include "learn/empo/networks/paths.h"
#include "learn/empo/stages.h"
#include "learn/nn/nn.h"

/* Widths of the compact features that stand beside the grid. */
enum { LUD_EMPO_GLOBAL = 4, LUD_EMPO_AGENT = 13, LUD_EMPO_INTERACTIVE = 96, LUD_EMPO_GOAL = 4 };

typedef enum lud_empo_head {
    LUD_EMPO_V_H_E = 1,
    LUD_EMPO_X_H = 2,
    LUD_EMPO_U_R = 4,
    LUD_EMPO_Q_R = 8,
    LUD_EMPO_V_R = 16,
    LUD_EMPO_ALL_HEADS = 31
} lud_empo_head;

typedef struct lud_empo_shape {
    int64_t height, width; /* of the grid */
    int64_t n_agents;      /* of the world */
    int n_humans;          /* people among them */
    int64_t n_actions;     /* joint robot actions */
    int64_t hidden;        /* F: width of heads and state features */
    int64_t goal_features, agent_embedding, position_features, agent_features;
    int64_t max_agents;            /* entries of the agent embedding */
    lud_grid_form form;            /* how grid words become channels */
    double dropout[LUD_EMPO_NETS]; /* of the hidden layers of each head */
    double eta, xi;
    double x_h_floor;   /* lower end of X_h's range */
    bool z_space;       /* Q_r and V_r emit z, see output maps */
    bool log_space;     /* they emit ln(-value), see output maps */
    lud_empo_walk walk; /* what paths follow from, where V_h^e and V_r read them and are what is to be added
                         * to the estimates that these give; V_r only in log space */
    bool dueling;       /* Q_r has a stream for the state and one for the joint robot actions */
} lud_empo_shape;

/* Defaults of the learner (hidden 256, dropout 0.5, eta 1.1, xi 1); grid, agents, actions: the caller's. */
lud_empo_shape lud_empo_shape_defaults(void);
/* The same with the grid and the agents of a world. */
lud_empo_shape lud_empo_shape_of(const lud_empo_features *features);

/* Values of the declared graph; -1 where a head was left out. */
/* What the names of a network's parameters begin with. */
extern const char *const lud_empo_net_prefixes[LUD_EMPO_NETS];

typedef struct lud_empo_graph {
    int entries, cells;                    /* axes */
    int grid, global, agents, interactive; /* inputs on axis 0: I32 words[height * width], reals */
    int entry_state;                       /* on entries: row of the state (I32) */
    int entry_agent, entry_cell;  /* on entries: agent number, its cell y * width + x, height * width when
                                     it is nowhere (I32) */
    int entry_features;           /* on entries: the agent's 13 features */
    int entry_goal;               /* on entries: (x1, y1, x2, y2), for V_h^e */
    int state_paths, helped;      /* with paths, on axis 0: numbers, ln(-V_r) for each remaining step */
    int entry_paths, entry_alone; /* on entries: numbers, estimate of V_h^e */
    int cell_maps;                /* on cells: filled by lud_empo_prepare */
    int v_h_e, x_h;               /* on entries: [1] */
    int y, u_r, q_r, v_r;         /* on axis 0: [1], [1], [n_actions], [1] */
    int q_r_z, v_r_z;             /* z-space outputs, or ln(1 - value) in log space; -1 without either */
} lud_empo_graph;

/* Heads that can run apart, as two networks at the same time: those on people (V_h^e, X_h) and those on
 * robots (U_r, Q_r, V_r). Both encode states by the shared encoder, whose work is then done twice; results
 * are the same bits. True when both have some of `heads` and the device has threads for both. */
bool lud_empo_heads_apart(const lud_device *device, unsigned heads, unsigned parts[2]);
/* Declares the encoders and the chosen heads, and marks their values as outputs. Heads beyond V_h^e read the
 * shared encoders, so those are declared in any case. The net is created with the most states. */
lud_empo_graph lud_empo_declare(lud_nn *net, const lud_empo_shape *shape, unsigned heads,
                                int64_t max_entries);
/* Registers every parameter of all five networks (in a net that is never run), so that sets are alike
 * whatever heads a net uses. Call it before the parameters are built. False when memory is out. */
bool lud_empo_register(lud_parameters *parameters, const lud_empo_shape *shape);
/* After planning: fills the cells' maps and sets the number of cells. False when memory is out. */
bool lud_empo_prepare(lud_nn *net, const lud_empo_graph *graph, const lud_empo_shape *shape);

/* Parts, for other networks on the same inputs (learn/empo/phase1/networks.h). Parameters stand under
 * `module`. */
lud_empo_graph lud_empo_declare_inputs(lud_nn *net, const lud_empo_shape *shape, int64_t max_entries);
/* Of the state, on axis 0 [hidden]; of the goal, on entries [goal_features]; of the person, on entries. */
int lud_empo_state_encoder(lud_nn *net, const lud_empo_graph *graph, const lud_empo_shape *shape,
                           const char *module);
int lud_empo_goal_encoder(lud_nn *net, const lud_empo_graph *graph, const lud_empo_shape *shape,
                          const char *module);
int lud_empo_agent_encoder(lud_nn *net, const lud_empo_graph *graph, const lud_empo_shape *shape,
                           const char *module);
/* Two hidden layers with dropout (draws from `stream` and the one after it), then `width` raw numbers. */
int lud_empo_value_head(lud_nn *net, int x, const lud_empo_shape *shape, const char *module, int64_t width,
                        double dropout, uint32_t stream);
/* x softly clamped to [low, high] in training, hard otherwise; marked as an output. */
int lud_empo_clamped(lud_nn *net, int x, double low, double high);
