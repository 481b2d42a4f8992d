#include "learn/empo/phase2/async.h"

#include <assert.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/interrupt.h"

enum { MOST_BUFFERS = 128, DEQUEUE_AT_ONCE = 50 };
static const size_t buffer_bytes = (size_t)2 << 20;

typedef struct actor_thread {
    struct lud_empo_async *async;
    pthread_t thread;
    bool started;
    lud_device *device;
    lud_empo_values values;
    lud_empo_novelty *novelty;
    lud_empo_search *search;
    lud_empo_rollout *rollout;
    /* buffers: one is being filled, the others are empty or queued */
    lud_empo_replay *buffers[MOST_BUFFERS];
    lud_empo_replay *empty[MOST_BUFFERS]; /* [n_empty], guarded by the lock */
    int n_empty;
    lud_empo_replay *filling;
    /* guarded by the lock */
    lud_empo_rollout_counts counts;
    uint64_t version; /* of the weights it has */
    lud_status status;
    lud_error error;
} actor_thread;

/* A queued buffer, and whose it is. */
typedef struct queued_buffer {
    actor_thread *owner;
    lud_empo_replay *buffer;
} queued_buffer;

struct lud_empo_async {
    const lud_empo_learner_options *options;
    const lud_empo_features *features;
    lud_empo_prior prior;
    lud_empo_values *values;
    lud_empo_novelty *novelty;
    int n_actors, n_buffers, n_envs;
    actor_thread *actors;
    int64_t sync_every;
    float *weights; /* the published ones: target networks, then novelty */
    size_t n_target, n_novelty;

    pthread_mutex_t lock;
    pthread_cond_t changed; /* anything below */
    bool stop, paused;
    int n_parked;
    int64_t step;      /* training steps done */
    int64_t allowance; /* environment steps free of charge */
    uint64_t version, env_steps;
    queued_buffer *queue; /* ring [n_actors * n_buffers] */
    int first, n_queued;
    int64_t queued_transitions;
    uint64_t taken, waits, throttled;
    int n_standing; /* actors that wait because they are ahead */
    bool starved;   /* all of them do, and training waits for transitions: nobody is ahead then */
};

/* ---- the actors' side ---- */

/* An empty buffer to fill; null when the threads are to end. */
static lud_empo_replay *next_buffer(actor_thread *t) {
    lud_empo_async *a = t->async;
    pthread_mutex_lock(&a->lock);
    if (t->n_empty == 0) a->waits++;
    while (t->n_empty == 0 && !a->stop) pthread_cond_wait(&a->changed, &a->lock);
    lud_empo_replay *buffer = a->stop ? NULL : t->empty[--t->n_empty];
    pthread_mutex_unlock(&a->lock);
    return buffer;
}

static void enqueue(actor_thread *t) {
    lud_empo_async *a = t->async;
    if (!t->filling || lud_empo_replay_count(t->filling) == 0) return;
    pthread_mutex_lock(&a->lock);
    a->queue[(a->first + a->n_queued++) % (a->n_actors * a->n_buffers)] = (queued_buffer){t, t->filling};
    a->queued_transitions += lud_empo_replay_count(t->filling);
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->lock);
    t->filling = NULL;
}

static bool sink(void *context, const lud_empo_transition *transition) {
    actor_thread *t = context;
    if (t->filling && !lud_empo_replay_fits(t->filling, transition)) {
        if (lud_empo_replay_count(t->filling) == 0) return false; /* larger than a whole buffer */
        enqueue(t);
    }
    if (!t->filling) t->filling = next_buffer(t);
    return t->filling && lud_empo_replay_fits(t->filling, transition) &&
           lud_empo_replay_push(t->filling, transition);
}

static bool ahead(const lud_empo_async *a) {
    const double most = a->options->max_env_steps_per_training_step;
    return !a->starved && most > 0 && (double)a->env_steps >= (double)a->allowance + most * (double)a->step;
}

/* Waits until this actor may take a step; takes new weights. False when the threads are to end. */
static bool may_step(actor_thread *t, int64_t *step) {
    lud_empo_async *a = t->async;
    pthread_mutex_lock(&a->lock);
    if (!a->paused && !a->stop && ahead(a)) a->throttled++;
    bool parked = false, stands = false; /* said once: threads that stand still must not wake each other */
    while (!a->stop && (a->paused || ahead(a))) {
        if (a->paused != parked) {
            parked = a->paused;
            a->n_parked += parked ? 1 : -1;
            pthread_cond_broadcast(&a->changed);
        }
        if (a->paused == stands) {
            stands = !a->paused;
            a->n_standing += stands ? 1 : -1;
            pthread_cond_broadcast(&a->changed);
        }
        pthread_cond_wait(&a->changed, &a->lock);
    }
    if (parked) a->n_parked--;
    if (stands) a->n_standing--;
    const bool goes_on = !a->stop;
    if (goes_on && t->version != a->version) {
        lud_device_upload(t->device, t->values.target->values, a->weights, a->n_target * sizeof(float));
        lud_empo_values_changed(&t->values);
        if (t->novelty) lud_empo_novelty_import(t->novelty, a->weights + a->n_target);
        t->version = a->version;
    }
    *step = a->step;
    pthread_mutex_unlock(&a->lock);
    return goes_on;
}

static void *act(void *context) {
    actor_thread *t = context;
    lud_empo_async *a = t->async;
    omp_set_num_threads(1); /* of this thread's parallel regions */
    int64_t step = 0;
    while (may_step(t, &step)) {
        const lud_empo_now now = lud_empo_stages_at(&a->options->stages, step);
        if (t->novelty) lud_empo_novelty_set_step(t->novelty, step);
        lud_error error = {0};
        lud_status status = lud_empo_rollout_step(t->rollout, &now, step, NULL, &error);
        enqueue(t);
        if (status == LUD_OK) status = lud_device_check(t->device, &error);
        pthread_mutex_lock(&a->lock);
        t->counts = lud_empo_rollout_get_counts(t->rollout);
        a->env_steps += (uint64_t)a->n_envs;
        if (!a->stop && status) {
            t->status = status;
            t->error = error;
        }
        pthread_cond_broadcast(&a->changed);
        pthread_mutex_unlock(&a->lock);
        if (status) break;
    }
    return NULL;
}

/* ---- making and freeing ---- */

/* A buffer that keeps what the replay memory will. */
static lud_empo_replay *make_buffer(const lud_empo_async *a) {
    const lud_empo_learner_options *o = a->options;
    const lud_empo_layout *layout = &a->features->layout;
    lud_empo_replay *buffer = lud_empo_replay_create(
        a->n_envs, buffer_bytes, a->features->words, layout->n_robot_actions, layout->n_humans,
        o->expected_people ? layout->policy_begin[layout->n_humans] : 0);
    if (!buffer || !lud_empo_learner_keeps_trajectories(o) ||
        lud_empo_replay_keep_trajectories(buffer, 0, o->hindsight_prob > 0 ? layout->n_goals : 0))
        return buffer;
    lud_empo_replay_destroy(buffer);
    return NULL;
}

static lud_status make_actor(lud_empo_async *a, uint64_t seed, int i, lud_error *error) {
    actor_thread *t = &a->actors[i];
    t->async = a;
    t->version = UINT64_MAX;
    LUD_TRY(lud_device_open("cpu", 1, &t->device, error));
    LUD_TRY(lud_empo_values_create(t->device, a->features, a->options, seed, &t->values, error));
    if (a->novelty) LUD_TRY(lud_empo_novelty_create(&t->values, seed, &t->novelty, error));
    if (a->options->pi_r_mode == LUD_EMPO_MCTS)
        LUD_TRY(lud_empo_search_create(a->options, a->n_envs, seed + (uint64_t)i, a->features, &a->prior,
                                       &t->search, error));
    const lud_empo_rollout_parts parts = {
        .options = a->options,
        .features = a->features,
        .prior = &a->prior,
        .values = &t->values,
        .novelty = t->novelty,
        .search = t->search,
        .seed = seed + (uint64_t)i * 0x9e3779b97f4a7c15u, /* actors must not have the same episodes */
        .first_environment = i * a->n_envs,
        .sink = sink,
        .sink_context = t};
    LUD_TRY(lud_empo_rollout_create(&parts, &t->rollout, error));
    for (int k = 0; k < a->n_buffers; k++) {
        t->empty[t->n_empty++] = t->buffers[k] = make_buffer(a);
        if (!t->buffers[k]) return lud_no_memory(error, "an actor's transitions");
    }
    return LUD_OK;
}

lud_status lud_empo_async_create(const lud_empo_rollout_parts *like, lud_empo_async **async,
                                 lud_error *error) {
    *async = NULL;
    lud_empo_async *a = calloc(1, sizeof *a);
    if (!a) return lud_no_memory(error, "actors");
    const lud_empo_learner_options *o = like->options;
    *a = (lud_empo_async){.options = o,
                          .features = like->features,
                          .prior = *like->prior,
                          .values = like->values,
                          .novelty = like->novelty,
                          .n_actors = (int)o->num_actors,
                          .n_envs = (int)o->environments,
                          .paused = true};
    a->prior.network = NULL; /* one by one, under a lock: the networks serve one thread at a time */
    a->sync_every = a->novelty && o->rnd_sync_freq ? o->rnd_sync_freq : o->actor_sync_freq;
    const int64_t all = (int64_t)a->n_actors * a->n_envs, per_actor = o->async_queue_size / all;
    a->n_buffers = per_actor < 2 ? 2 : per_actor > MOST_BUFFERS ? MOST_BUFFERS : (int)per_actor;
    a->allowance =
        all + (o->async_min_buffer_size > o->batch_size ? o->async_min_buffer_size : o->batch_size);
    a->n_target = (size_t)a->values->target->size;
    a->n_novelty = a->novelty ? lud_empo_novelty_floats(a->novelty) : 0;
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->changed, NULL);
    a->weights = calloc(a->n_target + a->n_novelty, sizeof *a->weights);
    a->queue = calloc((size_t)(a->n_actors * a->n_buffers), sizeof *a->queue);
    a->actors = calloc((size_t)a->n_actors, sizeof *a->actors);
    lud_status status = a->weights && a->queue && a->actors ? LUD_OK : lud_no_memory(error, "actors");
    for (int i = 0; i < a->n_actors && status == LUD_OK; i++) status = make_actor(a, like->seed, i, error);
    if (status)
        lud_empo_async_destroy(a);
    else
        *async = a;
    return status;
}

void lud_empo_async_destroy(lud_empo_async *a) {
    if (!a) return;
    pthread_mutex_lock(&a->lock);
    a->stop = true;
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->lock);
    for (int i = 0; a->actors && i < a->n_actors; i++) {
        actor_thread *t = &a->actors[i];
        if (t->started) pthread_join(t->thread, NULL);
        lud_empo_rollout_destroy(t->rollout);
        lud_empo_novelty_destroy(t->novelty);
        lud_empo_search_destroy(t->search);
        if (t->device) lud_empo_values_free(&t->values);
        lud_device_close(t->device);
        for (int k = 0; k < a->n_buffers; k++) lud_empo_replay_destroy(t->buffers[k]);
    }
    pthread_mutex_destroy(&a->lock);
    pthread_cond_destroy(&a->changed);
    LUD_FREE(a->actors, a->queue, a->weights, a);
}

/* ---- the learner's side ---- */

/* Under the lock. */
static void publish(lud_empo_async *a) {
    lud_device_download(a->values->device, a->weights, a->values->target->values,
                        a->n_target * sizeof *a->weights);
    if (a->novelty) lud_empo_novelty_export(a->novelty, a->weights + a->n_target);
    a->version++;
}

lud_status lud_empo_async_run(lud_empo_async *a, int64_t step, lud_error *error) {
    pthread_mutex_lock(&a->lock);
    if (a->paused) {
        a->step = step;
        publish(a);
        a->paused = false;
        pthread_cond_broadcast(&a->changed);
    }
    pthread_mutex_unlock(&a->lock);
    for (int i = 0; i < a->n_actors; i++) {
        actor_thread *t = &a->actors[i];
        if (t->started) continue;
        if (pthread_create(&t->thread, NULL, act, t) != 0)
            return lud_fail(error, LUD_ERROR_LIMIT, "no thread for actor %d", i);
        t->started = true;
    }
    return LUD_OK;
}

/* Moves the oldest buffer; called under the lock, which it gives up meanwhile. */
static bool move_oldest(lud_empo_async *a, lud_empo_replay *replay, int64_t step) {
    const queued_buffer h = a->queue[a->first];
    a->first = (a->first + 1) % (a->n_actors * a->n_buffers);
    a->n_queued--;
    const int64_t n = lud_empo_replay_count(h.buffer);
    a->queued_transitions -= n;
    pthread_mutex_unlock(&a->lock);
    bool fits = true;
    for (int64_t i = 0; i < n && fits; i++) {
        lud_empo_transition t = lud_empo_replay_get(h.buffer, i);
        t.inserted = step;
        fits = lud_empo_replay_push(replay, &t);
    }
    lud_empo_replay_clear(h.buffer);
    pthread_mutex_lock(&a->lock);
    a->taken += (uint64_t)n;
    h.owner->empty[h.owner->n_empty++] = h.buffer;
    pthread_cond_broadcast(&a->changed);
    return fits;
}

/* Under the lock: the first failure of an actor. */
static lud_status failure(const lud_empo_async *a, lud_error *error) {
    for (int i = 0; i < a->n_actors; i++)
        if (a->actors[i].status) {
            if (error) *error = a->actors[i].error;
            return a->actors[i].status;
        }
    return LUD_OK;
}

static lud_status too_large(lud_error *error) {
    return lud_fail(error, LUD_ERROR_LIMIT,
                    "a transition is larger than the replay memory; raise buffer_memory");
}

/* Under the lock: until something changes, or a tenth of a second, so that an interrupt is answered. */
static void wait_a_moment(lud_empo_async *a) {
    enum { TENTH = 100000000, SECOND = 1000000000 }; /* nanoseconds */
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += TENTH;
    if (until.tv_nsec >= SECOND) {
        until.tv_sec++;
        until.tv_nsec -= SECOND;
    }
    pthread_cond_timedwait(&a->changed, &a->lock, &until);
}

static int running(const lud_empo_async *a) {
    int n = 0;
    for (int i = 0; i < a->n_actors; i++) n += a->actors[i].started && !a->actors[i].status;
    return n;
}

lud_status lud_empo_async_dequeue(lud_empo_async *a, lud_empo_replay *replay, int64_t step, int64_t at_least,
                                  lud_error *error) {
    assert(!a->paused);
    pthread_mutex_lock(&a->lock);
    lud_status status = failure(a, error);
    const uint64_t before = a->taken;
    while (status == LUD_OK) {
        const bool enough = lud_empo_replay_count(replay) >= at_least;
        if (a->n_queued && (!enough || a->taken - before < DEQUEUE_AT_ONCE)) {
            if (!move_oldest(a, replay, step)) status = too_large(error);
            continue;
        }
        if (enough) break;
        status = lud_empo_replay_check_room(replay, at_least, error);
        if (status) break;
        if (!a->starved && a->n_standing > 0 && a->n_standing == running(a)) {
            a->starved = true;
            pthread_cond_broadcast(&a->changed);
        }
        wait_a_moment(a);
        status = failure(a, error);
        if (!status) status = lud_interrupt_check(error);
    }
    a->starved = false;
    pthread_mutex_unlock(&a->lock);
    return status;
}

lud_status lud_empo_async_pause(lud_empo_async *a, lud_empo_replay *replay, int64_t step, lud_error *error) {
    pthread_mutex_lock(&a->lock);
    a->paused = true;
    pthread_cond_broadcast(&a->changed);
    lud_status status = LUD_OK;
    while (status == LUD_OK && (a->n_parked < running(a) || a->n_queued)) {
        if (a->n_queued) {
            if (!move_oldest(a, replay, step)) status = too_large(error);
        } else {
            pthread_cond_wait(&a->changed, &a->lock);
        }
    }
    if (status == LUD_OK) status = failure(a, error);
    pthread_mutex_unlock(&a->lock);
    return status;
}

void lud_empo_async_trained(lud_empo_async *a, int64_t steps) {
    pthread_mutex_lock(&a->lock);
    a->step = steps;
    if (steps % a->sync_every == 0) publish(a);
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->lock);
}

lud_empo_async_counts lud_empo_async_get_counts(lud_empo_async *a) {
    lud_empo_async_counts counts = {0};
    pthread_mutex_lock(&a->lock);
    for (int i = 0; i < a->n_actors; i++) {
        const lud_empo_rollout_counts *own = &a->actors[i].counts;
        counts.actors.steps += own->steps;
        counts.actors.episodes += own->episodes;
        counts.actors.achieved += own->achieved;
        counts.actors.links += own->links;
        counts.actors.successors += own->successors;
        counts.actors.states_seen += own->states_seen;
    }
    counts.taken = a->taken;
    counts.waits = a->waits;
    counts.throttled = a->throttled;
    counts.published = a->version;
    counts.queued = a->queued_transitions;
    pthread_mutex_unlock(&a->lock);
    return counts;
}

void lud_empo_async_visit(lud_empo_async *a, lud_checkpoint *checkpoint) {
    assert(a->paused);
    char text[64];
    for (int i = 0; i < a->n_actors; i++) {
        snprintf(text, sizeof text, "actor%d.", i);
        lud_empo_rollout_visit(a->actors[i].rollout, text, checkpoint);
    }
    pthread_mutex_lock(&a->lock);
    lud_checkpoint_u64(checkpoint, "async.env_steps", &a->env_steps);
    for (int i = 0; i < a->n_actors; i++)
        a->actors[i].counts = lud_empo_rollout_get_counts(a->actors[i].rollout);
    pthread_mutex_unlock(&a->lock);
}
