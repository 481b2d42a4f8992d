#include "learn/empo/memory/successor_list.h"

#include <string.h>

#include <xxhash.h>

#include "learn/nn/arrays.h"

void lud_empo_successor_list_begin(lud_empo_successor_list *l) {
    l->n = l->n_links = 0;
}

void lud_empo_successor_list_free(lud_empo_successor_list *l) {
    lud_successors_free(&l->found);
    LUD_FREE(l->link, l->probability, l->states, l->hashes, l->terminal, l->records);
    *l = (lud_empo_successor_list){0};
}

static bool room_for_links(lud_empo_successor_list *l, size_t n) {
    const size_t wanted = (size_t)l->n_links + n;
    if (wanted <= (size_t)l->links_capacity) return true;
    if (!lud_grow(&l->link, 2 * wanted, sizeof *l->link) ||
        !lud_grow(&l->probability, 2 * wanted, sizeof *l->probability))
        return false;
    l->links_capacity = (int)(2 * wanted);
    return true;
}

static bool room_for_states(lud_empo_successor_list *l, const lud_empo_features *f, size_t n) {
    const size_t wanted = (size_t)l->n + n;
    if (wanted <= (size_t)l->capacity) return true;
    if (!lud_grow(&l->states, 2 * wanted, f->grid->model.layout.state_bytes) ||
        !lud_grow(&l->hashes, 2 * wanted, sizeof *l->hashes) ||
        !lud_grow(&l->terminal, 2 * wanted, sizeof *l->terminal) ||
        !lud_grow(&l->records, 2 * wanted, (size_t)f->words * sizeof *l->records))
        return false;
    l->capacity = (int)(2 * wanted);
    return true;
}

/* Number of a successor among the distinct ones, which it joins when it is new. */
static int32_t number_of(lud_empo_successor_list *l, const lud_empo_features *f, const uint8_t *state) {
    const lud_model *model = &f->grid->model;
    const size_t bytes = model->layout.state_bytes;
    const uint64_t hash = XXH3_64bits(state, bytes);
    for (int i = 0; i < l->n; i++)
        if (l->hashes[i] == hash && memcmp(l->states + (size_t)i * bytes, state, bytes) == 0) return i;
    memcpy(l->states + (size_t)l->n * bytes, state, bytes);
    l->hashes[l->n] = hash;
    l->terminal[l->n] = model->world->is_terminal(model, state);
    lud_empo_features_encode(f, state, l->records + (size_t)l->n * (size_t)f->words);
    return l->n++;
}

lud_status lud_empo_successor_list_add(lud_empo_successor_list *l, const lud_empo_features *f,
                                       const uint8_t *state, const int32_t *joint, lud_error *error) {
    const lud_model *model = &f->grid->model;
    LUD_TRY(model->world->successors(model, state, joint, &l->found, error));
    if (!room_for_links(l, l->found.n) || !room_for_states(l, f, l->found.n))
        return lud_no_memory(error, "successors");
    for (size_t i = 0; i < l->found.n; i++) {
        l->link[l->n_links] = number_of(l, f, l->found.states + i * model->layout.state_bytes);
        l->probability[l->n_links++] = (float)l->found.probability[i];
    }
    return LUD_OK;
}
