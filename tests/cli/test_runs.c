/* What lies in a RUN: it can be moved, has one writer, and its results belong to its settings. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "cli/support_program.h"
#include "folder.h"
#include "learn/store/checkpoint.h"

#define FAMILY LUDUS_SOURCE_DIR "/scenarios/proof/family_tree"

TEST_FOLDER("/tmp/ludus-runs-XXXXXX")

#define SMALL_PROVER                                                                                         \
    "ludus: 1\nname: family\nworld: proof\nproof:\n  folder: kb\n  facts: train.txt\n  rules: rules.txt\n"   \
    "  queries: {train: train_depths.txt, valid: valid_depths.txt, test: test_depths.txt}\n"                 \
    "run: {threads: 1, seed: 3}\nlearner: {type: proof-ppo, automatic: false, n_envs: 4, n_steps: 8, "       \
    "batch_size: 16,\n"                                                                                      \
    "  n_epochs: 1, total_steps: 128, evaluation: {every: 1, queries: 4, candidates: 3, slots: 4},\n"        \
    "  network: {embedding_size: 8, layers: 1}}\n"
#define SMALL_TEAM                                                                                           \
    "ludus: 1\nname: team\nworld: particle\nparticle: {task: simple_spread, episode_length: 5}\n"            \
    "run: {threads: 1, environments: 4, seed: 3}\nlearner: {type: graph-mappo, automatic: false, "           \
    "recurrent: false,\n"                                                                                    \
    "  rollout_length: 5, hidden_size: 8, epochs: 1, evaluation_episodes: 4, steps: 600}\n"
#define CORRIDOR                                                                                             \
    "ludus: 1\nname: corridor\nworld: multigrid\nmultigrid:\n  map: |\n    We We We We We\n"                 \
    "    We Ay Ae .. We\n    We We .. We We\n    We We We We We\n  max_steps: 5\n  actions: small\n"         \
    "goals: [{cell: [1, 1]}, {cell: [2, 1]}, {cell: [3, 1]}, {cell: [2, 2]}]\nrun: {threads: 1}\n"

static const char *at(const char *name) {
    static char paths[16][256];
    static int next;
    char *path = paths[next++ % 16];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void write_text(const char *name, const char *text) {
    lud_error error = {0};
    if (lud_file_write(at(name), text, strlen(text), &error)) fail_msg("%s", error.text);
}

static void shell(const char *format, ...) {
    char command[1024], whole[1200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    snprintf(whole, sizeof whole, "cd %s && %s", folder, command);
    if (system(whole)) fail_msg("%s", whole);
}

/* What a call prints, which has to end with 0. The caller frees it. */
#define OUT_OF(...) out_of((const char *const[]){__VA_ARGS__, NULL})
static char *out_of(const char *const *words) {
    program_result r = program_run(words);
    if (r.exit_code != 0) fail_msg("%s %s: %d, %s", words[0], words[1], r.exit_code, r.err);
    char *out = strdup(r.out);
    program_free(&r);
    return out;
}

static void run_well(const char *const *words) {
    free(out_of(words));
}
#define RUN_WELL(...) run_well((const char *const[]){__VA_ARGS__, NULL})

/* A call that is refused, with a message that has these words. */
#define REFUSED(words, ...) refused(words, (const char *const[]){__VA_ARGS__, NULL})
static void refused(const char *message, const char *const *words) {
    program_result r = program_run(words);
    if (r.exit_code == 0 || r.exit_code == -1 || !strstr(r.err, message))
        fail_msg("%s %s: %d, %s; expected %s", words[0], words[1], r.exit_code, r.err, message);
    program_free(&r);
}

static bool there(const char *name) {
    return lud_file_exists(at(name)) || lud_folder_exists(at(name));
}

static void same_bytes(const char *a, const char *b) {
    lud_arena *arena = lud_arena_create(0);
    char *x, *y;
    size_t n, m;
    assert_int_equal(lud_file_read(arena, at(a), 0, &x, &n, NULL), LUD_OK);
    assert_int_equal(lud_file_read(arena, at(b), 0, &y, &m, NULL), LUD_OK);
    assert_int_equal(n, m);
    assert_memory_equal(x, y, n);
    lud_arena_destroy(arena);
}

/* All tensors of two checkpoints but the clock. */
static void same_tensors(const char *a_name, const char *b_name) {
    lud_checkpoint *a = NULL, *b = NULL;
    lud_error error = {0};
    if (lud_checkpoint_open(at(a_name), &a, &error) || lud_checkpoint_open(at(b_name), &b, &error))
        fail_msg("%s", error.text);
    assert_int_equal(lud_checkpoint_n_tensors(a), lud_checkpoint_n_tensors(b));
    for (int i = 0; i < lud_checkpoint_n_tensors(a); i++) {
        const lud_tensor *tensor = lud_checkpoint_get(a, i), *other = lud_checkpoint_find(b, tensor->name);
        assert_non_null(other);
        assert_int_equal(tensor->bytes, other->bytes);
        if (strcmp(tensor->name, "seconds") != 0)
            assert_memory_equal(tensor->data, other->data, tensor->bytes);
    }
    lud_checkpoint_destroy(a);
    lud_checkpoint_destroy(b);
}

/* A call that goes on beside the test and prints nothing. */
#define BEGIN(...) begin((const char *const[]){__VA_ARGS__, NULL})
static pid_t begin(const char *const *words) {
    char *arguments[32] = {"ludus"};
    for (int i = 0; words[i]; i++) arguments[i + 1] = (char *)(uintptr_t)words[i];
    const pid_t child = fork();
    if (child) return child;
    const int null = open("/dev/null", O_WRONLY);
    dup2(null, 1);
    dup2(null, 2);
    execv(LUDUS_BINARY_DIR "/ludus", arguments);
    _exit(1);
}

/* Ends it without a warning after so many milliseconds. */
static void kill_after(pid_t child, int milliseconds) {
    usleep((useconds_t)milliseconds * 1000);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

/* ---- a RUN takes along what it needs ---- */

/* What the verbs say of a RUN; the caller frees it. The proof world has random queries to play, seeded. */
static char *all_of(const char *run) {
    char *parts[] = {OUT_OF("eval", run, "--json", "--queries", "4"), OUT_OF("inspect", run),
                     OUT_OF("run", run, "--episodes", "4", "--json")};
    char *text = NULL;
    char *speed = strstr(parts[2], "\"seconds\""); /* the one thing that may differ */
    if (speed) *speed = 0;
    speed = strstr(parts[0], "\"seconds\"");
    if (speed) *speed = 0;
    assert_true(asprintf(&text, "%s\n%s\n%s", parts[0], parts[1], parts[2]) > 0);
    for (int i = 0; i < 3; i++) free(parts[i]);
    return text;
}

static void moved_runs_stay_whole(void **state) {
    (void)state;
    shell("mkdir -p home && cp -r %s home/kb", FAMILY);
    write_text("home/family.yaml", SMALL_PROVER);
    RUN_WELL("train", at("home/family.yaml"), "-o", at("prover"), "-q");
    char *before = all_of(at("prover"));
    shell("mkdir away && mv prover away/moved && rm -r home");
    char *after = all_of(at("away/moved"));
    assert_string_equal(before, after);
    free(before);
    free(after);
    RUN_WELL("record", at("away/moved"), "-o", at("frame.png"), "--steps", "1");
    RUN_WELL("train", at("away/moved"), "--resume", "-q");
    /* with nothing but its small file it acts and is evaluated, and cannot be trained on */
    shell("cp -r away/moved bare && rm bare/checkpoint* bare/metrics.csv bare/events*");
    before = all_of(at("away/moved"));
    after = all_of(at("bare"));
    assert_string_equal(before, after);
    free(before);
    free(after);
    REFUSED("checkpoint.safetensors: no such file; the run has policy.safetensors, which acts", "train",
            at("bare"), "--resume", "-q");
    /* a damaged one is refused, and the way on is named */
    shell(
        "cp -r away/moved damaged && printf x | dd of=damaged/policy.safetensors bs=1 seek=2000 conv=notrunc "
        "2>/dev/null");
    REFUSED("damaged/checkpoint.safetensors in the place of", "eval", at("damaged"));
    RUN_WELL("eval", at("damaged/checkpoint.safetensors"), "--queries", "1");
    /* with nothing but the checkpoint before the last it is still a RUN */
    shell("cp -r away/moved old && rm old/policy* && mv old/checkpoint.safetensors "
          "old/checkpoint.previous.safetensors");
    RUN_WELL("run", at("old"), "--episodes", "2");
}

/* A script of actions, which the policies name. */
static void named_files_of_policies_go_along(void **state) {
    (void)state;
    shell("mkdir -p play");
    write_text("play/moves.yaml", "actions: [left, right, forward]\n");
    write_text("play/corridor.yaml", CORRIDOR "policies: {human: {type: script, file: moves.yaml}}\n");
    RUN_WELL("solve", at("play/corridor.yaml"), "-o", at("solved"), "-q");
    assert_true(there("solved/files/moves.yaml"));
    shell("rm -r play && mv solved elsewhere");
    RUN_WELL("run", at("elsewhere"), "--episodes", "2");
}

#define SMALL_PEOPLE                                                                                         \
    "hidden_dim: 8, goal_feature_dim: 4, num_training_steps: 24, updates_per_iteration: 8, batch_size: 6,\n" \
    "  buffer_size: 40, environments: 2"

/* Two scenarios in a folder, the second of which names the first one's run. */
static void write_people_and_robots(const char *in) {
    char people[64], robots[64];
    snprintf(people, sizeof people, "%s/people.yaml", in);
    snprintf(robots, sizeof robots, "%s/robots.yaml", in);
    shell("mkdir -p %s", in);
    write_text(people, CORRIDOR "learner: {type: empo-phase1, " SMALL_PEOPLE "}\n");
    write_text(robots, CORRIDOR
               "learner: {type: empo-phase2, human_prior: {type: learned, run: people}, " SMALL_PEOPLE "}\n");
}

/* Runs that a scenario names, and data that it was parsed from. */
static void named_runs_and_data_go_along(void **state) {
    (void)state;
    write_people_and_robots("named");
#define SPREAD                                                                                               \
    "ludus: 1\nname: spread\nworld: particle\nparticle: {task: simple_spread, episode_length: 10}\n"         \
    "run: {environments: 4, seed: 3, threads: 1}\n"
    write_text("named/spread.yaml", SPREAD);
    write_text("named/clone.yaml",
               SPREAD "learner: {type: clone, data: [played.h5], steps: 40, "
                      "report_every: 10, evaluation_episodes: 8, network: {hidden_size: 8}}\n");
    write_text("named/team.yaml",
               SPREAD "learner: {type: graph-mappo, start: clone, recurrent: false, "
                      "rollout_length: 10, steps: 80, hidden_size: 8, evaluation_episodes: 4}\n");
    RUN_WELL("train", at("named/people.yaml"), "-o", at("named/people"), "-q");
    RUN_WELL("train", at("named/robots.yaml"), "-o", at("robots"), "-q");
    RUN_WELL("record", at("named/spread.yaml"), "-o", at("named/played.h5"), "--episodes", "4");
    RUN_WELL("train", at("named/clone.yaml"), "-o", at("named/clone"), "-q");
    RUN_WELL("train", at("named/team.yaml"), "-o", at("begun"), "-q");
    shell("cp -r named/clone cloned");
    char *before[] = {OUT_OF("eval", at("robots")), OUT_OF("eval", at("cloned")),
                      OUT_OF("eval", at("begun"))};
    shell("rm -r named && mkdir far && mv robots cloned begun far");
    char *after[] = {OUT_OF("eval", at("far/robots")), OUT_OF("eval", at("far/cloned")),
                     OUT_OF("eval", at("far/begun"))};
    for (int i = 0; i < 3; i++) {
        assert_string_equal(before[i], after[i]);
        free(before[i]);
        free(after[i]);
    }
    static const char *const runs[] = {"far/robots", "far/cloned", "far/begun"};
    for (int i = 0; i < 3; i++) {
        RUN_WELL("train", at(runs[i]), "--resume", "-q");
        RUN_WELL("run", at(runs[i]), "--episodes", "2");
    }
    /* a training of its own from what the RUN holds */
    RUN_WELL("train", at("far/begun/scenario.yaml"), "-o", at("again"), "-q");
    same_tensors("far/begun/policy.safetensors", "again/policy.safetensors");
}

/* A run that a scenario names, and that is another one when the training goes on. */
static void a_named_run_that_changed_is_told(void **state) {
    (void)state;
    write_people_and_robots("changed");
    RUN_WELL("train", at("changed/people.yaml"), "-o", at("changed/people"), "-q");
    RUN_WELL("train", at("changed/robots.yaml"), "-o", at("changed/robots"), "-q", "--until", "1");
    RUN_WELL("train", at("changed/robots.yaml"), "-o", at("changed/robots"), "-q", "--resume", "--until",
             "2");
    assert_false(there("changed/robots/files/people-2"));
    RUN_WELL("train", at("changed/people.yaml"), "-o", at("changed/people"), "-q", "--overwrite", "-s", "9");
    REFUSED("learner.human_prior.run: files/people in the run, files/people-2 now", "train",
            at("changed/robots.yaml"), "-o", at("changed/robots"), "-q", "--resume");
    assert_false(there("changed/robots/files/people-2"));
    RUN_WELL("train", at("changed/robots"), "-q", "--resume");
}

/* What killed processes left beside videos and tables, and in a RUN, goes with the next of the same name. */
static void leftovers_go(void **state) {
    (void)state;
    const pid_t gone = fork();
    if (gone == 0) _exit(0);
    assert_int_equal(waitpid(gone, NULL, 0), gone);
    write_text("corridor.yaml", CORRIDOR);
    shell("mkdir -p dusty && for f in ep.gif table.csv scenario.yaml metrics.csv solution.csv; do "
          "echo x > dusty/$f.partial-%ld; echo x > dusty/$f.partial-%ld; done",
          (long)gone, (long)getpid());
    RUN_WELL("record", at("corridor.yaml"), "-o", at("dusty/ep.gif"), "--steps", "2");
    RUN_WELL("sweep", at("corridor.yaml"), "-o", at("dusty/table.csv"), "-q", "-v", "learner.beta_r=1,2");
    shell("test $(ls dusty | grep -c partial-%ld) = 3", (long)gone);
    RUN_WELL("solve", at("corridor.yaml"), "-o", at("dusty"), "-q");
    shell("test $(ls dusty | grep -c partial-%ld) = 0 && test $(ls dusty | grep -c partial-%ld) = 5",
          (long)gone, (long)getpid());
}

/* ---- the best parameters ---- */

static void policy_is_small_and_best(void **state) {
    (void)state;
    struct stat whole, small;
    write_text("team.yaml", SMALL_TEAM);
    char *end = OUT_OF("train", at("team.yaml"), "-o", at("team"), "-q", "--evaluate-every", "5");
    assert_non_null(strstr(end, "policy.safetensors: parameters of iteration"));
    assert_non_null(strstr(end, "the best by evaluation/return"));
    free(end);
    assert_int_equal(stat(at("team/checkpoint.safetensors"), &whole), 0);
    assert_int_equal(stat(at("team/policy.safetensors"), &small), 0);
    assert_true(2 * small.st_size < whole.st_size);
    /* the highest of the evaluations in metrics.csv, and what eval finds again */
    char *eval = OUT_OF("eval", at("team"), "--json"),
         *last = OUT_OF("eval", at("team/checkpoint.safetensors"), "--json");
    const char *score = strstr(eval, "\"best_score\": "), *found = strstr(eval, "\"evaluation/return\": ");
    assert_non_null(score);
    assert_non_null(found);
    assert_true(strtod(score + 14, NULL) == strtod(found + 21, NULL));
    assert_non_null(strstr(last, "\"iterations\": 30"));
    assert_true(strtod(strstr(last, "\"evaluation/return\": ") + 21, NULL) <= strtod(score + 14, NULL));
    free(eval);
    free(last);
}

/* Stopped in the middle, and going on: the same best bit for bit, and the same last. */
static void resume_keeps_the_best(void **state) {
    (void)state;
    write_text("team.yaml", SMALL_TEAM);
    for (int part = 0; part < 3; part++) {
        static const char *const steps[] = {"run.steps=200", "run.steps=420", "run.steps=600"};
        program_result r = part ? LUDUS("train", at("team.yaml"), "-o", at("parts"), "-q", "--evaluate-every",
                                        "5", "--resume", "--set", steps[part])
                                : LUDUS("train", at("team.yaml"), "-o", at("parts"), "-q", "--evaluate-every",
                                        "5", "--set", steps[part]);
        if (r.exit_code) fail_msg("%s", r.err);
        program_free(&r);
    }
    RUN_WELL("train", at("team.yaml"), "-o", at("one"), "-q", "--evaluate-every", "5", "--set",
             "run.steps=600");
    same_tensors("one/policy.safetensors", "parts/policy.safetensors");
    same_tensors("one/checkpoint.safetensors", "parts/checkpoint.safetensors");
    /* killed at any moment, too */
    for (int k = 0; k < 4; k++) {
        kill_after(BEGIN("train", at("team.yaml"), "-o", at("killed"), "-q", "--evaluate-every", "5",
                         "--checkpoint-every", "1", "--set", "run.steps=600",
                         there("killed/checkpoint.safetensors") ? "--resume" : "--overwrite"),
                   60 + 40 * k);
    }
    RUN_WELL("train", at("team.yaml"), "-o", at("killed"), "-q", "--evaluate-every", "5", "--set",
             "run.steps=600", there("killed/checkpoint.safetensors") ? "--resume" : "--overwrite");
    same_tensors("one/policy.safetensors", "killed/policy.safetensors");
    same_tensors("one/checkpoint.safetensors", "killed/checkpoint.safetensors");
    shell("! ls -a killed | grep -q partial && ! ls -a killed | grep -q '^.lock$'");
}

/* ---- one writer, one scenario ---- */

static void one_run_has_one_writer(void **state) {
    (void)state;
    write_text("team.yaml", SMALL_TEAM);
    const pid_t child =
        BEGIN("train", at("team.yaml"), "-o", at("shared"), "-q", "--set", "run.steps=100000000");
    for (int i = 0; i < 1000 && !there("shared/metrics.csv"); i++) usleep(10000);
    char message[64];
    snprintf(message, sizeof message, "process %ld is writing this run", (long)child);
    REFUSED(message, "train", at("team.yaml"), "-o", at("shared"), "-q", "--overwrite");
    REFUSED(message, "train", at("shared"), "--resume", "-q");
    kill(child, SIGHUP); /* a hang-up saves */
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 0);
    assert_true(there("shared/checkpoint.safetensors"));
    RUN_WELL("eval", at("shared"));
}

static void settings_stay_with_results(void **state) {
    (void)state;
    write_text("team.yaml", SMALL_TEAM);
    RUN_WELL("train", at("team.yaml"), "-o", at("kept"), "-q");
    /* other settings: refused with the differences, and nothing has changed */
    shell("cp -r kept before && sed 's/hidden_size: 8/hidden_size: 8, learning_rate: 0.01/' team.yaml > "
          "other.yaml");
    REFUSED("learner.learning_rate: 0.0005 in the run, 0.01 now", "train", at("other.yaml"), "-o", at("kept"),
            "-q", "--resume");
    shell("sed 's/seed: 3/seed: 9/' team.yaml > ninth.yaml");
    REFUSED("run.seed: 3 in the run, 9 now", "train", at("ninth.yaml"), "-o", at("kept"), "-q", "--resume",
            "--set", "learner.learning_rate=0.01");
    same_bytes("kept/scenario.yaml", "before/scenario.yaml");
    same_bytes("kept/checkpoint.safetensors", "before/checkpoint.safetensors");
    /* on purpose: allowed, and told in the scenario */
    RUN_WELL("train", at("kept"), "-q", "--resume", "--set", "learner.learning_rate=0.01", "--set",
             "run.steps=900");
    shell("grep -q 'learner.learning_rate: 0.0005 in it, 0.01 now' kept/scenario.yaml");
    RUN_WELL("eval", at("kept"));
    /* somebody else's results beside this scenario: refused by all who open it */
    RUN_WELL("train", at("team.yaml"), "-o", at("seven"), "-q", "-s", "7");
    shell("cp -r kept mixed && cp seven/policy.safetensors mixed/ && cp seven/checkpoint.safetensors "
          "mixed/checkpoint.previous.safetensors");
    REFUSED("was not made with the settings of", "eval", at("mixed"));
    REFUSED("run.seed: 7 in what made it, 3 now", "run", at("mixed"), "--episodes", "2");
    REFUSED("was not made with the settings of", "train", at("mixed"), "--resume-previous", "-q");
    /* anew: what was there lies aside, all of it, and metrics and events are of one run only */
    RUN_WELL("train", at("team.yaml"), "-o", at("kept"), "-q", "--overwrite");
    RUN_WELL("eval", at("kept/aside-1"));
    shell("test $(ls kept | grep -c tfevents) = 1 && test $(ls kept/aside-1 | grep -c tfevents) = 2");
    REFUSED("there is a run already", "train", at("team.yaml"), "-o", at("kept"), "-q");
}

static void solutions_stay_with_their_scenario(void **state) {
    (void)state;
    write_text("corridor.yaml", CORRIDOR);
    RUN_WELL("solve", at("corridor.yaml"), "-o", at("exact"), "-q");
    RUN_WELL("solve", at("corridor.yaml"), "-o", at("exact"), "-q"); /* again, in its place */
    assert_false(there("exact/aside-1"));
    RUN_WELL("solve", at("corridor.yaml"), "-o", at("exact"), "-q", "--set",
             "learner={type: empo-exact, beta_r: 20}");
    RUN_WELL("eval", at("exact/aside-1"), "--policy", "random");
    shell("cp exact/aside-1/solution.empo exact/");
    REFUSED("was not made with the settings of", "run", at("exact"), "--episodes", "1");
    /* ended before it had its header: begun anew */
    shell("mkdir early && truncate -s 40960 early/solution.empo.partial");
    RUN_WELL("solve", at("corridor.yaml"), "-o", at("early"), "-q", "--resume");
    /* a link in the way is not written through */
    shell("mkdir linked && echo gold > treasure && ln -s ../treasure linked/solution.empo.partial");
    RUN_WELL("solve", at("corridor.yaml"), "-o", at("linked"), "-q");
    shell(
        "test \"$(cat treasure)\" = gold && test -f linked/solution.empo && ! test -L linked/solution.empo");
}

/* Killed at any moment, what begins anew or solves anew stands beside nothing of what was there. */
static void kills_mix_nothing_up(void **state) {
    (void)state;
    write_text("team.yaml", SMALL_TEAM);
    write_text("corridor.yaml", CORRIDOR);
    RUN_WELL("train", at("team.yaml"), "-o", at("anew"), "-q");
    RUN_WELL("solve", at("corridor.yaml"), "-o", at("solved_anew"), "-q");
    for (int k = 0; k < 12; k++) {
        char seed[16], beta[64];
        snprintf(seed, sizeof seed, "%d", 100 + k);
        snprintf(beta, sizeof beta, "learner={type: empo-exact, beta_r: %d}", 2 + k);
        kill_after(BEGIN("train", at("team.yaml"), "-o", at("anew"), "-q", "-s", seed, "--overwrite",
                         "--checkpoint-every", "10"),
                   10 + 12 * k);
        kill_after(BEGIN("solve", at("corridor.yaml"), "-o", at("solved_anew"), "-q", "--set", beta),
                   4 + 6 * k);
        static const char *const folders[] = {"anew", "solved_anew"};
        for (int f = 0; f < 2; f++) {
            program_result r = LUDUS("run", at(folders[f]), "--episodes", "1");
            if (r.exit_code && !strstr(r.err, "expected a RUN") && !strstr(r.err, "so no RUN") &&
                !strstr(r.err, "not finished"))
                fail_msg("%s", r.err);
            program_free(&r);
        }
    }
    /* the first of all lies where it was moved to, whole */
    RUN_WELL("train", at("team.yaml"), "-o", at("anew"), "-q", "--overwrite");
    RUN_WELL("eval", at("anew/aside-1"));
    RUN_WELL("solve", at("corridor.yaml"), "-o", at("solved_anew"), "-q");
    RUN_WELL("eval", at("anew"));
    RUN_WELL("eval", at("solved_anew"), "--policy", "random");
}

/* ---- names ---- */

static void other_names_are_refused(void **state) {
    (void)state;
    shell("mkdir -p home && cp -r %s home/kb && cp -r home/kb home/renamed", FAMILY);
    write_text("home/family.yaml", SMALL_PROVER);
    RUN_WELL("train", at("home/family.yaml"), "-o", at("names"), "-q");
    shell("cd home/renamed && name=$(grep -o '([a-z_]*' train.txt | head -1 | tr -d '(') && "
          "sed -i \"s/\\b$name\\b/zz_$name/g\" *.txt");
    char set[512];
    snprintf(set, sizeof set,
             "proof={facts: %s/home/renamed/train.txt, rules: %s/home/renamed/rules.txt, queries: "
             "{train: %s/home/renamed/train_depths.txt, valid: %s/home/renamed/valid_depths.txt, test: "
             "%s/home/renamed/test_depths.txt}}",
             folder, folder, folder, folder, folder);
    REFUSED("was trained on other names than those of this scenario: 'constant ", "eval", at("names"),
            "--set", set);
}

/* ---- full disks and closed folders ---- */

static void full_disks_are_told(void **state) {
    (void)state;
    if (getuid() != 0) skip(); /* a small disk has to be mounted */
    shell("mkdir -p disk");
    char command[300];
    snprintf(command, sizeof command, "mount -t tmpfs -o size=400k none %s 2>/dev/null", at("disk"));
    if (system(command)) skip();
    write_text("corridor.yaml", CORRIDOR);
    RUN_WELL("solve", at("corridor.yaml"), "-o", at("disk/exact"), "-q");
    shell("dd if=/dev/zero of=disk/filler bs=1k count=200 2>/dev/null; true");
    program_result r =
        LUDUS("solve", at("corridor.yaml"), "-o", at("disk/exact"), "-q", "-x", "csv", "--resume");
    const bool told = r.exit_code == 1 && strstr(r.err, "disk/exact/") && strstr(r.err, "No space left");
    if (!told) print_message("%d %s", r.exit_code, r.err);
    program_free(&r);
    /* a RUN that nobody may write to is looked at all the same */
    RUN_WELL("solve", at("corridor.yaml"), "-o", at("readable"), "-q");
    shell("rm -rf disk/* && cp -r readable disk/ && mount -o remount,ro %s", at("disk"));
    r = LUDUS("solve", at("corridor.yaml"), "-o", at("disk/readable"), "-q");
    const bool refuses = r.exit_code == 1 && strstr(r.err, "disk/readable: cannot be written: Read-only");
    if (!refuses) print_message("%d %s", r.exit_code, r.err);
    program_free(&r);
    r = LUDUS("eval", at("disk/readable"), "--policy", "random");
    const bool looks = r.exit_code == 0;
    if (!looks) print_message("%d %s", r.exit_code, r.err);
    program_free(&r);
    shell("umount disk");
    assert_true(told && refuses && looks);
}

int main(void) {
    signal(SIGHUP, SIG_DFL); /* under nohup, programs that are hung up on go on */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moved_runs_stay_whole),
        cmocka_unit_test(named_files_of_policies_go_along),
        cmocka_unit_test(named_runs_and_data_go_along),
        cmocka_unit_test(a_named_run_that_changed_is_told),
        cmocka_unit_test(leftovers_go),
        cmocka_unit_test(policy_is_small_and_best),
        cmocka_unit_test(resume_keeps_the_best),
        cmocka_unit_test(one_run_has_one_writer),
        cmocka_unit_test(settings_stay_with_results),
        cmocka_unit_test(solutions_stay_with_their_scenario),
        cmocka_unit_test(kills_mix_nothing_up),
        cmocka_unit_test(other_names_are_refused),
        cmocka_unit_test(full_disks_are_told),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
