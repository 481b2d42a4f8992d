/* From rows of tables to instructions: selectors, observed terms, reward rules, success. */
#include <math.h>
#include <string.h>

#include "sim/particle/particle_rows.h"

/* --- selectors --- */

/* Appends what `name` stands for to ids; *n -1 on an unknown name, -2 when it needs a point of view. */
static void append_name(const lud_particle_model *m, const char *name, int perspective, int16_t *ids,
                        int *n) {
    if (!strcmp(name, "agents") || !strcmp(name, "other")) {
        if (*name == 'o' && perspective < 0) {
            *n = -2;
            return;
        }
        for (int a = 0; a < m->n_agents; a++)
            if (*name == 'a' || a != perspective) ids[(*n)++] = (int16_t)a;
        return;
    }
    if (!strcmp(name, "self")) {
        if (perspective < 0)
            *n = -2;
        else
            ids[(*n)++] = (int16_t)perspective;
        return;
    }
    for (int k = 0; k < m->n_kinds; k++)
        if (!strcmp(name, m->kinds[k].name)) {
            for (int i = 0; i < m->kinds[k].count; i++) ids[(*n)++] = (int16_t)(m->kinds[k].first + i);
            return;
        }
    for (int c = 0; c < m->n_choices; c++)
        if (!strcmp(name, m->choices[c].name)) {
            int id = lud_particle_choice_id(m, &m->choices[c], perspective);
            if (id < 0)
                *n = -2;
            else
                ids[(*n)++] = (int16_t)id;
            return;
        }
    *n = -1;
}

static lud_status unknown_name(const lud_particle_model *m, lud_place place, const char *name,
                               lud_error *error) {
    const char *names[LUD_PARTICLE_MAX_ENTITIES + 3] = {"self", "other", "agents"};
    int n = 3;
    for (int k = 0; k < m->n_kinds && n < LUD_PARTICLE_MAX_ENTITIES; k++) names[n++] = m->kinds[k].name;
    for (int c = 0; c < m->n_choices && n < LUD_PARTICLE_MAX_ENTITIES; c++) names[n++] = m->choices[c].name;
    const char *near = lud_nearest_name(name, names, n);
    return lud_invalid_at(error, place, "`%s` is neither self, other, agents, a body nor a choice%s%s%s",
                          name, near ? "; did you mean `" : "", near ? near : "", near ? "`?" : "");
}

lud_status lud_particle_select(lud_particle_model *m, const lud_tree *tree, const char *otherwise,
                               int perspective, particle_set *set, lud_error *error) {
    *set = (particle_set){0, NULL};
    const lud_tree *item = tree && tree->kind == LUD_TREE_SEQUENCE ? tree->child : tree;
    if (!tree && !otherwise) return LUD_OK;
    int16_t *ids = lud_arena_take_array(m->arena, (size_t)m->n_ids + (size_t)m->n_entities + 1, sizeof *ids);
    if (!ids) return lud_out_of_memory(error);
    lud_place place = tree ? tree->place : m->section->place;
    int n = 0;
    for (const char *name = otherwise; tree ? item != NULL : name != NULL;) {
        if (tree) {
            if (item->kind != LUD_TREE_SCALAR)
                return lud_invalid_at(error, item->place, "expected a name or a list of names");
            name = item->text;
            place = item->place;
        }
        int before = n;
        append_name(m, name, perspective, ids, &n);
        if (n == -1) return unknown_name(m, place, name, error);
        if (n == -2)
            return lud_invalid_at(error, place, "`%s` depends on an agent, here there is none", name);
        for (int i = before; i < n; i++)
            for (int j = 0; j < before; j++)
                if (ids[i] == ids[j])
                    return lud_invalid_at(error, place, "`%s` is already in the list", name);
        if (!tree) break;
        item = tree->kind == LUD_TREE_SEQUENCE ? item->next : NULL;
    }
    *set = (particle_set){n, ids};
    return LUD_OK;
}

static bool same_set(particle_set a, particle_set b) {
    return a.n == b.n && (a.n == 0 || !memcmp(a.ids, b.ids, (size_t)a.n * sizeof *a.ids));
}

static bool contains(particle_set set, int id) {
    for (int i = 0; i < set.n; i++)
        if (set.ids[i] == id) return true;
    return false;
}

static lud_tree *row_of(lud_tree *list, int row) {
    lud_tree *node = list->child;
    while (row-- > 0) node = node->next;
    return node;
}

/* --- observed terms --- */

static lud_status compile_view(lud_particle_model *m, int agent, const particle_view_row *row,
                               const lud_tree *node, particle_view *view, lud_error *error) {
    particle_set of, only;
    LUD_TRY(lud_particle_select(m, row->of, "self", agent, &of, error));
    LUD_TRY(lud_particle_select(m, row->only, NULL, agent, &only, error));
    LUD_TRY(lud_particle_select(m, row->hidden_in, NULL, agent, &view->hidden_in, error));
    uint8_t *shown = lud_arena_take_array(m->arena, (size_t)of.n + 1, 1);
    int16_t *ids = lud_arena_take_array(m->arena, (size_t)of.n + 1, sizeof *ids);
    if (!shown || !ids) return lud_out_of_memory(error);
    bool just_self = row->of == NULL || (row->of->kind == LUD_TREE_SCALAR && !strcmp(row->of->text, "self"));
    int n = 0;
    for (int i = 0; i < of.n; i++) {
        bool show = !row->only || contains(only, of.ids[i]);
        if (of.ids[i] == agent && !just_self) continue; /* never among the bodies it sees */
        if (!show && row->nearest == 0) continue;
        shown[n] = show;
        ids[n++] = of.ids[i];
    }
    if (row->nearest > 0 && n > LUD_PARTICLE_MAX_ENTITIES)
        return lud_fail_at(error, LUD_ERROR_LIMIT, node->place,
                           "%d bodies and choices to sort by distance, at most %d are possible", n,
                           LUD_PARTICLE_MAX_ENTITIES);
    view->term = (particle_view_term)row->term;
    view->of = (particle_set){n, ids};
    view->shown = shown;
    view->nearest = (int)row->nearest;
    view->within = row->within > 0 ? row->within : (double)INFINITY;
    view->n_slots = row->nearest > 0 ? (int)row->nearest : n;
    switch (view->term) {
    case VIEW_DISTANCE:
    case VIEW_INSIDE:
        view->width = 1;
        break;
    case VIEW_SPEECH:
        view->width = (int)m->options.speech_size;
        break;
    case VIEW_COLOUR:
        view->width = n > 0 ? m->colour_size[ids[0]] : 3;
        for (int i = 1; i < n; i++)
            if (m->colour_size[ids[i]] != view->width)
                return lud_invalid_at(error, node->place,
                                      "the colours to observe have different numbers of components");
        break;
    default:
        view->width = 2;
    }
    for (int i = 0; i < n && view->term == VIEW_SPEECH; i++)
        if (ids[i] >= m->n_agents) return lud_invalid_at(error, node->place, "only agents speak");
    return LUD_OK;
}

lud_status lud_particle_compile_views(lud_particle_model *m, lud_error *error) {
    m->view_begin = lud_arena_take_array(m->arena, (size_t)m->n_agents + 1, sizeof *m->view_begin);
    m->observation_size = lud_arena_take_array(m->arena, (size_t)m->n_agents, sizeof *m->observation_size);
    size_t total = 0;
    for (int a = 0; a < m->n_agents; a++) {
        const lud_tree *observes = m->kinds[m->kind_of[a]].observes;
        total += observes ? observes->n_children : 0;
    }
    m->views = lud_arena_take_array(m->arena, total + 1, sizeof *m->views);
    if (!m->view_begin || !m->observation_size || !m->views) return lud_out_of_memory(error);
    int n_views = 0;
    for (int a = 0; a < m->n_agents; a++) {
        lud_tree *observes = m->kinds[m->kind_of[a]].observes;
        particle_view_row *rows;
        int n_rows, size = 0;
        LUD_TRY(
            lud_particle_read_rows(m, &lud_particle_view_table, observes, (void **)&rows, &n_rows, error));
        m->view_begin[a] = n_views;
        for (int r = 0; r < n_rows; r++) {
            particle_view *view = &m->views[n_views];
            if (!rows[r].when) continue;
            LUD_TRY(compile_view(m, a, &rows[r], row_of(observes, r), view, error));
            view->offset = size;
            size += view->n_slots * view->width;
            n_views++;
            if (size > LUD_PARTICLE_MAX_OBSERVATION)
                return lud_fail_at(error, LUD_ERROR_LIMIT, observes->place,
                                   "an observation of more than %d numbers", LUD_PARTICLE_MAX_OBSERVATION);
        }
        m->view_begin[a + 1] = n_views;
        m->observation_size[a] = size;
        if (size > m->observation_stride) m->observation_stride = size;
    }
    return LUD_OK;
}

/* --- rewards --- */

static bool needs_pair(int term) {
    return term == REWARD_DISTANCE || term == REWARD_OVERLAP || term == REWARD_REACH ||
           term == REWARD_SPEECH_ERROR;
}

static lud_status check_reward(const lud_particle_model *m, const particle_reward_row *row,
                               const particle_rule *rule, const lud_tree *node, lud_error *error) {
    if (needs_pair(row->term) && !row->to)
        return lud_invalid_at(error, node->place, "this term needs `to`, the other side of the pair");
    if (!needs_pair(row->term) && row->to)
        return lud_invalid_at(error, row->to->place, "this term is of `from` alone and takes no `to`");
    if (row->term == REWARD_REACH && !(row->within > 0))
        return lud_invalid_at(error, node->place, "the term reach needs `within`, a distance above 0");
    for (int i = 0; i < rule->from.n; i++) {
        if (row->term == REWARD_CONTROL && rule->from.ids[i] >= m->n_agents)
            return lud_invalid_at(error, node->place, "only agents have controls");
        if (row->term == REWARD_SPEECH_ERROR &&
            (rule->from.ids[i] >= m->n_agents || !m->entities[rule->from.ids[i]].speaks))
            return lud_invalid_at(error, node->place, "speech_error needs agents that speak in `from`");
    }
    for (int i = 0; i < rule->to.n && row->term == REWARD_SPEECH_ERROR; i++)
        if (m->colour_size[rule->to.ids[i]] < m->options.speech_size)
            return lud_invalid_at(error, node->place,
                                  "speech_error compares %d numbers of speech, the colour has only %d",
                                  (int)m->options.speech_size, m->colour_size[rule->to.ids[i]]);
    return LUD_OK;
}

/* Whether the rule has anything to sum at all. */
static bool is_void(const particle_rule *rule, int term) {
    if (rule->weight == 0 || rule->from.n == 0) return true;
    if (!needs_pair(term)) return false;
    return rule->to.n == 0 || (rule->to.n == 1 && rule->from.n == 1 && rule->to.ids[0] == rule->from.ids[0]);
}

static lud_status compile_row(lud_particle_model *m, const particle_reward_row *row, int index,
                              const lud_tree *node, lud_error *error) {
    particle_set receivers;
    LUD_TRY(lud_particle_select(m, row->receivers, "agents", -1, &receivers, error));
    for (int i = 0; i < receivers.n; i++)
        if (receivers.ids[i] >= m->n_agents)
            return lud_invalid_at(error, row->receivers->place, "only agents receive rewards");
    double scale = row->scope == SCOPE_LOCAL    ? m->options.local_ratio
                   : row->scope == SCOPE_GLOBAL ? 1 - m->options.local_ratio
                                                : 1;
    if (row->share == SHARE_MEAN && receivers.n > 0) scale /= receivers.n;
    int first = m->n_rules;
    for (int i = 0; i < receivers.n; i++) {
        particle_rule rule = {.term = (particle_reward_term)row->term,
                              .over_from = (particle_reduce)row->over_from,
                              .over_to = (particle_reduce)row->over_to,
                              .power = (int)row->power,
                              .row = index,
                              .within = row->term == REWARD_DISTANCE ? row->beyond : row->within,
                              .weight = (row->weight - row->cost) * scale};
        LUD_TRY(lud_particle_select(m, row->from, "self", receivers.ids[i], &rule.from, error));
        LUD_TRY(lud_particle_select(m, row->to, NULL, receivers.ids[i], &rule.to, error));
        LUD_TRY(check_reward(m, row, &rule, node, error));
        if (is_void(&rule, row->term)) continue;
        particle_rule *last = m->n_rules > first ? &m->rules[m->n_rules - 1] : NULL;
        if (row->share != SHARE_NONE)
            rule.receivers = receivers;
        else if (last && same_set(last->from, rule.from) && same_set(last->to, rule.to)) {
            /* the same value for several agents is computed once */
            ((int16_t *)last->receivers.ids)[last->receivers.n++] = receivers.ids[i];
            last->tally = last->weight * last->receivers.n / m->n_agents;
            continue;
        } else {
            int16_t *ids = lud_arena_take_array(m->arena, (size_t)receivers.n, sizeof *ids);
            if (!ids) return lud_out_of_memory(error);
            ids[0] = receivers.ids[i];
            rule.receivers = (particle_set){1, ids};
        }
        rule.tally = rule.weight * rule.receivers.n / m->n_agents;
        m->rules[m->n_rules++] = rule;
    }
    return LUD_OK;
}

lud_status lud_particle_compile_rewards(lud_particle_model *m, lud_error *error) {
    particle_reward_row *rows;
    LUD_TRY(lud_particle_read_rows(m, &lud_particle_reward_table, m->options.rewards, (void **)&rows,
                                   &m->n_reward_rows, error));
    m->rules =
        lud_arena_take_array(m->arena, (size_t)m->n_reward_rows * (size_t)m->n_agents + 1, sizeof *m->rules);
    m->reward_names = lud_arena_take_array(m->arena, (size_t)m->n_reward_rows + 1, sizeof *m->reward_names);
    if (!m->rules || !m->reward_names) return lud_out_of_memory(error);
    for (int r = 0; r < m->n_reward_rows; r++) {
        lud_tree *node = row_of(m->options.rewards, r);
        m->reward_names[r] = rows[r].name ? rows[r].name : lud_particle_reward_term_names[rows[r].term];
        if (rows[r].when) LUD_TRY(compile_row(m, &rows[r], r, node, error));
        if (!lud_tree_get(node, "weight") && !lud_tree_get(node, "cost"))
            return lud_invalid_at(
                error, node->place,
                "a reward row needs its `weight` or its `cost`, which is a negative weight");
    }
    return LUD_OK;
}

/* --- success --- */

lud_status lud_particle_compile_success(lud_particle_model *m, lud_error *error) {
    m->goal_id = lud_arena_take_array(m->arena, (size_t)m->n_agents, sizeof *m->goal_id);
    if (!m->goal_id) return lud_out_of_memory(error);
    for (int a = 0; a < m->n_agents; a++) m->goal_id[a] = -1;
    if (!m->options.success || m->options.success->kind == LUD_TREE_NULL) return LUD_OK;
    particle_success_row row;
    LUD_TRY(lud_options_read(&lud_particle_success_table, m->arena, m->options.success, &row, error));
    if (!row.every || !row.reaches)
        return lud_invalid_at(error, m->options.success->place, "`success` needs `every` and `reaches`");
    particle_set every;
    LUD_TRY(lud_particle_select(m, row.every, NULL, -1, &every, error));
    m->items = lud_arena_take_array(m->arena, (size_t)every.n + 1, sizeof *m->items);
    if (!m->items) return lud_out_of_memory(error);
    m->success_within = row.within;
    m->terminate = row.terminate;
    for (int i = 0; i < every.n; i++) {
        particle_item *item = &m->items[m->n_items++];
        item->item = every.ids[i];
        bool agent = every.ids[i] < m->n_agents;
        LUD_TRY(lud_particle_select(m, row.reaches, NULL, agent ? every.ids[i] : -1, &item->to, error));
        if (agent && item->to.n == 1) m->goal_id[every.ids[i]] = item->to.ids[0];
    }
    return LUD_OK;
}
