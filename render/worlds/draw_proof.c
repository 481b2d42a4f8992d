/* The proof world on the screen. The plane is a sheet of WIDTH x HEIGHT units, a unit being a row: on the
 * left the proof tree, a goal a row, indented below the goal it serves; on the right the goals that are left,
 * first one on top, and below them, where an overlay knows a policy, the choices of the state with their
 * probabilities; at the foot the rule or fact that the last step used. */
#include "render/worlds/draw_proof.h"

#include <math.h>
#include <stdlib.h>

#include "render/overlay.h"
#include "sim/proof/proof_tree.h"

enum { WIDTH = 26, HEIGHT = 17, TREE_WIDTH = 17, FIRST_ROW = 2, TREE_ROWS = 13, GOAL_ROWS = 12 };
/* beside choices, which are long, the tree is narrower and fewer goals have room */
enum { NARROW_TREE_WIDTH = 13, FEW_GOAL_ROWS = 4 };

typedef struct proof_drawing {
    lud_drawing drawing;
    lud_proof_tree tree;
    int32_t *order;                      /* nodes in the order of rows */
    int32_t *level;                      /* depth of each node */
    int32_t capacity, n_rows, first_row; /* rows above first_row are scrolled away */
    float tree_width;                    /* of the last picture */
} proof_drawing;

typedef struct painter {
    proof_drawing *d;
    const lud_proof_model *model;
    const lud_proof_state *now;
    lud_canvas *canvas;
    const lud_theme *theme;
    const lud_camera *camera;
    const lud_moment *moment;
} painter;

static const lud_proof_model *model_of(const lud_drawing *drawing) {
    return (const lud_proof_model *)(const void *)drawing->model;
}
static const lud_proof_state *head(const uint8_t *state) {
    return (const lud_proof_state *)(const void *)state;
}

static void destroy(lud_drawing *drawing) {
    proof_drawing *d = (proof_drawing *)(void *)drawing;
    lud_proof_tree_free(&d->tree);
    LUD_FREE(d->order, d->level, d);
}

static lud_status create(const lud_model *model, lud_drawing **drawing, lud_error *error) {
    proof_drawing *d = calloc(1, sizeof *d);
    if (!d) return lud_no_memory(error, "a drawing");
    d->drawing = (lud_drawing){&lud_draw_proof, model};
    d->tree_width = TREE_WIDTH;
    *drawing = &d->drawing;
    return LUD_OK;
}

static lud_box extent(const lud_drawing *drawing) {
    (void)drawing;
    return (lud_box){0, 0, WIDTH, HEIGHT};
}

/* ---- The tree's rows ---- */

static void number_rows(proof_drawing *d, int32_t node, int32_t level) {
    d->order[d->n_rows++] = node;
    d->level[node] = level;
    for (int32_t k = 0; k < d->tree.nodes[node].n_children; k++)
        number_rows(d, d->tree.nodes[node].first_child + k, level + 1);
}

/* Builds the tree of a state; without memory there is none to be drawn. */
static void lay_out(proof_drawing *d, const uint8_t *state) {
    d->n_rows = d->first_row = 0;
    if (!head(state)->query.predicate || lud_proof_tree_of(model_of(&d->drawing), state, &d->tree, NULL))
        return;
    if (d->tree.n > d->capacity) {
        int32_t *order = realloc(d->order, (size_t)d->tree.n * sizeof *order);
        if (order) d->order = order;
        int32_t *level = realloc(d->level, (size_t)d->tree.n * sizeof *level);
        if (level) d->level = level;
        if (!order || !level) return;
        d->capacity = d->tree.n;
    }
    number_rows(d, 0, 0);
    /* keep the goal that comes next in sight, with what follows below it */
    int32_t next = 0;
    while (next < d->n_rows && d->tree.nodes[d->order[next]].kind != LUD_PROOF_NODE_OPEN) next++;
    if (next == d->n_rows) next = 0;
    if (d->n_rows > TREE_ROWS && next > TREE_ROWS / 2) {
        d->first_row = next - TREE_ROWS / 2;
        if (d->first_row > d->n_rows - TREE_ROWS) d->first_row = d->n_rows - TREE_ROWS;
    }
}

/* ---- Painting ---- */

static lud_box on_screen(const painter *p, float x, float y, float w, float h) {
    float x0, y0, x1, y1;
    lud_camera_to_screen(p->camera, x, y, &x0, &y0);
    lud_camera_to_screen(p->camera, x + w, y + h, &x1, &y1);
    return (lud_box){roundf(x0), roundf(y0), roundf(x1) - roundf(x0), roundf(y1) - roundf(y0)};
}

/* Large text where a row has room for it, small text down to a readable size, none below. */
static bool text_size(const painter *p, lud_text_size *size) {
    *size = p->camera->scale >= 1.35f * lud_canvas_line_height(p->canvas, LUD_TEXT_LARGE) ? LUD_TEXT_LARGE
                                                                                          : LUD_TEXT_SMALL;
    return p->camera->scale >= 0.8f * lud_canvas_line_height(p->canvas, LUD_TEXT_SMALL);
}

/* Text in the middle of a row's height; returns how far it reached in pixels. */
static float write(const painter *p, lud_box box, float inset, lud_rgba colour, const char *text) {
    lud_text_size size;
    if (!text || !text_size(p, &size)) return 0;
    float y = box.y + (box.h - lud_canvas_line_height(p->canvas, size)) / 2;
    return lud_canvas_text_cut(p->canvas, box.x + inset, roundf(y), box.w - 2 * inset, size, colour, text);
}

static float text_width(const painter *p, const char *text) {
    lud_text_size size;
    return text && text_size(p, &size) ? lud_canvas_text_width(p->canvas, size, text) : 4 * p->camera->scale;
}

/* A goal as a pill: its ground says what it is, a frame says that it is the next. */
static lud_box draw_pill(const painter *p, float x, float y, float max_width, const char *text, lud_rgba mark,
                         bool next, float glow) {
    float inset = 0.75f * p->camera->scale;
    float width =
        fminf(max_width, (text_width(p, text) + inset + 0.35f * p->camera->scale) / p->camera->scale);
    lud_box box = on_screen(p, x, y + 0.1f, width, 0.8f);
    float radius = 0.3f * box.h;
    lud_canvas_round_rect(p->canvas, box, radius, lud_mixed(p->theme->floor, mark, 0.12f + 0.3f * glow));
    if (next) lud_canvas_frame(p->canvas, box, radius, fmaxf(2, 0.07f * p->camera->scale), p->theme->accent);
    lud_canvas_disc(p->canvas, box.x + 0.4f * p->camera->scale, box.y + box.h / 2, 0.16f * p->camera->scale,
                    mark);
    lud_box inner = {box.x + inset, box.y, box.w - inset, box.h};
    write(p, inner, 0, p->theme->text, text);
    return box;
}

static void draw_tree(const painter *p, int32_t n_before) {
    proof_drawing *d = p->d;
    const lud_proof_base *base = p->model->base;
    lud_text text = {0};
    bool next_met = p->now->outcome != LUD_PROOF_RUNNING;
    for (int32_t row = 0; row < d->n_rows; row++) {
        int32_t i = d->order[row];
        const lud_proof_node *node = &d->tree.nodes[i];
        bool open = node->kind == LUD_PROOF_NODE_OPEN, next = open && !next_met;
        next_met = next_met || next;
        int32_t line = row - d->first_row;
        if (line < 0 || line >= TREE_ROWS) continue;
        float x = 0.5f + 0.9f * fminf((float)d->level[i], 10), y = (float)(FIRST_ROW + line);
        if (node->parent >= 0 && d->level[i] <= 10) { /* an elbow from the parent's row */
            int32_t above = row - 1;
            while (d->order[above] != node->parent) above--;
            float top = fmaxf((float)(above - d->first_row) + 0.95f, 0) + FIRST_ROW;
            lud_box down = on_screen(p, x - 0.5f, top, 0, y + 0.5f - top),
                    across = on_screen(p, x - 0.5f, y + 0.5f, 0.5f, 0);
            float width = fmaxf(1, 0.05f * p->camera->scale);
            down.w = across.h = width;
            lud_canvas_rect(p->canvas, down, p->theme->muted);
            lud_canvas_rect(p->canvas, across, p->theme->muted);
        }
        lud_text_clear(&text);
        lud_proof_print_atom(base, NULL, &node->atom, &text);
        lud_rgba mark = open                                ? p->theme->caution
                        : node->kind == LUD_PROOF_NODE_FACT ? p->theme->good
                                                            : p->theme->colours[2];
        bool fresh = i >= n_before;
        lud_box pill =
            draw_pill(p, x, y, d->tree_width - x, text.bytes, mark, next, fresh ? p->moment->glow : 0);
        if (node->kind == LUD_PROOF_NODE_RULE) {
            float limit = on_screen(p, 0, 0, d->tree_width, 1).x + on_screen(p, 0, 0, d->tree_width, 1).w;
            lud_box rest = {pill.x + pill.w, pill.y, limit - pill.x - pill.w, pill.h};
            if (rest.w > p->camera->scale)
                write(p, rest, 0.3f * p->camera->scale, p->theme->muted, base->rules[node->index].name);
        }
    }
    if (d->n_rows - d->first_row > TREE_ROWS) {
        lud_text_clear(&text);
        lud_text_append(&text, "%d more", d->n_rows - d->first_row - TREE_ROWS);
        write(p, on_screen(p, 0.5f, FIRST_ROW + TREE_ROWS, 6, 0.8f), 0, p->theme->muted, text.bytes);
    }
    lud_canvas_text_done(p->canvas, &text);
}

/* A row of the right column. */
static lud_box right_row(const painter *p, float y) {
    return on_screen(p, p->d->tree_width + 0.5f, y, WIDTH - p->d->tree_width - 1, 1);
}

/* Returns the first free row. */
static int32_t draw_goals(const painter *p, int32_t most) {
    const lud_proof_atom *goals = lud_proof_goals_const(p->moment->state);
    lud_text text = {0};
    write(p, right_row(p, FIRST_ROW - 1), 0, p->theme->muted, "goals left");
    int32_t n = p->now->n_goals, g = 0;
    bool running = p->now->outcome == LUD_PROOF_RUNNING;
    for (; running && g < n && g < most; g++) {
        lud_text_clear(&text);
        lud_proof_print_atom(p->model->base, NULL, &goals[g], &text);
        draw_pill(p, p->d->tree_width + 0.5f, (float)(FIRST_ROW + g), WIDTH - p->d->tree_width - 1,
                  text.bytes, p->theme->caution, g == 0, 0);
    }
    if (!running)
        write(p, right_row(p, FIRST_ROW), 0, p->theme->text,
              p->now->outcome == LUD_PROOF_PROVED ? "none: proved" : "the search has ended");
    lud_canvas_text_done(p->canvas, &text);
    return FIRST_ROW + g;
}

/* A choice of the state: its goals on a bar as long as it is likely. */
static void draw_choice(const painter *p, float y, const char *goals, double probability) {
    lud_box box = right_row(p, y);
    float inset = 0.3f * p->camera->scale, radius = 0.3f * 0.8f * p->camera->scale;
    box.y += roundf(0.1f * box.h);
    box.h = roundf(0.8f * box.h);
    lud_canvas_round_rect(p->canvas, box, radius, lud_mixed(p->theme->floor, p->theme->grid_line, 0.6f));
    lud_box bar = box;
    bar.w = roundf((float)fmin(probability, 1) * box.w);
    if (bar.w >= 1)
        lud_canvas_round_rect(p->canvas, bar, fminf(radius, bar.w / 2),
                              lud_mixed(p->theme->floor, p->theme->accent, 0.4f));
    char percent[16];
    snprintf(percent, sizeof percent, "%.1f%%", 100 * probability);
    lud_box right = box;
    right.w = text_width(p, "100.0%");
    right.x = box.x + box.w - inset - right.w;
    lud_box number = right;
    number.x += right.w - text_width(p, percent);
    write(p, number, 0, p->theme->text, percent);
    box.w = right.x - box.x;
    write(p, box, inset, p->theme->text, goals);
}

/* The choices, the likeliest first, from a row down. */
static void draw_choices(const painter *p, const double *probabilities, float row) {
    const lud_model *model = &p->model->model;
    const float last_row = HEIGHT - 2.5f;
    lud_text text = {0};
    int32_t n = 0;
    while (n < model->layout.actions[0].n_discrete &&
           model->world->describe_action(model, p->moment->state, 0, n, &text))
        n++;
    write(p, right_row(p, row), 0, p->theme->muted, "choices");
    double before = INFINITY;
    int32_t at = -1, shown = 0;
    for (row++; shown < n && row + (float)(shown + 1 < n) <= last_row; shown++, row++) {
        int32_t best = -1; /* the next after (before, at) */
        for (int32_t k = 0; k < n; k++) {
            bool later = probabilities[k] < before || (probabilities[k] == before && k > at);
            if (later && (best < 0 || probabilities[k] > probabilities[best])) best = k;
        }
        if (best < 0) break;
        before = probabilities[at = best];
        lud_text_clear(&text);
        model->world->describe_action(model, p->moment->state, 0, at, &text);
        draw_choice(p, row, text.bytes, before);
    }
    if (shown < n) {
        lud_text_clear(&text);
        lud_text_append(&text, "%d more", n - shown);
        write(p, right_row(p, row), 0, p->theme->muted, text.bytes);
    }
    lud_canvas_text_done(p->canvas, &text);
}

/* What the last entry of a path used, in words. */
static void describe_step(const lud_proof_model *m, const uint8_t *state, lud_text *out) {
    const lud_proof_state *s = head(state);
    static const char *const ends[] = {"start", "proved", "no goal could be resolved", "gave up",
                                       "cut at the depth limit"};
    int32_t entry = s->n_path > 0 ? lud_proof_path(m, state)[s->n_path - 1] : 0;
    if (entry > 0) {
        lud_text_append(out, "%s: ", m->base->rules[entry - 1].name);
        lud_proof_print_rule(m->base, &m->base->rules[entry - 1], out);
    } else if (entry < 0) {
        lud_text_append(out, "fact: ");
        lud_proof_print_atom(m->base, NULL, &m->base->facts[-1 - entry], out);
    } else {
        lud_text_append(out, "%s", ends[s->outcome]);
    }
}

/* Letters that were made larger than a row go back towards their own size as far as it has room for them;
 * returns what they were. */
static float fit_letters(lud_canvas *canvas, const lud_camera *camera) {
    const float scale = lud_canvas_scale(canvas), row = 0.9f * lud_canvas_line_height(canvas, LUD_TEXT_SMALL);
    lud_canvas_magnify(canvas, 1);
    const float factor = scale / lud_canvas_scale(canvas);
    lud_canvas_magnify(canvas, fminf(factor, fmaxf(1, factor * camera->scale / row)));
    return factor;
}

static void draw_all(lud_drawing *drawing, lud_canvas *canvas, const lud_theme *theme,
                     const lud_camera *camera, const lud_moment *moment) {
    proof_drawing *d = (proof_drawing *)(void *)drawing;
    painter p = {d, model_of(drawing), head(moment->state), canvas, theme, camera, moment};
    const lud_proof_state *s = p.now;
    const double *choices =
        moment->overlay ? lud_overlay_policy(moment->overlay, moment->state, moment->hidden, 0, -1) : NULL;
    d->tree_width = choices ? NARROW_TREE_WIDTH : TREE_WIDTH;
    lud_canvas_rect(canvas, camera->viewport, theme->ground);
    lud_canvas_round_rect(canvas, on_screen(&p, 0, 0, WIDTH, HEIGHT), 0.3f * camera->scale, theme->floor);
    lud_box divider = on_screen(&p, d->tree_width, 0.5f, 0, HEIGHT - 2);
    divider.w = 1;
    lud_canvas_rect(canvas, divider, theme->grid_line);

    /* nodes are added as the proof goes on, so the tree of the state before says which are new */
    int32_t n_before = 0;
    if (moment->before && head(moment->before)->query_index == s->query_index &&
        head(moment->before)->n_path < s->n_path) {
        lay_out(d, moment->before);
        n_before = d->n_rows;
    }
    lay_out(d, moment->state);
    if (n_before == 0) n_before = d->n_rows;

    lud_text text = {0};
    static const char *const words[] = {"searching", "proved", "no way on", "gave up", "cut at the limit"};
    lud_text_append(&text, "%s query, step %d of %d", s->label ? "true" : "corrupted", s->depth,
                    p.model->max_depth);
    float reach = write(&p, on_screen(&p, 0.5f, 0.4f, d->tree_width - 1, 1), 0, theme->muted, text.bytes);
    lud_rgba colour = s->outcome == LUD_PROOF_RUNNING  ? theme->accent
                      : s->outcome == LUD_PROOF_PROVED ? (s->label ? theme->good : theme->bad)
                                                       : (s->label ? theme->bad : theme->good);
    lud_box status = on_screen(&p, 0.5f, 0.4f, d->tree_width - 1, 1);
    status.x += reach + camera->scale;
    status.w -= reach + camera->scale;
    write(&p, status, 0, colour, words[s->outcome]);
    draw_tree(&p, n_before);
    int32_t free_row = draw_goals(&p, choices ? FEW_GOAL_ROWS : GOAL_ROWS);
    if (choices) draw_choices(&p, choices, (float)free_row + 0.3f);
    lud_text_clear(&text);
    describe_step(p.model, moment->state, &text);
    write(&p, on_screen(&p, 0.5f, HEIGHT - 1.2f, WIDTH - 1, 1), 0,
          lud_mixed(theme->text, theme->accent, moment->glow), text.bytes);
    lud_canvas_text_done(canvas, &text);
}

static void draw(lud_drawing *drawing, lud_canvas *canvas, const lud_theme *theme, const lud_camera *camera,
                 const lud_moment *moment) {
    const float factor = fit_letters(canvas, camera);
    draw_all(drawing, canvas, theme, camera, moment);
    lud_canvas_magnify(canvas, factor);
}

/* ---- Answers to the viewer ---- */

static void agent_position(lud_drawing *drawing, const lud_moment *moment, int agent, float *x, float *y) {
    (void)drawing, (void)moment, (void)agent;
    *x = WIDTH / 2.0f;
    *y = HEIGHT / 2.0f;
}

static int agent_at(lud_drawing *drawing, const uint8_t *state, float x, float y) {
    (void)state;
    /* the goals belong to the agent; the tree is looked at row by row */
    return x >= ((const proof_drawing *)(const void *)drawing)->tree_width && x < WIDTH && y >= 0 &&
                   y < HEIGHT
               ? 0
               : -1;
}

static void describe_agent(lud_drawing *drawing, const uint8_t *state, int agent, lud_text *out) {
    (void)agent;
    const lud_proof_model *m = model_of(drawing);
    const lud_proof_state *s = head(state);
    lud_text_append(out, "Prover\nquery\t");
    if (s->query.predicate) lud_proof_print_atom(m->base, NULL, &s->query, out);
    lud_text_append(out, "\nlabel\t%s\nstep\t%d of %d\n", s->label ? "true triple" : "corruption", s->depth,
                    m->max_depth);
    for (int32_t g = 0; g < s->n_goals; g++) {
        lud_text_append(out, "goal %d\t", g + 1);
        lud_proof_print_atom(m->base, NULL, &lud_proof_goals_const(state)[g], out);
        lud_text_append(out, "\n");
    }
}

static void describe_cell(lud_drawing *drawing, const uint8_t *state, int x, int y, lud_text *out) {
    (void)x;
    proof_drawing *d = (proof_drawing *)(void *)drawing;
    const lud_proof_base *base = model_of(drawing)->base;
    lay_out(d, state);
    int32_t row = y - FIRST_ROW + d->first_row;
    if (y < FIRST_ROW || y >= FIRST_ROW + TREE_ROWS || row >= d->n_rows) return;
    const lud_proof_node *node = &d->tree.nodes[d->order[row]];
    static const char *const kinds[] = {"open", "a fact", "by a rule"};
    lud_proof_print_atom(base, NULL, &node->atom, out);
    lud_text_append(out, "\nshown\t%s\n", kinds[node->kind]);
    if (node->kind == LUD_PROOF_NODE_RULE) {
        lud_text_append(out, "%s\t", base->rules[node->index].name);
        lud_proof_print_rule(base, &base->rules[node->index], out);
        lud_text_append(out, "\n");
    }
}

static void describe_change(lud_drawing *drawing, const uint8_t *before, const uint8_t *after,
                            lud_text *out) {
    if (head(before)->n_path == head(after)->n_path) return;
    describe_step(model_of(drawing), after, out);
    lud_text_append(out, "\n");
}

static int events(lud_drawing *drawing, const uint8_t *before, const uint8_t *after) {
    (void)drawing;
    int32_t outcome = head(after)->outcome;
    if (outcome == head(before)->outcome) return 0;
    return outcome == LUD_PROOF_PROVED    ? LUD_EVENT_GOAL
           : outcome == LUD_PROOF_RUNNING ? 0
                                          : LUD_EVENT_TERMINATED;
}

static void portrait(lud_drawing *drawing, lud_canvas *canvas, const uint8_t *state, int agent, float x,
                     float y, int size) {
    (void)drawing, (void)agent;
    const lud_theme *theme = lud_theme_get(LUD_THEME_LIGHT);
    float s = (float)size;
    lud_rgba colour = head(state)->outcome == LUD_PROOF_PROVED ? theme->good : theme->accent;
    /* a small tree: a goal and the two it rests on */
    lud_canvas_line(canvas, x + 0.5f * s, y + 0.25f * s, x + 0.25f * s, y + 0.75f * s, 0.06f * s, colour);
    lud_canvas_line(canvas, x + 0.5f * s, y + 0.25f * s, x + 0.75f * s, y + 0.75f * s, 0.06f * s, colour);
    lud_canvas_disc(canvas, x + 0.5f * s, y + 0.25f * s, 0.16f * s, colour);
    lud_canvas_disc(canvas, x + 0.25f * s, y + 0.75f * s, 0.16f * s, colour);
    lud_canvas_disc(canvas, x + 0.75f * s, y + 0.75f * s, 0.16f * s, colour);
}

const lud_draw_world lud_draw_proof = {
    .name = "proof",
    .choices = true,
    .create = create,
    .destroy = destroy,
    .extent = extent,
    .draw = draw,
    .agent_position = agent_position,
    .agent_at = agent_at,
    .describe_agent = describe_agent,
    .describe_cell = describe_cell,
    .describe_change = describe_change,
    .events = events,
    .portrait = portrait,
};
