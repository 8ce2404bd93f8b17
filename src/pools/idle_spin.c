/*
 * idle_spin.c: see idle_spin.h.
 */
#include "pools/idle_spin.h"

#include "base/atomic.h"
#include "core/basis/affinity.h"
#include "platform/platform.h"

/* If the clock is stopped, as a test's may be: some hundreds of looks take the whole time. */
#define LOOKS_MAX TH_LIMIT(4000u, 4u)

void th_idle_spin_look(const uint32_t *xlength) {
    const int64_t until = th_os_now() + TH_IDLE_SPIN_NS;
    /* relaxed: a hint; the lock, which is taken next, orders the rest */
    for (unsigned i = 0; i < LOOKS_MAX && !th_load_relaxed(xlength) && th_os_now() < until; i++) {
        th_os_relax();
    }
}

bool th_idle_spin_is_alone(void) {
    th_os_cpuset mine;
    return !th_os_cpuset_granted(&mine) && th_affinity_count(&mine) == 1;
}
