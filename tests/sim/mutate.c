/*
 * mutate.c: weakened memory orders. A mutant is one line of the source whose operation loses a step
 * of its order, at every place to which the compiler has inlined it; nothing is rebuilt.
 */
#include <string.h>

#include "engine.h"

enum { RELAXED = 0, CONSUME, ACQUIRE, RELEASE, ACQ_REL, SEQ_CST };

static bool hit(const void *site) {
    for (unsigned i = 0; i < E->mutant_count; i++) {
        if (E->mutant_sites[i] == site) {
            E->mutant_hit = true;
            return true;
        }
    }
    return false;
}

/* One step down; the halves of acq_rel are two mutants. */
int weakened(int order, unsigned op, int kind) {
    switch (kind) {
    case MUT_WEAKEN_SEQ:
        if (order != SEQ_CST) {
            return order;
        }
        return op == OP_LOAD || op == OP_CAS_FAILURE ? ACQUIRE : op == OP_STORE ? RELEASE : ACQ_REL;
    case MUT_WEAKEN_ACQUIRE:
        return order == ACQUIRE ? RELAXED : order == ACQ_REL ? RELEASE : order;
    case MUT_WEAKEN_RELEASE:
        return order == RELEASE ? RELAXED : order == ACQ_REL ? ACQUIRE : order;
    default:
        return order;
    }
}

/* Which operations were seen at which places, and how strong. */
static void note_site(int order, const void *site, unsigned op) {
    uint64_t at = ((uintptr_t)site * 0x9e3779b97f4a7c15ull) >> 40;
    for (;; at++) {
        site_entry *e = &E->sites[at % SITES];
        if (!e->addr) {
            e->addr = site;
        }
        if (e->addr == site) {
            e->ops |= (uint16_t)op;
            if (op == OP_CAS_FAILURE) {
                e->failure = (uint8_t)order;
            } else {
                e->order = (uint8_t)order;
            }
            e->hits++;
            return;
        }
    }
}

int mutated_order(int order, const void *site, unsigned op) {
    if (unlikely(E->note_sites)) {
        note_site(order, site, op);
    }
    if (likely(!E->mutant_count) || !hit(site)) {
        return order;
    }
    if (E->mutant_kind == MUT_DELETE) {
        return op == OP_FENCE ? RELAXED : order;
    }
    return weakened(order, op, E->mutant_kind);
}

const char *mutant_name(int kind) {
    static const char *const names[] = {"none", "acquire", "release", "seq", "delete"};
    return names[kind];
}

int mutate_main(int argc, char **argv) {
    (void)argc;
    (void)argv;
    return 2;
}
