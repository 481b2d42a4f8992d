/* Optimisers: SGD, Adam, AdamW, APOLLO and APOLLO-Mini over groups of parameters.
 *
 * A group is a set of parameters with its own options and its own global norm for clipping. All parameters of
 * a group that lie side by side are stepped in one call. Moments are kept in the parameters' precision. */
#pragma once

#include "base/options/options.h"
#include "base/text.h"
#include "learn/nn/parameters.h"
#include "learn/nn/upload_batch.h"

typedef enum lud_optimiser_kind {
    LUD_OPTIMISER_SGD,    /* m = momentum m + g + decay w;  w -= lr m */
    LUD_OPTIMISER_ADAM,   /* Kingma and Ba, 2015; decay is added to the gradient */
    LUD_OPTIMISER_ADAMW,  /* Loshchilov and Hutter, 2019: decoupled decay */
    LUD_OPTIMISER_APOLLO, /* Zhu et al., "APOLLO: SGD-like memory, AdamW-level performance", 2025 */
    LUD_OPTIMISER_APOLLO_MINI,
    LUD_OPTIMISER_KINDS
} lud_optimiser_kind;
extern const char *const lud_optimiser_names[LUD_OPTIMISER_KINDS + 1]; /* null-terminated */

typedef struct lud_optimiser_options {
    int kind; /* lud_optimiser_kind */
    double beta1, beta2, epsilon;
    double momentum;     /* SGD */
    double weight_decay; /* L2 for SGD and Adam, decoupled for the others */
    double max_norm;     /* of the gradient of the group, 0: no clipping; given by the group's owner */
    bool correct_bias;   /* the two APOLLO kinds; Adam and AdamW always do */
    /* Low-rank parameters of the two APOLLO kinds; their other parameters take AdamW with epsilon on the
     * uncorrected root and the decay after the update. */
    int64_t rank;           /* 0: that of lud_optimiser_defaults */
    double scale;           /* the update is multiplied by its square root; 0: likewise */
    int64_t projection_gap; /* updates between two new projections */
    bool tensor_scaling; /* one scaling for the whole matrix instead of one a channel; APOLLO-Mini: always */
    bool scale_front;    /* multiply before the norm-growth limiter instead of after */
    bool limiter;
    double limiter_gamma;
    bool zero_gradient_freezes; /* false: a zero gradient is no update; true: it sets the stored norm to zero,
                                   after which the limiter holds the matrix nearly still (the behaviour of the
                                   reference) */
} lud_optimiser_options;

/* Usual values of a kind: betas 0.9 and 0.999, epsilon 1e-8 (1e-6 for APOLLO), no decay, no clipping; APOLLO:
 * rank 128, scale 32, channel scaling; APOLLO-Mini: rank 1, scale 128, tensor scaling. */
lud_optimiser_options lud_optimiser_defaults(lud_optimiser_kind kind);

/* The rows (base/options/option_rows.h) of a learner's section `optimiser`, which fills a
 * lud_optimiser_options; the defaults of epsilon and weight decay are the learner's. */
#define LUD_OPTIMISER_ROWS(default_epsilon, default_decay)                                                   \
    CHOICE_AT("type", kind, "adam", lud_optimiser_names,                                                     \
              "the apollos keep moments of projections of matrices, the others of every number"),            \
        REAL(epsilon, default_epsilon, 1e-20, 1, "added to the root of the second moment; not in sgd"),      \
        REAL(beta1, "0.9", 0, 0.999999, "forgetting of the first moment; not in sgd"),                       \
        REAL(beta2, "0.999", 0, 0.999999999, "of the second"),                                               \
        REAL(momentum, "0", 0, 0.999999, "sgd: share of the last update that goes on"),                      \
        REAL(weight_decay, default_decay, 0, 10,                                                             \
             "pull towards 0: times the weight, added to the gradient (sgd, adam) or apart from it"),        \
        INT(rank, "0", 0, 65536, "apollo: of the projection; 0: 128, apollo-mini 1"),                        \
        REAL(scale, "0", 0, 1e9, "apollo: updates are multiplied by its root; 0: 32, apollo-mini 128"),      \
        INT(projection_gap, "200", 1, 1e15, "apollo: updates between two projections"),                      \
        BOOL(tensor_scaling, "false",                                                                        \
             "apollo: one factor for a matrix instead of one for each row or column; apollo-mini: always"),  \
        BOOL(scale_front, "false", "apollo: the root of scale comes before the limiter"),                    \
        BOOL(limiter, "true", "apollo: the norm of a matrix's update grows slowly"),                         \
        REAL(limiter_gamma, "1.01", 1, 1e6, "apollo: by at most this factor an update"),                     \
        BOOL(correct_bias, "true", "apollo: correct the moments for their start at 0"),                      \
        BOOL(zero_gradient_freezes, "false",                                                                 \
             "apollo: a gradient of zero sets the limiter's norm to 0 instead of being no update")
#define LUD_OPTIMISER_HELP "how gradients become updates"
/* Options that the type has no use for are an error, with their place in the section of `learner`. */
lud_status lud_optimiser_options_check(const lud_optimiser_options *options, lud_tree *learner,
                                       lud_error *error);

typedef struct lud_optimiser lud_optimiser;

/* The parameters must be built and outlive the optimiser. Null when memory is out. */
lud_optimiser *lud_optimiser_create(lud_parameters *parameters);
/* Null is allowed. */
void lud_optimiser_destroy(lud_optimiser *optimiser);
/* A group of all parameters that begin with `prefix`, are not frozen and are in no group yet; returns its
 * number, -1 when memory is out. A parameter is low-rank when it is marked so, has two dimensions, and the
 * rank saves memory (below half of its smaller dimension); `always_low_rank` drops the last condition. */
int lud_optimiser_group(lud_optimiser *optimiser, const char *prefix, const lud_optimiser_options *options,
                        bool always_low_rank);
/* Takes the memory of the moments. `seed` keys the random projections. */
lud_status lud_optimiser_build(lud_optimiser *optimiser, uint64_t seed, lud_error *error);
/* One update of a group with learning rate `lr`: clips, steps, and uses the gradients up (zero them). A
 * gradient that is not finite becomes the device's failure (lud_device_check), where its memory is the
 * host's. */
void lud_optimiser_step(lud_optimiser *optimiser, int group, double lr);
/* The same in two parts, for recorded updates (learn/nn/capture.h): the first counts the update and sends its
 * rates to the device, the second only queues operations. */
void lud_optimiser_prepare(lud_optimiser *optimiser, int group, double lr);
void lud_optimiser_apply(lud_optimiser *optimiser, int group);
/* The same with the threads and scratch of one of the two devices of lud_device_run_both: groups share
 * nothing but the scratch of low-rank matrices (lud_optimiser_records: there are none). */
void lud_optimiser_apply_on(lud_optimiser *optimiser, lud_device *device, int group);
/* Whether steps may be recorded. Not with low-rank parameters: their step sizes, projections and skipped
 * updates are decided on the host. */
bool lud_optimiser_records(const lud_optimiser *optimiser);
/* The first part with the rates in an upload, which is sent before the second; parameters are floats. */
void lud_optimiser_pack(lud_optimiser *optimiser, int group, double lr, lud_upload_batch *upload);
/* Another limit of the group's gradient norm, before the next update is prepared; 0: none. In
 * recorded updates the limit may change, but not from or to none. */
void lud_optimiser_set_max_norm(lud_optimiser *optimiser, int group, double max_norm);
/* The norm of the group's gradient at the last step, before clipping. */
double lud_optimiser_norm(const lud_optimiser *optimiser, int group);
/* Numbers of state kept, and the same for Adam on these parameters. */
int64_t lud_optimiser_numbers(const lud_optimiser *optimiser);
/* A table: group, kind, parameters, low-rank ones, bytes of state, bytes Adam would take. */
void lud_optimiser_report(const lud_optimiser *optimiser, lud_text *out);
/* Saves or loads everything (moments, norms, counters). */
void lud_optimiser_visit(lud_optimiser *optimiser, const char *prefix, lud_checkpoint *checkpoint);

/* State of one matrix of the given shape, in numbers: Adam 2 m n; APOLLO 2 max(m, n) rank + 2 (moments, norm,
 * seed). */
int64_t lud_optimiser_state_numbers(lud_optimiser_kind kind, int64_t m, int64_t n, int64_t rank);

/* The two naming rules of the reference for what is low-rank: at least two dimensions and a name that
 * contains one of q_proj k_proj v_proj o_proj gate_proj up_proj down_proj c_attn c_proj c_fc w1 w2 w3; or
 * exactly two dimensions and a name (lower case) that contains none of embed lm_head norm layernorm. */
bool lud_low_rank_by_name(const char *name, int n_dimensions);
bool lud_low_rank_by_exclusion(const char *name, int n_dimensions);

/* For checks against recorded runs. Uses the given projection (host memory, P[rank][n] for m >= n, else
 * P[m][rank]) for this parameter from now on instead of drawing it; null draws again. The array is not
 * copied. */
void lud_optimiser_inject(lud_optimiser *optimiser, int parameter, const double *projection);
/* Moments (in the shape they are kept) and stored norm of a parameter. Any may be null. */
void lud_optimiser_read(const lud_optimiser *optimiser, int parameter, double *m, double *v, double *norm);
