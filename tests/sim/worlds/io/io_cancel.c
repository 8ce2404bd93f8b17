/*
 * io_cancel.c: a cancelled read beside an event and a close (io/DIRECTION.md, R3, R5;
 * core/wait/WAITING.md, "Cancelling"). Each read ends once, with the byte or with a code for the
 * reason; its memory is freed as soon as it has returned. A byte that no read has got lies there
 * still, and a readiness that a cancelled read leaves behind goes to the next one.
 */
#include <errno.h>

#include <thrum/io.h>

#include "base/atomic.h"
#include "core/state/handle.h"
#include "core/state/worker.h"
#include "platform/sim/outside.h"
#include "whole.h"

static thrum_sched *sched;
static int fds[2];
static thrum_io io;
static int data;     /* plain: the writer's earlier writes */
static bool closing; /* the descriptor is closed at any time */

static void begin(unsigned workers) {
    thrum_config config = whole_config(workers);
    sim_pipe(fds);
    th_os_io_nonblocking(fds[1], true);
    sim_check(thrum_io_adopt(&io, fds[0]) == 0);
    sched = whole_start(&config);
}

/* Whether it was closed before; `left`: a byte lies there. */
static void end(bool closed, bool left) {
    char byte;
    whole_stop(sched);
    if (!closed) {
        sim_check(th_os_io_read(fds[0], TH_OS_PIPE, &byte, 1) == (left ? 1 : -EAGAIN));
        sim_check(thrum_io_close(io) == 0);
    }
    th_os_io_close(fds[1]);
    sim_check(sim_descriptors() == 0);
}

static thrum_handle *spawn(thrum_fn fn, void *arg) {
    thrum_attr attr = THRUM_ATTR_INIT;
    thrum_handle *handle;
    attr.sched = sched;
    sim_check(thrum_spawn_with(&handle, &attr, fn, arg) == 0);
    return handle;
}

static int join(thrum_handle *handle) {
    int result = 7;
    sim_check(thrum_join(handle, &result) == 0);
    return result;
}

/*
 * Reads into memory that goes as soon as the read has returned. `arg`: with a deadline, far off; if
 * the clock comes there, that is as good as a cancel.
 */
static int reads(void *arg) {
    char *byte = sim_alloc(1);
    int code =
        (int)(arg ? thrum_read_until(io, byte, 1, thrum_after_s(1000)) : thrum_read(io, byte, 1));
    sim_check(code != 1 || (*byte == 'a' && data == 1));
    sim_free(byte);
    return arg && code == -ETIMEDOUT ? -ECANCELED : code;
}

static void writes(void *unused) {
    (void)unused;
    data = 1;
    int64_t n = th_os_io_write(fds[1], TH_OS_PIPE, "a", 1);
    sim_check(n == 1 || (closing && n == -EPIPE));
}

static void closes(void *unused) {
    (void)unused;
    sim_check(thrum_io_close(io) == 0);
}

/* ---- one read ---- */

/* It has the byte, or is cancelled, and then the byte is there. */
SIM_WORLD(io_cancel_event, .heavy = true, .keeps_memory = true) {
    begin(1);
    thrum_handle *handle = spawn(reads, sim_pick(2) ? &io : NULL);
    int t = sim_spawn(writes, NULL);
    sim_check(thrum_cancel(handle) == 0);
    int code = join(handle);
    sim_join(t);
    sim_check(code == 1 || code == -ECANCELED);
    end(false, code != 1);
}

/* A cancel and a close both want it. */
SIM_WORLD(io_cancel_close, .heavy = true, .keeps_memory = true) {
    begin(1);
    thrum_handle *handle = spawn(reads, sim_pick(2) ? &io : NULL);
    int t = sim_spawn(closes, NULL);
    sim_check(thrum_cancel(handle) == 0);
    int code = join(handle);
    sim_join(t);
    sim_check(code == -EBADF || code == -ECANCELED);
    end(true, false);
}

/* All three. */
SIM_WORLD(io_cancel_event_close, .heavy = true, .keeps_memory = true) {
    closing = true;
    begin(1);
    thrum_handle *handle = spawn(reads, sim_pick(2) ? &io : NULL);
    int writer = sim_spawn(writes, NULL);
    int closer = sim_spawn(closes, NULL);
    sim_check(thrum_cancel(handle) == 0);
    int code = join(handle);
    sim_join(writer);
    sim_join(closer);
    sim_check(code == 1 || code == -EBADF || code == -ECANCELED);
    end(true, false);
}

/* ---- two reads ---- */

/*
 * Either may be the holder, and the other one is queued. One is cancelled: the other one gets the
 * byte, unless the cancelled one has got it. Then only the close ends it.
 */
SIM_WORLD(io_cancel_next, .heavy = true, .keeps_memory = true) {
    begin(2);
    thrum_handle *cancelled = spawn(reads, sim_pick(2) ? &io : NULL);
    thrum_handle *other = spawn(reads, NULL);
    int t = sim_spawn(writes, NULL);
    sim_check(thrum_cancel(cancelled) == 0);
    int code = join(cancelled);
    sim_join(t);
    sim_check(code == 1 || code == -ECANCELED);
    if (code == 1) {
        closes(NULL);
    }
    sim_check(join(other) == (code == 1 ? -EBADF : 1));
    end(code == 1, false);
}
