#include "learn/nn/replay.h"

void lud_replay_start(lud_replay *replay, lud_device *device, void (*body)(void *context), void *context) {
    *replay = (lud_replay){.device = device, .body = body, .context = context};
}

void lud_replay_end(lud_replay *replay) {
    if (replay->graph) lud_graph_destroy(replay->device, replay->graph);
    replay->graph = NULL;
    replay->runs = 0;
}

void lud_replay_run(lud_replay *replay, uint64_t key) {
    if (replay->runs > 0 && replay->key != key) lud_replay_end(replay);
    replay->key = key;
    const int run = replay->runs++;
    if (run == 1 && lud_device_record_begin(replay->device)) {
        replay->body(replay->context);
        replay->graph = lud_device_record_end(replay->device);
    }
    if (replay->graph)
        lud_graph_launch(replay->device, replay->graph);
    else
        replay->body(replay->context);
    if (replay->runs > 2) replay->runs = 2; /* no overflow in long runs */
}
