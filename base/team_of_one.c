/* Parallel regions of one thread without the cost of one.
 *
 * Every operation on arrays is a parallel region, most of them too short to be shared. For a region of one
 * thread GCC's run-time library takes memory for a team, gives it back and asks the system to wake nobody: a
 * third of a microsecond, a twentieth of a training of small networks. Where the caller stands in no team of
 * several such a region is a plain call. The linker sends calls here (--wrap=GOMP_parallel, see
 * CMakeLists.txt); other compilers call another name. */
#include <omp.h>
#include <stdbool.h>

typedef void region(void *shared);
void __wrap_GOMP_parallel(region *body, void *shared, unsigned n_threads, unsigned flags);
/* Weak, since nobody defines it where a program of somebody else's takes our archive without that option;
 * then nobody calls us. */
__attribute__((weak)) void __real_GOMP_parallel(region *body, void *shared, unsigned n_threads,
                                                unsigned flags);

/* The library keeps one place for the loop that a thread in no team is in: regions inside such a region have
 * teams. */
static _Thread_local bool inside;

void __wrap_GOMP_parallel(region *body, void *shared, unsigned n_threads, unsigned flags) {
    if (n_threads != 1 || inside || omp_get_num_threads() != 1) {
        __real_GOMP_parallel(body, shared, n_threads, flags);
        return;
    }
    inside = true;
    body(shared);
    inside = false;
}
