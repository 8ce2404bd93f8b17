/*
 * stream_watch.c: a stream whose write has to wait, and is refused that: nothing is lost, so the
 * error does not stick. The same code of a full disk does.
 */
/* POSIX: wrap: epoll_ctl */
/* matrix: policy workers */
/* wrap: epoll_ctl */
#include "support/io/streams.h"

#include <sys/epoll.h>

static atomic_bool full; /* the user has as many descriptors in sets as may be */

int __real_epoll_ctl(int set, int what, int fd, struct epoll_event *event);
int __wrap_epoll_ctl(int set, int what, int fd, struct epoll_event *event);

int __wrap_epoll_ctl(int set, int what, int fd, struct epoll_event *event) {
    if (what == EPOLL_CTL_ADD && atomic_load(&full)) {
        errno = ENOSPC;
        return -1;
    }
    return __real_epoll_ctl(set, what, fd, event);
}

static char block[4 << 20]; /* more than a pipe holds, which is 16 pages of up to 64 KiB */

static int writes_too_much(void *arg) {
    pair *p = arg;
    int64_t n = thrum_stream_write(&p->stream, block, sizeof block);
    CHECK(n > 0 && n < (int64_t)sizeof block);
    CHECK_EQ(thrum_stream_write(&p->stream, "ab", 2), 2); /* to the buffer */
    CHECK_EQ(thrum_stream_flush(&p->stream), -ENOSPC);
    CHECK_EQ(thrum_stream_error(&p->stream), 0);
    CHECK_EQ(thrum_stream_unflushed(&p->stream), 2);
    CHECK_EQ(thrum_stream_write(&p->stream, "c", 1), 1);
    return (int)n;
}

static int flushes(void *arg) {
    pair *p = arg;
    CHECK_EQ(thrum_stream_flush(&p->stream), 0);
    return 0;
}

TEST(a_wait_that_is_refused_does_not_stick) {
    /* And when there is room, what was taken goes out. */
    NOT_BY_POSIX("limit of descriptors in sets");
    pair p;
    rig r;
    rig_begin(&r, 0);
    pair_writing(&p, 64);
    atomic_store(&full, true);
    const int n = rig_run(&r, writes_too_much, &p);
    atomic_store(&full, false);
    for (int left = n; left > 0;) {
        const ssize_t some =
            read(p.other, block, left < (int)sizeof block ? (size_t)left : sizeof block);
        CHECK(some > 0);
        left -= (int)some;
    }
    CHECK_EQ(rig_run(&r, flushes, &p), 0);
    demand(&p, "abc");
    pair_close(&p);
    rig_stop(&r);
}

static int fills_disk(void *arg) {
    thrum_stream *stream = arg;
    CHECK_EQ(thrum_stream_write(stream, "x", 1), 1);
    CHECK_EQ(thrum_stream_flush(stream), -ENOSPC);
    CHECK_EQ(thrum_stream_error(stream), -ENOSPC);
    CHECK_EQ(thrum_stream_write(stream, "y", 1), -ENOSPC);
    CHECK_EQ(thrum_stream_close(stream), -ENOSPC);
    return 0;
}

TEST(a_full_disk_sticks) {
    /* What the write itself says, with the same code. */
    thrum_stream stream;
    thrum_io io;
    rig r;
    rig_begin(&r, 0);
    int fd = open("/dev/full", O_WRONLY);
    CHECK(fd >= 0);
    CHECK_EQ(thrum_io_adopt_shared(&io, fd), 0);
    CHECK_EQ(close(fd), 0);
    CHECK_EQ(thrum_stream_open(&stream, io, NULL), 0);
    CHECK_EQ(rig_run(&r, fills_disk, &stream), 0);
    rig_stop(&r);
}
