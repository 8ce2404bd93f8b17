/*
 * mutate.c: weakened memory orders. A mutant is one line of the source whose operation loses a step
 * of its order, at every place to which the compiler has inlined it; nothing is rebuilt.
 */
#include <stdlib.h>
#include <string.h>

#include "engine.h"

enum { RELAXED = 0, CONSUME, ACQUIRE, RELEASE, ACQ_REL, SEQ_CST };

static uint16_t place_hash(const void *site) {
    return (uint16_t)(((uintptr_t)site * 0x9e3779b97f4a7c15ull) >> 48);
}

static bool hit(const void *site) {
    if (likely(!E->mutant_map[place_hash(site)])) {
        return false;
    }
    for (unsigned i = 0; i < E->mutant_count; i++) {
        if (E->mutant_sites[i] == site) {
            E->mutant_hit = true;
            return true;
        }
    }
    return false;
}

/* The order is one step lower; the halves of acq_rel are two mutants. */
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

/* Which operations were seen at which places, and how strong they were. */
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

/* ---- the command line: `sim mutate ...`, for tools/run/mutate ---- */

/* Lists the places that each world comes to, one a line. */
static int list_sites(uint64_t runs) {
    for (const sim_world *w = world_first(); w; w = w->next) {
        if (w->expect || w->outcomes) {
            continue; /* a place of the simulator's own */
        }
        memset(E->sites, 0, SITES * sizeof *E->sites);
        for (int s = S_RANDOM; s <= S_BOUNDED; s++) {
            plan p = {.world = w, .strategy = (strategy)s, .mode = M_C11, .seed = 1};
            p.runs = w->heavy ? runs / 10 + 1 : runs;
            tally t = {0};
            distinct_begin(1);
            E->note_sites = true;
            explore(&p, &t);
            E->note_sites = false;
        }
        for (unsigned i = 0; i < SITES; i++) {
            const site_entry *e = &E->sites[i];
            if (e->addr) {
                printf("%s %p %u %s %s %llu\n", w->name, e->addr, e->ops, order_name(e->order),
                       e->ops & OP_CAS ? order_name(e->failure) : "-", (unsigned long long)e->hits);
            }
        }
    }
    return 0;
}

static bool try_world(const sim_world *w, strategy s, uint64_t first, uint64_t runs, double most,
                      uint64_t *total) {
    plan p = {.world = w,
              .strategy = s,
              .mode = M_C11,
              .seed = 1,
              .first = first,
              .runs = runs,
              .seconds_max = most};
    tally t = {0};
    distinct_begin(1);
    bool failed = explore(&p, &t);
    *total += t.runs;
    if (failed) {
        printf("killed %s %s %llu %s: %s\n", w->name, strategy_names[s],
               (unsigned long long)(first + t.runs - 1), E->fault, E->message);
    }
    return failed;
}

static const sim_world *named(const char *name) {
    const sim_world *w = world_first();
    while (w && strcmp(w->name, name) != 0) {
        w = w->next;
    }
    return w;
}

/* Runs one mutant against worlds, in rounds that grow, until it is killed or the time is over. */
static int kill_one(char *worlds, double budget) {
    const sim_world *list[1024];
    unsigned n = 0;
    for (char *name = strtok(worlds, ","); name && n < 1024; name = strtok(NULL, ",")) {
        list[n] = named(name);
        n += list[n] != NULL;
    }
    double until = seconds_now() + budget;
    uint64_t first = 0;
    uint64_t total = 0;
    for (uint64_t runs = 100; seconds_now() < until; first += runs, runs *= 4) {
        for (unsigned i = 0; i < n; i++) {
            uint64_t here = list[i]->heavy ? runs / 8 + 1 : runs;
            for (int s = S_RANDOM; s <= S_BOUNDED && seconds_now() < until; s++) {
                double left = until - seconds_now();
                if (try_world(list[i], (strategy)s, first, here, left, &total)) {
                    return 0;
                }
            }
        }
    }
    printf("survived %llu\n", (unsigned long long)total);
    return 1;
}

/*
 * mutate sites RUNS
 * mutate kill KIND PLACE,PLACE WORLD,WORLD SECONDS
 * mutate again KIND PLACE,PLACE WORLD STRATEGY RUN RUNS: the run that killed it, else the first
 * RUNS
 */
int mutate_main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "sites") == 0) {
        return list_sites(strtoull(argv[2], NULL, 10));
    }
    if (argc < 6) {
        fputs("usage: see tools/run/mutate\n", stderr);
        return 2;
    }
    for (int kind = MUT_WEAKEN_ACQUIRE; kind <= MUT_DELETE; kind++) {
        if (strcmp(argv[2], mutant_name(kind)) == 0) {
            E->mutant_kind = kind;
        }
    }
    for (char *at = strtok(argv[3], ","); at; at = strtok(NULL, ",")) {
        if (E->mutant_count < MUTANT_SITES) {
            const void *site = (const void *)(uintptr_t)strtoull(at, NULL, 16);
            E->mutant_sites[E->mutant_count++] = site;
            E->mutant_map[place_hash(site)] = 1;
        }
    }
    if (strcmp(argv[1], "kill") == 0) {
        return kill_one(argv[4], strtod(argv[5], NULL));
    }
    const sim_world *w = named(argv[4]);
    int s = S_RANDOM;
    while (s < S_EXHAUSTIVE && argc >= 8 && strcmp(argv[5], strategy_names[s]) != 0) {
        s++;
    }
    if (!w || argc < 8) {
        printf("survived 0\n");
        return 1;
    }
    uint64_t total = 0;
    uint64_t run = strtoull(argv[6], NULL, 10);
    if (try_world(w, (strategy)s, run, 1, 0, &total) ||
        try_world(w, (strategy)s, 0, strtoull(argv[7], NULL, 10), 0, &total)) {
        return 0;
    }
    printf("survived %llu\n", (unsigned long long)total);
    return 1;
}
