/*
 * trace_io.c: what traces tell of waits for the world outside.
 */
/* matrix: policy workers */
#include "support/io/io.h"

#include "support/report/traces.h"

enum { WAITS = 10 };

typedef struct scene {
    rig r;
    ends e;
    atomic_int got;
} scene;

static int reads_and_writes(void *arg) {
    scene *s = arg;
    char byte;
    for (int i = 0; i < WAITS; i++) {
        CHECK_EQ(thrum_read(s->e.io[0], &byte, 1), 1);
        atomic_fetch_add(&s->got, 1);
    }
    CHECK_EQ(thrum_write(s->e.io[0], "x", 1), 1); /* there is no room */
    CHECK_EQ(thrum_io_wait(s->e.io[0], THRUM_IO_READ, THRUM_FOREVER), THRUM_IO_READ);
    return 0;
}

TEST(waits_for_descriptors_are_slices) {
    /*
     * Each begins where the task waits and ends where it goes on, with the descriptor as its name,
     * also of one that is closed by now.
     */
    char text[100];
    scene s = {.got = 0};
    rig_begin(&s.r, 0);
    ends_open_half(&s.e, UNIX);
    (void)fill(s.e.fds[0]);
    CHECK_EQ(thrum_trace_start(s.r.sched, 0), 0);
    rig_go(&s.r, reads_and_writes, &s);
    for (int i = 0; i < WAITS; i++) {
        SPIN_UNTIL(atomic_load(&s.got) == i && io_awaits(s.e.io[0], THRUM_IO_READ));
        CHECK_EQ(thrum_sched_wait_idle(s.r.sched, THRUM_FOREVER), 0);
        put(s.e.fds[1], "x");
    }
    SPIN_UNTIL(io_awaits(s.e.io[0], THRUM_IO_WRITE));
    CHECK_EQ(thrum_sched_wait_idle(s.r.sched, THRUM_FOREVER), 0);
    (void)drain(s.e.fds[1], SIZE_MAX);
    SPIN_UNTIL(IO_WATCHING(s.e.io[0], THRUM_IO_READ) > 0);
    CHECK_EQ(thrum_sched_wait_idle(s.r.sched, THRUM_FOREVER), 0);
    put(s.e.fds[1], "x");
    rig_wait_done(&s.r);
    const int fd = s.e.fds[0];
    ends_close(&s.e);
    CHECK_EQ(thrum_sched_wait_idle(s.r.sched, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_trace_stop(s.r.sched), 0);
    trace_page p = trace_written(s.r.sched);
    CHECK_EQ(p.waits_begun, WAITS + 2);
    CHECK_EQ(p.waits_ended, WAITS + 2);
    CHECK_EQ(p.calls_begun + p.calls_ended, 0);
    snprintf(text, sizeof text, "\"on\":\"descriptor to read\",\"fd\":%d}", fd);
    CHECK_EQ(trace_count(&p, text), WAITS);
    snprintf(text, sizeof text, "\"cat\":\"outside\",\"name\":\"reads fd %d\",\"id\":", fd);
    CHECK_EQ(trace_count(&p, text), 2 * WAITS);
    snprintf(text, sizeof text, "\"cat\":\"outside\",\"name\":\"writes fd %d\",\"id\":", fd);
    CHECK_EQ(trace_count(&p, text), 2);
    snprintf(text, sizeof text, "\"cat\":\"outside\",\"name\":\"waits for fd %d\",\"id\":", fd);
    CHECK_EQ(trace_count(&p, text), 2);
    snprintf(text, sizeof text, "\"name\":\"read\",\"args\":{\"fd\":%d,\"bytes\":1}", fd);
    CHECK_EQ(trace_count(&p, text), WAITS);
    snprintf(text, sizeof text, "\"name\":\"write\",\"args\":{\"fd\":%d,\"bytes\":1}", fd);
    CHECK_EQ(trace_count(&p, text), 1);
    CHECK(trace_count(&p, "\"name\":\"poll\",\"args\":{\"events\":1}") >= WAITS);
    trace_end(&p);
    rig_stop(&s.r);
}
