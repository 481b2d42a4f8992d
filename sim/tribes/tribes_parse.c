#include <stdio.h>
#include <string.h>

#include "sim/directions.h"
#include "sim/tribes/tribes_map.h"
#include "sim/tribes/tribes_options.h"
#include "sim/tribes/tribes_parts.h"

/* --- Teams --- */

static lud_status read_team(lud_arena *arena, lud_tree *node, const lud_tribes_spec *spec, int index,
                            lud_tribes_team *team, lud_error *error) {
    lud_tribes_team_options o;
    LUD_TRY(lud_options_read(&lud_tribes_team_option_table, arena, node, &o, error));
    if (o.values.n != LUD_RESOURCES)
        return lud_tree_expected(lud_tree_get(node, "values"), error,
                                 "three numbers, of grain, wood and ore");
    if (o.skills.n != LUD_RESOURCES)
        return lud_tree_expected(lud_tree_get(node, "skills"), error,
                                 "three probabilities, for grain, wood and ore");
    *team = (lud_tribes_team){.name = o.name ? o.name : lud_tribes_team_names[index],
                              .role = o.role,
                              .robots = o.robots,
                              .agents = o.agents};
    for (int k = 0; k < LUD_RESOURCES; k++) {
        team->value[k] = o.values.items[k];
        team->skill[k] = o.skills.items[k];
    }
    for (int t = 0; t < index; t++)
        if (!strcmp(spec->teams[t].name, team->name))
            return lud_invalid_at(error, node->place, "there are two teams of the name '%s'", team->name);
    if (!team->name[0] || strpbrk(team->name, " \t\n\r:,"))
        return lud_invalid_at(error, node->place, "expected the name of a team to be one word, found '%s'",
                              team->name);
    return LUD_OK;
}

static lud_status read_teams(lud_arena *arena, lud_tree *section, lud_tree *list, lud_tribes_spec *spec,
                             lud_error *error) {
    if (!list)
        return lud_invalid_at(error, section->place,
                              "expected the key 'teams', a list of 1 to %d teams such as - {agents: 4, "
                              "values: [1, 2, 3]}, found none",
                              (int)LUD_TRIBES_MAX_TEAMS);
    if (list->kind != LUD_TREE_SEQUENCE || list->n_children < 1 || list->n_children > LUD_TRIBES_MAX_TEAMS)
        return lud_tree_expected(list, error, "a list of 1 to %d teams", (int)LUD_TRIBES_MAX_TEAMS);
    spec->teams = lud_arena_take_array(arena, list->n_children, sizeof *spec->teams);
    if (!spec->teams) return lud_out_of_memory(error);
    lud_status status = LUD_OK;
    for (lud_tree *node = list->child; node && !status; node = node->next, spec->n_teams++)
        status = read_team(arena, node, spec, spec->n_teams, &spec->teams[spec->n_teams], error);
    return status;
}

/* Agents and storehouses that a drawn map has of each team, against what the list of teams says. */
static lud_status check_drawn(const lud_tree *map, lud_tribes_spec *spec, lud_error *error) {
    for (int t = 0; t < spec->n_teams; t++) {
        lud_tribes_team *team = &spec->teams[t];
        int64_t agents = 0, houses = 0;
        for (int c = 0; c < spec->width * spec->height; c++) {
            agents += spec->maps[0][c] == '1' + t;
            houses += spec->maps[0][c] == 'A' + t;
        }
        if (!houses)
            return lud_invalid_at(error, map->place,
                                  "expected a storehouse %c of the team %s in the map, found none", 'A' + t,
                                  team->name);
        if (team->agents > 0 ? team->agents != agents : agents == 0)
            return lud_invalid_at(
                error, map->place, "expected %lld agents %d of the team %s in the map, found %lld",
                (long long)(team->agents > 0 ? team->agents : 1), t + 1, team->name, (long long)agents);
        team->agents = agents;
    }
    return LUD_OK;
}

static lud_status read_generate(lud_arena *arena, lud_tree *node, uint64_t seed, lud_tribes_spec *spec,
                                lud_error *error) {
    lud_tribes_generate_options o;
    lud_status status = lud_options_read(&lud_tribes_generate_option_table, arena, node, &o, error);
    if (status) return status;
    if (o.size.n != 2) return lud_tree_expected(lud_tree_get(node, "size"), error, "width and height");
    spec->generate = o.generate;
    spec->generate.width = (int)o.size.items[0];
    spec->generate.height = (int)o.size.items[1];
    if (spec->generate.seed < 0) spec->generate.seed = (int64_t)seed;
    for (int t = 0; t < spec->n_teams; t++)
        if (spec->teams[t].agents < 1)
            return lud_invalid_at(error, node->place,
                                  "random maps need to know how many agents the team %s has (agents: 4)",
                                  spec->teams[t].name);
    spec->is_generated = true;
    status = lud_tribes_generate_maps(arena, spec, error);
    if (status && status != LUD_ERROR_MEMORY)
        lud_fail_context(error, "%s:%d:%d", node->place.file, node->place.line, node->place.column);
    return status;
}

/* --- Goals --- */

static lud_status read_numbers(lud_tree *list, int n, const int *most, int *numbers, const char *what,
                               lud_error *error) {
    if (list->kind != LUD_TREE_SEQUENCE || list->n_children != (size_t)n)
        return lud_tree_expected(list, error, "%s", what);
    lud_status status = LUD_OK;
    int i = 0;
    for (lud_tree *c = list->child; c && !status; c = c->next, i++) {
        int64_t value;
        status = lud_tree_int(c, 0, most[i] - 1, &value, error);
        if (!status) numbers[i] = (int)value;
    }
    return status;
}

static lud_status read_goal(lud_arena *arena, lud_tree *node, const lud_tribes_spec *spec,
                            lud_tribes_goal *goal, lud_error *error) {
    lud_tribes_goal_options o;
    lud_status status = lud_options_read(&lud_tribes_goal_option_table, arena, node, &o, error);
    if (status) return status;
    if ((o.stored > 0) + (o.cell != NULL) + (o.rectangle != NULL) != 1)
        return lud_tree_expected(node, error, "one of stored, cell and rectangle");
    *goal = (lud_tribes_goal){.stored = o.stored > 0, .units = o.stored, .weight = o.weight};
    const int most[4] = {spec->width, spec->height, spec->width, spec->height};
    int n[4] = {0};
    if (o.cell) {
        status = read_numbers(o.cell, 2, most, n, "[x, y]", error);
        goal->cell = true;
        n[2] = n[0];
        n[3] = n[1];
    }
    if (o.rectangle) status = read_numbers(o.rectangle, 4, most, n, "[x1, y1, x2, y2]", error);
    if (!status && (n[2] < n[0] || n[3] < n[1]))
        return lud_tree_expected(node, error, "a rectangle whose second corner is not before the first");
    goal->x1 = n[0];
    goal->y1 = n[1];
    goal->x2 = n[2];
    goal->y2 = n[3];
    return status;
}

static lud_status read_goals(lud_arena *arena, lud_tree *list, lud_tribes_spec *spec, lud_error *error) {
    if (!list || list->kind == LUD_TREE_NULL) return LUD_OK;
    if (list->kind != LUD_TREE_SEQUENCE)
        return lud_tree_expected(list, error, "a list of goals, such as - {stored: 3}");
    spec->goals = lud_arena_take_array(arena, list->n_children, sizeof *spec->goals);
    if (!spec->goals) return lud_out_of_memory(error);
    double sum = 0;
    lud_status status = LUD_OK;
    for (lud_tree *c = list->child; c && !status; c = c->next) {
        lud_tribes_goal *goal = &spec->goals[spec->n_goals++];
        status = read_goal(arena, c, spec, goal, error);
        sum += goal->weight;
    }
    if (status) return status;
    if (spec->n_goals && sum <= 0) return lud_tree_expected(list, error, "a goal with a weight above 0");
    const bool scaled = sum > 1 - 1e-12 && sum < 1 + 1e-12; /* as written by us: leave it to the bit */
    for (int g = 0; g < spec->n_goals && !scaled; g++) spec->goals[g].weight /= sum;
    return LUD_OK;
}

/* --- The model --- */

static bool copy_spec(lud_tribes_model *m, const lud_tribes_spec *spec) {
    const size_t n_teams = (size_t)spec->n_teams, n_goals = (size_t)spec->n_goals;
    m->spec = *spec;
    m->spec.teams = lud_arena_take_array(m->arena, n_teams, sizeof *m->spec.teams);
    m->spec.goals = lud_arena_take_array(m->arena, n_goals, sizeof *m->spec.goals);
    m->spec.maps = lud_arena_take_array(m->arena, (size_t)spec->n_maps, sizeof *m->spec.maps);
    if (!m->spec.teams || !m->spec.goals || !m->spec.maps) return false;
    for (size_t t = 0; t < n_teams; t++) {
        m->spec.teams[t] = spec->teams[t];
        m->spec.teams[t].name = lud_arena_text(m->arena, spec->teams[t].name, strlen(spec->teams[t].name));
        if (!m->spec.teams[t].name) return false;
    }
    if (n_goals) memcpy(m->spec.goals, spec->goals, n_goals * sizeof *spec->goals);
    for (int k = 0; k < spec->n_maps; k++) {
        m->spec.maps[k] = lud_arena_text(m->arena, spec->maps[k], (size_t)(spec->width * spec->height));
        if (!m->spec.maps[k]) return false;
    }
    return true;
}

static void count_things(lud_tribes_model *m) {
    static const char kinds[] = "gwo";
    for (int c = 0; c < m->n_cells; c++)
        for (int k = 0; k < LUD_RESOURCES; k++) m->field_begin[k + 1] += m->spec.maps[0][c] == kinds[k];
    for (int k = 0; k < LUD_RESOURCES; k++) m->field_begin[k + 1] += m->field_begin[k];
    m->n_fields = m->field_begin[LUD_RESOURCES];
    for (int t = 0; t < m->spec.n_teams; t++) {
        m->team_begin[t + 1] = m->team_begin[t] + (int)m->spec.teams[t].agents;
        for (int i = m->team_begin[t]; i < m->team_begin[t + 1]; i++) m->team[i] = (uint8_t)t;
    }
    m->n_agents = m->team_begin[m->spec.n_teams];
}

static void lay_out_state(lud_tribes_model *m) {
    size_t offset = 0;
#define PLACE(name_, count_, bytes_, about_)                                                                 \
    m->at.name_ = (uint32_t)offset;                                                                          \
    offset += (size_t)(count_) * (size_t)(bytes_);
    LUD_TRIBES_FIELDS(PLACE)
#undef PLACE
    m->base.layout.state_bytes = offset;
}

static bool compile_neighbours(lud_tribes_model *m) {
    m->next = lud_arena_take_array(m->arena, ((size_t)m->n_cells + 1) * 4, sizeof *m->next);
    if (!m->next) return false;
    for (int c = 0; c <= m->n_cells; c++)
        for (int d = 0; d < 4; d++) {
            const int to = c < m->n_cells ? lud_cell_onward(c, m->spec.width, m->spec.height, d, 1) : -1;
            m->next[c * 4 + d] = (uint16_t)(to >= 0 ? to : m->n_cells);
        }
    return true;
}

static bool compile_layout(lud_tribes_model *m) {
    const size_t n = (size_t)m->n_agents;
    lud_action_space *actions = lud_arena_take_array(m->arena, n, sizeof *actions);
    lud_role *roles = lud_arena_take_array(m->arena, n, sizeof *roles);
    int *idle = lud_arena_take_array(m->arena, n, sizeof *idle);
    int *teams = lud_arena_take_array(m->arena, n, sizeof *teams);
    const char **names = lud_arena_take_array(m->arena, (size_t)m->spec.n_teams, sizeof *names);
    if (!actions || !roles || !idle || !teams || !names) return false;
    for (int i = 0; i < m->n_agents; i++) {
        actions[i] = (lud_action_space){.n_discrete = LUD_TRIBES_ACTIONS, .names = lud_tribes_action_names};
        const lud_tribes_team *team = &m->spec.teams[m->team[i]];
        const bool robot = i >= m->team_begin[m->team[i] + 1] - team->robots;
        roles[i] = robot ? LUD_ROLE_ROBOT : (lud_role)team->role;
        idle[i] = LUD_TRIBES_WAIT;
        teams[i] = m->team[i];
    }
    for (int t = 0; t < m->spec.n_teams; t++) names[t] = m->spec.teams[t].name;
    lud_layout *layout = &m->base.layout;
    layout->n_agents = m->n_agents;
    layout->max_steps = (int)m->spec.max_steps;
    layout->actions = actions;
    layout->roles = roles;
    layout->idle = idle;
    layout->n_teams = m->spec.n_teams;
    layout->team_names = names;
    layout->teams = teams;
    layout->n_components = LUD_TRIBES_COMPONENTS;
    layout->components = lud_tribes_component_names;
    lay_out_state(m);
    return lud_tribes_compile_observations(m) && lud_tribes_compile_measures(m);
}

static lud_status compile(lud_tribes_model *m, const lud_tribes_spec *spec, lud_error *error) {
    if (!copy_spec(m, spec)) return lud_out_of_memory(error);
    m->n_cells = spec->width * spec->height;
    count_things(m);
    m->maps = lud_arena_take_array(m->arena, (size_t)spec->n_maps, sizeof *m->maps);
    bool whole = m->maps && compile_neighbours(m);
    for (int k = 0; k < spec->n_maps && whole; k++) whole = lud_tribes_map_compile(m, k);
    if (!whole || !compile_layout(m)) return lud_out_of_memory(error);
    for (int k = 0; k < spec->n_maps && spec->random_start; k++)
        if (m->maps[k].n_free < m->n_agents)
            return lud_invalid(error, "the map has %d free cells for %d agents", m->maps[k].n_free,
                               m->n_agents);
    return LUD_OK;
}

/* --- The section --- */

static lud_status read_section(lud_arena *arena, lud_tree *section, uint64_t seed, lud_tribes_spec *spec,
                               lud_error *error) {
    lud_tribes_options o;
    lud_status status = lud_options_read(&lud_tribes_option_table, arena, section, &o, error);
    if (status) return status;
    *spec = o.spec;
    if (!o.map == !o.generate)
        return lud_tree_expected(section, error, "either a map or the section generate");
    LUD_TRY(read_teams(arena, section, o.teams, spec, error));
    int64_t n_agents = 0;
    if (o.map) {
        status = lud_tribes_map_read(arena, o.map, spec, error);
        if (!status) status = check_drawn(o.map, spec, error);
    }
    for (int t = 0; t < spec->n_teams; t++) n_agents += spec->teams[t].agents;
    if (!status && n_agents > LUD_TRIBES_MAX_AGENTS)
        return lud_invalid_at(error, o.teams->place, "expected at most %d agents in all, found %lld",
                              (int)LUD_TRIBES_MAX_AGENTS, (long long)n_agents);
    return status || o.map ? status : read_generate(arena, o.generate, seed, spec, error);
}

lud_status lud_tribes_parse(const lud_world *world, lud_tree *root, const char *file, uint64_t seed,
                            lud_model **model, lud_error *error) {
    (void)world;
    (void)file;
    *model = NULL;
    lud_tree *section = lud_tree_get(root, "tribes");
    if (!section) return lud_invalid_at(error, root->place, "expected the section 'tribes', found none");
    if (section->kind != LUD_TREE_MAPPING)
        return lud_tree_expected(section, error, "the keys of the world, teams among them");
    lud_arena *scratch = lud_arena_create(0), *arena = lud_arena_create(0);
    lud_tribes_model *m = arena ? lud_arena_take(arena, sizeof *m) : NULL;
    lud_tribes_spec spec;
    lud_status status =
        scratch && m ? read_section(scratch, section, seed, &spec, error) : lud_out_of_memory(error);
    if (!status) status = read_goals(scratch, lud_tree_get(root, "goals"), &spec, error);
    if (!status) {
        m->arena = arena;
        m->base.world = &lud_tribes_world;
        status = compile(m, &spec, error);
        if (status && status != LUD_ERROR_MEMORY)
            lud_fail_context(error, "%s:%d:%d", section->place.file, section->place.line,
                             section->place.column);
    }
    lud_arena_destroy(scratch);
    if (status)
        lud_arena_destroy(arena);
    else
        *model = &m->base;
    return status;
}

void lud_tribes_free(lud_model *model) {
    if (model) lud_arena_destroy(((lud_tribes_model *)model)->arena);
}

/* --- Writing --- */

static bool add_teams(const lud_tribes_spec *spec, lud_arena *arena, lud_tree *section, lud_error *error) {
    lud_tree *list = lud_tree_add_sequence(arena, section, "teams");
    for (int t = 0; t < spec->n_teams && list; t++) {
        lud_tribes_team *team = &spec->teams[t];
        const lud_tribes_team_options o = {.name = team->name,
                                           .role = team->role,
                                           .agents = team->agents,
                                           .robots = team->robots,
                                           .values = {team->value, LUD_RESOURCES},
                                           .skills = {team->skill, LUD_RESOURCES}};
        lud_tree *entry = lud_tree_add_mapping(arena, list, NULL);
        if (!entry || lud_options_write(&lud_tribes_team_option_table, arena, &o, entry, error)) return false;
    }
    return list != NULL;
}

static bool add_generate(const lud_tribes_spec *spec, lud_arena *arena, lud_tree *section, lud_error *error) {
    int64_t size[2] = {spec->width, spec->height};
    const lud_tribes_generate_options o = {spec->generate, {size, 2}};
    lud_tree *generate = lud_tree_add_mapping(arena, section, "generate");
    return generate && !lud_options_write(&lud_tribes_generate_option_table, arena, &o, generate, error);
}

static bool add_numbers(lud_arena *arena, lud_tree *entry, const char *key, const int *numbers, int n) {
    lud_tree *list = lud_tree_add_sequence(arena, entry, key);
    for (int i = 0; i < n && list; i++)
        if (!lud_tree_add_int(arena, list, NULL, numbers[i])) return false;
    return list != NULL;
}

static bool add_goals(const lud_tribes_spec *spec, lud_arena *arena, lud_tree *root) {
    if (spec->n_goals == 0) return true;
    lud_tree *list = lud_tree_add_sequence(arena, root, "goals");
    for (int g = 0; g < spec->n_goals && list; g++) {
        const lud_tribes_goal *goal = &spec->goals[g];
        const int numbers[4] = {goal->x1, goal->y1, goal->x2, goal->y2};
        lud_tree *entry = lud_tree_add_mapping(arena, list, NULL);
        bool whole = entry != NULL;
        if (whole && goal->stored)
            whole = lud_tree_add_int(arena, entry, "stored", goal->units) != NULL;
        else if (whole)
            whole = add_numbers(arena, entry, goal->cell ? "cell" : "rectangle", numbers, goal->cell ? 2 : 4);
        if (!whole || !lud_tree_add_real(arena, entry, "weight", goal->weight)) return false;
    }
    return list != NULL;
}

lud_status lud_tribes_write(const lud_model *model, lud_arena *arena, lud_tree *root, lud_error *error) {
    const lud_tribes_spec *spec = &lud_tribes_of(model)->spec;
    lud_tree *section = lud_tree_add_mapping(arena, root, "tribes");
    const lud_tribes_options o = {.spec = *spec};
    bool whole = section != NULL;
    if (whole)
        whole = spec->is_generated ? add_generate(spec, arena, section, error)
                                   : lud_tribes_map_write(arena, spec, section);
    whole = whole && add_teams(spec, arena, section, error) &&
            !lud_options_write(&lud_tribes_option_table, arena, &o, section, error) &&
            add_goals(spec, arena, root);
    return whole ? LUD_OK : lud_out_of_memory(error);
}
