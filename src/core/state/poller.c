/*
 * poller.c: opening and closing sets of descriptors; see poller.h.
 */
#include "core/state/poller.h"

#include <errno.h>

#include "core/state/panic.h"
#include "core/state/worker.h"
#include "platform/platform.h"

void th_poller_init(th_poller *poller, thrum_sched *sched, th_worker *owner) {
    *poller = (th_poller){.set = {-1, -1}, .sched = sched, .owner = owner};
    th_lock_init(&poller->lock);
}

void th_poller_close(th_poller *poller) {
    if (poller->xopen) {
        th_os_pollset_close(&poller->set);
    }
}

/* A program that closes descriptors which are not its own takes the workers' sleep away. */
void th_poller_refuse(thrum_sched *sched) {
    if (!sched->abandoned) { /* in the child of a fork the library has closed it */
        th_panic(sched,
                 "thrum: the program has closed a descriptor of the scheduler's, by which it "
                 "waits for others");
    }
}

void th_alarm_init(th_alarm *alarm) {
    *alarm = (th_alarm){.fd = TH_ALARM_NONE, .at = TH_FOREVER};
    th_lock_init(&alarm->lock);
}

void th_alarm_close(th_alarm *alarm) {
    if (alarm->fd >= 0) {
        th_os_alarm_close(alarm->fd);
        alarm->fd = -EBADF; /* the number may be another file's when this is called again */
    }
}

void th_pollers_abandon(thrum_sched *sched) {
    for (unsigned i = 0; i < sched->workers_count; i++) {
        th_poller_close(&sched->workers[i].poller);
    }
    th_poller_close(&sched->loose_poller);
    th_alarm_close(&sched->alarm);
    for (th_worker *w = sched->bound; w; w = w->bound_next) {
        th_poller_close(&w->poller);
    }
    for (th_worker *w = sched->bound_spares; w; w = w->bound_next) {
        th_poller_close(&w->poller);
    }
}
