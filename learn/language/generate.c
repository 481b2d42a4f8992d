#include "learn/language/generate.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "learn/language/decoder.h"
#include "learn/language/parse_action.h"

/* Prompts go through the network in pieces that end at multiples of PIECE of a row's positions, whatever else
 * is in the run, of at most RUN_TOKENS
 * tokens: what runs between two layers stays in caches. */
enum { PIECE = 64, RUN_TOKENS = 256 };

typedef struct row {
    int64_t length;              /* of the prompt */
    int64_t shared, prefix_slot; /* tokens that lie in the group's prefix, and where it begins */
    int64_t slot;                /* of its first own token */
    int64_t leader;              /* first row of its group */
    int64_t n;                   /* tokens written */
    bool finished;
    lud_object_scan scan;
} row;

struct lud_generator {
    lud_generator_options options;
    const lud_tokenizer *tokenizer;
    int32_t end;
    int64_t rows_at_a_time, max_rows;
    lud_decoder decoder;
    lud_generator_counts counts;
    row *rows;
    int64_t *active; /* rows in the run that want a token */
    int32_t *tokens;
    float *log_probs, *states, *to_states; /* to_states: where those of the prompts go */
    bool only_states;
    int64_t *lengths;
    int32_t *drawn; /* [rows] on the host */
    float *drawn_log_prob;
    uint32_t *environment, *agent, *environment_on_device, *agent_on_device;
    int32_t *drawn_on_device;
    float *log_prob_on_device;
    lud_arrays arrays;
};

/* --- memory --- */

static bool take(lud_generator *g, int64_t width) {
    const size_t n = (size_t)g->max_rows,
                 most = (size_t)(g->options.max_new_tokens > 0 ? g->options.max_new_tokens : 1);
    lud_arrays *a = &g->arrays;
    LUD_TAKE(a, g->rows, n);
    LUD_TAKE(a, g->active, n);
    LUD_TAKE(a, g->tokens, n * most);
    LUD_TAKE(a, g->log_probs, n * most);
    LUD_TAKE(a, g->lengths, n);
    LUD_TAKE(a, g->states, n * (size_t)width);
    LUD_TAKE(a, g->drawn, n);
    LUD_TAKE(a, g->drawn_log_prob, n);
    LUD_TAKE(a, g->environment, n);
    LUD_TAKE(a, g->agent, n);
    LUD_TAKE_ON_DEVICE(a, g->environment_on_device, n);
    LUD_TAKE_ON_DEVICE(a, g->agent_on_device, n);
    LUD_TAKE_ON_DEVICE(a, g->drawn_on_device, n);
    LUD_TAKE_ON_DEVICE(a, g->log_prob_on_device, n);
    return !a->failed;
}

static bool create_decoder(lud_generator *g, const lud_transformer_shape *shape,
                           const lud_parameters *parameters) {
    const int64_t rows = g->rows_at_a_time, tokens = rows > RUN_TOKENS ? rows : RUN_TOKENS;
    return lud_decoder_create(&g->decoder, shape, parameters, g->options.half_weights, g->options.cache_bytes,
                              tokens, rows, rows * shape->context);
}

lud_status lud_generator_create(const lud_transformer_shape *shape, const lud_parameters *parameters,
                                const lud_generator_options *options, const lud_tokenizer *tokenizer,
                                int32_t end, int64_t max_rows, int64_t at_a_time, lud_generator **generator,
                                lud_error *error) {
    assert(max_rows >= 1 && (tokenizer || !options->stop_at_object));
    lud_generator *g = calloc(1, sizeof *g);
    if (g) {
        g->options = *options;
        g->tokenizer = tokenizer;
        g->end = end;
        g->max_rows = max_rows;
        g->arrays.device = parameters->device;
    }
    bool ok = g && take(g, shape->width);
    if (ok) g->rows_at_a_time = at_a_time > 0 && at_a_time < max_rows ? at_a_time : max_rows;
    while (ok && !create_decoder(g, shape, parameters)) {
        ok = g->rows_at_a_time > 1;
        g->rows_at_a_time = (g->rows_at_a_time + 1) / 2;
    }
    if (!ok) {
        lud_generator_destroy(g);
        return lud_fail(error, LUD_ERROR_MEMORY, "no memory to write texts with a transformer");
    }
    *generator = g;
    return LUD_OK;
}

void lud_generator_destroy(lud_generator *generator) {
    if (!generator) return;
    lud_decoder_destroy(&generator->decoder);
    lud_arrays_free(&generator->arrays);
    free(generator);
}

void lud_generator_publish(lud_generator *generator) {
    lud_decoder_publish(&generator->decoder);
}
void lud_generator_set_sampling(lud_generator *generator, const lud_sampling *sampling) {
    generator->options.sampling = *sampling;
}
lud_generator_counts lud_generator_last(const lud_generator *generator) {
    return generator->counts;
}
int64_t lud_generator_rows(const lud_generator *generator) {
    return generator->rows_at_a_time;
}
void lud_generator_bytes(const lud_generator *generator, size_t *weights, size_t *cache,
                         size_t *activations) {
    const lud_decoder *d = &generator->decoder;
    *weights = d->weight_bytes;
    *cache =
        (size_t)(lud_kv_cache_token_bytes(&d->shape, d->cache.bytes ? 1 : sizeof(float), d->cache.bytes) *
                 (double)d->cache.capacity);
    if (d->cache.bytes) /* one layer as floats */
        *cache += (size_t)(2 * d->cache.capacity * d->shape.kv_heads * d->shape.head_dim) * sizeof(float);
    *activations = d->activation_bytes;
}

/* --- a slice of the rows: places --- */

typedef struct slice {
    lud_generator *g;
    const lud_prompts *prompts;
    int64_t first, n; /* rows of the prompts */
} slice;

static const int32_t *prompt_of(const slice *s, int64_t i) {
    return s->prompts->tokens + s->prompts->offsets[s->first + i];
}

/* How far the prompts of two rows are the same. */
static int64_t common(const slice *s, int64_t a, int64_t b, int64_t most) {
    const int32_t *x = prompt_of(s, a), *y = prompt_of(s, b);
    int64_t n = 0;
    while (n < most && x[n] == y[n]) n++;
    return n;
}

/* Prefixes of groups with at least two rows; each row keeps a token of its own. */
static void find_prefixes(slice *s) {
    row *rows = s->g->rows;
    for (int64_t i = 0; i < s->n; i++) {
        row *r = &rows[i];
        *r = (row){.length = s->prompts->offsets[s->first + i + 1] - s->prompts->offsets[s->first + i],
                   .leader = i};
        assert(r->length >= 1 && r->length <= s->g->decoder.shape.context);
        if (!s->g->options.share_prefixes || !s->prompts->group) continue;
        const int32_t *group = s->prompts->group + s->first;
        int64_t leader = 0;
        while (group[leader] != group[i]) leader++;
        r->leader = leader;
        if (leader == i) continue;
        row *head = &rows[leader];
        int64_t most = head->shared ? head->shared : head->length - 1;
        if (head->finished) continue; /* another row had nothing in common */
        if (r->length - 1 < most) most = r->length - 1;
        head->shared = common(s, leader, i, most);
        head->finished = head->shared == 0;
    }
    for (int64_t i = 0; i < s->n; i++) rows[i].finished = false;
    for (int64_t i = s->n - 1; i >= 0; i--) rows[i].shared = rows[rows[i].leader].shared;
}

static void place_rows(slice *s) {
    lud_generator *g = s->g;
    int64_t next = 0;
    for (int64_t i = 0; i < s->n; i++) {
        row *r = &g->rows[i];
        if (r->leader == i) {
            r->prefix_slot = next;
            next += r->shared;
        }
        r->prefix_slot = g->rows[r->leader].prefix_slot;
        r->slot = next;
        const int64_t room = g->decoder.shape.context - r->length;
        next += r->length - r->shared + (g->options.max_new_tokens < room ? g->options.max_new_tokens : room);
        g->counts.prompt_tokens += r->length;
        g->counts.computed_tokens += r->length - (r->leader == i ? 0 : r->shared);
    }
    assert(next <= g->decoder.cache.capacity);
    if (next > g->counts.cache_tokens) g->counts.cache_tokens = next;
    g->decoder.run.used_slots = next;
}

/* --- tokens into the network, and out of it --- */

/* Tokens from .. end - 1 of what lies at `slot` on, seeing `shared` tokens from `prefix_slot` before them;
 * positions count from `shared`. */
static void add_piece(lud_decoder *d, const int32_t *tokens, int64_t from, int64_t end, int64_t slot,
                      int64_t shared, int64_t prefix_slot) {
    lud_decoder_run *run = &d->run;
    for (int64_t j = from; j < end; j++) {
        const int64_t at = run->n_tokens++;
        run->tokens[at] = tokens[j - from];
        run->positions[at] = (int32_t)(shared + j);
        run->slots[at] = (int32_t)(slot + j);
    }
    const int64_t piece = run->n_pieces++;
    run->query_offsets[piece + 1] = (int32_t)run->n_tokens;
    run->key_offsets[piece] = (int32_t)slot;
    run->key_lengths[piece] = (int32_t)end;
    run->prefix_offsets[piece] = (int32_t)prefix_slot;
    run->prefix_lengths[piece] = (int32_t)shared;
}

static void clear(lud_decoder *d) {
    d->run.n_tokens = d->run.n_pieces = d->run.n_wanted = 0;
    d->run.query_offsets[0] = 0;
}

/* The text of a row grows by a token; whether it ends. */
static bool append(slice *s, int64_t i, int32_t token, float log_prob) {
    lud_generator *g = s->g;
    row *r = &g->rows[i];
    const int64_t most = g->options.max_new_tokens, at = (s->first + i) * most + r->n;
    g->tokens[at] = token;
    g->log_probs[at] = log_prob;
    r->n++;
    g->counts.new_tokens++;
    bool ends = token == g->end || r->n == most || r->length + r->n >= g->decoder.shape.context;
    if (g->options.stop_at_object) {
        size_t length;
        const char *bytes = lud_tokenizer_token(g->tokenizer, token, &length);
        ends |= lud_object_scan_next(&r->scan, bytes, length);
    }
    return r->finished = ends;
}

/* Runs what was added and draws the next token, number `place` of their texts, of the rows in `active`. */
static void run_and_draw(slice *s, int64_t place) {
    lud_generator *g = s->g;
    lud_decoder *d = &g->decoder;
    const int64_t n = d->run.n_wanted;
    g->counts.steps++;
    lud_decoder_forward(d);
    for (int64_t k = 0; k < n && place == 0; k++)
        lud_device_download(d->device, g->to_states + (s->first + g->active[k]) * d->shape.width,
                            d->last + k * d->shape.width, (size_t)d->shape.width * sizeof(float));
    if (n > 0 && !g->only_states) {
        for (int64_t k = 0; k < n; k++) {
            g->environment[k] = s->prompts->environment[s->first + g->active[k]];
            g->agent[k] = s->prompts->agent[s->first + g->active[k]];
        }
        lud_device_upload(d->device, g->environment_on_device, g->environment, (size_t)n * sizeof(uint32_t));
        lud_device_upload(d->device, g->agent_on_device, g->agent, (size_t)n * sizeof(uint32_t));
        const lud_draws draws = {.seed = s->prompts->seed,
                                 .environment = g->environment_on_device,
                                 .agent = g->agent_on_device,
                                 .n_agents = 1,
                                 .step = s->prompts->step,
                                 .purpose = LUD_PURPOSE_ACTION,
                                 .lane = (uint32_t)place};
        lud_sample_tokens(d->device, &g->options.sampling, n, d->shape.vocabulary, d->logits, &draws, NULL,
                          d->filtered, g->drawn_on_device, g->log_prob_on_device);
        lud_device_download(d->device, g->drawn, g->drawn_on_device, (size_t)n * sizeof(int32_t));
        lud_device_download(d->device, g->drawn_log_prob, g->log_prob_on_device, (size_t)n * sizeof(float));
        for (int64_t k = 0; k < n; k++) append(s, g->active[k], g->drawn[k], g->drawn_log_prob[k]);
    }
    clear(d);
}

/* --- prompts, then token after token --- */

/* Tokens from .. end - 1 of row i's prompt, of which the first `shared` count as the group's. */
static void feed(slice *s, int64_t i, int64_t from, int64_t end, int64_t slot, int64_t shared, bool wants) {
    lud_generator *g = s->g;
    lud_decoder *d = &g->decoder;
    while (from < end) {
        int64_t stop = (from / PIECE + 1) * PIECE;
        if (stop > end) stop = end;
        if (d->run.n_tokens + stop - from > d->max_tokens) run_and_draw(s, 0);
        add_piece(d, prompt_of(s, i) + from, from - shared, stop - shared, slot, shared,
                  g->rows[i].prefix_slot);
        from = stop;
    }
    if (wants) {
        g->active[d->run.n_wanted] = i;
        d->run.wanted[d->run.n_wanted++] = (int32_t)(d->run.n_tokens - 1);
    }
}

static void read_prompts(slice *s) {
    row *rows = s->g->rows;
    clear(&s->g->decoder);
    for (int64_t i = 0; i < s->n; i++) /* what is shared stands before those that see it */
        if (rows[i].leader == i && rows[i].shared)
            feed(s, i, 0, rows[i].shared, rows[i].prefix_slot, 0, false);
    for (int64_t i = 0; i < s->n; i++)
        feed(s, i, rows[i].shared, rows[i].length, rows[i].slot, rows[i].shared,
             s->g->options.max_new_tokens > 0);
    if (s->g->decoder.run.n_tokens > 0) run_and_draw(s, 0);
}

static void write_texts(slice *s) {
    lud_generator *g = s->g;
    lud_decoder *d = &g->decoder;
    const int64_t most = g->options.max_new_tokens;
    for (int64_t place = 1; place < most; place++) {
        for (int64_t i = 0; i < s->n; i++) {
            row *r = &g->rows[i];
            if (r->finished) continue;
            const int64_t own = r->length - r->shared + place - 1;
            add_piece(d, &g->tokens[(s->first + i) * most + place - 1], own, own + 1, r->slot, r->shared,
                      r->prefix_slot);
            g->active[d->run.n_wanted] = i;
            d->run.wanted[d->run.n_wanted++] = (int32_t)(d->run.n_tokens - 1);
        }
        if (d->run.n_tokens == 0) break;
        run_and_draw(s, place);
    }
}

static void run_all(lud_generator *g, const lud_prompts *prompts) {
    assert(prompts->n <= g->max_rows);
    g->counts = (lud_generator_counts){0};
    for (int64_t first = 0; first < prompts->n; first += g->rows_at_a_time) {
        const int64_t left = prompts->n - first;
        slice s = {g, prompts, first, left < g->rows_at_a_time ? left : g->rows_at_a_time};
        find_prefixes(&s);
        place_rows(&s);
        read_prompts(&s);
        if (!g->only_states) write_texts(&s);
        for (int64_t i = 0; i < s.n && !g->only_states; i++) g->lengths[first + i] = g->rows[i].n;
    }
}

void lud_generate(lud_generator *g, const lud_prompts *prompts, lud_texts *texts) {
    g->only_states = g->decoder.no_logits = false;
    g->to_states = g->states;
    run_all(g, prompts);
    *texts = (lud_texts){g->options.max_new_tokens, g->tokens, g->log_probs, g->lengths, g->states};
}

void lud_generator_states(lud_generator *g, const lud_prompts *prompts, float *states) {
    g->only_states = g->decoder.no_logits = true;
    g->to_states = states;
    run_all(g, prompts);
}

void lud_generator_logits(lud_generator *g, int64_t n, const int32_t *tokens, float *logits) {
    lud_decoder *d = &g->decoder;
    assert(n >= 1 && n <= d->max_tokens && n <= d->shape.context);
    clear(d);
    d->run.used_slots = n;
    d->no_logits = false;
    add_piece(d, tokens, 0, n, 0, 0, 0);
    d->run.wanted[d->run.n_wanted++] = (int32_t)(n - 1);
    lud_decoder_forward(d);
    lud_device_download(d->device, logits, d->logits, (size_t)d->shape.vocabulary * sizeof *logits);
    clear(d);
}
