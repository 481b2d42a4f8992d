#include "learn/proof_ppo/evaluation/ranking.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "learn/proof_ppo/evaluation/refuter.h"
#include "learn/proof_ppo/search/beam.h"
#include "learn/proof_ppo/search/best_first.h"

enum { MAX_CANDIDATES = 1 << 20 };        /* played in one go; bounds memory */
enum { REMEMBERED_BYTES = 64 * 1 << 20 }; /* of heads of states */

struct lud_proof_ranker {
    lud_proof_net *net;
    const lud_proof_model *model;
    lud_proof_rank_options options;
    lud_proof_corrupt corrupt;
    const lud_kge *kge;     /* or null */
    lud_proof_batch *batch; /* or one of the two: */
    lud_proof_beam *beam;
    lud_proof_best_first *best_first;
    lud_proof_decisions decisions;
    lud_arrays arrays;
    int32_t *actions;  /* [slots] */
    double *running;   /* [slots] log-probability so far */
    double *odds;      /* [slots] log-odds of going on so far, summed over */
    int32_t *n_odds;   /* [slots] so many decisions */
    double *log_probs; /* [largest number of successors] */
    int32_t width;     /* candidates of a query in one mode, the true triple not counted */
    int32_t n_modes, max_queries;
    int n_shares;
    bool play_all;                            /* also what the exact prover refutes, and to the end */
    lud_proof_refuter refuter;                /* what it has derived serves all rankings */
    int64_t state_worth;                      /* lud_proof_refuter_worth of the network */
    lud_proof_remembered remembered, nothing; /* heads of states, and none */
    bool forgetful;                           /* keep none */
    lud_proof_atom *candidates;               /* [max_queries][1 + n_modes * width] */
    lud_proof_found *played;                  /* the same */
    double *embedded;                         /* the same: scores of the embeddings */
    lud_proof_atom *chosen;                   /* the same: those that are played together, */
    lud_proof_found *found;                   /* what became of them, */
    int32_t *place;                           /* and which candidates they are */
    uint8_t *refuted;     /* [max_queries][1 + n_modes * width] by the exact prover, as far as asked */
    double *score, *draw; /* [1 + width] */
    lud_profile profile;
    uint64_t steps;
    lud_progress *progress;
    double part_begin, part_end, part, part_after; /* of all rankings, of what is being played */
};

static const char *const stages[LUD_PROOF_RANK_STAGES] = {"network", "environments", "the rest"};

/* What is needed to play candidates as the options say. */
static lud_status open_player(lud_proof_ranker *r, int n_threads, lud_error *error) {
    const lud_proof_rank_options *o = &r->options;
    const int32_t n_slots = (int32_t)o->n_slots;
    if (!r->net) return LUD_OK;
    LUD_TRY(lud_proof_refuter_create(r->model->base, &r->refuter, error));
    r->state_worth = lud_proof_refuter_worth(lud_proof_net_weights(r->net));
    const bool on_cpu = r->net->parameters->device->backend->host_memory;
    LUD_TRY(lud_proof_remembered_create(r->net->width, on_cpu ? REMEMBERED_BYTES : 0, &r->remembered, error));
    if (o->best_first > 0)
        return lud_proof_best_first_create(r->net, n_slots, (int32_t)o->best_first, &r->best_first, error);
    if (o->beam > 1) return lud_proof_beam_create(r->net, n_slots, (int32_t)o->beam, &r->beam, error);
    lud_proof_batch_options batch =
        lud_proof_evaluation_options((lud_proof_pool){0}, n_slots, (uint64_t)o->tie_seed);
    batch.n_threads = n_threads;
    LUD_TRY(lud_proof_batch_create(r->model, &batch, &r->batch, error));
    LUD_TRY(lud_proof_decisions_create(r->model, n_slots, lud_proof_net_sees(r->net), &r->decisions, error));
    r->decisions.sorted = true;
    return LUD_OK;
}

lud_status lud_proof_ranker_create(const lud_proof_model *model, lud_proof_net *net,
                                   const lud_proof_rank_options *options, lud_proof_corrupt corrupt,
                                   int n_threads, lud_proof_ranker **out, lud_error *error) {
    *out = NULL;
    lud_proof_ranker *r = calloc(1, sizeof *r);
    if (!r) return lud_no_memory(error, "a ranking");
    const size_t n_slots = (size_t)options->n_slots;
    r->profile = (lud_profile){.title = "ranking", .stages = stages, .n = LUD_PROOF_RANK_STAGES};
    r->net = net;
    r->model = model;
    r->options = *options;
    r->corrupt = corrupt;
    r->n_shares = 1;
    r->n_modes = corrupt == LUD_PROOF_BOTH ? 2 : 1;
    r->width = options->candidates > 0 && options->candidates < model->base->n_constants
                   ? (int32_t)options->candidates
                   : model->base->n_constants;
    const int32_t a_query = 1 + r->n_modes * r->width;
    r->max_queries = MAX_CANDIDATES / a_query > 0 ? MAX_CANDIDATES / a_query : 1;
    const size_t n = (size_t)r->max_queries * (size_t)a_query;
    lud_status status = open_player(r, n_threads, error);
    lud_arrays *a = &r->arrays;
    LUD_TAKE(a, r->actions, n_slots);
    LUD_TAKE(a, r->running, n_slots);
    LUD_TAKE(a, r->odds, n_slots);
    LUD_TAKE(a, r->n_odds, n_slots);
    LUD_TAKE(a, r->log_probs, (size_t)model->limits.max_successors);
    LUD_TAKE(a, r->candidates, n);
    LUD_TAKE(a, r->played, n);
    LUD_TAKE(a, r->embedded, n);
    LUD_TAKE(a, r->chosen, n);
    LUD_TAKE(a, r->found, n);
    LUD_TAKE(a, r->place, n);
    LUD_TAKE(a, r->refuted, n);
    LUD_TAKE(a, r->score, (size_t)r->width + 1);
    LUD_TAKE(a, r->draw, (size_t)r->width + 1);
    if (!status && a->failed) status = lud_no_memory(error, "a ranking");
    if (status)
        lud_proof_ranker_destroy(r);
    else
        *out = r;
    return status;
}

void lud_proof_ranker_destroy(lud_proof_ranker *r) {
    if (!r) return;
    lud_proof_batch_destroy(r->batch);
    lud_proof_beam_destroy(r->beam);
    lud_proof_best_first_destroy(r->best_first);
    lud_proof_decisions_free(&r->decisions);
    lud_proof_refuter_free(&r->refuter);
    lud_proof_remembered_free(&r->remembered);
    lud_arrays_free(&r->arrays);
    free(r);
}

/* ---- scores ---- */

/* The score of a proof, or of none. */
static double proof_score(const lud_proof_ranker *r, const lud_proof_found *played) {
    if (r->options.score == LUD_PROOF_SCORE_ODDS)
        return played->odds - (played->proved ? 0.0 : r->options.fail_penalty);
    if (played->proved) return played->log_prob;
    double failure = played->log_prob;
    if (r->options.failure == LUD_PROOF_FAILURE_COMPLEMENT)
        failure = log(fmax(-expm1(fmin(played->log_prob, 0.0)), 1e-30));
    return failure - r->options.fail_penalty;
}

/* Whether a rule says p(x, y) <- p(y, x). */
static bool is_symmetric(const lud_proof_base *base, int32_t predicate) {
    for (int32_t k = base->rule_begin[predicate]; k < base->rule_begin[predicate + 1]; k++) {
        const lud_proof_rule *rule = &base->rules[k];
        if (base->arity[predicate] == 2 && rule->n_body == 1 && rule->body[0].predicate == predicate &&
            rule->head.terms[0] < 0 && rule->head.terms[1] < 0 &&
            rule->head.terms[0] != rule->head.terms[1] && rule->body[0].terms[0] == rule->head.terms[1] &&
            rule->body[0].terms[1] == rule->head.terms[0])
            return true;
    }
    return false;
}

/* What candidate i of the queries in hand scores when that became of it. */
static double score_with(const lud_proof_ranker *r, size_t i, const lud_proof_found *played) {
    const lud_proof_fusion *f = &r->options.fusion;
    const int kind = r->kge ? f->kind : LUD_PROOF_FUSION_NONE;
    const double lk = kind == LUD_PROOF_FUSION_NONE ? 0.0 : lud_kge_log_probability(r->embedded[i]);
    switch (kind) {
    case LUD_PROOF_FUSION_HYBRID:
        return f->kge_weight * lk + (played->proved ? f->proof_weight : -f->fail_penalty);
    case LUD_PROOF_FUSION_PAPER:
        return played->proved ? 2.0 * lk + played->log_prob : lk - 100.0;
    case LUD_PROOF_FUSION_LINEAR:
    case LUD_PROOF_FUSION_GATED: {
        const double alpha = kind == LUD_PROOF_FUSION_GATED && !played->proved ? f->alpha_failed : f->alpha;
        return alpha * proof_score(r, played) + (1.0 - alpha) * lk;
    }
    case LUD_PROOF_FUSION_PREDICATE: {
        const double proof =
            is_symmetric(r->model->base, r->candidates[i].predicate) ? f->symmetric_weight : 0.0;
        return f->kge_weight * lk + proof * (played->proved ? 1.0 : -f->fail_penalty);
    }
    case LUD_PROOF_FUSION_KGE:
        return r->embedded[i]; /* lk itself cannot tell scores far above zero apart */
    default:
        return proof_score(r, played);
    }
}

static double score_of(const lud_proof_ranker *r, size_t i) {
    return score_with(r, i, &r->played[i]);
}

/* ---- playing ---- */

/* Whether the last successor of a slot's state is to give up. */
static bool offers_end(const lud_proof_batch *batch, int32_t slot) {
    const lud_proof_lists *lists = &batch->successors;
    const lud_proof_atom *last = lists->atoms + lists->begin[batch->slot_begin[slot + 1] - 1];
    return last->predicate == lud_proof_end(batch->model->base);
}

/* The most probable action of every slot, and its log-probability added up. */
static void choose(lud_proof_ranker *r) {
    lud_proof_decisions *d = &r->decisions;
    lud_proof_decisions_clear(d);
    lud_proof_decisions_add_batch(d, r->batch);
    for (int32_t done = 0; done < d->n;) {
        lud_profile_begin(&r->profile, LUD_PROOF_RANK_NETWORK);
        const int32_t taken = lud_proof_net_load(r->net, d, NULL, done, d->n - done);
        lud_proof_net_forward(r->net, false);
        lud_profile_end(&r->profile, LUD_PROOF_RANK_NETWORK);
        for (int32_t i = 0; i < taken; i++) {
            const int32_t begin = r->net->begin[i], count = r->net->begin[i + 1] - begin;
            int32_t best = 0;
            if (count > 0) lud_proof_log_softmax(r->net->logits + begin, count, r->log_probs);
            const bool may_end = count > 1 && offers_end(r->batch, done + i);
            const int32_t n = may_end && !r->options.give_up ? count - 1 : count;
            for (int32_t k = 1; k < n; k++)
                if (r->log_probs[k] > r->log_probs[best]) best = k;
            r->actions[done + i] = best;
            if (count == 0) continue;
            r->running[done + i] += r->log_probs[best];
            if (!may_end) continue;
            r->odds[done + i] += lud_proof_log_odds_of_going_on(r->net->logits + begin, count);
            r->n_odds[done + i]++;
        }
        done += taken;
    }
}

static void begin_slot(lud_proof_ranker *r, int slot) {
    r->running[slot] = r->odds[slot] = 0.0;
    r->n_odds[slot] = 0;
}

/* Whether the exact prover knows that candidate i has no proof, and how it ranks against its true triple
 * cannot change any more on a path of this log-probability so far. A path's log-probability only falls: the
 * score of a failure then falls with it, or rises where it is that of the complement, with a margin for what
 * logarithms are rounded by. */
static bool is_settled(const lud_proof_ranker *r, int32_t i, double log_prob) {
    if (!r->refuted[i] || r->options.score == LUD_PROOF_SCORE_ODDS) return false;
    const size_t truth = (size_t)i - (size_t)i % (size_t)(1 + r->n_modes * r->width);
    const double score = score_with(r, (size_t)i, &(lud_proof_found){.log_prob = log_prob}),
                 true_score = score_of(r, truth);
    if (r->options.failure == LUD_PROOF_FAILURE_COMPLEMENT)
        return score > true_score + 1e-9 * (1.0 + fabs(true_score));
    return score < true_score;
}

/* Leaves the paths whose ranks are known; place[]: which candidates the list holds. Returns how many. */
static int32_t leave_settled(lud_proof_ranker *r, const int32_t *place, lud_proof_found *out) {
    const lud_proof_batch *batch = r->batch;
    int32_t n = 0;
    for (int slot = 0; slot < batch->n_slots; slot++) {
        const int32_t at = batch->pointer[slot];
        if (batch->resting[slot] || !is_settled(r, place[at], r->running[slot])) continue;
        out[at] = (lud_proof_found){.log_prob = r->running[slot]};
        lud_proof_batch_abandon(r->batch, slot);
        begin_slot(r, slot);
        n++;
    }
    return n;
}

/* Whether to go on, with so many of n candidates played. */
static bool goes_on(const lud_proof_ranker *r, int32_t played, int32_t n) {
    return !lud_progress_beat(r->progress, r->part + (r->part_after - r->part) * played / n, NULL);
}

/* Slots take the next candidate as soon as they are free, until all have been played. place[n] (or null):
 * which candidates they are, for those whose rank is known before their end. */
static void play_greedily(lud_proof_ranker *r, const lud_proof_atom *atoms, const int32_t *place, int32_t n,
                          lud_proof_found *out) {
    lud_proof_batch *batch = r->batch;
    double *seconds = r->profile.seconds;
    const double start =
        lud_clock_seconds() - seconds[LUD_PROOF_RANK_NETWORK] - seconds[LUD_PROOF_RANK_EXPANSION];
    for (int slot = 0; slot < batch->n_slots; slot++) begin_slot(r, slot);
    lud_proof_batch_play(batch, (lud_proof_pool){.atoms = atoms, .n = n}, NULL);
    int32_t n_played = 0;
    while (!lud_proof_batch_is_done(batch) && goes_on(r, n_played, n)) {
        choose(r);
        if (place) n_played += leave_settled(r, place, out);
        lud_profile_begin(&r->profile, LUD_PROOF_RANK_EXPANSION);
        lud_proof_batch_step_reset(batch, r->actions);
        lud_profile_end(&r->profile, LUD_PROOF_RANK_EXPANSION);
        r->steps++;
        for (int slot = 0; slot < batch->n_slots; slot++) {
            if (!batch->terminated[slot] && !batch->truncated[slot]) continue;
            out[batch->query[slot]] = (lud_proof_found){
                .log_prob = r->running[slot],
                .length = batch->length[slot],
                .proved = batch->success[slot] != 0,
                .odds = r->n_odds[slot] > 0 ? r->odds[slot] / r->n_odds[slot] : 0.0,
            };
            begin_slot(r, slot);
            n_played++;
        }
    }
    seconds[LUD_PROOF_RANK_REST] +=
        lud_clock_seconds() - start - seconds[LUD_PROOF_RANK_NETWORK] - seconds[LUD_PROOF_RANK_EXPANSION];
    lud_profile_call(&r->profile);
}

const lud_profile *lud_proof_ranker_profile(const lud_proof_ranker *r) {
    return &r->profile;
}

uint64_t lud_proof_ranker_steps(const lud_proof_ranker *r) {
    return r->steps;
}

uint64_t lud_proof_ranker_states(const lud_proof_ranker *r) {
    return r->remembered.news + r->nothing.news;
}

static void play_beams(lud_proof_ranker *r, const lud_proof_atom *atoms, int32_t n, lud_proof_found *out) {
    for (int32_t done = 0; done < n && goes_on(r, done, n);) {
        const int32_t slots = (int32_t)r->options.n_slots, m = n - done < slots ? n - done : slots;
        lud_proof_beam_run(r->beam, atoms + done, m, out + done, NULL);
        done += m;
    }
}

static lud_status play(lud_proof_ranker *r, const lud_proof_atom *atoms, const int32_t *place, int32_t n,
                       lud_proof_found *out, lud_error *error) {
    for (int32_t i = 0; i < n; i++) out[i] = (lud_proof_found){-1e9, 0, false, -1e9};
    if (r->net) lud_proof_net_remember(r->net, r->forgetful ? &r->nothing : &r->remembered);
    if (r->best_first)
        lud_proof_best_first_run(r->best_first, atoms, n, out, NULL);
    else if (r->beam)
        play_beams(r, atoms, n, out);
    else if (r->batch)
        play_greedily(r, atoms, place, n, out);
    if (r->net) lud_proof_net_remember(r->net, NULL);
    lud_status status = lud_interrupt_check(error); /* it stopped in the middle */
    if (status) return status;
    return r->net ? lud_device_check(r->net->parameters->device, error) : LUD_OK;
}

static lud_ranks *ranks_of(const lud_proof_ranker *r) {
    return r->net ? r->net->parameters->device->ranks : NULL;
}

void lud_proof_ranker_share(lud_proof_ranker *r, int n_shares) {
    r->n_shares = n_shares;
}

/* Each process plays the stretches of the list that are its shares. */
static lud_status play_list(lud_proof_ranker *r, const lud_proof_atom *atoms, const int32_t *place, int32_t n,
                            lud_proof_found *out, lud_error *error) {
    lud_ranks *ranks = ranks_of(r);
    const int n_shares = r->n_shares, rank = lud_ranks_rank(ranks);
    lud_status status = LUD_OK;
    for (int s = lud_ranks_first_share(ranks, n_shares, rank);
         s < lud_ranks_first_share(ranks, n_shares, rank + 1) && !status; s++) {
        const int32_t first = (int32_t)lud_share_begin(n, n_shares, s);
        status = play(r, atoms + first, place ? place + first : NULL,
                      (int32_t)lud_share_begin(n, n_shares, s + 1) - first, out + first, error);
    }
    if (!ranks) return status;
    LUD_TRY(lud_ranks_agree(ranks, status, error));
    const lud_ranks_array all = {out, sizeof *out, 1, n};
    return lud_ranks_complete(ranks, &all, 1, n_shares, error);
}

lud_status lud_proof_play(lud_proof_ranker *r, const lud_proof_atom *atoms, int32_t n, lud_proof_found *out,
                          lud_error *error) {
    lud_proof_remembered_forget(&r->remembered);
    return play_list(r, atoms, NULL, n, out, error);
}

/* ---- ranking ---- */

double lud_proof_rank_first(const double *score, const double *draw, int32_t n, double *mean_rank) {
    int32_t above = 0, equal = 0, lost = 0;
    for (int32_t i = 1; i < n; i++) {
        above += !(score[i] <= score[0]); /* what cannot be compared is above too */
        equal += score[i] == score[0];
        lost += score[i] == score[0] && draw[i] > draw[0];
    }
    if (mean_rank) *mean_rank = 1.0 + above + 0.5 * equal;
    return 1.0 + above + lost;
}

void lud_proof_ranker_show(lud_proof_ranker *r, lud_progress *progress, double begin, double end) {
    r->progress = progress;
    r->part_begin = begin;
    r->part_end = end;
}

void lud_proof_ranker_play_all(lud_proof_ranker *r, bool all) {
    r->play_all = all;
}

void lud_proof_ranker_forget(lud_proof_ranker *r, bool forgetful) {
    r->forgetful = forgetful;
}

void lud_proof_ranker_use_kge(lud_proof_ranker *r, const lud_kge *kge) {
    r->kge = kge;
}

/* Whether the score of what is not proved depends on how it failed. */
static bool failures_differ(const lud_proof_ranker *r) {
    const lud_proof_fusion *f = &r->options.fusion;
    if (!r->kge || f->kind == LUD_PROOF_FUSION_NONE) return true;
    return (f->kind == LUD_PROOF_FUSION_LINEAR && f->alpha != 0.0) ||
           (f->kind == LUD_PROOF_FUSION_GATED && f->alpha_failed != 0.0);
}

/* The failure of the highest score that there can be; scores do not fall with a proof's. A logit of two
 * vectors of length 1 is at most 1 / temperature, so going on has at most the odds exp(2 / temperature) times
 * the successors. */
static lud_proof_found best_failure(const lud_proof_ranker *r) {
    const lud_proof_net_options *net = &r->net->options;
    const double successors = (double)r->model->limits.max_successors;
    return (lud_proof_found){
        .log_prob = r->options.failure == LUD_PROOF_FAILURE_COMPLEMENT ? -HUGE_VAL : 0.0,
        .odds = net->l2_norm ? fmax(0.0, 2.0 / net->temperature + log(successors)) : HUGE_VAL,
    };
}

static double draw_of(const lud_proof_ranker *r, int32_t query, int mode, int32_t candidate) {
    const lud_words w = lud_draw((lud_random_key){(uint64_t)r->options.tie_seed, (uint32_t)query},
                                 (uint32_t)candidate, (uint32_t)mode, LUD_PURPOSE_USER, 0);
    return lud_unit53(w.v[0], w.v[1]);
}

/* Ranks candidate `first`, the true triple, among those at first + begin ... that are not blank. */
static lud_proof_ranked rank_mode(lud_proof_ranker *r, size_t first, int32_t begin, int32_t query, int mode) {
    lud_proof_ranked ranked = {.played = true};
    r->score[0] = score_of(r, first);
    r->draw[0] = draw_of(r, query, mode, 0);
    int32_t n = 1;
    for (int32_t i = 0; i < r->width; i++) {
        const size_t at = first + (size_t)(begin + i);
        if (r->candidates[at].predicate == 0) continue;
        r->score[n] = score_of(r, at);
        r->draw[n] = draw_of(r, query, mode, 1 + i);
        n++;
        ranked.n_negatives_proved += r->played[at].proved;
    }
    ranked.n_negatives = n - 1;
    ranked.rank = lud_proof_rank_first(r->score, r->draw, n, &ranked.mean_rank);
    return ranked;
}

static void fill_candidates(lud_proof_ranker *r, const lud_proof_atom *query, int32_t index,
                            lud_proof_atom *out) {
    out[0] = *query;
    for (int m = 0; m < r->n_modes; m++) {
        const lud_proof_corrupt mode = r->n_modes == 2 ? (lud_proof_corrupt)m : r->corrupt;
        lud_proof_atom *list = out + 1 + (size_t)m * (size_t)r->width;
        const lud_random_key key = {(uint64_t)r->options.tie_seed, (uint32_t)index};
        memset(list, 0, (size_t)r->width * sizeof *list);
        lud_proof_corruptions(r->model, query, mode,
                              r->options.candidates > 0 && r->width == r->options.candidates ? r->width : 0,
                              key, (uint32_t)mode, list, r->width);
    }
}

/* Plays the candidates in place[n]. */
static lud_status play_chosen(lud_proof_ranker *r, int32_t n, lud_error *error) {
    for (int32_t i = 0; i < n; i++) r->chosen[i] = r->candidates[r->place[i]];
    LUD_TRY(play_list(r, r->chosen, r->place, n, r->found, error));
    for (int32_t i = 0; i < n; i++) r->played[r->place[i]] = r->found[i];
    return LUD_OK;
}

/* Where a corruption differs from its query. */
static int corrupted_argument(const lud_proof_ranker *r, const lud_proof_atom *query,
                              const lud_proof_atom *candidate) {
    int argument = 0;
    while (argument < r->model->base->arity[query->predicate] - 1 &&
           query->terms[argument] == candidate->terms[argument])
        argument++;
    return argument;
}

/* What playing the candidates of query q in one mode costs, in matches of the exact prover: a guess by the
 * path of its true triple. */
static int64_t cost_of_playing(const lud_proof_ranker *r, int32_t q) {
    enum { STATES_A_STEP = 8 };
    const int32_t length = r->played[q * (1 + r->n_modes * r->width)].length;
    return (int64_t)r->width * (1 + length) * STATES_A_STEP * r->state_worth;
}

/* Adds the candidates of query q whose ranks are open to place[n]. Settled are those without a proof that
 * rank the same however they fail: they lose against the true triple, which has been played, or have the
 * score of all failures. */
static lud_status choose_candidates(lud_proof_ranker *r, int32_t q, int32_t *n, lud_error *error) {
    const int32_t first = q * (1 + r->n_modes * r->width);
    const lud_proof_atom *query = &r->candidates[first];
    const lud_proof_found failure = best_failure(r);
    const double true_score = score_of(r, (size_t)first);
    /* where most probable paths are followed, those that cannot be proved need not go on to their end */
    const bool leaves = r->batch && r->options.score == LUD_PROOF_SCORE_PATH;
    const int64_t worth = cost_of_playing(r, q);
    int asked = -1; /* about this argument */
    for (int32_t i = first + 1; i <= first + r->n_modes * r->width; i++) {
        const lud_proof_atom *candidate = &r->candidates[i];
        if (candidate->predicate == 0) continue;
        const bool matters = failures_differ(r) && !(score_with(r, (size_t)i, &failure) < true_score);
        const int argument = corrupted_argument(r, query, candidate);
        if ((leaves || !matters) && !r->play_all && argument != asked)
            LUD_TRY(lud_proof_refuter_ask(&r->refuter, query, asked = argument, worth, error));
        r->refuted[i] = argument == asked && lud_proof_refutes(&r->refuter, candidate->terms[argument]);
        if (!matters && r->refuted[i])
            r->played[i] = failure;
        else
            r->place[(*n)++] = i;
    }
    return LUD_OK;
}

/* Plays the true triples of m queries, then those of their corruptions whose ranks that leaves open. */
static lud_status play_queries(lud_proof_ranker *r, int32_t m, lud_error *error) {
    const int32_t a_query = 1 + r->n_modes * r->width;
    const double part = r->part, part_after = r->part_after;
    int32_t n = 0;
    if (r->kge) lud_kge_score_atoms(r->kge, r->candidates, m * a_query, r->embedded);
    if (!r->net) return lud_proof_play(r, r->candidates, m * a_query, r->played, error);
    for (int32_t q = 0; q < m; q++) r->place[n++] = q * a_query;
    r->part_after = part + (part_after - part) / a_query;
    memset(r->refuted, 0, (size_t)m * (size_t)a_query);
    LUD_TRY(play_chosen(r, n, error));
    for (int32_t q = 0; q < m; q++) lud_proof_refuter_allow(&r->refuter, r->n_modes * cost_of_playing(r, q));
    n = 0;
    for (int32_t q = 0; q < m; q++) {
        LUD_TRY(lud_ranks_agree(ranks_of(r), lud_interrupt_check(error), error));
        LUD_TRY(choose_candidates(r, q, &n, error));
    }
    r->part = r->part_after;
    r->part_after = part_after;
    return play_chosen(r, n, error);
}

lud_status lud_proof_rank(lud_proof_ranker *r, lud_proof_pool pool, int32_t first, int32_t n,
                          lud_proof_ranking_query *out, lud_error *error) {
    const int32_t a_query = 1 + r->n_modes * r->width;
    lud_status status = LUD_OK;
    lud_proof_remembered_forget(&r->remembered);
    for (int32_t done = 0; done < n && !status;) {
        const int32_t m = n - done < r->max_queries ? n - done : r->max_queries;
        for (int32_t q = 0; q < m; q++)
            fill_candidates(r, &pool.atoms[first + done + q], first + done + q,
                            r->candidates + (size_t)q * (size_t)a_query);
        r->part = r->part_begin + (r->part_end - r->part_begin) * done / n;
        r->part_after = r->part_begin + (r->part_end - r->part_begin) * (done + m) / n;
        status = play_queries(r, m, error);
        for (int32_t q = 0; q < m && !status; q++) {
            const size_t at = (size_t)q * (size_t)a_query;
            lud_proof_ranking_query *result = &out[done + q];
            *result = (lud_proof_ranking_query){.index = first + done + q, .played = r->played[at]};
            for (int k = 0; k < r->n_modes; k++) {
                const int mode = r->n_modes == 2 ? k : (int)r->corrupt;
                result->modes[mode] = rank_mode(r, at, 1 + k * r->width, first + done + q, mode);
            }
        }
        done += m;
    }
    return status;
}

lud_proof_ranking_summary lud_proof_ranking_summarise(const lud_proof_rank_options *options,
                                                      const lud_proof_ranking_query *queries, int32_t n,
                                                      const uint8_t *keep) {
    lud_proof_ranking_summary s = {0};
    double sums[2][4] = {{0.0}}, counts[2] = {0.0}, length = 0.0;
    for (int32_t i = 0; i < n; i++) {
        if (keep && !keep[i]) continue;
        s.n_queries++;
        s.n_proved += queries[i].played.proved;
        if (queries[i].played.proved) length += queries[i].played.length;
        for (int mode = 0; mode < 2; mode++) {
            const lud_proof_ranked *ranked = &queries[i].modes[mode];
            if (!ranked->played) continue;
            const double rank = options->ties == LUD_PROOF_TIES_MEAN ? ranked->mean_rank : ranked->rank;
            counts[mode]++;
            sums[mode][0] += 1.0 / rank;
            sums[mode][1] += rank <= 1.0;
            sums[mode][2] += rank <= 3.0;
            sums[mode][3] += rank <= 10.0;
            s.n_negatives += ranked->n_negatives;
            s.n_negatives_proved += ranked->n_negatives_proved;
        }
    }
    double mean[4] = {0.0};
    const int n_modes = (counts[0] > 0.0) + (counts[1] > 0.0);
    for (int mode = 0; mode < 2; mode++) {
        if (counts[mode] == 0.0) continue;
        s.mode_mrr[mode] = sums[mode][0] / counts[mode];
        for (int k = 0; k < 4; k++) mean[k] += sums[mode][k] / counts[mode] / n_modes;
    }
    s.mrr = mean[0];
    s.hits1 = mean[1];
    s.hits3 = mean[2];
    s.hits10 = mean[3];
    s.length = s.n_proved ? length / (double)s.n_proved : 0.0;
    return s;
}
