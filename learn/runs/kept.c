#include "learn/runs/kept.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static const char key[] = "ludus.score";

bool lud_kept_parse(const char *text, lud_kept *kept) {
    int at = 0;
    *kept = (lud_kept){0};
    if (!text ||
        sscanf(text, "%" SCNu64 " %lf %" SCNu64 " %n", &kept->iteration, &kept->score, &kept->over, &at) !=
            3 ||
        at == 0 || !isfinite(kept->score) || kept->over == 0) {
        *kept = (lud_kept){0};
        return false;
    }
    snprintf(kept->column, sizeof kept->column, "%s", text + at);
    lud_text_tame(kept->column);
    kept->scored = true;
    return true;
}

void lud_kept_format(const lud_kept *kept, lud_text *out) {
    lud_text_append(out, "%" PRIu64 " %.17g %" PRIu64 " %s", kept->iteration, kept->score, kept->over,
                    kept->column);
}

void lud_kept_write(const lud_kept *kept, lud_checkpoint *checkpoint) {
    lud_text text = {0};
    if (!kept->scored) return;
    lud_kept_format(kept, &text);
    if (text.failed)
        lud_checkpoint_fail(checkpoint, LUD_ERROR_MEMORY, "no memory for a score");
    else
        lud_checkpoint_set_text(checkpoint, key, text.bytes);
    lud_text_free(&text);
}

void lud_kept_read(lud_checkpoint *checkpoint, lud_kept *kept) {
    if (lud_kept_parse(lud_checkpoint_text(checkpoint, key), kept)) return;
    if (lud_checkpoint_find(checkpoint, "iterations"))
        lud_checkpoint_u64(checkpoint, "iterations", &kept->iteration);
}

void lud_kept_print(const lud_kept *kept, lud_text *out) {
    lud_text_append(out, "iteration %" PRIu64, kept->iteration);
    if (!kept->scored) return;
    lud_text_append(out, ", the best by %s: %.6g", kept->column, kept->score);
    if (kept->over > 1) lud_text_append(out, " (mean of %" PRIu64 " iterations)", kept->over);
}
