#include "learn/mappo/automatic.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/options/automatic.h"

/* What the rules look at. */
typedef struct world_size {
    double horizon; /* steps of an episode */
    int n_agents;
    bool graph, grid, own_view; /* what is seen: a graph, a map, of which each agent sees a part of its own */
    int side;                   /* of the map that is seen */
    bool continuous, speaks;
    bool counted; /* the world says when an agent has come to the same again */
} world_size;

static world_size measure(const lud_model *model) {
    const lud_layout *layout = &model->layout;
    world_size w = {.horizon = layout->max_steps > 0 ? layout->max_steps : 200,
                    .n_agents = layout->n_agents,
                    .counted = model->world->situation != NULL};
    for (int p = 0; p < layout->n_parts; p++) {
        const lud_observation_part *part = &layout->parts[p];
        w.graph |= strcmp(part->name, "edge_begin") == 0;
        if (part->kind != LUD_OBSERVATION_GRID || strcmp(part->name, "grid") != 0) continue;
        w.grid = true;
        w.own_view = part->per_agent;
        for (int d = 0; d < 2; d++)
            if (part->dimensions[d] > w.side) w.side = part->dimensions[d];
    }
    w.speaks = true;
    for (int a = 0; a < w.n_agents; a++) {
        w.continuous |= layout->actions[a].n_continuous > 0;
        w.speaks &= layout->actions[a].n_moves > 0;
    }
    return w;
}

/* A critic that sees what all see, for each of them, costs the square of their number. */
enum { MOST_SEEN_TOGETHER = 32 };

static double power_of_two(double x) {
    return exp2(floor(log2(fmax(x, 1.0)) + 0.5));
}

static void choose_networks(lud_automatic *a, lud_mappo_options *o, const world_size *w,
                            const lud_layout *layout) {
    lud_automatic_set(a, &o->recurrent, 0,
                      "memory costs three times the time; true where what is seen does not tell");
    if (w->n_agents > 1) {
        const bool differ = !layout->agents_alike;
        lud_automatic_set(a, &o->identify, differ,
                          differ ? "agents differ, and one policy acts for all"
                                 : "agents are alike: any number can act so");
        const bool apart = differ && !w->graph, few = w->n_agents <= MOST_SEEN_TOGETHER;
        lud_automatic_set(a, &o->centralised, apart && few,
                          !apart ? "what an agent sees is enough to value it"
                          : few  ? "agents may see different things; the critic sees all of them"
                                 : "what so many agents see, seen by each of them, would be too much");
    }
    lud_automatic_set(a, &o->factored, w->speaks, w->speaks ? "to move and to speak are two choices" : NULL);
    if (w->graph) {
        lud_automatic_set(a, &o->graph.layers, 1,
                          "two layers of attention reach the neighbours of neighbours");
        lud_automatic_set(a, &o->graph.ego_critic, 1, "each agent is valued by what it sees itself");
    }
    if (w->grid) {
        const bool small = w->side <= 10; /* a layer over the whole map stands behind them */
        lud_automatic_set(a, &o->channels, small ? 8 : 16, "the map is up to %d cells wide", w->side);
        lud_automatic_set(a, &o->convolutions, small ? 1 : 2, "likewise");
    }
}

/* Enough samples for a trustworthy mean, of enough environments to be unlike each other; few enough that even
 * a short training has many updates, and the first comes soon. */
static int64_t choose_rollouts(lud_automatic *a, lud_mappo_options *o, const lud_scenario *s,
                               const world_size *w, lud_learner *base) {
    enum { FEWEST_UPDATES = 30 };
    double envs = (double)s->run.environments;
    if (!s->environments_given && !a->off) {
        envs = fmin(fmax(power_of_two(256.0 / w->n_agents), 16.0), 64.0);
        while (envs > 4.0 && envs * fmin(w->horizon, 16.0) * FEWEST_UPDATES > (double)o->steps) envs /= 2.0;
        base->n_environments = (int64_t)envs;
        char number[32];
        snprintf(number, sizeof number, "%.0f", envs);
        lud_automatic_say(a, "(run.environments)", number, "side by side, of %d agent%s each", w->n_agents,
                          w->n_agents > 1 ? "s" : "");
    }
    const double wanted = fmin(fmax(w->horizon, 16.0), 64.0);
    const double most = floor((double)o->steps / (envs * FEWEST_UPDATES));
    lud_automatic_set(a, &o->rollout_length, fmax(fmin(wanted, most), 1.0), "episodes have up to %g steps",
                      w->horizon);
    return (int64_t)envs * o->rollout_length * w->n_agents;
}

static void choose_updates(lud_automatic *a, lud_mappo_options *o, const world_size *w, int64_t samples) {
    enum { MINIBATCH = 1024, MOST_MINIBATCHES = 16 };
    lud_automatic_set(a, &o->update.epochs, 4, "later passes over the same rollout teach little");
    lud_automatic_set(a, &o->minibatches,
                      fmin(fmax(floor((double)samples / MINIBATCH), 1.0), MOST_MINIBATCHES),
                      "of a rollout's %lld samples", (long long)samples);
    lud_automatic_set(a, &o->learning_rate, w->grid || w->graph ? 1e-3 : 2e-3,
                      "at first; small networks bear it");
    lud_automatic_set(a, &o->critic_learning_rate, o->learning_rate, "as the actor's");
    lud_automatic_set(a, &o->decay_learning_rate, 1, "a late update shall not undo what was learned");
    lud_automatic_set(a, &o->update.target_kl, 0.03, "an update that goes too far ends there");
    lud_automatic_set(a, &o->update.advantage_floor, 0.05,
                      "what the critic explains is not blown up to noise");
    lud_automatic_set(a, &o->update.entropy_coefficient, w->grid ? 0.05 : 0.01,
                      w->grid ? "rare ways to a reward are not forgotten"
                              : "every step tells how good it was");
    if (w->counted) {
        const bool open = lud_automatic_is_open(a, &o->novelty);
        lud_automatic_set(a, &o->novelty, 0.05, "go where nobody has been, at first; rare rewards lie there");
        lud_automatic_set(a, &o->novelty_relative, open, open ? "it grows with what is earned" : NULL);
    }
    lud_automatic_set(a, &o->decay_entropy, 1, "first look around, then do what is best");
    lud_automatic_set(a, &o->update.gamma, fmin(fmax(1.0 - 1.0 / w->horizon, 0.99), 0.998),
                      "episodes have up to %g steps", w->horizon);
    lud_automatic_set(a, (void *)&o->update.time_limits, LUD_LIMIT_BOOTSTRAP,
                      "the limit of an episode is no end of the world");
}

lud_status lud_mappo_choose(const lud_scenario *scenario, lud_arena *arena, lud_mappo_options *o,
                            lud_learner *base, lud_error *error) {
    const lud_layout *layout = &scenario->model->layout;
    const world_size w = measure(scenario->model);
    lud_automatic a = {
        .table = &lud_mappo_option_table, .mapping = scenario->learner, .values = o, .off = !o->automatic};
    if (scenario->run.steps > 0) {
        o->steps = scenario->run.steps;
    } else {
        const double most = w.grid || w.graph ? 4e5 : 2e6; /* numbers alone cost little */
        const double steps = most * sqrt(fmax(w.horizon, 25.0) / 50.0 / w.n_agents);
        lud_automatic_set(&a, &o->steps, round(steps / 1e4) * 1e4,
                          "longer episodes need more, and each of %d agent%s teaches", w.n_agents,
                          w.n_agents > 1 ? "s" : "");
    }
    choose_networks(&a, o, &w, layout);
    choose_updates(&a, o, &w, choose_rollouts(&a, o, scenario, &w, base));
    base->chosen = lud_automatic_end(&a, arena);
    return base->chosen ? LUD_OK : lud_no_memory(error, "a learner");
}
