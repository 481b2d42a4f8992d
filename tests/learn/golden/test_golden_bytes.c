/* Every learner ends small trainings with the known bytes, with one thread and with two. */
#include "effort.h"
#include "learn/golden/support_golden.h"

int main(void) {
    static struct CMUnitTest tests[SUPPORT_GOLDEN_TESTS];
    int n = support_golden_tests("cpu", 1, tests);
    if (!SANITIZED) n += support_golden_tests("cpu", 2, tests + n);
    return _cmocka_run_group_tests("golden bytes", tests, (size_t)n, NULL, NULL);
}
