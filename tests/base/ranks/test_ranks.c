/* Processes that exchange what they have: this program starts itself under MPI's launcher, with 1 to 4 of
 * them, and each of them checks what it got against plain lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/interrupt.h"
#include "base/random.h"
#include "base/ranks/divide.h"

enum { N = 1237, MOST_SHARES = 12 };

static float share_number(int share, int i) {
    const lud_words w =
        lud_draw((lud_random_key){7, 3}, (uint32_t)i, (uint32_t)share, LUD_PURPOSE_SHUFFLE, 0);
    return ((float)w.v[0] - 2147483648.0f) *
           (share % 3 ? 1.0f : 1e-6f); /* sizes at which the order matters */
}

/* The sum along the tree, as its definition says. */
static float tree(int first, int end, int i) {
    if (end - first == 1) return share_number(first, i);
    const int middle = first + (end - first + 1) / 2;
    return tree(first, middle, i) + tree(middle, end, i);
}

static int check_sums(lud_ranks *ranks) {
    const int size = lud_ranks_size(ranks), rank = lud_ranks_rank(ranks);
    static float own[MOST_SHARES * N], sum[N];
    int n_checked = 0;
    for (int shares = size; shares <= MOST_SHARES; shares += size) {
        const int begin = lud_ranks_first_share(ranks, shares, rank),
                  end = lud_ranks_first_share(ranks, shares, rank + 1);
        for (int n = 1; n <= N; n += N - 1) {
            for (int s = begin; s < end; s++)
                for (int i = 0; i < n; i++) own[(s - begin) * n + i] = share_number(s, i);
            lud_error error = {0};
            if (lud_ranks_add(ranks, NULL, shares, n, own, sum, &error)) return 1;
            for (int i = 0; i < n; i++, n_checked++)
                if (sum[i] != tree(0, shares, i)) {
                    fprintf(stderr, "sum %d of %d shares: %.9g, expected %.9g\n", i, shares, (double)sum[i],
                            (double)tree(0, shares, i));
                    return 1;
                }
        }
    }
    return n_checked > N ? 0 : 1;
}

/* Arrays of which each process has the items of its shares; of few items one process may have none. */
static int check_arrays_of(lud_ranks *ranks, int n_items, int n_shares) {
    enum { SLOTS = 5, ITEMS = 17 };
    const int rank = lud_ranks_rank(ranks);
    int32_t numbers[SLOTS * ITEMS] = {0};
    char triples[2 * ITEMS][3] = {{0}};
    for (int64_t i = lud_ranks_first_item(ranks, n_items, n_shares, rank);
         i < lud_ranks_first_item(ranks, n_items, n_shares, rank + 1); i++) {
        for (int s = 0; s < SLOTS; s++) numbers[s * n_items + i] = 100 * s + (int)i;
        for (int s = 0; s < 2; s++) memset(triples[s * n_items + i], 'a' + (int)i + s, 3);
    }
    const lud_ranks_array arrays[] = {
        {numbers, sizeof *numbers, SLOTS, n_items}, {NULL, 8, SLOTS, n_items}, {triples, 3, 2, n_items}};
    lud_error error = {0};
    if (lud_ranks_complete(ranks, arrays, 3, n_shares, &error)) return 2;
    for (int i = 0; i < n_items; i++) {
        for (int s = 0; s < SLOTS; s++)
            if (numbers[s * n_items + i] != 100 * s + i) return 2;
        for (int s = 0; s < 2; s++)
            for (int k = 0; k < 3; k++)
                if (triples[s * n_items + i][k] != 'a' + i + s) return 2;
    }
    return 0;
}

/* The same of a list that the first process alone gets. */
static int check_collected(lud_ranks *ranks, int n_items, int n_shares, const bool *there) {
    enum { ITEMS = 17 };
    char triples[ITEMS][3] = {{0}};
    lud_error error = {0};
    const int rank = lud_ranks_rank(ranks);
    const int64_t begin = lud_ranks_first_item(ranks, n_items, n_shares, rank),
                  end = lud_ranks_first_item(ranks, n_items, n_shares, rank + 1);
    for (int64_t i = begin; i < end; i++) memset(triples[i], 'a' + (int)i, 3);
    if (lud_ranks_collect(ranks, triples, 3, n_items, n_shares, there, &error)) return 5;
    for (int r = 0; r < lud_ranks_size(ranks); r++)
        for (int64_t i = lud_ranks_first_item(ranks, n_items, n_shares, r);
             i < lud_ranks_first_item(ranks, n_items, n_shares, r + 1); i++) {
            const bool has = r == rank || (rank == 0 && !(there && there[r]));
            for (int k = 0; k < 3; k++)
                if (triples[i][k] != (has ? 'a' + i : 0)) return 5;
        }
    return 0;
}

static int check_arrays(lud_ranks *ranks) {
    const int size = lud_ranks_size(ranks), items[] = {17, 16, 5, 2, 1};
    int failed = 0;
    const bool some_there[4] = {true, false, true, true}, all_there[4] = {true, true, true, true};
    for (size_t i = 0; i < sizeof items / sizeof *items && !failed; i++)
        for (int shares = size; shares <= MOST_SHARES && !failed; shares += size)
            failed = check_arrays_of(ranks, items[i], shares) ||
                     check_collected(ranks, items[i], shares, NULL) ||
                     check_collected(ranks, items[i], shares, some_there) ||
                     check_collected(ranks, items[i], shares, all_there);
    return failed;
}

static int check_lists(lud_ranks *ranks) {
    const int size = lud_ranks_size(ranks), rank = lud_ranks_rank(ranks);
    int own[8] = {0}, all[32] = {0}, expected = 0;
    int64_t n = 0;
    lud_error error = {0};
    for (int i = 0; i < 2 * rank; i++) own[i] = 10 * rank + i;
    if (lud_ranks_join_lists(ranks, own, 2 * rank, sizeof *own, all, 32, &n, &error)) return 3;
    for (int r = 0; r < size; r++)
        for (int i = 0; i < 2 * r; i++)
            if (all[expected++] != 10 * r + i) return 3;
    if (n != expected) return 3;
    if (size == 1) return 0;
    /* no room: everybody is told */
    if (lud_ranks_join_lists(ranks, own, 2 * rank, sizeof *own, all, expected - 1, &n, &error) !=
        LUD_ERROR_LIMIT)
        return 3;
    return 0;
}

/* ---- divided work ---- */

enum { SQUARES = 17 };
typedef struct squares {
    int64_t square[SQUARES];
    int n_done;       /* by this process */
    int64_t fails_at; /* -1: nowhere */
} squares;

static lud_status square_some(void *context, int64_t first, int64_t n, lud_error *error) {
    squares *s = context;
    for (int64_t i = first; i < first + n; i++, s->n_done++) {
        if (i == s->fails_at) return lud_fail(error, LUD_ERROR_NUMERIC, "no square of %d", (int)i);
        s->square[i] = i * i;
    }
    return LUD_OK;
}

static lud_status square_all(lud_ranks *ranks, int n_shares, squares *s, lud_error *error) {
    const lud_ranks_array all = {s->square, sizeof *s->square, 1, SQUARES};
    return lud_ranks_divide(ranks, n_shares, SQUARES, square_some, s, &all, 1, error);
}

/* Each process does its own shares and has everything; where one fails all do. */
static int check_divided(lud_ranks *ranks) {
    const int size = lud_ranks_size(ranks), rank = lud_ranks_rank(ranks);
    lud_error error = {0};
    for (int shares = size; shares <= 3 * size; shares += size) {
        squares s = {.fails_at = -1};
        if (square_all(ranks, shares, &s, &error)) return 7;
        for (int i = 0; i < SQUARES; i++)
            if (s.square[i] != i * i) return 7;
        if (s.n_done != (int)(lud_ranks_first_item(ranks, SQUARES, shares, rank + 1) -
                              lud_ranks_first_item(ranks, SQUARES, shares, rank)))
            return 7;
    }
    squares s = {.fails_at = SQUARES - 1};
    if (square_all(ranks, size, &s, &error) != LUD_ERROR_NUMERIC || !strstr(error.text, "no square of 16"))
        return 7;
    return lud_ranks_parted(ranks) ? 7 : 0;
}

/* The others do not come: what is in hand is done here, and said afterwards. */
static int check_left_alone(void) {
    lud_ranks *ranks = NULL;
    lud_error error = {0};
    squares s = {.fails_at = -1};
    if (lud_ranks_open(&ranks, &error)) return 1;
    if (lud_ranks_rank(ranks) > 0) {
        sleep(60); /* until it is ended */
        return 1;
    }
    lud_interrupt_set(true);
    bool well = !square_all(ranks, 4, &s, &error) && lud_ranks_parted(ranks) && s.n_done == SQUARES;
    for (int i = 0; i < SQUARES; i++) well &= s.square[i] == i * i;
    well &= lud_ranks_agree(ranks, LUD_OK, &error) != LUD_OK;
    puts(well ? "all squares" : "not all squares");
    fflush(stdout);
    lud_ranks_close(ranks, LUD_INTERRUPTED);
    return 0;
}

static const char *letters(int a, int b, int c) {
    static char three[3];
    three[0] = (char)('a' + a);
    three[1] = (char)('a' + b);
    three[2] = (char)('a' + c);
    return three;
}

/* Process r has r + k + shift items for process k, of three bytes each, however they are cut. */
static int check_exchanged_lists(lud_ranks *ranks, int shift) {
    const int size = lud_ranks_size(ranks), rank = lud_ranks_rank(ranks);
    lud_error error = {0};
    int64_t begin[5] = {0}, came[5] = {-1, -1, -1, -1, -1}, n = 0, n_all = 0;
    char own[128][3], got[128][3], all[512][3];
    for (int k = 0; k < size; k++, begin[k] = n)
        for (int i = 0; i < rank + k + shift; i++, n++) memcpy(own[n], letters(rank, k, i), 3);
    if (lud_ranks_count_lists(ranks, begin, came, &error)) return 8;
    for (int k = 0, at = 0; k <= size; at += rank + k++ + shift)
        if (came[k] != at) return 8;
    if (lud_ranks_exchange_lists(ranks, own, begin, 3, got, came, &error)) return 8;
    for (int k = 0; k < size; k++)
        for (int i = 0; i < rank + k + shift; i++)
            if (memcmp(got[came[k] + i], letters(k, rank, i), 3) != 0) return 8;
    if (lud_ranks_join_lists(ranks, own, n, 3, all, 512, &n_all, &error)) return 8;
    int64_t at = 0;
    for (int r = 0; r < size; r++)
        for (int k = 0; k < size; k++)
            for (int i = 0; i < r + k + shift; i++)
                if (memcmp(all[at++], letters(r, k, i), 3) != 0) return 8;
    return n_all == at ? 0 : 8;
}

/* In one piece, in pieces of some items and of one. */
static int check_long_lists(lud_ranks *ranks) {
    static const int most[] = {1 << 20, 40, 1};
    int failed = 0;
    for (int i = 0; i < 3 && !failed; i++)
        for (int shift = 0; shift < 8 && !failed; shift += 7) {
            lud_ranks_limit(ranks, most[i]);
            failed = check_exchanged_lists(ranks, shift);
        }
    lud_ranks_limit(ranks, 1 << 30);
    return failed;
}

static int check_words(lud_ranks *ranks) {
    const int size = lud_ranks_size(ranks), rank = lud_ranks_rank(ranks);
    lud_error error = {0};
    int number = rank == 0 ? 4711 : 0;
    if (lud_ranks_broadcast(ranks, &number, sizeof number, &error) || number != 4711) return 4;
    if (lud_ranks_agree(ranks, LUD_OK, &error) || lud_ranks_agreed_to_fail(ranks)) return 4;
    if (size == 1) return 0;
    /* the last one has found something */
    lud_status own = rank == size - 1 ? lud_fail(&error, LUD_ERROR_MEMORY, "no room for %d", 7) : LUD_OK;
    char expected[64];
    snprintf(expected, sizeof expected, "process %d of %d: no room for 7", size - 1, size);
    if (lud_ranks_agree(ranks, own, &error) != LUD_ERROR_MEMORY || strcmp(error.text, expected) != 0)
        return 4;
    if (!lud_ranks_agreed_to_fail(ranks)) return 4;
    if (lud_ranks_agree(ranks, LUD_OK, &error)) return 4; /* and it goes on */
    for (int k = 0; k < size; k++)
        if (!lud_ranks_near(ranks, k)) return 4; /* all of them run here */
    if (lud_ranks_place(ranks) != rank) return 4;
    return lud_ranks_threads(ranks) >= 1 ? 0 : 4;
}

static int check_all(int expected) {
    lud_ranks *ranks = NULL;
    lud_error error = {0};
    if (lud_ranks_open(&ranks, &error)) {
        fprintf(stderr, "%s\n", error.text);
        return 5;
    }
    int failed = lud_ranks_size(ranks) != expected ? 6 : 0;
    if (!failed) failed = check_words(ranks);
    if (!failed) failed = check_arrays(ranks);
    if (!failed) failed = check_lists(ranks);
    if (!failed) failed = check_long_lists(ranks);
    if (!failed) failed = check_divided(ranks);
    if (!failed) failed = check_sums(ranks);
    lud_ranks_close(ranks, failed ? LUD_ERROR_NUMERIC : LUD_OK);
    return failed;
}

static const char *program;

#define LAUNCH                                                                                               \
    "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ASAN_OPTIONS=detect_leaks=0 "                 \
    "mpirun --oversubscribe -n %d '%s' %s"

static bool there_is_mpi(void) {
    return system("mpirun --version >/dev/null 2>&1") == 0 &&
           access(LUDUS_BINARY_DIR "/ludus_mpi.so", R_OK) == 0;
}

static void many(void **state) {
    (void)state;
    if (!there_is_mpi()) skip();
    for (int n = 1; n <= 4; n++) {
        char command[4096], number[16];
        snprintf(number, sizeof number, "%d", n);
        snprintf(command, sizeof command, LAUNCH, n, program, number);
        assert_int_equal(system(command), 0);
    }
}

static void work_of_others_is_done(void **state) {
    (void)state;
    if (!there_is_mpi()) skip();
    char command[4096], said[64] = "";
    snprintf(command, sizeof command, LAUNCH " 2>/dev/null", 2, program, "alone");
    FILE *out = popen(command, "r");
    assert_non_null(out);
    assert_non_null(fgets(said, sizeof said, out));
    pclose(out);
    assert_string_equal(said, "all squares\n");
}

static void alone(void **state) {
    (void)state;
    assert_int_equal(check_all(1), 0);
    lud_error error = {0};
    assert_int_equal(lud_ranks_check_shares(NULL, 3, &error), LUD_OK);
}

/* Every item is in one share, shares are even, and both functions say the same. */
static void shares(void **state) {
    (void)state;
    for (int64_t items = 1; items < 40; items++)
        for (int n = 1; n <= items; n++)
            for (int64_t i = 0; i < items; i++) {
                const int s = lud_share_of(items, n, i);
                assert_in_range(s, 0, n - 1);
                assert_true(lud_share_begin(items, n, s) <= i && i < lud_share_begin(items, n, s + 1));
                const int64_t length = lud_share_begin(items, n, s + 1) - lud_share_begin(items, n, s);
                assert_in_range(length, items / n, (items + n - 1) / n);
            }
}

int main(int n, char **words) {
    if (n > 1) return strcmp(words[1], "alone") == 0 ? check_left_alone() : check_all(atoi(words[1]));
    program = words[0];
    const struct CMUnitTest tests[] = {cmocka_unit_test(alone), cmocka_unit_test(shares),
                                       cmocka_unit_test(many), cmocka_unit_test(work_of_others_is_done)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
