#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "base/mean.h"
#include "base/progress.h"
#include "cli/cli.h"
#include "cli/data_report.h"
#include "learn/episodes/data_set.h"
#include "learn/episodes/file/schema.h"

typedef struct spread {
    lud_mean mean;
    double least, most;
} spread;

static void add(spread *s, double value) {
    if (s->mean.n < 1 || value < s->least) s->least = value;
    if (s->mean.n < 1 || value > s->most) s->most = value;
    lud_mean_add(&s->mean, value);
}

static json_t *spread_json(const spread *s) {
    return json_pack("{s:f, s:f, s:f, s:f}", "mean", s->mean.mean, "deviation", lud_mean_deviation(&s->mean),
                     "min", s->least, "max", s->most);
}

typedef struct counts {
    spread length;
    int64_t terminated, truncated, verified;
    spread *returns;  /* [n_agents] */
    spread *log_prob; /* [n_agents] */
    int64_t **chosen; /* [n_agents][n_choices] */
    spread *moves;    /* [n_agents][n_continuous] */
} counts;

static void free_counts(const lud_data_info *info, counts *c) {
    for (int i = 0; i < info->n_agents && c->chosen; i++) free(c->chosen[i]);
    free(c->chosen);
    free(c->returns);
    free(c->log_prob);
    free(c->moves);
}

static bool create_counts(const lud_data_info *info, counts *c) {
    const size_t n = (size_t)info->n_agents;
    *c = (counts){.returns = calloc(n, sizeof *c->returns),
                  .log_prob = calloc(n, sizeof *c->log_prob),
                  .chosen = calloc(n, sizeof *c->chosen),
                  .moves = calloc(n * (size_t)info->n_continuous + 1, sizeof *c->moves)};
    bool whole = c->returns && c->log_prob && c->chosen && c->moves;
    for (size_t i = 0; i < n && whole; i++) {
        c->chosen[i] = calloc((size_t)info->n_choices[i] + 1, sizeof **c->chosen);
        whole = c->chosen[i];
    }
    return whole;
}

/* Adds the rows of one array of an episode. */
static void count_rows(const lud_data_info *info, lud_data_array array, const void *rows, int32_t n,
                       counts *c) {
    const int32_t *choices = rows;
    const float *numbers = rows;
    const size_t n_agents = (size_t)info->n_agents, width = (size_t)info->n_continuous;
    for (size_t t = 0; t < (size_t)n; t++)
        for (size_t i = 0; i < n_agents; i++) {
            if (array == LUD_DATA_DISCRETE) {
                const int32_t choice = choices[t * n_agents + i];
                if (choice >= 0 && choice < info->n_choices[i]) c->chosen[i][choice]++;
            } else if (array == LUD_DATA_LOG_PROBS) {
                const double value = (double)numbers[t * n_agents + i];
                if (isfinite(value)) add(&c->log_prob[i], value);
            } else {
                for (size_t d = 0; d < width; d++)
                    add(&c->moves[i * width + d], (double)numbers[(t * n_agents + i) * width + d]);
            }
        }
}

static lud_status count_episode(lud_data_set *set, int64_t episode, counts *c, void **rows, size_t *capacity,
                                lud_error *error) {
    static const lud_data_array arrays[] = {LUD_DATA_DISCRETE, LUD_DATA_CONTINUOUS, LUD_DATA_LOG_PROBS};
    const lud_data_info *info = lud_data_set_info(set);
    const lud_data_episode *e = lud_data_set_episode(set, episode);
    const double *returns = lud_data_set_returns(set, episode);
    add(&c->length, e->length);
    c->terminated += e->terminated;
    c->truncated += e->truncated && !e->terminated;
    for (int i = 0; i < info->n_agents; i++) add(&c->returns[i], returns[i]);
    lud_status status = LUD_OK;
    for (size_t k = 0; k < 3 && !status; k++) {
        if (!lud_data_set_has(set, arrays[k], 0)) continue;
        const size_t bytes = (size_t)e->length * lud_data_set_row_bytes(set, arrays[k], 0);
        if (bytes > *capacity) {
            free(*rows);
            *rows = malloc(*capacity = 2 * bytes);
            if (!*rows) return lud_fail(error, LUD_ERROR_MEMORY, "out of memory");
        }
        status = lud_data_set_read(set, arrays[k], 0, episode, 0, e->length, *rows, error);
        if (!status) count_rows(info, arrays[k], *rows, e->length, c);
    }
    return status;
}

static lud_status count_all(lud_data_set *set, const lud_data_report_options *o, counts *c,
                            lud_error *error) {
    const int64_t n = lud_data_set_info(set)->n_episodes;
    void *rows = NULL;
    size_t capacity = 0;
    lud_progress progress;
    lud_progress_start(&progress, isatty(fileno(stderr)) ? stderr : NULL, o->verify ? "verify" : "read",
                       "episodes", (uint64_t)n);
    lud_status status = LUD_OK;
    for (int64_t e = 0; e < n && !status; e++) {
        if (lud_interrupted()) status = lud_fail(error, LUD_INTERRUPTED, "interrupted");
        if (!status) status = count_episode(set, e, c, &rows, &capacity, error);
        if (!status && o->verify) status = lud_data_set_verify(set, e, error);
        c->verified += !status && o->verify;
        lud_progress_update(&progress, (uint64_t)e);
    }
    lud_progress_finish(&progress);
    free(rows);
    return status;
}

/* --- one episode in words --- */

typedef struct told {
    lud_text first, last;
    lud_text *summaries; /* [n_agents] */
} told;

static void free_told(const lud_data_info *info, told *t) {
    for (int i = 0; i < info->n_agents && t->summaries; i++) lud_text_free(&t->summaries[i]);
    free(t->summaries);
    lud_text_free(&t->first);
    lud_text_free(&t->last);
}

static lud_status tell(lud_data_set *set, int64_t episode, told *t, lud_error *error) {
    const lud_data_info *info = lud_data_set_info(set);
    *t = (told){.summaries = calloc((size_t)info->n_agents, sizeof *t->summaries)};
    if (!t->summaries) return lud_fail(error, LUD_ERROR_MEMORY, "out of memory");
    lud_status status = LUD_OK;
    if (episode >= info->n_episodes) return LUD_OK; /* of an empty set */
    for (int i = 0; i < info->n_agents && !status; i++)
        status = lud_data_set_summary(set, episode, i, &t->summaries[i], error);
    if (status || !info->replays_exactly) return status;
    const lud_scenario *scenario = NULL;
    const size_t length = (size_t)lud_data_set_episode(set, episode)->length;
    uint8_t *states = malloc((length + 1) * info->state_bytes + 1);
    if (!states) return lud_fail(error, LUD_ERROR_MEMORY, "out of memory");
    status = lud_data_set_scenario(set, &scenario, error);
    if (!status) status = lud_data_set_replay(set, episode, states, error);
    if (!status) {
        scenario->world->describe(scenario->model, states, &t->first);
        scenario->world->describe(scenario->model, states + length * info->state_bytes, &t->last);
        if (t->first.failed || t->last.failed) status = lud_out_of_memory(error);
    }
    free(states);
    return status;
}

/* --- out --- */

static json_t *agent_json(const lud_data_info *info, const counts *c, int i) {
    json_t *chosen = json_object(), *moves = json_array();
    for (int k = 0; k < info->n_choices[i]; k++) {
        char number[16];
        const char *const *names = info->choice_names ? info->choice_names[i] : NULL;
        snprintf(number, sizeof number, "%d", k);
        json_object_set_new(chosen, names ? names[k] : number, json_integer((json_int_t)c->chosen[i][k]));
    }
    for (int d = 0; d < info->n_continuous; d++)
        json_array_append_new(moves, spread_json(&c->moves[i * info->n_continuous + d]));
    return json_pack("{s:s, s:o, s:o, s:o, s:o}", "name", info->agent_names[i], "return",
                     spread_json(&c->returns[i]), "log_prob",
                     c->log_prob[i].mean.n > 0 ? spread_json(&c->log_prob[i]) : json_null(), "actions",
                     chosen, "continuous", moves);
}

static json_t *report_json(const lud_data_info *info, const counts *c, const told *t, int64_t episode) {
    json_t *agents = json_array(), *summaries = json_array();
    for (int i = 0; i < info->n_agents; i++) {
        json_array_append_new(agents, agent_json(info, c, i));
        json_array_append_new(summaries, json_string(t->summaries[i].bytes ? t->summaries[i].bytes : ""));
    }
    json_t *shown = json_pack("{s:I, s:s?, s:s?, s:o}", "episode", (json_int_t)episode, "first_frame",
                              t->first.bytes, "last_frame", t->last.bytes, "summaries", summaries);
    return json_pack("{s:s, s:i, s:i, s:b, s:b, s:s?, s:s?, s:I, s:I, s:o, s:I, s:I, s:I, s:o, s:o, s:o}",
                     "file", info->path, "format", info->format, "window_semantics_version",
                     info->window_semantics, "complete", info->complete, "replayable", info->replays_exactly,
                     "world", info->world, "policy", info->policy, "episodes", (json_int_t)info->n_episodes,
                     "steps", (json_int_t)info->n_steps, "length", spread_json(&c->length), "terminated",
                     (json_int_t)c->terminated, "truncated", (json_int_t)c->truncated, "verified",
                     (json_int_t)c->verified, "observations",
                     lud_data_schema_parts(info->parts, info->n_parts), "agents", agents, "shown", shown);
}

static void print_head(const lud_data_info *info, const counts *c, const lud_data_report_options *o) {
    printf("%s: %s data set%s%s%s%s\n", info->path, info->scenario ? "a" : "Minari's",
           info->world ? " of the world " : "", info->world ? info->world : "",
           info->policy ? ", played by " : "", info->policy ? info->policy : "");
    if (!info->complete) printf("the recording was cut off; what is there is whole\n");
    if (info->scenario)
        printf("format %d, window semantics version %d%s\n", info->format, info->window_semantics,
               info->window_semantics == LUD_WINDOW_SEMANTICS
                   ? ""
                   : " (old: `ludus convert` makes a present one)");
    printf("\nepisodes   %12" PRId64 "  (%" PRId64 " terminated, %" PRId64 " truncated", info->n_episodes,
           c->terminated, c->truncated);
    const int64_t stopped = info->n_episodes - c->terminated - c->truncated;
    if (stopped) printf(", %" PRId64 " cut by the recorder", stopped);
    printf(")\nsteps      %12" PRId64 "\nlength     %12.1f ± %.1f  (%.0f to %.0f)\n", info->n_steps,
           c->length.mean.mean, lud_mean_deviation(&c->length.mean), c->length.least, c->length.most);
    if (o->verify)
        printf("replayed   %12" PRId64 "  every state and reward as recorded\n", c->verified);
    else
        printf("replayable %12s\n", info->replays_exactly ? "yes" : "no");
}

static void print_agent(const lud_data_info *info, const counts *c, int i) {
    const spread *r = &c->returns[i], *p = &c->log_prob[i];
    printf("\n%s: return %.3f ± %.3f  (%.3f to %.3f)", info->agent_names[i], r->mean.mean,
           lud_mean_deviation(&r->mean), r->least, r->most);
    if (p->mean.n > 0) printf(", log-prob %.3f ± %.3f", p->mean.mean, lud_mean_deviation(&p->mean));
    printf("\n");
    const char *const *names = info->choice_names ? info->choice_names[i] : NULL;
    int64_t sum = 0;
    for (int k = 0; k < info->n_choices[i]; k++) sum += c->chosen[i][k];
    enum { WIDTH = 40 };
    for (int k = 0; k < info->n_choices[i] && sum; k++) {
        if (!c->chosen[i][k] && info->n_choices[i] > 32) continue;
        const double share = (double)c->chosen[i][k] / (double)sum;
        char number[16];
        snprintf(number, sizeof number, "%d", k);
        printf("  %-16s %12" PRId64 " %5.1f%% ", names ? names[k] : number, c->chosen[i][k], 100 * share);
        for (int b = 0; b < (int)(share * WIDTH + 0.5); b++) putchar('#');
        putchar('\n');
    }
    for (int d = 0; d < info->n_continuous; d++) {
        const spread *m = &c->moves[i * info->n_continuous + d];
        printf("  number %-9d %12.4f ± %.4f  (%.4f to %.4f)\n", d, m->mean.mean, lud_mean_deviation(&m->mean),
               m->least, m->most);
    }
}

static void print_report(const lud_data_info *info, const counts *c, const told *t,
                         const lud_data_report_options *o) {
    print_head(info, c, o);
    printf("\nobservations\n");
    for (int p = 0; p < info->n_parts; p++) {
        const lud_observation_part *part = &info->parts[p];
        printf("  %-16s %s [", part->name, lud_dtype_name(part->dtype));
        if (part->per_agent) printf("%d%s", info->n_agents, part->n_dimensions ? ", " : "");
        for (int d = 0; d < part->n_dimensions; d++) printf("%s%d", d ? ", " : "", part->dimensions[d]);
        printf("]\n");
    }
    for (int i = 0; i < info->n_agents; i++) print_agent(info, c, i);
    if (o->episode >= info->n_episodes) return;
    printf("\nepisode %" PRId64 "\n", o->episode);
    for (int i = 0; i < info->n_agents; i++)
        if (t->summaries[i].bytes) printf("  %s: %s\n", info->agent_names[i], t->summaries[i].bytes);
    if (t->first.bytes) printf("\nfirst frame\n%s", t->first.bytes);
    if (t->last.bytes) printf("\nlast frame\n%s", t->last.bytes);
}

lud_status lud_report_data_set(const char *path, const lud_data_report_options *o, lud_error *error) {
    lud_data_set *set = NULL;
    lud_status status = lud_data_set_open(path, &set, error);
    if (status) return status;
    const lud_data_info *info = lud_data_set_info(set);
    counts c = {0};
    told t = {0};
    if (o->episode && o->episode >= info->n_episodes)
        status = lud_invalid(error, "--episode: expected a number below %" PRId64 ", found %" PRId64,
                             info->n_episodes, o->episode);
    if (!status && !create_counts(info, &c)) status = lud_fail(error, LUD_ERROR_MEMORY, "out of memory");
    if (!status) status = count_all(set, o, &c, error);
    if (!status) status = tell(set, o->episode, &t, error);
    if (!status && o->json)
        status = lud_print_json(report_json(info, &c, &t, o->episode), error);
    else if (!status)
        print_report(info, &c, &t, o);
    free_told(info, &t);
    free_counts(info, &c);
    lud_data_set_close(set);
    return status;
}
