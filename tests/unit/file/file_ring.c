/*
 * file_ring.c: transfers of files that the system makes without a thread (src/file/ring.h): where
 * they go, late and lost ends, and what outlives its caller, its descriptor and its scheduler.
 */
/* POSIX: th_os_ring_open */
/* matrix: policy workers */
#include "support/io/files.h"
#include "support/times.h"

#include "file/ring.h"

#define RW (THRUM_FILE_READ | THRUM_FILE_WRITE)
#define NEW (RW | THRUM_FILE_CREATE | THRUM_FILE_EXCLUSIVE)

enum { SIZE = 8 };

static char dir_path[64];
static int fds_before;
static thrum_io io;
static char memory[SIZE];

/* A file "a" of the bytes "12345678", and nothing is done at once. */
static void begin_with(rig *r, unsigned workers, unsigned spare) {
    th_os_ring ring;
    CHECK_EQ(unsetenv("THRUM_IO"), 0);
    const int code = th_os_ring_open(&ring, 2);
    if (code) {
        CHECK_SKIP("the system has no rings here");
    }
    th_os_ring_close(&ring);
    rig_init(r);
    r->config.workers = workers ? workers : r->config.workers;
    r->config.workers_spare = spare ? spare : r->config.workers_spare;
    fds_before = fds_open(); /* a worker that starts has some for a moment */
    rig_start(r);
    in_dir(dir_path);
    CHECK_EQ(th_rings_open(), 0);
    io = opened("a", NEW);
    CHECK_EQ(thrum_file_pwrite(io, "12345678", SIZE, 0, THRUM_FOREVER), SIZE);
    memset(memory, '-', SIZE);
    only_operations(true);
}

static void begin(rig *r) {
    begin_with(r, 0, 0);
}

static void hold_ends_back(bool on) {
    th_os_fail(TH_OS_FAULT_RING_LATE, 0, on ? UINT32_MAX : 0);
}

/* With the scheduler stopped: waits until nothing is left of what was given up. */
static void end(void) {
    hold_ends_back(false);
    SPIN_UNTIL(th_rings_open() == 0 && fds_open() == fds_before);
    SPIN_UNTIL(figures().begun == 0 && figures().queued == 0);
    only_operations(false);
    CHECK_EQ(figures().waiting, 0);
    CHECK_EQ(unlink("a"), 0);
    out_of_dir(dir_path);
}

static bool is_untouched(void) {
    for (int i = 0; i < SIZE; i++) {
        if (memory[i] != '-') {
            return false;
        }
    }
    return true;
}

static int reads(void *arg) {
    const thrum_time *deadline = arg;
    return (int)thrum_file_pread(io, memory, SIZE, 0, deadline ? *deadline : THRUM_FOREVER);
}

static int reads_whole(void *arg) {
    (void)arg;
    memset(memory, '-', SIZE);
    CHECK_EQ(reads(NULL), SIZE);
    CHECK(memcmp(memory, "12345678", SIZE) == 0);
    return 0;
}

static int writes(void *arg) {
    return (int)thrum_file_pwrite(io, arg, SIZE, 0, THRUM_FOREVER);
}

static int reads_late(void *arg) {
    (void)arg;
    return (int)thrum_file_pread(io, memory, SIZE, 0, soon());
}

static thrum_handle *start(const rig *r, thrum_fn fn) {
    thrum_handle *handle;
    const thrum_attr attr = rig_attr(r);
    CHECK_EQ(thrum_spawn_with(&handle, &attr, fn, NULL), 0);
    return handle;
}

static int result_of(thrum_handle *handle) {
    int result = 0;
    CHECK_EQ(thrum_join(handle, &result), 0);
    return result;
}

/* With the ends held back: a transfer begins, and its caller gives it up. */
static void leave_one_behind(const rig *r) {
    const uint32_t before = figures().begun;
    thrum_handle *reader = start(r, reads);
    SPIN_UNTIL(figures().begun == before + 1);
    CHECK_EQ(thrum_cancel(reader), 0);
    CHECK_EQ(result_of(reader), -ECANCELED);
}

TEST(what_would_wait_goes_through_a_ring) {
    /* And takes no thread. Each worker has at most one, which ends with the scheduler. */
    rig r;
    begin(&r);
    const uint64_t before = th_ring_transfers();
    for (int i = 0; i < 100; i++) {
        CHECK_EQ(rig_run(&r, reads_whole, NULL), 0);
    }
    CHECK_EQ(th_ring_transfers(), before + 100);
    CHECK_EQ(figures().threads, 0);
    CHECK(th_rings_open() >= 1 && th_rings_open() <= thrum_sched_parallelism(r.sched) + 64);
    CHECK_EQ(reads(NULL), SIZE); /* a plain thread has none */
    CHECK_EQ(th_ring_transfers(), before + 100);
    CHECK_EQ(thrum_io_close(io), 0);
    rig_stop(&r);
    CHECK_EQ(th_rings_open(), 0);
    end();
}

static int many_read(void *arg) {
    (void)arg;
    char bytes[SIZE];
    for (int i = 0; i < 40; i++) {
        CHECK_EQ(thrum_file_pread(io, bytes, SIZE, 0, THRUM_FOREVER), SIZE);
        CHECK(memcmp(bytes, "12345678", SIZE) == 0);
    }
    return 0;
}

TEST(many_at_a_time) {
    /* More than a ring takes: the rest goes to threads. */
    enum { READERS = 300 };
    thrum_handle *readers[READERS];
    rig r;
    begin(&r);
    for (int i = 0; i < READERS; i++) {
        readers[i] = start(&r, many_read);
    }
    for (int i = 0; i < READERS; i++) {
        CHECK_EQ(result_of(readers[i]), 0);
    }
    CHECK_EQ(thrum_io_close(io), 0);
    rig_stop(&r);
    end();
}

static atomic_int reads_done;
static int both_read[2]; /* a pipe */

static void has_read(void) {
    if (atomic_fetch_add(&reads_done, 1) == 1) {
        CHECK_EQ(write(both_read[1], "x", 1), 1);
    }
}

/* Blocks its thread until both have read. */
static int blocks_until_read(void *arg) {
    char byte;
    (void)arg;
    CHECK_EQ(read(both_read[0], &byte, 1), 1);
    return 0;
}

static int reads_second(void *arg) {
    char bytes[SIZE];
    (void)arg;
    CHECK_EQ(thrum_go(blocks_until_read, NULL), 0);
    CHECK_EQ(thrum_file_pread(io, bytes, SIZE, 0, THRUM_FOREVER), SIZE); /* behind the first */
    has_read();
    return 0;
}

static int reads_first(void *arg) {
    char bytes[SIZE];
    (void)arg;
    CHECK_EQ(thrum_go(reads_second, NULL), 0);
    CHECK_EQ(thrum_file_pread(io, bytes, SIZE, 0, THRUM_FOREVER), SIZE);
    has_read();
    return 0;
}

TEST(what_waits_to_be_begun_does_not_wait_for_one_that_blocks) {
    /* With the only worker held up, a spare sees it, though the system knows of nothing yet. */
    rig r;
    begin_with(&r, 1, 1);
    CHECK_EQ(pipe(both_read), 0);
    for (int i = 0; i < 5; i++) {
        atomic_store(&reads_done, 0);
        CHECK_EQ(rig_run(&r, reads_first, NULL), 0);
        rig_wait_done(&r);
    }
    close(both_read[0]);
    close(both_read[1]);
    CHECK_EQ(thrum_io_close(io), 0);
    rig_stop(&r);
    end();
}

TEST(what_the_system_does_not_begin_a_thread_makes) {
    /* One, or several that it was told of together. */
    enum { READERS = 60 };
    thrum_handle *readers[READERS];
    rig r;
    begin(&r);
    const uint64_t calls = figures().calls;
    th_os_fail(TH_OS_FAULT_RING_SEND, 0, 1);
    CHECK_EQ(rig_run(&r, reads_whole, NULL), 0);
    CHECK_EQ(th_os_fails_left(TH_OS_FAULT_RING_SEND), 0);
    CHECK_EQ(figures().calls, calls + 2); /* the ring's, and a thread's */
    th_os_fail(TH_OS_FAULT_RING_SEND, 3, 20);
    for (int i = 0; i < READERS; i++) {
        readers[i] = start(&r, many_read);
    }
    for (int i = 0; i < READERS; i++) {
        CHECK_EQ(result_of(readers[i]), 0);
    }
    CHECK_EQ(th_os_fails_left(TH_OS_FAULT_RING_SEND), 0);
    CHECK_EQ(thrum_io_close(io), 0);
    rig_stop(&r);
    end();
}

static atomic_bool ran;

static int reads_until_it_ran(void *arg) {
    (void)arg;
    char bytes[SIZE];
    while (!atomic_load(&ran)) {
        CHECK_EQ(thrum_file_pread(io, bytes, SIZE, 0, THRUM_FOREVER), SIZE);
    }
    return 0;
}

static int runs(void *arg) {
    (void)arg;
    atomic_store(&ran, true);
    return 0;
}

TEST(reads_that_end_at_once_let_others_run) {
    /* The system has in memory what is read: the call does not suspend, and yields now and then. */
    thrum_handle *reader, *other;
    rig r;
    begin(&r);
    atomic_store(&ran, false);
    thrum_attr attr = rig_attr(&r);
    attr.flags = THRUM_PINNED; /* no other worker helps */
    attr.worker = 0;
    CHECK_EQ(thrum_spawn_with(&reader, &attr, reads_until_it_ran, NULL), 0);
    CHECK_EQ(thrum_spawn_with(&other, &attr, runs, NULL), 0);
    CHECK_EQ(result_of(other), 0);
    CHECK_EQ(result_of(reader), 0);
    CHECK_EQ(thrum_io_close(io), 0);
    rig_stop(&r);
    end();
}

TEST(what_a_ring_refuses_a_thread_makes) {
    /* So it does with what has come back unasked for. */
    rig r;
    begin(&r);
    th_os_fail(TH_OS_FAULT_RING_PUT, 0, 1);
    CHECK_EQ(rig_run(&r, reads_whole, NULL), 0);
    CHECK_EQ(th_os_fails_left(TH_OS_FAULT_RING_PUT), 0);
    th_os_fail(TH_OS_FAULT_RING_TAKE, 0, 1);
    CHECK_EQ(rig_run(&r, reads_whole, NULL), 0);
    CHECK_EQ(th_os_fails_left(TH_OS_FAULT_RING_TAKE), 0);
    th_os_fail(TH_OS_FAULT_RING_TAKE, 0, 1);
    CHECK_EQ(rig_run(&r, writes, "abcdefgh"), SIZE);
    CHECK_EQ(rig_run(&r, reads, NULL), SIZE);
    CHECK(memcmp(memory, "abcdefgh", SIZE) == 0);
    CHECK(figures().calls >= 3);
    CHECK_EQ(thrum_io_close(io), 0);
    rig_stop(&r);
    end();
}

TEST(without_rings_threads_make_all) {
    /* The system refuses them: for good, or for want of descriptors, when it is asked again. */
    rig r;
    begin(&r);
    th_os_fail_with(TH_OS_FAULT_RING, -EPERM, 0, UINT32_MAX);
    CHECK_EQ(rig_run(&r, reads_whole, NULL), 0);
    th_os_fail(TH_OS_FAULT_RING, 0, 0);
    const uint64_t before = th_ring_transfers();
    CHECK_EQ(rig_run(&r, reads_whole, NULL), 0);
    CHECK_EQ(th_ring_transfers(), before);
    rig_stop(&r);
    rig_begin(&r, 0);
    th_os_fail_with(TH_OS_FAULT_RING, -EMFILE, 0, 1);
    CHECK_EQ(rig_run(&r, reads_whole, NULL), 0);
    CHECK_EQ(th_ring_transfers(), before);
    CHECK_EQ(rig_run(&r, reads_whole, NULL), 0);
    CHECK_EQ(thrum_io_close(io), 0);
    rig_stop(&r);
    end();
}

TEST(the_environment_may_ask_for_threads) {
    /* THRUM_IO=epoll. */
    rig r;
    begin(&r);
    CHECK_EQ(setenv("THRUM_IO", "epoll", 1), 0);
    const uint64_t before = th_ring_transfers();
    const uint64_t calls = figures().calls;
    CHECK_EQ(rig_run(&r, reads_whole, NULL), 0);
    CHECK_EQ(th_ring_transfers(), before);
    CHECK_EQ(figures().calls, calls + 1);
    CHECK_EQ(thrum_io_close(io), 0);
    rig_stop(&r);
    end();
}

TEST(a_late_transfer_is_given_up) {
    /* At a deadline and by a cancel: the caller's memory is not touched afterwards. */
    rig r;
    begin(&r);
    hold_ends_back(true);
    do { /* its time may be out before the transfer begins */
        CHECK_EQ(rig_run(&r, reads_late, NULL), -ETIMEDOUT);
    } while (figures().begun == 0);
    leave_one_behind(&r);
    hold_ends_back(false);
    CHECK(is_untouched());
    /* Its worker takes the ends of all when there is one more. */
    CHECK_EQ(rig_run(&r, reads_whole, NULL), 0);
    CHECK_EQ(thrum_io_close(io), 0);
    rig_stop(&r);
    end();
}

TEST(the_number_stays_until_the_transfer_has_ended) {
    /* What is opened after a close gets another one, so the read is of the file that was meant. */
    rig r;
    begin(&r);
    hold_ends_back(true);
    leave_one_behind(&r);
    CHECK_EQ(thrum_io_close(io), 0);
    const int other = open("/dev/null", O_RDONLY);
    CHECK(other != io.fd);
    close(other);
    CHECK_EQ(rig_run(&r, reads, NULL), -EBADF);
    rig_stop(&r);
    end(); /* the descriptor is closed */
}

TEST(a_stop_leaves_late_transfers_behind) {
    /* It waits for none; the next scheduler has rings of its own. */
    rig r;
    begin(&r);
    hold_ends_back(true);
    for (int i = 0; i < 3; i++) {
        leave_one_behind(&r);
    }
    rig_stop(&r);
    CHECK(th_rings_open() >= 1);
    hold_ends_back(false);
    rig_begin(&r, 0);
    CHECK_EQ(rig_run(&r, reads_whole, NULL), 0);
    CHECK_EQ(thrum_io_close(io), 0);
    rig_stop(&r);
    end();
}

TEST(a_stop_without_a_thread_waits_for_late_transfers) {
    /* Nobody else could take their ends. */
    rig r;
    begin(&r);
    hold_ends_back(true);
    leave_one_behind(&r);
    th_os_fail(TH_OS_FAULT_THREAD, 0, 1);
    th_os_fail(TH_OS_FAULT_RING_LATE, 0, 3); /* they come while it waits */
    rig_stop(&r);
    CHECK_EQ(th_os_fails_left(TH_OS_FAULT_RING_LATE), 0);
    CHECK_EQ(th_rings_open(), 0);
    th_os_fail(TH_OS_FAULT_THREAD, 0, 0);
    CHECK_EQ(thrum_io_close(io), 0);
    end();
}

enum { PAGE = 4096 };

static int goes_direct(void *arg) {
    static _Alignas(PAGE) char page[PAGE + 1];
    const thrum_io *direct = arg;
    memset(page, 'd', sizeof page);
    const uint64_t before = th_ring_transfers();
    CHECK_EQ(thrum_file_pwrite(*direct, page + 1, PAGE, 0, THRUM_FOREVER), PAGE);
    memset(page, '-', sizeof page);
    CHECK_EQ(thrum_file_pread(*direct, page + 1, PAGE, 0, THRUM_FOREVER), PAGE);
    CHECK(page[0] == '-' && page[1] == 'd' && page[PAGE] == 'd');
    return th_ring_transfers() == before + 2 ? 0 : -ENOSYS;
}

TEST(direct_files) {
    /* Both ways, whatever the caller's memory is aligned to. */
    rig r;
    thrum_io direct;
    begin(&r);
    const int code = thrum_file_open(&direct, "a", RW | THRUM_FILE_DIRECT, 0, THRUM_FOREVER);
    if (code) {
        CHECK_EQ(code, -EINVAL); /* not on this file system */
    } else {
        CHECK_EQ(rig_run(&r, goes_direct, &direct), 0);
        CHECK_EQ(thrum_io_close(direct), 0);
    }
    CHECK_EQ(thrum_io_close(io), 0);
    rig_stop(&r);
    end();
}

static int reads_in_child(void *arg) {
    (void)arg;
    const int fd = open("a", O_RDONLY);
    CHECK_EQ(thrum_file_adopt(&io, fd), 0);
    CHECK_EQ(reads_whole(NULL), 0);
    return thrum_io_close(io);
}

TEST(a_child_of_a_fork_has_rings_of_its_own) {
    /* The parent's transfer, which is under way, is none of its business. */
    rig r;
    int status = 0;
    if (UNDER_TSAN || UNDER_ASAN) {
        CHECK_SKIP("a sanitizer takes no threads in the child");
    }
    begin(&r);
    hold_ends_back(true);
    leave_one_behind(&r);
    hold_ends_back(false);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        rig own;
        check_end_in_time();
        CHECK_EQ(th_rings_open(), 0);
        rig_init(&own);
        CHECK_EQ(thrum_sched_start(&own.sched, &own.config), 0);
        CHECK_EQ(rig_run(&own, reads_in_child, NULL), 0);
        CHECK_EQ(thrum_sched_stop(own.sched), 0);
        CHECK_EQ(th_rings_open(), 0);
        _exit(0);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    CHECK_EQ(rig_run(&r, reads_whole, NULL), 0);
    CHECK_EQ(thrum_io_close(io), 0);
    rig_stop(&r);
    end();
}
