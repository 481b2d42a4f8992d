#include "sim/view.h"

#include "base/options/option_rows.h"

enum { LEAST_SIDE = 16, MOST_SIDE = 4096 };

static const char *const themes[] = {"light", "dark", NULL};
static const char *const panel_places[] = {
    [LUD_VIEW_USUALLY] = "window", [LUD_VIEW_ALWAYS] = "always", [LUD_VIEW_NEVER] = "never", NULL};
static const char *const caption_places[] = {
    [LUD_VIEW_USUALLY] = "recordings", [LUD_VIEW_ALWAYS] = "always", [LUD_VIEW_NEVER] = "never", NULL};

#define OPTIONS lud_view_panels
TABLE(panels_table, "panels", "what stands beside and below the world",
      CHOICE(show, "window", panel_places,
             "where: in the window, with recordings of the world alone; always: recordings have the window's "
             "picture; never: nor has the window, until P"),
      REAL(width, "0", 0, 0.8, "of the right column, a share of the picture; 0: a third, within bounds"),
      BOOL(timeline, "true", "the time line with its buttons, below"),
      BOOL(inspector, "true", "what is selected, the agents, what they got"),
      BOOL(overlay, "true", "what a RUN publishes: bars and curves"),
      BOOL(comparison, "true", "returns beside each other, where sides are compared"),
      BOOL(training, "true", "progress and curves of a training that is followed"),
      REAL(overlay_height, "0", 0, 1, "of that panel, a share of the column; 0: what it needs"),
      REAL(comparison_height, "0", 0, 1, "of that panel, a share of the column; 0: what it needs"),
      REAL(training_height, "0", 0, 1, "of that panel, a share of the column; 0: what it needs"),
      BOOL(inspector_folded, "false", "of that panel, the title alone, until a click on it"),
      BOOL(overlay_folded, "false", "of that panel, the title alone, until a click on it"),
      BOOL(comparison_folded, "false", "of that panel, the title alone, until a click on it"),
      BOOL(training_folded, "false", "of that panel, the title alone, until a click on it"));

#undef OPTIONS
#define OPTIONS lud_view_camera
TABLE(camera_table, "camera", "what of the world is seen",
      REAL(zoom, "1", 0.01, 1000, "1: the whole world fits; 2: twice as large"),
      REALS(centre, "[]", -1e6, 1e6, "x and y in the world's units; []: the middle of the world"),
      BOOL(follow, "false", "the selected agent stays in the middle"));

#undef OPTIONS
#define OPTIONS lud_view_overlay
TABLE(overlay_table, "overlay", "of a RUN, what its solution or learner publishes",
      BOOL(values, "true", "the map of goals' values"), BOOL(arrows, "true", "what agents are likely to do"),
      BOOL(bars, "true", "quantities and choices of the present state"),
      BOOL(trace, "true", "the same over the episode, as curves"),
      BOOL(edges, "true", "whom agents attend to"));

#undef OPTIONS
#define OPTIONS lud_view_caption
TABLE(caption_table, "caption", "below the picture: what is shown, who acts, the step, returns",
      CHOICE(show, "recordings", caption_places,
             "where: below recordings, always (the window too), or never"),
      TEXT(text, NULL, "what it says first; else what the scenario is about"));

#undef OPTIONS
#define OPTIONS lud_view_section
static const lud_option view_options[] = {
    CHOICE(theme, "light", themes, "colours"),
    REAL(speed, "4", 0.25, 256, "steps a second while playing"),
    BOOL(motion, "true", "things move from state to state, water waves; false: states jump"),
    BOOL(goals, "true", "what agents want is marked"),
    BOOL(labels, "false", "agents have their numbers beside them"),
    BOOL(successors, "false", "every state that may come next is listed, with its probability"),
    INTS(size, "[]", LEAST_SIDE, MOST_SIDE,
         "[width, height] of the window and of pictures, even numbers; []: as usual", "pixels"),
    REAL(scale, "0", 0, 4,
         "size of texts and panels, from 0.5; 0: as the display's density is, in recordings 1"),
    INT(agent, "-1", -1, 1e6, "the number of the agent that is selected; -1: none"),
    INTS(cell, "[]", -1e6, 1e6, "[x, y] of the cell that is selected where no agent is; []: none"),
    SECTION(panels, panels_table, "what stands beside and below the world"),
    SECTION(camera, camera_table, "what of the world is seen"),
    SECTION(overlay, overlay_table, "of a RUN, what its solution or learner publishes"),
    SECTION(caption, caption_table, "below the picture"),
};
const lud_option_table lud_view_section_table = OPTION_TABLE(
    "view", "how it is shown at first; --view FILE comes before, and flags before both", view_options);

/* Says of a key of the section, or of one within it, what was expected. */
static lud_status refuse(const lud_tree *section, const char *within, const char *key, const char *expected,
                         lud_error *error) {
    if (section && within) section = lud_tree_find(section, within);
    const lud_tree *node = section ? lud_tree_find(section, key) : NULL;
    if (node) return lud_tree_expected(node, error, "%s", expected);
    return lud_invalid(error, "view.%s%s%s: expected %s", within ? within : "", within ? "." : "", key,
                       expected);
}

lud_status lud_view_section_read(lud_arena *arena, lud_tree *section, lud_view_section *view,
                                 lud_error *error) {
    LUD_TRY(lud_options_read(&lud_view_section_table, arena, section, view, error));
    if (view->size.n != 0 && view->size.n != 2)
        return refuse(section, NULL, "size", "[width, height]", error);
    for (size_t k = 0; k < view->size.n; k++)
        if (view->size.items[k] % 2)
            return refuse(section, NULL, "size", "even numbers, as videos have them", error);
    if (view->cell.n != 0 && view->cell.n != 2) return refuse(section, NULL, "cell", "[x, y]", error);
    if (view->scale > 0 && view->scale < 0.5)
        return refuse(section, NULL, "scale", "0, or a number from 0.5 to 4", error);
    if (view->camera.centre.n != 0 && view->camera.centre.n != 2)
        return refuse(section, "camera", "centre", "[x, y]", error);
    if (view->camera.follow && view->agent < 0)
        return refuse(section, "camera", "follow", "an agent that is selected (view.agent)", error);
    return LUD_OK;
}

lud_status lud_view_section_check_agent(const lud_view_section *view, const lud_tree *section, int n_agents,
                                        lud_error *error) {
    if (view->agent < n_agents) return LUD_OK;
    char expected[64];
    snprintf(expected, sizeof expected, "an agent's number below %d, or -1", n_agents);
    return refuse(section, NULL, "agent", expected, error);
}

lud_status lud_view_section_write(lud_arena *arena, const lud_view_section *view, char **text, size_t *length,
                                  lud_error *error) {
    lud_tree *root = lud_tree_add_mapping(arena, NULL, NULL);
    if (!root) return lud_out_of_memory(error);
    LUD_TRY(lud_options_write(&lud_view_section_table, arena, view, root, error));
    return lud_tree_write(arena, root, text, length, error);
}

lud_status lud_view_panels_write(lud_arena *arena, const lud_view_panels *panels, char **text, size_t *length,
                                 lud_error *error) {
    lud_tree *root = lud_tree_add_mapping(arena, NULL, NULL);
    lud_tree *section = root ? lud_tree_add_mapping(arena, root, "panels") : NULL;
    if (!section) return lud_out_of_memory(error);
    LUD_TRY(lud_options_write(&panels_table, arena, panels, section, error));
    return lud_tree_write(arena, root, text, length, error);
}

bool lud_view_section_is_whole(const lud_view_section *view) {
    return view->panels.show != LUD_VIEW_USUALLY;
}
