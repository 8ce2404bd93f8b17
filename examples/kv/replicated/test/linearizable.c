/*
 * linearizable.c: see linearizable.h. A search for an order, after Wing and Gong. It never tries
 * the same set of operations with the same value twice, as Lowe proposed.
 */
#include "linearizable.h"

#include <stdlib.h>

struct state {
    uint64_t done; /* a bit for each operation that has taken effect */
    int64_t value; /* the value after them */
};

struct search {
    const struct operation *operations;
    unsigned count;
    uint64_t answered;   /* a bit for each operation with an answer */
    struct state *tried; /* a hash table; `done` is 0 in free places */
    uint64_t tried_count, room;
};

/* ---- states that were tried ---- */

static struct state *place_of(const struct search *s, struct state state) {
    uint64_t hash = (state.done ^ (uint64_t)state.value * UINT64_C(0x9e3779b97f4a7c15)) *
                    UINT64_C(0xbf58476d1ce4e5b9);
    for (hash >>= 20;; hash++) {
        struct state *place = &s->tried[hash & (s->room - 1)];
        if (place->done == 0 || (place->done == state.done && place->value == state.value)) {
            return place;
        }
    }
}

static void grow(struct search *s) {
    const struct search old = *s;
    s->room = old.room ? old.room * 2 : 256;
    s->tried = calloc(s->room, sizeof *s->tried);
    if (!s->tried) {
        abort();
    }
    for (uint64_t i = 0; i < old.room; i++) {
        if (old.tried[i].done) {
            *place_of(s, old.tried[i]) = old.tried[i];
        }
    }
    free(old.tried);
}

/* Adds a state. Returns whether it is new. */
static bool is_new(struct search *s, struct state state) {
    if (s->tried_count * 2 >= s->room) {
        grow(s);
    }
    struct state *place = place_of(s, state);
    const bool new = place->done == 0;
    *place = state;
    s->tried_count += new;
    return new;
}

/* ---- the search ---- */

/* The operation takes effect. Returns whether its answer is right. */
static bool run(const struct operation *o, int64_t *value) {
    *value = o->kind == OPERATION_SET ? o->argument : *value + (o->kind == OPERATION_INCR);
    return o->kind == OPERATION_SET || o->answered == UINT64_MAX || o->answer == *value;
}

static bool search(struct search *s, struct state state) {
    uint64_t first_answer = UINT64_MAX; /* an operation that was called later has to wait */
    if ((s->answered & ~state.done) == 0) {
        return true;
    }
    for (unsigned i = 0; i < s->count; i++) {
        if (!(state.done >> i & 1) && s->operations[i].answered < first_answer) {
            first_answer = s->operations[i].answered;
        }
    }
    for (unsigned i = 0; i < s->count; i++) {
        struct state after = {state.done | UINT64_C(1) << i, state.value};
        if (!(state.done >> i & 1) && s->operations[i].called < first_answer &&
            run(&s->operations[i], &after.value) && is_new(s, after) && search(s, after)) {
            return true;
        }
    }
    return false;
}

bool linearizable(const struct operation *operations, unsigned count) {
    struct search s = {.operations = operations, .count = count};
    for (unsigned i = 0; i < count; i++) {
        s.answered |= (uint64_t)(operations[i].answered != UINT64_MAX) << i;
    }
    const bool found = search(&s, (struct state){0, 0});
    free(s.tried);
    return found;
}
