/* Several processes do what one does, byte for byte: trainings, going on with another number of them,
 * rankings and sweeps; what cannot be done together is refused; a process that is killed takes the others
 * along and leaves a checkpoint. With LUDUS_LAUNCHER (tests/cli/hosts.sh) processes are started by that, and
 * only results are compared: a process of another host is not ours to kill. */
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
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <xxhash.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/random.h"
#include "folder.h"
#include "learn/store/checkpoint.h"

#define PROGRAM   LUDUS_BINARY_DIR "/ludus"
#define SCENARIOS LUDUS_SOURCE_DIR "/scenarios/"
#define LAUNCH                                                                                               \
    "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ASAN_OPTIONS=detect_leaks=0 "                 \
    "exec ${LUDUS_LAUNCHER:-mpirun --oversubscribe --bind-to none} -n "

TEST_FOLDER("/tmp/ludus-test-ranks-XXXXXX")

static bool there_is_mpi(void) {
    return system("mpirun --version >/dev/null 2>&1") == 0 &&
           access(LUDUS_BINARY_DIR "/ludus_mpi.so", R_OK) == 0;
}

/* The program, as n processes of so many threads; 1: without a launcher. Its exit code; output in FOLDER/log.
 */
static int ludus(int n, int threads, const char *format, ...) {
    char words[2048], command[4096];
    va_list list;
    va_start(list, format);
    vsnprintf(words, sizeof words, format, list);
    va_end(list);
    if (n == 1)
        snprintf(command, sizeof command, "cd '%s'; OMP_NUM_THREADS=%d exec " PROGRAM " %s >log 2>&1", folder,
                 threads, words);
    else
        snprintf(command, sizeof command, "cd '%s'; OMP_NUM_THREADS=%d " LAUNCH "%d " PROGRAM " %s >log 2>&1",
                 folder, threads, n, words);
    const int how = system(command);
    return WIFEXITED(how) ? WEXITSTATUS(how) : -1;
}

static char *path_of(const char *name, char path[256]) {
    snprintf(path, 256, "%s/%s", folder, name);
    return path;
}

static char *read_text(lud_arena *arena, const char *name) {
    char path[256], *bytes = NULL;
    size_t n = 0;
    lud_error error = {0};
    if (lud_file_read(arena, path_of(name, path), SIZE_MAX, &bytes, &n, &error)) fail_msg("%s", error.text);
    return bytes;
}

static void expect_log(const char *text) {
    lud_arena *arena = lud_arena_create(0);
    char *log = read_text(arena, "log");
    if (!strstr(log, text)) fail_msg("expected `%s` in:\n%s", text, log);
    lud_arena_destroy(arena);
}

/* All tensors of a RUN's checkpoint but the clock's. */
static uint64_t hash_of(const char *run) {
    char name[128], path[256];
    lud_checkpoint *checkpoint = NULL;
    lud_error error = {0};
    uint64_t hash = 0;
    snprintf(name, sizeof name, "%s/checkpoint.safetensors", run);
    if (lud_checkpoint_open(path_of(name, path), &checkpoint, &error)) fail_msg("%s", error.text);
    for (int i = 0; i < lud_checkpoint_n_tensors(checkpoint); i++) {
        const lud_tensor *tensor = lud_checkpoint_get(checkpoint, i);
        if (strcmp(tensor->name, "seconds") != 0)
            hash += XXH3_64bits_withSeed(tensor->data, tensor->bytes,
                                         XXH3_64bits(tensor->name, strlen(tensor->name)));
    }
    lud_checkpoint_destroy(checkpoint);
    return hash;
}

/* The metrics of a RUN without those that are times. */
static uint64_t hash_metrics(const char *run) {
    lud_arena *arena = lud_arena_create(0);
    char name[128];
    snprintf(name, sizeof name, "%s/metrics.csv", run);
    char *text = read_text(arena, name), *line_state = NULL;
    bool left_out[256] = {false};
    uint64_t hash = 0;
    int n_lines = 0;
    for (char *line = strtok_r(text, "\n", &line_state); line;
         line = strtok_r(NULL, "\n", &line_state), n_lines++) {
        int column = 0;
        for (char *word; (word = strsep(&line, ",")) && column < 256; column++) {
            if (n_lines == 0)
                left_out[column] = strcmp(word, "seconds") == 0 || strcmp(word, "speed") == 0 ||
                                   strncmp(word, "milliseconds/", 13) == 0;
            if (!left_out[column]) hash = XXH3_64bits_withSeed(word, strlen(word), hash + 1);
        }
    }
    assert_true(n_lines > 1);
    lud_arena_destroy(arena);
    return hash;
}

/* ---- the same bytes ---- */

/* longer: for trainings that are stopped; null: it is not. */
static const struct {
    const char *name, *scenario, *set, *longer;
} trainings[] = {
    /* graphs, recurrent units */
    {"graph", "particle/navigation_3.yaml",
     "--set run.environments=13 --set learner.steps=975 --set learner.shares=12 --set "
     "learner.evaluation_episodes=13",
     "learner.steps=2600"},
    /* a grid, visits that are counted, values of what was seen last */
    {"grid", "defaults/door.yaml",
     "--set run.environments=14 --set learner.rollout_length=16 --set learner.steps=672 --set "
     "learner.shares=12 "
     "--set learner.time_limits=bootstrap",
     NULL},
    /* a gate that keeps few */
    {"gate", "particle/simple_tag.yaml",
     "--set run.environments=12 --set learner.steps=900 --set learner.shares=12 --set "
     "learner.gate.mode=threshold",
     NULL},
    /* a network for each role, and past versions of them */
    {"past", "particle/simple_tag.yaml",
     "--set run.environments=12 --set learner.steps=1500 --set learner.shares=12 --set learner.epochs=2 "
     "--set learner.groups=kinds --set 'learner.opponents={past: 2, every: 2, share: 0.5}'",
     NULL},
    {"proof", "defaults/towns.yaml",
     "--set learner.n_envs=24 --set learner.n_steps=16 --set learner.total_steps=768 --set "
     "learner.batch_size=96 "
     "--set learner.shares=12",
     NULL},
    /* embeddings; the last batch of an epoch has fewer facts than shares */
    {"embeddings", "defaults/towns.yaml",
     "--set learner.type=kge --set learner.dimension=8 --set learner.negatives=16 --set "
     "learner.batch_size=58 --set learner.epochs=6 --set learner.evaluation.every=2 --set "
     "learner.shares=12",
     "learner.epochs=150"},
    /* what people would do, with draws in networks and of goals */
    {"people", "defaults/between.yaml",
     "--set learner.type=empo-phase1 --set learner.environments=192 --set learner.num_training_steps=45 "
     "--set learner.updates_per_iteration=15 --set learner.batch_size=14 --set learner.goals_per_state=2 "
     "--set "
     "learner.dropout=0.2 --set learner.hidden_dim=16 --set learner.shares=12",
     "learner.num_training_steps=180"},
    /* networks, targets over several steps, transitions that are missed by most */
    {"robots", "defaults/between.yaml",
     "--set learner.use_lookup_tables=false --set learner.environments=192 --set "
     "learner.num_training_steps=120 --set "
     "learner.updates_per_iteration=40 --set learner.batch_size=26 --set learner.hidden_dim=16 --set "
     "learner.replay_contest=2 --set learner.v_h_e_target_mode=n_step --set learner.q_r_target_mode=n_step "
     "--set learner.dropout=0.2 --set learner.shares=12",
     "learner.num_training_steps=240"},
    /* tables beside networks, goals in hindsight, draws of goals and people */
    {"tables", "defaults/between.yaml",
     "--set learner.use_lookup_tables=true --set learner.use_lookup_q_r=false --set "
     "learner.x_h_use_network=true --set learner.use_lookup_x_h=false --set "
     "learner.expected_people=false --set learner.hindsight_prob=0.3 --set learner.x_h_goals=2 --set "
     "learner.num_training_steps=160 --set learner.updates_per_iteration=40 --set learner.batch_size=26 "
     "--set "
     "learner.hidden_dim=16 --set learner.shares=12",
     NULL},
    /* robots that search, with people as the networks of another training say */
    {"search", "defaults/between.yaml",
     "--set learner.met_memory=0 --set learner.use_lookup_tables=false --set learner.pi_r_mode=mcts --set "
     "learner.mcts_num_simulations=6 --set 'learner.human_prior={type: learned, run: people-1}' --set "
     "learner.exact_max_states=0 --set learner.environments=192 --set learner.num_training_steps=24 --set "
     "learner.updates_per_iteration=12 --set learner.batch_size=26 --set learner.hidden_dim=16 --set "
     "learner.shares=12",
     NULL},
    /* all states met, and some of them: networks answer for the others */
    {"met", "defaults/between.yaml",
     "--set learner.use_lookup_tables=false --set learner.num_training_steps=160 --set "
     "learner.updates_per_iteration=40 --set learner.batch_size=26 --set learner.hidden_dim=16 --set "
     "learner.dropout=0.2 --set learner.shares=12",
     NULL},
    {"rim", "defaults/between.yaml",
     "--set learner.met_memory=0.0005 --set learner.num_training_steps=120 --set "
     "learner.updates_per_iteration=40 --set learner.batch_size=26 --set learner.hidden_dim=16 --set "
     "learner.dropout=0.2 --set learner.shares=12",
     "learner.num_training_steps=240"},
    {"far", "empo/far/rock_in_the_passage.yaml",
     "--set learner.met_memory=0.02 --set learner.exact_max_states=0 --set learner.num_training_steps=24 "
     "--set learner.updates_per_iteration=12 --set learner.batch_size=64 --set learner.environments=24 --set "
     "learner.hidden_dim=16 --set learner.shares=12",
     "learner.num_training_steps=48"},
    /* a gate that draws, a critic, episodes that are cut off */
    {"village", "tribes/village_gated.yaml",
     "--set tribes.max_steps=15 --set learner.ticks=40 --set learner.ticks_per_iteration=10 --set "
     "run.environments=13 --set "
     "learner.evaluation_episodes=13 --set learner.normaliser=popart --set learner.shares=12",
     "learner.ticks=120"},
    /* agents that write, and copy others at first */
    {"words", "tribes/tokens.yaml",
     "--set tribes.max_steps=3 --set learner.ticks=10 --set learner.imitation.ticks=4 --set "
     "learner.critic_ticks=2 --set "
     "learner.ticks_per_iteration=5 --set run.environments=13 --set learner.evaluation_episodes=13 --set "
     "learner.policy.language.width=32 --set learner.policy.language.layers=2 --set learner.shares=12",
     NULL}};
enum { N_TRAININGS = sizeof trainings / sizeof *trainings };

/* Training t as n processes; `more` may set something besides. */
static void train(int t, int n, int threads, const char *run, const char *more) {
    if (ludus(n, threads, "train " SCENARIOS "%s -q -o %s %s %s", trainings[t].scenario, run,
              trainings[t].set, more))
        expect_log("no error");
}

/* The same as one process, by whoever needs it first. */
static void train_once(int t, const char *run, const char *more) {
    char name[128], path[256];
    snprintf(name, sizeof name, "%s/checkpoint.safetensors", run);
    if (access(path_of(name, path), R_OK) != 0) train(t, 1, 1, run, more);
}

static int t_of(const char *name) {
    int t = 0;
    while (strcmp(trainings[t].name, name) != 0) t++;
    return t;
}

static void training_is_the_same(void **state) {
    const int t = (int)(intptr_t)*state;
    if (!there_is_mpi()) skip();
    const int more = getenv("LUDUS_LAUNCHER") ? 2 : 1; /* of hosts: one has two processes, the other one */
    if (strstr(trainings[t].set, "people-1")) train_once(t_of("people"), "people-1", "");
    uint64_t hash = 0, metrics = 0;
    for (int n = 1; n <= 4; n += more) {
        char run[64];
        snprintf(run, sizeof run, "%s-%d", trainings[t].name, n);
        train(t, n, 1 + (n == 1 || n == 3), run, "");
        const uint64_t now = hash_of(run), measured = hash_metrics(run);
        if (n > 1 && (now != hash || measured != metrics))
            fail_msg("%s: %d processes have learned something else than 1", trainings[t].name, n);
        hash = now;
        metrics = measured;
    }
}

/* The same of processes with a GPU each, as the tests' emulation has them, whose gradients go from one to the
 * other, or through the host where two have the same. */
static void trainings_on_gpus_are_the_same(void **state) {
    (void)state;
    static const char module[] = LUDUS_BINARY_DIR "/ludus_cuda_emulated.so";
    static const struct {
        const char *name, *arguments;
    } small[] = {
        {"graph", "particle/simple_spread.yaml --set run.environments=6 --set learner.steps=60 --set "
                  "learner.rollout_length=5 --set learner.shares=6 --set learner.evaluation_episodes=4"},
        {"embeddings",
         "defaults/towns.yaml --set learner.type=kge --set learner.dimension=8 --set learner.negatives=16 "
         "--set learner.batch_size=60 --set learner.epochs=2 --set learner.shares=6"},
        {"proof", "defaults/towns.yaml --set learner.n_envs=6 --set learner.n_steps=4 --set "
                  "learner.total_steps=24 --set learner.batch_size=12 --set learner.shares=6"}};
    if (!there_is_mpi() || getenv("LUDUS_LAUNCHER") || access(module, R_OK) != 0) skip();
    setenv("LUDUS_CUDA_MODULE", module, 1);
    for (size_t t = 0; t < sizeof small / sizeof *small; t++) {
        uint64_t hash = 0;
        for (int n = 1; n <= 3; n++) {
            char run[64];
            snprintf(run, sizeof run, "gpu-%s-%d", small[t].name, n);
            setenv("LUDUS_EMULATED_DEVICES", n == 3 ? "2" : "3", 1);
            if (ludus(n, 1, "train " SCENARIOS "%s -q -d cuda -o %s", small[t].arguments, run))
                expect_log("no error");
            if (n > 1) expect_log(n == 3 ? "gradients go through the host" : "gradients go from GPU to GPU");
            const uint64_t now = hash_of(run);
            if (n > 1 && now != hash) fail_msg("%s: %d GPUs have learned something else", small[t].name, n);
            hash = now;
        }
    }
    unsetenv("LUDUS_CUDA_MODULE");
    unsetenv("LUDUS_EMULATED_DEVICES");
}

/* What 1, 2 and 3 processes leave in a file; it has this in it. */
static void expect_same(const char *command, const char *file, const char *part) {
    lud_arena *arena = lud_arena_create(0);
    char *first = NULL;
    for (int n = 1; n <= 3; n++) {
        assert_int_equal(ludus(n, 1, "%s", command), 0);
        char *now = read_text(arena, file);
        assert_non_null(strstr(now, part));
        if (first) assert_string_equal(now, first);
        first = now;
    }
    lud_arena_destroy(arena);
}

static void rankings_are_the_same(void **state) {
    (void)state;
    if (!there_is_mpi()) skip();
    int t = 0;
    while (strcmp(trainings[t].name, "proof") != 0) t++;
    train_once(t, "proof-1", "");
    expect_same("eval proof-1 --json | grep -v seconds", "log", "mrr");
}

/* ---- solutions ---- */

static void rest(int milliseconds) {
    nanosleep(&(struct timespec){milliseconds / 1000, milliseconds % 1000 * 1000000}, NULL);
}

/* The process that is number `rank` of the launcher's. */
static pid_t find_rank(pid_t launcher, int rank) {
    char command[256], line[64] = "";
    snprintf(command, sizeof command, "pgrep -P %d | sed -n %dp", (int)launcher, rank + 1);
    FILE *stream = popen(command, "r");
    if (!stream || !fgets(line, sizeof line, stream)) line[0] = '\0';
    if (stream) pclose(stream);
    return (pid_t)atoi(line);
}

#define LARGE "solve " SCENARIOS "empo/large.yaml -q --set multigrid.max_steps=11 "

static uint64_t hash_solution(const char *run) {
    char name[128], path[256];
    snprintf(name, sizeof name, "%s/solution.empo", run);
    lud_arena *arena = lud_arena_create(0);
    char *bytes;
    size_t n;
    lud_error error = {0};
    if (lud_file_read(arena, path_of(name, path), 1 << 30, &bytes, &n, &error)) fail_msg("%s", error.text);
    const uint64_t hash = XXH3_64bits(bytes, n);
    lud_arena_destroy(arena);
    return hash;
}

static void solutions_are_the_same(void **state) {
    (void)state;
    if (!there_is_mpi()) skip();
    assert_int_equal(ludus(1, 2, LARGE "-o graph --method graph"), 0);
    const uint64_t hash = hash_solution("graph");
    for (int n = 1; n <= 4; n++) {
        char run[32];
        snprintf(run, sizeof run, "solved-%d", n);
        if (ludus(n, 1 + (n == 2), LARGE "-o %s --method levels", run)) expect_log("no error");
        if (hash_solution(run) != hash) fail_msg("%d processes have another solution than 1", n);
    }
    /* a person whom no goal is open to: the same words */
    const char *const closed =
        "solve " SCENARIOS "empo/fetch_the_key.yaml -q -o no --set 'goals=[{cell: [4, 3]}]'";
    assert_int_equal(ludus(1, 1, "%s", closed), 2);
    lud_arena *arena = lud_arena_create(0);
    const char *told = read_text(arena, "log");
    assert_int_equal(ludus(3, 1, "%s", closed), 2);
    assert_memory_equal(read_text(arena, "log"), told, strlen(told)); /* the launcher has its own to add */
    lud_arena_destroy(arena);
    assert_int_equal(ludus(2, 1, LARGE "-o no --method graph"), 2);
    expect_log("several processes solve by levels: --method graph");
    assert_int_equal(ludus(2, 1, "solve " SCENARIOS "proof/family_tree.yaml -o no"), 2);
    expect_log("proofs are searched by one process; 2 were started");
}

/* The graph, and what follows in it under all policies, as others read them. */
static void exports_are_the_same(void **state) {
    (void)state;
    static const char *const files[] = {"graph.drn", "chain.drn", "chain.tra", "solution.csv"};
    if (!there_is_mpi()) skip();
    lud_arena *arena = lud_arena_create(0);
    for (int n = 1; n <= 4; n++) {
        if (ludus(n, 1 + (n == 2),
                  "solve " SCENARIOS "empo/fetch_the_key.yaml -q -o out-%d -x mdp -x drn -x prism -x csv", n))
            expect_log("no error");
        for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
            char one[64], now[64];
            snprintf(one, sizeof one, "out-1/%s", files[i]);
            snprintf(now, sizeof now, "out-%d/%s", n, files[i]);
            assert_string_equal(read_text(arena, now), read_text(arena, one));
        }
    }
    lud_arena_destroy(arena);
}

/* Until the levels found so far, a file of 128 kB in the end, take so many bytes; or for ten seconds. */
static void wait_for_levels(off_t bytes) {
    char path[256];
    struct stat is;
    path_of("stopped/solution.empo.levels.partial", path);
    for (int k = 0; k < 2000; k++) {
        if (stat(path, &is) == 0 && is.st_size >= bytes) return;
        rest(5);
    }
}

/* Stopped or killed anywhere, others go on to the same bytes. */
static void solutions_go_on(void **state) {
    (void)state;
    if (!there_is_mpi()) skip();
    const uint64_t hash = hash_solution("graph");
    for (uint32_t k = 0; k < 6; k++) {
        const lud_words w = lud_draw((lud_random_key){12, 0}, k, 0, LUD_PURPOSE_USER, 0);
        const int n = 2 + (int)(w.v[0] % 3);
        char command[1024];
        int how = 0;
        snprintf(command, sizeof command,
                 "cd '%s'; rm -rf stopped; OMP_NUM_THREADS=1 " LAUNCH "%d " PROGRAM " " LARGE
                 "-o stopped >log 2>&1",
                 folder, n);
        const pid_t process = fork();
        if (process == 0) {
            execl("/bin/sh", "sh", "-c", command, (char *)NULL);
            _exit(127);
        }
        wait_for_levels((off_t)(w.v[1] % 127000)); /* afterwards they are solved */
        const pid_t rank = k % 2 ? find_rank(process, (int)(w.v[2] % (uint32_t)n)) : 0;
        kill(rank > 1 ? rank : process, rank > 1 ? SIGKILL : SIGINT);
        waitpid(process, &how, 0);
        if (ludus(1 + (int)(k % 4), 1, LARGE "-o stopped --resume")) expect_log("no error");
        if (hash_solution("stopped") != hash) fail_msg("stop %u: another solution", k);
    }
}

static void sweeps_are_the_same(void **state) {
    (void)state;
    if (!there_is_mpi()) skip();
    expect_same("sweep " SCENARIOS "empo/fetch_the_key.yaml -v learner.beta_r=1:9:4 -q -o sweep.csv",
                "sweep.csv", "learner.beta_r");
}

static void experiments_are_the_same(void **state) {
    (void)state;
    if (!there_is_mpi()) skip();
    char path[256];
    FILE *file = fopen(path_of("two.yaml", path), "w");
    assert_non_null(file);
    fprintf(file,
            "experiment: two\nscore: evaluation/return\nscenarios: [" SCENARIOS "particle/simple.yaml]\n"
            "variants: {narrow: {learner.hidden_size: 8}, wide: {learner.hidden_size: 16}}\nseeds: 3\n"
            "set: {learner.steps: 1600, run.environments: 16}\n");
    fclose(file);
    lud_arena *arena = lud_arena_create(0);
    assert_int_equal(ludus(1, 1, "experiment two.yaml -q -o alone"), 0);
    assert_int_equal(ludus(2, 1, "experiment two.yaml -q -o together"), 0);
    assert_string_equal(read_text(arena, "together/runs.csv"), read_text(arena, "alone/runs.csv"));
    assert_int_equal(ludus(3, 1, "experiment two.yaml -q -o together"), 0);
    expect_log("(6 runs were there already)");
    lud_arena_destroy(arena);
}

static void sweeps_of_trainings_are_the_same(void **state) {
    (void)state;
    if (!there_is_mpi()) skip();
    static const char command[] =
        "sweep " SCENARIOS "particle/simple.yaml -v learner.learning_rate=1e-5:1e-2:log -n 5 --seeds 2 "
        "--halving 2 --set learner.steps=3200 --set run.environments=16 -j 2 -t 1 -q -o %s";
    lud_arena *arena = lud_arena_create(0);
    assert_int_equal(ludus(1, 1, command, "one"), 0);
    assert_int_equal(ludus(2, 1, command, "two"), 0);
    assert_non_null(strstr(read_text(arena, "one/sweep.csv"), "learner.learning_rate,iterations,"));
    assert_string_equal(read_text(arena, "two/sweep.csv"), read_text(arena, "one/sweep.csv"));
    assert_string_equal(read_text(arena, "two/runs.csv"), read_text(arena, "one/runs.csv"));
    assert_int_equal(ludus(3, 1, command, "one"), 0);
    expect_log("(16 runs were there already)"); /* 5, 2 and 1 candidates */
    lud_arena_destroy(arena);
}

/* ---- stops ---- */

/* Training t as n processes, in the background. */
static pid_t begin(int t, int n, const char *run, bool resumes) {
    char command[4096];
    if (resumes)
        snprintf(command, sizeof command,
                 "cd '%s'; OMP_NUM_THREADS=1 " LAUNCH "%d " PROGRAM
                 " train %s --resume -q --checkpoint-every 1 >log 2>&1",
                 folder, n, run);
    else
        snprintf(command, sizeof command,
                 "cd '%s'; OMP_NUM_THREADS=1 " LAUNCH "%d " PROGRAM " train " SCENARIOS
                 "%s -q --checkpoint-every 1 -o %s %s --set %s >log 2>&1",
                 folder, n, trainings[t].scenario, run, trainings[t].set, trainings[t].longer);
    const pid_t process = fork();
    if (process == 0) {
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    return process;
}

/* Waits until the run has a checkpoint, or the process has ended. */
static void wait_for_checkpoint(const char *run, pid_t process) {
    char name[128], path[256];
    snprintf(name, sizeof name, "%s/checkpoint.safetensors", run);
    for (int k = 0; k < 6000 && access(path_of(name, path), R_OK) != 0; k++, rest(5)) {
        siginfo_t info = {0};
        if (waitid(P_PID, (id_t)process, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == process)
            return;
    }
}

/* The run of training t that was never stopped. */
static const char *whole_of(int t) {
    static char run[64];
    char more[128];
    snprintf(run, sizeof run, "%s-whole", trainings[t].name);
    snprintf(more, sizeof more, "--set %s", trainings[t].longer);
    train_once(t, run, more);
    return run;
}

static void goes_on_with_others(void **state) {
    const int t = (int)(intptr_t)*state;
    if (!there_is_mpi()) skip();
    char run[64];
    int how = 0;
    snprintf(run, sizeof run, "%s-parts", trainings[t].name);
    pid_t process = begin(t, 3, run, false);
    wait_for_checkpoint(run, process);
    kill(process, SIGINT); /* mpirun passes it on to all */
    waitpid(process, &how, 0);
    process = begin(t, 2, run, true);
    waitpid(process, &how, 0);
    if (hash_of(run) != hash_of(whole_of(t)) || hash_metrics(run) != hash_metrics(whole_of(t)))
        fail_msg("%s: going on came to something else", trainings[t].name);
}

/* The k-th training that is stopped, in turn. */
static int stopped_training(int k) {
    int t = 0, n = 0;
    for (int i = 0; i < N_TRAININGS; i++) n += trainings[i].longer != NULL;
    for (int i = k % n; !trainings[t].longer || i-- > 0;) t++;
    return t;
}

/* The checkpoint before the newest one, too. */
static void the_previous_one_is_shared(void **state) {
    (void)state;
    if (!there_is_mpi()) skip();
    assert_int_equal(ludus(2, 1, "train " SCENARIOS "%s -q --checkpoint-every 2 -o before %s",
                           trainings[0].scenario, trainings[0].set),
                     0);
    const uint64_t hash = hash_of("before");
    assert_int_equal(ludus(3, 1, "train before -q --resume-previous"), 0);
    assert_int_equal(hash_of("before"), hash);
}

/* Whichever process is killed, whenever: the others end within seconds, and the rest is learned from the
 * checkpoint that is there. */
static void kills_lose_nothing(void **state) {
    (void)state;
    if (!there_is_mpi()) skip();
    const int n_kills = getenv("LUDUS_TEST_KILLS") ? atoi(getenv("LUDUS_TEST_KILLS")) : 5;
    int n_hit = 0;
    for (int k = 0; k < n_kills; k++) {
        const lud_words w = lud_draw((lud_random_key){11, 0}, (uint32_t)k, 0, LUD_PURPOSE_USER, 0);
        const int n = 2 + (int)(w.v[0] % 3), t = stopped_training(k);
        int how = 0;
        char command[256], path[256];
        snprintf(command, sizeof command, "rm -rf '%s/killed'", folder);
        assert_int_equal(system(command), 0);
        pid_t process = begin(t, n, "killed", false);
        wait_for_checkpoint("killed", process);
        rest((int)(w.v[1] % 800));
        const pid_t rank = find_rank(process, (int)(w.v[2] % (uint32_t)n));
        if (rank > 1 && kill(rank, SIGKILL) == 0) n_hit++;
        waitpid(process, &how, 0); /* comes back: nobody waits for the dead */
        if (rank > 1 && access(path_of("killed/checkpoint.safetensors", path), R_OK) == 0) {
            process = begin(t, 1 + k % 4, "killed", true);
            waitpid(process, &how, 0);
        } else {
            assert_int_equal(ludus(2, 1, "train " SCENARIOS "%s -q --overwrite -o killed %s --set %s",
                                   trainings[t].scenario, trainings[t].set, trainings[t].longer),
                             0);
        }
        if (hash_of("killed") != hash_of(whole_of(t))) fail_msg("kill %d, %s", k, trainings[t].name);
    }
    if (n_kills > 0) assert_true(n_hit > 0);
}

/* ---- refusals ---- */

static void what_cannot_be_is_told(void **state) {
    (void)state;
    if (!there_is_mpi()) skip();
    assert_int_equal(
        ludus(2, 1, "train " SCENARIOS "particle/navigation_3.yaml -o no --set learner.shares=3"), 2);
    expect_log("2 processes cannot divide learner.shares: 3 among them");
    static const char *const of_all[] = {"defaults/between.yaml", "tribes/village_gated.yaml",
                                         "defaults/towns.yaml --set learner.type=kge",
                                         "defaults/between.yaml --set learner.type=empo-phase1"};
    for (size_t i = 0; i < sizeof of_all / sizeof *of_all; i++) {
        assert_int_equal(ludus(2, 1, "train " SCENARIOS "%s -o no", of_all[i]), 2);
        expect_log("2 processes cannot divide learner.shares: 1 among them");
    }
    assert_int_equal(ludus(2, 1,
                           "train " SCENARIOS "defaults/between.yaml -o no --set learner.shares=2 --set "
                           "learner.async_training=true"),
                     2);
    expect_log("learner.async_training: expected false with several processes");
    assert_int_equal(ludus(2, 1, "inspect " SCENARIOS "particle/navigation_3.yaml"), 2);
    expect_log("ludus inspect is the work of one process; 2 were started");
    assert_int_equal(ludus(2, 1, "eval graph-1"), 2);
    expect_log("a run of graph-mappo is evaluated by one process; 2 were started");
    assert_int_equal(ludus(2, 1, "train nowhere.yaml -o no"), 2);
    expect_log("nowhere.yaml: no such file");
    assert_int_equal(
        ludus(1, 1, "train " SCENARIOS "particle/navigation_3.yaml -o no --set learner.shares=300"), 2);
    expect_log("learner.shares: 300 shares of 128 environments");
    char path[256];
    assert_int_equal(access(path_of("no", path), F_OK), -1);
}

int main(void) {
    static const struct CMUnitTest others[] = {cmocka_unit_test(trainings_on_gpus_are_the_same),
                                               cmocka_unit_test(rankings_are_the_same),
                                               cmocka_unit_test(solutions_are_the_same),
                                               cmocka_unit_test(exports_are_the_same),
                                               cmocka_unit_test(solutions_go_on),
                                               cmocka_unit_test(sweeps_are_the_same),
                                               cmocka_unit_test(experiments_are_the_same),
                                               cmocka_unit_test(sweeps_of_trainings_are_the_same),
                                               cmocka_unit_test(the_previous_one_is_shared),
                                               cmocka_unit_test(kills_lose_nothing),
                                               cmocka_unit_test(what_cannot_be_is_told)};
    enum { N_OTHERS = sizeof others / sizeof *others };
    static struct CMUnitTest tests[2 * N_TRAININGS + N_OTHERS];
    static char names[2 * N_TRAININGS][40];
    size_t n = 0;
    for (int t = 0; t < N_TRAININGS; t++) {
        snprintf(names[n], sizeof names[n], "%s_is_the_same", trainings[t].name);
        tests[n] = (struct CMUnitTest){names[n], training_is_the_same, NULL, NULL, (void *)(intptr_t)t};
        n++;
    }
    for (int t = 0; t < N_TRAININGS; t++) {
        if (!trainings[t].longer) continue;
        snprintf(names[n], sizeof names[n], "%s_goes_on_with_others", trainings[t].name);
        tests[n] = (struct CMUnitTest){names[n], goes_on_with_others, NULL, NULL, (void *)(intptr_t)t};
        n++;
    }
    for (int i = 0; i < N_OTHERS; i++) tests[n++] = others[i];
    if (getenv("LUDUS_LAUNCHER")) cmocka_set_test_filter("*_the_same");
    return _cmocka_run_group_tests("processes", tests, n, set_up, tear_down);
}
