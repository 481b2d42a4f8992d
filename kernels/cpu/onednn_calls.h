/* oneDNN's calls, each with its exceptions caught: the library is C++ inside and lets std::bad_alloc and
 * errors of its own out of its C functions, which would end a program that is C. */
#pragma once

#include <dnnl.h>

/* Those that are used, without their prefix; all return a dnnl_status_t. */
#define LUD_ONEDNN_CALLS(CALL)                                                                               \
    CALL(engine_create)                                                                                      \
    CALL(engine_destroy)                                                                                     \
    CALL(stream_create)                                                                                      \
    CALL(stream_destroy)                                                                                     \
    CALL(stream_wait)                                                                                        \
    CALL(memory_create)                                                                                      \
    CALL(memory_destroy)                                                                                     \
    CALL(memory_set_data_handle)                                                                             \
    CALL(memory_desc_init_by_strides)                                                                        \
    CALL(memory_desc_init_by_tag)                                                                            \
    CALL(matmul_desc_init)                                                                                   \
    CALL(convolution_forward_desc_init)                                                                      \
    CALL(convolution_backward_data_desc_init)                                                                \
    CALL(convolution_backward_weights_desc_init)                                                             \
    CALL(post_ops_create)                                                                                    \
    CALL(post_ops_destroy)                                                                                   \
    CALL(post_ops_append_eltwise)                                                                            \
    CALL(post_ops_append_sum)                                                                                \
    CALL(primitive_attr_create)                                                                              \
    CALL(primitive_attr_destroy)                                                                             \
    CALL(primitive_attr_set_post_ops)                                                                        \
    CALL(primitive_attr_set_scratchpad_mode)                                                                 \
    CALL(primitive_desc_create)                                                                              \
    CALL(primitive_desc_destroy)                                                                             \
    CALL(reorder_primitive_desc_create)                                                                      \
    CALL(primitive_create)                                                                                   \
    CALL(primitive_destroy)                                                                                  \
    CALL(primitive_execute)                                                                                  \
    CALL(sgemm)

typedef struct lud_onednn_calls {
#define LUD_ONEDNN_CALL(name) __typeof__(dnnl_##name) *name;
    LUD_ONEDNN_CALLS(LUD_ONEDNN_CALL)
#undef LUD_ONEDNN_CALL
} lud_onednn_calls;

#ifdef __cplusplus
extern "C"
#else
extern
#endif
    const lud_onednn_calls lud_onednn; /* an exception is dnnl_out_of_memory or dnnl_runtime_error */
