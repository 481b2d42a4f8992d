#include "sim/proof/knowledge/family_tree.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"

typedef struct person {
    bool male;
    int father, mother, spouse; /* -1: none */
    int given, house, number;   /* name; number 0: the first of that name */
} person;

typedef struct triple {
    int relation, first, second;
} triple;

typedef enum relation {
    FATHER,
    MOTHER,
    SON,
    DAUGHTER,
    HUSBAND,
    WIFE,
    BROTHER,
    SISTER,
    UNCLE,
    AUNT,
    NEPHEW,
    NIECE,
    GRANDFATHER,
    GRANDMOTHER,
    GRANDSON,
    GRANDDAUGHTER,
    RELATIONS
} relation;

static const char *const relation_names[RELATIONS] = {
    "father", "mother", "son",    "daughter", "husband",     "wife",        "brother",  "sister",
    "uncle",  "aunt",   "nephew", "niece",    "grandfather", "grandmother", "grandson", "granddaughter"};

enum { N_GIVEN = 40, N_HOUSES = 48 };
static const char *const men[N_GIVEN] = {
    "adam",  "albert", "anton", "ben",   "bruno", "carl", "clemens", "david", "emil",  "erik",
    "felix", "franz",  "georg", "hans",  "hugo",  "ivan", "jakob",   "jan",   "jonas", "karl",
    "kurt",  "leo",    "linus", "lukas", "marc",  "max",  "moritz",  "nils",  "noah",  "oscar",
    "otto",  "paul",   "peter", "ralf",  "simon", "sven", "theo",    "tim",   "tom",   "victor"};
static const char *const women[N_GIVEN] = {
    "ada",   "agnes",  "alma",  "anna",  "berta", "carla", "clara", "dora",  "edith", "elena",
    "ella",  "emma",   "erika", "eva",   "frida", "greta", "hanna", "helga", "ida",   "ines",
    "irma",  "judith", "julia", "karin", "laura", "lea",   "lena",  "lisa",  "luise", "maria",
    "marta", "mia",    "nina",  "nora",  "olga",  "paula", "rosa",  "sara",  "thea",  "vera"};
static const char *const houses[N_HOUSES] = {
    "adler",   "bach",   "bauer",  "baum",   "berg",   "binder", "brandt", "busch", "dorn", "ebner",
    "engel",   "falk",   "fink",   "frank",  "fuchs",  "graf",   "gross",  "haas",  "hahn", "hofer",
    "horn",    "huber",  "jung",   "kaiser", "keller", "klein",  "koch",   "krug",  "kuhn", "lang",
    "linden",  "lorenz", "maurer", "moser",  "nagel",  "ott",    "pohl",   "reich", "roth", "sauer",
    "schwarz", "seidel", "stein",  "storm",  "vogel",  "wagner", "winter", "wolf"};

typedef struct family {
    lud_random_key key;
    uint32_t draws;
    person *people;
    int n, capacity;
    triple *triples;
    size_t n_triples, triple_capacity;
    bool failed;
} family;

lud_family_options lud_family_default(void) {
    return (lud_family_options){1, 28, 5, 0.10, 0.20};
}

static uint32_t draw(family *f) {
    return lud_draw(f->key, f->draws++, 0, LUD_PURPOSE_USER, 0).v[0];
}
static int below(family *f, int n) {
    return (int)lud_below(draw(f), (uint32_t)n);
}
static bool chance(family *f, double p) {
    return lud_unit(draw(f)) < p;
}

static int add_person(family *f, bool male, int father, int mother) {
    if (f->n == f->capacity) {
        int capacity = f->capacity ? f->capacity * 2 : 256;
        person *people = realloc(f->people, (size_t)capacity * sizeof *people);
        if (!people) {
            f->failed = true;
            return 0;
        }
        f->people = people;
        f->capacity = capacity;
    }
    person p = {.male = male, .father = father, .mother = mother, .spouse = -1, .given = below(f, N_GIVEN)};
    p.house = father >= 0 ? f->people[father].house : below(f, N_HOUSES);
    for (int i = 0; i < f->n; i++) {
        const person *q = &f->people[i];
        if (q->male == male && q->given == p.given && q->house == p.house && q->number >= p.number)
            p.number = q->number + 1;
    }
    f->people[f->n] = p;
    return f->n++;
}

static void marry(family *f, int a, int b) {
    f->people[a].spouse = b;
    f->people[b].spouse = a;
}

static bool are_siblings(const family *f, int a, int b) {
    return f->people[a].father >= 0 && f->people[a].father == f->people[b].father;
}

/* A partner for most of a generation (people begin..end): somebody of the same generation, or a newcomer. */
static void marry_generation(family *f, int begin, int end) {
    for (int a = begin; a < end && !f->failed; a++) {
        if (f->people[a].spouse >= 0 || !chance(f, 0.8)) continue;
        int found = -1;
        if (chance(f, 0.5))
            for (int k = 0, start = below(f, end - begin); k < end - begin && found < 0; k++) {
                int b = begin + (start + k) % (end - begin);
                if (f->people[b].spouse < 0 && f->people[b].male != f->people[a].male &&
                    !are_siblings(f, a, b))
                    found = b;
            }
        if (found < 0) found = add_person(f, !f->people[a].male, -1, -1);
        if (!f->failed) marry(f, a, found);
    }
}

static void raise_people(family *f, const lud_family_options *o) {
    for (int i = 0; i < o->n_founders && !f->failed; i++) {
        int husband = add_person(f, true, -1, -1), wife = add_person(f, false, -1, -1);
        if (!f->failed) marry(f, husband, wife);
    }
    int begin = 0, end = f->n;
    for (int g = 1; g < o->n_generations && !f->failed; g++) {
        for (int h = begin; h < end; h++) {
            if (!f->people[h].male || f->people[h].spouse < 0) continue;
            int n_children = 1 + below(f, 3) + (chance(f, 0.3) ? 1 : 0) - (chance(f, 0.2) ? 1 : 0);
            for (int c = 0; c < n_children && !f->failed; c++)
                add_person(f, chance(f, 0.5), h, f->people[h].spouse);
        }
        begin = end;
        end = f->n; /* the children; newcomers follow and have no parents */
        if (begin == end) return;
        if (g + 1 < o->n_generations) marry_generation(f, begin, end);
        end = f->n;
    }
}

static void state_triple(family *f, relation r, int first, int second) {
    if (f->n_triples == f->triple_capacity) {
        size_t capacity = f->triple_capacity ? f->triple_capacity * 2 : 4096;
        triple *triples = realloc(f->triples, capacity * sizeof *triples);
        if (!triples) {
            f->failed = true;
            return;
        }
        f->triples = triples;
        f->triple_capacity = capacity;
    }
    f->triples[f->n_triples++] = (triple){(int)r, first, second};
}

/* x is the (men's or women's word) of y. */
static void state_by_sex(family *f, relation men_word, relation women_word, int x, int y) {
    state_triple(f, f->people[x].male ? men_word : women_word, x, y);
}

static void state_relations(family *f) {
    for (int x = 0; x < f->n && !f->failed; x++) {
        const person *p = &f->people[x];
        if (p->spouse >= 0) state_by_sex(f, HUSBAND, WIFE, x, p->spouse);
        if (p->father < 0) continue;
        int parents[2] = {p->father, p->mother};
        for (int i = 0; i < 2; i++) {
            state_by_sex(f, FATHER, MOTHER, parents[i], x);
            state_by_sex(f, SON, DAUGHTER, x, parents[i]);
            const person *parent = &f->people[parents[i]];
            if (parent->father < 0) continue;
            int grandparents[2] = {parent->father, parent->mother};
            for (int k = 0; k < 2; k++) {
                state_by_sex(f, GRANDFATHER, GRANDMOTHER, grandparents[k], x);
                state_by_sex(f, GRANDSON, GRANDDAUGHTER, x, grandparents[k]);
            }
        }
        for (int y = 0; y < f->n; y++) {
            if (y == x) continue;
            if (are_siblings(f, y, x)) state_by_sex(f, BROTHER, SISTER, y, x);
            for (int i = 0; i < 2; i++) {
                if (y == parents[i] || !are_siblings(f, y, parents[i])) continue;
                int couple[2] = {y, f->people[y].spouse};
                for (int k = 0; k < 2 && couple[k] >= 0; k++) {
                    state_by_sex(f, UNCLE, AUNT, couple[k], x);
                    state_by_sex(f, NEPHEW, NIECE, x, couple[k]);
                }
            }
        }
    }
}

static void append_name(const family *f, int x, lud_text *out) {
    const person *p = &f->people[x];
    lud_text_append(out, "%s_%s", (p->male ? men : women)[p->given], houses[p->house]);
    if (p->number > 0) lud_text_append(out, "_%d", p->number + 1);
}

static int compare_triples(const void *a, const void *b) {
    return memcmp(a, b, sizeof(triple));
}

/* The same uncle by two ways is one triple. */
static void drop_duplicates(family *f) {
    qsort(f->triples, f->n_triples, sizeof *f->triples, compare_triples);
    size_t kept = 0;
    for (size_t i = 0; i < f->n_triples; i++)
        if (kept == 0 || compare_triples(&f->triples[kept - 1], &f->triples[i]))
            f->triples[kept++] = f->triples[i];
    f->n_triples = kept;
}

static void write_triples(family *f, const lud_family_options *o, lud_text *texts[3]) {
    bool *met = calloc((size_t)f->n + 1, sizeof *met);
    if (!met) {
        f->failed = true;
        return;
    }
    for (size_t i = f->n_triples; i > 1; i--) {
        size_t j = (size_t)lud_below(draw(f), (uint32_t)i);
        triple other = f->triples[i - 1];
        f->triples[i - 1] = f->triples[j];
        f->triples[j] = other;
    }
    for (size_t i = 0; i < f->n_triples; i++) {
        const triple *t = &f->triples[i];
        double u = lud_unit(draw(f));
        int where = u < o->valid ? 1 : u < o->valid + o->test ? 2 : 0;
        if (!met[t->first] || !met[t->second]) where = 0;
        if (where == 0) met[t->first] = met[t->second] = true;
        lud_text *out = texts[where];
        lud_text_append(out, "%s(", relation_names[t->relation]);
        append_name(f, t->first, out);
        lud_text_append(out, ",");
        append_name(f, t->second, out);
        lud_text_append(out, ").\n");
        f->failed = f->failed || out->failed;
    }
    free(met);
}

lud_status lud_family_write(const lud_family_options *options, lud_text *train, lud_text *valid,
                            lud_text *test, lud_error *error) {
    family f = {.key = {options->seed, 0}};
    raise_people(&f, options);
    if (!f.failed) state_relations(&f);
    if (!f.failed) {
        drop_duplicates(&f);
        write_triples(&f, options, (lud_text *[]){train, valid, test});
    }
    free(f.people);
    free(f.triples);
    return f.failed ? lud_no_memory(error, "a family") : LUD_OK;
}
