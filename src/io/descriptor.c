/*
 * descriptor.c: taking descriptors over, giving them back, closing them.
 */
#include <errno.h>

#include "io/call.h"
#include "io/named.h"
#include "thrum/io.h"

int thrum_io_adopt(thrum_io *out, int fd) {
    return out ? th_record_adopt(out, fd, TH_OS_OTHER, false) : -EINVAL;
}

int th_quick_on(thrum_io io, th_quick_fn call, void *ctx) {
    int code;
    th_record *record = th_record_named(io, &code);
    if (!record) {
        return code;
    }
    TH_LOCKED(&record->lock);       /* the number stays ours: a close takes the lock first */
    if (record->xturn == io.turn) { /* written with the lock held */
        code = call(ctx, record);
    }
    return code;
}

static int lend(void *ctx, th_record *record) {
    (void)ctx;
    th_store_relaxed(&record->xfresh, false); /* relaxed: the caller may duplicate it from now on */
    return record->fd;
}

int thrum_io_fd(thrum_io io) {
    return th_quick_on(io, lend, NULL);
}

/* ---- closing ---- */

/*
 * Has all calls end that are under the descriptor, and the turn, too; 0: it is the caller's alone
 * then. `remains`: it stays open.
 */
static int end_turn(thrum_io io, th_record **out, bool remains) {
    int code;
    th_record *record = th_record_named(io, &code);
    if (!record) {
        return code;
    }
    th_lock_acquire(&record->lock);
    /* With the lock no other one takes the number over meanwhile. */
    bool ours = record->xturn == io.turn && th_direction_close(&record->directions[0]);
    if (ours) {
        (void)th_direction_close(&record->directions[1]);
    }
    th_lock_release(&record->lock);
    if (!ours) {
        return -EBADF;
    }
    th_direction_drain(&record->directions[0]);
    th_direction_drain(&record->directions[1]);
    TH_LOCKED(&record->lock);
    if (record->nonblocking) {
        (void)th_os_io_nonblocking(io.fd, false);
    }
    th_record_end(record, remains);
    *out = record;
    return 0;
}

int thrum_io_close(thrum_io io) {
    th_record *record;
    const int code = end_turn(io, &record, false);
    return code ? code : th_record_give_up(record, io.fd);
}

static int releases(void *ctx, th_record *record) {
    (void)ctx;
    return th_os_io_releases(record->fd);
}

int thrum_io_release(thrum_io io) {
    th_record *record;
    int code = th_quick_on(io, releases, NULL);
    code = code ? code : end_turn(io, &record, true);
    return code ? code : th_record_hand_over(record, io.fd);
}

static int shut(void *ctx, th_record *record) {
    const unsigned *bits = ctx;
    return th_os_io_shutdown(record->fd, *bits);
}

int thrum_io_shutdown(thrum_io io, unsigned bits) {
    if (!bits || bits & ~(THRUM_IO_READ | THRUM_IO_WRITE)) {
        return -EINVAL;
    }
    return th_quick_on(io, shut, &bits);
}
