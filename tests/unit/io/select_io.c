/*
 * select_io.c: select among channels, events and descriptors: what happens is the case that is
 * returned, nothing else is taken; from fibers, bound and plain threads.
 */
/* matrix: policy workers */
#include "support/io/io.h"
#include "support/times.h"

#include "platform/faults.h"
#include "thrum/chan.h"
#include "thrum/event.h"

typedef struct scene {
    rig r;
    thrum_chan *chan;
    thrum_event event;
    ends e; /* the test writes to e.fds[1] */
    thrum_time deadline;
    int result;
    int status;
    int element;
    atomic_int step;
} scene;

enum { CHAN, EVENT, IO, CASES };

static void scene_begin(scene *s, thrum_event_mode mode, end_kind k) {
    *s = (scene){.deadline = THRUM_FOREVER};
    rig_begin(&s->r, 0);
    thrum_event_init(&s->event, mode, false);
    CHECK_EQ(thrum_chan_create(&s->chan, sizeof(int), 4), 0);
    ends_open_half(&s->e, k);
}

static void scene_end(scene *s) {
    ends_close(&s->e);
    CHECK_EQ(thrum_chan_destroy(s->chan), 0);
    CHECK_EQ(thrum_event_destroy(&s->event), 0);
    rig_stop(&s->r);
}

static int selects(void *arg) {
    scene *s = ((actor *)arg)->arg;
    thrum_case cases[] = {THRUM_RECV_CASE(s->chan, &s->element), THRUM_EVENT_CASE(&s->event),
                          thrum_io_case(s->e.io[0], THRUM_IO_READ)};
    s->result = thrum_select(cases, CASES, s->deadline);
    s->status = s->result < 0 ? 0 : cases[s->result].status;
    atomic_fetch_add(&s->step, 1);
    return 0;
}

static bool stands(scene *s) {
    return IO_WATCHING(s->e.io[0], THRUM_IO_READ) == 1;
}

static void make_happen(scene *s, int which) {
    const int element = 7;
    if (which == CHAN) {
        CHECK_EQ(thrum_chan_send(s->chan, &element), 0);
    } else if (which == EVENT) {
        thrum_event_signal(&s->event);
    } else {
        put(s->e.fds[1], "x");
        await_readable(s->e.fds[0]);
    }
}

/* All cases are as if nothing had happened. */
static void check_left(scene *s) {
    CHECK_EQ(thrum_chan_len(s->chan), 0);
    CHECK(!thrum_event_test(&s->event));
    CHECK_EQ(IO_WATCHING(s->e.io[0], THRUM_IO_READ), 0);
    CHECK_EQ(EVENT_WAITING(&s->event), 0);
    CHECK_EQ(drain(s->e.fds[0], 1), 0);
}

static void check_happened(scene *s, int which) {
    CHECK_EQ(s->result, which);
    CHECK_EQ(s->status, 0);
    if (which == CHAN) {
        CHECK_EQ(s->element, 7);
    } else if (which == IO) {
        CHECK_EQ(drain(s->e.fds[0], 1), 1); /* it has taken nothing */
    } else if (s->event.reserved_mode == THRUM_EVENT_MANUAL) {
        CHECK(thrum_event_test(&s->event));
        thrum_event_clear(&s->event);
    }
    check_left(s);
}

TEST(what_is_there_already_happens_at_once) {
    /* Each kind of case; also with a deadline in the past. */
    for (int k = 0; k < 4; k++) {
        scene s;
        scene_begin(&s, k % 2 ? THRUM_EVENT_AUTO : THRUM_EVENT_MANUAL, k % 2 ? TCP : PIPE);
        for (int i = 0; i < 2 * CASES; i++) {
            s.deadline = k < 2 ? THRUM_FOREVER : 0;
            make_happen(&s, i / 2);
            cast *c = cast_new(&s.r);
            cast_add(c, i % 2 == 0, selects, &s);
            cast_join(c);
            check_happened(&s, i / 2);
        }
        scene_end(&s);
    }
}

TEST(what_comes_later_ends_the_wait) {
    /* Each kind of case, for a fiber and for a plain thread. */
    for (int k = 0; k < 2; k++) {
        scene s;
        scene_begin(&s, k ? THRUM_EVENT_AUTO : THRUM_EVENT_MANUAL, k ? UNIX : TCP);
        for (int i = 0; i < 4 * CASES; i++) {
            cast *c = cast_new(&s.r);
            cast_add(c, i % 2 == 0, selects, &s);
            SPIN_UNTIL(stands(&s));
            make_happen(&s, i / 2 % CASES);
            cast_join(c);
            check_happened(&s, i / 2 % CASES);
        }
        scene_end(&s);
    }
}

TEST(a_close_is_the_status_of_its_case) {
    /* While the select waits, and when it comes later; so is a channel's. */
    for (int i = 0; i < 4; i++) {
        scene s;
        scene_begin(&s, THRUM_EVENT_AUTO, UNIX);
        cast *c = cast_new(&s.r);
        cast_add(c, i % 2 == 0, selects, &s);
        SPIN_UNTIL(stands(&s));
        if (i < 2) {
            CHECK_EQ(thrum_io_close(s.e.io[0]), 0);
        } else {
            CHECK_EQ(thrum_chan_close(s.chan), 0);
        }
        cast_join(c);
        CHECK_EQ(s.result, i < 2 ? IO : CHAN);
        CHECK_EQ(s.status, i < 2 ? -EBADF : -EPIPE);
        actor again = {.arg = &s};
        selects(&again);
        CHECK_EQ(s.result, i < 2 ? IO : CHAN);
        CHECK_EQ(s.status, i < 2 ? -EBADF : -EPIPE);
        if (i < 2) {
            CHECK_EQ(close(s.e.fds[1]), 0);
            ends_open_half(&s.e, UNIX);
        }
        scene_end(&s);
    }
}

TEST(a_deadline_ends_it_with_nothing_taken) {
    /* For fibers, plain threads, and with a deadline in the past. */
    scene s;
    scene_begin(&s, THRUM_EVENT_AUTO, TCP);
    for (int i = 0; i < 4; i++) {
        s.deadline = i < 2 ? soon() : 0;
        cast *c = cast_new(&s.r);
        cast_add(c, i % 2 == 0, selects, &s);
        cast_join(c);
        CHECK_EQ(s.result, -ETIMEDOUT);
        check_left(&s);
    }
    scene_end(&s);
}

static int selects_in_scope(void *arg) {
    actor a = {.arg = arg};
    return selects(&a);
}

TEST(a_cancel_ends_it_with_nothing_taken) {
    /* The task is told, and stands nowhere any more. */
    scene s;
    thrum_handle *handle;
    scene_begin(&s, THRUM_EVENT_AUTO, TCP);
    thrum_attr attr = rig_attr(&s.r);
    CHECK_EQ(thrum_spawn_with(&handle, &attr, selects_in_scope, &s), 0);
    SPIN_UNTIL(stands(&s));
    CHECK_EQ(thrum_cancel(handle), 0);
    CHECK_EQ(thrum_join(handle, NULL), 0);
    CHECK_EQ(s.result, -ECANCELED);
    check_left(&s);
    scene_end(&s);
}

TEST(room_to_write_is_a_case) {
    /* At once, or when the other side has taken something. */
    scene s;
    scene_begin(&s, THRUM_EVENT_AUTO, UNIX);
    thrum_case cases[] = {THRUM_EVENT_CASE(&s.event), thrum_io_case(s.e.io[0], THRUM_IO_WRITE)};
    CHECK_EQ(thrum_select(cases, 2, THRUM_FOREVER), 1);
    const size_t much = fill(s.e.fds[0]);
    CHECK_EQ(thrum_select(cases, 2, soon()), -ETIMEDOUT);
    for (size_t got = 0; got < much;) { /* where the pair is TCP, some of it may be on its way */
        got += drain(s.e.fds[1], much - got);
    }
    CHECK_EQ(thrum_select(cases, 2, THRUM_FOREVER), 1);
    scene_end(&s);
}

TEST(of_several_that_can_happen_each_does) {
    /* Each of the three is drawn now and then, and only the drawn one is taken. */
    scene s;
    int seen[CASES] = {0};
    scene_begin(&s, THRUM_EVENT_AUTO, UNIX);
    for (int which = 0; which < CASES; which++) {
        make_happen(&s, which);
    }
    for (int i = 0; i < 2000 && (!seen[CHAN] || !seen[EVENT] || !seen[IO]); i++) {
        actor a = {.arg = &s};
        selects(&a);
        CHECK(s.result >= 0 && s.status == 0);
        seen[s.result]++;
        CHECK_EQ(thrum_chan_len(s.chan), s.result != CHAN);
        CHECK_EQ(thrum_event_is_signaled(&s.event), s.result != EVENT);
        if (s.result != IO) {
            make_happen(&s, s.result);
        }
    }
    CHECK(seen[CHAN] && seen[EVENT] && seen[IO]);
    CHECK(thrum_event_test(&s.event));
    scene_end(&s);
}

TEST(cases_that_make_no_sense_are_refused) {
    /* No kind, both directions, too many descriptors; those that are none never happen. */
    scene s;
    scene_begin(&s, THRUM_EVENT_AUTO, UNIX);
    thrum_case cases[THRUM_SELECT_IO_MAX + 1];
    thrum_event *none = NULL;
    cases[0] = thrum_io_case(s.e.io[0], THRUM_IO_READ | THRUM_IO_WRITE);
    CHECK_EQ(thrum_select(cases, 1, THRUM_FOREVER), -EINVAL);
    cases[0] = thrum_io_case(s.e.io[0], 0);
    CHECK_EQ(thrum_select(cases, 1, THRUM_FOREVER), -EINVAL);
    cases[0] = (thrum_case){.kind = 9};
    CHECK_EQ(thrum_select(cases, 1, THRUM_FOREVER), -EINVAL);
    cases[0] = (thrum_case){.kind = THRUM_CASE_OTHER};
    CHECK_EQ(thrum_select(cases, 1, THRUM_FOREVER), -EINVAL);
    cases[0] = (thrum_case){.chan = s.chan, .kind = THRUM_CASE_EVENT};
    CHECK_EQ(thrum_select(cases, 1, THRUM_FOREVER), -EINVAL);
    for (int i = 0; i <= THRUM_SELECT_IO_MAX; i++) {
        cases[i] = thrum_io_case(s.e.io[0], THRUM_IO_READ);
    }
    CHECK_EQ(thrum_select(cases, THRUM_SELECT_IO_MAX + 1, THRUM_FOREVER), -EINVAL);
    CHECK_EQ(thrum_select(cases, THRUM_SELECT_IO_MAX, soon()), -ETIMEDOUT);
    cases[0] = THRUM_EVENT_CASE(none);
    cases[1] = THRUM_RECV_CASE(NULL, NULL);
    CHECK_EQ(thrum_select(cases, 2, soon()), -ETIMEDOUT);
    const thrum_io nothing = {0, 0};
    cases[0] = thrum_io_case(nothing, THRUM_IO_READ);
    CHECK_EQ(thrum_select(cases, 1, THRUM_FOREVER), 0);
    CHECK_EQ(cases[0].status, -EBADF);
    scene_end(&s);
}

static int selects_one_of_many(void *arg) {
    scene *s = ((actor *)arg)->arg;
    enum { MANY = THRUM_SELECT_FRAME + 8 };
    thrum_case cases[MANY];
    for (int i = 0; i < MANY; i++) {
        cases[i] = i == 3 ? thrum_io_case(s->e.io[0], THRUM_IO_READ) : THRUM_EVENT_CASE(NULL);
    }
    for (int n = 4; n <= MANY; n += 34) {
        int happened = thrum_select(cases, (size_t)n, THRUM_FOREVER);
        CHECK_EQ(happened, 3);
        CHECK_EQ(drain(s->e.fds[0], 1), 1);
        atomic_fetch_add(&s->step, 1);
    }
    return 0;
}

TEST(there_may_be_many_cases) {
    /* As many as fit a small frame, a large one, and more. */
    scene s;
    scene_begin(&s, THRUM_EVENT_AUTO, UNIX);
    for (int i = 0; i < 2; i++) {
        cast *c = cast_new(&s.r);
        cast_add(c, i == 0, selects_one_of_many, &s);
        for (int k = 0; k < 3; k++) {
            SPIN_UNTIL(stands(&s) && atomic_load(&s.step) == 3 * i + k);
            put(s.e.fds[1], "x");
        }
        cast_join(c);
    }
    scene_end(&s);
}

TEST(what_the_system_refuses_comes_back) {
    /* A plain thread gets no wake-up, a fiber no set; nothing is taken, and the next one waits. */
    scene s;
    scene_begin(&s, THRUM_EVENT_AUTO, UNIX);
    for (int i = 0; i < 2; i++) {
        /* Not once: a worker that looks at another's set may open its own at this moment. */
        th_os_fail(i == 0 ? TH_OS_FAULT_POLLSET_ADD : TH_OS_FAULT_EVENTFD, 0, UINT32_MAX);
        cast *c = cast_new(&s.r);
        cast_add(c, i == 0, selects, &s);
        cast_join(c);
        th_os_fail(i == 0 ? TH_OS_FAULT_POLLSET_ADD : TH_OS_FAULT_EVENTFD, 0, 0);
        CHECK_EQ(s.result, i == 0 ? -ENOMEM : -EMFILE);
        check_left(&s);
        c = cast_new(&s.r);
        cast_add(c, i == 0, selects, &s);
        SPIN_UNTIL(stands(&s));
        make_happen(&s, EVENT);
        cast_join(c);
        check_happened(&s, EVENT);
    }
    scene_end(&s);
}

static int takes_all(void *arg) {
    scene *s = ((actor *)arg)->arg;
    char byte;
    for (;;) {
        thrum_case cases[] = {thrum_io_case(s->e.io[0], THRUM_IO_READ),
                              THRUM_EVENT_CASE(&s->event)};
        int happened = thrum_select(cases, 2, THRUM_FOREVER);
        if (happened == 1) {
            return 0;
        }
        CHECK_EQ(happened, 0);
        int64_t n = thrum_read_until(s->e.io[0], &byte, 1, soon());
        CHECK(n == 1 || n == -ETIMEDOUT); /* another one was faster */
        if (n == 1 && atomic_fetch_add(&s->step, 1) == 199) {
            thrum_event_signal(&s->event);
        }
    }
}

TEST(several_share_a_descriptor) {
    /* Every byte is got by one of them, and all see the event in the end. */
    scene s;
    scene_begin(&s, THRUM_EVENT_MANUAL, UNIX);
    cast *c = cast_new(&s.r);
    cast_add_mixed(c, 3, 2, takes_all, &s);
    for (int i = 0; i < 200; i++) {
        put(s.e.fds[1], "x");
    }
    cast_join(c);
    CHECK_EQ(atomic_load(&s.step), 200);
    thrum_event_clear(&s.event);
    scene_end(&s);
}

TEST(events_and_channels_alone_need_no_descriptor) {
    /* A select of an event and a channel, in a fiber and a plain thread, from both ends. */
    scene s;
    scene_begin(&s, THRUM_EVENT_AUTO, UNIX);
    const thrum_io io = s.e.io[0];
    s.e.io[0] = (thrum_io){0, 0};
    for (int i = 0; i < 2; i++) {
        thrum_case cases[] = {THRUM_RECV_CASE(s.chan, &s.element), THRUM_EVENT_CASE(&s.event)};
        make_happen(&s, i);
        CHECK_EQ(thrum_select(cases, 2, THRUM_FOREVER), i);
        CHECK_EQ(thrum_select(cases, 2, soon()), -ETIMEDOUT);
    }
    s.e.io[0] = io;
    scene_end(&s);
}

/* ---- beside the end of a task ---- */

typedef struct joined {
    rig r;
    ends e;
    thrum_event end;
    thrum_handle *handle;
} joined;

static int waits_for_end(void *arg) {
    return thrum_event_wait(&((joined *)arg)->end);
}

static int selects_on_both(void *arg) {
    joined *j = arg;
    thrum_case cases[] = {thrum_io_case(j->e.io[0], THRUM_IO_READ), THRUM_JOIN_CASE(j->handle)};
    CHECK_EQ(thrum_select(cases, 2, soon()), -ETIMEDOUT);
    put(j->e.fds[1], "x");
    CHECK_EQ(thrum_select(cases, 2, THRUM_FOREVER), 0);
    char text[2];
    CHECK_EQ(thrum_read(j->e.io[0], text, sizeof text), 1);
    thrum_event_signal(&j->end);
    CHECK_EQ(thrum_select(cases, 2, THRUM_FOREVER), 1);
    CHECK_EQ(cases[1].status, 0);
    CHECK_EQ(thrum_join(j->handle, NULL), 0);
    return 0;
}

TEST(a_task_ends_beside_a_descriptor) {
    /* In a task, and in a plain thread, which waits in the system meanwhile. */
    joined j;
    rig_begin(&j.r, 0);
    ends_open_half(&j.e, UNIX);
    for (int plain = 0; plain < 2; plain++) {
        thrum_attr attr = rig_attr(&j.r);
        thrum_event_init(&j.end, THRUM_EVENT_MANUAL, false);
        CHECK_EQ(thrum_spawn_with(&j.handle, &attr, waits_for_end, &j), 0);
        CHECK_EQ(plain ? selects_on_both(&j) : rig_run(&j.r, selects_on_both, &j), 0);
    }
    ends_close(&j.e);
    rig_stop(&j.r);
}
