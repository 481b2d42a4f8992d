/* What is said when a learner cannot be made from a scenario: a wrong section, a world that does not suit it,
 * files of another learner. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "learn/learner.h"
#include "learn/store/checkpoint.h"
#include "sim/scenario.h"
#include "written.h"

static char folder[] = "/tmp/ludus-learners-XXXXXX";
static lud_device *device;

static int set_up(void **state) {
    (void)state;
    if (!mkdtemp(folder) || lud_device_open("cpu", 1, &device, NULL)) return -1;
    write_in(folder, "pairs.txt", "p(a,b)\nq(b,c)\n");
    write_in(folder, "single.txt", "r(a)\np(b,c)\n");
    write_in(folder, "nothing.txt", "% no facts\n");
    write_in(folder, "rules.txt", "q(X,Y) :- p(X,Y)\n");
    write_in(folder, "queries.txt", "q(a,b)\n");
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    lud_device_close(device);
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

/* Worlds; `%s` in a text stands for the folder with the files. */
#define PARTICLE(section) "ludus: 1\nworld: particle\nparticle: {" section "}\n"
#define GRID(row)                                                                                            \
    "ludus: 1\nworld: multigrid\nmultigrid: {map: \"We We We We\\n" row "\\nWe We We We\\n\", max_steps: "   \
    "3}\n"
#define GOALS "goals: [{cell: [1, 1]}, {cell: [2, 1]}]\n"
#define PROOF(facts, more)                                                                                   \
    "ludus: 1\nworld: proof\nproof: {folder: %s, facts: " facts ", rules: rules.txt, queries: {train: "      \
    "queries.txt, valid: queries.txt, test: queries.txt}" more "}\n"
#define LEARNER(section) "learner: {" section "}\n"

static void expect(const char *text, lud_status status, const char *expected) {
    lud_text whole = {0};
    const char *folder_at = strstr(text, "%s");
    if (folder_at)
        lud_text_append(&whole, "%.*s%s%s", (int)(folder_at - text), text, folder, folder_at + 2);
    else
        lud_text_append(&whole, "%s", text);
    lud_scenario *scenario = NULL;
    lud_learner *learner = NULL;
    lud_error error = {0};
    if (lud_scenario_read("test.yaml", whole.bytes, whole.length, NULL, 0, &scenario, &error))
        fail_msg("%s in\n%s", error.text, whole.bytes);
    if (lud_learner_create(scenario, device, &learner, &error) != status || strcmp(error.text, expected))
        fail_msg("status %d, `%s`, expected %d, `%s`, of\n%s", (int)error.status, error.text, (int)status,
                 expected, whole.bytes);
    assert_null(learner);
    lud_scenario_destroy(scenario);
    lud_text_free(&whole);
}

static void test_sections(void **state) {
    (void)state;
    expect("ludus: 1\nworld: particle\nparticle: {task: simple}\nrun: {steps: 0x40}\n" LEARNER(
               "type: empo-phase1"),
           LUD_ERROR_INPUT,
           "test.yaml:4:14: run.steps counts environment steps, by which empo-phase1 does not; its length "
           "stands in "
           "its own section (ludus help empo-phase1)");
    expect(
        PARTICLE("task: simple"), LUD_ERROR_INPUT,
        "test.yaml: there is no `learner:` section to train with, for instance --set learner.type=NAME; in "
        "particle: graph-mappo, clone, ticks");
    expect(PARTICLE("task: simple") LEARNER("steps: 3"), LUD_ERROR_INPUT,
           "test.yaml:4:10: the `learner:` section has no `type:`, as in learner: {type: NAME}; in particle: "
           "graph-mappo, clone, ticks");
    expect(PARTICLE("task: simple") LEARNER("type: kge"), LUD_ERROR_INPUT,
           "test.yaml:4:10: learner kge needs the world 'proof', this scenario has 'particle'");
    expect(PARTICLE("task: simple") LEARNER("type: proof-ppo"), LUD_ERROR_INPUT,
           "test.yaml:4:10: learner proof-ppo needs the world 'proof', this scenario has 'particle'");
    static const char *const networks[] = {"learner: {type: empo-phase1}\n",
                                           "learner: {type: empo-phase2}\n"};
    for (int i = 0; i < 2; i++) {
        char text[200];
        snprintf(text, sizeof text, "%s%s", PARTICLE("task: simple"), networks[i]);
        expect(text, LUD_ERROR_UNSUPPORTED,
               "the world particle has no compact features; networks of EMPO need multigrid");
    }
}

static void test_optimiser(void **state) {
    (void)state;
    expect(PARTICLE("task: simple") LEARNER("type: graph-mappo, optimiser: {momentum: 0.9}"), LUD_ERROR_INPUT,
           "test.yaml:4:52: momentum: expected no momentum with type adam; it is of sgd, found '0.9'");
    expect(
        PARTICLE("task: simple") LEARNER("type: graph-mappo, optimiser: {type: sgd, beta1: 0.8}"),
        LUD_ERROR_INPUT,
        "test.yaml:4:60: beta1: expected no beta1 with type sgd; it is of every type but sgd, found '0.8'");
    expect(
        PARTICLE("task: simple") LEARNER("type: graph-mappo, optimiser: {type: adamw, rank: 4}"),
        LUD_ERROR_INPUT,
        "test.yaml:4:61: rank: expected no rank with type adamw; it is of apollo and apollo-mini, found '4'");
    expect(
        PROOF("pairs.txt", "") LEARNER("type: proof-ppo, optimiser: {limiter: false}"), LUD_ERROR_INPUT,
        "test.yaml:4:49: limiter: expected no limiter with type adam; it is of apollo and apollo-mini, found "
        "'false'");
    expect(PROOF("pairs.txt", "") LEARNER("type: kge, optimiser: {scale: 2}"), LUD_ERROR_INPUT,
           "test.yaml:4:41: scale: expected no scale with type adam; it is of apollo and apollo-mini, found "
           "'2'");
    expect(PARTICLE("task: simple") LEARNER("type: graph-mappo, optimiser: {type: lion}"), LUD_ERROR_INPUT,
           "test.yaml:4:48: type: expected sgd, adam, adamw, apollo or apollo-mini, found 'lion'");
    static const char *const empo[] = {"empo-phase1", "empo-phase2"};
    for (int i = 0; i < 2; i++) {
        char text[300];
        snprintf(text, sizeof text, "%s%slearner: {type: %s, optimiser: {projection_gap: 9}}\n",
                 GRID("We Ay Ae We"), GOALS, empo[i]);
        expect(
            text, LUD_ERROR_INPUT,
            "test.yaml:5:58: projection_gap: expected no projection_gap with type adam; it is of apollo and "
            "apollo-mini, found '9'");
    }
    /* what stood beside the section before there was one */
    expect(PROOF("pairs.txt", "") LEARNER("type: kge, weight_decay: 0"), LUD_ERROR_INPUT,
           "test.yaml:4:22: expected type, scorer, dimension, margin, norm, loss, alpha, negatives, epochs, "
           "batch_size, shares, bernoulli, max_modulus, optimiser, max_grad_norm, learning_rate or "
           "evaluation as "
           "key in 'learner', found 'weight_decay'; 'optimiser' has such a key");
}

static void test_graph_mappo(void **state) {
    (void)state;
    expect(PARTICLE("task: simple") LEARNER("type: graph-mappo, mad: {r_min: 0.9, r_max: 0.8}"),
           LUD_ERROR_INPUT, "test.yaml:4:10: learner.mad: expected r_min < r_max < 1, not 0.9 and 0.8");
    expect(
        PARTICLE(
            "actions: continuous, bodies: [{name: a, type: agent}, {name: b, type: agent, movable: false}]")
            LEARNER("type: graph-mappo"),
        LUD_ERROR_UNSUPPORTED,
        "the networks of graph-mappo need agents with either discrete or continuous actions");
    expect(PARTICLE(
               "actions: continuous, speech_size: 3, bodies: [{name: a, type: agent}, {name: b, type: agent, "
               "movable: false, speaks: true}]") LEARNER("type: graph-mappo"),
           LUD_ERROR_UNSUPPORTED,
           "the networks of graph-mappo need agents with equally many continuous actions");
    expect(PARTICLE("bodies: [{name: a, type: agent}]") LEARNER("type: graph-mappo"), LUD_ERROR_UNSUPPORTED,
           "the networks of graph-mappo read numbers, and agents of this world observe none");
    expect(PARTICLE("task: navigation_graph, actions: continuous")
               LEARNER("type: graph-mappo, control: mad, mad: {input: central}"),
           LUD_ERROR_INPUT,
           "test.yaml:4:57: learner.mad.input: central needs particle.disturbance.std above 0 and "
           "particle.graph: {nodes: "
           "relative}");
    expect(
        PARTICLE("task: navigation_graph, actions: continuous")
            LEARNER("type: graph-mappo, control: mad, mad: {input: disturbance}"),
        LUD_ERROR_INPUT,
        "test.yaml:4:57: learner.mad.input: disturbance needs particle.disturbance.std above 0 and a graph");
    expect(PARTICLE("task: simple") LEARNER("type: graph-mappo, encoder: graph"), LUD_ERROR_INPUT,
           "test.yaml:4:39: learner.encoder: graph needs a particle world with graph nodes and edges "
           "(particle.graph: {nodes: "
           "relative, edges: true})");
    expect(PARTICLE("task: simple") LEARNER("type: graph-mappo, encoder: grid"), LUD_ERROR_INPUT,
           "test.yaml:4:39: learner.encoder: grid needs a multigrid world with compact observations");
    expect(PARTICLE("task: simple") LEARNER("type: graph-mappo, control: base"), LUD_ERROR_INPUT,
           "test.yaml:4:39: learner.control: mad and base need two continuous actions and a relative goal in "
           "everybody's "
           "observation (particle.actions: continuous in a navigation task)");
}

static void test_proofs(void **state) {
    (void)state;
    expect(PROOF("single.txt", ", syntax: relations") LEARNER("type: kge"), LUD_ERROR_INPUT,
           "test.yaml:4:10: learner kge needs predicates with two arguments; r has 1");
    expect(PROOF("nothing.txt", "") LEARNER("type: kge"), LUD_ERROR_INPUT,
           "test.yaml:4:10: there are no facts to learn");
    expect(PROOF("pairs.txt", "") LEARNER("type: kge, learning_rate: {decay: exponential, end: 0}"),
           LUD_ERROR_INPUT,
           "test.yaml:4:10: learning_rate: an exponential decay needs start and end above 0");
    expect(PROOF("pairs.txt", "") LEARNER("type: proof-ppo, learning_rate: {decay: exponential, end: 0}"),
           LUD_ERROR_INPUT,
           "test.yaml:4:10: learning_rate: an exponential decay needs start and end above 0");
    expect(PROOF("pairs.txt", "") LEARNER("type: proof-ppo, entropy: {decay: exponential, end: 0}"),
           LUD_ERROR_INPUT, "test.yaml:4:10: entropy: an exponential decay needs start and end above 0");
    expect(PROOF("pairs.txt", "") LEARNER("type: proof-ppo, evaluation: {score: odds, beam: 2}"),
           LUD_ERROR_INPUT,
           "test.yaml:4:10: evaluation: score: odds is that of the most probable path; it needs beam: 1 and "
           "best_first: 0");
    expect(PROOF("pairs.txt", "") LEARNER("type: proof-ppo, evaluation: {score: odds, best_first: 8}"),
           LUD_ERROR_INPUT,
           "test.yaml:4:10: evaluation: score: odds is that of the most probable path; it needs beam: 1 and "
           "best_first: 0");
    expect(PROOF("pairs.txt", ", limits: {end_action: false}")
               LEARNER("type: proof-ppo, evaluation: {score: odds}"),
           LUD_ERROR_INPUT,
           "test.yaml:4:10: evaluation: score: odds is that of giving up, which this world does not offer "
           "(proof.limits.end_action)");
    expect(PROOF("pairs.txt", "") LEARNER("type: proof-ppo, n_envs: 65536, n_steps: 65536"), LUD_ERROR_LIMIT,
           "n_envs x n_steps is too large");
    expect(PROOF("pairs.txt", ", limits: {successors: 64, goals: 6}") LEARNER(
               "type: proof-ppo, n_envs: 1024, n_steps: 65536, batch_size: 64, evaluation: {slots: 1}, "
               "network: {embedding_size: 4, hidden: 4, layers: 1}"),
           LUD_ERROR_LIMIT,
           "67109888 decisions of up to 64 successors with 6 goals are more than 2^31 goals; lower n_envs, "
           "n_steps or limits.successors");
    expect(PROOF("pairs.txt", "") LEARNER("type: proof-ppo, network: {atoms: complex, embedding_size: 3}"),
           LUD_ERROR_INPUT, "network.atoms: complex needs an even embedding_size and at most two arguments");
    expect(PROOF("pairs.txt", "") LEARNER("type: proof-ppo, network: {atoms: rotate, embedding_size: 3}"),
           LUD_ERROR_INPUT, "network.atoms: rotate needs an even embedding_size and at most two arguments");
}

/* Nobody's share may be empty. */
static void test_shares(void **state) {
    (void)state;
#define RUN "run: {environments: 8}\n"
    expect(PARTICLE("task: simple") RUN LEARNER("type: graph-mappo, automatic: false, shares: 9"),
           LUD_ERROR_INPUT,
           "test.yaml:5:10: learner.shares: 9 shares of 8 environments; expected at least one for each");
    expect(PARTICLE("task: simple") RUN LEARNER("type: ticks, shares: 9"), LUD_ERROR_INPUT,
           "test.yaml:5:10: learner.shares: 9 shares of 8 environments; expected at least one for each");
    expect(PARTICLE("task: simple") LEARNER("type: clone, batch: 8, shares: 9"), LUD_ERROR_INPUT,
           "test.yaml:4:10: learner.shares: 9 shares of 8 samples of a minibatch (batch); expected at least "
           "one for each");
    expect(PROOF("pairs.txt", "") LEARNER("type: proof-ppo, automatic: false, n_envs: 8, shares: 9"),
           LUD_ERROR_INPUT,
           "test.yaml:4:10: learner.shares: 9 shares of 8 environments (n_envs); expected at least one for "
           "each");
    expect(PROOF("pairs.txt", "") LEARNER("type: kge, shares: 9"), LUD_ERROR_INPUT,
           "test.yaml:4:10: learner.shares: 9 shares of 2 facts of a minibatch (batch_size); expected at "
           "least one for each");
#undef RUN
}

static void test_empo(void **state) {
    (void)state;
    expect(GRID("We Ay Ae We") GOALS LEARNER("type: empo-phase1, nu_h: 0.5"), LUD_ERROR_INPUT,
           "test.yaml:5:10: nu_h is 0.5; empo-phase1 learns equation (2) without habit, expected 0");
    expect(GRID("We Ay Ae We") GOALS LEARNER("type: empo-phase2, nu_h: 0.5"), LUD_ERROR_INPUT,
           "test.yaml:5:10: nu_h is 0.5; empo-phase2 takes what people do from human_prior, expected 0");
    expect(GRID("We Ay Ae We") GOALS LEARNER("type: empo-phase1, batch_size: 9, buffer_size: 8"),
           LUD_ERROR_INPUT, "test.yaml:5:10: batch_size is 9; expected at most buffer_size, 8");
    expect(
        GRID("We Ay Ae We") GOALS LEARNER("type: empo-phase1, batch_size: 8, shares: 9"), LUD_ERROR_INPUT,
        "test.yaml:5:10: learner.shares: 9 shares of 8 states for an update (batch_size); expected at least "
        "one for each");
    expect(
        GRID("We Ay Ae We") GOALS LEARNER("type: empo-phase2, batch_size: 8, shares: 9"), LUD_ERROR_INPUT,
        "test.yaml:5:10: learner.shares: 9 shares of 8 transitions for an update (batch_size); expected at "
        "least one for each");
    expect(GRID("We Ay Ae We") GOALS LEARNER("type: empo-phase2, met_memory: 1, use_rnd: true"),
           LUD_ERROR_INPUT,
           "test.yaml:5:10: use_rnd belongs to training from a replay memory; expected met_memory: 0");
    expect(GRID("We Ay Ae We") GOALS LEARNER("type: empo-phase2, batch_size: 9, buffer_size: 8"),
           LUD_ERROR_INPUT, "test.yaml:5:10: batch_size is 9; expected at most buffer_size, 8");
    expect(GRID("We Ay Ae We")
               GOALS LEARNER("type: empo-phase2, gamma_h_curriculum: true, gamma_h_rampup_steps: 9, "
                             "warmup_v_h_e_steps: 8"),
           LUD_ERROR_INPUT,
           "test.yaml:5:10: gamma_h_rampup_steps is 9; expected at most warmup_v_h_e_steps, 8");
    expect(GRID("We Ay Ae We")
               GOALS LEARNER("type: empo-phase2, gamma_r_curriculum: true, gamma_r_rampup_steps: 9, "
                             "warmup_q_r_steps: 8"),
           LUD_ERROR_INPUT,
           "test.yaml:5:10: gamma_r_rampup_steps is 9; expected at most warmup_q_r_steps, 8");
    expect(GRID("We Ay Ae We") GOALS LEARNER(
               "type: empo-phase2, async_training: true, async_min_buffer_size: 9, buffer_size: 8, "
               "batch_size: 4"),
           LUD_ERROR_INPUT, "test.yaml:5:10: async_min_buffer_size is 9; expected at most buffer_size, 8");
    expect(GRID("We Ay Ae We")
               GOALS LEARNER("type: empo-phase2, use_log_space_transform: true, use_z_space_transform: true"),
           LUD_ERROR_INPUT,
           "test.yaml:5:10: use_log_space_transform and use_z_space_transform exclude each other; expected "
           "one of them");
    expect(GRID("We Ay Ae We") GOALS LEARNER("type: empo-phase2, use_z_based_loss: true"), LUD_ERROR_INPUT,
           "test.yaml:5:10: use_z_based_loss: expected use_z_space_transform: true beside it");
    expect(GRID("We Ay Ae We") GOALS LEARNER(
               "type: empo-phase2, use_lookup_tables: true, plasticity_diagnostics_interval: 1"),
           LUD_ERROR_INPUT,
           "test.yaml:5:88: learner.plasticity_diagnostics_interval: needs networks; these are tables");
    expect(
        GRID("We Ay Ae We") GOALS LEARNER("type: empo-phase2, human_prior: {type: keyboard}"),
        LUD_ERROR_INPUT,
        "test.yaml:5:43: the policy keyboard cannot be a human prior; expected one that looks at the present "
        "state only");
    expect(GRID("We Ae .. We") GOALS LEARNER("type: empo-phase2"), LUD_ERROR_INPUT,
           "the world has no people; EMPO computes the power of people");
}

/* A folder that holds the checkpoint of another learner, or one that does not say what it is. */
static void test_learned_people(void **state) {
    (void)state;
    static const struct {
        const char *learner, *message;
    } runs[] = {{NULL, "a run of the learner ?; expected empo-phase1"},
                {"kge", "a run of the learner kge; expected empo-phase1"},
                {"empo-phase1", "the checkpoint does not say its configuration"}};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        char path[128], text[600], expected[300];
        snprintf(path, sizeof path, "%s/checkpoint.safetensors", folder);
        lud_checkpoint *checkpoint = lud_checkpoint_create();
        lud_error error = {0};
        if (runs[i].learner) lud_checkpoint_set_text(checkpoint, "learner", runs[i].learner);
        if (lud_checkpoint_write(checkpoint, path, &error)) fail_msg("%s", error.text);
        lud_checkpoint_destroy(checkpoint);
        snprintf(text, sizeof text,
                 "%s%slearner: {type: empo-phase2, human_prior: {type: learned, run: %s}}\n",
                 GRID("We Ay Ae We"), GOALS, folder);
        snprintf(expected, sizeof expected, "human_prior: %s: %s", folder, runs[i].message);
        expect(text, LUD_ERROR_INPUT, expected);
    }
    expect(GRID("We Ay Ae We")
               GOALS LEARNER("type: empo-phase2, human_prior: {type: learned, run: /nowhere/at/all}"),
           LUD_ERROR_INPUT, "test.yaml:5:64: /nowhere/at/all: no such run; expected one of empo-phase1");
    expect(GRID("We Ay Ae We") GOALS LEARNER("type: empo-phase2, human_prior: {type: learned}"),
           LUD_ERROR_INPUT, "test.yaml:5:43: learned people need `run:`, the folder of a run of empo-phase1");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sections),      cmocka_unit_test(test_optimiser),
                                       cmocka_unit_test(test_graph_mappo),   cmocka_unit_test(test_proofs),
                                       cmocka_unit_test(test_shares),        cmocka_unit_test(test_empo),
                                       cmocka_unit_test(test_learned_people)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
