/*
 * outside.c: waits for an event that something outside brings about (thrum_event_wait_outside).
 */
/* matrix: policy workers */
#include "support/report/printed.h"
#include "support/report/reports.h"
#include "support/times.h"
#include "support/report/traces.h"

#include <limits.h>

#include <thrum/dump.h>

#define WHAT "a message from 3, tag 7"

typedef struct sight {
    thrum_event event;
    thrum_time deadline;
    int code;
} sight;

static int waits(void *arg) {
    sight *w = arg;
    w->code = thrum_event_wait_outside(&w->event, WHAT, w->deadline);
    return 0;
}

static void sight_init(sight *w, thrum_event_mode mode) {
    w->deadline = THRUM_FOREVER;
    w->code = 1;
    thrum_event_init(&w->event, mode, false);
}

/* Prints until this is told: what waits is about to. */
static void check_dumped(const rig *r, thrum_format format, const char *part) {
    for (bool told = false; !told; sched_yield()) {
        size_t length;
        FILE *out = tmpfile();
        CHECK(out != NULL);
        CHECK_EQ(thrum_dump(r->sched, out, format), 0);
        char *text = printed_end(out, &length);
        told = strstr(text, part) != NULL;
        free(text);
    }
}

TEST(the_text_is_told) {
    /* As text and as JSON, and as a kind of its own where waits are counted. */
    rig r;
    sight w;
    rig_begin(&r, 0);
    sight_init(&w, THRUM_EVENT_AUTO);
    rig_go(&r, waits, &w);
    check_dumped(&r, THRUM_TEXT, " waits for " WHAT ", since tick ");
    check_dumped(&r, THRUM_JSON, "\"on\": \"something outside\", \"what\": \"" WHAT "\"");
    thrum_event_signal(&w.event);
    rig_wait_done(&r);
    CHECK_EQ(w.code, 0);
    CHECK(!thrum_event_test(&w.event));
    rig_stop(&r);
}

static int waits_for_messages(void *arg) {
    sight *w = arg;
    CHECK_EQ(thrum_event_wait_message(&w->event, WHAT, 3, 7, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_event_wait_message(&w->event, WHAT, -1, INT_MAX, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_event_wait_message(&w->event, WHAT, INT_MAX, -1, THRUM_FOREVER), 0);
    return waits(arg);
}

TEST(traces_have_the_peer_and_the_tag_of_a_message) {
    /* Those of the stretch that ends, and both ends of the wait; there is no room for any peer. */
    static const char *const args[] = {"\"peer\":3,\"tag\":7}",
                                       "\"peer\":\"any\",\"tag\":2147483647}", "\"tag\":\"any\"}"};
    rig r;
    sight w;
    rig_begin(&r, 0);
    sight_init(&w, THRUM_EVENT_AUTO);
    CHECK_EQ(thrum_trace_start(r.sched, 0), 0);
    rig_go(&r, waits_for_messages, &w);
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
        thrum_event_signal(&w.event);
    }
    rig_wait_done(&r);
    CHECK_EQ(thrum_trace_stop(r.sched), 0);
    trace_page p = trace_written(r.sched);
    CHECK_EQ(p.waits_begun, 4);
    CHECK_EQ(p.waits_ended, 4);
    for (int i = 0; i < 3; i++) {
        char text[100];
        snprintf(text, sizeof text, "\"on\":\"something outside\",%s", args[i]);
        CHECK_EQ(trace_count(&p, text), 1);
        snprintf(text, sizeof text, "\",\"args\":{%s", args[i]);
        CHECK_EQ(trace_count(&p, text), 2);
    }
    CHECK_EQ(trace_count(&p, "\"on\":\"something outside\"}"), 1);
    trace_end(&p);
    rig_stop(&r);
}

TEST(it_is_an_event_as_any) {
    /* Signaled before, manual or auto; without a text; past a deadline; by a plain thread. */
    sight w;
    sight_init(&w, THRUM_EVENT_MANUAL);
    w.deadline = soon();
    waits(&w);
    CHECK_EQ(w.code, -ETIMEDOUT);
    CHECK_EQ(thrum_event_destroy(&w.event), 0);
    thrum_event_init(&w.event, THRUM_EVENT_MANUAL, true);
    waits(&w);
    CHECK_EQ(w.code, 0);
    CHECK_EQ(thrum_event_wait_outside(&w.event, NULL, THRUM_FOREVER), 0);
    thrum_event_init(&w.event, THRUM_EVENT_AUTO, true);
    CHECK_EQ(thrum_event_wait_outside(&w.event, NULL, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_event_wait_outside(&w.event, NULL, past()), -ETIMEDOUT);
}

TEST(a_cancel_ends_it) {
    /* Whether it has begun or not, with the event as it was. */
    rig r;
    sight w;
    rig_begin(&r, 0);
    for (int i = 0; i < 100; i++) {
        thrum_handle *task = NULL;
        thrum_attr attr = THRUM_ATTR_INIT;
        attr.sched = r.sched;
        sight_init(&w, THRUM_EVENT_AUTO);
        CHECK_EQ(thrum_spawn_with(&task, &attr, waits, &w), 0);
        if (i % 2) {
            check_dumped(&r, THRUM_TEXT, WHAT);
        }
        CHECK_EQ(thrum_cancel(task), 0);
        CHECK_EQ(thrum_join(task, NULL), 0);
        CHECK_EQ(w.code, -ECANCELED);
        CHECK_EQ(thrum_event_destroy(&w.event), 0);
    }
    rig_stop(&r);
}

TEST(it_is_no_deadlock) {
    /* Beside a task that nothing wakes; when only that is left, it is. */
    rig r;
    sight w, never;
    watched_begin(&r);
    sight_init(&w, THRUM_EVENT_AUTO);
    sight_init(&never, THRUM_EVENT_AUTO);
    thrum_handle *outside = spawn_named(&r, "outside", waits, &w);
    things_init();
    thrum_handle *deadlocked = spawn_named(&r, "stuck", waits_for_later, NULL);
    CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    CHECK_EQ(atomic_load(&reports), 0);
    thrum_event_signal(&w.event);
    join(outside, 0);
    CHECK_REPORTED(1);
    CHECK_EQ(atomic_load(&reports), 1);
    check_told("\"stuck\"");
    thrum_sem_post(&it.sem);
    join(deadlocked, 0);
    things_end();
    rig_stop(&r);
}
