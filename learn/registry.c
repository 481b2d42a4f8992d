#include "learn/clone/clone.h"
#include "learn/empo/evaluation/solved.h"
#include "learn/empo/phase1/phase1.h"
#include "learn/empo/phase2/phase2.h"
#include "learn/kge/kge.h"
#include "learn/mappo/mappo.h"
#include "learn/proof_ppo/proof_ppo.h"
#include "learn/ticks/ticks.h"

/* One line a learner. */
static const lud_learner_kind *const learners[] = {
    &lud_empo_exact,        &lud_empo_phase1, &lud_empo_phase2,   &lud_mappo_learner,
    &lud_learner_proof_ppo, &lud_learner_kge, &lud_clone_learner, &lud_learner_ticks,
};

const lud_learner_kind *const *lud_learners(int *n) {
    *n = (int)(sizeof learners / sizeof *learners);
    return learners;
}
