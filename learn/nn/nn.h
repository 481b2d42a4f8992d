/* Networks as static graphs of operations over named parameters.
 *
 *     lud_parameters *parameters = lud_parameters_create(device, false);
 *     lud_nn *net = lud_nn_create(parameters, 256);               // at most 256 rows
 *     int x = lud_nn_input(net, 12);                              // x[rows][12]
 *     int h = lud_nn_linear(net, x, "v.hidden", 64, LUD_RELU);
 *     int v = lud_nn_linear(net, h, "v.out", 1, LUD_LINEAR);
 *     lud_nn_output(net, v);
 *     lud_parameters_build(parameters, seed, &error);             // after all networks on it are declared
 *     lud_nn_plan(net, LUD_NN_TRAIN, &error);
 *
 *     lud_device_upload(device, lud_nn_value(net, x), host, ...); // or let the world write there
 *     lud_nn_forward(net, n_rows, true);
 *     device->ops->mse_loss(device, n_rows, lud_nn_value(net, v), target, NULL, 1.0 / n_rows, NULL,
 *                           lud_nn_gradient(net, v), false);
 *     lud_nn_backward(net);                                       // adds to the parameters' gradients
 *
 * A network is declared once and planned once, for a largest number of rows: shapes, lifetimes and shared
 * buffers are laid out in one allocation. After that it runs for any number of rows up to it and allocates
 * nothing. Declaring functions return the number of a value; wrong shapes are broken promises (assert);
 * memory that is out is reported by lud_nn_plan.
 *
 * Rows live on axes: axis 0 is the batch, more can be declared (successors, edges, steps x environments),
 * each with its own number of rows. A value on axis a has rows(a) rows of `width` numbers. */
#pragma once

#include "learn/nn/parameters.h"
#include "learn/nn/upload_batch.h"

#define LUD_LINEAR  ((lud_map){LUD_MAP_IDENTITY, 0.0, 0.0})
#define LUD_RELU    ((lud_map){LUD_MAP_RELU, 0.0, 0.0})
#define LUD_GELU    ((lud_map){LUD_MAP_GELU, 0.0, 0.0})
#define LUD_SILU    ((lud_map){LUD_MAP_SILU, 0.0, 0.0})
#define LUD_TANH    ((lud_map){LUD_MAP_TANH, 0.0, 0.0})
#define LUD_SIGMOID ((lud_map){LUD_MAP_SIGMOID, 0.0, 0.0})

typedef struct lud_nn lud_nn;

typedef enum lud_nn_mode { LUD_NN_INFERENCE, LUD_NN_TRAIN } lud_nn_mode;
typedef enum lud_nn_type { LUD_NN_REAL, LUD_NN_I32, LUD_NN_U8 } lud_nn_type;

/* A network with at most `max_rows` rows on axis 0. Null when memory is out. The parameters outlive it. */
lud_nn *lud_nn_create(lud_parameters *parameters, int64_t max_rows);
/* Null is allowed. */
void lud_nn_destroy(lud_nn *net);
/* One more axis; returns its number. */
int lud_nn_axis(lud_nn *net, int64_t max_rows);
/* How the weights and biases of layers declared from now on start. At first LUD_INIT_FAN_IN for both. */
void lud_nn_set_init(lud_nn *net, lud_init weight, lud_init bias);

/* ---- declaring: inputs ---- */

/* x[rows][width] reals on axis 0. The caller fills lud_nn_value before a run, or binds its own memory. */
int lud_nn_input(lud_nn *net, int64_t width);
/* The same on any axis and of any type; CSR offsets have one row more than their axis: `extra_rows` 1. */
int lud_nn_input_on(lud_nn *net, int axis, lud_nn_type type, int64_t width, int64_t extra_rows);

/* Says that what stands in the input, and how many rows it has, stays as it is once it was filled
 * (lud_nn_hold). */
void lud_nn_set_constant(lud_nn *net, int input);

/* ---- declaring: layers (parameters `name`.weight, `name`.bias) ---- */

int lud_nn_linear(lud_nn *net, int x, const char *name, int64_t width, lud_map map);
int lud_nn_linear_without_bias(lud_nn *net, int x, const char *name, int64_t width, lud_map map);
/* x is [rows][channels][height][width]; kernel odd, zero padding (kernel - 1) / 2, stride 1. */
int lud_nn_conv(lud_nn *net, int x, const char *name, int64_t height, int64_t width, int64_t channels_out,
                int64_t kernel, lud_map map);
/* The same on compact grids code[rows][height * width] (an I32 input). */
int lud_nn_grid_conv(lud_nn *net, int code, const char *name, lud_grid_form form, int64_t height,
                     int64_t width, int64_t channels_out, int64_t kernel, lud_map map);
/* Largest of size x size squares of [rows][channels][height][width]; what is left over is dropped. */
int lud_nn_max_pool(lud_nn *net, int x, int64_t height, int64_t width, int64_t size);
/* Rows of the table `name`.weight[n_entries][width] (starting N(0, 1)) by index[rows][1]; negative: zeros. */
int lud_nn_embedding(lud_nn *net, int index, const char *name, int64_t n_entries, int64_t width);
/* Parameters `name`.weight (1) and `name`.bias (0). */
int lud_nn_layer_norm(lud_nn *net, int x, const char *name, double epsilon);
/* Root mean square norm, parameter `name`.weight (1). */
int lud_nn_rms_norm(lud_nn *net, int x, const char *name, double epsilon);
/* Hidden states h[steps * n][size complex] of a complex diagonal recurrence over v = B x; parameters
 * `name`.nu_log, .theta_log, .gamma_log, .b.weight. x is on an axis of steps * n rows, h0 (or -1: zero) and
 * its axis have n rows, mask[steps * n][1] (or -1) is 0 where a sequence begins. Eigenvalues start on the
 * ring [r_min, r_max] with phases up to max_phase. The real output is lud_nn_linear_without_bias of it. */
int lud_nn_lru(lud_nn *net, int x, const char *name, int64_t size, int state_axis, int h0, int mask,
               double r_min, double r_max, double max_phase);
/* Hidden states h[steps * n][size] of a gated recurrent unit; parameters `name`.input.*, `name`.hidden.*. */
int lud_nn_gru(lud_nn *net, int x, const char *name, int64_t size, int state_axis, int h0, int mask);
/* Graph transformer attention over edges (see ops_table.h); q, k, v on the nodes' axis, edge features d (or
 * -1) on the axis `edge_axis`; parameter `name`.weight for the edge features. q, k and v are three values.
 * `edges` is read in every run. */
int lud_nn_graph_attention(lud_nn *net, int q, int k, int v, int d, const char *name, int edge_axis,
                           int64_t heads, const lud_edges *edges);
/* Attention of packed rows without a cache; `shape` (its heads and head_dim now, the rest at every run) is
 * read. q, k and v are three values. */
int lud_nn_attention(lud_nn *net, int q, int k, int v, const lud_attention *shape);

/* ---- declaring: operations without parameters ---- */

int lud_nn_map(lud_nn *net, int x, lud_map map);
/* One map in training runs, another in evaluation runs. */
int lud_nn_map_by_mode(lud_nn *net, int x, lud_map training, lud_map evaluation);
/* Inverted dropout, only in training; the draws depend on seed, `stream` and the step (lud_nn_set_step). */
int lud_nn_dropout(lud_nn *net, int x, double rate, uint32_t stream);
int lud_nn_concat(lud_nn *net, const int *values, int n);
/* Columns first .. first + width - 1. */
int lud_nn_slice(lud_nn *net, int x, int64_t first, int64_t width);
int lud_nn_add(lud_nn *net, int a, int b);
int lud_nn_multiply(lud_nn *net, int a, int b);
/* The same numbers, no gradient flows back. */
int lud_nn_stop_gradient(lud_nn *net, int x);
/* Rows x[index[i]], i on the axis of index[rows][1]: from one axis to another. Negative: zeros. */
int lud_nn_gather(lud_nn *net, int x, int index);
/* Sum, mean or largest over segments: offsets is an I32 input with one extra row on the segments' axis. */
int lud_nn_segment_reduce(lud_nn *net, int x, int offsets, lud_reduce reduce);
/* The same where rows of x may lie behind the last segment: they count nothing. */
int lud_nn_segment_reduce_part(lud_nn *net, int x, int offsets, lud_reduce reduce);
/* Softmax over the rows of each segment, every column by itself. */
int lud_nn_segment_softmax(lud_nn *net, int x, int offsets);
/* Along each row; mask[rows][width] (a U8 input or -1): 0 leaves an entry out. */
int lud_nn_softmax(lud_nn *net, int x, int mask, double factor);
int lud_nn_log_softmax(lud_nn *net, int x, int mask, double factor);
/* x[rows][k][width] -> [rows][width], times scale (mean over heads: scale 1 / k). */
int lud_nn_sum_groups(lud_nn *net, int x, int64_t k, double scale);
/* x[rows][width] -> [rows][k][width], times scale: the same numbers k times. */
int lud_nn_broadcast_groups(lud_nn *net, int x, int64_t k, double scale);
/* Rotary positions of [rows][heads * head_dim] at position[rows][1] (an I32 input). */
int lud_nn_rotary(lud_nn *net, int x, int position, int64_t heads, double base);

/* ---- planning and running ---- */

/* The gradient of a real input is wanted: after a backward run it is in lud_nn_gradient. Before what reads
 * the input is planned. */
void lud_nn_want_gradient(lud_nn *net, int input);
/* Plans into the memory of `lender`, a planned network on the same device that takes at least as much and
 * outlives this one, instead of taking memory: then a forward run of one forgets the other's values. Blocks
 * of a deep network that are run forward again before they are run backward (Chen et al., "Training deep nets
 * with sublinear memory cost", 2016) keep one block's activations so. */
void lud_nn_borrow(lud_nn *net, const lud_nn *lender);
/* The value is wanted after a run, and its gradient can be given to a backward run. */
void lud_nn_output(lud_nn *net, int value);
/* Lays the memory out and takes it. The parameters must be built. */
lud_status lud_nn_plan(lud_nn *net, lud_nn_mode mode, lud_error *error);
/* Runs with another set of the same layout (a target copy). A set without gradients cannot run backward. */
void lud_nn_use(lud_nn *net, lud_parameters *parameters);
/* Of an inference plan: `version` stands for the parameters. What is made of them and of constant inputs
 * alone is not computed again while it stays the same. 0, as at first: always. Not with lent or borrowed
 * memory. */
void lud_nn_hold(lud_nn *net, uint64_t version);
/* Reads an input from the caller's memory instead of the planned one; null goes back. */
void lud_nn_bind(lud_nn *net, int input, const void *memory);
/* Rows of an axis other than 0, before a run. */
void lud_nn_set_rows(lud_nn *net, int axis, int64_t n_rows);
int64_t lud_nn_rows(const lud_nn *net, int axis);
/* Key and step of the dropout draws of the next runs, on a planned network. In a recorded run
 * (learn/nn/capture.h) the step may change, the seed may not. */
void lud_nn_set_step(lud_nn *net, uint64_t seed, uint32_t step);
/* The same with the step in an upload, which is sent before the runs. */
void lud_nn_pack_step(lud_nn *net, uint64_t seed, uint32_t step, lud_upload_batch *upload);
/* Rows of axis 0 that stand before those of the next runs and pass through another network of the same kind:
 * dropout draws as if all were one array. A multiple of 4. */
void lud_nn_set_first_row(lud_nn *net, int64_t first_row);
/* The device whose threads and scratch the next runs use, one handed out by lud_device_run_both for the
 * parameters' device; null: the parameters' device. */
void lud_nn_run_on(lud_nn *net, lud_device *device);
/* Rows of axis 0 and whether the run is for training, as lud_nn_forward sets them: for a forward run that is
 * replayed from a graph, before the backward run. */
void lud_nn_set_run(lud_nn *net, int64_t n_rows, bool training);
/* Runs on `n_rows` rows of axis 0; `training` picks dropout and the maps of lud_nn_map_by_mode. */
void lud_nn_forward(lud_nn *net, int64_t n_rows, bool training);
/* After a forward run with the same rows and inputs, and with the gradients of all outputs written: adds the
 * parameters' gradients of this batch. The output gradients are used up. */
void lud_nn_backward(lud_nn *net);
/* Memory of an input or output: values[rows][width], and its gradient (an output of a training plan). */
void *lud_nn_value(const lud_nn *net, int value);
void *lud_nn_gradient(const lud_nn *net, int value);
/* The first n_rows rows of a real input or output (or gradient), from or to doubles on the host. */
void lud_nn_write(lud_nn *net, int value, int64_t n_rows, const double *host);
void lud_nn_read(const lud_nn *net, int value, int64_t n_rows, double *host);
void lud_nn_write_gradient(lud_nn *net, int value, int64_t n_rows, const double *host);
/* The same for I32 inputs. */
void lud_nn_write_i32(lud_nn *net, int value, int64_t n_rows, const int32_t *host);
int64_t lud_nn_width(const lud_nn *net, int value);
int lud_nn_axis_of(const lud_nn *net, int value);
/* Layers (linear, convolution, grid convolution) that end in a ReLU, in the order they were declared: their
 * values, the name of their weights, and how many units each has (a unit of a convolution is a channel).
 * Returns how many there are; at most `most` are written. */
typedef struct lud_nn_layer {
    int value;
    const char *name;
    int64_t units;
} lud_nn_layer;
int lud_nn_relu_layers(const lud_nn *net, int most, lud_nn_layer *layers);
/* Bytes of the plan, and what it would take without sharing buffers. */
size_t lud_nn_bytes(const lud_nn *net);
size_t lud_nn_bytes_unshared(const lud_nn *net);
/* Multiply-adds of the matrix products and dense convolutions of a forward run with the present rows (a
 * convolution of compact grids only adds up weights). */
double lud_nn_multiply_adds(const lud_nn *net);
