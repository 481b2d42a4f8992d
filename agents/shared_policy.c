#include "agents/shared_policy.h"

#include <stdlib.h>

void *lud_shared_create(size_t bytes, void (*release)(lud_shared *shared)) {
    lud_shared *s = calloc(1, bytes);
    if (!s) return NULL;
    s->n_users = 1;
    s->release = release;
    pthread_mutex_init(&s->lock, NULL);
    return s;
}

void lud_shared_leave(lud_shared *s) {
    if (--s->n_users > 0) return;
    s->release(s);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

lud_status lud_shared_policy_set(lud_shared *shared, const lud_policy *base, lud_cast *cast, int agent,
                                 lud_error *error) {
    lud_shared_policy *p = calloc(1, sizeof *p);
    if (!p) return lud_fail(error, LUD_ERROR_MEMORY, "memory is out");
    shared->n_users++;
    p->base = *base;
    p->shared = shared;
    lud_cast_set(cast, agent, &p->base);
    return LUD_OK;
}

const void *lud_shared_policy_common(const lud_policy *policy) {
    return policy->kind->destroy == lud_shared_policy_destroy ? ((const lud_shared_policy *)policy)->shared
                                                              : (const void *)policy;
}

void lud_shared_policy_destroy(lud_policy *policy) {
    lud_shared_leave(((lud_shared_policy *)policy)->shared);
    free(policy);
}
