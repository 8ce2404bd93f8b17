/*
 * io.c: storms on descriptors: many pairs, pieces of any size, deadlines, cancels, closes from
 * elsewhere. Every byte that arrives is the next one.
 */
/* matrix: policy workers */
#include "support/io/io.h"
#include "support/times.h"

typedef struct flow {
    ends e;
    rig *r;
    unsigned seed;
    int64_t total;     /* bytes to be sent */
    int64_t sent, got; /* each its own side's */
    bool disturbed;    /* deadlines are short, calls are cancelled */
    bool closed;       /* somebody closes it in the middle */
} flow;

static unsigned next_of(unsigned *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static uint8_t byte_at(int64_t place) {
    return (uint8_t)(place * 31 + (place >> 8));
}

enum { PIECE = 9000 };

static bool is_end(int64_t n) {
    return n == -EBADF || n == -EPIPE || n == -ECONNRESET;
}

static int sends(void *arg) {
    flow *f = ((actor *)arg)->arg;
    unsigned seed = f->seed;
    uint8_t piece[PIECE];
    while (f->sent < f->total) {
        size_t size = 1 + next_of(&seed) % PIECE;
        size = (int64_t)size > f->total - f->sent ? (size_t)(f->total - f->sent) : size;
        for (size_t i = 0; i < size; i++) {
            piece[i] = byte_at(f->sent + (int64_t)i);
        }
        const size_t cut = next_of(&seed) % (size + 1);
        const thrum_iovec parts[] = {{piece, cut}, {piece + cut, size - cut}};
        const thrum_time deadline =
            f->disturbed ? thrum_after_us(next_of(&seed) % 200) : THRUM_FOREVER;
        int64_t n = next_of(&seed) % 2 ? thrum_writev_until(f->e.io[1], parts, 2, deadline)
                                       : thrum_write_until(f->e.io[1], piece, size, deadline);
        if (n < 0 && n != -ETIMEDOUT) {
            CHECK(f->closed && is_end(n));
            return 0;
        }
        CHECK(n <= (int64_t)size && (n == (int64_t)size || f->disturbed || f->closed));
        f->sent += n > 0 ? n : 0;
    }
    CHECK(thrum_io_shutdown(f->e.io[1], THRUM_IO_WRITE) == 0 || f->closed);
    return 0;
}

static int receives(void *arg) {
    flow *f = ((actor *)arg)->arg;
    unsigned seed = f->seed + 1;
    uint8_t piece[PIECE];
    for (;;) {
        const size_t size = 1 + next_of(&seed) % PIECE;
        const thrum_time deadline =
            f->disturbed ? thrum_after_us(next_of(&seed) % 200) : THRUM_FOREVER;
        if (next_of(&seed) % 8 == 0) {
            int code = thrum_io_wait(f->e.io[0], THRUM_IO_READ, deadline);
            CHECK(code == THRUM_IO_READ || code == -ETIMEDOUT || (f->closed && code == -EBADF));
        }
        int64_t n = thrum_read_until(f->e.io[0], piece, size, deadline);
        if (n == -ETIMEDOUT && f->disturbed) {
            continue;
        }
        if (n <= 0) {
            CHECK(n == 0 || (f->closed && is_end(n)));
            CHECK(f->closed || f->got == f->total);
            return 0;
        }
        for (int64_t i = 0; i < n; i++) {
            CHECK_EQ(piece[i], byte_at(f->got + i));
        }
        f->got += n;
    }
}

enum { FLOWS = 24 };

static void flows_open(flow flows[], rig *r, unsigned seed) {
    for (int i = 0; i < FLOWS; i++) {
        flows[i] = (flow){.r = r, .seed = seed + (unsigned)i, .total = SCALED(400000)};
        ends_open(&flows[i].e, i % 2 == 0 ? TCP : UNIX);
    }
}

TEST(bytes_arrive_in_order) {
    /* Senders and receivers are fibers and threads, in all combinations. */
    static flow flows[FLOWS];
    rig r;
    rig_begin(&r, 0);
    for (unsigned round = 0; round < 3; round++) {
        cast *c = cast_new(&r);
        flows_open(flows, &r, round * 100);
        for (int i = 0; i < FLOWS; i++) {
            cast_add(c, i % 8 != 0, sends, &flows[i]);
            cast_add(c, i % 8 != 1 && i % 8 != 0, receives, &flows[i]);
        }
        cast_join(c);
        for (int i = 0; i < FLOWS; i++) {
            CHECK_EQ(flows[i].got, flows[i].total);
            ends_close(&flows[i].e);
        }
    }
    rig_stop(&r);
}

TEST(deadlines_lose_nothing) {
    /* All calls have deadlines of some microseconds. */
    static flow flows[FLOWS];
    rig r;
    rig_begin(&r, 0);
    cast *c = cast_new(&r);
    flows_open(flows, &r, 7);
    for (int i = 0; i < FLOWS; i++) {
        flows[i].disturbed = true;
        cast_add(c, i % 8 != 0, sends, &flows[i]);
        cast_add(c, i % 8 != 1, receives, &flows[i]);
    }
    cast_join(c);
    for (int i = 0; i < FLOWS; i++) {
        CHECK_EQ(flows[i].got, flows[i].total);
        ends_close(&flows[i].e);
    }
    rig_stop(&r);
}

/* ---- closes ---- */

static int closes_soon(void *arg) {
    flow *f = ((actor *)arg)->arg;
    unsigned seed = f->seed;
    for (unsigned i = next_of(&seed) % 3; i > 0; i--) {
        nap();
    }
    for (unsigned i = next_of(&seed) % 100; i > 0; i--) {
        thrum_yield();
    }
    CHECK_EQ(thrum_io_close(f->e.io[f->seed % 2]), 0);
    return 0;
}

TEST(closes_come_from_elsewhere) {
    /* One end is closed in the middle, by another fiber or thread; all callers end. */
    static flow flows[FLOWS];
    rig r;
    rig_begin(&r, 0);
    for (unsigned round = 0; round < (unsigned)SCALED(BY_COST(24, 8)); round++) {
        cast *c = cast_new(&r);
        flows_open(flows, &r, round * 100);
        for (int i = 0; i < FLOWS; i++) {
            flows[i].closed = true;
            flows[i].disturbed = i % 3 == 0;
            cast_add(c, i % 8 != 0, sends, &flows[i]);
            cast_add(c, i % 8 != 1, receives, &flows[i]);
            cast_add(c, i % 8 != 2, closes_soon, &flows[i]);
        }
        /* Where the receiver has ended early, the sender waits for room until it is closed, too. */
        for (int i = 0; i < FLOWS; i++) {
            while (fcntl(flows[i].e.fds[flows[i].seed % 2], F_GETFD) >= 0 &&
                   th_load_relaxed(&th_record_at(flows[i].e.fds[flows[i].seed % 2])->xturn) ==
                       flows[i].e.io[flows[i].seed % 2].turn) {
                sched_yield();
            }
            CHECK_EQ(thrum_io_close(flows[i].e.io[!(flows[i].seed % 2)]), 0);
        }
        cast_join(c);
    }
    rig_stop(&r);
}

/* ---- cancels ---- */

typedef struct prey {
    rig *r;
    ends e;
    atomic_long got;
    atomic_bool over;
} prey;

static int reads_until_cancelled(void *arg) {
    prey *p = arg;
    char bytes[4];
    int64_t n;
    while ((n = thrum_read(p->e.io[0], bytes, sizeof bytes)) > 0) {
        atomic_fetch_add(&p->got, n);
    }
    CHECK(n == -ECANCELED || n == 0);
    return 0;
}

static void *cancels(void *arg) {
    prey *p = ((crew_seat *)arg)->arg;
    const thrum_attr attr = rig_attr(p->r);
    while (!atomic_load(&p->over)) {
        thrum_handle *handles[4];
        for (int i = 0; i < 4; i++) {
            CHECK_EQ(thrum_spawn_with(&handles[i], &attr, reads_until_cancelled, p), 0);
        }
        for (int i = 0; i < 4; i++) {
            CHECK_EQ(thrum_cancel(handles[i]), 0);
        }
        for (int i = 0; i < 4; i++) {
            CHECK_EQ(thrum_join(handles[i], NULL), 0);
        }
    }
    return NULL;
}

TEST(cancels_lose_nothing) {
    /* Readers are cancelled all the time; each byte is read by one of them. */
    rig r;
    rig_begin(&r, 0);
    for (int i = 0; i < 3; i++) {
        const long bytes = SCALED(BY_COST(20000, 2000));
        prey p = {.r = &r};
        crew c;
        ends_open_half(&p.e, i == 0 ? TCP : i == 1 ? UNIX : PIPE);
        crew_start(&c, 2, cancels, &p);
        for (long k = 0; k < bytes; k++) {
            CHECK_EQ(write(p.e.fds[1], "x", 1), 1);
            if (k % 64 == 0) {
                SPIN_UNTIL(atomic_load(&p.got) == k + 1);
            }
        }
        SPIN_UNTIL(atomic_load(&p.got) == bytes);
        atomic_store(&p.over, true);
        crew_join(&c);
        ends_close(&p.e);
    }
    rig_stop(&r);
}

/* ---- numbers ---- */

/*
 * All has been read. A port would linger for a minute otherwise, and cells that run one after the
 * other would use up all there are.
 */
static void frees_its_port(const ends *e) {
    const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    for (int i = 0; i < 2; i++) { /* a pipe refuses it */
        (void)setsockopt(e->fds[i], SOL_SOCKET, SO_LINGER, (const void *)&at_once, sizeof at_once);
    }
}

static int opens_and_closes(void *arg) {
    actor *a = arg;
    unsigned seed = (unsigned)a->index;
    const int rounds = *(int *)a->arg;
    for (int i = 0; i < rounds; i++) {
        char bytes[8];
        ends e;
        ends_open(&e, next_of(&seed) % 3 == 0 ? TCP : next_of(&seed) % 2 ? UNIX : PIPE);
        if (next_of(&seed) % 2) {
            CHECK_EQ(thrum_read_until(e.io[0], bytes, 1, thrum_after_us(next_of(&seed) % 50)),
                     -ETIMEDOUT);
        }
        CHECK_EQ(thrum_write(e.io[1], "12345678", 8), 8);
        CHECK_EQ(thrum_read_full(e.io[0], bytes, 8, THRUM_FOREVER), 8);
        CHECK(memcmp(bytes, "12345678", 8) == 0);
        frees_its_port(&e);
        ends_close(&e);
        CHECK_EQ(thrum_read(e.io[0], bytes, 1), -EBADF);
    }
    return 0;
}

TEST(numbers_go_round) {
    /* Fibers and threads open and close, and get each other's numbers. */
    int rounds = SCALED(BY_COST(400, 100));
    rig r;
    rig_begin(&r, 0);
    cast *c = cast_new(&r);
    cast_add_mixed(c, 8, 3, opens_and_closes, &rounds);
    cast_join(c);
    rig_stop(&r);
}
