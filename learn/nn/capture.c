#include "learn/nn/capture.h"

void lud_capture_start(lud_capture *capture, lud_device *device, void (*body)(void *context), void *context) {
    *capture = (lud_capture){.device = device, .body = body, .context = context};
}

static void forget(lud_capture *capture, lud_capture_graph *g) {
    if (g->graph) lud_graph_destroy(capture->device, g->graph);
    *g = (lud_capture_graph){0};
}

void lud_capture_end(lud_capture *capture) {
    for (int i = 0; i < LUD_CAPTURE_GRAPHS; i++) forget(capture, &capture->graphs[i]);
}

/* The steps of SplitMix64 (Steele, Lea, Flood, 2014) spread the bits of neighbouring numbers. */
uint64_t lud_capture_key(uint64_t key, uint64_t number) {
    uint64_t z = key * 0x9e3779b97f4a7c15u + number + 0x632be59bd9b4e019u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* The place of this key: a free one, or the one used longest ago, when it is new. */
static lud_capture_graph *place_of(lud_capture *capture, uint64_t key) {
    lud_capture_graph *oldest = &capture->graphs[0];
    for (int i = 0; i < LUD_CAPTURE_GRAPHS; i++) {
        lud_capture_graph *g = &capture->graphs[i];
        if (g->runs > 0 && g->key == key) return g;
        if (g->last < oldest->last) oldest = g;
    }
    forget(capture, oldest);
    oldest->key = key;
    return oldest;
}

void lud_capture_run(lud_capture *capture, uint64_t key) {
    if (capture->never) {
        capture->body(capture->context);
        return;
    }
    lud_capture_graph *g = place_of(capture, key);
    g->last = ++capture->runs;
    if (g->graph && g->workspace != capture->device->workspace) {
        lud_graph_destroy(capture->device, g->graph);
        g->graph = NULL;
        g->runs = 1;
    }
    if (g->runs == 1 && lud_device_record_begin(capture->device)) {
        capture->body(capture->context);
        g->graph = lud_device_record_end(capture->device);
        g->workspace = capture->device->workspace;
        if (g->graph) capture->n_recorded++;
    }
    if (g->graph) {
        lud_graph_launch(capture->device, g->graph);
        capture->n_replayed++;
    } else {
        capture->body(capture->context);
    }
    if (g->runs < 2) g->runs++; /* what could not be recorded once is not tried again */
}

int64_t lud_capture_rows(const lud_device *device, int64_t n) {
    if (!device->backend->records_graphs) return n;
    int64_t unit = 1;
    while (7 * unit < n) unit *= 2;
    return (n + unit - 1) / unit * unit;
}
