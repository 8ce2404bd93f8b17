/*
 * seqcst.c: the order S of seq_cst accesses and fences, as RC11 asks for it: hb, mo and fr between
 * them, and with fences beyond them, lead forward in S. The order of execution is one such order,
 * but not the only one: a relaxed store may be seen before the seq_cst store in front of it (on ARM
 * it really is), and then a thread that has seen it may still come before that store in S.
 *
 * So each fence, store and read-modify-write has a label, its place in S: at the end, or directly
 * behind all that must come before it. For a store that is everything that happens before (the
 * view's `label`) and all accesses to its word (the word's `label`). For a fence: the fences that
 * were executed before, everything that happens before, the accesses to the words of stores that
 * happen before (the view's `lower`), and all accesses that did not see or follow the newest store
 * (more than is needed).
 *
 * A load needs no label: it is directly behind everything that must come before it, the earliest
 * place, which forbids least. It may not miss a store with a label up to there, nor a store known
 * to a fence up to there.
 */
#include <string.h>

#include "engine.h"

#define STEP ((uint64_t)1 << 36) /* room for labels between two labels */

void seq_begin(void) {
    E->fences = (clock_vec){0};
    E->label_last = E->label_fence = E->label_old = 0;
    E->labels_count = 0;
    E->known_count = 0;
}

static uint64_t at_end(void) {
    E->label_last += STEP;
    if (E->labels_count < LABELS) {
        E->labels[E->labels_count++] = E->label_last;
    }
    return E->label_last;
}

/* A label directly behind the given one; 0: there is no room, or it would be the end. */
static uint64_t directly_behind(uint64_t label, bool take) {
    unsigned n = E->labels_count;
    if (n == LABELS || label >= E->label_last) {
        return 0;
    }
    while (n > 0 && E->labels[n - 1] > label) {
        n--;
    }
    uint64_t between = label + (E->labels[n] - label) / 2;
    if (between == label) {
        return 0;
    }
    if (take) {
        memmove(E->labels + n + 1, E->labels + n, (E->labels_count - n) * sizeof *E->labels);
        E->labels[n] = between;
        E->labels_count++;
    }
    return between;
}

static uint64_t larger(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static uint64_t at_end_or_behind(uint64_t label) {
    if (E->limits.inserts && directly_behind(label, false) && sim_choose(SIM_VALUE, 2)) {
        return directly_behind(label, true);
    }
    return at_end();
}

uint64_t seq_store_label(const loc *l, const sim_thread *t, bool newest) {
    if (newest) {
        return at_end_or_behind(larger(t->now.label, l->label));
    }
    seq_old(at_end());
    return E->label_last;
}

void seq_old(uint64_t label) {
    E->label_old = larger(E->label_old, label);
}

void seq_fence(sim_thread *t) {
    t->now.seen = vec_max(t->now.seen, E->fences);
    E->fences = t->now.seen;
    uint64_t behind =
        larger(larger(t->now.label, t->now.lower), larger(E->label_fence, E->label_old));
    E->label_fence = t->now.fence = t->now.label = at_end_or_behind(behind);
    if (E->known_count < KNOWN) {
        E->known[E->known_count++] = (fence_known){.label = t->now.label, .seen = E->fences};
    }
}

clock_vec seq_known(uint64_t label) {
    unsigned n = E->known_count;
    if (n == KNOWN) { /* there are more fences than are remembered: as if it came behind all */
        return E->fences;
    }
    while (n > 0 && E->known[n - 1].label > label) {
        n--;
    }
    return n ? E->known[n - 1].seen : (clock_vec){0};
}
