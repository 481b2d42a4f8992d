#include "learn/proof_ppo/automatic.h"

#include <math.h>

#include "base/options/automatic.h"

static double round_to(double x, double unit) {
    return ceil(x / unit) * unit;
}

/* What holds for all constants is what rules can use, so it is learned first, by a small network that sees
 * what it has to choose between. */
static void choose_network(lud_automatic *a, lud_proof_net_options *n, const lud_proof_model *model) {
    enum { MOST_GOALS = 12, MANY_PREDICATES = 100 };
    const int predicates = model->base->n_predicates, goals = model->limits.max_goals;
    const bool few = goals <= MOST_GOALS;
    lud_automatic_set(a, &n->states, few ? LUD_PROOF_STATE_CONCAT : LUD_PROOF_STATE_MEAN,
                      few ? "up to %d goals; their order tells which is next"
                          : "up to %d goals are too many side by side",
                      goals);
    lud_automatic_set(a, &n->fact_counts, 1, "a goal that no fact matches is seen to be one");
    lud_automatic_set(a, &n->embedding_size, predicates > MANY_PREDICATES ? 64 : 32, "%d predicates",
                      predicates);
    lud_automatic_set(a, &n->hidden, 128, "wider ones learn no more from so few rules");
    lud_automatic_set(a, &n->layers, 2, "likewise");
    lud_automatic_set(a, &n->dropout, 0, "likewise");
    lud_automatic_set(a, &n->constant_scale, 0.02, "begin with what holds for all of %d constants",
                      model->base->n_constants);
    lud_automatic_set(a, &n->temperature, 0.2, "sure, but not at once");
}

/* How much there is to learn: each rule has to be met often, each query a few times. */
static double steps_for(const lud_proof_model *model) {
    const double queries = model->pools[LUD_PROOF_TRAIN].n, rules = model->base->n_rules;
    return fmin(fmax(round_to(60.0 * fmin(queries, 3000.0) + 2000.0 * rules, 1e4), 6e4), 4e5);
}

static void choose_training(lud_automatic *a, lud_proof_ppo_options *o, const lud_proof_model *model) {
    enum { ITERATIONS = 24, RANKINGS = 5 };
    const int queries = model->pools[LUD_PROOF_TRAIN].n, ranked = model->pools[LUD_PROOF_VALID].n;
    const double rollout = fmin(fmax((double)o->total_steps / ITERATIONS, 512.0), 8192.0);
    lud_automatic_set(a, &o->n_envs, rollout < 4096.0 ? 64 : 128, "queries side by side");
    lud_automatic_set(a, &o->n_steps, fmax(floor(rollout / (double)o->n_envs), 1.0),
                      "%d updates or more in %lld steps", ITERATIONS, (long long)o->total_steps);
    lud_automatic_set(a, &o->batch_size, 512, "many small steps for a small network");
    lud_automatic_set(a, &o->max_grad_norm, 5, "the early gradients are large");
    lud_automatic_set(a, &o->learning_rate.start, 2e-3, "a small network bears it");
    lud_automatic_set(a, &o->learning_rate.end, 2e-4, "a tenth of it, so that nothing is undone");
    lud_automatic_set(a, &o->learning_rate.warmup, 0.02, "short");
    const bool few = queries < 200;
    lud_automatic_set(a, &o->entropy.start, few ? 0.1 : 0.03, "%d queries to learn from%s", queries,
                      few ? ", which must not be learned by heart" : "");
    lud_automatic_set(a, &o->entropy.end, few ? 0.02 : 0.002, "likewise");
    const double iterations = ceil((double)o->total_steps / (double)(o->n_envs * o->n_steps));
    lud_automatic_set(a, &o->evaluation.every, fmax(floor(iterations / RANKINGS), 1.0), "%d rankings in all",
                      RANKINGS);
    lud_automatic_set(a, &o->evaluation.n_queries, fmin(ranked, 50),
                      "of %d: ranking them must not take longer than learning", ranked);
    lud_automatic_set(a, &o->evaluation.rank.failure, LUD_PROOF_FAILURE_COMPLEMENT,
                      "what was given up without doubt comes last");
}

lud_status lud_proof_ppo_choose(const lud_scenario *scenario, const lud_proof_model *model, lud_arena *arena,
                                lud_proof_ppo_options *o, const char **chosen, lud_error *error) {
    lud_automatic a = {
        .table = &lud_proof_ppo_table, .mapping = scenario->learner, .values = o, .off = !o->automatic};
    if (scenario->run.steps > 0)
        o->total_steps = scenario->run.steps;
    else
        lud_automatic_set(&a, &o->total_steps, steps_for(model), "%d rules, %d queries to learn from",
                          model->base->n_rules, model->pools[LUD_PROOF_TRAIN].n);
    choose_network(&a, &o->network, model);
    choose_training(&a, o, model);
    *chosen = lud_automatic_end(&a, arena);
    return *chosen ? LUD_OK : lud_no_memory(error, "a learner");
}
