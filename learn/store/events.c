#include "learn/store/events.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"

/* Field numbers and wire types of the protocol buffers, from tensorflow/core/util/event.proto and
 * tensorflow/core/framework/summary.proto. */
enum {
    EVENT_WALL_TIME = 1,
    EVENT_STEP = 2,
    EVENT_FILE_VERSION = 3,
    EVENT_SUMMARY = 5,
    SUMMARY_VALUE = 1,
    VALUE_TAG = 1,
    VALUE_SIMPLE = 2,
    WIRE_VARINT = 0,
    WIRE_FIXED64 = 1,
    WIRE_BYTES = 2,
    WIRE_FIXED32 = 5
};

uint32_t lud_crc32c(const void *bytes, size_t n) {
    const unsigned char *p = bytes;
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < n; i++) {
        crc ^= p[i];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (0x82f63b78u & (0u - (crc & 1u)));
    }
    return ~crc;
}

static uint32_t masked(uint32_t crc) {
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

/* A message under construction; with `bytes` null it only counts. */
typedef struct message {
    unsigned char *bytes;
    size_t n;
} message;

static void put_byte(message *m, unsigned value) {
    if (m->bytes) m->bytes[m->n] = (unsigned char)value;
    m->n++;
}

static void put_varint(message *m, uint64_t value) {
    for (; value >= 0x80; value >>= 7) put_byte(m, (unsigned)(value & 0x7f) | 0x80u);
    put_byte(m, (unsigned)value);
}

static void put_fixed(message *m, uint64_t value, int n_bytes) {
    for (int i = 0; i < n_bytes; i++) put_byte(m, (unsigned)(value >> (8 * i)) & 0xffu);
}

static void put_key(message *m, unsigned field, unsigned wire) {
    put_varint(m, field << 3 | wire);
}

static void put_double(message *m, unsigned field, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_key(m, field, WIRE_FIXED64);
    put_fixed(m, bits, 8);
}

static void put_float(message *m, unsigned field, float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_key(m, field, WIRE_FIXED32);
    put_fixed(m, bits, 4);
}

static void put_text(message *m, unsigned field, const char *text) {
    put_key(m, field, WIRE_BYTES);
    put_varint(m, strlen(text));
    for (; *text; text++) put_byte(m, (unsigned char)*text);
}

static void put_value(message *m, const char *tag, double value) {
    put_text(m, VALUE_TAG, tag);
    put_float(m, VALUE_SIMPLE, (float)value);
}

static void put_summary(message *m, int n, const char *const *tags, const double *values) {
    for (int i = 0; i < n; i++) {
        if (isnan(values[i])) continue;
        message size = {0};
        put_value(&size, tags[i], values[i]);
        put_key(m, SUMMARY_VALUE, WIRE_BYTES);
        put_varint(m, size.n);
        put_value(m, tags[i], values[i]);
    }
}

static void put_event(message *m, double wall_time, uint64_t step, int n, const char *const *tags,
                      const double *values) {
    put_double(m, EVENT_WALL_TIME, wall_time);
    put_key(m, EVENT_STEP, WIRE_VARINT);
    put_varint(m, step);
    message size = {0};
    put_summary(&size, n, tags, values);
    put_key(m, EVENT_SUMMARY, WIRE_BYTES);
    put_varint(m, size.n);
    put_summary(m, n, tags, values);
}

static double wall_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static lud_status write_failed(const lud_events *events, lud_error *error) {
    return lud_fail(error, LUD_ERROR_IO, "%s: cannot write: %s", events->path, strerror(errno));
}

static lud_status write_record(lud_events *events, const message *m, lud_error *error) {
    unsigned char before[12], after[4];
    message head = {.bytes = before}, tail = {.bytes = after};
    put_fixed(&head, m->n, 8);
    put_fixed(&head, masked(lud_crc32c(before, 8)), 4);
    put_fixed(&tail, masked(lud_crc32c(m->bytes, m->n)), 4);
    if (fwrite(before, 1, 12, events->stream) != 12 || fwrite(m->bytes, 1, m->n, events->stream) != m->n ||
        fwrite(after, 1, 4, events->stream) != 4)
        return write_failed(events, error);
    return LUD_OK;
}

lud_status lud_events_open(const char *folder, lud_events *events, lud_error *error) {
    *events = (lud_events){0};
    char host[256] = "host";
    gethostname(host, sizeof host - 1);
    if (asprintf(&events->path, "%s/events.out.tfevents.%.0f.%s.%ld", folder, wall_clock(), host,
                 (long)getpid()) < 0)
        return lud_fail(error, LUD_ERROR_MEMORY, "%s: memory is out", folder);
    events->stream = lud_file_own_stream(events->path, true);
    if (!events->stream) {
        lud_status status = write_failed(events, error);
        free(events->path);
        *events = (lud_events){0};
        return status;
    }
    unsigned char bytes[64];
    message m = {.bytes = bytes};
    put_double(&m, EVENT_WALL_TIME, wall_clock());
    put_text(&m, EVENT_FILE_VERSION, "brain.Event:2");
    return write_record(events, &m, error);
}

lud_status lud_events_scalars(lud_events *events, uint64_t step, int n, const char *const *tags,
                              const double *values, lud_error *error) {
    const double now = wall_clock();
    message m = {0};
    put_event(&m, now, step, n, tags, values);
    unsigned char *bytes = malloc(m.n);
    if (!bytes) return lud_fail(error, LUD_ERROR_MEMORY, "%s: memory is out", events->path);
    m = (message){.bytes = bytes};
    put_event(&m, now, step, n, tags, values);
    lud_status status = write_record(events, &m, error);
    free(bytes);
    return status;
}

lud_status lud_events_flush(lud_events *events, lud_error *error) {
    return fflush(events->stream) == 0 ? LUD_OK : write_failed(events, error);
}

lud_status lud_events_close(lud_events *events, lud_error *error) {
    lud_status status = LUD_OK;
    if (events->stream && fclose(events->stream) != 0) status = write_failed(events, error);
    free(events->path);
    *events = (lud_events){0};
    return status;
}
