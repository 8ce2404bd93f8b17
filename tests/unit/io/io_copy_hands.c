/*
 * io_copy_hands.c: thrum_copy where the system moves no bytes itself: what it has read of a pipe,
 * and cannot write yet.
 */
/* POSIX: TH_OS_FAULT_SPLICE, FIONREAD */
/* matrix: policy workers */
#include "support/io/io.h"
#include "support/times.h"

#include "platform/faults.h"

typedef struct scene {
    rig r;
    ends a; /* what the test writes to a.fds[1] is copied from a.io[0] */
    ends b; /* to b.io[1], and comes out of b.fds[0] */
    bool soon;
    int64_t result;
} scene;

/* Two pipes, which the system does not splice; "abc" is in the first, and the second is full. */
static size_t begin(scene *s) {
    ends_open_half(&s->a, PIPE);
    pair_open(s->b.fds, PIPE);
    s->b.io[1] = adopted(s->b.fds[1]);
    const size_t full = fill(s->b.fds[1]);
    put(s->a.fds[1], "abc");
    th_os_fail(TH_OS_FAULT_SPLICE, 0, UINT32_MAX);
    return full;
}

static void end(scene *s) {
    th_os_fail(TH_OS_FAULT_SPLICE, 0, 0);
    CHECK_EQ(close(s->a.fds[1]) | close(s->b.fds[0]), 0);
}

static int copies(void *arg) {
    scene *s = ((actor *)arg)->arg;
    const thrum_time deadline = s->soon ? soon() : THRUM_FOREVER;
    s->result = thrum_copy(s->a.io[0], s->b.io[1], UINT64_MAX, deadline);
    return 0;
}

/* In a fiber, or a plain thread. */
static cast *copy(scene *s, bool fiber) {
    cast *c = cast_new(&s->r);
    cast_add(c, fiber, copies, s);
    return c;
}

static int waiting(const scene *s) {
    int there;
    CHECK_EQ(ioctl(s->a.fds[0], FIONREAD, &there), 0);
    return there;
}

static void await_read(const scene *s) {
    SPIN_UNTIL(waiting(s) == 0 && IO_WATCHING(s->b.io[1], THRUM_IO_WRITE) == 1);
}

TEST(what_is_lost_is_told) {
    /* Bytes that were read, cannot be written, and cannot be put back. */
    scene s = {.soon = true};
    rig_begin(&s.r, 0);
    for (int i = 0; i < 2; i++) {
        (void)begin(&s);
        do { /* the deadline may have come before anything was read: then all is there */
            cast_join(copy(&s, i == 0));
        } while (s.result == -ETIMEDOUT && waiting(&s) == 3);
        CHECK_EQ(s.result, -EIO);
        CHECK_EQ(thrum_io_close(s.a.io[0]) | thrum_io_close(s.b.io[1]), 0);
        end(&s);
    }
    rig_stop(&s.r);
}

TEST(what_was_read_is_written_behind_a_close_of_its_source) {
    /* Once there is room. */
    scene s = {.soon = false};
    rig_begin(&s.r, 0);
    for (int i = 0; i < 2; i++) {
        const size_t full = begin(&s);
        char *got = malloc(full + 3);
        cast *c = copy(&s, i == 0);
        await_read(&s);
        CHECK_EQ(thrum_io_close(s.a.io[0]), 0);
        SPIN_UNTIL(IO_WATCHING(s.b.io[1], THRUM_IO_WRITE) == 1); /* it goes on waiting */
        for (size_t n = 0; n < full + 3;) {
            const ssize_t now = read(s.b.fds[0], got + n, full + 3 - n);
            CHECK(now > 0);
            n += (size_t)now;
        }
        CHECK(memcmp(got + full, "abc", 3) == 0);
        free(got);
        cast_join(c);
        CHECK_EQ(s.result, 3);
        CHECK_EQ(thrum_io_close(s.b.io[1]), 0);
        end(&s);
    }
    rig_stop(&s.r);
}

TEST(what_was_read_is_lost_where_it_was_to_go) {
    /* The close of that end ends the copy at once, and it tells. */
    scene s = {.soon = false};
    rig_begin(&s.r, 0);
    for (int i = 0; i < 2; i++) {
        (void)begin(&s);
        cast *c = copy(&s, i == 0);
        await_read(&s);
        CHECK_EQ(thrum_io_close(s.b.io[1]), 0);
        cast_join(c);
        CHECK_EQ(s.result, -EIO);
        CHECK_EQ(thrum_io_close(s.a.io[0]), 0);
        end(&s);
    }
    rig_stop(&s.r);
}
