// Adding rows at indices, in ascending order for every destination. Few rows: a warp of a destination looks
// through the indices. Many: they are sorted by destination (a stable radix sort, eight bits a pass) and
// added up from there, destinations of many rows in pieces.
//
// A pass counts digits by tiles of TILE places, a warp a tile; sums over tiles and digits say where each
// digit of each tile goes. Lanes with the same digit find each other by ballots, so that nothing depends on
// scheduling (Merrill and Grimshaw, "High performance and scalable radix sorting", 2011).
#include "kernels/cuda/cuda.cuh"

namespace lud_cuda {

constexpr int64_t FEW = 4096, TILE = 1024, PIECE = 1024;
constexpr int DIGITS = 256, DIGIT_BITS = 8;

// A place in the order to be found: its destination (n_out where it has none) and the row that goes there.
struct place {
    int32_t to, row;
};

struct sorter {
    place *from, *into; // [n]
    int32_t *count;     // [DIGITS][n_tiles], then where they begin
    int32_t *first;     // [DIGITS] places of smaller digits
    int64_t n, n_tiles;
    int shift;
};

__device__ static inline int digit_of(const sorter &s, int64_t at) {
    return (int)((uint32_t)s.from[at].to >> s.shift & (DIGITS - 1));
}

// The lanes whose digit is this lane's; lanes that are not `there` have none.
__device__ static inline unsigned peers_of(int digit, bool there) {
    unsigned peers = __ballot_sync(0xffffffffu, there);
    for (int bit = 0; bit < DIGIT_BITS; ++bit) {
        const bool set = digit >> bit & 1;
        const unsigned with = __ballot_sync(0xffffffffu, set);
        peers &= set ? with : ~with;
    }
    return peers;
}

// count[digit of a tile] from `begin`: what is there, and each place's number among its like, to visit(place,
// digit, number).
template <class F>
__device__ static inline void go_through(const sorter &s, int64_t tile, int lane, int32_t *count, F visit) {
    const int64_t end = (tile + 1) * TILE < s.n ? (tile + 1) * TILE : s.n;
    for (int64_t first = tile * TILE; first < end; first += WARP) {
        const int64_t at = first + lane;
        const bool there = at < end;
        const int digit = there ? digit_of(s, at) : 0;
        const unsigned peers = peers_of(digit, there);
        const int before = __popc(peers & ((1u << lane) - 1));
        int32_t *own = count + digit * s.n_tiles;
        const int32_t number = there ? *own + before : 0;
        if (there) visit(at, number);
        __syncwarp();
        if (there && before == 0) *own = number + __popc(peers);
        __syncwarp();
    }
}

static void sort_pass(lud_device *device, const sorter &s) {
    each(device, DIGITS * s.n_tiles, [=] __device__(int64_t at) { s.count[at] = 0; });
    each_warp(device, s.n_tiles, [=] __device__(int64_t tile, int lane) {
        go_through(s, tile, lane, s.count + tile, [](int64_t, int32_t) {});
    });
    // sums over the tiles of a digit, then over digits
    each_warp(device, DIGITS, [=] __device__(int64_t digit, int lane) {
        int32_t *count = s.count + digit * s.n_tiles, total = 0;
        for (int64_t first = 0; first < s.n_tiles; first += WARP) {
            const int64_t tile = first + lane;
            const int32_t own = tile < s.n_tiles ? count[tile] : 0;
            int32_t sum = own;
            for (int step = 1; step < WARP; step *= 2) {
                const int32_t before = __shfl_up_sync(0xffffffffu, sum, (unsigned)step);
                if (lane >= step) sum += before;
            }
            if (tile < s.n_tiles) count[tile] = total + sum - own;
            total += __shfl_sync(0xffffffffu, sum, WARP - 1);
        }
        if (lane == 0) s.first[digit] = total;
    });
    each_warp(device, 1, [=] __device__(int64_t, int lane) {
        int32_t total = 0;
        for (int first = 0; first < DIGITS; first += WARP) {
            const int32_t own = s.first[first + lane];
            int32_t sum = own;
            for (int step = 1; step < WARP; step *= 2) {
                const int32_t before = __shfl_up_sync(0xffffffffu, sum, (unsigned)step);
                if (lane >= step) sum += before;
            }
            s.first[first + lane] = total + sum - own;
            total += __shfl_sync(0xffffffffu, sum, WARP - 1);
        }
    });
    each_warp(device, s.n_tiles, [=] __device__(int64_t tile, int lane) {
        go_through(s, tile, lane, s.count + tile, [=](int64_t at, int32_t number) {
            s.into[s.first[digit_of(s, at)] + number] = s.from[at];
        });
    });
}

struct addition {
    int64_t n, width, n_out, strips;
    const float *x, *weight;
    float *y;
    const place *sorted;  // [n] by destination, rows ascending
    const int32_t *begin; // [n_out + 1] where a destination's places begin
    float *part;          // [2 windows][width] sums of pieces
};

// total + the rows of places first .. end in column j.
__device__ static inline float add_places(const addition &a, int32_t first, int32_t end, int64_t j,
                                          float total) {
    for (int32_t p = first; p < end; ++p) {
        const int64_t row = a.sorted[p].row;
        total += (a.weight ? a.weight[row] : 1) * a.x[row * a.width + j];
    }
    return total;
}

// Where the sum of the piece that begins at place p is kept. Of the places of a window of PIECE at most one
// is the first of a destination of more than PIECE rows, and at most one begins a later piece of one.
__device__ static inline int64_t slot_of(int32_t p, bool is_first) {
    return p / PIECE * 2 + is_first;
}

// Sums of the pieces of destinations of more than PIECE rows, a warp a piece and 32 columns.
static void add_pieces(lud_device *device, const addition &a) {
    const int64_t windows = (a.n + PIECE - 1) / PIECE;
    each_warp(device, windows * 2 * a.strips, [=] __device__(int64_t job, int lane) {
        const int64_t slot = job / a.strips, j = job % a.strips * WARP + lane;
        const bool is_first = slot & 1;
        const int32_t open = (int32_t)(slot / 2 * PIECE);
        const int32_t close = (int32_t)(open + PIECE < a.n ? open + PIECE : a.n);
        const int32_t to = a.sorted[is_first ? close - 1 : open].to;
        if (to >= a.n_out) return;
        const int32_t begin = a.begin[to], end = a.begin[to + 1];
        if (end - begin <= PIECE || is_first != (begin >= open)) return;
        const int32_t start =
            is_first ? begin : (int32_t)(begin + (open - begin + PIECE - 1) / PIECE * PIECE);
        if (start >= end || j >= a.width) return;
        const int32_t stop = end - start < PIECE ? end : (int32_t)(start + PIECE);
        a.part[slot * a.width + j] = add_places(a, start, stop, j, 0);
    });
}

static void add_destinations(lud_device *device, const addition &a) {
    each_warp(device, a.n_out * a.strips, [=] __device__(int64_t job, int lane) {
        const int64_t to = job / a.strips, j = job % a.strips * WARP + lane;
        const int32_t begin = a.begin[to], end = a.begin[to + 1];
        if (begin == end || j >= a.width) return;
        float total = a.y[to * a.width + j];
        if (end - begin <= PIECE)
            total = add_places(a, begin, end, j, total);
        else
            for (int32_t p = begin; p < end; p += (int32_t)PIECE)
                total += a.part[slot_of(p, p == begin) * a.width + j];
        a.y[to * a.width + j] = total;
    });
}

static void add_sorted(lud_device *device, int64_t n, const int32_t *index, addition a) {
    sorter s = {};
    s.n = n;
    s.n_tiles = (n + TILE - 1) / TILE;
    const int64_t windows = (n + PIECE - 1) / PIECE;
    const int64_t numbers = 4 * n + DIGITS * s.n_tiles + DIGITS + a.n_out + 2 + 2 * windows * a.width;
    s.from = static_cast<place *>(workspace(device, (size_t)numbers * sizeof(int32_t)));
    if (!s.from) return;
    s.into = s.from + n;
    s.count = reinterpret_cast<int32_t *>(s.into + n);
    s.first = s.count + DIGITS * s.n_tiles;
    int32_t *begin = s.first + DIGITS;
    a.part = reinterpret_cast<float *>(begin + a.n_out + 2);
    const int32_t n_out = (int32_t)a.n_out;
    place *places = s.from;
    each(device, n, [=] __device__(int64_t i) {
        places[i] = place{index[i] >= 0 ? index[i] : n_out, (int32_t)i};
    });
    for (; a.n_out >> s.shift; s.shift += DIGIT_BITS) {
        sort_pass(device, s);
        place *sorted = s.into;
        s.into = s.from;
        s.from = sorted;
    }
    const place *sorted = a.sorted = s.from;
    a.begin = begin;
    each(device, n + 1, [=] __device__(int64_t p) {
        const int32_t last = p > 0 ? sorted[p - 1].to : -1, next = p < n ? sorted[p].to : n_out;
        for (int32_t to = last + 1; to <= next; ++to) begin[to] = (int32_t)p;
    });
    add_pieces(device, a);
    add_destinations(device, a);
}

// A warp owns 32 columns of one destination: it looks through the indices 32 at a time and takes the matching
// rows.
static void add_few(lud_device *device, int64_t n, const int32_t *index, const addition &a) {
    each_warp(device, a.n_out * a.strips, [=] __device__(int64_t job, int lane) {
        int64_t to = job / a.strips, j = job % a.strips * WARP + lane;
        float total = j < a.width ? a.y[to * a.width + j] : 0;
        for (int64_t first = 0; first < n; first += WARP) {
            bool match = first + lane < n && index[first + lane] == to;
            for (unsigned found = __ballot_sync(0xffffffffu, match); found; found &= found - 1) {
                int64_t i = first + __ffs((int)found) - 1;
                if (j < a.width) total += (a.weight ? a.weight[i] : 1) * a.x[i * a.width + j];
            }
        }
        if (j < a.width) a.y[to * a.width + j] = total;
    });
}

void scatter_add(lud_device *device, int64_t n, int64_t width, int64_t n_out, const float *x,
                 const float *weight, const int32_t *index, float *y) {
    addition a = {};
    a.n = n;
    a.width = width;
    a.n_out = n_out;
    a.strips = (width + WARP - 1) / WARP;
    a.x = x;
    a.weight = weight;
    a.y = y;
    if (n <= FEW)
        add_few(device, n, index, a);
    else
        add_sorted(device, n, index, a);
}

} // namespace lud_cuda
