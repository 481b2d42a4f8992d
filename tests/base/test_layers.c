/* The direction of the folders: includes and calls only go down (see docs/architecture.md), and so do those
 * of the rooms within learn/.
 *
 * Includes are read from the sources; calls from the symbols of the built libraries, where an undefined
 * symbol of one must not be defined by a library above or beside it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { BASE, KERNELS, SIM, AGENTS, LEARN, RENDER, LIBRARY, BENCH, CLI, N_LAYERS };
static const char *const folders[N_LAYERS] = {"base",   "kernels", "sim",         "agents", "learn",
                                              "render", "library", "tests/bench", "cli"};
static const char *const libraries[N_LAYERS] = {
    "lud_base", "lud_kernels", "lud_sim", "lud_agents", "lud_learn", "lud_render", NULL, "lud_bench", NULL};

static bool may_use(int from, int to) {
    if (from == to) return true;
    if (from == LEARN || from == RENDER) return to <= AGENTS; /* side by side */
    return to < from;
}

static int layer_of(const char *path) {
    for (int i = 0; i < N_LAYERS; i++) {
        size_t n = strlen(folders[i]);
        if (!strncmp(path, folders[i], n) && path[n] == '/') return i;
    }
    return -1;
}

/* Rooms of learn/ in their order: each may use those above it in this list that belong to everybody or to the
 * same family. Of two prefixes of a path the longer one counts. */
enum { EVERYBODY, EMPO, MAPPO, PROOF, REGISTRY };
static const struct room {
    const char *prefix;
    int family;
} rooms[] = {
    {"learn/store/", EVERYBODY},           /* checkpoints, metrics */
    {"learn/runs/", EVERYBODY},            /* the folder of a training or a solution */
    {"learn/nn/", EVERYBODY},              /* networks, optimisers */
    {"learn/policy_gradient/", EVERYBODY}, /* what PPO learners share */
    {"learn/learner.", EVERYBODY},         /* the interface */
    {"learn/best.", EVERYBODY},            /* the best parameters of a training */
    {"learn/train.", EVERYBODY},           /* the loop */
    {"learn/runs/run", EVERYBODY},         /* opening a RUN of any learner */
    {"learn/episodes/", EVERYBODY},        /* data sets of recorded episodes, windows */
    {"learn/language/", EVERYBODY},        /* tokens, transformers, generation */
    {"learn/empo/", EMPO},                 /* theory, equations, layout, overlay, options */
    {"learn/empo/exact/", EMPO},           /* the exact solver, its chain, its files */
    {"learn/empo/evaluation/", EMPO},      /* policies judged by it, the reference of learners */
    {"learn/empo/memory/", EMPO},          /* features, environments, replay */
    {"learn/empo/networks/", EMPO},        /* networks and tables */
    {"learn/empo/phase1/", EMPO},          /* the learner of what people do */
    {"learn/empo/people/", EMPO},          /* people as others see them */
    {"learn/empo/targets/", EMPO},         /* values, batches and targets of phase 2 */
    {"learn/empo/explore/", EMPO},         /* curiosity, novelty, search */
    {"learn/empo/met/", EMPO},             /* states met, look-ahead over them */
    {"learn/empo/phase2/", EMPO},          /* the learner of power */
    {"learn/mappo/", MAPPO},               /* graph MAPPO */
    {"learn/ticks/", MAPPO},               /* many agents, one model; acts with the networks of graph MAPPO */
    {"learn/clone/", MAPPO},               /* imitation of recorded episodes; the same */
    {"learn/kge/", PROOF},                 /* embeddings and their scores */
    {"learn/proof_ppo/", PROOF},           /* the prover */
    {"learn/kge/kge.", PROOF},             /* the learner kge, which ranks as the prover does */
    {"learn/registry.", REGISTRY},         /* knows every learner */
};
enum { N_ROOMS = sizeof rooms / sizeof *rooms };

static int room_of(const char *path) {
    int found = -1;
    for (int i = 0; i < N_ROOMS; i++)
        if (!strncmp(path, rooms[i].prefix, strlen(rooms[i].prefix)) &&
            (found < 0 || strlen(rooms[i].prefix) > strlen(rooms[found].prefix)))
            found = i;
    return found;
}

static bool room_may_use(int from, int to) {
    if (from == to) return true;
    if (from < 0) return rooms[to].family == EVERYBODY; /* of another learner */
    if (to < 0) return rooms[from].family == REGISTRY;
    return to < from && (rooms[to].family == EVERYBODY || rooms[from].family == REGISTRY ||
                         rooms[to].family == rooms[from].family);
}

static int n_sources, n_includes, n_wrong;

static void check_source(const char *path, int layer) {
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char line[4096], name[1024];
    for (int number = 1; fgets(line, sizeof line, file); number++) {
        if (sscanf(line, " # include \"%1023[^\"]\"", name) != 1) continue;
        int target = layer_of(name);
        if (target < 0) continue; /* beside the source, or generated */
        n_includes++;
        const int room = room_of(path + strlen(LUDUS_SOURCE_DIR) + 1), other = room_of(name);
        if (layer == LEARN && target == LEARN && !room_may_use(room, other)) {
            n_wrong++;
            print_error("%s:%d: the room %s must not include %s\n", path, number,
                        room < 0 ? "of another learner" : rooms[room].prefix, name);
        }
        if (may_use(layer, target)) continue;
        n_wrong++;
        print_error("%s:%d: %s must not include %s\n", path, number, folders[layer], name);
    }
    fclose(file);
    n_sources++;
}

static void check_folder(const char *folder, int layer) {
    DIR *d = opendir(folder);
    if (!d) return; /* a layer that is not there yet */
    for (struct dirent *e; (e = readdir(d));) {
        char path[2048];
        struct stat info;
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (stat(path, &info)) continue;
        const char *dot = strrchr(e->d_name, '.');
        if (S_ISDIR(info.st_mode))
            check_folder(path, layer);
        else if (dot && (!strcmp(dot, ".c") || !strcmp(dot, ".h") || !strcmp(dot, ".inc") ||
                         !strcmp(dot, ".cu") || !strcmp(dot, ".cuh")))
            check_source(path, layer);
    }
    closedir(d);
}

static void test_includes(void **state) {
    (void)state;
    for (int i = 0; i < N_LAYERS; i++) {
        char path[2048];
        snprintf(path, sizeof path, "%s/%s", LUDUS_SOURCE_DIR, folders[i]);
        check_folder(path, i);
    }
    assert_true(n_sources > 20 && n_includes > 20); /* the search itself works */
    assert_int_equal(n_wrong, 0);
}

typedef struct symbol {
    char name[200];
    int layer;
} symbol;

typedef struct symbols {
    symbol *items;
    size_t n, capacity;
} symbols;

static void add(symbols *s, const char *name, int layer) {
    if (s->n == s->capacity) {
        s->capacity = s->capacity ? 2 * s->capacity : 1024;
        s->items = realloc(s->items, s->capacity * sizeof *s->items);
        assert_non_null(s->items);
    }
    snprintf(s->items[s->n].name, sizeof s->items[s->n].name, "%s", name);
    s->items[s->n++].layer = layer;
}

static int compare(const void *a, const void *b) {
    return strcmp(((const symbol *)a)->name, ((const symbol *)b)->name);
}

/* Reads `nm` of a library; common, data, code and weak symbols are definitions. */
static void read_library(int layer, symbols *defined, symbols *undefined) {
    char command[2048], line[4096];
    snprintf(command, sizeof command, "test -f %s/lib%s.a && nm -P -g %s/lib%s.a 2>/dev/null",
             LUDUS_BINARY_DIR, libraries[layer], LUDUS_BINARY_DIR, libraries[layer]);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    while (fgets(line, sizeof line, pipe)) {
        char name[200], type;
        if (sscanf(line, "%199s %c", name, &type) != 2) continue;
        add(type == 'U' || type == 'w' || type == 'v' ? undefined : defined, name, layer);
    }
    pclose(pipe);
}

static void test_calls(void **state) {
    (void)state;
    symbols defined = {0}, undefined = {0};
    for (int i = 0; i < N_LAYERS; i++)
        if (libraries[i]) read_library(i, &defined, &undefined);
    assert_true(defined.n > 50 && undefined.n > 50);
    qsort(defined.items, defined.n, sizeof *defined.items, compare);
    int wrong = 0, found = 0;
    for (size_t i = 0; i < undefined.n; i++) {
        const symbol *use = &undefined.items[i];
        const symbol *definition = bsearch(use, defined.items, defined.n, sizeof *defined.items, compare);
        if (!definition) continue;
        found++;
        if (may_use(use->layer, definition->layer)) continue;
        wrong++;
        print_error("%s must not call %s of %s\n", folders[use->layer], use->name,
                    folders[definition->layer]);
    }
    assert_true(found > 50);
    assert_int_equal(wrong, 0);
    free(defined.items);
    free(undefined.items);
}

static void test_rules(void **state) {
    (void)state;
    assert_true(may_use(SIM, BASE) && may_use(RENDER, AGENTS) && may_use(CLI, LEARN) &&
                may_use(LEARN, KERNELS));
    assert_false(may_use(BASE, SIM) || may_use(RENDER, LEARN) || may_use(LEARN, RENDER) ||
                 may_use(AGENTS, LEARN));
    assert_int_equal(layer_of("sim/multigrid/file/grid_spec.h"), SIM);
    const int nn = room_of("learn/nn/nn.h"), exact = room_of("learn/empo/exact/exact.c"),
              theory = room_of("learn/empo/theory.h"), mappo = room_of("learn/mappo/mappo.c"),
              embedding = room_of("learn/kge/embedding.h"), kge = room_of("learn/kge/kge.c"),
              prover = room_of("learn/proof_ppo/evaluation/ranking.h"), all = room_of("learn/registry.c");
    assert_true(room_may_use(exact, theory) && room_may_use(exact, nn) && room_may_use(prover, embedding) &&
                room_may_use(kge, prover) && room_may_use(all, mappo) && room_may_use(-1, nn));
    assert_false(room_may_use(theory, exact) || room_may_use(nn, exact) || room_may_use(mappo, exact) ||
                 room_may_use(prover, kge) || room_may_use(mappo, all) || room_may_use(-1, mappo) ||
                 room_may_use(mappo, -1));
    assert_int_equal(layer_of("simple.h"), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rules), cmocka_unit_test(test_includes),
                                       cmocka_unit_test(test_calls)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
