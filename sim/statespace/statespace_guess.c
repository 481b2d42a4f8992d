#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/progress.h"
#include "sim/statespace/state_table.h"
#include "sim/statespace/statespace_build.h"

/* A layer is known by a sample of at most SAMPLE states. The sample is expanded in two halves; states that
 * both halves lead to tell how large the next layer is, as recaptured fish tell how many swim in a lake
 * (Chapman, "Some properties of the hypergeometric distribution", 1951). States that many others lead to are
 * caught too often, so the estimate is low where layers are much larger than the sample. */
enum { SAMPLE = 2048, LEAST_SAMPLE = 128, LAYER_ROWS = 1 << 18, BUDGET = 8000000 };

typedef struct sampler {
    const lud_model *model;
    size_t state_bytes;
    int32_t n_joint_actions;
    int32_t *joint_action;
    lud_successors successors;
    lud_state_table table; /* every state seen in any layer */
    lud_state_store store;
    uint64_t capacity;
    lud_state_cursor cursor;
    uint8_t *half; /* [capacity] bit 1, 2: led to from the first, second half of the present sample */
    double transitions, branches; /* of the present sample */
    double branch_transitions;
    size_t sample_limit; /* at most SAMPLE, fewer where a state has very many joint actions */
    lud_error *error;
} sampler;

static lud_status reserve(sampler *s, size_t more) {
    uint64_t need = s->store.n_fresh + more + LUD_STATE_CURSOR_CHUNK;
    if (need > s->capacity) {
        uint64_t capacity = need + need / 2;
        uint8_t *fresh = realloc(s->store.fresh, capacity * s->state_bytes);
        if (!fresh) return lud_no_memory(s->error, "a sample of the state space");
        s->store.fresh = fresh;
        uint8_t *half = realloc(s->half, capacity);
        if (!half) return lud_no_memory(s->error, "a sample of the state space");
        memset(half + s->capacity, 0, capacity - s->capacity);
        s->half = half;
        s->capacity = capacity;
    }
    return lud_state_table_reserve(&s->table, need, s->error);
}

/* The sample's number of a state, which is added when it is new. */
static lud_status number_of(sampler *s, const uint8_t *state, uint32_t *number) {
    LUD_TRY(reserve(s, 1));
    uint32_t tag = lud_state_tag(state, s->state_bytes);
    lud_state_table_insert(&s->table, &s->store, &s->cursor, 1, state, &tag, number);
    *number -= LUD_STATE_FRESH;
    return LUD_OK;
}

static lud_status expand_one(sampler *s, const uint8_t *state, uint8_t half_bit) {
    const lud_layout *layout = &s->model->layout;
    memset(s->joint_action, 0, (size_t)layout->n_agents * sizeof *s->joint_action);
    for (int32_t k = 0; k < s->n_joint_actions; k++, lud_joint_action_next(layout, s->joint_action)) {
        lud_status status =
            s->model->world->successors(s->model, state, s->joint_action, &s->successors, s->error);
        if (status || !s->successors.n) return status;
        s->transitions += (double)s->successors.n;
        if (s->successors.n > 1) {
            s->branches++;
            s->branch_transitions += (double)s->successors.n;
        }
        for (size_t i = 0; i < s->successors.n; i++) {
            uint32_t number;
            LUD_TRY(number_of(s, s->successors.states + i * s->state_bytes, &number));
            s->half[number] |= half_bit;
        }
    }
    return LUD_OK;
}

/* Expands the states numbered sample[n]; fills next[] with at most SAMPLE of the new states and estimates
 * from `layer`, the size of the sample's layer, that of the next one. */
static lud_status next_sample(sampler *s, const uint32_t *sample, size_t n, double layer, uint32_t step,
                              uint32_t *next, size_t *n_next, double *next_layer) {
    uint64_t first_new = s->cursor.next; /* one thread: numbers are given out in sequence */
    uint8_t *state = malloc(s->state_bytes);
    if (!state) return lud_no_memory(s->error, "a sample of the state space");
    lud_status status = LUD_OK;
    for (size_t i = 0; i < n && !status; i++) {
        /* a copy, since the array of states may move while it grows */
        memcpy(state, s->store.fresh + (size_t)sample[i] * s->state_bytes, s->state_bytes);
        status = expand_one(s, state, i % 2 ? 2 : 1);
    }
    free(state);
    if (status) return status;
    double of_half[4] = {0};
    uint64_t end = s->cursor.next;
    for (uint64_t i = first_new; i < end; i++) of_half[s->half[i]]++;
    double both = of_half[3], a = of_half[1] + both, b = of_half[2] + both, seen = a + b - both;
    if (layer <= (double)n || n < 2) {
        *next_layer = seen; /* the whole layer was expanded */
    } else {
        double recapture = (a + 1) * (b + 1) / (both + 1) - 1, most = seen * layer / (double)n;
        *next_layer = fmax(seen, fmin(recapture, most));
    }
    /* a uniform sample of the new states: reservoir sampling, keyed by the layer */
    *n_next = 0;
    for (uint64_t i = first_new; i < end; i++) {
        if (*n_next < s->sample_limit) {
            next[(*n_next)++] = (uint32_t)i;
            continue;
        }
        lud_words words = lud_draw((lud_random_key){.seed = 1}, (uint32_t)i, step, LUD_PURPOSE_SHUFFLE, 0);
        uint32_t at = lud_below(words.v[0], (uint32_t)(i - first_new + 1));
        if (at < s->sample_limit) next[at] = (uint32_t)i;
    }
    return LUD_OK;
}

static lud_status guess(sampler *s, const uint8_t *starts, int n_starts, lud_statespace_estimate *estimate) {
    uint32_t sample[SAMPLE], next[SAMPLE];
    size_t n = 0;
    uint64_t total = 0;
    for (int i = 0; i < n_starts; i++) {
        uint32_t number;
        uint64_t before = s->cursor.next;
        LUD_TRY(number_of(s, starts + (size_t)i * s->state_bytes, &number));
        bool is_new = s->cursor.next != before;
        if (is_new && n < s->sample_limit) sample[n++] = number;
        total += is_new;
    }
    double layer = (double)total, branch_transitions = 0;
    estimate->exhausted = true;
    while (n) {
        if (lud_interrupted()) return lud_fail(s->error, LUD_INTERRUPTED, "interrupted");
        estimate->states += layer;
        estimate->layers++;
        if (layer > (double)n) estimate->exhausted = false;
        s->transitions = s->branches = s->branch_transitions = 0;
        double next_layer = 0;
        size_t n_next = 0;
        LUD_TRY(next_sample(s, sample, n, layer, (uint32_t)estimate->layers, next, &n_next, &next_layer));
        double scale = layer / (double)n;
        estimate->transitions += s->transitions * scale;
        estimate->branches += s->branches * scale;
        branch_transitions += s->branch_transitions * scale;
        memcpy(sample, next, sizeof sample);
        if (layer + next_layer > estimate->two_layers) estimate->two_layers = layer + next_layer;
        n = n_next;
        layer = next_layer;
        if (s->cursor.next > BUDGET && n) {
            estimate->lower_bound = true;
            estimate->exhausted = false;
            break;
        }
    }
    double slots = estimate->states < LUD_MAX_STATES
                       ? (double)((uint64_t)1 << lud_state_table_log2_slots((uint64_t)estimate->states))
                       : 4.0 / 3 * estimate->states;
    estimate->kept = 8 * slots;
    estimate->bytes = estimate->states * ((double)s->state_bytes + 4.0 * s->n_joint_actions) +
                      estimate->kept + 12 * estimate->branches + 4 * branch_transitions;
    return LUD_OK;
}

lud_status lud_statespace_check_memory(const lud_statespace_estimate *estimate,
                                       const lud_statespace_options *options, lud_error *error) {
    const uint64_t limit = lud_statespace_memory_limit(options);
    const double needed = options->folder ? estimate->kept : estimate->bytes;
    if (needed <= (double)limit * (estimate->exhausted ? 1.0 : 1.1)) return LUD_OK;
    char bytes[16], states[16], most[16];
    return lud_fail(error, LUD_ERROR_MEMORY,
                    "the state space needs %s%s of memory%s for %s states, more than the memory limit of %s",
                    estimate->exhausted ? "" : "at least about ", lud_format_memory(needed, bytes),
                    options->folder ? " beside its files" : "", lud_format_count(estimate->states, states),
                    lud_format_memory((double)limit, most));
}

lud_status lud_statespace_guess(const lud_model *model, const lud_statespace_options *options,
                                lud_statespace_estimate *estimate, lud_error *error) {
    *estimate = (lud_statespace_estimate){0};
    sampler s = {.model = model,
                 .state_bytes = model->layout.state_bytes,
                 .store.state_bytes = model->layout.state_bytes,
                 .error = error};
    LUD_TRY(lud_statespace_check(model, &s.n_joint_actions, error));
    size_t affordable = LAYER_ROWS / (size_t)s.n_joint_actions;
    s.sample_limit = affordable > SAMPLE ? SAMPLE : affordable < LEAST_SAMPLE ? LEAST_SAMPLE : affordable;
    const uint8_t *starts = options ? options->starts : NULL;
    int n_starts = starts ? options->n_starts : 1;
    uint8_t *reset_state = malloc(s.state_bytes);
    s.joint_action = calloc((size_t)model->layout.n_agents + 1, sizeof *s.joint_action);
    lud_status status = reset_state && s.joint_action ? lud_state_table_create(&s.table, 1 << 16, error)
                                                      : lud_no_memory(error, "a sample of the state space");
    if (!status) {
        if (!starts) {
            uint32_t tick = 0;
            uint64_t seed = options ? options->seed : 0;
            model->world->reset(model, (lud_range){.seed = seed, .n = 1, .tick = &tick}, reset_state);
            starts = reset_state;
        }
        status = guess(&s, starts, n_starts, estimate);
    }
    lud_state_table_free(&s.table);
    lud_successors_free(&s.successors);
    LUD_FREE(s.store.fresh, s.half, s.joint_action, reset_state);
    return status;
}
