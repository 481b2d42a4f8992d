#include "learn/ticks/selection.h"

#include <math.h>
#include <stddef.h>

#include "learn/policy_gradient/gated_loss.h"

const char *const lud_tick_end_names[LUD_TICK_ENDS] = {[LUD_TICK_UPDATED] = "updated",
                                                       [LUD_TICK_NO_TRAINABLE] = "no_trainable_experiences",
                                                       [LUD_TICK_NO_TOKENS] = "no_valid_tokens",
                                                       [LUD_TICK_GATED_ALL] = "gated_all",
                                                       [LUD_TICK_NO_SIGNAL] = "no_signal"};

void lud_tick_select(const lud_gate *gate, lud_gate_history *history, uint64_t experiences,
                     lud_tick_selection *s) {
    s->delights = 0.0;
    for (int64_t i = 0; i < s->n; i++) s->delights += fabs((double)s->advantage[i] * (double)s->log_prob[i]);
    lud_gate_priorities(gate->priority, gate->alpha, s->n, s->advantage, s->log_prob, s->uniform, s->delight);
    const lud_gate_batch batch = {.n = s->n,
                                  .delight = s->delight,
                                  .uniform = s->uniform,
                                  .experiences = experiences,
                                  .history = history,
                                  .weight = s->weight,
                                  .scratch = s->scratch};
    const lud_gate_decision decision = lud_gate_decide(gate, &batch);
    if (history && history->capacity > 0) lud_gate_history_push(history, s->n, s->delight);
    s->rate = decision.rate;
    s->price = (double)decision.price;
    s->n_kept = lud_gate_kept(s->n, s->weight, s->kept);
    const double z = lud_gate_denominator(gate->normalise, s->n, s->n_kept);
    s->loss = lud_gated_loss(s->n, s->weight, s->advantage, NULL, s->log_prob, z, s->scratch);
    bool signal = false;
    for (int64_t k = 0; k < s->n_kept; k++) {
        s->coefficient[k] = s->scratch[s->kept[k]];
        signal = signal || s->coefficient[k] != 0.0f;
    }
    s->end = s->n_kept == 0 ? LUD_TICK_GATED_ALL : signal ? LUD_TICK_UPDATED : LUD_TICK_NO_SIGNAL;
}
