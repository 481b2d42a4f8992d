/* What `ludus solve` reads from a scenario's `learner:` section of type empo-exact, and the policies named in
 * it. */
#pragma once

#include "agents/policy.h"
#include "learn/empo/exact/exact.h"

typedef struct lud_empo_exact_options {
    lud_empo_theory theory;
    const char *type; /* empo-exact */
    lud_tree *habit;  /* a policy: what people do by habit, weight nu_h */
    lud_tree *belief; /* a policy: what people think other people do; null: anything, equally likely */
} lud_empo_exact_options;
extern const lud_option_table lud_empo_exact_table;

/* Reads the section (null: defaults) and checks it. A section of another empo type gives its theory, so that
 * a scenario that is trained can be solved as it is. */
lud_status lud_empo_exact_read(lud_arena *arena, lud_tree *learner, lud_empo_exact_options *options,
                               lud_error *error);

/* LUD_ERROR_UNSUPPORTED for a policy that does not say its probabilities in a state
 * (lud_policy_distribution). */
lud_status lud_empo_check_policy(lud_policy *policy, int agent, lud_error *error);

/* Hooks that ask ordinary policies, checked before. `robots`, when not null, replaces equation (5): each
 * robot draws for itself, or the first one's policy for all where its kind does so. Policies stay the
 * caller's. */
typedef struct lud_empo_policies {
    const lud_model *model;
    lud_empo_layout layout;
    lud_policy *habit, *belief;
    lud_policy *const *robots; /* [n_robots of the layout] or null */
} lud_empo_policies;
/* Fills `hooks` (which then points to `policies`) for those policies that are not null. */
void lud_empo_policies_hook(lud_empo_policies *policies, lud_empo_hooks *hooks);
