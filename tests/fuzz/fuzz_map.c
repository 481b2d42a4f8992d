/* Maps made of known and unknown codes, in both formats, through to the model. The input's bytes choose codes
 * rather than spell YAML, so that the fuzzer spends its time behind the YAML reader. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "play.h"
#include "sim/scenario.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const codes[] = {"We", "..", "Wr", "Bl", "Ro", "Bu", "La", "Sw", "Un", "Mn",  "Ms",
                                    "Mw", "Me", "Ma", "Kb", "Ki", "Ps", "Pa", "Dk", "dK", "Dp",  "dP",
                                    "DC", "dC", "CB", "Lr", "Cb", "Og", "Ky", "Bp", "Xe", "Gr",  "Ay",
                                    "Ae", "Ar", "1a", "1b", "1c", "1d", "Zz", "W",  "A ", "\\n", "# "};
static const char *const legend =
    "  legend: {1a: {agent: {colour: brown, role: human}, under: Gg}, 1b: {box: {contains: Kr}}, "
    "1c: {magic_wall: {side: north, entry: 0.25}}, 1d: {block: , under: Un}}\n";

typedef struct input {
    const uint8_t *data;
    size_t size;
} input;

static int next(input *in) {
    if (!in->size) return 0;
    in->size--;
    return *in->data++;
}

static void add_rows(input *in, int width, int height, lud_text *out) {
    lud_text_append(out, "map: \"");
    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++)
            lud_text_append(out, "%s", codes[(size_t)next(in) % (sizeof codes / sizeof *codes)]);
        lud_text_append(out, "\\n");
    }
    lud_text_append(out, "\"\n");
}

static void add_generate(input *in, lud_text *out) {
    static const char *const styles[] = {"rooms", "maze", "open"}, *const doors[] = {"gap", "open", "closed"};
    static const char *const things[] = {"key",  "ball",       "box",  "goal",          "lava",
                                         "rock", "magic_wall", "bush", "control_button"};
    int drawn[15]; /* one behind the other: compilers look at arguments in the order they like */
    for (size_t k = 0; k < sizeof drawn / sizeof *drawn; k++) drawn[k] = next(in);
    lud_text_append(out, "generate: {style: %s, doors: %s, size: [%d, %d], ", styles[drawn[0] % 3],
                    doors[drawn[1] % 3], drawn[2] % 24, drawn[3] % 24);
    lud_text_append(out, "rooms: [%d, %d], locked_doors: %d, humans: %d, robots: %d, maps: %d, attempts: 5, ",
                    drawn[4] % 5, drawn[5] % 5, drawn[6] % 4, drawn[7] % 4, drawn[8] % 4, drawn[9] % 5);
    lud_text_append(out, "braid: %.2f, walls: %.2f, solvable: %s, objects: {%s: %d}}\n", drawn[10] / 255.0,
                    drawn[11] / 255.0, drawn[12] % 2 ? "true" : "false", things[drawn[13] % 9],
                    drawn[14] % 8);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    input in = {data, size};
    lud_text text = {0};
    int format = next(&in) % 3, width = 2 + next(&in) % 8, height = 2 + next(&in) % 8;
    if (format) lud_text_append(&text, "ludus: 1\nworld: multigrid\n");
    int flags = next(&in), x = next(&in) % 10, y = next(&in) % 10;
    if (format)
        lud_text_append(&text, "goals: [{cell: [%d, %d], weight: %d}, {rectangle: [1, 1, %d, %d]%s}]\n", x, y,
                        flags % 3, x, y, flags & 8 ? ", agents: [0, 1]" : "");
    else
        lud_text_append(&text, "possible_goals: ['0,0,%d,%d', [%d, %d]]\norientations: [%d, n]\n", width - 1,
                        height - 1, x, y, flags % 6);
    if (format)
        lud_text_append(&text, "multigrid:\n%s  random_start: %s\n  goals_must_cover: %s\n  ",
                        flags & 1 ? legend : "", flags & 2 ? "true" : "false", flags & 4 ? "true" : "false");
    if (format == 2)
        add_generate(&in, &text);
    else
        add_rows(&in, width, height, &text);
    lud_error error = {0};
    lud_scenario *scenario, *again;
    if (text.failed || lud_scenario_read("fuzz", text.bytes, text.length, NULL, 0, &scenario, &error)) {
        if (!text.failed && !error.text[0]) abort();
        fuzz_answer_text(error.text);
        lud_text_free(&text);
        return 0;
    }
    lud_text_free(&text);
    lud_arena *arena = lud_arena_create(0);
    lud_tree *root;
    char *written;
    size_t length;
    if (lud_scenario_effective(scenario, arena, &root, &error) ||
        lud_tree_write(arena, root, &written, &length, &error))
        abort();
    fuzz_answer(written, length);
    if (lud_scenario_read("again", written, length, NULL, 0, &again, &error)) abort();
    /* equal models start in equal states */
    const lud_layout *layout = &scenario->model->layout;
    if (again->model->layout.state_bytes != layout->state_bytes) abort();
    uint8_t *a = lud_arena_take(arena, layout->state_bytes * 3),
            *b = lud_arena_take(arena, layout->state_bytes * 3);
    uint32_t ticks[3] = {0, 1, 2};
    lud_range range = {.seed = 1, .n = 3, .tick = ticks};
    scenario->world->reset(scenario->model, range, a);
    again->world->reset(again->model, range, b);
    if (memcmp(a, b, layout->state_bytes * 3) != 0) abort();
    fuzz_play(scenario->model);
    lud_scenario_destroy(again);
    lud_scenario_destroy(scenario);
    lud_arena_destroy(arena);
    return 0;
}
