/*
 * cycle.h: looks for fibers and bound threads of a scheduler that wait for each other in a cycle,
 * even if other work goes on. core/report/CYCLES.md has the argument.
 */
#ifndef TH_CYCLE_H
#define TH_CYCLE_H

#include "core/inspect/edge.h"

#define TH_CYCLE_EDGES_MAX TH_LIMIT(65536u, 8u) /* more waits are not looked at */
#define TH_CYCLES_MAX TH_LIMIT(16u, 2u)         /* cycles that one look finds */

typedef struct th_cycles th_cycles;

/*
 * Checks all waits, and finds cycles that exist at one moment. NULL: there is none, or no memory,
 * or the system refuses to hold fibers. From any thread and context, but not with th_cancel_lock,
 * while the scheduler lives. th_cycles_end must follow.
 */
th_cycles *th_cycles_find(thrum_sched *sched);
void th_cycles_end(thrum_sched *sched, th_cycles *cycles);

/* A cycle: each member waits for the next one, and the last for the first. */
typedef struct th_cycle {
    const uint32_t *members; /* numbers for th_cycles_member */
    unsigned count;
    uint64_t key;    /* a number that this cycle has at each look, and hardly another one */
    bool can_cancel; /* a cancel of one of its members would end it */
} th_cycle;

unsigned th_cycles_count(const th_cycles *cycles);
th_cycle th_cycles_at(const th_cycles *cycles, unsigned i);
const th_edge *th_cycles_member(const th_cycles *cycles, uint32_t number);

/*
 * Whether this cycle has not been reported; it counts as reported from then on. After
 * TH_CYCLES_TOLD cycles none is new. With sched->deadlock_lock.
 */
bool th_cycles_is_new(thrum_sched *sched, uint64_t key);

#endif
