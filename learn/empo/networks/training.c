#include "learn/empo/networks/training.h"

lud_status lud_empo_training_net(lud_parameters *online, const lud_empo_shape *shape, unsigned heads,
                                 int64_t n, int64_t entries, lud_nn **net, lud_empo_graph *graph,
                                 lud_error *error) {
    *net = lud_nn_create(online, n);
    if (!*net) return lud_no_memory(error, "a network");
    *graph = lud_empo_declare(*net, shape, heads, entries);
    LUD_TRY(lud_nn_plan(*net, LUD_NN_TRAIN, error));
    return lud_empo_prepare(*net, graph, shape) ? LUD_OK : lud_no_memory(error, "a network");
}

lud_status lud_empo_optimiser_create(lud_parameters *online, const lud_empo_learner_options *options,
                                     uint64_t seed, lud_empo_optimiser *optimiser, lud_error *error) {
    const unsigned learning = lud_empo_learner_networks(options);
    optimiser->all = lud_optimiser_create(online);
    if (!optimiser->all) return lud_no_memory(error, "an optimiser");
    for (int net = 0; net < LUD_EMPO_NETS; net++) {
        optimiser->groups[net] = -1;
        if (!(learning & 1u << net)) continue;
        lud_optimiser_options o = options->optimiser;
        if (options->weight_decay[net] >= 0) o.weight_decay = options->weight_decay[net];
        o.max_norm = options->stages.clip[net];
        optimiser->groups[net] = lud_optimiser_group(optimiser->all, lud_empo_net_prefixes[net], &o, false);
        if (optimiser->groups[net] < 0) return lud_no_memory(error, "an optimiser");
    }
    return lud_optimiser_build(optimiser->all, seed, error);
}

unsigned lud_empo_copies_due(const lud_empo_learner_options *options, int64_t step) {
    unsigned due = 0;
    for (int net = 0; net < LUD_EMPO_NETS; net++)
        if ((step + 1) % options->target_interval[net] == 0) due |= 1u << net;
    return due;
}
