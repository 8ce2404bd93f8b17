/*
 * sweep.c: see sweep.h.
 */
#include "sweep.h"

#include <stdatomic.h>
#include <thrum.h>

static atomic_size_t xmortals;
static thrum_event first = THRUM_EVENT_INIT(THRUM_EVENT_AUTO, false);

void sweep_more(void) {
    if (atomic_fetch_add(&xmortals, 1) == 0) {
        thrum_event_signal(&first);
    }
}

void sweep_less(size_t gone) {
    atomic_fetch_sub(&xmortals, gone);
}

int sweep_wait(void) {
    int err = thrum_sleep(THRUM_MS(100));
    while (err == 0 && atomic_load(&xmortals) == 0) {
        err = thrum_event_wait(&first);
    }
    return err;
}
