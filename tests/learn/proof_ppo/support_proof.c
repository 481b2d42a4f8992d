#include "learn/proof_ppo/support_proof.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

lud_scenario *support_proof_scenario(const char *const *set, int n_set) {
    lud_scenario *scenario = NULL;
    lud_error error = {0};
    lud_status status = lud_scenario_load(LUDUS_SOURCE_DIR "/scenarios/proof/family_tree.yaml", set, n_set,
                                          &scenario, &error);
    if (status) print_error("%s\n", error.text);
    assert_int_equal(status, LUD_OK);
    return scenario;
}
