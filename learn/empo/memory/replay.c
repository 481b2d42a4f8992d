#include "learn/empo/memory/replay.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/random.h"

/* How a transition begins in the pool; the arrays follow in the order of lud_empo_transition. */
typedef struct header {
    int64_t inserted;
    uint32_t environment, episode;
    int32_t robot_action, next, n_links, n_successors;
} header;

typedef struct place {
    uint64_t offset, bytes;
} place;

#define NOBODY UINT64_MAX

struct lud_empo_replay {
    int64_t capacity, first, count;
    size_t pool_bytes, used; /* `used`: bytes ever written, what a checkpoint keeps */
    size_t write;            /* where the next transition goes */
    uint64_t stored_bytes;   /* of the transitions present */
    int64_t most;            /* transitions that it has held at a time */
    uint64_t crowded_out;    /* went because bytes were short, not places */
    int words, n_actions, n_humans, n_policies;
    bool trajectories;
    int n_environments, n_likelihoods;
    uint64_t dropped;    /* transitions that went: the number of the oldest one */
    uint64_t *following; /* [capacity] ring: number of the transition that came next, NOBODY: none */
    uint64_t *newest;    /* [n_environments] number of its last transition */
    place *places;       /* [capacity] ring */
    float *priority;     /* [capacity] ring */
    uint8_t *pool;
};

lud_empo_replay *lud_empo_replay_create(int64_t capacity, size_t bytes, int words, int n_actions,
                                        int n_humans, int n_policies) {
    assert(capacity > 0 && bytes > 0);
    lud_empo_replay *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    *r = (lud_empo_replay){.capacity = capacity,
                           .words = words,
                           .n_actions = n_actions,
                           .n_humans = n_humans,
                           .n_policies = n_policies};
    r->pool_bytes = bytes & ~(size_t)7;
    r->places = calloc((size_t)capacity, sizeof *r->places);
    r->priority = calloc((size_t)capacity, sizeof *r->priority);
    r->pool = calloc(r->pool_bytes, 1);
    if (!r->places || !r->priority || !r->pool) {
        lud_empo_replay_destroy(r);
        return NULL;
    }
    return r;
}

void lud_empo_replay_destroy(lud_empo_replay *r) {
    if (!r) return;
    LUD_FREE(r->following, r->newest, r->places, r->priority, r->pool, r);
}

static void forget_newest(lud_empo_replay *r) {
    for (int e = 0; e < r->n_environments; e++) r->newest[e] = NOBODY;
}

bool lud_empo_replay_keep_trajectories(lud_empo_replay *r, int n_environments, int n_likelihoods) {
    assert(r->count == 0 && !r->trajectories);
    r->trajectories = true;
    r->n_likelihoods = n_likelihoods;
    if (n_environments == 0) return true;
    r->following = malloc((size_t)r->capacity * sizeof *r->following);
    r->newest = malloc((size_t)n_environments * sizeof *r->newest);
    if (!r->following || !r->newest) return false;
    r->n_environments = n_environments;
    for (int64_t i = 0; i < r->capacity; i++) r->following[i] = NOBODY;
    forget_newest(r);
    return true;
}

lud_status lud_empo_replay_check_room(const lud_empo_replay *r, int64_t n, lud_error *error) {
    if (r->most >= n || r->crowded_out <= 4 * (uint64_t)r->most) return LUD_OK;
    return lud_fail(
        error, LUD_ERROR_LIMIT,
        "learner.buffer_memory: it holds %lld transitions of %.0f bytes at most, expected room for "
        "%lld, which are waited for; raise it",
        (long long)r->most, lud_empo_replay_mean_bytes(r), (long long)n);
}

int64_t lud_empo_replay_count(const lud_empo_replay *r) {
    return r->count;
}

void lud_empo_replay_clear(lud_empo_replay *r) {
    r->dropped += (uint64_t)r->count;
    forget_newest(r);
    r->first = r->count = 0;
    r->write = 0;
    r->stored_bytes = 0;
}

static place *place_of(const lud_empo_replay *r, int64_t index) {
    return &r->places[(r->first + index) % r->capacity];
}

static void drop_oldest(lud_empo_replay *r) {
    r->stored_bytes -= place_of(r, 0)->bytes;
    r->first = (r->first + 1) % r->capacity;
    r->dropped++;
    if (--r->count == 0) lud_empo_replay_clear(r);
}

static const header *header_of(const lud_empo_replay *r, int64_t index) {
    return (const header *)(const void *)(r->pool + place_of(r, index)->offset);
}

/* The newest transition comes after its environment's last one, if that is still there and of the same
 * episode. */
static void link_newest(lud_empo_replay *r) {
    const int64_t index = r->count - 1;
    const header *own = header_of(r, index);
    const uint64_t number = r->dropped + (uint64_t)index;
    assert(own->environment < (uint32_t)r->n_environments);
    uint64_t *newest = &r->newest[own->environment];
    r->following[(r->first + index) % r->capacity] = NOBODY;
    if (*newest != NOBODY && *newest >= r->dropped) {
        const int64_t before = (int64_t)(*newest - r->dropped);
        if (header_of(r, before)->episode == own->episode)
            r->following[(r->first + before) % r->capacity] = number;
    }
    *newest = number;
}

int64_t lud_empo_replay_following(const lud_empo_replay *r, int64_t index) {
    assert(r->n_environments > 0 && index >= 0 && index < r->count);
    const uint64_t number = r->following[(r->first + index) % r->capacity];
    return number == NOBODY ? -1 : (int64_t)(number - r->dropped);
}

/* An offset with `bytes` free bytes behind it. */
static size_t make_room(lud_empo_replay *r, size_t bytes) {
    if (r->count == r->capacity) drop_oldest(r);
    for (;;) {
        if (r->count == 0) return 0;
        const size_t oldest = place_of(r, 0)->offset, newest = place_of(r, r->count - 1)->offset;
        if (newest >= oldest) { /* free: behind the newest, and before the oldest */
            if (r->write + bytes <= r->pool_bytes) return r->write;
            if (bytes <= oldest) return 0;
        } else if (r->write + bytes <= oldest) {
            return r->write;
        }
        r->crowded_out++;
        drop_oldest(r);
    }
}

/* The arrays of a transition in the order in which they are stored, all of 32-bit words but the last. */
enum { ARRAYS = 12 };
typedef struct array {
    size_t field;        /* its pointer in a transition */
    size_t bytes, flags; /* of the array, and of the flags before it */
} array;

static void list_arrays(const lud_empo_replay *r, int32_t n_links, int32_t n_successors, array list[ARRAYS]) {
    const size_t word = sizeof(int32_t), words = (size_t)r->words * word, links = (size_t)n_links * word,
                 humans = (size_t)r->n_humans * word, policies = (size_t)r->n_policies * word,
                 likelihoods = (size_t)r->n_likelihoods * word, successors = (size_t)n_successors;
#define FIELD(name) offsetof(lud_empo_transition, name)
    const array all[ARRAYS] = {
        {FIELD(state), words, 0},
        {FIELD(goals), humans, 0},
        {FIELD(offsets), (size_t)(r->n_actions + 1) * word, 0},
        {FIELD(link), links, 0},
        {FIELD(probability), links, 0},
        {FIELD(profile), policies ? links : 0, 0},
        {FIELD(policies), policies, 0},
        {FIELD(behaviour_goals), r->trajectories ? humans : 0, r->trajectories ? 2 * word : 0},
        {FIELD(next_record), r->trajectories ? words : 0, 0},
        {FIELD(likelihood), likelihoods, 0},
        {FIELD(successor), words * successors, 0},
        {FIELD(terminal), successors, 0},
    };
#undef FIELD
    memcpy(list, all, sizeof all);
}

/* Bytes of a transition with so many links and successors. */
static uint64_t bytes_of(const lud_empo_replay *r, int32_t n_links, int32_t n_successors) {
    array list[ARRAYS];
    size_t bytes = sizeof(header);
    list_arrays(r, n_links, n_successors, list);
    for (int i = 0; i < ARRAYS; i++) bytes += list[i].flags + list[i].bytes;
    return (bytes + 7) & ~(size_t)7;
}

bool lud_empo_replay_fits(const lud_empo_replay *r, const lud_empo_transition *t) {
    const size_t bytes = bytes_of(r, t->n_links, t->n_successors);
    if (r->count == 0) return bytes <= r->pool_bytes;
    if (r->count == r->capacity) return false;
    const size_t oldest = place_of(r, 0)->offset, newest = place_of(r, r->count - 1)->offset;
    if (newest < oldest) return r->write + bytes <= oldest;
    return r->write + bytes <= r->pool_bytes || bytes <= oldest;
}

bool lud_empo_replay_push(lud_empo_replay *r, const lud_empo_transition *t) {
    const size_t bytes = bytes_of(r, t->n_links, t->n_successors);
    if (bytes > r->pool_bytes) return false;
    assert(r->count == 0 || t->inserted >= lud_empo_replay_get(r, r->count - 1).inserted);
    const size_t offset = make_room(r, bytes);
    const header head = {t->inserted, t->environment, t->episode,     t->robot_action,
                         t->next,     t->n_links,     t->n_successors};
    uint8_t *to = r->pool + offset;
    const int32_t flags[2] = {t->explored, t->next_terminal};
    array list[ARRAYS];
    list_arrays(r, t->n_links, t->n_successors, list);
    memcpy(to, &head, sizeof head);
    to += sizeof head;
    for (int i = 0; i < ARRAYS; to += list[i++].bytes) {
        const void *from;
        memcpy(to, flags, list[i].flags);
        to += list[i].flags;
        memcpy(&from, (const char *)t + list[i].field, sizeof from);
        if (list[i].bytes) memcpy(to, from, list[i].bytes);
    }
    if (++r->count > r->most) r->most = r->count;
    *place_of(r, r->count - 1) = (place){offset, bytes};
    r->priority[(r->first + r->count - 1) % r->capacity] = INFINITY;
    r->write = offset + bytes;
    r->stored_bytes += bytes;
    if (r->write > r->used) r->used = r->write;
    if (r->n_environments) link_newest(r);
    return true;
}

lud_empo_transition lud_empo_replay_get(const lud_empo_replay *r, int64_t index) {
    assert(index >= 0 && index < r->count);
    const uint8_t *at = r->pool + place_of(r, index)->offset;
    const header *head = (const header *)(const void *)at;
    lud_empo_transition t = {.inserted = head->inserted,
                             .environment = head->environment,
                             .episode = head->episode,
                             .robot_action = head->robot_action,
                             .next = head->next,
                             .n_links = head->n_links,
                             .n_successors = head->n_successors};
    array list[ARRAYS];
    list_arrays(r, t.n_links, t.n_successors, list);
    at += sizeof *head;
    for (int i = 0; i < ARRAYS; at += list[i++].bytes) {
        if (list[i].flags) {
            memcpy(&t.explored, at, sizeof t.explored);
            memcpy(&t.next_terminal, at + sizeof t.explored, sizeof t.next_terminal);
        }
        at += list[i].flags;
        if (list[i].bytes) memcpy((char *)&t + list[i].field, &at, sizeof at);
    }
    return t;
}

static int64_t inserted_at(const lud_empo_replay *r, int64_t index) {
    return header_of(r, index)->inserted;
}

/* Index of the first transition stored at `oldest` or later. */
static int64_t first_young(const lud_empo_replay *r, int64_t oldest) {
    int64_t low = 0, high = r->count;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (inserted_at(r, middle) < oldest)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void lud_empo_replay_sample(const lud_empo_replay *r, int64_t n, int64_t oldest, uint64_t seed, uint32_t draw,
                            int64_t *indices) {
    assert(n <= r->count);
    int64_t first = first_young(r, oldest);
    if (r->count - first < n) first = 0;
    const int64_t range = r->count - first;
    /* Floyd's sampling without replacement (Bentley, "Programming pearls", 1987) */
    for (int64_t i = 0; i < n; i++) {
        const int64_t top = range - n + i;
        const lud_words words =
            lud_draw((lud_random_key){seed, (uint32_t)i}, draw, 0, LUD_PURPOSE_SHUFFLE, 0);
        int64_t drawn = (int64_t)(lud_unit53(words.v[0], words.v[1]) * (double)(top + 1));
        for (int64_t k = 0; k < i; k++)
            if (indices[k] == first + drawn) {
                drawn = top;
                break;
            }
        indices[i] = first + drawn;
    }
}

void lud_empo_replay_contest(const lud_empo_replay *r, int64_t n, int64_t k, int64_t oldest, uint64_t seed,
                             uint32_t draw, int64_t *indices) {
    const int64_t fresh = r->count - first_young(r, oldest);
    const int64_t there = fresh < n ? r->count : fresh;
    if (n * k > there) k = there / n;
    lud_empo_replay_sample(r, n * k, oldest, seed, draw, indices);
    for (int64_t i = 0; i < n; i++) {
        int64_t best = indices[i * k];
        for (int64_t j = i * k + 1; j < (i + 1) * k; j++)
            if (r->priority[(r->first + indices[j]) % r->capacity] >
                r->priority[(r->first + best) % r->capacity])
                best = indices[j];
        indices[i] = best;
    }
}

void lud_empo_replay_set_priority(lud_empo_replay *r, int64_t index, float priority) {
    r->priority[(r->first + index) % r->capacity] = priority;
}

double lud_empo_replay_mean_bytes(const lud_empo_replay *r) {
    return r->count ? (double)r->stored_bytes / (double)r->count : 0.0;
}

static void visit_u64(lud_checkpoint *checkpoint, const char *prefix, const char *name, uint64_t *value) {
    char text[128];
    snprintf(text, sizeof text, "%s%s", prefix, name);
    lud_checkpoint_u64(checkpoint, text, value);
}

/* Whether what comes after a transition is there and younger. */
static bool follows(const lud_empo_replay *r, int64_t index) {
    const uint64_t number = r->following[(r->first + index) % r->capacity];
    return number == NOBODY ||
           (number > r->dropped + (uint64_t)index && number < r->dropped + (uint64_t)r->count);
}

static bool all_below(const int32_t *values, int32_t n, int32_t bound) {
    for (int32_t i = 0; i < n; i++)
        if (values[i] < 0 || values[i] >= bound) return false;
    return true;
}

/* Whether they are probabilities. */
static bool all_likely(const float *values, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (!(values[i] >= 0.0f && values[i] <= 1.001f)) return false;
    return true;
}

static bool offsets_are_sound(const lud_empo_replay *r, const lud_empo_transition *t) {
    if (t->offsets[0] != 0 || t->offsets[r->n_actions] != t->n_links) return false;
    for (int a = 0; a < r->n_actions; a++)
        if (t->offsets[a + 1] < t->offsets[a]) return false;
    return true;
}

static bool records_are_sound(const lud_empo_replay *r, const lud_empo_replay_bounds *b,
                              const lud_empo_transition *t) {
    bool sound = lud_empo_features_is_record(b->features, t->state);
    for (int32_t s = 0; s < t->n_successors && sound; s++)
        sound = t->terminal[s] <= 1 &&
                lud_empo_features_is_record(b->features, t->successor + (int64_t)s * r->words);
    return sound && (!r->trajectories || lud_empo_features_is_record(b->features, t->next_record));
}

/* Whether every number of a transition is one that its use can bear. */
static bool transition_is_sound(const lud_empo_replay *r, const lud_empo_replay_bounds *b, int64_t index) {
    const lud_empo_transition t = lud_empo_replay_get(r, index);
    if (t.inserted < (index ? header_of(r, index - 1)->inserted : 0) || t.inserted > b->step) return false;
    if (t.robot_action < 0 || t.robot_action >= r->n_actions) return false;
    if (t.next < -1 || t.next >= t.n_successors || !offsets_are_sound(r, &t)) return false;
    for (int h = 0; h < r->n_humans; h++) {
        if (t.goals[h] < 0 || t.goals[h] >= b->n_goals[h]) return false;
        if (r->trajectories && (t.behaviour_goals[h] < 0 || t.behaviour_goals[h] >= b->n_goals[h]))
            return false;
    }
    if (r->trajectories &&
        (t.explored < 0 || t.explored > (LUD_EMPO_ROBOTS_EXPLORED | LUD_EMPO_PEOPLE_EXPLORED) ||
         t.next_terminal < 0 || t.next_terminal > 1))
        return false;
    if (r->n_policies && !all_below(t.profile, t.n_links, b->n_profiles)) return false;
    return all_below(t.link, t.n_links, t.n_successors) && all_likely(t.probability, t.n_links) &&
           all_likely(t.policies, r->n_policies) && all_likely(t.likelihood, r->n_likelihoods) &&
           records_are_sound(r, b, &t);
}

/* Whether places lie as pushes leave them: one behind the other, beginning anew at most once and then before
 * the oldest, so that what is pushed next overwrites nobody. */
static bool places_are_in_order(const lud_empo_replay *r) {
    bool anew = false;
    for (int64_t i = 1; i < r->count; i++) {
        const place *before = place_of(r, i - 1), *own = place_of(r, i);
        if (own->offset != before->offset + before->bytes) {
            if (own->offset != 0 || anew) return false;
            anew = true;
        }
        if (anew && own->offset + own->bytes > place_of(r, 0)->offset) return false;
    }
    const place *newest = r->count ? place_of(r, r->count - 1) : NULL;
    return !newest || r->write == newest->offset + newest->bytes;
}

/* Whether what was loaded can be walked through. */
static bool sound(const lud_empo_replay *r, const lud_empo_replay_bounds *bounds) {
    if (r->first < 0 || r->first >= r->capacity || r->count < 0 || r->count > r->capacity ||
        r->write > r->pool_bytes || r->write % 8)
        return false;
    uint64_t total = 0;
    for (int64_t i = 0; i < r->count; i++) {
        const place *p = place_of(r, i);
        if (p->offset % 8 || p->bytes < sizeof(header) || p->offset > r->used ||
            p->bytes > r->used - p->offset)
            return false;
        const header *h = header_of(r, i);
        if (r->n_environments && (h->environment >= (uint32_t)r->n_environments || !follows(r, i)))
            return false;
        if (h->n_links < 0 || h->n_successors < 0) return false;
        if ((uint64_t)h->n_links > p->bytes || (uint64_t)h->n_successors > p->bytes ||
            bytes_of(r, h->n_links, h->n_successors) != p->bytes)
            return false;
        if (bounds && !transition_is_sound(r, bounds, i)) return false;
        if (!(r->priority[(r->first + i) % r->capacity] >= 0.0f)) return false;
        total += p->bytes;
    }
    for (int e = 0; e < r->n_environments; e++)
        if (r->newest[e] != NOBODY && r->newest[e] >= r->dropped + (uint64_t)r->count) return false;
    return total == r->stored_bytes && places_are_in_order(r);
}

static void visit_lives(lud_empo_replay *r, const char *prefix, lud_checkpoint *checkpoint) {
    char text[128];
    visit_u64(checkpoint, prefix, "dropped", &r->dropped);
    snprintf(text, sizeof text, "%sfollowing", prefix);
    lud_checkpoint_bytes(checkpoint, text, r->following, (size_t)r->capacity * sizeof *r->following);
    snprintf(text, sizeof text, "%snewest", prefix);
    lud_checkpoint_bytes(checkpoint, text, r->newest, (size_t)r->n_environments * sizeof *r->newest);
}

void lud_empo_replay_visit(lud_empo_replay *r, const lud_empo_replay_bounds *bounds, const char *prefix,
                           lud_checkpoint *checkpoint) {
    uint64_t first = (uint64_t)r->first, count = (uint64_t)r->count, used = r->used, write = r->write;
    visit_u64(checkpoint, prefix, "first", &first);
    visit_u64(checkpoint, prefix, "count", &count);
    visit_u64(checkpoint, prefix, "used", &used);
    visit_u64(checkpoint, prefix, "write", &write);
    visit_u64(checkpoint, prefix, "stored_bytes", &r->stored_bytes);
    if (lud_checkpoint_status(checkpoint, NULL)) return;
    if (used > r->pool_bytes) {
        lud_checkpoint_fail(checkpoint, LUD_ERROR_INPUT, "the replay memory of the checkpoint is larger");
        return;
    }
    r->first = (int64_t)first;
    r->count = (int64_t)count;
    r->used = used;
    r->write = write;
    char text[128];
    snprintf(text, sizeof text, "%splaces", prefix);
    lud_checkpoint_bytes(checkpoint, text, r->places, (size_t)r->capacity * sizeof *r->places);
    snprintf(text, sizeof text, "%spriority", prefix);
    lud_checkpoint_bytes(checkpoint, text, r->priority, (size_t)r->capacity * sizeof *r->priority);
    snprintf(text, sizeof text, "%spool", prefix);
    lud_checkpoint_bytes(checkpoint, text, r->pool, used);
    if (r->n_environments) visit_lives(r, prefix, checkpoint);
    if (lud_checkpoint_loading(checkpoint) && lud_checkpoint_status(checkpoint, NULL) == LUD_OK &&
        !sound(r, bounds)) {
        lud_empo_replay_clear(r);
        lud_checkpoint_fail(checkpoint, LUD_ERROR_INPUT, "the replay memory of the checkpoint is damaged");
    }
}
