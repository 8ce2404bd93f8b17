/*
 * io_close.c: a descriptor is closed, given back, or overridden while callers hold it, wait under
 * it or queue, and its number is taken over anew at once (io/DIRECTION.md, R5 to R7). A call under
 * the old name never takes a byte of the new one.
 */
#include <errno.h>

#include <thrum/io.h>

#include "base/atomic.h"
#include "core/inspect/world.h"
#include "core/state/worker.h"
#include "crew.h"
#include "io/record.h"
#include "platform/sim/outside.h"

#define SOON 300 /* about as long as a few steps take */

static int fds[2];
static int other[2]; /* opens the set, where the descriptor itself is joined by a call */
static thrum_io io, dummy;
static thrum_io again; /* the next owner of the number */
static int anew[2];    /* the pipe of that */
static th_os_identity meant;

static void take_over(thrum_io *out, int fd, bool joins) {
    sim_check(thrum_io_adopt(out, fd) == 0);
    if (joins) {
        sim_check(th_record_join(th_record_at(fd), out->turn, crew_bare_sched()) == 0);
    }
}

static void make(void) {
    bool fibers = crew_bare_sched()->workers != NULL;
    bool joins = fibers && sim_pick(2);
    sim_pipe(fds);
    th_os_io_nonblocking(fds[1], true);
    sim_pipe(other);
    take_over(&io, fds[0], joins);
    take_over(&dummy, other[0], fibers && !joins);
}

static void end(void) {
    char byte;
    sim_check(thrum_read_until(io, &byte, 1, THRUM_FOREVER) == -EBADF);
    sim_check(thrum_io_close(io) == -EBADF);
    sim_check(thrum_io_close(dummy) == 0);
    th_os_io_close(other[1]);
    th_os_io_close(fds[1]);
    if (again.turn) {
        sim_check(thrum_io_close(again) == 0);
        th_os_io_close(anew[1]);
    }
}

#define CLOSE_WORLDS(name, play)                                                                   \
    SIM_WORLD(name##_threads, .keeps_memory = true) {                                              \
        crew_threads(&(play));                                                                     \
    }                                                                                              \
    SIM_WORLD(name##_io, .keeps_memory = true) {                                                   \
        crew_io(&(play));                                                                          \
    }

/* ---- callers ---- */

/* A byte of the old pipe, if it was written in time. */
static void reads(void *unused) {
    char byte = 0;
    (void)unused;
    int64_t n = thrum_read(io, &byte, 1);
    sim_check(n == -EBADF || (n == 1 && byte == 'a'));
    crew_scrub();
}

static void reads_until_soon(void *unused) {
    char byte = 0;
    (void)unused;
    int64_t n = thrum_read_until(io, &byte, 1, thrum_now() + SOON);
    sim_check(n == -EBADF || n == -ETIMEDOUT || (n == 1 && byte == 'a'));
    crew_scrub();
}

static void watches(void *unused) {
    (void)unused;
    int code = thrum_io_wait(io, THRUM_IO_READ, THRUM_FOREVER);
    sim_check(code == -EBADF || code == (int)THRUM_IO_READ);
    crew_scrub();
}

static void writes(void *unused) {
    (void)unused;
    sim_check(th_os_io_write(fds[1], TH_OS_PIPE, "a", 1) >= -EPIPE);
}

/* ---- the end ---- */

static void closes(void *unused) {
    (void)unused;
    sim_check(thrum_io_close(io) == 0);
    crew_scrub();
}

/* The number comes back at once, and a byte is in the new pipe: nobody of the old ones gets it. */
static void takes_over_anew(void) {
    sim_pipe(anew);
    th_os_io_nonblocking(anew[1], true);
    sim_check(th_os_io_write(anew[1], TH_OS_PIPE, "zz", 2) == 2);
    sim_check(thrum_io_adopt(&again, anew[0]) == 0);
}

static void reads_anew(void) {
    char byte = 0;
    sim_check(thrum_read(again, &byte, 1) == 1 && byte == 'z');
}

static void closes_and_opens(void *unused) {
    closes(unused);
    takes_over_anew();
    reads_anew();
    crew_scrub();
}

static void closes_if_first(void *unused) {
    (void)unused;
    int code = thrum_io_close(io);
    sim_check(code == 0 || code == -EBADF);
    crew_scrub();
}

static void releases(void *unused) {
    (void)unused;
    sim_check(thrum_io_release(io) == fds[0]);
    th_os_io_close(fds[0]);
    crew_scrub();
}

/* ---- the plays (R5) ---- */

static const crew_play closed = {make, end, 3, {reads, closes, writes}};
CLOSE_WORLDS(io_close, closed)

/* One holds, or waits; one is queued behind it. */
static const crew_play closed_queue = {make, end, 3, {reads, reads, closes}};
CLOSE_WORLDS(io_close_queue, closed_queue)

static const crew_play closed_deadline = {make, end, 3, {reads_until_soon, reads, closes}};
CLOSE_WORLDS(io_close_deadline, closed_deadline)

static const crew_play closed_watch = {make, end, 3, {watches, closes, writes}};
CLOSE_WORLDS(io_close_watch, closed_watch)

/* Two close: one does. */
static const crew_play closed_twice = {make, end, 3, {reads, closes_if_first, closes_if_first}};
CLOSE_WORLDS(io_close_twice, closed_twice)

static const crew_play released = {make, end, 2, {reads, releases}};
CLOSE_WORLDS(io_release, released)

/* ---- the number again (R6, R7) ---- */

/*
 * A call that is about to enter, and an event that is about to be delivered, when the number
 * changes.
 */
static const crew_play reused = {make, end, 3, {reads, closes_and_opens, writes}};
CLOSE_WORLDS(io_reuse, reused)

static const crew_play reused_watch = {make, end, 2, {watches, closes_and_opens}};
CLOSE_WORLDS(io_reuse_watch, reused_watch)

/* ---- closed behind the library's back ---- */

static void loses_and_opens(void *unused) {
    (void)unused;
    th_os_io_close(fds[0]);
    takes_over_anew();
    reads_anew();
    crew_scrub();
}

/* The old one has been joined, and is not used at this moment. */
static const crew_play overridden = {make, end, 2, {writes, loses_and_opens}};
CLOSE_WORLDS(io_override, overridden)

/* A caller waits under the old one: it is notified. */
static void waits_till_told(void *unused) {
    char byte = 0;
    (void)unused;
    int64_t n = thrum_read(io, &byte, 1);
    sim_check(n == -EBADF || (n == 1 && byte == 'z')); /* or a false event came in between */
    crew_scrub();
}

/* relaxed: the world's own look at whether there is a caller */
static bool is_waited_for(void) {
    return (th_load_relaxed(&th_record_at(fds[0])->directions[0].xword) & 2u) != 0;
}

static void loses_under_a_caller(void *unused) {
    crew_until(is_waited_for());
    loses_and_opens(unused);
}

static const crew_play overridden_waiter = {make, end, 2, {waits_till_told, loses_under_a_caller}};
SIM_WORLD(io_override_waiter_io, .keeps_memory = true) {
    crew_io(&overridden_waiter);
}

/* ---- uses ---- */

/* As long as the use lasts the number is the old pipe's. */
static void uses(void *unused) {
    th_os_identity now = {0};
    th_os_kind kind;
    int code;
    (void)unused;
    th_record *record = th_record_use(io, &code);
    sim_check((record != NULL) == (code == 0));
    sim_check(code == 0 || code == -EBADF);
    if (record) {
        sim_check(th_os_io_kind(record->fd, &kind, &now) == 0);
        sim_check(now.inode == meant.inode);
        th_record_unuse(record);
    }
    crew_scrub();
}

static void make_used(void) {
    th_os_kind kind;
    make();
    sim_check(th_os_io_kind(fds[0], &kind, &meant) == 0);
}

/* Two uses, and a close; the last of the three gives the number up. */
static const crew_play used = {make_used, end, 4, {uses, uses, closes_and_opens, writes}};
CLOSE_WORLDS(io_used, used)

/*
 * The number comes back as soon as the uses have left it: their reads of the record come before it
 * is written anew.
 */
static void takes_the_number_anew(void) {
    for (;;) {
        sim_pipe(anew);
        if (anew[0] == fds[0]) {
            break;
        }
        th_os_io_close(anew[0]);
        th_os_io_close(anew[1]);
        crew_give_way();
    }
    sim_check(thrum_io_adopt(&again, anew[0]) == 0);
}

static void closes_and_takes_the_number(void *unused) {
    closes(unused);
    takes_the_number_anew();
    crew_scrub();
}

static const crew_play used_again = {make_used, end, 3, {uses, uses, closes_and_takes_the_number}};
CLOSE_WORLDS(io_used_again, used_again)

/*
 * The same with a descriptor that is given back: to its caller, or, while it is used, a
 * duplicate.
 */
static void gives_back_and_takes_the_number(void *unused) {
    th_os_identity now = {0};
    th_os_kind kind;
    (void)unused;
    const int fd = thrum_io_release(io);
    sim_check(fd >= 0 && th_os_io_kind(fd, &kind, &now) == 0 && now.inode == meant.inode);
    th_os_io_close(fd);
    takes_the_number_anew();
    crew_scrub();
}

static const crew_play used_released = {
    make_used, end, 3, {uses, uses, gives_back_and_takes_the_number}};
CLOSE_WORLDS(io_used_released, used_released)

/* ---- reports about a number (core/inspect/world.h) ---- */

/* As long as the turn lasts, reports describe the old pipe. */
static void tells(void *unused) {
    th_told said;
    (void)unused;
    if (th_world_known()->tell(&th_record_at(io.fd)->directions[0], io.turn, &said)) {
        sim_check((unsigned char)said.text[0] == meant.inode);
    }
    crew_scrub();
}

static const crew_play told_anew = {make_used, end, 2, {tells, closes_and_opens}};
CLOSE_WORLDS(io_told_anew, told_anew)
