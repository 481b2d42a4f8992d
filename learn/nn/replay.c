#include "learn/nn/replay.h"

#include <string.h>

void lud_replay_start(lud_replay *replay, lud_device *device, void (*body)(void *context), void *context) {
    *replay = (lud_replay){.device = device, .body = body, .context = context};
}

static void forget(lud_replay *replay, lud_replay_graph *g) {
    if (g->graph) lud_graph_destroy(replay->device, g->graph);
    *g = (lud_replay_graph){0};
}

void lud_replay_end(lud_replay *replay) {
    for (int i = 0; i < LUD_REPLAY_GRAPHS; i++) forget(replay, &replay->graphs[i]);
}

/* The steps of SplitMix64 (Steele, Lea, Flood, 2014) spread the bits of neighbouring numbers. */
uint64_t lud_replay_key(uint64_t key, uint64_t number) {
    uint64_t z = key * 0x9e3779b97f4a7c15u + number + 0x632be59bd9b4e019u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* The place of this key: a free one, or the one used longest ago, when it is new. */
static lud_replay_graph *place_of(lud_replay *replay, uint64_t key) {
    lud_replay_graph *oldest = &replay->graphs[0];
    for (int i = 0; i < LUD_REPLAY_GRAPHS; i++) {
        lud_replay_graph *g = &replay->graphs[i];
        if (g->runs > 0 && g->key == key) return g;
        if (g->last < oldest->last) oldest = g;
    }
    forget(replay, oldest);
    oldest->key = key;
    return oldest;
}

void lud_replay_run(lud_replay *replay, uint64_t key) {
    lud_replay_graph *g = place_of(replay, key);
    g->last = ++replay->runs;
    if (g->graph && g->workspace != replay->device->workspace) {
        lud_graph_destroy(replay->device, g->graph);
        g->graph = NULL;
        g->runs = 1;
    }
    if (g->runs == 1 && lud_device_record_begin(replay->device)) {
        replay->body(replay->context);
        g->graph = lud_device_record_end(replay->device);
        g->workspace = replay->device->workspace;
        if (g->graph) replay->n_recorded++;
    }
    if (g->graph) {
        lud_graph_launch(replay->device, g->graph);
        replay->n_replayed++;
    } else {
        replay->body(replay->context);
    }
    if (g->runs < 2) g->runs++; /* what could not be recorded once is not tried again */
}

int64_t lud_replay_rows(const lud_device *device, int64_t n) {
    if (strcmp(device->backend->name, "cpu") == 0) return n;
    int64_t unit = 1;
    while (7 * unit < n) unit *= 2;
    return (n + unit - 1) / unit * unit;
}
