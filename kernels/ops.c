#include "kernels/ops.h"

void lud_edges_by_source(int64_t n_nodes, int64_t n_edges, const int32_t *offsets, const int32_t *source,
                         int32_t *target, int32_t *source_offsets, int32_t *source_edges) {
    for (int64_t i = 0; i <= n_nodes; ++i) source_offsets[i] = 0;
    for (int64_t e = 0; e < n_edges; ++e) ++source_offsets[source[e] + 1];
    for (int64_t i = 0; i < n_nodes; ++i) source_offsets[i + 1] += source_offsets[i];
    for (int64_t i = 0; i < n_nodes; ++i)
        for (int32_t e = offsets[i]; e < offsets[i + 1]; ++e) {
            target[e] = (int32_t)i;
            source_edges[source_offsets[source[e]]++] = e;
        }
    /* filling moved every start to its end, which is the next one's start */
    for (int64_t i = n_nodes; i > 0; --i) source_offsets[i] = source_offsets[i - 1];
    if (n_nodes > 0) source_offsets[0] = 0;
}
