#include <string.h>

#include "agents/policy.h"
#include "cli/cli.h"
#include "cli/manual.h"
#include "learn/learner.h"
#include "sim/multigrid/file/grid_codes.h"

typedef struct help_values {
    bool markdown, manual;
    const char *completion;
} help_values;

#define FLAGS help_values
static const lud_flag flags[] = {
    SWITCH_FLAG("markdown", 0, markdown, "option tables as Markdown"),
    SWITCH_FLAG("manual", 0, manual, "the manual page of the program, or of the verb that is named, as roff"),
    TEXT_FLAG("completion", 0, completion, "SHELL", "a script that completes words in bash, zsh or fish"),
};

static void print_overview(void) {
    const lud_verb *verbs[LUD_MAX_VERBS];
    int n = lud_verbs(verbs);
    printf("Ludus: write a world as a scenario file; run, watch, record and solve it.\n\nusage: ludus VERB "
           "...\n\n");
    int name = 0, arguments = 0;
    for (int i = 0; i < n; i++) {
        if ((int)strlen(verbs[i]->name) > name) name = (int)strlen(verbs[i]->name);
        if ((int)strlen(verbs[i]->arguments) > arguments) arguments = (int)strlen(verbs[i]->arguments);
    }
    for (int i = 0; i < n; i++)
        printf("  %-*s  %-*s  %s\n", name, verbs[i]->name, arguments, verbs[i]->arguments, verbs[i]->about);
    printf("\n  ludus VERB --help      what a verb understands\n"
           "  ludus help scenario    what is in a scenario file\n"
           "  ludus help options     every key of every section\n"
           "  ludus help codes       the codes of multigrid's maps\n"
           "  ludus help WORLD       the section of one world:");
    const lud_world *const *worlds = lud_worlds(&n);
    for (int i = 0; i < n; i++) printf(" %s", worlds[i]->name);
    printf("\n  ludus help POLICY      one kind of policy:");
    const lud_policy_kind *const *policies = lud_policies(&n);
    for (int i = 0; i < n; i++) printf(" %s", policies[i]->name);
    printf("\n  ludus help LEARNER     the `learner` section of one learner:");
    const lud_learner_kind *const *learners = lud_learners(&n);
    for (int i = 0; i < n; i++) printf(" %s", learners[i]->name);
    printf("\n  ludus --version        which version this is\n"
           "\nExit codes: 0 done, 1 the run failed, 2 the call or a file was wrong.\n");
}

static void print_table(const lud_option_table *table, bool markdown) {
    if (markdown)
        lud_options_markdown(table, stdout);
    else
        lud_options_help(table, stdout);
    printf("\n");
}

static void print_tables(const lud_world *world, bool markdown) {
    for (int i = 0; world->options && world->options[i]; i++) print_table(world->options[i], markdown);
}

static void print_scenario(void) {
    int n_worlds, n_policies;
    const lud_world *const *worlds = lud_worlds(&n_worlds);
    const lud_policy_kind *const *policies = lud_policies(&n_policies);
    printf("A scenario is one YAML file: one world, who acts in it, what they may want.\n\n"
           "  ludus: 1            version of the format; stands first\n"
           "  name: TEXT          what it is called (the file's name where missing)\n"
           "  about: TEXT         one line on what it shows\n"
           "  world: NAME         one of the worlds below; its section has the same name\n"
           "  goals: [...]        what an agent may want, where the world has goals\n"
           "  policies: {...}     who acts: by role, team, kind or number of the agent; also RUNs\n"
           "  learner: {...}      how agents learn\n"
           "  view: {...}         how it is shown, see below\n"
           "  run: {...}          how much is run, see below\n"
           "  include: FILE       take another file and override keys of it\n\n"
           "A key of any section can be given on the command line: --set run.seed=7 --set "
           "policies.robot.type=random\n"
           "\nworlds\n");
    for (int i = 0; i < n_worlds; i++) printf("  %-12s %s\n", worlds[i]->name, worlds[i]->about);
    printf("\npolicies, for example human: {type: heuristic, beta: 10}\n");
    for (int i = 0; i < n_policies; i++) printf("  %-12s %s\n", policies[i]->name, policies[i]->about);
    printf("\n");
    print_table(&lud_run_option_table, false);
    print_table(&lud_view_section_table, false);
}

static void print_learner(const lud_learner_kind *learner, bool markdown) {
    printf("%s%s: %s\n\n", markdown ? "## " : "", learner->name, learner->about);
    if (learner->options) print_table(learner->options, markdown);
}

static void print_world(const lud_world *world, bool markdown) {
    printf("%s%s: %s\n\n", markdown ? "## " : "", world->name, world->about);
    print_tables(world, markdown);
}

static void print_policy(const lud_policy_kind *policy, bool markdown) {
    printf("%s%s: %s\n\n", markdown ? "## " : "", policy->name, policy->about);
    if (policy->options) print_table(policy->options, markdown);
}

static void print_codes(bool markdown) {
    lud_text text = {0};
    if (!markdown) printf("A cell of a multigrid map is two characters:\n\n");
    lud_grid_codes_describe(markdown, &text);
    lud_print_text(&text);
    if (!markdown) printf("\nThe `legend` of a section adds codes of one's own.\n");
}

static void print_options(bool markdown) {
    int n;
    print_table(&lud_run_option_table, markdown);
    print_table(&lud_view_section_table, markdown);
    const lud_world *const *worlds = lud_worlds(&n);
    for (int i = 0; i < n; i++) print_world(worlds[i], markdown);
    const lud_policy_kind *const *policies = lud_policies(&n);
    for (int i = 0; i < n; i++) print_policy(policies[i], markdown);
    const lud_learner_kind *const *learners = lud_learners(&n);
    for (int i = 0; i < n; i++) print_learner(learners[i], markdown);
}

enum { MAX_TOPICS = 64 };

/* Everything `ludus help` can be asked about; returns how many. */
static int list_topics(const char *names[MAX_TOPICS]) {
    int n = 0, count;
    names[n++] = "scenario";
    names[n++] = "options";
    names[n++] = "codes";
    const lud_verb *verbs[LUD_MAX_VERBS];
    count = lud_verbs(verbs);
    for (int i = 0; i < count; i++) names[n++] = verbs[i]->name;
    const lud_world *const *worlds = lud_worlds(&count);
    for (int i = 0; i < count && n < MAX_TOPICS; i++) names[n++] = worlds[i]->name;
    const lud_policy_kind *const *policies = lud_policies(&count);
    for (int i = 0; i < count && n < MAX_TOPICS; i++)
        if (!lud_verb_find(policies[i]->name, NULL)) names[n++] = policies[i]->name;
    const lud_learner_kind *const *learners = lud_learners(&count);
    for (int i = 0; i < count && n < MAX_TOPICS; i++) names[n++] = learners[i]->name;
    return n;
}

static lud_status unknown_topic(const char *topic, lud_error *error) {
    const char *names[MAX_TOPICS];
    const int n = list_topics(names);
    const char *near = lud_nearest_name(topic, names, n);
    return lud_invalid(error, "no help on '%s'%s%s%s", topic, near ? ", did you mean 'ludus help " : "",
                       near ? near : "", near ? "'?" : "; 'ludus help' lists what there is");
}

static const lud_policy_kind *find_policy(const char *name) {
    int n;
    const lud_policy_kind *const *policies = lud_policies(&n);
    for (int i = 0; i < n; i++)
        if (strcmp(policies[i]->name, name) == 0) return policies[i];
    return NULL;
}

static lud_status run(void *data, const char *const *arguments, int n_arguments, lud_error *error) {
    const help_values *values = data;
    if (values->completion) {
        const char *names[MAX_TOPICS];
        return lud_completion_print(values->completion, names, list_topics(names), error);
    }
    if (values->manual) {
        const lud_verb *verb = n_arguments > 0 ? lud_verb_find(arguments[0], error) : NULL;
        if (n_arguments > 0 && !verb) return LUD_ERROR_INPUT;
        lud_manual_print(verb);
        return LUD_OK;
    }
    if (n_arguments == 0) {
        print_overview();
        return LUD_OK;
    }
    const char *topic = arguments[0];
    if (strcmp(topic, "scenario") == 0) {
        print_scenario();
        return LUD_OK;
    }
    if (strcmp(topic, "options") == 0) {
        print_options(values->markdown);
        return LUD_OK;
    }
    if (strcmp(topic, "codes") == 0) {
        print_codes(values->markdown);
        return LUD_OK;
    }
    const lud_verb *verbs[LUD_MAX_VERBS];
    int n = lud_verbs(verbs);
    for (int i = 0; i < n; i++)
        if (strcmp(verbs[i]->name, topic) == 0) {
            lud_verb_print_help(verbs[i], stdout);
            return LUD_OK;
        }
    const lud_learner_kind *learner = lud_learner_find(topic);
    const lud_policy_kind *policy = find_policy(topic);
    const lud_world *world = lud_world_find(topic);
    if (learner)
        print_learner(learner, values->markdown);
    else if (policy)
        print_policy(policy, values->markdown);
    else if (world)
        print_world(world, values->markdown);
    else
        return unknown_topic(topic, error);
    return LUD_OK;
}

const lud_verb lud_verb_help = {
    .name = "help",
    .about = "explain a verb, the scenario file or its options",
    .arguments = "[TOPIC]",
    .min_arguments = 0,
    .max_arguments = 1,
    VERB_FLAGS,
    .notes =
        "TOPIC is a verb, 'scenario', 'options', 'codes' or the name of a world, a policy or a learner.\n",
    .run = run};
