/* Random maps. Every draw is keyed by (seed, map, attempt), so map k does not depend on how many there are.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "sim/directions.h"
#include "sim/tribes/tribes_map.h"

enum { ATTEMPTS = 200, WATER_PATCH = 7, NEAR = 3, FAR = 5 };

typedef struct maker {
    const lud_tribes_spec *spec;
    int width, height, n_cells;
    char *cells;                    /* [n_cells] */
    uint8_t *mark;                  /* [n_cells] scratch */
    uint16_t *queue;                /* [n_cells] scratch */
    uint16_t *border;               /* [n_cells] cells that a patch may grow into */
    int home[LUD_TRIBES_MAX_TEAMS]; /* cell of each team's first storehouse */
    int map, attempt;
    uint32_t n_draws;
    lud_words words;
} maker;

static uint32_t word(maker *k) {
    const lud_random_key key = {(uint64_t)k->spec->generate.seed, (uint32_t)k->map};
    if (k->n_draws % 4 == 0)
        k->words = lud_draw(key, (uint32_t)k->attempt, k->n_draws / 4, LUD_PURPOSE_GENERATE, 0);
    return k->words.v[k->n_draws++ % 4];
}

static int below(maker *k, int n) {
    return (int)lud_below(word(k), (uint32_t)n);
}

static bool is_house(char c) {
    return c >= 'A' && c <= 'F';
}

/* Whether a storehouse stands in the square of cells up to `reach` away. */
static bool near_house(const maker *k, int cell, int reach) {
    const int x = cell % k->width, y = cell / k->width;
    for (int v = y - reach; v <= y + reach; v++)
        for (int u = x - reach; u <= x + reach; u++)
            if (u >= 0 && v >= 0 && u < k->width && v < k->height && is_house(k->cells[v * k->width + u]))
                return true;
    return false;
}

/* --- Storehouses --- */

/* Teams stand round the middle at equal angles, each a little out of place. */
static void place_home(maker *k, int team, double turn) {
    const int n_teams = k->spec->n_teams;
    const double angle = 6.283185307179586 * (turn + team + 0.2 * (lud_unit(word(k)) - 0.5)) / n_teams;
    const double reach = n_teams == 1 ? 0 : 0.34 + 0.04 * (lud_unit(word(k)) - 0.5);
    int x = (int)floor(k->width * (0.5 + reach * cos(angle)));
    int y = (int)floor(k->height * (0.5 + reach * sin(angle)));
    x = x < 1 ? 1 : x > k->width - 2 ? k->width - 2 : x;
    y = y < 1 ? 1 : y > k->height - 2 ? k->height - 2 : y;
    k->home[team] = y * k->width + x;
    k->cells[k->home[team]] = (char)('A' + team);
}

static bool place_houses(maker *k) {
    const double turn = lud_unit(word(k));
    const int n_houses = (int)k->spec->generate.houses;
    for (int t = 0; t < k->spec->n_teams; t++) place_home(k, t, turn);
    for (int t = 0; t < k->spec->n_teams; t++)
        for (int h = 1, tries = 0; h < n_houses; tries++) {
            const int reach = 2 + tries / 16;
            if (tries == 400) return false;
            const int x = k->home[t] % k->width + below(k, 2 * reach + 1) - reach;
            const int y = k->home[t] / k->width + below(k, 2 * reach + 1) - reach;
            if (x < 1 || y < 1 || x > k->width - 2 || y > k->height - 2) continue;
            if (near_house(k, y * k->width + x, 1)) continue;
            k->cells[y * k->width + x] = (char)('A' + t);
            h++;
        }
    return true;
}

/* --- Fields and water --- */

/* A free cell to begin a patch with: at random, or some steps from a team's first storehouse; -1: none found.
 */
static int find_centre(maker *k, int team) {
    for (int tries = 0; tries < 200; tries++) {
        int cell = below(k, k->n_cells);
        if (team >= 0) {
            const int reach = NEAR + below(k, FAR - NEAR + 1);
            const double angle = 6.283185307179586 * lud_unit(word(k));
            const int x = k->home[team] % k->width + (int)lround(reach * cos(angle));
            const int y = k->home[team] / k->width + (int)lround(reach * sin(angle));
            if (x < 0 || y < 0 || x >= k->width || y >= k->height) continue;
            cell = y * k->width + x;
        }
        if (k->cells[cell] == '.' && !near_house(k, cell, 1)) return cell;
    }
    return -1;
}

static int add_border(maker *k, int cell, int n_border) {
    for (int d = 0; d < 4; d++) {
        const int to = lud_cell_onward(cell, k->width, k->height, d, 1);
        if (to < 0 || k->mark[to]) continue;
        if (k->cells[to] != '.' || near_house(k, to, 1)) continue;
        k->mark[to] = 1;
        k->border[n_border++] = (uint16_t)to;
    }
    return n_border;
}

/* Grows a patch of at most n cells from a centre, one random neighbour after the other; returns how many. */
static int grow_patch(maker *k, int centre, int n, char kind) {
    int grown = 0, n_border = 1;
    memset(k->mark, 0, (size_t)k->n_cells);
    k->mark[centre] = 1;
    k->border[0] = (uint16_t)centre;
    while (grown < n && n_border > 0) {
        const int i = below(k, n_border), cell = k->border[i];
        k->border[i] = k->border[--n_border];
        k->cells[cell] = kind;
        grown++;
        n_border = add_border(k, cell, n_border);
    }
    return grown;
}

/* Every other patch of kind number `at_home` lies near a team whose number leaves that remainder, so that
 * what is near to one team is far from another. */
static bool place_patches(maker *k, int n, int patch, char kind, int at_home) {
    int team = at_home;
    for (int j = 0; n > 0; j++) {
        const bool home = at_home >= 0 && j % 2 == 0 && at_home < k->spec->n_teams;
        const int centre = find_centre(k, home ? team : -1);
        if (home) team = team + LUD_RESOURCES < k->spec->n_teams ? team + LUD_RESOURCES : at_home;
        if (centre < 0 && !home) return false;
        if (centre >= 0) n -= grow_patch(k, centre, n < patch ? n : patch, kind);
    }
    return true;
}

/* --- Agents --- */

/* The agents of each team stand on the free cells nearest to its first storehouse, the teams by turns. */
static bool place_agents(maker *k) {
    int left[LUD_TRIBES_MAX_TEAMS], n_left = 0;
    for (int t = 0; t < k->spec->n_teams; t++) n_left += left[t] = (int)k->spec->teams[t].agents;
    for (int t = 0; n_left > 0; t = (t + 1) % k->spec->n_teams) {
        if (left[t] == 0) continue;
        const int x0 = k->home[t] % k->width, y0 = k->home[t] / k->width;
        int best = -1, least = 0;
        for (int c = 0; c < k->n_cells; c++) {
            const int dx = c % k->width - x0, dy = c / k->width - y0, away = dx * dx + dy * dy;
            if (k->cells[c] != '.' || (best >= 0 && away >= least)) continue;
            best = c;
            least = away;
        }
        if (best < 0) return false;
        k->cells[best] = (char)('1' + t);
        left[t]--;
        n_left--;
    }
    return true;
}

/* --- Maps --- */

static bool make_map(maker *k) {
    static const char kinds[] = "gwo";
    const lud_tribes_generate *g = &k->spec->generate;
    memset(k->cells, '.', (size_t)k->n_cells);
    k->n_draws = 0;
    if (!place_houses(k)) return false;
    for (int i = 0; i < LUD_RESOURCES; i++)
        if (!place_patches(k, (int)g->fields[i], (int)g->patch, kinds[i], i)) return false;
    const int water = (int)lround(g->water * k->n_cells);
    return place_patches(k, water, WATER_PATCH, '~', -1) && place_agents(k) &&
           lud_tribes_is_connected(k->cells, k->width, k->height, k->mark, k->queue);
}

lud_status lud_tribes_generate_maps(lud_arena *arena, lud_tribes_spec *spec, lud_error *error) {
    maker k = {.spec = spec, .width = spec->generate.width, .height = spec->generate.height};
    k.n_cells = k.width * k.height;
    const size_t n = (size_t)k.n_cells;
    k.mark = lud_arena_take(arena, n);
    k.queue = lud_arena_take_array(arena, n, sizeof *k.queue);
    k.border = lud_arena_take_array(arena, n, sizeof *k.border);
    spec->maps = lud_arena_take_array(arena, (size_t)spec->generate.maps, sizeof *spec->maps);
    if (!k.mark || !k.queue || !k.border || !spec->maps) return lud_no_memory(error, "maps");
    spec->width = k.width;
    spec->height = k.height;
    for (k.map = 0; k.map < spec->generate.maps; k.map++) {
        k.cells = spec->maps[k.map] = lud_arena_take(arena, n);
        if (!k.cells) return lud_no_memory(error, "maps");
        bool made = false;
        for (k.attempt = 0; k.attempt < ATTEMPTS && !made; k.attempt++) made = make_map(&k);
        if (!made)
            return lud_invalid(
                error,
                "found no map of %d by %d cells with room for the storehouses, fields, water and "
                "agents that are asked for; try a larger `size` or less of them",
                k.width, k.height);
    }
    spec->n_maps = (int)spec->generate.maps;
    return LUD_OK;
}
