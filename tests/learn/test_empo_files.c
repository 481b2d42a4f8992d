/* The Markov chain of a solution and what is written for other programs; the solution's file; acting on it;
 * the options of the exact solver. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "learn/empo/chain.h"
#include "learn/empo/exact_options.h"
#include "learn/empo/solution.h"
#include "learn/empo/solution_policy.h"
#include "learn/support_table_world.h"

/* ---- a solved game ---- */

typedef struct solved {
    table_model *m;
    lud_statespace *space;
    lud_empo_problem *problem;
    double *records;
} solved;

static const lud_empo_theory theory = {.beta_h = 5,
                                       .gamma_h = 0.95,
                                       .rho_h = -1,
                                       .gamma_r = 0.9,
                                       .rho_r = -1,
                                       .beta_r = 3,
                                       .zeta = 2,
                                       .xi = 1,
                                       .eta = 1.1,
                                       .terminal_value = -1e-10};

static solved solve(uint64_t seed, int n_humans, int n_robots, bool skips) {
    solved s = {.m = table_world_random(seed, n_humans, n_robots, 3, 6, 12, skips)};
    lud_error error = {0};
    lud_status status = lud_statespace_build(&s.m->base, &(lud_statespace_options){0}, &s.space, &error);
    if (!status) status = lud_empo_problem_create(s.space, &theory, &s.problem, &error);
    if (status) fail_msg("%s", error.text);
    s.records = calloc(s.space->n_states * (uint64_t)s.problem->layout.record_doubles, sizeof(double));
    lud_empo_run run = {.records = s.records, .first_level = INT32_MAX};
    if (lud_empo_solve(s.problem, &run, &error)) fail_msg("%s", error.text);
    return s;
}

static void release(solved *s) {
    free(s->records);
    lud_empo_problem_destroy(s->problem);
    lud_statespace_destroy(s->space);
    free(s->m);
}

static void assert_close(double got, double expected) {
    if (!(fabs(got - expected) <= 1e-12 * fmax(1, fabs(expected))))
        fail_msg("got %.17g, expected %.17g", got, expected);
}

static lud_empo_chain *chain_of(const solved *s) {
    lud_empo_chain *chain;
    lud_error error = {0};
    if (lud_empo_chain_create(s->problem, s->records, &chain, &error)) fail_msg("%s", error.text);
    return chain;
}

/* P(to|from) from the table and the records, one joint action after another. */
static double naive_probability(const solved *s, uint64_t from, uint64_t to) {
    const lud_empo_layout *layout = &s->problem->layout;
    const double *record = s->records + from * (uint64_t)layout->record_doubles;
    int number = s->space->states[2 * from] | s->space->states[2 * from + 1] << 8;
    int target = s->space->states[2 * to] | s->space->states[2 * to + 1] << 8;
    double sum = 0, marginal[TABLE_MAX_AGENTS][TABLE_MAX_ACTIONS];
    for (int h = 0; h < layout->n_humans; h++)
        lud_empo_marginal_of(layout, s->problem->goal_weight, record, h, marginal[h]);
    for (int k = 0; k < s->m->n_joint; k++) {
        int32_t actions[TABLE_MAX_AGENTS];
        lud_joint_action_decode(&s->m->base.layout, k, actions);
        double p = record[layout->pi_r + lud_empo_robot_action(layout, &s->m->base, actions)];
        for (int h = 0; h < layout->n_humans; h++) p *= marginal[h][actions[layout->humans[h]]];
        for (int i = 0; i < s->m->n_out[number][k]; i++)
            if (s->m->out[number][k][i] == target) sum += p * s->m->probability[number][k][i];
    }
    return sum;
}

/* ---- the chain ---- */

static void chain_is_the_policies_product(void **context) {
    (void)context;
    for (int skips = 0; skips < 2; skips++) {
        solved s = solve(8 + (uint64_t)skips, 1 + skips, 2 - skips, skips);
        lud_empo_chain *chain = chain_of(&s);
        uint64_t n = chain->n_states;
        for (uint64_t from = 0; from < n; from++) {
            double total = 0;
            uint64_t i = chain->begin[from];
            for (uint64_t to = 0; to < n; to++) {
                double expected = naive_probability(&s, from, to), got = 0;
                if (i < chain->begin[from + 1] && chain->successor[i] == to) got = chain->probability[i++];
                assert_close(got, expected);
                total += got;
            }
            assert_true(i == chain->begin[from + 1]); /* ascending, each once */
            assert_close(total, lud_statespace_terminal(s.space, from) ? 0 : 1);
        }
        lud_empo_chain_destroy(chain);
        release(&s);
    }
}

static void values_and_visits(void **context) {
    (void)context;
    enum { VECTORS = 2 };
    solved s = solve(21, 2, 1, false);
    lud_empo_chain *chain = chain_of(&s);
    lud_error error = {0};
    uint64_t n = chain->n_states;
    double *rewards = malloc(n * VECTORS * sizeof *rewards), *values = malloc(n * VECTORS * sizeof *values);
    double *visits = malloc(n * sizeof *visits), *naive = calloc(n, sizeof *naive);
    for (uint64_t i = 0; i < n * VECTORS; i++) rewards[i] = (double)(i * 37 % 11) - 5;
    const double gamma = 0.93;
    assert_int_equal(lud_empo_chain_values(chain, gamma, rewards, VECTORS, values, &error), LUD_OK);
    for (int j = 0; j < VECTORS; j++) { /* iterated from nothing until every layer has been through */
        memset(naive, 0, n * sizeof *naive);
        for (int round = 0; round < s.space->n_layers; round++)
            for (uint64_t from = 0; from < n; from++) {
                double later = 0;
                for (uint64_t to = 0; to < n; to++)
                    if (naive[to] != 0 && to > from) later += naive_probability(&s, from, to) * naive[to];
                naive[from] = rewards[from * VECTORS + (uint64_t)j] + gamma * later;
            }
        for (uint64_t from = 0; from < n; from++)
            assert_close(values[from * VECTORS + (uint64_t)j], naive[from]);
    }
    assert_int_equal(lud_empo_chain_visits(chain, 0, visits, &error), LUD_OK);
    double ended = 0;
    for (int layer = 0; layer < s.space->n_layers; layer++) {
        double sum = 0, ends = 0;
        for (uint64_t i = s.space->layer_begin[layer]; i < s.space->layer_begin[layer + 1]; i++) {
            sum += visits[i];
            if (lud_statespace_terminal(s.space, i)) ends += visits[i];
        }
        assert_close(sum + ended, 1); /* whoever has not ended is here */
        ended += ends;
    }
    assert_close(ended, 1);
    /* the expected discounted reward is the same counted from the start or by visits */
    double by_visits = 0, factor = 1;
    for (int layer = 0; layer < s.space->n_layers; layer++, factor *= gamma)
        for (uint64_t i = s.space->layer_begin[layer]; i < s.space->layer_begin[layer + 1]; i++)
            by_visits += factor * visits[i] * rewards[i * VECTORS];
    assert_close(values[0], by_visits);
    free(rewards);
    free(values);
    free(visits);
    free(naive);
    lud_empo_chain_destroy(chain);
    release(&s);
}

/* ---- exports, read back by readers that know the formats and nothing else ---- */

/* Rows of a DRN file: for a DTMC one choice a state; for an MDP `choice` counts through. */
typedef struct drn {
    unsigned long long n_states, n_choices;
    bool is_mdp;
    unsigned long long states_seen, choices_seen, entries, *state_of_choice;
    double *total;  /* [n_choices] sum of the row */
    double *reward; /* [n_states] */
    char (*labels)[256];
    double *first; /* [n_states][n_states] rows of every state's choice 0 */
} drn;

static drn read_drn(FILE *in) {
    drn d = {0};
    char line[512];
    rewind(in);
    unsigned long long state = 0;
    bool first_choice = false;
    while (fgets(line, sizeof line, in)) {
        unsigned long long to;
        double p;
        if (!strncmp(line, "@type:", 6)) d.is_mdp = strstr(line, "MDP") != NULL;
        if (!strncmp(line, "@nr_states", 10)) assert_int_equal(fscanf(in, "%llu\n", &d.n_states), 1);
        if (!strncmp(line, "@nr_choices", 11)) {
            assert_int_equal(fscanf(in, "%llu\n", &d.n_choices), 1);
            d.total = calloc(d.n_choices, sizeof *d.total);
            d.reward = calloc(d.n_states, sizeof *d.reward);
            d.labels = calloc(d.n_states, sizeof *d.labels);
            d.first = calloc(d.n_states * d.n_states, sizeof *d.first);
        }
        if (!strncmp(line, "state ", 6)) {
            char *rest;
            state = strtoull(line + 6, &rest, 10);
            assert_true(state == d.states_seen && state < d.n_states);
            d.states_seen++;
            first_choice = true;
            char *bracket = strchr(rest, '[');
            if (bracket) d.reward[state] = strtod(bracket + 1, &rest);
            snprintf(d.labels[state], sizeof d.labels[state], "%s", *rest == ']' ? rest + 1 : rest);
        } else if (!strncmp(line, "\taction ", 8)) {
            if (d.choices_seen && d.entries) first_choice &= state == d.states_seen - 1;
            d.choices_seen++;
            assert_true(d.choices_seen <= d.n_choices);
            if (strtol(line + 8, NULL, 10) != 0) first_choice = false;
        } else if (!strncmp(line, "\t\t", 2)) {
            assert_int_equal(sscanf(line, " %llu : %lf", &to, &p), 2);
            assert_true(to < d.n_states && p > 0);
            d.total[d.choices_seen - 1] += p;
            d.entries++;
            if (first_choice) d.first[state * d.n_states + to] = p;
        }
    }
    assert_true(d.states_seen == d.n_states && d.choices_seen == d.n_choices);
    return d;
}

static void free_drn(drn *d) {
    free(d->total);
    free(d->reward);
    free(d->labels);
    free(d->first);
}

static void drn_reads_back(void **context) {
    (void)context;
    solved s = solve(33, 1, 2, false);
    lud_empo_chain *chain = chain_of(&s);
    const lud_empo_layout *layout = &s.problem->layout;
    lud_error error = {0};
    FILE *out = tmpfile();
    assert_int_equal(lud_empo_chain_write_drn(chain, s.records, out, &error), LUD_OK);
    drn d = read_drn(out);
    assert_false(d.is_mdp);
    assert_true(d.n_states == chain->n_states && d.n_choices == chain->n_states);
    for (uint64_t i = 0; i < d.n_states; i++) {
        assert_close(d.total[i], 1);
        assert_true(d.reward[i] == s.records[i * (uint64_t)layout->record_doubles + (uint64_t)layout->u_r]);
        bool terminal = lud_statespace_terminal(s.space, i);
        assert_true(terminal == (strstr(d.labels[i], " terminal") != NULL));
        assert_true((i == 0) == (strstr(d.labels[i], " init") != NULL));
        int number = s.space->states[2 * i] | s.space->states[2 * i + 1] << 8;
        for (int g = 0; g < s.m->n_goals; g++) {
            char label[32];
            snprintf(label, sizeof label, " agent%d_goal%d", layout->humans[0], g);
            assert_true(s.m->achieved[number][layout->humans[0]][g] == (strstr(d.labels[i], label) != NULL));
        }
        if (terminal) assert_true(d.first[i * d.n_states + i] == 1);
        for (uint64_t k = chain->begin[i]; k < chain->begin[i + 1]; k++)
            assert_true(d.first[i * d.n_states + chain->successor[k]] == chain->probability[k]);
    }
    free_drn(&d);
    fclose(out);
    out = tmpfile();
    assert_int_equal(lud_empo_graph_write_drn(s.problem, out, &error), LUD_OK);
    d = read_drn(out);
    assert_true(d.is_mdp);
    assert_true(d.n_choices ==
                (d.n_states - s.space->n_terminal) * (unsigned long long)s.m->n_joint + s.space->n_terminal);
    assert_true(d.entries == s.space->n_transitions + s.space->n_terminal);
    for (uint64_t i = 0; i < d.n_choices; i++) assert_close(d.total[i], 1);
    for (uint64_t i = 0; i < d.n_states; i++) {
        int number = s.space->states[2 * i] | s.space->states[2 * i + 1] << 8;
        lud_statespace_row row = lud_statespace_get_row(s.space, i, 0);
        for (uint32_t k = 0; k < row.n; k++)
            assert_true(d.first[i * d.n_states + row.successor[k]] == s.m->probability[number][0][k]);
    }
    free_drn(&d);
    fclose(out);
    lud_empo_chain_destroy(chain);
    release(&s);
}

static void prism_reads_back(void **context) {
    (void)context;
    solved s = solve(34, 2, 1, true);
    lud_empo_chain *chain = chain_of(&s);
    const lud_empo_layout *layout = &s.problem->layout;
    lud_error error = {0};
    FILE *tra = tmpfile(), *sta = tmpfile(), *lab = tmpfile(), *srew = tmpfile();
    assert_int_equal(lud_empo_chain_write_prism(chain, s.records, tra, sta, lab, srew, &error), LUD_OK);
    rewind(tra);
    rewind(sta);
    rewind(lab);
    rewind(srew);
    unsigned long long n, n_transitions, from, to, last = 0;
    double p;
    assert_int_equal(fscanf(tra, "%llu %llu", &n, &n_transitions), 2);
    assert_true(n == chain->n_states);
    double *total = calloc(n, sizeof *total), *matrix = calloc(n * n, sizeof *matrix);
    for (unsigned long long i = 0; i < n_transitions; i++) {
        assert_int_equal(fscanf(tra, "%llu %llu %lf", &from, &to, &p), 3);
        assert_true(from >= last && from < n && to < n);
        last = from;
        total[from] += p;
        matrix[from * n + to] = p;
    }
    assert_int_equal(fscanf(tra, "%llu", &from), EOF);
    for (uint64_t i = 0; i < n; i++) {
        assert_close(total[i], 1);
        for (uint64_t k = chain->begin[i]; k < chain->begin[i + 1]; k++)
            assert_true(matrix[i * n + chain->successor[k]] == chain->probability[k]);
    }
    char line[4096];
    assert_non_null(fgets(line, sizeof line, sta));
    assert_string_equal(line, "(layer,number)\n");
    for (uint64_t i = 0; i < n; i++) {
        int layer;
        assert_int_equal(fscanf(sta, "%llu:(%d,%llu)\n", &from, &layer, &to), 3);
        assert_true(from == i && s.space->layer_begin[layer] + to == i &&
                    i < s.space->layer_begin[layer + 1]);
    }
    unsigned long long rewards;
    assert_int_equal(fscanf(srew, "%llu %llu", &from, &rewards), 2);
    assert_true(from == n && rewards == n);
    for (uint64_t i = 0; i < n; i++) {
        assert_int_equal(fscanf(srew, "%llu %lf", &from, &p), 2);
        assert_true(from == i &&
                    p == s.records[i * (uint64_t)layout->record_doubles + (uint64_t)layout->u_r]);
    }
    /* every label by its declared number */
    assert_non_null(fgets(line, sizeof line, lab));
    assert_non_null(strstr(line, "0=\"init\" 1=\"deadlock\" 2=\"terminal\""));
    uint64_t terminals = 0, achieved = 0, expected = 0;
    while (fgets(line, sizeof line, lab)) {
        char *rest;
        from = strtoull(line, &rest, 10);
        assert_true(*rest == ':' && from < n);
        for (char *word = strtok(rest + 1, " \n"); word; word = strtok(NULL, " \n")) {
            int label = atoi(word);
            if (label == 0) assert_true(from == 0);
            terminals += label == 2;
            achieved += label > 2;
        }
    }
    for (uint64_t i = 0; i < n; i++) {
        int number = s.space->states[2 * i] | s.space->states[2 * i + 1] << 8;
        for (int h = 0; h < layout->n_humans; h++)
            for (int g = 0; g < s.m->n_goals; g++) expected += s.m->achieved[number][layout->humans[h]][g];
    }
    assert_true(terminals == s.space->n_terminal && achieved == expected);
    free(total);
    free(matrix);
    fclose(tra);
    fclose(sta);
    fclose(lab);
    fclose(srew);
    lud_empo_chain_destroy(chain);
    release(&s);
}

static void tables_and_drawings(void **context) {
    (void)context;
    solved s = solve(35, 1, 1, false);
    lud_empo_chain *chain = chain_of(&s);
    lud_error error = {0};
    FILE *out = tmpfile();
    assert_int_equal(lud_empo_write_csv(s.problem, s.records, out, &error), LUD_OK);
    rewind(out);
    char line[8192];
    assert_non_null(fgets(line, sizeof line, out));
    int columns = 1;
    for (char *c = line; *c; c++) columns += *c == ',';
    assert_int_equal(columns, 3 + s.problem->layout.policies);
    for (uint64_t i = 0; i < s.space->n_states; i++) {
        assert_non_null(fgets(line, sizeof line, out));
        const double *record = s.records + i * (uint64_t)s.problem->layout.record_doubles;
        char *at = line;
        for (int c = 0; c < columns; c++) {
            double value = strtod(at, &at);
            assert_true(*at == (c == columns - 1 ? '\n' : ','));
            at++;
            if (c == 0) assert_true(value == (double)i);
            if (c >= 3) assert_true(value == record[c - 3]);
        }
    }
    assert_null(fgets(line, sizeof line, out));
    fclose(out);
    out = tmpfile();
    assert_int_equal(lud_empo_chain_write_dot(chain, s.records, 3, out, &error), LUD_ERROR_LIMIT);
    assert_int_equal(lud_empo_chain_write_dot(chain, s.records, 1000, out, &error), LUD_OK);
    rewind(out);
    uint64_t edges = 0, nodes = 0;
    while (fgets(line, sizeof line, out)) {
        edges += strstr(line, "->") != NULL;
        nodes += strstr(line, "V_r") != NULL;
    }
    assert_true(edges == chain->n_entries && nodes == chain->n_states);
    fclose(out);
    lud_empo_chain_destroy(chain);
    release(&s);
}

/* ---- the file ---- */

static char folder[] = "/tmp/ludus-empo-XXXXXX";
static char path[64], partial[80];

static int make_folder(void **context) {
    (void)context;
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/solution.empo", folder);
    snprintf(partial, sizeof partial, "%s.partial", path);
    return 0;
}
static int remove_folder(void **context) {
    (void)context;
    char command[80];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static lud_empo_solution *create(const solved *s, bool resume) {
    lud_empo_solution *solution = NULL;
    lud_error error = {0};
    if (lud_empo_solution_create(path, s->problem, resume, &solution, &error)) fail_msg("%s", error.text);
    return solution;
}

static void write_solution(const solved *s) {
    lud_empo_solution *solution = create(s, false);
    memcpy(solution->records, s->records,
           s->space->n_states * solution->header->record_doubles * sizeof(double));
    lud_error error = {0};
    assert_int_equal(lud_empo_solution_commit(solution, &error), LUD_OK);
    lud_empo_solution_close(solution);
}

static void refused(const char *message) {
    lud_empo_solution *solution = NULL;
    lud_error error = {0};
    assert_int_equal(lud_empo_solution_open(path, &solution, &error), LUD_ERROR_INPUT);
    assert_null(solution);
    if (!strstr(error.text, message)) fail_msg("'%s' is not in '%s'", message, error.text);
}

/* Changes a byte of the file. */
static void change(long at, int by) {
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    fseek(file, at, SEEK_SET);
    int old = fgetc(file);
    fseek(file, at, SEEK_SET);
    fputc(old ^ by, file);
    fclose(file);
}

static void file_keeps_everything(void **context) {
    (void)context;
    solved s = solve(41, 2, 1, false);
    write_solution(&s);
    assert_int_not_equal(access(partial, F_OK), 0);
    lud_empo_solution *solution;
    lud_error error = {0};
    assert_int_equal(lud_empo_solution_open(path, &solution, &error), LUD_OK);
    assert_true(solution->header->n_states == s.space->n_states && solution->header->zeta == theory.zeta);
    assert_memory_equal(solution->records, s.records,
                        s.space->n_states * solution->header->record_doubles * sizeof(double));
    for (uint64_t i = 0; i < s.space->n_states; i++)
        assert_true(lud_empo_solution_find(solution, s.space->states + 2 * i) == i);
    assert_true(lud_empo_solution_find(solution, (const uint8_t[]){255, 255}) == UINT64_MAX);
    lud_empo_solution_close(solution);
    release(&s);
}

static void damaged_files_are_refused(void **context) {
    (void)context;
    solved s = solve(42, 1, 1, false);
    write_solution(&s);
    struct stat file;
    assert_int_equal(stat(path, &file), 0);
    lud_empo_header header;
    FILE *in = fopen(path, "rb");
    assert_int_equal(fread(&header, sizeof header, 1, in), 1);
    fclose(in);
    for (long at = (long)offsetof(lud_empo_header, magic); at < (long)sizeof header.magic; at++) {
        change(at, 1);
        refused("not an EMPO solution");
        change(at, 1);
    }
    change((long)offsetof(lud_empo_header, version), 2);
    refused("version 3");
    change((long)offsetof(lud_empo_header, version), 2);
    /* every size and offset is checked against the others */
    for (long at = (long)offsetof(lud_empo_header, n_states);
         at < (long)offsetof(lud_empo_header, states_hash); at++) {
        change(at, 0x40);
        lud_empo_solution *solution = NULL;
        lud_error error = {0};
        assert_int_equal(lud_empo_solution_open(path, &solution, &error), LUD_ERROR_INPUT);
        change(at, 0x40);
    }
    change((long)offsetof(lud_empo_header, layers_at), 1);
    refused("solution.empo: damaged header");
    change((long)offsetof(lud_empo_header, layers_at), 1);
    change((long)header.states_at, 1);
    refused("do not match their checksum");
    change((long)header.states_at, 1);
    change((long)header.layers_at + 8, 4);
    refused("do not match their checksum");
    change((long)header.layers_at + 8, 4);
    change((long)offsetof(lud_empo_header, first_level), 2);
    refused("not finished");
    change((long)offsetof(lud_empo_header, first_level), 2);
    lud_empo_solution *solution;
    lud_error error = {0};
    assert_int_equal(lud_empo_solution_open(path, &solution, &error), LUD_OK); /* whole again */
    lud_empo_solution_close(solution);
    const off_t cuts[] = {file.st_size - 1, file.st_size / 2, 4096, 4095, 100, 0};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        assert_int_equal(truncate(path, cuts[i]), 0);
        refused("truncated");
    }
    unlink(path);
    assert_int_equal(lud_empo_solution_open(path, &solution, &error), LUD_ERROR_IO);
    release(&s);
}

/* A disk that fills up or a system that refuses at some step; the calls are replaced in this program. */
static const char *refused_call;

static bool refuses(const char *call, int reason) {
    if (!refused_call || strcmp(refused_call, call) != 0) return false;
    errno = reason;
    return true;
}

int fstat(int descriptor, struct stat *file) {
    return refuses("fstat", EIO) ? -1 : fstatat(descriptor, "", file, AT_EMPTY_PATH);
}
int ftruncate(int descriptor, off_t length) {
    return refuses("ftruncate", EFBIG) ? -1 : (int)syscall(SYS_ftruncate, descriptor, length);
}
int posix_fallocate(int descriptor, off_t begin, off_t length) {
    if (refuses("posix_fallocate", 0)) return ENOSPC;
    return syscall(SYS_fallocate, descriptor, 0, begin, length) ? errno : 0;
}
int msync(void *memory, size_t bytes, int how) {
    return refuses("msync", EIO) ? -1 : (int)syscall(SYS_msync, memory, bytes, how);
}
int fsync(int descriptor) {
    return refuses("fsync", EIO) ? -1 : (int)syscall(SYS_fsync, descriptor);
}
void *mmap(void *where, size_t bytes, int protection, int how, int descriptor, off_t begin) {
    if (descriptor >= 0 && refuses("mmap", ENOMEM)) return MAP_FAILED;
    return (void *)syscall(SYS_mmap, where, bytes, protection, how, descriptor, begin); // NOLINT
}

static void failing_disks_are_told(void **context) {
    (void)context;
    solved s = solve(45, 1, 1, false);
    static const struct {
        const char *call, *message;
    } cases[] = {{"fstat", ".partial: cannot look at it: Input/output error"},
                 {"ftruncate", ".partial: cannot make it large enough: File too large"},
                 {"posix_fallocate", ".partial: cannot reserve its space: No space left on device"},
                 {"mmap", ".partial: cannot map the file: Cannot allocate memory"},
                 {"msync", ".partial: cannot write: Input/output error"},
                 {"fsync", ".partial: cannot rename: Input/output error"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char expected[160];
        lud_empo_solution *solution = NULL;
        lud_error error = {0};
        const bool later = i >= 4;
        if (later) solution = create(&s, false);
        refused_call = cases[i].call;
        const lud_status status = later ? lud_empo_solution_commit(solution, &error)
                                        : lud_empo_solution_create(path, s.problem, false, &solution, &error);
        refused_call = NULL;
        assert_int_equal(status, LUD_ERROR_IO);
        snprintf(expected, sizeof expected, "%s%s", path, cases[i].message);
        assert_string_equal(error.text, expected);
        if (later) lud_empo_solution_close(solution);
    }
    /* a folder where the file should be, for writing and for reading */
    char expected[160];
    lud_error error = {0};
    lud_empo_solution *solution = create(&s, false);
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(lud_empo_solution_commit(solution, &error), LUD_ERROR_IO);
    snprintf(expected, sizeof expected, "%s.partial: cannot rename: Is a directory", path);
    assert_string_equal(error.text, expected);
    lud_empo_solution_close(solution);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(lud_empo_solution_open(path, &solution, &error), LUD_ERROR_IO);
    snprintf(expected, sizeof expected, "%s: cannot read: No such file or directory", path);
    assert_string_equal(error.text, expected);
    write_solution(&s);
    refused_call = "mmap";
    assert_int_equal(lud_empo_solution_open(path, &solution, &error), LUD_ERROR_IO);
    refused_call = NULL;
    snprintf(expected, sizeof expected, "%s: cannot map the file: Cannot allocate memory", path);
    assert_string_equal(error.text, expected);
    unlink(path);
    unlink(partial);
    release(&s);
}

/* Exports to a disk that is full. */
static void full_exports_are_told(void **context) {
    (void)context;
    if (access("/dev/full", W_OK)) skip();
    static const char message[] = "cannot write the export: No space left on device";
    solved s = solve(46, 1, 1, false);
    lud_empo_chain *chain;
    lud_error error = {0};
    if (lud_empo_chain_create(s.problem, s.records, &chain, &error)) fail_msg("%s", error.text);
    for (int k = 0; k < 5; k++) {
        FILE *out[4];
        for (int i = 0; i < 4; i++) {
            out[i] = fopen("/dev/full", "w");
            setvbuf(out[i], NULL, _IONBF, 0);
        }
        error = (lud_error){0};
        lud_status status =
            k == 0   ? lud_empo_chain_write_drn(chain, s.records, out[0], &error)
            : k == 1 ? lud_empo_graph_write_drn(s.problem, out[0], &error)
            : k == 2 ? lud_empo_chain_write_prism(chain, s.records, out[0], out[1], out[2], out[3], &error)
            : k == 3 ? lud_empo_write_csv(s.problem, s.records, out[0], &error)
                     : lud_empo_chain_write_dot(chain, s.records, 2000, out[0], &error);
        assert_int_equal(status, LUD_ERROR_IO);
        assert_string_equal(error.text, message);
        for (int i = 0; i < 4; i++) fclose(out[i]);
    }
    lud_empo_chain_destroy(chain);
    release(&s);
}

static void unfinished_files_are_taken_up(void **context) {
    (void)context;
    solved s = solve(43, 1, 1, false), other = solve(44, 1, 1, false);
    uint64_t bytes = s.space->n_states * (uint64_t)s.problem->layout.record_doubles * sizeof(double);
    lud_empo_solution *solution = create(&s, false);
    lud_error error = {0};
    int last = (int)solution->header->n_layers;
    assert_true(solution->header->first_level == last);
    /* the last two levels are done, then the program ends */
    uint64_t done = s.space->layer_begin[last - 2] * (uint64_t)s.problem->layout.record_doubles;
    memcpy(solution->records + done, s.records + done, bytes - done * sizeof(double));
    assert_int_equal(lud_empo_solution_finish_level(solution, last - 2, &error), LUD_OK);
    lud_empo_solution_close(solution);
    assert_int_not_equal(access(path, F_OK), 0);

    lud_empo_solution *wrong = NULL;
    assert_int_equal(lud_empo_solution_create(path, other.problem, true, &wrong, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, ".partial: belongs to another world"));
    lud_empo_problem *changed;
    lud_empo_theory warmer = theory;
    warmer.beta_h = 6;
    assert_int_equal(lud_empo_problem_create(s.space, &warmer, &changed, &error), LUD_OK);
    assert_int_equal(lud_empo_solution_create(path, changed, true, &wrong, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "other parameters"));
    lud_empo_problem_destroy(changed);

    solution = create(&s, true);
    assert_true(solution->header->first_level == last - 2);
    lud_empo_run run = {.records = solution->records, .first_level = last - 2};
    assert_int_equal(lud_empo_solve(s.problem, &run, &error), LUD_OK);
    assert_memory_equal(solution->records, s.records, bytes);
    assert_int_equal(lud_empo_solution_commit(solution, &error), LUD_OK);
    lud_empo_solution_close(solution);
    assert_int_equal(lud_empo_solution_open(path, &solution, &error), LUD_OK);
    lud_empo_solution_close(solution);

    /* without resume an unfinished file is begun anew */
    lud_empo_solution_close(create(&s, false));
    assert_int_equal(truncate(partial, 5000), 0);
    assert_int_equal(lud_empo_solution_create(path, s.problem, true, &wrong, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, ".partial: belongs to another world; remove it to start anew"));
    solution = create(&s, false);
    assert_true(solution->header->first_level == last);
    lud_empo_solution_close(solution);
    release(&s);
    release(&other);
}

/* ---- acting on it ---- */

/* The upper end of chi-square with n degrees of freedom that chance passes once in a million (Wilson and
 * Hilferty). */
static double chi_square_limit(int n) {
    double a = 2.0 / (9.0 * n);
    return n * pow(1 - a + 4.75 * sqrt(a), 3);
}

static void robots_draw_together(void **context) {
    (void)context;
    enum { N = 20000 };
    solved s = solve(51, 1, 2, false);
    write_solution(&s);
    lud_empo_solution *solution;
    lud_policy *policy[3]; /* one for everybody, and one for each robot as a cast has it */
    lud_error error = {0};
    assert_int_equal(lud_empo_solution_open(path, &solution, &error), LUD_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(lud_empo_solution_policy_create(solution, &s.m->base, &policy[i], &error), LUD_OK);
    const lud_empo_layout *layout = &s.problem->layout;
    uint32_t *tick = malloc(N * sizeof *tick);
    uint8_t *states = malloc(N * 2);
    int32_t *together = malloc(N * 3 * sizeof *together), *apart = malloc(N * 3 * sizeof *apart);
    int32_t *goals = malloc(N * 3 * sizeof *goals);
    uint64_t at = 0; /* a state in which the policy is far from even */
    double best = 0;
    for (uint64_t i = 0; i < s.space->n_states; i++)
        for (int k = 0; k < layout->n_robot_actions && !lud_statespace_terminal(s.space, i); k++) {
            double p = s.records[i * (uint64_t)layout->record_doubles + (uint64_t)(layout->pi_r + k)];
            if (p > best) at = i;
            if (p > best) best = p;
        }
    const double *record = s.records + at * (uint64_t)layout->record_doubles;
    for (int e = 0; e < N; e++) {
        tick[e] = 7;
        memcpy(states + 2 * e, s.space->states + 2 * at, 2);
        for (int i = 0; i < 3; i++) goals[3 * e + i] = i == layout->humans[0] ? 1 : -1;
    }
    lud_act act = {.model = &s.m->base,
                   .range = {.seed = 3, .n = N, .tick = tick},
                   .states = states,
                   .goals = goals,
                   .goal_stride = 3,
                   .agents = (const int[]){0, 1, 2},
                   .n_agents_acting = 3,
                   .discrete = together};
    policy[0]->kind->act(policy[0], &act);
    act.discrete = apart;
    act.n_agents_acting = 1;
    for (int i = 0; i < 3; i++) {
        act.agents = &i;
        policy[i == layout->robots[0] ? 1 : 2]->kind->act(policy[i == layout->robots[0] ? 1 : 2], &act);
    }
    assert_memory_equal(together, apart, N * 3 * sizeof *together);
    double counts[64] = {0}, people[TABLE_MAX_ACTIONS] = {0}, distance = 0, human_distance = 0;
    for (int e = 0; e < N; e++) {
        counts[lud_empo_robot_action(layout, &s.m->base, together + 3 * e)]++;
        people[together[3 * e + layout->humans[0]]]++;
    }
    for (int k = 0; k < layout->n_robot_actions; k++) {
        double expected = N * record[layout->pi_r + k];
        distance += (counts[k] - expected) * (counts[k] - expected) / expected;
    }
    int n_actions = layout->n_human_actions[0];
    for (int a = 0; a < n_actions; a++) { /* the person acts for the goal it has */
        double expected = N * record[layout->policies + n_actions + a];
        if (expected > 0)
            human_distance += (people[a] - expected) * (people[a] - expected) / expected;
        else
            assert_true(people[a] == 0);
    }
    assert_true(distance < chi_square_limit(layout->n_robot_actions - 1));
    assert_true(human_distance < chi_square_limit(n_actions - 1));

    double pi_r[64];
    lud_empo_solution_robot(policy[0], 0, s.space->states + 2 * at, pi_r);
    assert_memory_equal(pi_r, record + layout->pi_r, (size_t)layout->n_robot_actions * sizeof *pi_r);
    lud_empo_solution_robot(policy[0], 0, (const uint8_t[]){255, 255}, pi_r); /* not in the solution */
    for (int k = 0; k < layout->n_robot_actions; k++) assert_close(pi_r[k], 1.0 / layout->n_robot_actions);

    solved other = solve(52, 2, 1, false); /* the same number of agents in other roles */
    lud_policy *refused_policy;
    assert_int_equal(lud_empo_solution_policy_create(solution, &other.m->base, &refused_policy, &error),
                     LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "another world"));
    release(&other);
    lud_action_space *own = &s.m->actions[layout->humans[0]];
    own->n_discrete = 257;
    lud_empo_layout many;
    assert_int_equal(lud_empo_layout_find(&s.m->base, &many, &error), LUD_OK);
    lud_empo_header header = *solution->header;
    header.record_doubles = (uint64_t)many.record_doubles;
    header.n_policies = (uint32_t)many.policy_begin[many.n_humans];
    lud_empo_solution of_many = *solution;
    of_many.header = &header;
    assert_int_equal(lud_empo_solution_policy_create(&of_many, &s.m->base, &refused_policy, &error),
                     LUD_ERROR_UNSUPPORTED);
    assert_string_equal(error.text, "an agent has more than 256 actions");
    own->n_discrete = layout->n_human_actions[0];
    for (int i = 0; i < 3; i++) lud_policy_destroy(policy[i]);
    lud_empo_solution_close(solution);
    free(tick);
    free(states);
    free(together);
    free(apart);
    free(goals);
    release(&s);
}

/* ---- options ---- */

static lud_status read_options(lud_arena *arena, const char *text, lud_empo_exact_options *options,
                               lud_error *error) {
    lud_tree *tree;
    lud_status status = lud_tree_read_text(arena, "test.yaml", text, strlen(text), &tree, error);
    return status ? status : lud_empo_exact_read(arena, tree, options, error);
}

static void options_are_checked(void **context) {
    (void)context;
    static const char *const wrong[][2] = {
        {"type: mappo", "learner of type mappo"},
        {"{type: empo-exact, beta_h: -1}", "beta_h"},
        {"{type: empo-exact, zeta: 0.5}", "zeta"},
        {"{type: empo-exact, gamma_h: 0.9, rho_h: 0.1}", "rho_h"},
        {"{type: empo-exact, nu_h: 0.2}", "no `habit:`"},
        {"{type: empo-exact, beta_e: 2}", "did you mean"},
        {"{type: empo-exact, aggregate: median}", "aggregate"},
    };
    lud_arena *arena = lud_arena_create(0);
    lud_empo_exact_options options;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        lud_error error = {0};
        assert_int_equal(read_options(arena, wrong[i][0], &options, &error), LUD_ERROR_INPUT);
        if (!strstr(error.text, wrong[i][1]) || !strstr(error.text, "test.yaml"))
            fail_msg("%s: '%s'", wrong[i][0], error.text);
    }
    lud_error error = {0};
    /* another learner's section gives its theory and nothing else */
    assert_int_equal(read_options(arena,
                                  "{type: empo-neural, beta_r: 7, hidden: 12, nu_h: 0.5, habit: random}",
                                  &options, &error),
                     LUD_OK);
    assert_true(options.theory.beta_r == 7 && options.theory.nu_h == 0.5 && options.habit);
    assert_int_equal(read_options(arena, "{type: empo-exact, rho_r: 0.1, beta_h: .inf}", &options, &error),
                     LUD_OK);
    assert_close(options.theory.gamma_r, exp(-0.1));
    assert_true(isinf(options.theory.beta_h));
    assert_int_equal(lud_empo_exact_read(arena, NULL, &options, &error), LUD_OK);
    assert_true(options.theory.beta_r == 10 && !options.habit && !options.belief);
    lud_arena_destroy(arena);
}

/* Hooks made of ordinary policies give their distributions: here the uniform one, which as a belief is the
 * default and as habit and robot policy has the value that the theory gives it. */
static void policies_become_hooks(void **context) {
    (void)context;
    solved s = solve(61, 2, 1, false);
    const lud_empo_layout *layout = &s.problem->layout;
    lud_arena *arena = lud_arena_create(0);
    lud_error error = {0};
    lud_tree *tree;
    lud_policy *uniform;
    assert_int_equal(lud_tree_read_text(arena, "test", "random", 6, &tree, &error), LUD_OK);
    assert_int_equal(lud_policy_create(&s.m->base, tree, "test", &uniform, &error), LUD_OK);
    lud_empo_policies policies = {
        .model = &s.m->base, .layout = *layout, .habit = uniform, .belief = uniform, .robot = uniform};
    lud_empo_hooks hooks;
    lud_empo_policies_hook(&policies, &hooks);
    double row[256];
    for (int h = 0; h < layout->n_humans; h++)
        for (int a = 0; a < layout->n_human_actions[h]; a++) {
            double total = 0;
            hooks.belief(hooks.context, s.space->states, h, a, row);
            for (int profile = 0; profile < layout->n_human_profiles; profile++) {
                bool own = lud_empo_own_action(layout, h, profile) == a;
                assert_close(row[profile], own ? 1.0 / layout->n_human_actions[1 - h] : 0);
                total += row[profile];
            }
            assert_close(total, 1);
        }
    hooks.habit(hooks.context, 0, s.space->states, row);
    for (int i = 0; i < layout->policy_begin[layout->n_humans]; i++) assert_close(row[i], 1.0 / 3);
    hooks.robot(hooks.context, 0, s.space->states, row);
    for (int k = 0; k < layout->n_robot_actions; k++) assert_close(row[k], 1.0 / 3);

    /* as a belief it changes nothing */
    double *records = calloc(s.space->n_states * (uint64_t)layout->record_doubles, sizeof *records);
    policies.habit = policies.robot = NULL;
    lud_empo_policies_hook(&policies, &hooks);
    assert_null(hooks.habit);
    assert_null(hooks.robot);
    lud_empo_run run = {.records = records, .hooks = &hooks, .first_level = INT32_MAX};
    assert_int_equal(lud_empo_solve(s.problem, &run, &error), LUD_OK);
    for (uint64_t i = 0; i < s.space->n_states * (uint64_t)layout->record_doubles; i++)
        assert_close(records[i], s.records[i]);
    free(records);
    lud_policy_destroy(uniform);
    lud_arena_destroy(arena);
    release(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chain_is_the_policies_product),
        cmocka_unit_test(values_and_visits),
        cmocka_unit_test(drn_reads_back),
        cmocka_unit_test(prism_reads_back),
        cmocka_unit_test(tables_and_drawings),
        cmocka_unit_test(file_keeps_everything),
        cmocka_unit_test(damaged_files_are_refused),
        cmocka_unit_test(failing_disks_are_told),
        cmocka_unit_test(full_exports_are_told),
        cmocka_unit_test(unfinished_files_are_taken_up),
        cmocka_unit_test(robots_draw_together),
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(policies_become_hooks),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
