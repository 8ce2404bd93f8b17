/*
 * io_deadlines.c: calls on descriptors that end at their deadline, or because their caller is
 * cancelled.
 */
/* matrix: policy workers */
#include "support/io/io.h"
#include "support/times.h"

typedef struct scene {
    rig r;
    ends e;
    int64_t result;
    int which;
    atomic_int moved;
    atomic_bool over;
} scene;

static const end_kind byte_kinds[] = {TCP, UNIX, PIPE, PTY};

/* ---- in the past ---- */

static void check_past(scene *s, thrum_time until) {
    char byte = 'x';
    const thrum_iovec part = {&byte, 1};
    CHECK_EQ(thrum_read_until(s->e.io[0], &byte, 1, until), -ETIMEDOUT);
    CHECK_EQ(thrum_read_full(s->e.io[0], &byte, 1, until), -ETIMEDOUT);
    CHECK_EQ(thrum_readv_until(s->e.io[0], &part, 1, until), -ETIMEDOUT);
    CHECK_EQ(thrum_write_until(s->e.io[1], &byte, 1, until), -ETIMEDOUT);
    CHECK_EQ(thrum_writev_until(s->e.io[1], &part, 1, until), -ETIMEDOUT);
    CHECK_EQ(thrum_io_wait(s->e.io[1], THRUM_IO_WRITE, until), -ETIMEDOUT);
}

static int past_deadlines(void *arg) {
    scene *s = ((actor *)arg)->arg;
    char byte;
    check_past(s, 0);
    check_past(s, past());
    check_past(s, -1);
    CHECK_EQ(thrum_read(s->e.io[0], &byte, 1), 1); /* it is all still there */
    CHECK_EQ(byte, 'a');
    CHECK_EQ(thrum_read_until(s->e.io[0], &byte, 1, soon()), -ETIMEDOUT);
    return 0;
}

TEST(past_its_deadline_a_call_does_nothing) {
    /* Although there is something to read, and room to write. */
    scene s = {.which = 0};
    rig_begin(&s.r, 0);
    for (size_t i = 0; i < 2 * COUNT_OF(byte_kinds); i++) {
        if (byte_kinds[i / 2] == PTY) {
            continue; /* it holds bytes back until a line ends */
        }
        ends_open(&s.e, byte_kinds[i / 2]);
        put(s.e.fds[1], "a");
        cast *c = cast_new(&s.r);
        cast_add(c, i % 2 == 0, past_deadlines, &s);
        cast_join(c);
        ends_close(&s.e);
    }
    rig_stop(&s.r);
}

/* ---- while waiting ---- */

/* Makes the call that waits for good, by number; `deadline` ends it. */
enum { CALLS = 8 };

static int64_t call(scene *s, thrum_time deadline) {
    char bytes[64] = {0};
    thrum_iovec parts[2] = {{bytes, 10}, {bytes + 10, 10}};
    switch (s->which) {
    case 0:
        return thrum_read_until(s->e.io[0], bytes, sizeof bytes, deadline);
    case 1:
        return thrum_read_full(s->e.io[0], bytes, sizeof bytes, deadline);
    case 2:
        return thrum_readv_until(s->e.io[0], parts, 2, deadline);
    case 3:
        return thrum_io_wait(s->e.io[0], THRUM_IO_READ, deadline);
    case 4:
        return thrum_write_until(s->e.io[1], bytes, sizeof bytes, deadline);
    case 5:
        return thrum_writev_until(s->e.io[1], parts, 2, deadline);
    case 6:
        return thrum_io_wait(s->e.io[1], THRUM_IO_WRITE, deadline);
    default: /* what another caller holds */
        return thrum_read_until(s->e.io[1], bytes, sizeof bytes, deadline);
    }
}

static void settle(scene *s) {
    if (s->which < 4) {
        YIELD_UNTIL(io_awaits(s->e.io[0], THRUM_IO_READ) ||
                    IO_WATCHING(s->e.io[0], THRUM_IO_READ) == 1);
    } else if (s->which < 7) {
        YIELD_UNTIL(io_awaits(s->e.io[1], THRUM_IO_WRITE) ||
                    IO_WATCHING(s->e.io[1], THRUM_IO_WRITE) == 1);
    } else {
        YIELD_UNTIL(IO_QUEUED(s->e.io[1], THRUM_IO_READ) == 1);
    }
}

static int holds(void *arg) {
    scene *s = ((actor *)arg)->arg;
    char byte;
    CHECK_EQ(thrum_read(s->e.io[1], &byte, 1), 1);
    return 0;
}

/* Opens a pair on which the scene's call waits, and adds what else it needs to the cast. */
static void open_scene(scene *s, cast *c, bool fiber) {
    ends_open(&s->e, UNIX);
    if (s->which >= 4 && s->which < 7) {
        CHECK(fill(s->e.fds[1]) > 0);
    } else if (s->which == 7) {
        cast_add(c, fiber, holds, s);
        SPIN_UNTIL(io_awaits(s->e.io[1], THRUM_IO_READ));
    }
}

/* After the call has ended: nothing is left, and the descriptor works. */
static void close_scene(scene *s) {
    CHECK(!io_awaits(s->e.io[0], THRUM_IO_READ) && !io_awaits(s->e.io[1], THRUM_IO_WRITE));
    for (unsigned bit = THRUM_IO_READ; bit <= THRUM_IO_WRITE; bit++) {
        CHECK_EQ(IO_QUEUED(s->e.io[0], bit) + IO_QUEUED(s->e.io[1], bit), 0);
        CHECK_EQ(IO_WATCHING(s->e.io[0], bit) + IO_WATCHING(s->e.io[1], bit), 0);
    }
    ends_close(&s->e);
}

static int until_a_moment(void *arg) {
    scene *s = ((actor *)arg)->arg;
    const thrum_time until = soon();
    s->result = call(s, until);
    CHECK_PASSED(until);
    return 0;
}

TEST(a_deadline_ends_each_kind_of_wait) {
    /* It ends reads, writes, waits for readiness and for one's turn, of fibers and of threads. */
    scene s = {.which = 0};
    rig_begin(&s.r, 0);
    for (int i = 0; i < 2 * CALLS; i++) {
        s.which = i / 2;
        cast *c = cast_new(&s.r);
        open_scene(&s, c, i % 2 == 0);
        cast *late = cast_new(&s.r);
        cast_add(late, i % 2 == 0, until_a_moment, &s);
        cast_join(late);
        CHECK_EQ(s.result, -ETIMEDOUT);
        if (s.which == 7) {
            put(s.e.fds[0], "x");
        }
        cast_join(c);
        close_scene(&s);
    }
    rig_stop(&s.r);
}

static int until_cancelled(void *arg) {
    scene *s = arg;
    s->result = call(s, s->over ? far_off() : THRUM_FOREVER);
    CHECK(thrum_cancelled());
    CHECK_EQ(call(s, THRUM_FOREVER), -ECANCELED); /* and all that come */
    return 0;
}

TEST(a_cancel_ends_each_kind_of_wait) {
    /* It ends them with a deadline and without. */
    scene s = {.which = 0};
    rig_begin(&s.r, 0);
    for (int i = 0; i < 2 * CALLS; i++) {
        thrum_handle *handle;
        const thrum_attr attr = rig_attr(&s.r);
        s.which = i / 2;
        atomic_store(&s.over, i % 2 == 1);
        cast *c = cast_new(&s.r);
        open_scene(&s, c, true);
        CHECK_EQ(thrum_spawn_with(&handle, &attr, until_cancelled, &s), 0);
        settle(&s);
        CHECK_EQ(thrum_cancel(handle), 0);
        CHECK_EQ(thrum_join(handle, NULL), 0);
        CHECK_EQ(s.result, -ECANCELED);
        if (s.which == 7) {
            put(s.e.fds[0], "x");
        }
        cast_join(c);
        close_scene(&s);
    }
    rig_stop(&s.r);
}

static int cancelled_with_bytes_there(void *arg) {
    scene *s = arg;
    char bytes[8];
    YIELD_UNTIL(thrum_cancelled());
    CHECK_EQ(thrum_read(s->e.io[0], bytes, sizeof bytes), 5); /* it need not wait */
    CHECK_EQ(thrum_write(s->e.io[0], bytes, 5), 5);
    CHECK_EQ(thrum_io_wait(s->e.io[0], THRUM_IO_WRITE, THRUM_FOREVER), THRUM_IO_WRITE);
    CHECK_EQ(thrum_read(s->e.io[0], bytes, sizeof bytes), -ECANCELED);
    thrum_shield_begin();
    CHECK_EQ(thrum_read_until(s->e.io[0], bytes, sizeof bytes, soon()), -ETIMEDOUT);
    atomic_store(&s->moved, 1);
    CHECK_EQ(thrum_read(s->e.io[0], bytes, sizeof bytes), 3);
    thrum_shield_end();
    CHECK_EQ(thrum_read(s->e.io[0], bytes, sizeof bytes), -ECANCELED);
    CHECK_EQ(thrum_io_close(s->e.io[0]), 0); /* whatever cancels the caller */
    return 0;
}

TEST(a_cancelled_task_gets_what_need_not_wait) {
    /* And behind a shield it waits. */
    scene s = {.which = 0};
    thrum_handle *handle;
    rig_begin(&s.r, 0);
    ends_open_half(&s.e, UNIX);
    put(s.e.fds[1], "bytes");
    const thrum_attr attr = rig_attr(&s.r);
    CHECK_EQ(thrum_spawn_with(&handle, &attr, cancelled_with_bytes_there, &s), 0);
    CHECK_EQ(thrum_cancel(handle), 0);
    SPIN_UNTIL(atomic_load(&s.moved) == 1);
    SPIN_UNTIL(io_awaits(s.e.io[0], THRUM_IO_READ));
    put(s.e.fds[1], "end");
    CHECK_EQ(thrum_join(handle, NULL), 0);
    CHECK_EQ(close(s.e.fds[1]), 0);
    rig_stop(&s.r);
}

static int fails_soon(void *arg) {
    scene *s = arg;
    YIELD_UNTIL(io_awaits(s->e.io[0], THRUM_IO_READ) && IO_QUEUED(s->e.io[0], THRUM_IO_READ) == 4);
    return -EIO;
}

static int reads_in_a_scope(void *arg) {
    scene *s = arg;
    char byte;
    CHECK_EQ(thrum_read(s->e.io[0], &byte, 1), -ECANCELED);
    atomic_fetch_add(&s->moved, 1);
    return 0;
}

static int scopes(void *arg) {
    scene *s = arg;
    thrum_scope scope;
    int result;
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    for (int i = 0; i < 5; i++) {
        thrum_scope_go(&scope, reads_in_a_scope, s); /* one waits for bytes, the others for it */
    }
    thrum_scope_go(&scope, fails_soon, s);
    CHECK_EQ(thrum_scope_join(&scope), -EIO);
    CHECK_EQ(atomic_load(&s->moved), 5);
    CHECK_EQ(thrum_scope_open(&scope, soon()), 0);
    thrum_scope_go(&scope, reads_in_a_scope, s);
    CHECK_EQ(thrum_scope_join(&scope), -ETIMEDOUT);
    CHECK_EQ(thrum_with_deadline(soon(), reads_in_a_scope, s, &result), -ETIMEDOUT);
    return 0;
}

TEST(a_scope_cancels_the_waits_of_its_children) {
    /* It does so when a child fails, at its deadline, and so does a deadline for the caller. */
    scene s = {.which = 0};
    rig_begin(&s.r, 0);
    ends_open_half(&s.e, PIPE);
    CHECK_EQ(rig_run(&s.r, scopes, &s), 0);
    ends_close(&s.e);
    rig_stop(&s.r);
}

static int waits_until_the_stop(void *arg) {
    scene *s = arg;
    char byte;
    CHECK_EQ(thrum_read(s->e.io[0], &byte, 1), -ECANCELED);
    CHECK_EQ(thrum_io_wait(s->e.io[0], THRUM_IO_READ, far_off()), -ECANCELED);
    return 0;
}

TEST(a_stop_past_its_deadline_cancels_the_waits) {
    /* The descriptor is as before, and is of use to threads and to another scheduler. */
    scene s = {.which = 0};
    ends_open_half(&s.e, TCP);
    for (int i = 0; i < 3; i++) {
        rig_begin(&s.r, 0);
        for (int k = 0; k < 4; k++) {
            rig_go(&s.r, waits_until_the_stop, &s);
        }
        SPIN_UNTIL(IO_QUEUED(s.e.io[0], THRUM_IO_READ) == 3);
        CHECK_EQ(thrum_sched_stop_until(s.r.sched, soon()), -ETIMEDOUT);
        rig_stop(&s.r);
        char byte;
        put(s.e.fds[1], "x");
        CHECK_EQ(thrum_read(s.e.io[0], &byte, 1), 1);
    }
    ends_close(&s.e);
}

/* ---- in the middle of a transfer ---- */

enum { MUCH = 4 << 20 };

static char *block_of(size_t size) {
    char *block = malloc(size);
    CHECK(block != NULL);
    memset(block, 'b', size);
    return block;
}

static int writes_for_a_while(void *arg) {
    scene *s = ((actor *)arg)->arg;
    char *block = block_of(MUCH);
    s->result = thrum_write_until(s->e.io[1], block, MUCH, soon());
    free(block);
    return 0;
}

TEST(a_write_cut_short_says_how_much_it_has_written) {
    /* The other side has exactly so much; and the descriptor goes on to work. */
    scene s = {.which = 0};
    rig_begin(&s.r, 0);
    for (int i = 0; i < 6; i++) {
        ends_open(&s.e, byte_kinds[i / 2]);
        pair_narrow(s.e.fds);
        do { /* its time may be out before it has written anything */
            cast *c = cast_new(&s.r);
            cast_add(c, i % 2 == 0, writes_for_a_while, &s);
            cast_join(c);
        } while (s.result == -ETIMEDOUT);
        CHECK(s.result > 0 && s.result < MUCH);
        for (size_t got = 0; got < (size_t)s.result;) { /* on a network it may take a moment */
            got += drain(s.e.fds[0], (size_t)s.result - got);
        }
        CHECK_EQ(drain(s.e.fds[0], 1), 0);
        CHECK_EQ(thrum_write(s.e.io[1], "more", 4), 4);
        char text[4];
        CHECK_EQ(thrum_read_full(s.e.io[0], text, 4, THRUM_FOREVER), 4);
        ends_close(&s.e);
    }
    rig_stop(&s.r);
}

static int cancelled_in_a_write(void *arg) {
    scene *s = arg;
    char *block = block_of(MUCH);
    int64_t n;
    s->result = thrum_write(s->e.io[1], block, MUCH);
    do {
        n = thrum_write(s->e.io[1], block, MUCH); /* TCP may have made more room meanwhile */
    } while (n > 0);
    CHECK_EQ(n, -ECANCELED);
    free(block);
    return 0;
}

TEST(a_write_that_is_cancelled_says_how_much_it_has_written) {
    /* The next one that moves nothing says so. */
    scene s = {.which = 0};
    rig_begin(&s.r, 0);
    for (int i = 0; i < 3; i++) {
        thrum_handle *handle;
        const thrum_attr attr = rig_attr(&s.r);
        ends_open(&s.e, byte_kinds[i]);
        pair_narrow(s.e.fds);
        CHECK_EQ(thrum_spawn_with(&handle, &attr, cancelled_in_a_write, &s), 0);
        SPIN_UNTIL(io_awaits(s.e.io[1], THRUM_IO_WRITE));
        CHECK_EQ(thrum_cancel(handle), 0);
        CHECK_EQ(thrum_join(handle, NULL), 0);
        CHECK(s.result > 0 && s.result < MUCH);
        ends_close(&s.e);
    }
    rig_stop(&s.r);
}

static void *pours(void *arg) {
    scene *s = arg;
    char *block = block_of(1 << 16);
    while (!atomic_load(&s->over) && send(s->e.fds[1], block, 1 << 16, MSG_NOSIGNAL) >= 0) {
    }
    free(block);
    return NULL;
}

static void *swallows(void *arg) {
    scene *s = arg;
    char *block = block_of(1 << 16);
    while (!atomic_load(&s->over) && recv(s->e.fds[0], block, 1 << 16, 0) > 0) {
    }
    free(block);
    return NULL;
}

static int moves_for_ever(void *arg) {
    scene *s = ((actor *)arg)->arg;
    char *block = block_of(1 << 16);
    thrum_iovec parts[THRUM_IOVECS_MAX];
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        parts[i] = (thrum_iovec){block, 1 << 16};
    }
    thrum_time deadline = soon();
    if (s->which == 0) {
        int64_t n = 0;
        while (n >= 0) { /* each of them has the same deadline */
            n = thrum_writev_until(s->e.io[1], parts, COUNT_OF(parts), deadline);
        }
        s->result = n;
    } else {
        const size_t size = (size_t)64 << 20; /* more than memory takes in a moment */
        char *much = malloc(size);
        CHECK(much != NULL);
        s->result = thrum_read_full(s->e.io[0], much, size, deadline);
        free(much);
    }
    free(block);
    return 0;
}

TEST(a_transfer_that_need_never_wait_ends_at_its_deadline) {
    /* The other side reads or writes as fast as it can, and longer than the deadline. */
    scene s = {.which = 0};
    rig_begin(&s.r, 0);
    for (int i = 0; i < 4; i++) {
        pthread_t other;
        s.which = i / 2;
        atomic_store(&s.over, false);
        ends_open(&s.e, UNIX);
        CHECK_EQ(pthread_create(&other, NULL, s.which == 0 ? swallows : pours, &s), 0);
        cast *c = cast_new(&s.r);
        cast_add(c, i % 2 == 0, moves_for_ever, &s);
        cast_join(c);
        CHECK_EQ(s.result, -ETIMEDOUT);
        atomic_store(&s.over, true);
        CHECK_EQ(shutdown(s.e.fds[0], SHUT_RDWR), 0);
        CHECK_EQ(pthread_join(other, NULL), 0);
        ends_close(&s.e);
    }
    rig_stop(&s.r);
}
