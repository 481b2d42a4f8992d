#include "learn/episodes/sampler.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"

/* --- splits --- */

bool lud_validation_episode(uint64_t seed, const lud_data_set *set, int64_t episode, double fraction) {
    char text[32];
    const int n = snprintf(text, sizeof text, "%" PRIu64, seed);
    const uint64_t id = lud_data_set_episode_hash(set, episode);
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a: Fowler, Noll and Vo, RFC draft-eastlake-fnv */
    for (int k = 0; k < n; k++) hash = (hash ^ (uint8_t)text[k]) * 0x100000001b3u;
    for (int k = 0; k < 8; k++) hash = (hash ^ (id >> (8 * k) & 255)) * 0x100000001b3u;
    return hash % 1000 < (uint64_t)(1000 * fraction);
}

/* --- orders --- */

/* One round's function of the half that stays: Philox keyed by what the order is of. */
static uint64_t round_function(lud_random_key key, uint32_t order, uint32_t round, uint64_t half) {
    const lud_words w = lud_draw(key, (uint32_t)half, order, LUD_PURPOSE_SHUFFLE, 0xf000 + round);
    return w.v[0];
}

uint64_t lud_shuffled_index(uint64_t seed, uint32_t order, uint32_t stream, uint64_t n, uint64_t position) {
    enum { ROUNDS = 6 };
    assert(n > 0 && position < n);
    unsigned bits = 1; /* of a half */
    while (2 * bits < 64 && (uint64_t)1 << 2 * bits < n) bits++;
    const uint64_t mask = ((uint64_t)1 << bits) - 1;
    const lud_random_key key = {seed, stream};
    do {
        uint64_t left = position >> bits & mask, right = position & mask;
        for (uint32_t round = 0; round < ROUNDS; round++) {
            const uint64_t next = left ^ (round_function(key, order, round, right) & mask);
            left = right;
            right = next;
        }
        position = left << bits | right;
    } while (position >= n); /* at most four times n numbers: it comes back soon */
    return position;
}

/* --- mixtures --- */

lud_status lud_sampler_create(const lud_sample_source *sources, int n_sources, uint64_t seed, bool shuffle,
                              bool balance, lud_sampler *s, lud_error *error) {
    *s = (lud_sampler){.n_sources = n_sources, .sources = sources, .seed = seed, .shuffle = shuffle};
    double sum = 0, longest = 0;
    for (int i = 0; i < n_sources; i++) {
        if (!sources[i].n || !(sources[i].weight > 0) || !(sources[i].weight < 1e100))
            return lud_invalid(error,
                               "source %d: expected samples and a weight above 0, found %" PRIu64
                               " samples and the weight %g",
                               i, sources[i].n, sources[i].weight);
        sum += sources[i].weight * (balance ? (double)sources[i].n : 1);
    }
    s->begin = calloc((size_t)n_sources + 1, sizeof *s->begin);
    if (!s->begin) return lud_no_memory(error, "%d sources", n_sources);
    for (int i = 0; i < n_sources; i++) {
        const double share = sources[i].weight * (balance ? (double)sources[i].n : 1) / sum;
        if ((double)sources[i].n / share > longest) longest = (double)sources[i].n / share;
    }
    if (longest > 0x1p62)
        return lud_invalid(error,
                           "the weights of the sources are too far apart: an epoch would have %g "
                           "samples",
                           longest);
    for (int i = 0; i < n_sources; i++) {
        const double share = sources[i].weight * (balance ? (double)sources[i].n : 1) / sum;
        uint64_t n = shuffle ? (uint64_t)(longest * share + 0.5) : sources[i].n;
        if (n < sources[i].n) n = sources[i].n;
        s->begin[i + 1] = s->begin[i] + n;
    }
    s->epoch_samples = s->begin[n_sources];
    return LUD_OK;
}

void lud_sampler_free(lud_sampler *s) {
    free(s->begin);
    *s = (lud_sampler){0};
}

static lud_sample sample_at(const lud_sampler *s, uint64_t epoch, uint64_t position) {
    enum { MOST_ORDERS = 1 << 12 }; /* times through a source in an epoch that are told apart */
    const uint32_t stream = (uint32_t)s->n_sources;
    if (s->shuffle && s->n_sources > 1)
        position = lud_shuffled_index(s->seed, (uint32_t)epoch, stream, s->epoch_samples, position);
    int i = 0;
    while (position >= s->begin[i + 1]) i++;
    const uint64_t n = s->sources[i].n, drawn = position - s->begin[i];
    if (!s->shuffle) return (lud_sample){i, drawn};
    /* every time through a source is an order of its own */
    const uint32_t order = (uint32_t)(epoch * MOST_ORDERS + drawn / n % MOST_ORDERS);
    return (lud_sample){i, lud_shuffled_index(s->seed, order, (uint32_t)i, n, drawn % n)};
}

void lud_sampler_next(const lud_sampler *s, lud_sample_cursor *cursor, int n, lud_sample *samples) {
    for (int k = 0; k < n; k++) {
        if (cursor->position >= s->epoch_samples) {
            cursor->epoch++;
            cursor->position = 0;
        }
        samples[k] = sample_at(s, cursor->epoch, cursor->position++);
    }
}

/* --- batches made ahead --- */

typedef enum slot_state { SLOT_FREE, SLOT_MAKING, SLOT_READY, SLOT_OUT } slot_state;

typedef struct slot {
    slot_state state;
    uint64_t number;          /* of its batch */
    lud_sample_cursor cursor; /* behind it */
    lud_sample *samples;      /* [batch] */
    void *memory;             /* [slot_bytes] */
    lud_status status;
    lud_error error;
} slot;

struct lud_feeder {
    lud_feed feed;
    lud_sample_cursor cursor; /* of the next batch to be made */
    uint64_t next, wanted;    /* numbers of the next batches to be made and to be handed out */
    slot *slots;              /* [n_slots]; batch k is made in slot k mod n_slots */
    int n_running;
    pthread_t *threads;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool stop;
};

/* Takes the next batch that has a free slot, with the mutex held; null: there is none now. */
static slot *begin_batch(lud_feeder *f) {
    slot *s = &f->slots[f->next % (uint64_t)f->feed.n_slots];
    if (s->state != SLOT_FREE) return NULL;
    s->state = SLOT_MAKING;
    s->number = f->next++;
    lud_sampler_next(f->feed.sampler, &f->cursor, f->feed.batch, s->samples);
    s->cursor = f->cursor;
    return s;
}

static void make_batch(lud_feeder *f, slot *s) {
    s->error = (lud_error){0};
    s->status = f->feed.fill(f->feed.context, s->samples, f->feed.batch, s->memory, &s->error);
}

static void *work(void *argument) {
    lud_feeder *f = argument;
    pthread_mutex_lock(&f->mutex);
    while (!f->stop) {
        slot *s = begin_batch(f);
        if (!s) {
            pthread_cond_wait(&f->changed, &f->mutex);
            continue;
        }
        pthread_mutex_unlock(&f->mutex);
        make_batch(f, s);
        pthread_mutex_lock(&f->mutex);
        s->state = SLOT_READY;
        pthread_cond_broadcast(&f->changed);
    }
    pthread_mutex_unlock(&f->mutex);
    return NULL;
}

lud_status lud_feeder_create(const lud_feed *feed, lud_sample_cursor cursor, lud_feeder **feeder,
                             lud_error *error) {
    assert(feed->batch > 0 && feed->n_slots > feed->n_threads);
    lud_feeder *f = calloc(1, sizeof *f);
    if (!f) return lud_no_memory(error, "batches");
    f->feed = *feed;
    f->cursor = cursor;
    pthread_mutex_init(&f->mutex, NULL);
    pthread_cond_init(&f->changed, NULL);
    const size_t n = (size_t)feed->n_slots, bytes = (feed->slot_bytes + 63) / 64 * 64 + 64;
    f->slots = calloc(n, sizeof *f->slots);
    f->threads = calloc((size_t)feed->n_threads + 1, sizeof *f->threads);
    bool memory = f->slots && f->threads;
    for (size_t k = 0; k < n && memory; k++) {
        f->slots[k].samples = calloc((size_t)feed->batch, sizeof(lud_sample));
        f->slots[k].memory = aligned_alloc(64, bytes);
        memory = f->slots[k].samples && f->slots[k].memory;
    }
    while (memory && f->n_running < feed->n_threads) {
        memory = !pthread_create(&f->threads[f->n_running], NULL, work, f);
        f->n_running += memory;
    }
    if (memory) {
        *feeder = f;
        return LUD_OK;
    }
    lud_feeder_destroy(f);
    return lud_no_memory(error, "batches of %zu bytes", feed->slot_bytes);
}

void lud_feeder_destroy(lud_feeder *f) {
    if (!f) return;
    pthread_mutex_lock(&f->mutex);
    f->stop = true;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->mutex);
    for (int k = 0; k < f->n_running; k++) pthread_join(f->threads[k], NULL);
    for (int k = 0; k < f->feed.n_slots && f->slots; k++) {
        free(f->slots[k].samples);
        free(f->slots[k].memory);
    }
    free(f->slots);
    free(f->threads);
    pthread_cond_destroy(&f->changed);
    pthread_mutex_destroy(&f->mutex);
    free(f);
}

lud_status lud_feeder_next(lud_feeder *f, const void **memory, lud_sample_cursor *cursor, lud_error *error) {
    pthread_mutex_lock(&f->mutex);
    if (f->wanted) { /* the last one is given back */
        slot *before = &f->slots[(f->wanted - 1) % (uint64_t)f->feed.n_slots];
        if (before->state == SLOT_OUT) before->state = SLOT_FREE;
        pthread_cond_broadcast(&f->changed);
    }
    slot *s = &f->slots[f->wanted % (uint64_t)f->feed.n_slots];
    if (!f->feed.n_threads && s->state == SLOT_FREE) {
        s = begin_batch(f);
        make_batch(f, s);
        s->state = SLOT_READY;
    }
    while (s->state != SLOT_READY || s->number != f->wanted) pthread_cond_wait(&f->changed, &f->mutex);
    if (s->status) { /* it stays, so that every later call says so too */
        if (error) *error = s->error;
    } else {
        s->state = SLOT_OUT;
        f->wanted++;
        *memory = s->memory;
        *cursor = s->cursor;
    }
    const lud_status status = s->status;
    pthread_mutex_unlock(&f->mutex);
    return status;
}
