/* What `eval` says where a run cannot be judged in the way that was asked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "cli/support_program.h"

#define FAMILY "scenarios/proof/family_tree.yaml"
#define KEY    "scenarios/empo/fetch_the_key.yaml"
#define FAR    "scenarios/empo/beyond/far_key.yaml"
#define NICHE  "scenarios/empo/learned/step_out_of_the_way.yaml"

static char folder[] = "/tmp/ludus-eval-XXXXXX";
static char mad_run[64], kge_run[64], proof_run[64];

static void succeed(program_result r) {
    if (r.exit_code) fail_msg("exit code %d: %s", r.exit_code, r.err);
    program_free(&r);
}

/* Three runs, each trained for a moment. */
static int set_up(void **state) {
    (void)state;
    if (chdir(LUDUS_SOURCE_DIR) || !mkdtemp(folder)) return -1; /* scenarios are named from there */
    snprintf(mad_run, sizeof mad_run, "%s/mad", folder);
    snprintf(kge_run, sizeof kge_run, "%s/kge", folder);
    snprintf(proof_run, sizeof proof_run, "%s/proof", folder);
    succeed(LUDUS("train", "scenarios/particle/navigation_5.yaml", "-o", mad_run, "-q", "--set",
                  "particle.agents=2", "--set", "particle.graph.edge_distance=0.3", "--set",
                  "run.environments=2", "--set", "learner.steps=100", "--set",
                  "learner.evaluation_episodes=2", "--set", "learner.hidden_size=8", "--set",
                  "learner.graph={hidden_size: 4, heads: 1, embed_hidden_size: 4, layers: 0}"));
    succeed(LUDUS("train", FAMILY, "-o", kge_run, "-q", "--set",
                  "learner={type: kge, dimension: 4, epochs: 1, negatives: 4, evaluation: {queries: 1}}"));
    succeed(
        LUDUS("train", FAMILY, "-o", proof_run, "-q", "--set",
              "learner={type: proof-ppo, network: {embedding_size: 4, hidden: 4, layers: 1}, total_steps: 8, "
              "n_envs: 2, n_steps: 4, batch_size: 8, evaluation: {queries: 1, candidates: 2}}"));
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

/* Exit code 2 and the message; a table may have been printed before. */
static void check_failure(program_result r, const char *message) {
    if (r.exit_code != 2) fail_msg("exit code %d: %s", r.exit_code, r.err);
    if (!strstr(r.err, message)) fail_msg("'%s' is not in '%s'", message, r.err);
    program_free(&r);
}

static void test_policy_of_trained_run(void **state) {
    (void)state;
    char expected[160];
    snprintf(expected, sizeof expected,
             "--policy evaluates within a solved RUN; %s was trained, `ludus solve` its scenario first",
             mad_run);
    check_failure(LUDUS("eval", mad_run, "--policy", "random"), expected);
    check_failure(LUDUS("eval", proof_run, "--policy", "random"),
                  "--policy evaluates policies of solved worlds only");
}

static void test_split(void **state) {
    (void)state;
    check_failure(LUDUS("eval", proof_run, "--split", "train"), "--split train: expected valid or test");
}

static void test_closed_loop(void **state) {
    (void)state;
    char plot[96], expected[160];
    snprintf(plot, sizeof plot, "%s/loop.png", folder);
    check_failure(LUDUS("eval", kge_run, "--plot", plot),
                  "--plot and --against draw the closed loop of graph-mappo in worlds with goals");
    check_failure(LUDUS("eval", kge_run, "--split", "test"), "--split means nothing for a run of kge");
    check_failure(LUDUS("eval", kge_run, "--episodes", "7"), "--episodes means nothing for a run of kge");
    check_failure(LUDUS("eval", proof_run, "--plot", plot), "--plot means nothing for a run of proof-ppo");
    snprintf(expected, sizeof expected,
             "--against: %s is not a run of graph-mappo in which everybody has a goal", kge_run);
    check_failure(LUDUS("eval", mad_run, "--against", kge_run), expected);
}

/* A question to a run that has no policy for proofs. */
static void test_query(void **state) {
    (void)state;
    char expected[160];
    snprintf(expected, sizeof expected, "--query: %s is a run of kge, which answers no queries", kge_run);
    check_failure(LUDUS("run", kge_run, "--query", "aunt(X,Y)"), expected);
    check_failure(LUDUS("run", proof_run, "--query", "aunt(X,Y"),
                  "--query: query:1:9: expected an argument and then");
    check_failure(LUDUS("run", proof_run, "--beam", "3"), "--beam: is about --query");
    check_failure(LUDUS("run", proof_run, "--query", "aunt(X,Y)", "--policy", kge_run),
                  "--policy: says nothing to --query");
}

static void train_in_key(const char *run, const char *recurrent) {
    char learner[256];
    snprintf(learner, sizeof learner,
             "learner={type: graph-mappo, steps: 40, rollout_length: 10, recurrent: %s, hidden_size: 8, "
             "epochs: 1, evaluation_episodes: 2}",
             recurrent);
    succeed(LUDUS("train", KEY, "-o", run, "-q", "--set", "run.environments=2", "--set", learner));
}

static void check_output(program_result r, const char *expected, const char *other) {
    if (r.exit_code) fail_msg("exit code %d: %s", r.exit_code, r.err);
    if (!strstr(r.out, expected) || (other && !strstr(r.out, other)))
        fail_msg("'%s' or '%s' is not in '%s'", expected, other ? other : "", r.out);
    program_free(&r);
}

/* Bindings of the variables with a proof each, also of what is a fact; as text and for programs. */
static void test_answers(void **state) {
    (void)state;
    check_output(LUDUS("run", proof_run, "--query", "grandfather(adam_bach, Y)", "--answers", "1"),
                 "grandfather(adam_bach, Y): 3 answers; here is 1 (--answers)\n\nY = franz_bach_2\n", NULL);
    check_output(LUDUS("run", proof_run, "--query", "grandfather(adam_bach, franz_bach_2)"),
                 "by grandfather_1: father(x,z), father(z,y) -> grandfather(x,y)\n"
                 "├─ father(adam_bach,erik_bach)  fact\n",
                 "; it is a fact, too");
    check_output(LUDUS("run", proof_run, "--query", "grandfather(adam_bach, franz_bach)"),
                 "it does not follow from the facts and rules", NULL);
    check_output(LUDUS("run", proof_run, "--query", "grandfather(adam_bach, Y)", "--json"),
                 "\"Y\": \"helga_bach_2\"", "\"n\": 3");
}

/* A solution evaluates every policy in the scenario that was solved: what follows from the state alone
 * exactly, what remembers by playing. */
static void test_solved(void **state) {
    (void)state;
    char solved[64], plain[64], recurrent[64];
    snprintf(solved, sizeof solved, "%s/solved", folder);
    snprintf(plain, sizeof plain, "%s/plain", folder);
    snprintf(recurrent, sizeof recurrent, "%s/recurrent", folder);
    succeed(LUDUS("solve", KEY, "-o", solved, "-q"));
    check_failure(LUDUS("eval", solved, "--policy", "random", "--set", "multigrid.max_steps=7"),
                  "solution.empo: not a solution of this scenario");
    train_in_key(plain, "false");
    train_in_key(recurrent, "true");
    check_output(LUDUS("eval", solved, "--policy", plain), "policy divergence", "person 0   power X_h");
    check_output(LUDUS("eval", solved, "--policy", plain, "--json"), "\"exact\": true", "\"kl\": ");
    check_output(LUDUS("eval", solved, "--policy", "{type: script, actions: [forward, left]}", "--json"),
                 "\"exact\": true", NULL);
    check_output(LUDUS("eval", solved, "--policy", "heuristic", "--json"), "\"exact\": true", NULL);
    check_output(LUDUS("eval", solved, "--policy", recurrent, "--episodes", "2"),
                 "estimated from 2 episodes, with 95 % intervals", " ± ");
    check_output(LUDUS("eval", solved, "--policy", recurrent, "--episodes", "2", "--json"),
                 "\"exact\": false", "\"V_r_interval\": ");
    check_failure(LUDUS("eval", solved, "--policy", recurrent, "--episodes", "1"),
                  "--episodes 1: an interval needs at least two");
    check_failure(LUDUS("eval", solved, "--policy", plain, "--episodes", "5"),
                  "--episodes is for policies that have to be played; this one is evaluated exactly");
}

/* What people have of robots that were not trained needs no training, where the scenario says how people act.
 */
static void test_scenario(void **state) {
    (void)state;
    check_output(LUDUS("eval", FAR, "--policy", "{type: script, actions: [still]}", "--episodes", "2"),
                 "2 episodes, means with 95 % intervals", "\nperson 0 ");
    check_failure(LUDUS("eval", NICHE, "--policy", "random"),
                  "nobody says how people act; expected policies.human, or in its place a RUN");
    check_failure(LUDUS("eval", FAR), "is a scenario, expected a RUN; `ludus train ");
    check_failure(LUDUS("eval", KEY, "--policy", "random"), "is a scenario, expected a RUN; `ludus solve ");
}

/* Power at the beginning, on their own, is of people and not of the robots that are evaluated. */
static void test_same_people(void **state) {
    (void)state;
    char run[64];
    snprintf(run, sizeof run, "%s/niche", folder);
    succeed(LUDUS("train", NICHE, "-o", run, "-q", "--set", "learner.num_training_steps=20"));
    const char *const policies[] = {run, "random"};
    double power[2] = {0};
    for (int i = 0; i < 2; i++) {
        program_result r = LUDUS("eval", run, "--policy", policies[i], "--episodes", "2", "--json");
        json_t *report = json_loads(r.out, 0, NULL);
        power[i] = json_real_value(json_object_get(
            json_object_get(json_array_get(json_object_get(report, "people"), 0), "power_beginning"),
            "mean"));
        json_decref(report);
        program_free(&r);
    }
    assert_true(power[0] > 0);
    assert_true(power[0] == power[1]);
}

/* What comes behind the speed of a run. */
static const char *agents_of(program_result r) {
    const char *table = r.exit_code ? NULL : strstr(r.out, "agent  role");
    if (!table) fail_msg("%s", r.err);
    return table;
}

/* What people have of robots is measured by playing, where there is no solution; and a RUN acts as it was
 * trained, whatever the learner of the scenario is to do. */
static void test_learned_robots(void **state) {
    (void)state;
    char run[64], other[64], text[256];
    snprintf(run, sizeof run, "%s/key", folder);
    snprintf(other, sizeof other, "%s/other.yaml", folder);
    snprintf(text, sizeof text,
             "cat > %s << END\ninclude: " LUDUS_SOURCE_DIR "/" KEY
             "\nlearner: {type: empo-phase2, beta_r: 0}\n"
             "policies: {human: {type: heuristic}}\nEND\n",
             other);
    assert_int_equal(system(text), 0);
    succeed(LUDUS("train", other, "-o", run, "-q", "--set", "learner.num_training_steps=20", "--set",
                  "learner.exact_max_states=0", "--set", "learner.beta_r=1000"));
    check_output(LUDUS("eval", run, "--policy", "random", "--episodes", "4"),
                 "robots follow random\n4 episodes",
                 "goals reached      power at the beginning   at the end\nperson 0 ");
    check_output(LUDUS("eval", run, "--policy", run, "--episodes", "4", "--json"),
                 "\"power_end\": ", "\"goals_reached\": ");
    check_failure(LUDUS("eval", run, "--policy", "random", "--episodes", "1"),
                  "--episodes 1: an interval needs at least two");
    check_failure(LUDUS("eval", run, "--policy", "radnom"), "radnom");
    check_failure(
        LUDUS("eval", run, "--policy", "random", "--set", "policies.human={type: script, actions: [left]}"),
        "person 0 follows the policy 'script', which does not act on the state alone");
    program_result own = LUDUS("run", run, "-n", "40"),
                   there = LUDUS("run", other, "--policy", run, "-n", "40"),
                   otherwise = LUDUS("run", run, "-n", "40", "--set", "learner.beta_r=0");
    assert_string_equal(agents_of(own), agents_of(there));
    assert_string_not_equal(agents_of(own), agents_of(otherwise)); /* so it would show */
    program_free(&own);
    program_free(&there);
    program_free(&otherwise);
    check_failure(LUDUS("run", other, "--policy", run, "--set", "learner.beta_r=5"),
                  "--set learner.beta_r=5: ");
}

/* A RUN whose scenario was edited after the training. */
static void test_edited_run(void **state) {
    (void)state;
    char command[256];
    snprintf(command, sizeof command,
             "cp -r %s %s/edited && sed -i 's/hidden_size: 64/hidden_size: 32/' %s/edited/scenario.yaml",
             mad_run, folder, folder);
    assert_int_equal(system(command), 0);
    snprintf(command, sizeof command, "%s/edited", folder);
    check_failure(LUDUS("run", command, "--episodes", "1"), "was not made with the settings of");
}

/* --policy names no RUN, one of another world, or one that cannot act. */
static void test_unfitting_policy(void **state) {
    (void)state;
    static const char family[] = "scenarios/proof/family_tree.yaml";
    check_failure(LUDUS("run", KEY, "--policy", "nowhere"), "--policy: nowhere: no such file");
    check_failure(LUDUS("run", KEY, "--policy", KEY),
                  "--policy: " KEY " is a file, expected a RUN, a folder");
    check_failure(LUDUS("run", KEY, "--policy", proof_run),
                  "a run of the world 'proof', the scenario has 'multigrid'");
    check_failure(LUDUS("run", family, "--policy", kge_run), "kge has no policy that acts in this scenario");
    char empty[96], command[480];
    snprintf(empty, sizeof empty, "%s/empty", folder);
    snprintf(command, sizeof command, "mkdir %s && cp -r %s/scenario.yaml %s/files %s", empty, proof_run,
             proof_run, empty);
    assert_int_equal(system(command), 0);
    check_failure(
        LUDUS("run", family, "--policy", empty),
        "expected a RUN, a folder with policy.safetensors or checkpoint.safetensors of its learner or "
        "solution.empo");
    check_failure(LUDUS("eval", empty), "expected a RUN");
}

static void test_diverging_training(void **state) {
    (void)state;
    char run[64];
    snprintf(run, sizeof run, "%s/diverging", folder);
    program_result r = LUDUS(
        "train", "scenarios/particle/simple.yaml", "-o", run, "-q", "--set", "run.environments=4", "--set",
        "learner={type: graph-mappo, encoder: mlp, steps: 4000, rollout_length: 10, epochs: 3, "
        "learning_rate: 10, critic_learning_rate: 10, max_norm: 0, recurrent: false, "
        "feature_normalisation: false}");
    assert_int_equal(r.exit_code, 1);
    /* what became infinite first, and when */
    if (!strstr(r.err, "iteration ") || !strstr(r.err, "try a smaller learning_rate or max_norm"))
        fail_msg("%s", r.err);
    program_free(&r);
}

static void test_cross_play(void **state) {
    (void)state;
    check_failure(LUDUS("eval", mad_run, mad_run), "several RUNs: expected --cross with it");
    check_failure(LUDUS("eval", mad_run, "--sides", "0,1"), "--sides: expected --cross with it");
    check_failure(LUDUS("eval", mad_run, "--cross", "--split", "test"), "--split says nothing to --cross");
    check_failure(LUDUS("eval", mad_run, "--cross", "-o", "table.txt"),
                  "expected a name that ends with .csv or .md");
    check_failure(LUDUS("eval", mad_run, "no/where", "--cross"), "no/where: no such RUN");
    check_failure(LUDUS("eval", mad_run, "rundom", "--cross"), "did you mean 'random'?");
    check_failure(LUDUS("eval", mad_run, proof_run, "--cross"),
                  "of the world 'proof', expected one of 'particle'");
    check_failure(LUDUS("eval", "scenarios/particle/navigation_3.yaml", "--cross"),
                  "expected at least one RUN or policy behind the scenario");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cross_play),
                                       cmocka_unit_test(test_policy_of_trained_run),
                                       cmocka_unit_test(test_split),
                                       cmocka_unit_test(test_closed_loop),
                                       cmocka_unit_test(test_query),
                                       cmocka_unit_test(test_answers),
                                       cmocka_unit_test(test_solved),
                                       cmocka_unit_test(test_scenario),
                                       cmocka_unit_test(test_same_people),
                                       cmocka_unit_test(test_learned_robots),
                                       cmocka_unit_test(test_edited_run),
                                       cmocka_unit_test(test_unfitting_policy),
                                       cmocka_unit_test(test_diverging_training)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
