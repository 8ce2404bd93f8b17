/*
 * io_many.c: several callers at one descriptor: their order, whole writes, and that none is lost.
 */
/* matrix: policy workers */
#include "support/io/io.h"
#include "support/times.h"

typedef struct scene {
    rig r;
    ends e;
    order log;
    int rounds;
    atomic_int got;
    atomic_int gave_up;
} scene;

static int reads_and_logs(void *arg) {
    actor *a = arg;
    scene *s = a->arg;
    char byte;
    CHECK_EQ(thrum_read(s->e.io[0], &byte, 1), 1);
    CHECK_EQ(byte, 'a' + a->index); /* the bytes come in the order of the readers */
    order_add(&s->log, a->index);
    return 0;
}

TEST(readers_are_served_in_the_order_in_which_they_came) {
    /* They are, fibers and threads, whether the bytes come singly or at once. */
    enum { READERS = 12 };
    static const end_kind kinds[] = {TCP, UNIX, PIPE};
    scene *s = calloc(1, sizeof *s);
    CHECK(s != NULL);
    rig_begin(&s->r, 0);
    for (int i = 0; i < 6; i++) {
        cast *c = cast_new(&s->r);
        ends_open_half(&s->e, kinds[i % 3]);
        for (int k = 0; k < READERS; k++) {
            cast_add(c, k % 3 != i % 2, reads_and_logs, s);
            SPIN_UNTIL(k == 0 ? io_awaits(s->e.io[0], THRUM_IO_READ)
                              : IO_QUEUED(s->e.io[0], THRUM_IO_READ) == k);
        }
        if (i % 2 == 0) {
            put(s->e.fds[1], "abcdefghijkl");
        } else {
            for (int k = 0; k < READERS; k++) {
                const char byte = (char)('a' + k);
                CHECK_EQ(write(s->e.fds[1], &byte, 1), 1);
                SPIN_UNTIL(atomic_load(&s->log.count) > k);
            }
        }
        cast_join(c);
        CHECK_EQ(atomic_load(&s->log.count), READERS);
        atomic_store(&s->log.count, 0);
        ends_close(&s->e);
    }
    rig_stop(&s->r);
    free(s);
}

/* ---- records ---- */

enum { RECORD = 5000, WRITERS = 6 };

static int writes_records(void *arg) {
    actor *a = arg;
    scene *s = a->arg;
    uint8_t record[RECORD];
    for (int i = 0; i < s->rounds; i++) {
        memset(record, a->index * 16 + i % 16, sizeof record);
        if (i % 2 == 0) {
            CHECK_EQ(thrum_write(s->e.io[1], record, sizeof record), sizeof record);
        } else {
            const thrum_iovec parts[] = {{record, 1}, {record + 1, 2500}, {record + 2501, 2499}};
            CHECK_EQ(thrum_writev_until(s->e.io[1], parts, 3, far_off()), sizeof record);
        }
    }
    return 0;
}

static int reads_records(void *arg) {
    actor *a = arg;
    scene *s = a->arg;
    uint8_t record[RECORD];
    while (atomic_fetch_add(&s->got, 1) < WRITERS * s->rounds) {
        CHECK_EQ(thrum_read_full(s->e.io[0], record, sizeof record, THRUM_FOREVER), sizeof record);
        for (size_t i = 1; i < sizeof record; i++) {
            CHECK_EQ(record[i], record[0]);
        }
    }
    return 0;
}

TEST(writes_are_not_torn) {
    /* Many write records larger than there is room for, and many read them: each comes whole. */
    static const end_kind kinds[] = {TCP, UNIX, PIPE};
    scene *s = calloc(1, sizeof *s);
    CHECK(s != NULL);
    s->rounds = SCALED(60);
    rig_begin(&s->r, 0);
    for (int i = 0; i < 3; i++) {
        const int small = 4096;
        atomic_store(&s->got, 0);
        ends_open(&s->e, kinds[i]);
        if (kinds[i] != PIPE) {
            CHECK_EQ(setsockopt(s->e.fds[1], SOL_SOCKET, SO_SNDBUF, &small, sizeof small), 0);
        }
        cast *c = cast_new(&s->r);
        cast_add_mixed(c, WRITERS / 2, WRITERS / 2, writes_records, s);
        cast *readers = cast_new(&s->r);
        cast_add_mixed(readers, 3, 2, reads_records, s);
        cast_join(c);
        cast_join(readers);
        ends_close(&s->e);
    }
    rig_stop(&s->r);
    free(s);
}

/* ---- some give up ---- */

static int reads_or_gives_up(void *arg) {
    actor *a = arg;
    scene *s = a->arg;
    char byte;
    for (;;) {
        const thrum_time wait = THRUM_US(20 + 37 * (a->index % 7));
        int64_t n = a->index % 4 == 3 ? thrum_read(s->e.io[0], &byte, 1)
                                      : thrum_read_until(s->e.io[0], &byte, 1, thrum_after(wait));
        if (n == 0) {
            return 0;
        }
        CHECK(n == 1 || n == -ETIMEDOUT);
        atomic_fetch_add(n == 1 ? &s->got : &s->gave_up, 1);
    }
}

TEST(no_byte_is_lost_when_readers_give_up) {
    /* A byte that comes as a reader's time is out goes to the next one. */
    static const end_kind kinds[] = {TCP, UNIX, PIPE};
    scene *s = calloc(1, sizeof *s);
    CHECK(s != NULL);
    rig_begin(&s->r, 0);
    for (int i = 0; i < 3; i++) {
        const int bytes = SCALED(BY_COST(2000, 700));
        atomic_store(&s->got, 0);
        ends_open_half(&s->e, kinds[i]);
        cast *c = cast_new(&s->r);
        cast_add_mixed(c, 6, 3, reads_or_gives_up, s);
        for (int k = 0; k < bytes; k++) {
            CHECK_EQ(write(s->e.fds[1], "x", 1), 1);
            if (k % 7 == 0) {
                SPIN_UNTIL(atomic_load(&s->got) == k + 1);
            }
        }
        CHECK_EQ(kinds[i] == PIPE ? close(s->e.fds[1]) : shutdown(s->e.fds[1], SHUT_WR), 0);
        cast_join(c);
        CHECK_EQ(atomic_load(&s->got), bytes);
        CHECK_EQ(thrum_io_close(s->e.io[0]), 0);
        CHECK_EQ(kinds[i] == PIPE ? 0 : close(s->e.fds[1]), 0);
    }
    rig_stop(&s->r);
    free(s);
}

/* ---- those that wait for readiness ---- */

static int watches(void *arg) {
    actor *a = arg;
    scene *s = a->arg;
    const unsigned bits = a->index % 3 == 0 ? 3 : THRUM_IO_READ;
    CHECK_EQ(thrum_io_wait(s->e.io[0], bits, a->index % 2 == 0 ? THRUM_FOREVER : far_off()),
             THRUM_IO_READ);
    atomic_fetch_add(&s->got, 1);
    return 0;
}

TEST(all_that_wait_for_readiness_are_told) {
    /* Nothing is taken, so each of them finds it, also when a reader waits as well. */
    enum { WATCHERS = 9 };
    scene *s = calloc(1, sizeof *s);
    CHECK(s != NULL);
    rig_begin(&s->r, 0);
    for (int i = 0; i < 6; i++) {
        atomic_store(&s->got, 0);
        pair_open(s->e.fds, UNIX);
        CHECK(fill(s->e.fds[0]) > 0);
        s->e.io[0] = adopted(s->e.fds[0]);
        cast *c = cast_new(&s->r);
        cast_add_mixed(c, i % 3 == 0 ? WATCHERS : 5, i % 3 == 0 ? 0 : WATCHERS - 5, watches, s);
        SPIN_UNTIL(IO_WATCHING(s->e.io[0], THRUM_IO_READ) == WATCHERS);
        put(s->e.fds[1], "x");
        cast_join(c);
        CHECK_EQ(atomic_load(&s->got), WATCHERS);
        CHECK_EQ(drain(s->e.fds[0], 10), 1);
        CHECK_EQ(thrum_io_close(s->e.io[0]), 0);
        CHECK_EQ(close(s->e.fds[1]), 0);
    }
    rig_stop(&s->r);
    free(s);
}

static int watches_for_room(void *arg) {
    scene *s = ((actor *)arg)->arg;
    CHECK_EQ(thrum_io_wait(s->e.io[1], THRUM_IO_WRITE, THRUM_FOREVER), THRUM_IO_WRITE);
    atomic_fetch_add(&s->got, 1);
    return 0;
}

static int writes_a_block(void *arg) {
    scene *s = ((actor *)arg)->arg;
    char block[RECORD] = {0};
    CHECK_EQ(thrum_write(s->e.io[1], block, sizeof block), sizeof block);
    atomic_fetch_add(&s->got, 1);
    return 0;
}

TEST(room_is_told_to_writers_and_to_those_that_watch) {
    /* It is, once the other side has read everything. */
    static const end_kind kinds[] = {TCP, UNIX, PIPE};
    scene *s = calloc(1, sizeof *s);
    CHECK(s != NULL);
    rig_begin(&s->r, 0);
    for (int i = 0; i < 3; i++) {
        atomic_store(&s->got, 0);
        pair_open(s->e.fds, kinds[i]);
        CHECK(fill(s->e.fds[1]) > 0);
        s->e.io[1] = adopted(s->e.fds[1]);
        cast *c = cast_new(&s->r);
        cast_add_mixed(c, 2, 2, watches_for_room, s);
        cast_add_mixed(c, 2, 2, writes_a_block, s);
        SPIN_UNTIL(io_awaits(s->e.io[1], THRUM_IO_WRITE));
        while (atomic_load(&s->got) < 8) {
            (void)drain(s->e.fds[0], SIZE_MAX);
        }
        cast_join(c);
        CHECK_EQ(thrum_io_close(s->e.io[1]), 0);
        CHECK_EQ(close(s->e.fds[0]), 0);
    }
    rig_stop(&s->r);
    free(s);
}
