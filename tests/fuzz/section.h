/* Any text as the section of a world: an error, or a model that can be played and that writes itself as text
 * that is read back as a model of the same size. */
#pragma once

#include <stdlib.h>

#include "play.h"
#include "sim/world.h"

static int fuzz_section(const lud_world *world, const uint8_t *data, size_t size) {
    lud_error error = {0};
    lud_tree *root;
    lud_model *model, *again;
    lud_arena *arena = lud_arena_create(0);
    if (!arena) return 0;
    if (lud_tree_read_text(arena, "fuzz", (const char *)data, size, &root, &error) ||
        root->kind != LUD_TREE_MAPPING || world->parse(world, root, "fuzz", 0, &model, &error)) {
        fuzz_answer_text(error.text);
    } else {
        fuzz_play(model);
        lud_tree *written = lud_arena_take(arena, sizeof *written);
        written->kind = LUD_TREE_MAPPING;
        char *text;
        size_t length;
        if (world->write(model, arena, written, &error) ||
            lud_tree_write(arena, written, &text, &length, &error))
            abort();
        fuzz_answer(text, length);
        if (world->parse(world, written, "fuzz", 0, &again, &error)) abort();
        if (again->layout.state_bytes != model->layout.state_bytes) abort();
        world->free(again);
        world->free(model);
    }
    lud_arena_destroy(arena);
    return 0;
}
