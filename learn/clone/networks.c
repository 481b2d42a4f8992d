#include "learn/clone/networks.h"

#include "agents/policy.h"

/* Called while the actor is declared. */
static void declare(void *context, lud_nn *nn, int x, int out) {
    lud_clone_networks *n = context;
    n->actions = out;
    lud_nn_set_init(nn, (lud_init){.kind = LUD_INIT_FAN_IN}, (lud_init){.kind = LUD_INIT_CONSTANT});
    if (n->horizon > 1) {
        const int later = lud_nn_linear(nn, x, "clone.later", (n->horizon - 1) * n->width, LUD_LINEAR);
        n->actions = lud_nn_concat(nn, (const int[]){out, later}, 2);
        lud_nn_output(nn, n->actions);
    }
    if (n->sums) {
        n->summary = lud_nn_linear(nn, x, "clone.summary", n->width, LUD_LINEAR);
        lud_nn_output(nn, n->summary);
    }
    if (n->pair_width > 0) {
        n->pair_axis = lud_nn_axis(nn, n->max_pairs);
        n->pair_first = lud_nn_input_on(nn, n->pair_axis, LUD_NN_I32, 1, 0);
        n->pair_second = lud_nn_input_on(nn, n->pair_axis, LUD_NN_I32, 1, 0);
        const int both[] = {lud_nn_gather(nn, x, n->pair_first), lud_nn_gather(nn, x, n->pair_second)};
        const int hidden =
            lud_nn_linear(nn, lud_nn_concat(nn, both, 2), "clone.pairs.0", n->pair_width, LUD_RELU);
        n->pairs = lud_nn_linear(nn, hidden, "clone.pairs.1", n->width, LUD_LINEAR);
        lud_nn_output(nn, n->pairs);
    }
}

lud_status lud_clone_networks_open(const lud_model *model, const lud_clone_options *options,
                                   lud_device *device, uint64_t seed, int64_t max_rows, int64_t max_pairs,
                                   lud_clone_use use, lud_parameters *parameters, lud_clone_networks *n,
                                   lud_error *error) {
    const bool acts = use == LUD_CLONE_ACT, plans = options->ensemble || options->execute > 1;
    const int n_discrete = lud_max_discrete(&model->layout);
    *n = (lud_clone_networks){.heads = {declare, n},
                              .horizon = acts && !plans ? 1 : options->windows.horizon,
                              .width = n_discrete > 0 ? n_discrete : lud_max_continuous(&model->layout),
                              .sums = !acts && options->summary.weight > 0.0,
                              .max_pairs = max_pairs,
                              .summary = -1,
                              .pairs = -1};
    if (!acts && options->pairs.weight > 0.0) n->pair_width = options->network.hidden_size;
    lud_mappo_options network = options->network;
    network.heads = &n->heads;
    return lud_mappo_networks_create(model, &network, device, seed, max_rows,
                                     use == LUD_CLONE_UPDATE ? LUD_MAPPO_UPDATE_ACTOR : LUD_MAPPO_PLAY,
                                     parameters, &n->base, error);
}

void lud_clone_networks_close(lud_clone_networks *n) {
    lud_mappo_networks_destroy(n->base);
    *n = (lud_clone_networks){0};
}

void lud_clone_networks_feed(lud_clone_networks *n, const void *const *parts, int64_t n_rows,
                             const int32_t *place, const int32_t *agent, const int32_t *nought) {
    static const float one = 1.0f; /* nothing is remembered, so nothing begins */
    lud_mappo_inputs *inputs = &n->base->inputs;
    const lud_mappo_memory memory = {.masks = &one};
    lud_mappo_inputs_observe(inputs, parts, n_rows, place, agent);
    (void)lud_mappo_inputs_remember(inputs, n_rows, nought, &memory, NULL); /* no state can be missing */
    lud_mappo_inputs_upload(inputs);
    lud_mappo_allow(n->base, n_rows, agent);
}

void lud_clone_networks_forward(lud_clone_networks *n, int64_t n_pairs, bool training) {
    if (n->pairs >= 0) lud_nn_set_rows(n->base->actor.nn, n->pair_axis, n_pairs);
    lud_mappo_net_forward(&n->base->actor, training);
}
