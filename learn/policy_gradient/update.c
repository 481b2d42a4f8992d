#include "learn/policy_gradient/update.h"

#include <assert.h>
#include <string.h>

const lud_metric lud_update_gate_columns[LUD_UPDATE_GATE_COLUMNS] = {
    {"gate/kept", "%.3f", "share of samples in backward passes of the policy"},
    {"gate/price", NULL, "delight from which on samples were kept, mean over the minibatches"}};

/* Numbers of the sums of a minibatch. */
enum { PPO_SUMS = sizeof(lud_ppo_sums) / sizeof(double) };
_Static_assert(sizeof(lud_ppo_sums) % sizeof(double) == 0, "sums are doubles");

/* Whether a group has had gradients in this minibatch. */
static bool steps(const lud_update *u, int g) {
    const lud_ppo_sums *m = &u->minibatch;
    const int pass = u->groups[g].pass;
    return (pass != LUD_PPO_CRITIC && m->rows > 0.0) || (pass != LUD_PPO_POLICY && m->value_rows > 0.0);
}

static void enqueue_groups(const lud_update *u, lud_device *device, int first, int end) {
    for (int g = first; g < end; g++)
        if (steps(u, g)) lud_optimiser_apply_on(u->optimiser, device, u->groups[g].group);
}
static void enqueue_first_groups(lud_device *device, void *update) {
    const lud_update *u = update;
    enqueue_groups(u, device, 0, u->n_groups - 1);
}
static void enqueue_last_group(lud_device *device, void *update) {
    const lud_update *u = update;
    enqueue_groups(u, device, u->n_groups - 1, u->n_groups);
}

/* A recorded piece: it calls operations and nothing else. Two halves, where there are two groups: actor and
 * critic. */
static void enqueue_steps(void *update) {
    lud_update *u = update;
    if (u->n_groups > 1 && lud_optimiser_records(u->optimiser))
        lud_device_run_both(u->ppo.device, enqueue_first_groups, u, enqueue_last_group, u);
    else
        enqueue_groups(u, u->ppo.device, 0, u->n_groups);
}

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
    lud_baseline_init(&u->baseline, &u->ppo.options->baseline);
    LUD_TRY(lud_shares_open(u->parameters, (int)u->ppo.options->shares, PPO_SUMS, &u->shares, error));
    assert(u->shares.n == 1 || u->n_environments >= u->shares.n);
    LUD_TRY(lud_minibatch_gate_create(&u->gate, &u->ppo.options->gate, n_samples, error));
    if (!a->failed && lud_ppo_create(&u->ppo, max_rows, max_words)) return LUD_OK;
    return lud_no_memory(error, "updates from %lld samples", (long long)n_samples);
}

void lud_update_destroy(lud_update *u) {
    lud_shares_close(&u->shares);
    lud_capture_end(&u->stepping);
    lud_ppo_destroy(&u->ppo);
    lud_minibatch_gate_destroy(&u->gate);
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

/* Weights of the minibatch's samples by the gate, and what its sums are divided by. */
static void open_gate(lud_update *u, const lud_chunk *chunks, int64_t n, lud_random_key key, uint32_t epoch) {
    lud_ppo *p = &u->ppo;
    lud_minibatch_gate_decide(&u->gate, chunks, n, u->row, p->samples.advantage, p->mean, p->deviation,
                              p->samples.log_prob, key, epoch);
    p->weight = u->gate.weight;
    p->scale = 1.0 / lud_gate_denominator(u->gate.options->normalise, u->gate.n_rows, u->gate.n_kept);
}

void lud_update_begin(lud_update *u, const lud_chunk *chunks, int64_t n, lud_random_key key, uint32_t epoch) {
    lud_ppo *p = &u->ppo;
    int64_t rows = 0;
    for (int64_t c = 0; c < n; c++)
        for (int64_t s = 0; s < chunks[c].length; s++)
            u->row[rows++] = (int32_t)(chunks[c].first + s * u->stride);
    u->n_slices = 0;
    u->minibatch = (lud_ppo_sums){0};
    p->pass = LUD_PPO_BOTH;
    p->scale = p->critic_scale = 1.0 / (double)rows;
    if (p->options->scale == LUD_ADVANTAGE_OF_MINIBATCH)
        lud_advantage_moments(rows, u->row, p->samples.advantage, &p->mean, &p->deviation);
    if (u->gate.options) open_gate(u, chunks, n, key, epoch);
    lud_shares_begin(&u->shares);
    if (u->normaliser) lud_value_normaliser_update(u->normaliser, rows, u->row, p->samples.returns);
}

void lud_update_step(lud_update *u) {
    uint64_t resting = 0; /* groups that rest; rows do not shape a step */
    if (u->minibatch.rows + u->minibatch.value_rows == 0.0) return;
    for (int g = 0; g < u->n_groups; g++) {
        if (steps(u, g))
            lud_optimiser_prepare(u->optimiser, u->groups[g].group, u->groups[g].rate);
        else
            resting |= UINT64_C(1) << g;
    }
    lud_capture_run(&u->stepping, resting);
    for (int g = 0; g < u->n_groups; g++)
        if (steps(u, g)) u->groups[g].norm += lud_optimiser_norm(u->optimiser, u->groups[g].group);
    u->n_stepped++;
    u->n_steps++;
}

static int share_of(const lud_update *u, const lud_chunk *chunk) {
    if (u->shares.n == 1) return 0;
    const int64_t per_environment = u->stride / u->n_environments;
    return lud_share_of(u->n_environments, u->shares.n, chunk->first % u->stride / per_environment);
}

/* The chunks of a share with the longest first, else in their order: slices of chunks of one length have no
 * row that is padding. Their number. */
static int64_t choose(lud_update *u, const lud_chunk *chunks, int64_t n, int share) {
    int32_t longest = 0, shortest = INT32_MAX;
    int64_t k = 0;
    for (int64_t c = 0; c < n; c++) {
        if (chunks[c].length > longest) longest = chunks[c].length;
        if (chunks[c].length < shortest) shortest = chunks[c].length;
    }
    for (int32_t length = longest; length >= shortest; length--)
        for (int64_t c = 0; c < n; c++)
            if (chunks[c].length == length && share_of(u, &chunks[c]) == share) u->chosen[k++] = chunks[c];
    return k;
}

void lud_ppo_sums_add(lud_ppo_sums *to, const lud_ppo_sums *x) {
    to->rows += x->rows;
    to->value_rows += x->value_rows;
    to->policy_loss += x->policy_loss;
    to->value_loss += x->value_loss;
    to->entropy += x->entropy;
    to->ratio += x->ratio;
    to->kl += x->kl;
    to->clipped += x->clipped;
}

/* Slices of the n chosen chunks. */
static lud_status add_pass(lud_update *u, lud_ppo_pass pass, int64_t n, const lud_update_calls *calls,
                           void *learner, lud_error *error) {
    const double part = u->part_begin + (u->part_end - u->part_begin) * u->place;
    u->ppo.pass = (int)pass;
    for (int64_t done = 0, taken = 0; done < n; done += taken, u->n_slices++) {
        lud_status status = lud_progress_beat(u->progress, part, error);
        if (!status) status = calls->slice(learner, u->chosen + done, n - done, &taken, error);
        if (status) return status;
        assert(taken > 0);
    }
    return LUD_OK;
}

/* Gradients of the n chosen chunks. */
static lud_status add_chosen(lud_update *u, int64_t n, const lud_update_calls *calls, void *learner,
                             lud_error *error) {
    const lud_gate *gate = u->gate.options;
    lud_status status = LUD_OK;
    if (gate && gate->critic == LUD_GATE_CRITIC_ALL)
        status = add_pass(u, LUD_PPO_CRITIC, n, calls, learner, error);
    if (gate && !status) {
        const int64_t kept = lud_minibatch_gate_compact(&u->gate, u->chosen, n);
        const bool alone = gate->critic == LUD_GATE_CRITIC_ALL;
        status = add_pass(u, alone ? LUD_PPO_POLICY : LUD_PPO_BOTH, kept, calls, learner, error);
    } else if (!status) {
        status = add_pass(u, LUD_PPO_BOTH, n, calls, learner, error);
    }
    return status;
}

/* The shares of this process, one after the other. */
static lud_status add_own_shares(lud_update *u, const lud_chunk *chunks, int64_t n,
                                 const lud_update_calls *calls, void *learner, lud_error *error) {
    for (int s = u->shares.first; s < u->shares.end; s++) {
        const int64_t chosen = choose(u, chunks, n, s);
        u->minibatch = (lud_ppo_sums){0};
        u->n_slices = (uint32_t)(s * LUD_UPDATE_SLICES / u->shares.n);
        if (chosen > 0 || u->shares.n == 1) LUD_TRY(add_chosen(u, chosen, calls, learner, error));
        if (calls->add_up) calls->add_up(learner);
        lud_shares_keep(&u->shares, s, 1.0, (const double *)&u->minibatch);
    }
    return LUD_OK;
}

/* Gradients of a minibatch, those of all processes: the one place where they are added up, between the last
 * slice and the optimiser's step. */
static lud_status add_gradients(lud_update *u, const lud_chunk *chunks, int64_t n,
                                const lud_update_calls *calls, void *learner, lud_error *error) {
    const lud_status status = add_own_shares(u, chunks, n, calls, learner, error);
    return lud_shares_add(&u->shares, status, (double *)&u->minibatch, error);
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

static int64_t n_samples(const lud_update *u) {
    int64_t n = 0;
    for (int64_t c = 0; c < u->n_chunks; c++) n += u->alone ? 1 : u->chunks[c].length;
    return n;
}

lud_status lud_update_run(lud_update *u, uint64_t iteration, const lud_update_calls *calls, void *learner,
                          lud_error *error) {
    const lud_random_key key = {u->seed, (uint32_t)iteration};
    const int64_t n_epochs = u->ppo.options->epochs, parts = u->n_minibatches, size = u->minibatch_size;
    u->sums = (lud_ppo_sums){0};
    u->n_stepped = 0;
    lud_minibatch_gate_begin(&u->gate, n_samples(u));
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
            lud_update_begin(u, u->chunks + first, end - first, key, (uint32_t)epoch);
            u->place = (double)(epoch * parts + b) / (double)(n_epochs * parts);
            LUD_TRY(add_gradients(u, u->chunks + first, end - first, calls, learner, error));
            lud_ppo_sums_add(&u->sums, &u->minibatch);
            lud_ppo_sums_add(&u->epoch, &u->minibatch);
            if (is_too_far(u)) return LUD_OK;
            lud_profile_begin(u->profile, u->step_stage);
            lud_update_step(u);
            lud_profile_end(u->profile, u->step_stage);
        }
    }
    return LUD_OK;
}

void lud_update_visit(lud_update *u, lud_checkpoint *checkpoint) {
    const int type = u->baseline.options.type;
    lud_minibatch_gate_visit(&u->gate, checkpoint);
    if (type == LUD_BASELINE_EMA_ONLY || type == LUD_BASELINE_WARMUP_THEN_EMA)
        lud_baseline_visit(&u->baseline, checkpoint, "baseline");
}

int lud_update_n_gate_columns(const lud_policy_gradient_options *options) {
    return options->gate.mode != LUD_GATE_OFF ? LUD_UPDATE_GATE_COLUMNS : 0;
}

void lud_update_gate_row(const lud_update *u, double *row) {
    if (!u->gate.options) return;
    row[0] = lud_minibatch_gate_share(&u->gate);
    row[1] = lud_minibatch_gate_price(&u->gate);
}
