/*
 * io.c: descriptors while the system refuses calls: the Nth of each kind. Codes are as documented,
 * nothing is lost, nothing leaks, and afterwards everything works.
 */
/* matrix: policy workers */
#include "support/io/io.h"
#include "support/times.h"

#include "platform/faults.h"

typedef struct scene {
    ends e;
    int code;  /* what a call may return when it is refused something */
    int other; /* or this */
    atomic_int refused;
    atomic_bool over;
} scene;

enum { BYTES_SENT = BY_COST(40, 16) };

static bool granted(scene *s, int64_t result) {
    if (result >= 0) {
        return true;
    }
    CHECK(result == s->code || result == s->other);
    atomic_fetch_add(&s->refused, 1);
    return false;
}

/* Reads all bytes in order, and again after each refusal. */
static int reads_all(void *arg) {
    scene *s = ((actor *)arg)->arg;
    for (int i = 0; i < BYTES_SENT; i++) {
        uint8_t byte = 0;
        int64_t n;
        do {
            n = i % 2 == 0 ? thrum_read(s->e.io[0], &byte, 1)
                           : thrum_read_full(s->e.io[0], &byte, 1, far_off());
        } while (!granted(s, n));
        CHECK_EQ(n, 1);
        CHECK_EQ(byte, i);
    }
    return 0;
}

static int writes_all(void *arg) {
    scene *s = ((actor *)arg)->arg;
    for (int i = 0; i < BYTES_SENT; i++) {
        const uint8_t byte = (uint8_t)i;
        const thrum_iovec part = {(void *)(uintptr_t)&byte, 1};
        int64_t n;
        do {
            n = i % 2 == 0 ? thrum_write(s->e.io[1], &byte, 1)
                           : thrum_writev_until(s->e.io[1], &part, 1, far_off());
        } while (!granted(s, n));
        CHECK_EQ(n, 1);
        if (i % 4 == 0) {
            YIELD_UNTIL(io_awaits(s->e.io[0], THRUM_IO_READ) || atomic_load(&s->refused) > 0);
        }
    }
    return 0;
}

static int waits_a_moment(void *arg) {
    scene *s = ((actor *)arg)->arg;
    int code = thrum_io_wait(s->e.io[1], THRUM_IO_READ, soon());
    CHECK(code == -ETIMEDOUT || !granted(s, code));
    return 0;
}

static thrum_io taken_over(scene *s, int fd) {
    thrum_io io;
    while (!granted(s, thrum_io_adopt(&io, fd))) {
    }
    return io;
}

/* All of it once, by fibers and threads. */
static void program(rig *r, scene *s, bool fibers, bool threads) {
    for (end_kind k = TCP; k <= PIPE; k++) {
        pair_open(s->e.fds, k);
        s->e.io[0] = taken_over(s, s->e.fds[0]);
        s->e.io[1] = taken_over(s, s->e.fds[1]);
        cast *c = cast_new(r);
        cast_add(c, fibers, reads_all, s);
        cast_add(c, !threads, writes_all, s);
        if (k != PIPE) {
            cast_add(c, fibers, waits_a_moment, s);
        }
        cast_join(c);
        CHECK_EQ(thrum_io_close(s->e.io[0]), 0);
        CHECK_EQ(thrum_io_close(s->e.io[1]), 0);
    }
}

static void nth(const char *name, th_os_fault kind, int code, int other) {
    long faults = 0;
    long refused = 0;
    const int before = fds_in_use();
    for (int who = 0; who < 2; who++) {
        for (uint32_t n = 0;; n++) {
            rig r;
            scene s = {.code = code, .other = other};
            rig_begin(&r, 0);
            th_os_fail(kind, n, 1);
            program(&r, &s, who == 0, who == 1);
            const bool had = th_os_fails_left(kind) == 0;
            th_os_fail(kind, 0, 0);
            refused += atomic_load(&s.refused);
            s.code = s.other = 0;
            program(&r, &s, true, false);
            rig_stop(&r);
            CHECK_EQ(fds_in_use(), before);
            if (!had || n > 200) {
                break;
            }
            faults++;
        }
    }
    printf("faults: %s %ld %ld\n", name, faults, refused);
}

TEST(nth_set) {
    /* A worker gets no set: the wait that asked for it says so, and the next one gets it. */
    nth("set", TH_OS_FAULT_POLLSET, -EMFILE, 0);
}

TEST(nth_addition_to_a_set) {
    /* The wait says so. */
    nth("set, add", TH_OS_FAULT_POLLSET_ADD, -ENOMEM, 0);
}

TEST(nth_wakeup) {
    /* A set, or a thread that waits, gets none. */
    nth("wakeup", TH_OS_FAULT_EVENTFD, -EMFILE, 0);
}

TEST(nth_exact_wait) {
    /* Deadlines are kept in whole milliseconds instead: nobody is told. */
    nth("pwait2", TH_OS_FAULT_PWAIT2, 0, 0);
}

TEST(nth_read) {
    /* The code of the system comes back, and no byte is lost. */
    nth("read", TH_OS_FAULT_READ, -ENOBUFS, 0);
}

TEST(nth_write) {
    /* The code of the system comes back; nothing was written, so writes go on afterwards. */
    nth("write", TH_OS_FAULT_WRITE, -ENOBUFS, 0);
}

TEST(nth_allocation) {
    /* Taking over, or a wait, says -ENOMEM. */
    nth("allocation", TH_OS_FAULT_ALLOC, -ENOMEM, 0);
}

/* ---- one by one ---- */

TEST(no_mapping_for_a_record) {
    /* Taking over says so, and the descriptor is still the caller's. */
    int fds[2];
    thrum_io io = {0, 0};
    CHECK_EQ(pipe(fds), 0);
    const int flags = fcntl(fds[0], F_GETFL);
    th_os_fail(TH_OS_FAULT_MAP, 0, 1);
    CHECK_EQ(thrum_io_adopt(&io, fds[0]), -ENOMEM);
    CHECK_EQ(th_os_fails_left(TH_OS_FAULT_MAP), 0);
    CHECK_EQ(io.turn, 0);
    CHECK_EQ(fcntl(fds[0], F_GETFL), flags);
    io = adopted(fds[0]);
    CHECK_EQ(thrum_io_close(io) | close(fds[1]), 0);
}

/* The deadline of a wait that ends with this code: one that is refused has time. */
static thrum_time limit_for(int code) {
    return code == -ETIMEDOUT ? soon() : far_off();
}

static int reads_two_in_vain(void *arg) {
    scene *s = arg;
    char byte;
    CHECK_EQ(thrum_read_until(s->e.io[0], &byte, 1, limit_for(s->code)), s->code);
    return 0;
}

TEST(a_second_scheduler_has_no_memory) {
    /* Its fibers cannot wait; those of the first one go on, and later it can. */
    rig r[2];
    scene s = {.code = -ETIMEDOUT};
    rig_begin(&r[0], 0);
    rig_begin(&r[1], 0);
    ends_open_half(&s.e, UNIX);
    CHECK_EQ(rig_run(&r[0], reads_two_in_vain, &s), 0);
    s.code = -ENOMEM;
    th_os_fail(TH_OS_FAULT_ALLOC, 0, UINT32_MAX);
    CHECK_EQ(rig_run(&r[1], reads_two_in_vain, &s), 0);
    th_os_fail(TH_OS_FAULT_ALLOC, 0, 0);
    s.code = -ETIMEDOUT;
    CHECK_EQ(rig_run(&r[0], reads_two_in_vain, &s), 0);
    CHECK_EQ(rig_run(&r[1], reads_two_in_vain, &s), 0);
    ends_close(&s.e);
    rig_stop(&r[0]);
    rig_stop(&r[1]);
}

TEST(what_is_taken_over_stays_so_without_memory) {
    /* The second adoption is refused although no set can be asked. */
    rig r;
    scene s = {.code = -ETIMEDOUT};
    thrum_io again;
    rig_begin(&r, 0);
    ends_open_half(&s.e, TCP);
    CHECK_EQ(rig_run(&r, reads_two_in_vain, &s), 0);
    th_os_fail(TH_OS_FAULT_POLLSET_ADD, 0, 1);
    CHECK_EQ(thrum_io_adopt(&again, s.e.fds[0]), -EEXIST);
    CHECK_EQ(th_os_fails_left(TH_OS_FAULT_POLLSET_ADD), 0);
    CHECK_EQ(rig_run(&r, reads_two_in_vain, &s), 0);
    ends_close(&s.e);
    rig_stop(&r);
}

static int waits_without_descriptors(void *arg) {
    scene *s = ((actor *)arg)->arg;
    char byte;
    CHECK_EQ(thrum_read_until(s->e.io[0], &byte, 1, limit_for(s->code)), s->code);
    CHECK_EQ(thrum_io_wait(s->e.io[0], THRUM_IO_READ, limit_for(s->code)), s->code);
    put(s->e.fds[1], "x");
    s->other = (int)thrum_read(s->e.io[0], &byte, 1);
    CHECK(s->other == 1 || s->other == s->code);
    return 0;
}

TEST(the_process_has_no_descriptor_left) {
    /* Waits say -EMFILE, and work once there is one again. */
    rig r;
    rig_begin(&r, 0);
    for (int i = 0; i < 2; i++) {
        struct rlimit limit;
        scene s = {.code = -EMFILE};
        ends_open_half(&s.e, UNIX);
        CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
        const struct rlimit tight = {3, limit.rlim_max};
        CHECK_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
        cast *c = cast_new(&r);
        cast_add(c, i == 0, waits_without_descriptors, &s);
        cast_join(c);
        CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
        if (s.other == 1) {
            put(s.e.fds[1], "x");
        }
        char byte;
        CHECK_EQ(thrum_read(s.e.io[0], &byte, 1), 1);
        s.code = -ETIMEDOUT;
        CHECK_EQ(rig_run(&r, reads_two_in_vain, &s), 0);
        ends_close(&s.e);
    }
    rig_stop(&r);
}

static int64_t tries_to_accept(void *ctx, int fd, th_os_kind kind) {
    (void)ctx, (void)kind;
    return th_os_io_accept(fd);
}

TEST(nth_accept) {
    /* The code comes back, and the connection waits for the next call. */
    struct sockaddr_in address;
    int listener = listen_tcp(&address);
    CHECK_EQ(fcntl(listener, F_SETFL, O_NONBLOCK), 0);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK_EQ(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    await_readable(listener);
    CHECK(tries_to_accept(NULL, listener, TH_OS_TCP) >= 0);
    CHECK_EQ(tries_to_accept(NULL, listener, TH_OS_TCP), -EAGAIN);
    close(fd);
    fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK_EQ(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    await_readable(listener);
    th_os_fail(TH_OS_FAULT_ACCEPT, 0, 1);
    CHECK_EQ(tries_to_accept(NULL, listener, TH_OS_TCP), -EMFILE);
    CHECK(tries_to_accept(NULL, listener, TH_OS_TCP) >= 0);
    close(fd);
}
