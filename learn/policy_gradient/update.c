#include "learn/policy_gradient/update.h"

#include <assert.h>
#include <string.h>

/* A recorded piece: it calls operations and nothing else. */
static void enqueue_steps(void *context) {
    const lud_update *u = context;
    for (int g = 0; g < u->n_groups; g++) lud_optimiser_apply(u->optimiser, u->groups[g].group);
}

/* Rows of `gate`. */
enum { GATE_ADVANTAGE, GATE_LOG_PROB, GATE_UNIFORM, GATE_PRIORITY, GATE_WEIGHT, GATE_ARRAYS };

lud_status lud_update_create(lud_update *u, int64_t n_samples, int64_t max_rows, int64_t max_words,
                             lud_error *error) {
    const size_t n = (size_t)n_samples;
    lud_arrays *a = &u->arrays;
    lud_capture_start(&u->stepping, u->ppo.device, enqueue_steps, u);
    u->stepping.never = !lud_optimiser_records(u->optimiser);
    u->ppo.normaliser = u->normaliser;
    LUD_TAKE(a, u->chunks, n);
    LUD_TAKE(a, u->chosen, n);
    LUD_TAKE(a, u->row, n);
    if (u->ppo.options->gate.mode != LUD_GATE_OFF) {
        LUD_TAKE(a, u->weight, n);
        LUD_TAKE(a, u->gate, GATE_ARRAYS * n);
    }
    if (!a->failed && lud_ppo_create(&u->ppo, max_rows, max_words)) return LUD_OK;
    return lud_fail(error, LUD_ERROR_MEMORY, "out of memory for updates from %lld samples",
                    (long long)n_samples);
}

void lud_update_destroy(lud_update *u) {
    lud_capture_end(&u->stepping);
    lud_ppo_destroy(&u->ppo);
    lud_arrays_free(&u->arrays);
}

int lud_update_add_group(lud_update *u, int group, double rate) {
    if (group < 0) return -1;
    assert(u->n_groups < LUD_UPDATE_GROUPS);
    u->groups[u->n_groups].group = group;
    u->groups[u->n_groups].rate = rate;
    return u->n_groups++;
}

void lud_update_shuffle(lud_chunk *chunks, int64_t n, lud_random_key key, uint32_t epoch) {
    for (int64_t i = n - 1; i > 0; i--) {
        const lud_words words = lud_draw(key, (uint32_t)i, epoch, LUD_PURPOSE_SHUFFLE, 0);
        const int64_t j = lud_below(words.v[0], (uint32_t)(i + 1));
        const lud_chunk chunk = chunks[i];
        chunks[i] = chunks[j];
        chunks[j] = chunk;
    }
}

/* Weights of the minibatch's n samples by the gate: rows with weight 0 give no gradient. */
static void open_gate(lud_update *u, int64_t n, lud_random_key key, uint32_t epoch) {
    const lud_gate *gate = &u->ppo.options->gate;
    float *array[GATE_ARRAYS];
    for (int a = 0; a < GATE_ARRAYS; a++) array[a] = u->gate + a * n;
    for (int64_t i = 0; i < n; i++) {
        const int32_t s = u->row[i];
        const lud_words words = lud_draw(key, (uint32_t)s, epoch, LUD_PURPOSE_GATE, 0);
        array[GATE_ADVANTAGE][i] =
            (float)(((double)u->ppo.samples.advantage[s] - u->ppo.mean) / u->ppo.deviation);
        array[GATE_LOG_PROB][i] = u->ppo.samples.log_prob[s];
        array[GATE_UNIFORM][i] = lud_unit_float(words.v[0]);
    }
    lud_gate_priorities(gate->priority, gate->alpha, n, array[GATE_ADVANTAGE], array[GATE_LOG_PROB],
                        array[GATE_UNIFORM], array[GATE_PRIORITY]);
    lud_gate_weights(gate, n, array[GATE_PRIORITY], array[GATE_UNIFORM], array[GATE_WEIGHT], NULL,
                     array[GATE_ADVANTAGE]);
    for (int64_t i = 0; i < n; i++) u->weight[u->row[i]] = array[GATE_WEIGHT][i];
    u->ppo.weight = u->weight;
}

void lud_update_begin(lud_update *u, const lud_chunk *chunks, int64_t n, lud_random_key key, uint32_t epoch) {
    lud_ppo *p = &u->ppo;
    int64_t rows = 0;
    for (int64_t c = 0; c < n; c++)
        for (int64_t s = 0; s < chunks[c].length; s++)
            u->row[rows++] = (int32_t)(chunks[c].first + s * u->stride);
    u->n_slices = 0;
    u->minibatch = (lud_ppo_sums){0};
    p->scale = 1.0 / (double)rows;
    if (p->options->scale == LUD_ADVANTAGE_OF_MINIBATCH)
        lud_advantage_moments(rows, u->row, p->samples.advantage, &p->mean, &p->deviation);
    if (u->gate) open_gate(u, rows, key, epoch);
    lud_parameters_zero_gradients(u->parameters);
    if (u->normaliser) lud_value_normaliser_update(u->normaliser, rows, u->row, p->samples.returns);
}

/* The one place where processes that each have gradients of some rows of the minibatch add them up, between
 * the last slice and the optimiser's step. There is one process: its gradients are all there are. */
static void add_gradients_of_all_processes(lud_parameters *parameters) {
    (void)parameters;
}

void lud_update_step(lud_update *u) {
    add_gradients_of_all_processes(u->parameters);
    for (int g = 0; g < u->n_groups; g++)
        lud_optimiser_prepare(u->optimiser, u->groups[g].group, u->groups[g].rate);
    lud_capture_run(&u->stepping, 0); /* rows do not shape it */
    for (int g = 0; g < u->n_groups; g++)
        u->groups[g].norm += lud_optimiser_norm(u->optimiser, u->groups[g].group);
    u->n_stepped++;
    u->n_steps++;
}

/* The minibatch's chunks with the longest first, else in their order: slices of chunks of one length have no
 * row that is padding. */
static void choose(lud_update *u, const lud_chunk *chunks, int64_t n) {
    int32_t longest = 0, shortest = INT32_MAX;
    int64_t k = 0;
    for (int64_t c = 0; c < n; c++) {
        if (chunks[c].length > longest) longest = chunks[c].length;
        if (chunks[c].length < shortest) shortest = chunks[c].length;
    }
    for (int32_t length = longest; length >= shortest; length--)
        for (int64_t c = 0; c < n; c++)
            if (chunks[c].length == length) u->chosen[k++] = chunks[c];
}

static void add_sums(lud_ppo_sums *to, const lud_ppo_sums *x) {
    to->rows += x->rows;
    to->policy_loss += x->policy_loss;
    to->value_loss += x->value_loss;
    to->entropy += x->entropy;
    to->ratio += x->ratio;
    to->kl += x->kl;
    to->clipped += x->clipped;
}

/* `place`: minibatches of this update that are done, as a share of all. */
static lud_status beat(const lud_update *u, double place, lud_error *error) {
    return lud_progress_beat(u->progress, u->part_begin + (u->part_end - u->part_begin) * place, error);
}

static lud_status add_gradients(lud_update *u, int64_t n, double place, const lud_update_calls *calls,
                                void *learner, lud_error *error) {
    for (int64_t done = 0, taken = 0; done < n; done += taken, u->n_slices++) {
        lud_status status = beat(u, place, error);
        if (!status) status = calls->slice(learner, u->chosen + done, n - done, &taken, error);
        if (status) return status;
        assert(taken > 0);
    }
    add_sums(&u->sums, &u->minibatch);
    add_sums(&u->epoch, &u->minibatch);
    return LUD_OK;
}

static bool is_too_far(const lud_update *u) {
    const double target = u->ppo.options->target_kl;
    return target > 0.0 && u->minibatch.kl / u->minibatch.rows > 1.5 * target;
}

static void begin_epoch(lud_update *u, lud_random_key key, uint32_t epoch) {
    for (int64_t i = 0; i < u->n_chunks && u->alone; i++) u->chunks[i] = (lud_chunk){(int32_t)i, 1};
    lud_update_shuffle(u->chunks, u->n_chunks, key, epoch);
    u->epoch = (lud_ppo_sums){0};
}

lud_status lud_update_run(lud_update *u, uint64_t iteration, const lud_update_calls *calls, void *learner,
                          lud_error *error) {
    const lud_random_key key = {u->seed, (uint32_t)iteration};
    const int64_t n_epochs = u->ppo.options->epochs, parts = u->n_minibatches, size = u->minibatch_size;
    u->sums = (lud_ppo_sums){0};
    u->n_stepped = 0;
    for (int g = 0; g < u->n_groups; g++) u->groups[g].norm = 0.0;
    for (int64_t epoch = 0; epoch < n_epochs; epoch++) {
        begin_epoch(u, key, (uint32_t)epoch);
        for (int64_t b = 0; b < parts; b++) {
            const int64_t first = size > 0 ? b * size : b * u->n_chunks / parts;
            int64_t end = size > 0 ? first + size : (b + 1) * u->n_chunks / parts;
            if (end > u->n_chunks) end = u->n_chunks;
            if (calls->schedule)
                calls->schedule(learner,
                                ((double)iteration * (double)n_epochs + (double)epoch) * (double)parts +
                                    (double)b);
            choose(u, u->chunks + first, end - first);
            lud_update_begin(u, u->chunks + first, end - first, key, (uint32_t)epoch);
            const double place = (double)(epoch * parts + b) / (double)(n_epochs * parts);
            lud_status status = add_gradients(u, end - first, place, calls, learner, error);
            if (status) return status;
            if (is_too_far(u)) return LUD_OK;
            lud_profile_begin(u->profile, u->step_stage);
            lud_update_step(u);
            lud_profile_end(u->profile, u->step_stage);
        }
    }
    return LUD_OK;
}
