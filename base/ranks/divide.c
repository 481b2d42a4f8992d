#include "base/ranks/divide.h"

/* A division of rows into shares. */
typedef struct rows {
    int n_shares;
    int64_t n;
    lud_ranks_work work;
    void *context;
} rows;

static lud_status do_shares(const rows *r, int first, int end, lud_error *error) {
    for (int s = first; s < end; s++) {
        const int64_t begin = lud_share_begin(r->n, r->n_shares, s),
                      n = lud_share_begin(r->n, r->n_shares, s + 1) - begin;
        if (n > 0) LUD_TRY(r->work(r->context, begin, n, error));
    }
    return LUD_OK;
}

lud_status lud_ranks_divide(lud_ranks *ranks, int n_shares, int64_t n_rows, lud_ranks_work work,
                            void *context, const lud_ranks_array *arrays, int n_arrays, lud_error *error) {
    const rows r = {n_shares, n_rows, work, context};
    const int rank = lud_ranks_rank(ranks), first = lud_ranks_first_share(ranks, n_shares, rank),
              end = lud_ranks_first_share(ranks, n_shares, rank + 1);
    const lud_status own = do_shares(&r, first, end, error);
    if (!ranks) return own;
    lud_status status = lud_ranks_agree(ranks, own, error);
    if (!status) status = lud_ranks_complete(ranks, arrays, n_arrays, n_shares, error);
    if (!status || own || !lud_ranks_parted(ranks)) return status;
    LUD_TRY(do_shares(&r, 0, first, error));
    return do_shares(&r, end, n_shares, error);
}
