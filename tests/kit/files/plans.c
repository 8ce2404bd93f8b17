/*
 * plans.c: calls of the system that fail because a test asks for it: plans NAME [OPTION...].
 * plans.py runs the tests. Those whose names begin with bad_ must fail.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <thrum.h>
#include <thrum/test.h>

#define MUST(call) THRUM_TEST((call) == 0)
#define IS(call, code) THRUM_TEST((call) == (code))
#define EVER THRUM_FOREVER
#define PAGE 4096u
#define MUCH 20000u

static unsigned *kept; /* how many schedules ended in the one way, and in the other */

static char sent[MUCH];
static char got[MUCH];

static void fill(void) {
    for (unsigned i = 0; i < MUCH; i++) {
        sent[i] = (char)(i * 7 + i / 251);
    }
}

static thrum_io open_file(const char *path) {
    thrum_io io;
    const unsigned flags = THRUM_FILE_READ | THRUM_FILE_WRITE | THRUM_FILE_CREATE;
    MUST(thrum_file_open(&io, path, flags, 0644, EVER));
    return io;
}

static void sync_folder(void) {
    thrum_io io;
    MUST(thrum_file_open(&io, "/", THRUM_FILE_READ | THRUM_FILE_DIRECTORY, 0, EVER));
    MUST(thrum_file_sync(io, EVER));
    MUST(thrum_io_close(io));
}

static unsigned names_in_root(void) {
    thrum_dir *dir;
    thrum_dir_entry entry;
    unsigned n = 0;
    MUST(thrum_dir_open(&dir, "/", EVER));
    while (thrum_dir_next(dir, &entry, EVER) == 1) {
        n++;
    }
    thrum_dir_close(dir);
    return n;
}

/* ---- files ---- */

static int the_third_write(void *arg) {
    thrum_io io = open_file("a");
    (void)arg;
    fill();
    MUST(thrum_test_fault(NULL, THRUM_TEST_WRITE, 3, -EIO));
    for (int i = 1; i <= 5; i++) {
        IS(thrum_file_pwrite(io, sent, 10, 10 * i, EVER), i == 3 ? -EIO : 10);
    }
    MUST(thrum_test_fault(NULL, THRUM_TEST_READ, 2, -EIO));
    for (int i = 1; i <= 3; i++) {
        IS(thrum_file_pread(io, got, 10, 0, EVER), i == 2 ? -EIO : 10);
    }
    MUST(thrum_test_fault(NULL, THRUM_TEST_OPEN, 1, -EMFILE));
    thrum_io other;
    IS(thrum_file_open(&other, "a", THRUM_FILE_READ, 0, EVER), -EMFILE);
    IS(thrum_file_load("a", got, sizeof got, EVER), 60);
    MUST(thrum_io_close(io));
    return 0;
}

static int short_files(void *arg) {
    thrum_io io = open_file("a");
    (void)arg;
    fill();
    MUST(thrum_test_fault_chance(NULL, THRUM_TEST_WRITE, 2, 0));
    MUST(thrum_test_fault_chance(NULL, THRUM_TEST_READ, 2, 0));
    IS(thrum_file_pwrite(io, sent, MUCH, 0, EVER), MUCH);
    IS(thrum_file_pread(io, got, MUCH, 0, EVER), MUCH);
    THRUM_TEST(!memcmp(sent, got, MUCH));
    const int64_t n = thrum_read(io, got, MUCH); /* this one returns what it has */
    THRUM_TEST(n > 0 && !memcmp(sent, got, (size_t)n));
    kept[n == MUCH]++;
    MUST(thrum_io_close(io));
    return 0;
}

static int failing_replace(void *arg) {
    static const thrum_test_call calls[] = {THRUM_TEST_OPEN, THRUM_TEST_WRITE, THRUM_TEST_SYNC,
                                            THRUM_TEST_NAME};
    const unsigned which = thrum_test_random() % 4;
    const unsigned nth = 1 + (which == 0 ? thrum_test_random() % 2 : 0);
    (void)arg;
    fill();
    MUST(thrum_file_replace("a", "old", 3, 0, EVER));
    MUST(thrum_test_fault(NULL, calls[which], nth, -ENOSPC));
    IS(thrum_file_replace("a", sent, MUCH, 0, EVER), -ENOSPC);
    IS(thrum_file_load("a", got, MUCH, EVER), 3);
    IS(names_in_root(), 2);
    MUST(thrum_file_replace("a", sent, MUCH, 0, EVER));
    return 0;
}

/* Whatever fails, and whenever the disk crashes, a file is an old one or a new one. */
static int replace_survives_all(void *arg) {
    static const thrum_test_call calls[] = {THRUM_TEST_READ, THRUM_TEST_WRITE, THRUM_TEST_OPEN,
                                            THRUM_TEST_SYNC, THRUM_TEST_NAME,  THRUM_TEST_MEMORY};
    static char expected[2] = "00";
    (void)arg;
    memset(sent, '0', 4 * PAGE);
    MUST(thrum_file_replace("a", sent, 4 * PAGE, 0, EVER));
    for (unsigned i = 0; i < 6; i++) {
        MUST(thrum_test_fault_chance(NULL, calls[i], 20,
                                     calls[i] == THRUM_TEST_MEMORY ? -ENOMEM : -EIO));
    }
    MUST(thrum_test_fault_chance(NULL, THRUM_TEST_WRITE, 3, 0));
    for (char letter = '1'; letter <= '5'; letter++) {
        memset(sent, letter, 4 * PAGE);
        const int code = thrum_file_replace("a", sent, 4 * PAGE, 0, EVER);
        expected[0] = code ? expected[0] : letter;
        expected[1] = letter;
        kept[code != 0]++;
    }
    MUST(thrum_test_fault_end(NULL));
    MUST(thrum_test_disk_crash());
    IS(thrum_file_load("a", got, MUCH, EVER), 4 * PAGE);
    for (unsigned i = 1; i < 4 * PAGE; i++) {
        THRUM_TEST(got[i] == got[0]);
    }
    THRUM_TEST(got[0] >= expected[0] && got[0] <= expected[1]);
    return 0;
}

/* After a sync that has failed, the next one does not write the bytes either. */
static int bad_failed_sync(void *arg) {
    thrum_io io = open_file("a");
    (void)arg;
    fill();
    MUST(thrum_file_sync(io, EVER));
    sync_folder();
    IS(thrum_file_pwrite(io, sent, MUCH, 0, EVER), MUCH);
    MUST(thrum_test_fault(NULL, THRUM_TEST_SYNC, 1, -EIO));
    IS(thrum_file_sync(io, EVER), -EIO);
    MUST(thrum_file_sync(io, EVER));
    MUST(thrum_io_close(io));
    MUST(thrum_test_disk_crash());
    IS(thrum_file_load("a", got, MUCH, EVER), MUCH);
    THRUM_TEST(!memcmp(sent, got, MUCH));
    return 0;
}

/* ---- sockets ---- */

static char address[100];

static int echo(void *arg) {
    const thrum_io listener = *(thrum_io *)arg;
    static char text[MUCH];
    thrum_io io;
    MUST(thrum_accept(listener, &io));
    for (unsigned done = 0; done < MUCH;) {
        const int64_t n = thrum_read(io, text, sizeof text);
        THRUM_TEST(n > 0);
        IS(thrum_write(io, text, (size_t)n), n);
        done += (unsigned)n;
    }
    MUST(thrum_io_close(io));
    return 0;
}

static int sends(void *arg) {
    IS(thrum_write(*(thrum_io *)arg, sent, MUCH), MUCH);
    return 0;
}

static void echoes(const char *where) {
    thrum_io listener, io;
    thrum_handle *server, *sender;
    MUST(thrum_listen(&listener, where, NULL));
    MUST(thrum_io_local(listener, address, sizeof address));
    MUST(thrum_spawn(&server, echo, &listener));
    MUST(thrum_dial(&io, address, EVER));
    MUST(thrum_spawn(&sender, sends, &io));
    IS(thrum_read_full(io, got, MUCH, EVER), MUCH);
    THRUM_TEST(!memcmp(sent, got, MUCH));
    MUST(thrum_join(sender, NULL));
    MUST(thrum_join(server, NULL));
    MUST(thrum_io_close(io));
    MUST(thrum_io_close(listener));
}

static int short_sockets(void *arg) {
    (void)arg;
    fill();
    MUST(thrum_test_fault_chance(NULL, THRUM_TEST_WRITE, 2, 0));
    MUST(thrum_test_fault_chance(NULL, THRUM_TEST_READ, 2, 0));
    echoes("tcp:127.0.0.1:0");
    echoes("unix:/tmp/short");
    return 0;
}

static int accepts_twice(void *arg) {
    const thrum_io listener = *(thrum_io *)arg;
    thrum_io io;
    int code;
    IS(thrum_accept(listener, &io), -EMFILE);
    while ((code = thrum_accept(listener, &io)) == -ECONNABORTED) {
    }
    MUST(code);
    IS(thrum_write(io, "second", 6), 6);
    MUST(thrum_io_close(io));
    return 0;
}

static int connections(void *arg) {
    thrum_io listener, io;
    thrum_handle *server;
    (void)arg;
    MUST(thrum_listen(&listener, "tcp:127.0.0.1:0", NULL));
    MUST(thrum_io_local(listener, address, sizeof address));
    MUST(thrum_test_fault(NULL, THRUM_TEST_ACCEPT, 1, -EMFILE));
    MUST(thrum_test_fault(NULL, THRUM_TEST_ACCEPT, 2, -ECONNABORTED));
    MUST(thrum_test_fault(NULL, THRUM_TEST_CONNECT, 2, -ENETUNREACH));
    MUST(thrum_test_fault(NULL, THRUM_TEST_OPEN, 3, -EMFILE));
    MUST(thrum_spawn(&server, accepts_twice, &listener));
    const int code = thrum_dial(&io, address, EVER);
    if (code == 0) {
        IS(thrum_read(io, got, 6), -ECONNRESET);
        MUST(thrum_io_close(io));
    }
    THRUM_TEST(code == 0 || code == -ECONNRESET);
    IS(thrum_dial(&io, address, EVER), -ENETUNREACH);
    IS(thrum_dial(&io, address, EVER), -EMFILE);
    MUST(thrum_dial(&io, address, EVER));
    IS(thrum_read(io, got, 6), 6);
    MUST(thrum_join(server, NULL));
    MUST(thrum_io_close(io));
    MUST(thrum_io_close(listener));
    return 0;
}

/* ---- memory, threads ---- */

static int nothing(void *arg) {
    (void)arg;
    return 0;
}

static int memory(void *arg) {
    thrum_chan *chan = NULL;
    (void)arg;
    MUST(thrum_test_fault(NULL, THRUM_TEST_MEMORY, 1, -ENOMEM));
    IS(thrum_chan_create(&chan, sizeof(int), 1), -ENOMEM);
    MUST(thrum_chan_create(&chan, sizeof(int), 1));
    MUST(thrum_chan_destroy(chan));
    MUST(thrum_test_fault(NULL, THRUM_TEST_THREAD, 1, -EAGAIN));
    thrum_test_thread thread; /* it is not the library's */
    MUST(thrum_test_thread_start(&thread, (void (*)(void *))(void *)nothing, NULL));
    thrum_test_thread_join(&thread);
    thrum_test_settle();
    IS(thrum_blocking(nothing, NULL, NULL), -EAGAIN);
    MUST(thrum_blocking(nothing, NULL, NULL));
    return 0;
}

/* ---- plans ---- */

static unsigned failures(unsigned calls) {
    thrum_io io = open_file("a");
    unsigned n = 0;
    for (unsigned i = 0; i < calls; i++) {
        n += thrum_file_pwrite(io, "x", 1, 0, EVER) < 0;
    }
    MUST(thrum_io_close(io));
    return n;
}

static int chances(void *arg) {
    (void)arg;
    MUST(thrum_test_fault_chance(NULL, THRUM_TEST_WRITE, 4, -EIO));
    const unsigned n = failures(8);
    kept[0] += n;
    kept[1] += 8 - n;
    MUST(thrum_test_fault_end(NULL));
    IS(failures(8), 0);
    MUST(thrum_test_fault_chance(NULL, THRUM_TEST_WRITE, 1, -EIO));
    IS(failures(8), 8);
    return 0;
}

/* The plans of the schedule before are over, and none hinders its end. */
static int begins_without(void *arg) {
    (void)arg;
    IS(failures(3), 0);
    MUST(thrum_test_fault(NULL, THRUM_TEST_WRITE, 1, -EIO));
    MUST(thrum_test_fault_chance(NULL, THRUM_TEST_MEMORY, 1, -ENOMEM));
    MUST(thrum_test_fault_chance(NULL, THRUM_TEST_THREAD, 1, -EAGAIN));
    return 0;
}

static int wrong_plans(void *arg) {
    (void)arg;
    IS(thrum_test_fault(NULL, THRUM_TEST_WRITE, 0, -EIO), -EINVAL);
    IS(thrum_test_fault(NULL, THRUM_TEST_WRITE, 1, EIO), -EINVAL);
    IS(thrum_test_fault(NULL, THRUM_TEST_SYNC, 1, 0), -EINVAL);
    IS(thrum_test_fault(NULL, THRUM_TEST_MEMORY, 1, -EIO), -EINVAL);
    IS(thrum_test_fault(NULL, (thrum_test_call)(THRUM_TEST_THREAD + 1), 1, -EIO), -EINVAL);
    IS(thrum_test_fault("nobody", THRUM_TEST_WRITE, 1, -EIO), -ENOENT);
    IS(thrum_test_fault_chance(NULL, THRUM_TEST_WRITE, 0, -EIO), -EINVAL);
    IS(thrum_test_fault_chance(NULL, THRUM_TEST_WRITE, 256, -EIO), -EINVAL);
    IS(thrum_test_fault_end("nobody"), -ENOENT);
    for (unsigned i = 0; i < 32; i++) {
        MUST(thrum_test_fault(NULL, THRUM_TEST_WRITE, 1000, -EIO));
    }
    IS(thrum_test_fault(NULL, THRUM_TEST_WRITE, 1, -EIO), -ENOSPC);
    return 0;
}

/* A report names the fault. */
static int bad_write(void *arg) {
    (void)arg;
    MUST(thrum_test_fault_chance(NULL, THRUM_TEST_WRITE, 4, -EIO));
    IS(failures(3), 0);
    return 0;
}

static const struct {
    const char *name;
    thrum_fn fn;
} tests[] = {{"the_third_write", the_third_write},
             {"short_files", short_files},
             {"failing_replace", failing_replace},
             {"replace_survives_all", replace_survives_all},
             {"bad_failed_sync", bad_failed_sync},
             {"short_sockets", short_sockets},
             {"connections", connections},
             {"memory", memory},
             {"chances", chances},
             {"begins_without", begins_without},
             {"wrong_plans", wrong_plans},
             {"bad_write", bad_write}};

int main(int argc, char **argv) {
    kept = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (thrum_test_fault(NULL, THRUM_TEST_WRITE, 1, -EIO) != -EPERM ||
        thrum_test_fault_end(NULL) != -EPERM || thrum_test_disk_crash() != -EPERM) {
        return 3; /* these are for tests */
    }
    for (unsigned i = 0; kept != MAP_FAILED && argc > 1 && i < sizeof tests / sizeof *tests; i++) {
        if (!strcmp(tests[i].name, argv[1])) {
            const int status = thrum_test_main(argc - 1, argv + 1, tests[i].fn, NULL);
            printf("ends %u %u\n", kept[0], kept[1]);
            return status;
        }
    }
    return 3;
}
