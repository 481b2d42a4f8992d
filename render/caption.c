#include "render/caption.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"

static const float gap = 6;

int lud_caption_height(const lud_canvas *canvas) {
    const float lines =
        lud_canvas_line_height(canvas, LUD_TEXT_LARGE) + lud_canvas_line_height(canvas, LUD_TEXT_SMALL);
    return ((int)ceilf(lines + 2 * gap * lud_canvas_scale(canvas)) + 1) & ~1;
}

/* One number where everybody has the same, else the mean over agents; nothing while nobody was paid. */
static void add_returns(lud_text *out, int n_agents, const lud_player *player) {
    double sum = 0, first = 0;
    bool same = true, paid = false;
    for (int i = 0; i < n_agents; i++) {
        const double all = lud_player_return(player, i);
        if (i == 0) first = all;
        sum += all;
        same = same && all == first;
        paid = paid || all != 0;
    }
    if (paid) lud_text_append(out, "  ·  %s %.2f", same ? "return" : "mean return", sum / n_agents);
}

/* What the episode's measures say of its end. */
static void add_outcome(lud_text *out, const lud_model *model, const uint8_t *state) {
    const lud_layout *layout = &model->layout;
    double *values = model->world->measure ? calloc((size_t)layout->n_measures + 1, sizeof *values) : NULL;
    if (!values) return;
    model->world->measure(model, 1, state, values);
    for (int i = 0; i < layout->n_measures; i++)
        if (layout->measures[i].caption && !layout->measures[i].absent && values[i] == 1)
            lud_text_append(out, "  ·  %s", layout->measures[i].caption);
    free(values);
}

void lud_caption_progress(lud_text *out, const lud_model *model, const lud_player *player) {
    lud_text_append(out, "step %zu", lud_player_position(player));
    add_returns(out, model->layout.n_agents, player);
    if (lud_player_over(player)) add_outcome(out, model, lud_player_state(player));
}

void lud_caption_draw(const lud_caption *caption, lud_canvas *canvas, const lud_theme *theme, lud_box box,
                      const lud_sides *sides) {
    const float margin =
        roundf(fmaxf(8 * lud_canvas_scale(canvas), box.w * (sides->n > 1 ? 0.0125f : 0.025f)));
    const lud_side *first = &sides->side[0];
    float y = box.y + gap * lud_canvas_scale(canvas);
    lud_canvas_rect(canvas, box, theme->panel);
    lud_canvas_text_cut(canvas, box.x + margin, y, box.w - 2 * margin, LUD_TEXT_LARGE, theme->text,
                        caption->title);
    y += lud_canvas_line_height(canvas, LUD_TEXT_LARGE);
    lud_text line = {0};
    if (caption->who && sides->n == 1) lud_text_append(&line, "%s  ·  ", caption->who);
    lud_text_append(&line, "episode %" PRIu32 "  ·  ", lud_player_episode(first->player) + 1);
    if (sides->n == 1)
        lud_caption_progress(&line, first->drawing->model, first->player);
    else
        lud_text_append(&line, "step %zu", lud_sides_position(sides));
    if (!line.failed)
        lud_canvas_text_cut(canvas, box.x + margin, y, box.w - 2 * margin, LUD_TEXT_SMALL, theme->muted,
                            line.bytes);
    lud_canvas_text_done(canvas, &line);
}
