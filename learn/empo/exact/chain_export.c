#include <errno.h>
#include <string.h>

#include "learn/empo/exact/chain.h"

/* Streams keep their own error flag, so writers print without checks and ask once at the end. */
static lud_status written(FILE *out, lud_error *error) {
    if (fflush(out) == 0 && !ferror(out)) return LUD_OK;
    return lud_fail(error, LUD_ERROR_IO, "cannot write the export: %s", strerror(errno));
}

static const uint8_t *state_of(const lud_empo_problem *problem, uint64_t s) {
    return problem->space->states + s * problem->space->state_bytes;
}

static void write_labels(const lud_empo_problem *problem, uint64_t s, FILE *out) {
    const lud_empo_layout *layout = &problem->layout;
    const lud_model *model = problem->space->model;
    if (s == 0) fprintf(out, " init");
    if (lud_statespace_terminal(problem->space, s)) fprintf(out, " terminal");
    for (int h = 0; h < layout->n_humans; h++)
        for (int g = 0; g < lud_empo_goals_of(layout, h); g++)
            if (model->world->achieved(model, state_of(problem, s), layout->humans[h], g))
                fprintf(out, " agent%d_goal%d", layout->humans[h], g);
}

lud_status lud_empo_chain_write_drn(const lud_empo_chain *chain, const double *records, FILE *out,
                                    lud_error *error) {
    const lud_empo_layout *layout = &chain->problem->layout;
    fprintf(out,
            "// Markov chain of an EMPO solution, written by ludus\n@type: "
            "DTMC\n@parameters\n\n@reward_models\nU_r\n"
            "@nr_states\n%llu\n@nr_choices\n%llu\n@model\n",
            (unsigned long long)chain->n_states, (unsigned long long)chain->n_states);
    for (uint64_t s = 0; s < chain->n_states; s++) {
        fprintf(out, "state %llu [%.17g]", (unsigned long long)s,
                records[s * (uint64_t)layout->record_doubles + (uint64_t)layout->u_r]);
        write_labels(chain->problem, s, out);
        fprintf(out, "\n\taction 0\n");
        for (uint64_t i = chain->begin[s]; i < chain->begin[s + 1]; i++)
            fprintf(out, "\t\t%u : %.17g\n", chain->successor[i], chain->probability[i]);
        if (chain->begin[s] == chain->begin[s + 1]) fprintf(out, "\t\t%llu : 1\n", (unsigned long long)s);
    }
    return written(out, error);
}

lud_status lud_empo_graph_write_drn(const lud_empo_problem *problem, FILE *out, lud_error *error) {
    const lud_statespace *space = problem->space;
    uint64_t n_terminal = 0;
    for (uint64_t s = 0; s < space->n_states; s++) n_terminal += lud_statespace_terminal(space, s);
    uint64_t n_choices = (space->n_states - n_terminal) * (uint64_t)space->n_joint_actions + n_terminal;
    fprintf(out,
            "// reachable states of a world, one choice a joint action (agent 0 the fastest digit), written "
            "by ludus\n"
            "@type: MDP\n@parameters\n\n@reward_models\n\n@nr_states\n%llu\n@nr_choices\n%llu\n@model\n",
            (unsigned long long)space->n_states, (unsigned long long)n_choices);
    for (uint64_t s = 0; s < space->n_states; s++) {
        fprintf(out, "state %llu", (unsigned long long)s);
        write_labels(problem, s, out);
        fputc('\n', out);
        if (lud_statespace_terminal(space, s)) {
            fprintf(out, "\taction 0\n\t\t%llu : 1\n", (unsigned long long)s);
            continue;
        }
        for (int32_t k = 0; k < space->n_joint_actions; k++) {
            lud_statespace_row row = lud_statespace_get_row(space, s, k);
            fprintf(out, "\taction %d\n", k);
            for (uint32_t i = 0; i < row.n; i++)
                fprintf(out, "\t\t%u : %.17g\n", row.successor[i], row.probability[i]);
        }
    }
    return written(out, error);
}

static void write_prism_labels(const lud_empo_problem *problem, FILE *lab) {
    const lud_empo_layout *layout = &problem->layout;
    const lud_model *model = problem->space->model;
    fprintf(lab, "0=\"init\" 1=\"deadlock\" 2=\"terminal\"");
    for (int h = 0; h < layout->n_humans; h++)
        for (int g = layout->goal_begin[h]; g < layout->goal_begin[h + 1]; g++)
            fprintf(lab, " %d=\"agent%d_goal%d\"", 3 + g, layout->humans[h], g - layout->goal_begin[h]);
    fputc('\n', lab);
    for (uint64_t s = 0; s < problem->space->n_states; s++) {
        bool any = false;
        for (int label = 0; label < 3 + layout->n_goals; label++) {
            bool holds = label == 0 ? s == 0 : label == 2 && lud_statespace_terminal(problem->space, s);
            for (int h = 0; label >= 3 && h < layout->n_humans; h++)
                if (label - 3 >= layout->goal_begin[h] && label - 3 < layout->goal_begin[h + 1])
                    holds = model->world->achieved(model, state_of(problem, s), layout->humans[h],
                                                   label - 3 - layout->goal_begin[h]);
            if (!holds) continue;
            if (!any) fprintf(lab, "%llu:", (unsigned long long)s);
            fprintf(lab, " %d", label);
            any = true;
        }
        if (any) fputc('\n', lab);
    }
}

lud_status lud_empo_chain_write_prism(const lud_empo_chain *chain, const double *records, FILE *tra,
                                      FILE *sta, FILE *lab, FILE *srew, lud_error *error) {
    const lud_empo_layout *layout = &chain->problem->layout;
    const lud_statespace *space = chain->problem->space;
    unsigned long long n_states = (unsigned long long)chain->n_states, n_loops = 0;
    for (uint64_t s = 0; s < chain->n_states; s++) n_loops += chain->begin[s] == chain->begin[s + 1];
    fprintf(tra, "%llu %llu\n", n_states, (unsigned long long)chain->n_entries + n_loops);
    fprintf(sta, "(layer,number)\n");
    fprintf(srew, "%llu %llu\n", n_states, n_states);
    int layer = 0;
    for (uint64_t s = 0; s < chain->n_states; s++) {
        while (s >= space->layer_begin[layer + 1]) layer++;
        for (uint64_t i = chain->begin[s]; i < chain->begin[s + 1]; i++)
            fprintf(tra, "%llu %u %.17g\n", (unsigned long long)s, chain->successor[i],
                    chain->probability[i]);
        if (chain->begin[s] == chain->begin[s + 1])
            fprintf(tra, "%llu %llu 1\n", (unsigned long long)s, (unsigned long long)s);
        fprintf(sta, "%llu:(%d,%llu)\n", (unsigned long long)s, layer,
                (unsigned long long)(s - space->layer_begin[layer]));
        fprintf(srew, "%llu %.17g\n", (unsigned long long)s,
                records[s * (uint64_t)layout->record_doubles + (uint64_t)layout->u_r]);
    }
    write_prism_labels(chain->problem, lab);
    FILE *const files[] = {tra, sta, lab, srew};
    for (int i = 0; i < 4; i++) LUD_TRY(written(files[i], error));
    return LUD_OK;
}

static void write_columns(FILE *out, const char *name, int n) {
    for (int i = 0; i < n; i++) fprintf(out, ",%s_%d", name, i);
}

lud_status lud_empo_write_csv(const lud_empo_problem *problem, const double *records, FILE *out,
                              lud_error *error) {
    const lud_empo_layout *layout = &problem->layout;
    const lud_statespace *space = problem->space;
    fprintf(out, "state,layer,terminal,V_r,U_r");
    write_columns(out, "X", layout->n_humans);
    write_columns(out, "V_e", layout->n_goals);
    write_columns(out, "V_m", layout->n_goals);
    write_columns(out, "Q_r", layout->n_robot_actions);
    write_columns(out, "pi_r", layout->n_robot_actions);
    fputc('\n', out);
    int layer = 0;
    for (uint64_t s = 0; s < space->n_states; s++) {
        while (s >= space->layer_begin[layer + 1]) layer++;
        const double *record = records + s * (uint64_t)layout->record_doubles;
        fprintf(out, "%llu,%d,%d", (unsigned long long)s, layer, lud_statespace_terminal(space, s));
        /* the record's parts up to the people's policies stand in the order of the columns */
        for (int i = 0; i < layout->policies; i++) fprintf(out, ",%.17g", record[i]);
        fputc('\n', out);
    }
    return written(out, error);
}

lud_status lud_empo_chain_write_dot(const lud_empo_chain *chain, const double *records, uint64_t max_states,
                                    FILE *out, lud_error *error) {
    const lud_empo_layout *layout = &chain->problem->layout;
    if (chain->n_states > max_states)
        return lud_fail(error, LUD_ERROR_LIMIT,
                        "%llu states are too many for a drawing; expected at most %llu",
                        (unsigned long long)chain->n_states, (unsigned long long)max_states);
    fprintf(out, "digraph chain {\n  node [shape=box, style=rounded, fontname=\"sans-serif\"];\n");
    for (uint64_t s = 0; s < chain->n_states; s++) {
        const char *look = s == 0 ? ", color=\"#0072B2\", penwidth=2"
                           : lud_statespace_terminal(chain->problem->space, s) ? ", color=\"#8A8F98\""
                                                                               : "";
        fprintf(out, "  s%llu [label=\"%llu\\nV_r %.4g\"%s];\n", (unsigned long long)s, (unsigned long long)s,
                records[s * (uint64_t)layout->record_doubles + (uint64_t)layout->v_r], look);
    }
    for (uint64_t s = 0; s < chain->n_states; s++)
        for (uint64_t i = chain->begin[s]; i < chain->begin[s + 1]; i++)
            fprintf(out, "  s%llu -> s%u [label=\"%.3g\"];\n", (unsigned long long)s, chain->successor[i],
                    chain->probability[i]);
    fprintf(out, "}\n");
    return written(out, error);
}
