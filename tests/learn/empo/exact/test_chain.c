/* The Markov chain of an exact solution, and what is written for other programs. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "learn/empo/exact/chain.h"
#include "learn/empo/exact/support_solved.h"

static lud_empo_chain *chain_of(const support_solved *s) {
    lud_empo_chain *chain;
    lud_error error = {0};
    if (lud_empo_chain_create(s->problem, s->records, &chain, &error)) fail_msg("%s", error.text);
    return chain;
}

/* P(to|from) from the table and the records, one joint action after another. */
static double naive_probability(const support_solved *s, uint64_t from, uint64_t to) {
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
        support_solved s = support_solve(8 + (uint64_t)skips, 1 + skips, 2 - skips, skips);
        lud_empo_chain *chain = chain_of(&s);
        uint64_t n = chain->n_states;
        for (uint64_t from = 0; from < n; from++) {
            double total = 0;
            uint64_t i = chain->begin[from];
            for (uint64_t to = 0; to < n; to++) {
                double expected = naive_probability(&s, from, to), got = 0;
                if (i < chain->begin[from + 1] && chain->successor[i] == to) got = chain->probability[i++];
                support_assert_close(got, expected);
                total += got;
            }
            assert_true(i == chain->begin[from + 1]); /* ascending, each once */
            support_assert_close(total, lud_statespace_terminal(s.space, from) ? 0 : 1);
        }
        lud_empo_chain_destroy(chain);
        support_release(&s);
    }
}

static void values_and_visits(void **context) {
    (void)context;
    enum { VECTORS = 2 };
    support_solved s = support_solve(21, 2, 1, false);
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
            support_assert_close(values[from * VECTORS + (uint64_t)j], naive[from]);
    }
    const uint32_t start = 0;
    for (uint64_t i = 0; i < n; i++) visits[i] = -1; /* whatever was there before */
    assert_int_equal(lud_empo_visits(s.problem, s.records, &start, 1, visits, &error), LUD_OK);
    double ended = 0;
    for (int layer = 0; layer < s.space->n_layers; layer++) {
        double sum = 0, ends = 0;
        for (uint64_t i = s.space->layer_begin[layer]; i < s.space->layer_begin[layer + 1]; i++) {
            sum += visits[i];
            if (lud_statespace_terminal(s.space, i)) ends += visits[i];
        }
        support_assert_close(sum + ended, 1); /* whoever has not ended is here */
        ended += ends;
    }
    support_assert_close(ended, 1);
    /* the expected discounted reward is the same counted from the start or by visits */
    double by_visits = 0, factor = 1;
    for (int layer = 0; layer < s.space->n_layers; layer++, factor *= gamma)
        for (uint64_t i = s.space->layer_begin[layer]; i < s.space->layer_begin[layer + 1]; i++)
            by_visits += factor * visits[i] * rewards[i * VECTORS];
    support_assert_close(values[0], by_visits);
    free(rewards);
    free(values);
    free(visits);
    free(naive);
    lud_empo_chain_destroy(chain);
    support_release(&s);
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
    support_solved s = support_solve(33, 1, 2, false);
    lud_empo_chain *chain = chain_of(&s);
    const lud_empo_layout *layout = &s.problem->layout;
    lud_error error = {0};
    FILE *out = tmpfile();
    assert_int_equal(lud_empo_chain_write_drn(chain, s.records, out, &error), LUD_OK);
    drn d = read_drn(out);
    assert_false(d.is_mdp);
    assert_true(d.n_states == chain->n_states && d.n_choices == chain->n_states);
    for (uint64_t i = 0; i < d.n_states; i++) {
        support_assert_close(d.total[i], 1);
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
    for (uint64_t i = 0; i < d.n_choices; i++) support_assert_close(d.total[i], 1);
    for (uint64_t i = 0; i < d.n_states; i++) {
        int number = s.space->states[2 * i] | s.space->states[2 * i + 1] << 8;
        lud_statespace_row row = lud_statespace_get_row(s.space, i, 0);
        for (uint32_t k = 0; k < row.n; k++)
            assert_true(d.first[i * d.n_states + row.successor[k]] == s.m->probability[number][0][k]);
    }
    free_drn(&d);
    fclose(out);
    lud_empo_chain_destroy(chain);
    support_release(&s);
}

static void prism_reads_back(void **context) {
    (void)context;
    support_solved s = support_solve(34, 2, 1, true);
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
        support_assert_close(total[i], 1);
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
    /* every label by its declared number: each state has those that it should have and no other */
    enum { MOST_LABELS = 3 + TABLE_MAX_AGENTS * TABLE_MAX_GOALS };
    char names[MOST_LABELS][32] = {{0}};
    int n_labels = 0;
    assert_non_null(fgets(line, sizeof line, lab));
    for (char *word = strtok(line, " \n"); word; word = strtok(NULL, " \n"), n_labels++) {
        char name[32];
        assert_int_equal(sscanf(word, "%llu=\"%31[^\"]", &from, name), 2);
        assert_true(from < MOST_LABELS && !*names[from]);
        memcpy(names[from], name, sizeof name);
    }
    assert_int_equal(n_labels, 3 + layout->n_goals);
    assert_string_equal(names[0], "init");
    assert_string_equal(names[1], "deadlock");
    assert_string_equal(names[2], "terminal");
    bool(*has)[MOST_LABELS] = calloc(n, sizeof *has);
    while (fgets(line, sizeof line, lab)) {
        char *rest;
        from = strtoull(line, &rest, 10);
        assert_true(*rest == ':' && from < n);
        for (char *word = strtok(rest + 1, " \n"); word; word = strtok(NULL, " \n")) {
            const int label = atoi(word);
            assert_in_range(label, 0, n_labels - 1);
            has[from][label] = true;
        }
    }
    for (uint64_t i = 0; i < n; i++) {
        const int number = s.space->states[2 * i] | s.space->states[2 * i + 1] << 8;
        assert_true(has[i][0] == (i == 0) && !has[i][1] && has[i][2] == lud_statespace_terminal(s.space, i));
        for (int label = 3; label < n_labels; label++) {
            int agent, goal;
            assert_int_equal(sscanf(names[label], "agent%d_goal%d", &agent, &goal), 2);
            assert_true(lud_empo_person_of(layout, agent) >= 0 && goal < s.m->n_goals);
            assert_true(has[i][label] == s.m->achieved[number][agent][goal]);
        }
    }
    free(has);
    free(total);
    free(matrix);
    fclose(tra);
    fclose(sta);
    fclose(lab);
    fclose(srew);
    lud_empo_chain_destroy(chain);
    support_release(&s);
}

static void tables_and_drawings(void **context) {
    (void)context;
    support_solved s = support_solve(35, 1, 1, false);
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
    const struct {
        const char *name;
        int at, n;
    } parts[] = {{"X", s.problem->layout.x_h, s.problem->layout.n_humans},
                 {"V_e", s.problem->layout.v_h_e, s.problem->layout.n_goals},
                 {"V_m", s.problem->layout.v_h_m, s.problem->layout.n_goals},
                 {"Q_r", s.problem->layout.q_r, s.problem->layout.n_robot_actions},
                 {"pi_r", s.problem->layout.pi_r, s.problem->layout.n_robot_actions}};
    char *names[256];
    int n_names = 0;
    for (char *word = strtok(line, ",\n"); word; word = strtok(NULL, ",\n")) names[n_names++] = word;
    assert_string_equal(names[3 + s.problem->layout.v_r], "V_r");
    assert_string_equal(names[3 + s.problem->layout.u_r], "U_r");
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
        for (int i = 0; i < parts[k].n; i++) {
            char name[32];
            snprintf(name, sizeof name, "%s_%d", parts[k].name, i);
            assert_string_equal(names[3 + parts[k].at + i], name);
        }
    for (uint64_t i = 0; i < s.space->n_states; i++) {
        assert_non_null(fgets(line, sizeof line, out));
        const double *record = s.records + i * (uint64_t)s.problem->layout.record_doubles;
        char *at = line;
        for (int c = 0; c < columns; c++) {
            double value = strtod(at, &at);
            assert_true(*at == (c == columns - 1 ? '\n' : ','));
            at++;
            if (c == 0) assert_true(value == (double)i);
            if (c == 1) {
                const int layer = (int)value;
                assert_true(value == layer && layer >= 0 && layer < s.space->n_layers);
                assert_true(i >= s.space->layer_begin[layer] && i < s.space->layer_begin[layer + 1]);
            }
            if (c == 2) assert_true(value == lud_statespace_terminal(s.space, i));
            if (c >= 3) assert_true(value == record[c - 3]);
        }
    }
    assert_null(fgets(line, sizeof line, out));
    fclose(out);
    out = tmpfile();
    const uint64_t n = chain->n_states; /* so many are not too many, and one less is */
    assert_int_equal(lud_empo_chain_write_dot(chain, s.records, n - 1, out, &error), LUD_ERROR_LIMIT);
    assert_int_equal(lud_empo_chain_write_dot(chain, s.records, n, out, &error), LUD_OK);
    rewind(out);
    uint64_t edges = 0, nodes = 0;
    while (fgets(line, sizeof line, out)) {
        unsigned long long state;
        edges += strstr(line, "->") != NULL;
        if (!strstr(line, "V_r")) continue;
        assert_int_equal(sscanf(line, " s%llu [", &state), 1);
        assert_true(state == nodes++);
        assert_true((strstr(line, "penwidth=2") != NULL) == (state == 0)); /* where it begins, */
        assert_true((strstr(line, "#8A8F98") != NULL) ==
                    lud_statespace_terminal(s.space, state)); /* and ends */
    }
    assert_true(edges == chain->n_entries && nodes == chain->n_states);
    fclose(out);
    lud_empo_chain_destroy(chain);
    support_release(&s);
}

/* Exports to a disk that is full. */
static void full_exports_are_told(void **context) {
    (void)context;
    if (access("/dev/full", W_OK)) skip();
    static const char message[] = "cannot write the export: No space left on device";
    support_solved s = support_solve(46, 1, 1, false);
    lud_empo_chain *chain = chain_of(&s);
    lud_error error = {0};
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
    for (int full = 0; full < 4; full++) { /* of PRISM's four any one */
        FILE *out[4];
        for (int i = 0; i < 4; i++) {
            out[i] = i == full ? fopen("/dev/full", "w") : tmpfile();
            assert_non_null(out[i]);
        }
        assert_int_equal(lud_empo_chain_write_prism(chain, s.records, out[0], out[1], out[2], out[3], &error),
                         LUD_ERROR_IO);
        for (int i = 0; i < 4; i++) fclose(out[i]);
    }
    lud_empo_chain_destroy(chain);
    support_release(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chain_is_the_policies_product),
        cmocka_unit_test(values_and_visits),
        cmocka_unit_test(drn_reads_back),
        cmocka_unit_test(prism_reads_back),
        cmocka_unit_test(tables_and_drawings),
        cmocka_unit_test(full_exports_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
