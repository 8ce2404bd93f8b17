/*
 * reports.h: a scheduler whose reports of deadlocks are kept, and things to wait for.
 */
#ifndef REPORTS_H
#define REPORTS_H

#include "core/watch/cycle_watch.h"
#include "support/support.h"
#include "support/sync/emptied.h"

/*
 * There are no second looks: the last thread that goes to sleep looks once and reports every
 * suspected deadlock at once. So each false alarm fails a test.
 */
__attribute__((constructor)) static void look_once(void) {
    th_watch_interval = 0;
}

static atomic_int reports;
static char report_text[65536];
static pthread_mutex_t report_lock = PTHREAD_MUTEX_INITIALIZER; /* guards report_text */

/*
 * The last report is kept. Another one may come while a test reads it, where something that the
 * test started has run since.
 */
CHECK_UNUSED static void keep_report(void *ctx, const char *report) {
    (void)ctx;
    pthread_mutex_lock(&report_lock);
    snprintf(report_text, sizeof(report_text), "%s", report);
    pthread_mutex_unlock(&report_lock);
    atomic_fetch_add(&reports, 1);
}

CHECK_UNUSED static void watched_init(rig *r) {
    rig_init(r);
    r->config.deadlock = keep_report;
}

CHECK_UNUSED static void watched_begin(rig *r) {
    watched_init(r);
    rig_start(r);
}

#define CHECK_REPORTED(n) SPIN_UNTIL(atomic_load(&reports) >= (n))

CHECK_UNUSED static void check_told(const char *text) {
    pthread_mutex_lock(&report_lock);
    if (!strstr(report_text, text)) {
        check_failed(__FILE__, __LINE__, "\"%s\" is not in: %s", text, report_text);
    }
    pthread_mutex_unlock(&report_lock);
}

CHECK_UNUSED static thrum_handle *spawn_named(const rig *r, const char *name, thrum_fn fn,
                                              void *arg) {
    thrum_attr attr = rig_attr(r);
    thrum_handle *handle = NULL;
    attr.name = name;
    CHECK_EQ(thrum_spawn_with(&handle, &attr, fn, arg), 0);
    return handle;
}

CHECK_UNUSED static void join(thrum_handle *handle, int expected) {
    int result = 0;
    CHECK_EQ(thrum_join(handle, &result), 0);
    CHECK_EQ(result, expected);
}

CHECK_UNUSED static int nothing(void *arg) {
    (void)arg;
    return 0;
}

/* ---- things to wait for ---- */

typedef struct things {
    thrum_event event;
    thrum_sem sem;
    thrum_waitgroup wg;
    thrum_mutex mutex;
    thrum_cond cond;
    thrum_barrier barrier;
    thrum_chan *chan;
    thrum_chan *full;
    thrum_bcast *bcast;
    thrum_tickets tickets;
    thrum_ticket first;
    thrum_ticket second;
    emptied empty;
} things;

static things it;

CHECK_UNUSED static void things_init(void) {
    const int value = 0;
    thrum_event_init(&it.event, THRUM_EVENT_AUTO, false);
    thrum_sem_init(&it.sem, 0);
    thrum_waitgroup_init(&it.wg, 1);
    thrum_mutex_init(&it.mutex);
    thrum_cond_init(&it.cond);
    thrum_barrier_init(&it.barrier, 2);
    CHECK_EQ(thrum_chan_create(&it.chan, sizeof(int), 0), 0);
    CHECK_EQ(thrum_chan_create(&it.full, sizeof(int), 1), 0);
    CHECK_EQ(thrum_chan_send(it.full, &value), 0);
    CHECK_EQ(thrum_bcast_create(&it.bcast, sizeof(int), 1), 0);
    thrum_tickets_init(&it.tickets);
    thrum_tickets_take(&it.tickets, &it.first);
    thrum_tickets_take(&it.tickets, &it.second);
    emptied_begin(&it.empty);
}

CHECK_UNUSED static void things_end(void) {
    CHECK_EQ(thrum_chan_destroy(it.chan), 0);
    CHECK_EQ(thrum_chan_destroy(it.full), 0);
    CHECK_EQ(thrum_bcast_destroy(it.bcast), 0);
    thrum_ticket_done(&it.first);
    thrum_ticket_done(&it.second);
    emptied_end(&it.empty);
}

CHECK_UNUSED static int waits_for_later(void *arg) {
    (void)arg;
    return thrum_sem_wait(&it.sem);
}

#endif
