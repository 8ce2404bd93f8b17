/*
 * file_waits.c: operations on files that hang: who may give them up, what they touch afterwards,
 * and who goes on meanwhile. The system's reads and writes hang here as long as a test wants.
 */
/* POSIX: wrap: pread, fork */
/* matrix: policy workers */
/* wrap: pread pwrite fcntl syscall readdir */
#include "support/io/files.h"
#include "support/times.h"

#include <sys/syscall.h>

#define RW (THRUM_FILE_READ | THRUM_FILE_WRITE)
#define NEW (RW | THRUM_FILE_CREATE | THRUM_FILE_EXCLUSIVE)

/* ---- the system ---- */

static thrum_io io;
static thrum_dir *dir;
static atomic_int inside; /* calls that hang */
static atomic_bool hangs; /* they do, until it is over */

ssize_t __real_pread(int fd, void *to, size_t size, off_t offset);
ssize_t __real_pwrite(int fd, const void *from, size_t size, off_t offset);
int __real_fcntl(int fd, int command, void *arg);
ssize_t __wrap_pread(int fd, void *to, size_t size, off_t offset);
ssize_t __wrap_pwrite(int fd, const void *from, size_t size, off_t offset);
int __wrap_fcntl(int fd, int command, void *arg);
long __real_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);
struct dirent *__real_readdir(DIR *folder);
struct dirent *__wrap_readdir(DIR *folder);

static void hang(void) {
    atomic_fetch_add(&inside, 1);
    SPIN_UNTIL(!atomic_load(&hangs));
    atomic_fetch_sub(&inside, 1);
}

ssize_t __wrap_pread(int fd, void *to, size_t size, off_t offset) {
    if (fd == io.fd) {
        hang(); /* no others: reports read the program's file */
    }
    return __real_pread(fd, to, size, offset);
}

ssize_t __wrap_pwrite(int fd, const void *from, size_t size, off_t offset) {
    hang();
    return __real_pwrite(fd, from, size, offset);
}

int __wrap_fcntl(int fd, int command, void *arg) {
    if (command == F_OFD_SETLK) {
        hang();
    }
    return __real_fcntl(fd, command, arg);
}

long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f) {
    if (number == SYS_getdents64) {
        hang();
    }
    return __real_syscall(number, a, b, c, d, e, f);
}

/* The library's where it does not ask the system itself, and no other one's: fds_open reads. */
struct dirent *__wrap_readdir(DIR *folder) {
    if (dir) {
        hang();
    }
    return __real_readdir(folder);
}

/* ---- a test's file ---- */

static char dir_path[64];
static int fds_before;

static void begin(rig *r, const char *text) {
    rig_begin(r, 0);
    in_dir(dir_path);
    fds_before = fds_open();
    io = opened("a", NEW);
    CHECK_EQ(thrum_file_pwrite(io, text, strlen(text), 0, THRUM_FOREVER), strlen(text));
    only_operations(true);
    no_rings(true);
    atomic_store(&hangs, true);
}

/* With the scheduler stopped: lets the system go on, and waits until nothing is left of it. */
static void end(void) {
    atomic_store(&hangs, false);
    SPIN_UNTIL(fds_open() == fds_before);
    only_operations(false);
    no_rings(false);
    CHECK_EQ(figures().waiting, 0);
    CHECK_EQ(unlink("a"), 0);
    out_of_dir(dir_path);
}

static thrum_handle *start(rig *r, thrum_fn fn, void *arg) {
    thrum_handle *handle;
    const thrum_attr attr = rig_attr(r);
    CHECK_EQ(thrum_spawn_with(&handle, &attr, fn, arg), 0);
    return handle;
}

static int result_of(thrum_handle *handle) {
    int result = 0;
    CHECK_EQ(thrum_join(handle, &result), 0);
    return result;
}

static int cancel(thrum_handle *handle) {
    CHECK_EQ(thrum_cancel(handle), 0);
    return result_of(handle);
}

static char memory[8];

static int read_result(void *arg) {
    const thrum_time *deadline = arg;
    return (int)thrum_file_pread(io, memory, 4, 0, deadline ? *deadline : THRUM_FOREVER);
}

static int count_up(void *arg) {
    atomic_int *n = arg;
    for (int i = 0; i < 100; i++) {
        atomic_fetch_add(n, 1);
        thrum_yield();
    }
    return 0;
}

/* ---- giving up ---- */

TEST(a_hanging_read_is_given_up) {
    /* By a cancel, at a deadline; the caller's memory is not touched, and others go on. */
    rig r;
    atomic_int n;
    atomic_init(&n, 0);
    begin(&r, "text");
    memset(memory, '-', sizeof memory);
    thrum_handle *reader = start(&r, read_result, NULL);
    SPIN_UNTIL(atomic_load(&inside) == 1);
    CHECK_EQ(rig_run(&r, count_up, &n), 0);
    CHECK_EQ(atomic_load(&n), 100);
    CHECK_EQ(cancel(reader), -ECANCELED);
    thrum_time until = soon();
    CHECK_EQ(rig_run(&r, read_result, &until), -ETIMEDOUT);
    until = soon();
    CHECK_EQ(read_result(&until), -ETIMEDOUT); /* a plain thread */
    CHECK_EQ(thrum_io_close(io), 0);           /* waits for none of them */
    CHECK_EQ(rig_run(&r, read_result, NULL), -EBADF);
    rig_stop(&r);
    end();
    for (unsigned i = 0; i < sizeof memory; i++) {
        CHECK_EQ(memory[i], '-');
    }
}

TEST(the_number_stays_until_the_read_has_ended) {
    /* What is opened after a close gets another one, so the read is of the file that was meant. */
    rig r;
    begin(&r, "text");
    thrum_handle *reader = start(&r, read_result, NULL);
    SPIN_UNTIL(atomic_load(&inside) == 1);
    CHECK_EQ(thrum_io_close(io), 0);
    const int other = open("/dev/null", O_RDONLY);
    CHECK(other != io.fd);
    atomic_store(&hangs, false);
    CHECK_EQ(result_of(reader), 4); /* it was begun before the close */
    CHECK(memcmp(memory, "text", 4) == 0);
    close(other);
    rig_stop(&r);
    end();
}

TEST(a_file_with_a_hanging_read_is_given_back) {
    /* As a duplicate; without one, as itself. */
    rig r;
    char c = 0;
    begin(&r, "text");
    thrum_handle *reader = start(&r, read_result, NULL);
    SPIN_UNTIL(atomic_load(&inside) == 1);
    const int fd = thrum_io_release(io);
    CHECK(fd >= 0 && fd != io.fd);
    CHECK_EQ(cancel(reader), -ECANCELED);
    CHECK_EQ(read(fd, &c, 1), 1);
    CHECK_EQ(c, 't');
    close(fd);
    io = opened("a", RW);
    CHECK_EQ(thrum_io_release(io), io.fd);
    close(io.fd);
    rig_stop(&r);
    end();
}

static int write_result(void *arg) {
    (void)arg;
    memcpy(memory, "TEXT", 4);
    const int64_t n = thrum_file_pwrite(io, memory, 4, 0, THRUM_FOREVER);
    memset(memory, '-', sizeof memory); /* the caller's own again */
    return (int)n;
}

TEST(a_hanging_write_goes_on_with_its_copy) {
    /* Its caller has given it up, and its memory is another one's by now. */
    rig r;
    begin(&r, "text");
    thrum_handle *writer = start(&r, write_result, NULL);
    SPIN_UNTIL(atomic_load(&inside) == 1);
    CHECK_EQ(cancel(writer), -ECANCELED);
    CHECK_EQ(thrum_io_close(io), 0);
    rig_stop(&r);
    atomic_store(&hangs, false);
    SPIN_UNTIL(fds_open() == fds_before);
    check_holds("a", "TEXT");
    end();
}

/* ---- many ---- */

enum { MANY = 40 }; /* more than threads without a special reason */

static int read_until_cancelled(void *arg) {
    const actor *a = arg;
    char text[8];
    (void)a;
    const int64_t n = thrum_file_pread(io, text, 4, 0, THRUM_FOREVER);
    return n == 4 ? 0 : (int)n;
}

static int look(void *arg) {
    thrum_file_info info;
    (void)arg;
    return thrum_file_stat("a", 0, &info, far_off());
}

TEST(threads_that_hang_hold_up_nobody) {
    /* When all of them do, another one is started; what they were asked is done at the end. */
    rig r;
    begin(&r, "text");
    cast *c = cast_new(&r);
    cast_add_mixed(c, MANY, 0, read_until_cancelled, NULL);
    SPIN_UNTIL(atomic_load(&inside) > 32); /* the first that was added hangs as well */
    CHECK_EQ(rig_run(&r, look, NULL), 0);
    CHECK_EQ(look(NULL), 0);
    CHECK(figures().threads <= MANY + 2);
    atomic_store(&hangs, false);
    cast_join(c);
    CHECK_EQ(thrum_io_close(io), 0);
    rig_stop(&r);
    end();
}

TEST(an_operation_that_no_thread_will_make_fails) {
    /* The only one hangs, and no other is granted: -EAGAIN; later there is one. */
    rig r;
    begin(&r, "text");
    thrum_handle *reader = start(&r, read_result, NULL);
    SPIN_UNTIL(atomic_load(&inside) == 1);
    th_os_fail(TH_OS_FAULT_THREAD, 0, UINT32_MAX);
    CHECK_EQ(rig_run(&r, look, NULL), -EAGAIN);
    CHECK_EQ(look(NULL), -EAGAIN);
    th_os_fail(TH_OS_FAULT_THREAD, 0, 0);
    CHECK_EQ(rig_run(&r, look, NULL), 0);
    atomic_store(&hangs, false);
    CHECK_EQ(result_of(reader), 4);
    CHECK_EQ(thrum_io_close(io), 0);
    rig_stop(&r);
    end();
}

TEST(what_nobody_waits_for_is_not_begun) {
    /* An operation that is queued when its caller gives up is withdrawn. */
    rig r;
    thrum_handle *readers[MANY];
    begin(&r, "text");
    for (int i = 0; i < MANY; i++) {
        readers[i] = start(&r, read_result, NULL);
    }
    SPIN_UNTIL(figures().waiting == MANY && atomic_load(&inside) >= 32);
    for (int i = MANY - 1; i >= 0; i--) {
        CHECK_EQ(cancel(readers[i]), -ECANCELED);
    }
    CHECK_EQ(figures().queued, 0);
    CHECK_EQ(figures().waiting, 0);
    CHECK_EQ(thrum_io_close(io), 0);
    rig_stop(&r);
    end();
}

/* ---- opening what does not open ---- */

static int open_result(void *arg) {
    const thrum_time *deadline = arg;
    thrum_io fifo;
    return thrum_file_open(&fifo, "fifo", THRUM_FILE_READ, 0, deadline ? *deadline : THRUM_FOREVER);
}

static int write_fifo(void *arg) {
    thrum_io fifo = opened("fifo", THRUM_FILE_WRITE);
    (void)arg;
    CHECK_EQ(thrum_write(fifo, "text", 4), 4);
    return thrum_io_close(fifo);
}

static int read_fifo(void *arg) {
    thrum_io fifo = opened("fifo", THRUM_FILE_READ);
    char text[8];
    (void)arg;
    CHECK_EQ(thrum_file_pread(fifo, text, 4, 0, THRUM_FOREVER), -ESPIPE);
    CHECK_EQ(thrum_read_full(fifo, text, 8, THRUM_FOREVER), 4);
    return thrum_io_close(fifo);
}

TEST(what_was_opened_for_nobody_is_closed) {
    /* A FIFO opens when its other end does; its openers have gone by then. */
    rig r;
    static char text[16384];
    begin(&r, "text");
    CHECK_EQ(mkfifo("fifo", 0600), 0);
    thrum_handle *opener = start(&r, open_result, NULL);
    SPIN_UNTIL(figures().waiting == 1);
    while (!strstr(text, " opens fifo")) { /* it is about to wait */
        FILE *out = fmemopen(text, sizeof text, "w");
        CHECK_EQ(thrum_dump(r.sched, out, THRUM_TEXT), 0);
        fclose(out);
    }
    CHECK_EQ(cancel(opener), -ECANCELED);
    thrum_time until = soon();
    CHECK_EQ(open_result(&until), -ETIMEDOUT);
    CHECK_EQ(thrum_io_close(io), 0);
    const int fd = open("fifo", O_RDWR); /* the other end, at last */
    SPIN_UNTIL(figures().begun == 0);    /* all have opened */
    SPIN_UNTIL(fds_open() == fds_before + 1);
    close(fd);
    atomic_store(&hangs, false);
    opener = start(&r, write_fifo, NULL);
    CHECK_EQ(rig_run(&r, read_fifo, NULL), 0);
    CHECK_EQ(result_of(opener), 0);
    rig_stop(&r);
    CHECK_EQ(unlink("fifo"), 0);
    end();
}

/* ---- directories ---- */

static int next_result(void *arg) {
    const thrum_time *deadline = arg;
    thrum_dir_entry e;
    return thrum_dir_next(dir, &e, *deadline);
}

TEST(no_entry_is_lost_to_a_cancel) {
    /* The batch comes late, and the caller that asks again gets it; another one is never begun. */
    rig r;
    thrum_dir_entry e;
    begin(&r, "text");
    CHECK_EQ(thrum_dir_open(&dir, ".", THRUM_FOREVER), 0);
    thrum_time never = THRUM_FOREVER;
    for (int i = 0; i < 3; i++) {
        thrum_handle *reader = start(&r, next_result, &never);
        SPIN_UNTIL(atomic_load(&inside) == 1 && figures().waiting == 1);
        CHECK_EQ(cancel(reader), -ECANCELED);
    }
    const uint64_t calls = figures().calls;
    atomic_store(&hangs, false);
    CHECK_EQ(thrum_dir_next(dir, &e, THRUM_FOREVER), 1);
    CHECK_STR(e.name, "a");
    CHECK_EQ(figures().calls, calls);
    CHECK_EQ(thrum_dir_next(dir, &e, THRUM_FOREVER), 0);
    thrum_dir_close(dir);
    CHECK_EQ(thrum_io_close(io), 0);
    rig_stop(&r);
    end();
}

TEST(a_directory_is_closed_while_it_is_read) {
    /* By a caller that has given up; nothing stays. */
    rig r;
    begin(&r, "text");
    CHECK_EQ(thrum_dir_open(&dir, ".", THRUM_FOREVER), 0);
    thrum_time never = THRUM_FOREVER;
    thrum_handle *reader = start(&r, next_result, &never);
    SPIN_UNTIL(atomic_load(&inside) == 1);
    CHECK_EQ(cancel(reader), -ECANCELED);
    thrum_dir_close(dir);
    CHECK_EQ(thrum_io_close(io), 0);
    rig_stop(&r);
    end();
}

/* ---- locks ---- */

static thrum_io other;

static int lock_result(void *arg) {
    const thrum_time *deadline = arg;
    return thrum_file_lock(other, THRUM_FILE_WRITE, deadline ? *deadline : THRUM_FOREVER);
}

TEST(a_lock_is_waited_for) {
    /* Until it is free, the deadline, or a cancel; shared ones are had by several. */
    NOT_BY_POSIX("locks of an open file");
    rig r;
    begin(&r, "text");
    atomic_store(&hangs, false);
    other = opened("a", RW);
    CHECK_EQ(thrum_file_lock(io, 7, THRUM_FOREVER), -EINVAL);
    CHECK_EQ(thrum_file_lock(io, THRUM_FILE_READ, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_file_try_lock(other, THRUM_FILE_READ), 0);
    CHECK_EQ(thrum_file_try_lock(io, THRUM_FILE_WRITE), -EBUSY);
    CHECK_EQ(thrum_file_unlock(other), 0);
    CHECK_EQ(thrum_file_try_lock(io, THRUM_FILE_WRITE), 0);
    CHECK_EQ(thrum_file_try_lock(other, THRUM_FILE_READ), -EBUSY);
    thrum_time until = soon();
    CHECK_EQ(rig_run(&r, lock_result, &until), -ETIMEDOUT);
    until = soon();
    CHECK_EQ(lock_result(&until), -ETIMEDOUT);
    thrum_handle *locker = start(&r, lock_result, NULL);
    CHECK_EQ(cancel(locker), -ECANCELED);
    locker = start(&r, lock_result, NULL);
    CHECK_EQ(thrum_file_unlock(io), 0);
    CHECK_EQ(result_of(locker), 0);
    CHECK_EQ(thrum_file_try_lock(io, THRUM_FILE_READ), -EBUSY);
    CHECK_EQ(thrum_io_close(other), 0); /* gives it up once the attempts above have ended */
    SPIN_UNTIL(thrum_file_try_lock(io, THRUM_FILE_READ) == 0);
    CHECK_EQ(thrum_io_close(io), 0);
    CHECK_EQ(thrum_file_try_lock(io, THRUM_FILE_READ), -EBADF);
    rig_stop(&r);
    end();
}

static bool is_locking(thrum_io locked) {
    th_record *record = th_record_at(locked.fd);
    th_lock_acquire(&record->lock);
    const bool is = record->locking;
    th_lock_release(&record->lock);
    return is;
}

TEST(a_lock_that_nobody_has_had_is_undone) {
    /* The system hangs, and locks when the caller has gone: then all is as before. */
    NOT_BY_POSIX("locks of an open file");
    rig r;
    begin(&r, "text");
    atomic_store(&hangs, false);
    other = opened("a", RW);
    CHECK_EQ(thrum_file_lock(other, THRUM_FILE_READ, THRUM_FOREVER), 0);
    atomic_store(&hangs, true);
    thrum_handle *locker = start(&r, lock_result, NULL);
    SPIN_UNTIL(atomic_load(&inside) == 1);
    CHECK_EQ(cancel(locker), -ECANCELED);
    CHECK_EQ(thrum_file_try_lock(other, THRUM_FILE_WRITE), -EBUSY); /* something is at it */
    atomic_store(&hangs, false);
    SPIN_UNTIL(!is_locking(other));
    CHECK_EQ(thrum_file_try_lock(io, THRUM_FILE_READ), 0); /* not the other one's alone, */
    CHECK_EQ(thrum_file_unlock(io), 0);                    /* and not nobody's either */
    CHECK_EQ(thrum_file_try_lock(io, THRUM_FILE_WRITE), -EBUSY);
    CHECK_EQ(thrum_io_close(io), 0);
    CHECK_EQ(thrum_io_close(other), 0);
    rig_stop(&r);
    end();
}

/* ---- after a fork ---- */

static int use_in_child(void *arg) {
    char text[8] = "";
    thrum_time never = far_off();
    (void)arg;
    CHECK_EQ(thrum_file_pread(io, text, 4, 0, THRUM_FOREVER), -ESHUTDOWN);
    CHECK_EQ(next_result(&never), -ESHUTDOWN); /* although the parent waits for a batch */
    thrum_io mine = opened("a", RW);
    CHECK_EQ(thrum_file_pread(mine, text, 4, 0, far_off()), 4);
    CHECK_STR(text, "text");
    return thrum_io_close(mine);
}

TEST(a_child_has_threads_of_its_own) {
    /* The parent's operations, threads and files are the parent's. */
    rig r;
    if (UNDER_TSAN) {
        CHECK_SKIP("the sanitizer takes no threads after a fork of threads");
    }
    if (UNDER_ASAN) {
        CHECK_SKIP("the sanitizer's allocator may be locked in the child, by a thread not there");
    }
    begin(&r, "text");
    thrum_handle *reader = start(&r, read_result, NULL);
    SPIN_UNTIL(atomic_load(&inside) == 1);
    CHECK_EQ(cancel(reader), -ECANCELED);
    CHECK_EQ(thrum_dir_open(&dir, ".", THRUM_FOREVER), 0);
    thrum_time never = THRUM_FOREVER;
    reader = start(&r, next_result, &never);
    SPIN_UNTIL(atomic_load(&inside) == 2);
    CHECK_EQ(cancel(reader), -ECANCELED);
    pid_t child = fork();
    if (child == 0) {
        atomic_store(&hangs, false);
        rig_do(1, use_in_child, NULL);
        CHECK_EQ(use_in_child(NULL), 0);
        thrum_dir_close(dir);
        _exit(0);
    }
    int status = 1;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    thrum_dir_close(dir);
    CHECK_EQ(thrum_io_close(io), 0);
    rig_stop(&r);
    end();
}
