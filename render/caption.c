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
    return ((int)ceilf(lines + 2 * gap) + 1) & ~1;
}

/* One number where everybody has the same, else the mean over agents; nothing while nobody was paid. */
static void add_returns(lud_text *out, int n_agents, const double *returns) {
    double sum = 0;
    bool same = true, paid = false;
    for (int i = 0; i < n_agents; i++) {
        sum += returns[i];
        same = same && returns[i] == returns[0];
        paid = paid || returns[i] != 0;
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

void lud_caption_draw(const lud_caption *caption, lud_canvas *canvas, const lud_theme *theme, lud_box box,
                      const lud_model *model, const lud_player *player, const double *returns) {
    const float margin = roundf(fmaxf(8, box.w * 0.025f));
    float y = box.y + gap;
    lud_canvas_rect(canvas, box, theme->panel);
    lud_canvas_text_cut(canvas, box.x + margin, y, box.w - 2 * margin, LUD_TEXT_LARGE, theme->text,
                        caption->title);
    y += lud_canvas_line_height(canvas, LUD_TEXT_LARGE);
    lud_text line = {0};
    if (caption->who) lud_text_append(&line, "%s  ·  ", caption->who);
    lud_text_append(&line, "episode %" PRIu32 "  ·  step %zu", lud_player_episode(player) + 1,
                    lud_player_position(player));
    add_returns(&line, model->layout.n_agents, returns);
    if (lud_player_over(player)) add_outcome(&line, model, lud_player_state(player));
    if (!line.failed)
        lud_canvas_text_cut(canvas, box.x + margin, y, box.w - 2 * margin, LUD_TEXT_SMALL, theme->muted,
                            line.bytes);
    lud_text_free(&line);
}
