#include "learn/proof_ppo/evaluation/evaluation.h"

#include "learn/proof_ppo/proof_ppo.h"

lud_status lud_proof_validate(lud_proof_learner_state *p, double begin, double end,
                              lud_proof_ranking_summary *summary, lud_error *error) {
    lud_proof_ranker_show(p->ranker, p->base.progress, begin, end);
    lud_profile_begin(&p->profile, LUD_PROOF_STAGE_RANK);
    lud_status status =
        lud_proof_rank(p->ranker, p->model->pools[LUD_PROOF_VALID], 0, p->n_ranked, p->ranking, error);
    lud_profile_end(&p->profile, LUD_PROOF_STAGE_RANK);
    if (status) return status;
    *summary = lud_proof_ranking_summarise(&p->options.evaluation.rank, p->ranking, p->n_ranked, NULL);
    if (summary->mrr >= p->best_mrr) { /* of equal ones the later, which has learned longer */
        p->best_mrr = summary->mrr;
        lud_parameters_copy(p->best, p->parameters);
    }
    return LUD_OK;
}
