#include "cli/sweep/candidates.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include <xxhash.h>

/* The last part of a key, or all of it where another key ends so too. */
static lud_status find_short_keys(lud_arena *arena, const lud_sweep *w, lud_candidates *c, lud_error *error) {
    const char **keys = lud_arena_take_array(arena, (size_t)w->n_ranges, sizeof *keys);
    if (!keys) return lud_no_memory(error, "a sweep");
    for (int k = 0; k < w->n_ranges; k++) {
        const char *point = strrchr(w->ranges[k].key, '.');
        keys[k] = point ? point + 1 : w->ranges[k].key;
        for (int i = 0; i < w->n_ranges; i++) {
            const char *other = strrchr(w->ranges[i].key, '.');
            if (i != k && strcmp(point ? point + 1 : keys[k], other ? other + 1 : w->ranges[i].key) == 0)
                keys[k] = w->ranges[k].key;
        }
    }
    c->short_keys = keys;
    return LUD_OK;
}

static bool is_plain(const char *text) {
    for (const char *c = text; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("-.+_", *c)) return false;
    return *text && !strstr(text, "__");
}

static const char *make_name(lud_arena *arena, const lud_sweep *w, const lud_candidates *c,
                             const lud_experiment_settings *set, const char *const *texts) {
    lud_text name = {0}, all = {0};
    bool plain = true;
    for (int k = 0; k < w->n_ranges; k++) {
        plain = plain && is_plain(texts[k]) && is_plain(c->short_keys[k]);
        lud_text_append(&name, "%s%s-%s", k ? "__" : "", c->short_keys[k], texts[k]);
        lud_text_append(&all, "%s\n", set->items[k]);
    }
    if (!name.failed && !all.failed && !(plain && lud_experiment_is_name(name.bytes))) {
        lud_text_clear(&name);
        lud_text_append(&name, "settings-%016" PRIx64, (uint64_t)XXH3_64bits(all.bytes, all.length));
    }
    const char *kept = name.failed || all.failed ? NULL : lud_arena_text(arena, name.bytes, name.length);
    lud_text_free(&name);
    lud_text_free(&all);
    return kept;
}

static lud_status add_point(lud_arena *arena, const lud_sweep *w, int64_t number, lud_candidates *c,
                            lud_error *error) {
    lud_experiment *e = &c->experiment;
    lud_sweep_value values[LUD_SWEEP_KEYS];
    const char **texts = (const char **)(uintptr_t)c->texts + (size_t)e->n_variants * (size_t)w->n_ranges;
    const char **items = lud_arena_take_array(arena, (size_t)w->n_ranges, sizeof *items);
    bool whole = items != NULL;
    lud_sweep_point(w->ranges, w->n_ranges, w->n_samples > 0, w->seed, number, values);
    for (int k = 0; k < w->n_ranges && whole; k++) {
        lud_text item = {0};
        texts[k] = lud_sweep_text(arena, &values[k]);
        lud_text_append(&item, "%s=%s", w->ranges[k].key, texts[k] ? texts[k] : "");
        items[k] = item.failed ? NULL : lud_arena_text(arena, item.bytes, item.length);
        whole = texts[k] && items[k];
        lud_text_free(&item);
    }
    const lud_experiment_settings set = {w->n_ranges, items};
    const char *name = whole ? make_name(arena, w, c, &set, texts) : NULL;
    if (!name) return lud_no_memory(error, "a sweep");
    for (int v = 0; v < e->n_variants; v++)
        if (strcmp(e->variants[v].name, name) == 0) {
            c->n_repeated++;
            return LUD_OK;
        }
    e->variants[e->n_variants++] = (lud_experiment_variant){name, set, "--vary"};
    return LUD_OK;
}

static lud_status check_sets(const lud_sweep *w, lud_error *error) {
    static const char seed[] = "run.seed";
    for (int k = 0; k < w->n_ranges; k++)
        if (strcmp(w->ranges[k].key, seed) == 0)
            return lud_invalid(error, "--vary %s: the seeds of trainings stand behind --seeds", seed);
    for (int k = 0; k < w->flags->set.n; k++)
        if (strncmp(w->flags->set.items[k], "run.seed=", sizeof "run.seed=" - 1) == 0)
            return lud_invalid(error, "--set %s: the seeds of trainings stand behind --seeds", seed);
    return LUD_OK;
}

lud_status lud_candidates_make(lud_arena *arena, const lud_sweep *w, lud_candidates *c, lud_error *error) {
    int64_t n = w->n_samples;
    lud_experiment *e = &c->experiment;
    *c = (lud_candidates){0};
    LUD_TRY(check_sets(w, error));
    if (n == 0) LUD_TRY(lud_sweep_count(w->ranges, w->n_ranges, LUD_SWEEP_CANDIDATES, &n, error));
    if (n > LUD_SWEEP_CANDIDATES)
        return lud_fail(error, LUD_ERROR_LIMIT, "--samples: at most %d trainings", LUD_SWEEP_CANDIDATES);
    LUD_TRY(find_short_keys(arena, w, c, error));
    const char *stem = lud_experiment_stem(arena, w->path);
    e->variants = lud_arena_take_array(arena, (size_t)n, sizeof *e->variants);
    c->texts = lud_arena_take_array(arena, (size_t)(n * w->n_ranges), sizeof *c->texts);
    if (!stem || !e->variants || !c->texts) return lud_no_memory(error, "a sweep");
    e->name = "sweep";
    e->tasks[e->n_tasks++] =
        (lud_experiment_task){lud_experiment_is_name(stem) ? stem : "scenario", w->path, NAN, NAN};
    e->set = (lud_experiment_settings){w->flags->set.n, w->flags->set.items};
    e->score = w->score;
    e->least = w->least;
    e->n_seeds = w->n_seeds;
    memcpy(e->seeds, w->seeds, (size_t)w->n_seeds * sizeof *e->seeds);
    for (int64_t number = 0; number < n; number++) LUD_TRY(add_point(arena, w, number, c, error));
    return LUD_OK;
}

void lud_candidate_describe(const lud_candidates *c, int n_ranges, int variant, lud_text *out) {
    for (int k = 0; k < n_ranges; k++)
        lud_text_append(out, "%s%s %s", k ? ", " : "", c->short_keys[k],
                        c->texts[(size_t)variant * (size_t)n_ranges + (size_t)k]);
}
