/*
 * io.c: the two directions of a descriptor (io/DIRECTION.md): calls against events, short reads,
 * the receiver of a readiness that several wait for, deadlines. By fibers, plain threads and
 * mixtures of them; a separate thread has the events (crew_io). A writer's earlier writes are plain
 * data, and a readiness that is lost is a deadlock. Closing is in io_close.c.
 */
#include <errno.h>

#include <thrum/io.h>

#include "base/atomic.h"
#include "core/state/fiber_state.h"
#include "core/state/worker.h"
#include "crew.h"
#include "io/call.h"
#include "platform/sim/outside.h"

#define SOON 300 /* about as long as a few steps take */

static int fds[2];
static int other[2]; /* opens the set, where the descriptor itself is joined by a call */
static thrum_io io, dummy;
static int data;      /* plain: the writer's earlier writes */
static uint32_t xgot; /* bytes that have been read */

static void take_over(thrum_io *out, int fd, bool joins) {
    sim_check(thrum_io_adopt(out, fd) == 0);
    if (joins) {
        sim_check(th_record_join(th_record_at(fd), out->turn, crew_bare_sched()) == 0);
    }
}

/* fds[0] is taken over; it is in the set of the fibers, or will be when one has to wait. */
static void take_over_either(void) {
    bool fibers = crew_bare_sched()->workers != NULL;
    bool joins = fibers && sim_pick(2);
    sim_pipe(other);
    take_over(&io, fds[0], joins);
    take_over(&dummy, other[0], fibers && !joins);
}

static void pipe_made(void) {
    sim_pipe(fds);
    th_os_io_nonblocking(fds[1], true);
    take_over_either();
}

static void all_closed(void) {
    sim_check(thrum_io_close(io) == 0);
    sim_check(thrum_io_close(dummy) == 0);
    th_os_io_close(other[1]);
    if (fds[1] >= 0) {
        th_os_io_close(fds[1]);
    }
}

#define IO_WORLDS(name, play, ...)                                                                 \
    SIM_WORLD(name##_threads, .keeps_memory = true, __VA_ARGS__) {                                 \
        crew_threads(&(play));                                                                     \
    }                                                                                              \
    SIM_WORLD(name##_io, .keeps_memory = true) {                                                   \
        crew_io(&(play));                                                                          \
    }

/* ---- one reader (R1, R8) ---- */

static void reads_one(void *unused) {
    char byte = 0;
    (void)unused;
    sim_check(thrum_read(io, &byte, 1) == 1);
    sim_check(byte == 'a' && data == 1);
    /* relaxed: only how many there are */
    th_add_relaxed(&xgot, 1u);
    crew_scrub();
}

static void writes_one(void *unused) {
    (void)unused;
    data = 1;
    sim_check(th_os_io_write(fds[1], TH_OS_PIPE, "a", 1) == 1);
}

/* A byte comes before a read, between its -EAGAIN and its wait, or behind. */
static const crew_play one = {pipe_made, all_closed, 2, {reads_one, writes_one}};
IO_WORLDS(io_one, one)

static void reads_two(void *unused) {
    reads_one(unused);
    reads_one(unused);
}

static void writes_two(void *unused) {
    writes_one(unused);
    sim_check(th_os_io_write(fds[1], TH_OS_PIPE, "a", 1) == 1);
}

/* Two bytes make two events, or one. */
static const crew_play twice = {pipe_made, all_closed, 2, {reads_two, writes_two}};
IO_WORLDS(io_twice, twice)

/* ---- short reads, with the end behind them (R2) ---- */

static th_os_kind kind;

static void pair_made(void) {
    kind = sim_pick(3) ? (sim_pick(2) ? TH_OS_TCP : TH_OS_STREAM) : TH_OS_PIPE;
    if (kind == TH_OS_PIPE) {
        pipe_made();
        return;
    }
    sim_pair(kind, fds);
    take_over_either();
}

static void writes_and_ends(void *unused) {
    (void)unused;
    data = 1;
    sim_check(th_os_io_write(fds[1], kind, "a", 1) == 1);
    sim_check(th_os_io_write(fds[1], kind, "a", 1) == 1);
    th_os_io_close(fds[1]);
    fds[1] = -1;
}

static void reads_to_the_end(void *unused) {
    char bytes[3];
    int64_t n;
    unsigned got = 0;
    (void)unused;
    while ((n = thrum_read(io, bytes, sizeof bytes)) > 0) {
        sim_check(data == 1);
        got += (unsigned)n;
    }
    sim_check(n == 0 && got == 2);
}

static const crew_play to_the_end = {pair_made, all_closed, 2, {reads_to_the_end, writes_and_ends}};
IO_WORLDS(io_end, to_the_end)

static void reads_full(void *unused) {
    char bytes[3];
    (void)unused;
    sim_check(thrum_read_full(io, bytes, sizeof bytes, THRUM_FOREVER) == 2);
    sim_check(thrum_read_full(io, bytes, sizeof bytes, THRUM_FOREVER) == 0);
}

static const crew_play full = {pair_made, all_closed, 2, {reads_full, writes_and_ends}};
IO_WORLDS(io_full, full)

/* ---- a writer that waits for room ---- */

static void writer_made(void) {
    kind = sim_pick(2) ? TH_OS_TCP : TH_OS_PIPE;
    if (kind == TH_OS_PIPE) {
        int ends[2];
        sim_pipe(ends);
        th_os_io_nonblocking(ends[0], true);
        fds[0] = ends[1];
        fds[1] = ends[0];
    } else {
        sim_pair(kind, fds);
    }
    take_over_either();
}

static void writes_seven(void *unused) {
    (void)unused;
    data = 1;
    sim_check(thrum_write(io, "abcdefg", 7) == 7);
}

static void reads_seven_raw(void *unused) {
    unsigned got = 0;
    (void)unused;
    while (got < 7) {
        char bytes[4];
        int64_t n = th_os_io_read(fds[1], kind, bytes, sizeof bytes);
        if (n == -EAGAIN) {
            crew_give_way();
        }
        for (int64_t i = 0; i < n; i++) {
            sim_check(bytes[i] == "abcdefg"[got++] && data == 1);
        }
    }
}

static const crew_play room = {writer_made, all_closed, 2, {writes_seven, reads_seven_raw}};
IO_WORLDS(io_room, room)

/* ---- several readers, one event (R3) ---- */

static void two_read(void) {
    sim_check(xgot == 2);
    all_closed();
}

static void writes_two_at_once(void *unused) {
    (void)unused;
    data = 1;
    sim_check(th_os_io_write(fds[1], TH_OS_PIPE, "aa", 2) == 2);
}

/* One event, two readers of a byte each: the first hands the readiness on. */
static const crew_play two_readers = {
    pipe_made, two_read, 3, {reads_one, reads_one, writes_two_at_once}};
IO_WORLDS(io_two_readers, two_readers)

static void reads_until_soon(void *unused) {
    char byte = 0;
    (void)unused;
    int64_t n = thrum_read_until(io, &byte, 1, thrum_now() + SOON);
    sim_check(n == -ETIMEDOUT || (n == 1 && byte == 'a' && data == 1));
    if (n == 1) {
        th_add_relaxed(&xgot, 1u); /* relaxed: as above */
    }
    crew_scrub();
}

static void one_or_two_read(void) {
    char byte;
    sim_check(xgot == 1 || xgot == 2);
    int64_t n = th_os_io_read(fds[0], TH_OS_PIPE, &byte, 1);
    sim_check(xgot == 2 ? n == -EAGAIN : n == 1);
    all_closed();
}

/* The deadline of one reader comes at the moment of the event: the other one gets the readiness. */
static const crew_play deadline = {
    pipe_made, one_or_two_read, 3, {reads_until_soon, reads_one, writes_two_at_once}};
IO_WORLDS(io_deadline, deadline)

/* ---- accepting: one event, several connections ---- */

static void listener_made(void) {
    fds[0] = sim_listener(TH_OS_TCP, 4);
    th_os_io_nonblocking(fds[0], true);
    fds[1] = -1;
    take_over_either();
}

static void accepts(void *unused) {
    (void)unused;
    th_inside inside;
    int fd;
    sim_check(th_inside_enter(&inside, io, THRUM_IO_READ, THRUM_FOREVER) == 0);
    do {
        sim_check(th_inside_await(&inside) == 0);
        fd = th_os_io_accept(inside.record->fd);
        if (fd == -EAGAIN) {
            th_inside_again(&inside);
        }
    } while (fd == -EAGAIN);
    sim_check(fd >= 0);
    th_inside_leave(&inside, TH_LEFT_MORE);
    th_os_io_close(fd);
}

static void connects_two(void *unused) {
    (void)unused;
    sim_end a = sim_connect(fds[0]);
    sim_end b = sim_connect(fds[0]);
    sim_check(a && b);
    sim_outside_close(a);
    sim_outside_close(b);
}

static const crew_play accepting = {listener_made, all_closed, 3, {accepts, accepts, connects_two}};
IO_WORLDS(io_accept, accepting)

/* ---- waiting for readiness only ---- */

static void watches(void *unused) {
    (void)unused;
    sim_check(thrum_io_wait(io, THRUM_IO_READ, THRUM_FOREVER) == (int)THRUM_IO_READ);
    crew_scrub();
}

static void watches_then_reads(void *unused) {
    watches(unused);
    reads_one(unused);
}

/*
 * A watcher and a reader get the same event; the watcher waits again for bytes that the reader
 * takes.
 */
static const crew_play watched = {
    pipe_made, all_closed, 3, {watches_then_reads, reads_one, writes_two_at_once}};
IO_WORLDS(io_watch, watched)

static const crew_play watched_alone = {pipe_made, all_closed, 2, {watches, writes_one}};
IO_WORLDS(io_watch_alone, watched_alone)

/* ---- one byte after the other ---- */

static void writes_in_turn(void *unused) {
    writes_one(unused);
    crew_until(th_load_relaxed(&xgot) == 1); /* relaxed: only how many there are */
    sim_check(th_os_io_write(fds[1], TH_OS_PIPE, "a", 1) == 1);
}

/* Two bytes, the second one written when the first was read: each makes an event. */
static const crew_play in_turn = {pipe_made, all_closed, 3, {reads_one, reads_one, writes_in_turn}};
IO_WORLDS(io_in_turn, in_turn)

/* ---- notifying (R15) ---- */

static uint32_t xtold; /* the subject of the notification */

/* A caller that looks at the flag before each try, and finds nothing in the system. */
static void waits_to_be_told(void *unused) {
    th_inside inside;
    (void)unused;
    if (!th_fiber_self()) {
        return; /* a plain thread asks the system */
    }
    sim_check(th_inside_enter(&inside, io, THRUM_IO_READ, THRUM_FOREVER) == 0);
    while (!th_load_relaxed(&xtold)) { /* relaxed: the notification orders it */
        if (inside.ready) {
            th_inside_again(&inside);
        }
        sim_check(th_inside_await(&inside) == 0);
    }
    th_inside_leave(&inside, TH_LEFT_MORE);
    crew_scrub();
}

static void passes_through(void *unused) {
    th_inside inside;
    (void)unused;
    sim_check(th_inside_enter(&inside, io, THRUM_IO_READ, THRUM_FOREVER) == 0);
    th_inside_leave(&inside, TH_LEFT_NOTHING);
}

static void tells(void *unused) {
    (void)unused;
    th_store_relaxed(&xtold, 1u); /* relaxed: the notification publishes it */
    th_direction_tell(&th_record_at(fds[0])->directions[0]);
}

/*
 * The notification may find the caller before its entry, inside, handed the direction, or
 * waiting.
 */
static const crew_play told = {pipe_made, all_closed, 3, {waits_to_be_told, passes_through, tells}};
SIM_WORLD(io_told_io, .keeps_memory = true) {
    crew_io(&told);
}

static const crew_play two_told = {
    pipe_made, all_closed, 3, {waits_to_be_told, waits_to_be_told, tells}};
SIM_WORLD(io_told_two_io, .keeps_memory = true) {
    crew_io(&two_told);
}
