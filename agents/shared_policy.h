/* Policies of several agents of a cast that share what they act with (networks, a device, memory): every
 * agent's policy points at it, and who leaves last releases it. */
#pragma once

#include <pthread.h>

#include "agents/cast.h"

/* What is shared begins with this. */
typedef struct lud_shared {
    int n_users;
    void (*release)(struct lud_shared *shared); /* of what stands behind this */
    pthread_mutex_t lock;                       /* around it while somebody asks */
} lud_shared;

/* The policy of one agent. */
typedef struct lud_shared_policy {
    lud_policy base;
    lud_shared *shared;
} lud_shared_policy;

/* `bytes` zeroed bytes that begin with a lud_shared, with the caller as their only user; null: memory is
 * out. */
void *lud_shared_create(size_t bytes, void (*release)(lud_shared *shared));
/* One user less; the last one releases it. */
void lud_shared_leave(lud_shared *shared);
/* Gives an agent of the cast a policy like `base` that uses what is shared. Its kind's destroy is
 * lud_shared_policy_destroy. LUD_ERROR_MEMORY. */
lud_status lud_shared_policy_set(lud_shared *shared, const lud_policy *base, lud_cast *cast, int agent,
                                 lud_error *error);
void lud_shared_policy_destroy(lud_policy *policy);
/* What stands for all policies that share something with this one; alone it is the policy itself. */
const void *lud_shared_policy_common(const lud_policy *policy);
