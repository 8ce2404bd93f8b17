/*
 * select_io.c: a select among a channel, an event and a descriptor (src/sync/CHANNELS.md, "Select";
 * io/DIRECTION.md, R14): against the actions that make its cases happen, one or two at a time, a
 * close, and the deadline. A case that it reports as taken is taken, the rest is still there. By
 * fibers and plain threads; a separate thread has the events (crew_io).
 */
#include <errno.h>

#include <thrum/chan.h>
#include <thrum/event.h>
#include <thrum/io.h>

#include "core/state/worker.h"
#include "crew.h"
#include "io/record.h"
#include "platform/sim/outside.h"

#define SOON 300 /* about as long as a few steps take */

enum { CHAN, EVENT, IO, CASES };

static int fds[2];
static thrum_io io;
static thrum_chan *chan;
static thrum_event *event;
static int data[CASES]; /* plain: the earlier writes of the thread that makes it happen */
static int got;         /* the select's result */
static int status;
static bool given[CASES]; /* the cases made to happen */
static bool closed;
static int anew[2]; /* the next owners of the number */
static thrum_io again;

static void make(size_t capacity, thrum_event_mode mode) {
    sim_pipe(fds);
    th_os_io_nonblocking(fds[1], true);
    sim_check(thrum_io_adopt(&io, fds[0]) == 0);
    if (crew_bare_sched()->workers) {
        sim_check(th_record_join(th_record_at(fds[0]), io.turn, crew_bare_sched()) == 0);
    }
    sim_check(thrum_chan_create(&chan, sizeof(int), capacity) == 0);
    event = sim_alloc(sizeof *event);
    thrum_event_init(event, mode, false);
}

static void make_auto(void) {
    make(1, THRUM_EVENT_AUTO);
}

static void make_manual(void) {
    make(1, THRUM_EVENT_MANUAL);
}

static void make_rendezvous(void) {
    make(0, THRUM_EVENT_AUTO);
}

/* Things given and not taken are there, and the select is on no list. */
static void accounted_for(void) {
    int element;
    char byte;
    sim_check((thrum_chan_try_recv(chan, &element) == 0) == (given[CHAN] && got != CHAN));
    if (event->reserved_mode == THRUM_EVENT_AUTO) {
        sim_check(thrum_event_test(event) == (given[EVENT] && got != EVENT));
    }
    if (!closed) {
        sim_check((th_os_io_read(fds[0], TH_OS_PIPE, &byte, 1) == 1) == given[IO]);
        sim_check(thrum_io_close(io) == 0);
    }
    if (again.turn) {
        sim_check(thrum_io_close(again) == 0);
        th_os_io_close(anew[1]);
    }
    sim_check(thrum_chan_destroy(chan) == 0);
    thrum_event_clear(event);
    sim_check(thrum_event_destroy(event) == 0);
    sim_free(event);
    th_os_io_close(fds[1]);
}

#define SELECT_WORLDS(name, play, ...)                                                             \
    SIM_WORLD(name##_threads, .keeps_memory = true, __VA_ARGS__) {                                 \
        crew_threads(&(play));                                                                     \
    }                                                                                              \
    SIM_WORLD(name##_io, .keeps_memory = true) {                                                   \
        crew_io(&(play));                                                                          \
    }

/* ---- the select ---- */

static void select_until(thrum_time deadline) {
    int element = -1;
    thrum_case cases[] = {THRUM_RECV_CASE(chan, &element), THRUM_EVENT_CASE(event),
                          thrum_io_case(io, THRUM_IO_READ)};
    got = thrum_select(cases, CASES, deadline);
    crew_scrub(); /* the parts were there */
    status = got < 0 ? 0 : cases[got].status;
    if (got < 0) {
        sim_check(got == -ETIMEDOUT && deadline != THRUM_FOREVER);
    } else if (status == 0) {
        /* Nothing was read that orders a writer; a close at this moment may look like readiness. */
        sim_check(got == IO || data[got] == 1);
        sim_check((got == CHAN) == (element == 5));
    } else {
        sim_check(got == IO && status == -EBADF);
    }
}

static void selects(void *unused) {
    (void)unused;
    select_until(THRUM_FOREVER);
}

static void selects_until_soon(void *unused) {
    (void)unused;
    select_until(thrum_now() + SOON);
}

/* ---- the causes of its cases ---- */

static void sends(void *unused) {
    const int element = 5;
    (void)unused;
    data[CHAN] = 1;
    given[CHAN] = thrum_chan_send_until(chan, &element, thrum_now() + SOON) == 0;
    crew_scrub();
}

static void signals(void *unused) {
    (void)unused;
    data[EVENT] = 1;
    given[EVENT] = true;
    thrum_event_signal(event);
}

static void writes(void *unused) {
    (void)unused;
    given[IO] = th_os_io_write(fds[1], TH_OS_PIPE, "a", 1) == 1;
}

static void closes(void *unused) {
    (void)unused;
    closed = true;
    sim_check(thrum_io_close(io) == 0);
    crew_scrub();
}

/* The number comes back at once: the select does not belong to the new one, and is notified. */
static void closes_and_opens(void *unused) {
    closes(unused);
    sim_pipe(anew);
    sim_check(thrum_io_adopt(&again, anew[0]) == 0);
    crew_scrub();
}

/* ---- one by one ---- */

static const crew_play sent = {make_auto, accounted_for, 2, {selects, sends}};
SELECT_WORLDS(select_io_chan, sent, .exhaustive = false)

static const crew_play signaled = {make_auto, accounted_for, 2, {selects, signals}};
SELECT_WORLDS(select_io_event, signaled, .exhaustive = false)

static const crew_play signaled_all = {make_manual, accounted_for, 2, {selects, signals}};
SELECT_WORLDS(select_io_manual, signaled_all, .exhaustive = false)

static const crew_play written = {make_auto, accounted_for, 2, {selects, writes}};
SELECT_WORLDS(select_io_bytes, written, .exhaustive = false)

/* ---- several at once ---- */

static const crew_play sent_and_written = {make_auto, accounted_for, 3, {selects, sends, writes}};
SELECT_WORLDS(select_io_chan_bytes, sent_and_written, .exhaustive = false)

static const crew_play signaled_and_written = {
    make_auto, accounted_for, 3, {selects, signals, writes}};
SELECT_WORLDS(select_io_event_bytes, signaled_and_written, .exhaustive = false)

/* The sender waits for the select, or gives up. */
static const crew_play met = {make_rendezvous, accounted_for, 3, {selects, sends, signals}};
SELECT_WORLDS(select_io_rendezvous, met, .timers_max = 2)

/* ---- the end ---- */

static const crew_play late = {make_auto, accounted_for, 3, {selects_until_soon, sends, writes}};
SELECT_WORLDS(select_io_late, late, .timers_max = 2)

static const crew_play ended = {make_auto, accounted_for, 2, {selects, closes}};
SELECT_WORLDS(select_io_closed, ended, .exhaustive = false)

static const crew_play reused = {make_auto, accounted_for, 2, {selects, closes_and_opens}};
SELECT_WORLDS(select_io_reuse, reused, .exhaustive = false)

static const crew_play ended_and_signaled = {make_auto, NULL, 3, {selects, closes, signals}};
/* Whichever comes first; the other one is left. */
SIM_WORLD(select_io_closed_event_io, .keeps_memory = true) {
    crew_io(&ended_and_signaled);
    sim_check(got == EVENT || got == IO);
    sim_check(thrum_event_test(event) == (got != EVENT));
    sim_check(thrum_chan_destroy(chan) == 0);
    sim_free(event);
    th_os_io_close(fds[1]);
}
