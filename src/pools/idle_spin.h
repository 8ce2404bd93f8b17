/*
 * idle_spin.h: how long a thread of a pool looks for the next job before it sleeps.
 *
 * To be woken makes a job late, and its caller pays for the wake: 7 to 25 us where processors are
 * virtual. So a thread that has found nothing goes on looking for about as long as that, and then
 * sleeps: in the worst case it wastes as much as a wake would have cost. One thread at a time does,
 * and only while it helps: each time that finds nothing halves how often it is done, down to one
 * chance of 64, and a time that has helped begins anew.
 *
 * pools/README.md has the rules of the pools. All fields are protected by the pool's lock.
 */
#ifndef TH_IDLE_SPIN_H
#define TH_IDLE_SPIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cc.h"

#define TH_IDLE_SPIN_NS TH_LIMIT(20000, 60)
#define TH_IDLE_SPIN_MISSES_MAX TH_LIMIT(6u, 1u)

typedef struct th_idle_spin {
    bool taken;     /* a thread looks */
    uint8_t misses; /* how many times in a row found nothing, up to the limit */
    uint8_t let_go; /* chances that are still let go */
} th_idle_spin;

/*
 * Whether the calling thread, which has found nothing, is to look on. `never`: it is not, as with a
 * single processor, where a looking thread keeps all others from coming.
 */
static inline bool th_idle_spin_begin(th_idle_spin *spin, bool never) {
    if (never || spin->taken) {
        return false;
    }
    if (spin->let_go) {
        spin->let_go--;
        return false;
    }
    spin->taken = true;
    return true;
}

/* Without the lock: looks whether there is anything, for as long as that may take. */
void th_idle_spin_look(const uint32_t *xlength);

/* Whether the calling thread may run on one processor only. */
bool th_idle_spin_is_alone(void);

static inline void th_idle_spin_end(th_idle_spin *spin, bool found) {
    spin->taken = false;
    spin->misses = found                                    ? 0
                   : spin->misses < TH_IDLE_SPIN_MISSES_MAX ? spin->misses + 1
                                                            : spin->misses;
    spin->let_go = (uint8_t)((1u << spin->misses) - 1);
}

#endif
