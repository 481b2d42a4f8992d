/* Every learner on CUDA from its creation to a checkpoint: near the CPU's training, equal to itself after
 * resuming, a policy that acts. Runs on a GPU where there is one, and in any case as
 * `test_cuda_learners_emulated` on tests/emulation. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "learn/empo/phase2/phase2.h"
#include "learn/mappo/mappo.h"
#include "learn/proof_ppo/proof_ppo.h"
#include "learn/support_calls.h"
#include "learn/support_trainings.h"

static bool have_cuda, emulated;

static int look_for_cuda(void **state) {
    (void)state;
    have_cuda = support_has_cuda();
    emulated = getenv("LUDUS_CUDA_MODULE") != NULL;
    return !have_cuda && emulated ? -1 : 0; /* asked for and not there */
}

static double element(const lud_tensor *t, size_t i) {
    if (t->type == LUD_TENSOR_F32) return (double)((const float *)t->data)[i];
    return ((const double *)t->data)[i];
}

/* States and observations of worlds that a GPU steps: numbers, whose last bit may be its own. */
static bool is_of_worlds(const char *name) {
    return !strcmp(name, "mappo.worlds") || !strncmp(name, "mappo.observation", 17);
}

/* Tensors of numbers are near, everything else (environments, counters, what was drawn) is equal where
 * actions are discrete. */
static void near(const support_training *t, lud_checkpoint *a, lud_checkpoint *b) {
    assert_int_equal(lud_checkpoint_n_tensors(a), lud_checkpoint_n_tensors(b));
    for (int k = 0; k < lud_checkpoint_n_tensors(a); k++) {
        const lud_tensor *x = lud_checkpoint_get(a, k), *y = lud_checkpoint_find(b, x->name);
        assert_non_null(y);
        assert_int_equal(x->bytes, y->bytes);
        if (strstr(x->name, "seconds")) continue;
        if (x->type != LUD_TENSOR_F32 && x->type != LUD_TENSOR_F64) {
            if (!t->continuous && (emulated || !is_of_worlds(x->name)) &&
                memcmp(x->data, y->data, x->bytes) != 0)
                fail_msg("%s: %s differs", t->name, x->name);
            continue;
        }
        double largest = 1e-2;
        const size_t n = x->bytes / (x->type == LUD_TENSOR_F32 ? 4 : 8);
        for (size_t i = 0; i < n; i++) largest = fmax(largest, fabs(element(y, i)));
        for (size_t i = 0; i < n; i++)
            if (!(fabs(element(x, i) - element(y, i)) <= t->tolerance * largest))
                fail_msg("%s: %s[%zu]: %.9g, on the CPU %.9g", t->name, x->name, i, element(x, i),
                         element(y, i));
    }
}

static void same(const char *name, const char *what, lud_checkpoint *a, lud_checkpoint *b) {
    for (int i = 0; i < lud_checkpoint_n_tensors(a); i++) {
        const lud_tensor *x = lud_checkpoint_get(a, i), *y = lud_checkpoint_find(b, x->name);
        if (strstr(x->name, "seconds")) continue;
        assert_non_null(y);
        assert_int_equal(x->bytes, y->bytes);
        if (memcmp(x->data, y->data, x->bytes) != 0) fail_msg("%s: %s differs %s", name, x->name, what);
    }
}

static void rows_near(const support_training *t, const lud_metric *columns, int n, const double *a,
                      const double *b) {
    for (int i = 0; i < n; i++) {
        if (strstr(columns[i].name, "second") || strstr(columns[i].name, "speed") ||
            strstr(columns[i].name, "per_s") || strstr(columns[i].name, "time"))
            continue;
        if (isnan(a[i]) && isnan(b[i])) continue;
        if (!(fabs(a[i] - b[i]) <= t->tolerance * fmax(1.0, fabs(b[i]))))
            fail_msg("%s: %s is %.9g, on the CPU %.9g", t->name, columns[i].name, a[i], b[i]);
    }
}

static void the_first_iteration_is_near(void **state) {
    (void)state;
    if (!have_cuda) skip();
    for (int k = 0; k < n_support_trainings; k++) {
        const support_training *t = &support_trainings[k];
        support_bed a = support_bed_open(t, "cuda", 0), b = support_bed_open(t, "cpu", 1);
        double x[128], y[128];
        assert_in_range(a.learner->n_columns, 1, 128);
        support_bed_iterate(t, &a, x);
        support_bed_iterate(t, &b, y);
        rows_near(t, a.learner->columns, a.learner->n_columns, x, y);
        lud_checkpoint *of_a = support_bed_save(&a), *of_b = support_bed_save(&b);
        near(t, of_a, of_b);
        lud_checkpoint_destroy(of_a);
        lud_checkpoint_destroy(of_b);
        if (a.learner->kind->evaluate) {
            lud_error error = {0};
            if (a.learner->kind->evaluate(a.learner, x, &error)) fail_msg("%s: %s", t->name, error.text);
            if (b.learner->kind->evaluate(b.learner, y, &error)) fail_msg("%s: %s", t->name, error.text);
            rows_near(t, a.learner->evaluation_columns, a.learner->n_evaluation_columns, x, y);
        }
        support_bed_close(&a);
        support_bed_close(&b);
    }
}

/* The same, and gives both back. */
static void same_bytes(const char *name, lud_checkpoint *a, lud_checkpoint *b, const char *when) {
    same(name, when, a, b);
    lud_checkpoint_destroy(a);
    lud_checkpoint_destroy(b);
}

/* Training to the end, and the same with a checkpoint in between that another device continues: the same
 * bytes. */
static void resuming_changes_nothing(void **state) {
    (void)state;
    if (!have_cuda) skip();
    char folder[] = "/tmp/cuda_learners_XXXXXX", path[64], previous[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a.safetensors", folder);
    snprintf(previous, sizeof previous, "%s/a.previous.safetensors", folder);
    for (int k = 0; k < n_support_trainings; k++) {
        const support_training *t = &support_trainings[k];
        lud_error error = {0};
        double row[128];
        support_bed whole = support_bed_open(t, "cuda", 0), half = support_bed_open(t, "cuda", 0),
                    rest = support_bed_open(t, "cuda", 0);
        const uint64_t n = whole.learner->n_iterations;
        assert_in_range(n, 2, 100);
        for (uint64_t i = 0; i < n; i++) support_bed_iterate(t, &whole, row);
        for (uint64_t i = 0; i < n / 2; i++) support_bed_iterate(t, &half, row);
        lud_checkpoint *saved = support_bed_save(&half), *loaded = NULL;
        if (lud_checkpoint_write(saved, path, &error)) fail_msg("%s", error.text);
        lud_checkpoint_destroy(saved);
        support_bed_close(&half);
        if (lud_checkpoint_open(path, &loaded, &error)) fail_msg("%s", error.text);
        rest.learner->kind->visit(rest.learner, loaded);
        if (lud_checkpoint_status(loaded, &error)) fail_msg("%s: %s", t->name, error.text);
        lud_checkpoint_destroy(loaded);
        for (uint64_t i = n / 2; i < n; i++) support_bed_iterate(t, &rest, row);
        same_bytes(t->name, support_bed_save(&whole), support_bed_save(&rest), "after resuming");
        support_bed_close(&whole);
        support_bed_close(&rest);
    }
    remove(path);
    remove(previous);
    assert_int_equal(remove(folder), 0);
}

/* Training of graph MAPPO from recorded graphs and with the same operations called one by one: the same
 * bytes.
 */
static void recorded_training_is_the_same(void **state) {
    (void)state;
    if (!have_cuda) skip();
    for (int k = 0; k < n_support_trainings; k++) {
        const support_training *t = &support_trainings[k];
        if (strncmp(t->name, "mappo", 5) != 0) continue;
        lud_checkpoint *saved[2];
        for (int plain = 0; plain < 2; plain++) {
            double row[128];
            support_bed b = support_bed_open(t, "cuda", 0);
            lud_mappo_learner_state *m = (lud_mappo_learner_state *)b.learner;
            lud_mappo_device_rollout *r = m->device_rollout;
            lud_capture *const pieces[] = {
                &m->groups[0].ppo.core.stepping, r ? &r->stepping : &m->groups[0].rollout->acting,
                r ? &r->ending : &m->groups[0].rollout->valuing, &m->groups[0].ppo.adding};
            for (int i = 0; i < 4; i++) pieces[i]->never = plain;
            m->groups[0].rollout->valuing.never = plain; /* values of what was seen last */
            for (uint64_t i = 0; i < b.learner->n_iterations; i++) support_bed_iterate(t, &b, row);
            for (int i = 0; i < 4; i++) {
                if (plain) assert_int_equal(pieces[i]->runs, 0);
                /* steps of the optimiser and of rollouts have one shape throughout, however many edges there
                 * are */
                if (!plain && (i == 0 || (i < 3 && r)))
                    assert_int_equal(pieces[i]->n_replayed, pieces[i]->runs - 1);
            }
            assert_non_null(r); /* these worlds step on the device */
            if (!plain)
                assert_int_equal(r->stepping.runs,
                                 b.learner->n_iterations * (uint64_t)m->training.buffer.n_steps);
            saved[plain] = support_bed_save(&b);
            support_bed_close(&b);
        }
        same_bytes(t->name, saved[0], saved[1], "when it is recorded");
    }
}

/* A training whose rollouts the device makes alone, all environments at once or one after the other, against
 * the same with the host between any two pieces of work. On a GPU the last bits of states are its own. */
static void rollouts_are_those_of_the_host(void **state) {
    (void)state;
    if (!have_cuda) skip();
    int n = 0;
    for (int k = 0; k < n_support_trainings; k++) {
        const support_training *t = &support_trainings[k];
        if (strncmp(t->name, "mappo", 5) != 0) continue;
        lud_checkpoint *saved[3];
        double rows[3][128];
        const lud_metric *columns = NULL;
        int n_columns = 0;
        for (int way = 0; way < 3; way++) {
            support_bed b = support_bed_open(t, "cuda", 0);
            lud_mappo_learner_state *m = (lud_mappo_learner_state *)b.learner;
            lud_error error = {0};
            assert_non_null(m->device_rollout);
            assert_int_equal(m->slice_envs, m->training.batch->n_envs);
            if (way > 0) lud_mappo_device_rollout_destroy(m->device_rollout);
            if (way == 1) m->device_rollout = NULL;
            if (way == 2)
                assert_int_equal(lud_mappo_device_rollout_create(m->groups[0].rollout, &m->training.buffer,
                                                                 m->training.batch, m->slice_envs - 1,
                                                                 &m->device_rollout, &error),
                                 LUD_OK);
            const uint64_t last = emulated ? b.learner->n_iterations : 1;
            for (uint64_t i = 0; i < last; i++) support_bed_iterate(t, &b, rows[way]);
            columns = b.learner->columns;
            n_columns = b.learner->n_columns;
            rows_near(t, columns, n_columns, rows[0], rows[way]);
            saved[way] = support_bed_save(&b);
            support_bed_close(&b);
        }
        for (int way = 1; way < 3 && emulated; way++)
            same(t->name, way == 1 ? "on the host" : "in slices", saved[0], saved[way]);
        for (int way = 1; way < 3 && !emulated; way++) near(t, saved[0], saved[way]);
        for (int way = 0; way < 3; way++) lud_checkpoint_destroy(saved[way]);
        n++;
    }
    assert_int_equal(n, 9);
}

/* Minibatches drawn from a rollout have graphs with different numbers of edges: their gradients are one
 * record, or a few. */
static void slices_with_other_edges_are_replayed(void **state) {
    (void)state;
    if (!have_cuda) skip();
    for (int k = 0; k < n_support_trainings; k++) {
        support_training t = support_trainings[k];
        if (strcmp(t.name, "mappo, discrete") != 0) continue;
        t.set[0] = "learner.epochs=6";
        support_bed b = support_bed_open(&t, "cuda", 0);
        double row[128];
        for (uint64_t i = 0; i < b.learner->n_iterations; i++) support_bed_iterate(&t, &b, row);
        const lud_capture *adding = &((lud_mappo_learner_state *)b.learner)->groups[0].ppo.adding;
        assert_int_equal(adding->runs, 24);
        assert_in_range(adding->n_replayed, 14, 22);
        support_bed_close(&b);
        return;
    }
    fail();
}

/* Whether a training is of EMPO's phase 2 with updates from a replay memory (states that were met are
 * fitted to, which is not recorded). */
static bool learns_from_replay(const support_training *t) {
    return strncmp(t->name, "empo", 4) == 0 && !strstr(t->name, "people alone") &&
           !strstr(t->name, "states met");
}

/* The same of EMPO's phase 2, whose batches have other numbers of successors in every update. */
static void recorded_values_are_the_same(void **state) {
    (void)state;
    if (!have_cuda) skip();
    /* rates, exponents and limits of gradients change in nearly every update */
    static const char *const longer[] = {"learner.num_training_steps=40", "learner.updates_per_iteration=20",
                                         "learner.beta_r_rampup_steps=8", "learner.lr_constant_fraction=0.4"};
    for (int k = 0; k < n_support_trainings; k++) {
        support_training t = support_trainings[k];
        if (!learns_from_replay(&t)) continue;
        int n_set = 0;
        while (t.set[n_set]) n_set++;
        for (int i = 0; i < 4; i++) t.set[n_set++] = longer[i];
        lud_checkpoint *saved[2];
        for (int plain = 0; plain < 2; plain++) {
            double row[128];
            support_bed b = support_bed_open(&t, "cuda", 0);
            lud_empo_phase2_learner *p = (lud_empo_phase2_learner *)b.learner;
            p->values.capture.never = plain;
            for (uint64_t i = 0; i < b.learner->n_iterations; i++) support_bed_iterate(&t, &b, row);
            const lud_empo_update_figures figures = lud_empo_update_get(p->update);
            assert_int_equal(figures.n, plain ? 0 : 40);
            if (plain) assert_int_equal(p->values.capture.runs, 0);
            /* the rest: the first time with a size, and with each stage's networks */
            if (!plain && figures.n_replayed * 100 < figures.n * 50)
                fail_msg("%s: %lu of %lu updates were replayed", t.name, (unsigned long)figures.n_replayed,
                         (unsigned long)figures.n);
            if (!plain && p->values.capture.n_replayed * 100 < p->values.capture.runs * 75)
                fail_msg("%s: %lu of %lu evaluations were replayed", t.name,
                         (unsigned long)p->values.capture.n_replayed, (unsigned long)p->values.capture.runs);
            saved[plain] = support_bed_save(&b);
            support_bed_close(&b);
        }
        same_bytes(t.name, saved[0], saved[1], "when it is recorded");
    }
}

/* In the steady state an update of EMPO's phase 2 is one upload, beside those of tables, one replay and
 * nothing else that the device works on, whatever the schedules say. */
static void an_update_is_one_replay(void **state) {
    (void)state;
    if (!have_cuda) skip();
    for (int k = 0; k < n_support_trainings; k++) {
        const support_training *t = &support_trainings[k];
        if (!learns_from_replay(t)) continue;
        double row[128];
        support_bed b = support_bed_open(t, "cuda", 0);
        lud_empo_phase2_learner *p = (lud_empo_phase2_learner *)b.learner;
        for (uint64_t i = 0; i < b.learner->n_iterations; i++) support_bed_iterate(t, &b, row);
        int n_tables = 0;
        for (int net = 0; net < LUD_EMPO_NETS; net++) n_tables += p->values.tables[net] != NULL;
        lud_empo_now now = lud_empo_stages_at(&p->options.stages, p->options.stages.total);
        for (int i = 0; i < 8; i++) {
            /* the same batch again and again: known sizes, from the third time on a record */
            lud_error error = {0};
            support_calls calls = {0};
            const lud_empo_update_figures before = lud_empo_update_get(p->update);
            if (i >= 2) support_calls_begin(b.device);
            const lud_status status = lud_empo_update_run(p->update, 1000, &now, i % 2, &error);
            if (i >= 2) calls = support_calls_end(b.device);
            if (status) fail_msg("%s: %s", t->name, error.text);
            const lud_empo_update_figures after = lud_empo_update_get(p->update);
            assert_int_equal(after.n - before.n, 1);
            if (i >= 2) {
                assert_int_equal(after.n_replayed - before.n_replayed, 1);
                assert_int_equal(calls.launches, 1);
                assert_int_equal(calls.others, 0);
                assert_int_equal(calls.uploads, 1 + n_tables); /* what is read of each goes by itself */
            }
            now.beta_r *= 1.5;
            now.gamma_h *= 0.9;
            now.gamma_r *= 0.9;
            for (int net = 0; net < LUD_EMPO_NETS; net++) {
                now.lr[net] *= 0.7;
                now.clip[net] *= 0.7;
            }
        }
        support_bed_close(&b);
    }
}

/* The same of proofs, whose batches have other numbers of states in every step. */
static void recorded_proofs_are_the_same(void **state) {
    (void)state;
    if (!have_cuda) skip();
    for (int k = 0; k < n_support_trainings; k++) {
        support_training t = support_trainings[k];
        if (strcmp(t.name, "proof") != 0) continue;
        int n_set = 0;
        while (t.set[n_set]) n_set++;
        t.set[n_set++] = "learner.total_steps=512";
        t.set[n_set++] = "learner.chunk_rows=160";                             /* some batches take several */
        t.set[n_set++] = "learner.learning_rate={start: 0.001, value: 0.002}"; /* two groups of steps */
        lud_checkpoint *saved[2];
        for (int plain = 0; plain < 2; plain++) {
            double row[128];
            support_bed b = support_bed_open(&t, "cuda", 0);
            lud_proof_ppo_never_record(b.learner, plain);
            for (uint64_t i = 0; i < b.learner->n_iterations; i++) support_bed_iterate(&t, &b, row);
            uint64_t n, n_replayed;
            lud_proof_ppo_pieces(b.learner, &n, &n_replayed);
            if (plain) assert_int_equal(n, 0);
            /* the rest: the first time with a size, of which small batches have many */
            if (!plain && n_replayed * 100 < n * 40)
                fail_msg("%lu of %lu pieces were replayed", (unsigned long)n_replayed, (unsigned long)n);
            saved[plain] = support_bed_save(&b);
            support_bed_close(&b);
        }
        same_bytes(t.name, saved[0], saved[1], "when it is recorded");
    }
}

/* A step of a rollout is one piece of device work, and so are the values behind the last. */
static void a_step_of_proofs_is_one_piece(void **state) {
    (void)state;
    if (!have_cuda) skip();
    for (int k = 0; k < n_support_trainings; k++) {
        const support_training *t = &support_trainings[k];
        if (strcmp(t->name, "proof") != 0) continue;
        support_bed b = support_bed_open(t, "cuda", 0);
        uint64_t n, n_replayed;
        lud_proof_ppo_rollout(b.learner);
        lud_proof_ppo_pieces(b.learner, &n, &n_replayed);
        assert_int_equal(n, lud_proof_ppo_get_options(b.learner)->n_steps + 1);
        support_bed_close(&b);
    }
}

static void sizes_recur(void **state) {
    (void)state;
    if (!have_cuda) skip();
    static const int64_t given[] = {0, 1, 7, 8, 9, 511, 512, 513, 641, 897},
                         rows[] = {0, 1, 7, 8, 10, 512, 512, 640, 768, 1024};
    lud_error error = {0};
    lud_device *cuda, *cpu;
    if (lud_device_open("cuda", 0, &cuda, &error) || lud_device_open("cpu", 1, &cpu, &error))
        fail_msg("%s", error.text);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(lud_capture_rows(cuda, given[i]), rows[i]);
        assert_int_equal(lud_capture_rows(cpu, given[i]), given[i]);
    }
    lud_device_close(cuda);
    lud_device_close(cpu);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_first_iteration_is_near),
                                       cmocka_unit_test(rollouts_are_those_of_the_host),
                                       cmocka_unit_test(recorded_training_is_the_same),
                                       cmocka_unit_test(slices_with_other_edges_are_replayed),
                                       cmocka_unit_test(recorded_values_are_the_same),
                                       cmocka_unit_test(an_update_is_one_replay),
                                       cmocka_unit_test(recorded_proofs_are_the_same),
                                       cmocka_unit_test(a_step_of_proofs_is_one_piece),
                                       cmocka_unit_test(sizes_recur),
                                       cmocka_unit_test(resuming_changes_nothing)};
    return cmocka_run_group_tests(tests, look_for_cuda, NULL);
}
