#include "kernels/device_ranks.h"

#include <stdio.h>
#include <string.h>

/* ---- devices that meet ---- */

/* LUD_ERROR_UNSUPPORTED where some have a GPU and others none: they do not round alike. */
static lud_status check_alike(const lud_device *device, lud_error *error) {
    char all[LUD_RANKS_MOST];
    const char own = device->backend->host_memory;
    int64_t n = 0;
    LUD_TRY(lud_ranks_join_lists(device->ranks, &own, 1, 1, all, sizeof all, &n, error));
    for (int64_t i = 1; i < n; i++)
        if (all[i] != all[0])
            return lud_fail(error, LUD_ERROR_UNSUPPORTED,
                            "process %d has %s GPU and process 0 has %s; expected one device for all "
                            "(--device cpu)",
                            (int)i, all[i] ? "no" : "a", all[0] ? "none" : "one");
    return LUD_OK;
}

/* Whether all processes can; else why one of them cannot is kept everywhere. */
static bool all_can(lud_device *device, bool can, const char *why) {
    lud_error error = {0};
    if (!can) lud_fail(&error, LUD_ERROR_UNSUPPORTED, "%s", why);
    if (!lud_ranks_agree(device->ranks, error.status, &error)) return true;
    snprintf(device->no_carrier, sizeof device->no_carrier, "%.250s", error.text);
    return false;
}

/* Where they cannot meet, what they exchange goes through the host, which is no failure. */
static lud_status meet(lud_device *device, lud_error *error) {
    const lud_device_messages *messages = device->backend->messages;
    const int rank = lud_ranks_rank(device->ranks), size = lud_ranks_size(device->ranks);
    char meeting[LUD_MEETING_BYTES] = "", carrier[sizeof device->carrier] = "", why[256] = "";
    if (!messages) snprintf(why, sizeof why, "%s sends nothing by itself", device->backend->name);
    if (!all_can(device, messages && messages->prepare(meeting, why), why)) return LUD_OK;
    LUD_TRY(lud_ranks_broadcast(device->ranks, meeting, sizeof meeting, error));
    if (all_can(device, messages->meet(device, rank, size, meeting, carrier, why), why))
        memcpy(device->carrier, carrier, sizeof carrier);
    return LUD_OK;
}

static lud_status join(lud_device *device, lud_error *error) {
    LUD_TRY(check_alike(device, error));
    return device->backend->host_memory ? LUD_OK : meet(device, error);
}

lud_status lud_device_open_among(lud_ranks *ranks, const char *choice, int n_threads, lud_device **device,
                                 lud_error *error) {
    lud_status status = lud_device_open_at(choice, n_threads, lud_ranks_place(ranks), device, error);
    const bool joins = ranks && strcmp(choice, "cpu") != 0;
    if (joins) status = lud_ranks_agree(ranks, status, error);
    if (*device) (*device)->ranks = ranks;
    if (!status && joins) status = join(*device, error);
    if (!status) return LUD_OK;
    lud_device_close(*device);
    *device = NULL;
    return status;
}

/* ---- its memory, for sums ---- */

static void copy(void *device, float *to, const float *from, int64_t n) {
    lud_device_copy(device, to, from, (size_t)n * sizeof *to);
}

static void add(void *device, float *to, const float *from, int64_t n) {
    lud_device *d = device;
    d->ops->combine(d, n, 1.0, to, 1.0, from, to);
}

static bool reserve(void *device, size_t bytes_out, size_t bytes_in, void **out, void **in) {
    lud_device *d = device;
    const size_t bytes[2] = {bytes_out, bytes_in};
    for (int i = 0; i < 2; i++) {
        if (bytes[i] <= d->post_bytes[i]) continue;
        void *larger = lud_device_allocate(d, bytes[i]);
        if (!larger) return false;
        lud_device_release(d, d->post[i]);
        d->post[i] = larger;
        d->post_bytes[i] = bytes[i];
    }
    *out = d->post[0];
    *in = d->post[1];
    return true;
}

bool lud_device_adds_up(const lud_device *device) {
    return device->backend->host_memory || !device->ranks || device->carrier[0];
}

lud_ranks_memory lud_device_memory(lud_device *device) {
    lud_ranks_memory memory = {.self = device, .copy = copy, .add = add};
    const lud_device_messages *messages = device->backend->messages;
    if (!device->carrier[0]) return memory;
    memory.reserve = reserve;
    memory.gather = messages->gather;
    memory.exchange = messages->exchange;
    memory.done = messages->done;
    memory.abandon = messages->abandon;
    return memory;
}
