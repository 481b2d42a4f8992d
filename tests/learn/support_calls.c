#include "learn/support_calls.h"

#include "kernels/ops.h"

static const lud_backend *backend;
static lud_backend counting;
static const lud_ops *operations, none;
static support_calls calls;

static void launch(lud_device *device, lud_graph *graph) {
    calls.launches++;
    backend->graph_launch(device, graph);
}

static void upload(lud_device *device, void *to, const void *from, size_t bytes) {
    calls.uploads++;
    backend->upload(device, to, from, bytes);
}

static void download(lud_device *device, void *to, const void *from, size_t bytes) {
    calls.downloads++;
    backend->download(device, to, from, bytes);
}

static void copy(lud_device *device, void *to, const void *from, size_t bytes) {
    calls.others++;
    backend->copy(device, to, from, bytes);
}

static void zero(lud_device *device, void *memory, size_t bytes) {
    calls.others++;
    backend->zero(device, memory, bytes);
}

void support_calls_begin(lud_device *device) {
    backend = device->backend;
    operations = device->ops;
    counting = *backend;
    counting.graph_launch = launch;
    counting.upload = upload;
    counting.download = download;
    counting.copy = copy;
    counting.zero = zero;
    calls = (support_calls){0};
    device->backend = &counting;
    device->ops = &none;
}

support_calls support_calls_end(lud_device *device) {
    device->backend = backend;
    device->ops = operations;
    return calls;
}
