/* A world that a program registered: what its model (world.c) and its drawing (drawing.c) share. */
#pragma once

#include "library/handles.h"
#include "render/draw.h"

enum { MOST_AGENTS = 64, MOST_ROWS = 32, DEFAULT_TEXT = 32 };

typedef struct values {
    int64_t max_steps;
    double options[MOST_ROWS];
} values;

typedef struct registered {
    lud_world world; /* first: a model's world is one of these */
    lud_draw_world drawing;
    ludus_world given;
    lud_option rows[MOST_ROWS + 1];
    char defaults[MOST_ROWS][DEFAULT_TEXT];
    lud_option_table table;
    const lud_option_table *tables[2];
    lud_action_space actions[MOST_AGENTS];
    lud_role roles[MOST_AGENTS];
    lud_measure measure;
} registered;

typedef struct model {
    lud_model base;
    values values;
} model;

static inline const registered *world_of(const lud_model *m) {
    return (const registered *)(const void *)m->world;
}

static inline const double *options_of(const lud_model *m) {
    return ((const model *)(const void *)m)->values.options;
}

/* Lets Ludus draw it, in builds that draw. */
lud_status ludus_register_drawing(registered *world, lud_error *error);
