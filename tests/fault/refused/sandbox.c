/*
 * sandbox.c: a sandbox refuses calls of the system that thrum can do without, each with each code
 * that sandboxes use. All that thrum does still works, or returns the code before it has begun.
 *
 * Each row is tried in a child of its own. There a seccomp filter refuses the row's calls from
 * before the library is first used.
 */
/* POSIX: seccomp, fork */
#include "support/io/files.h"
#include "support/times.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <thrum/net.h>
#include <thrum/process.h>

#ifndef SYS_clone3 /* these are the same on all processors */
#define SYS_clone3 435
#endif
#ifndef SYS_process_madvise
#define SYS_process_madvise 440
#endif
#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifdef SYS_epoll_wait
#define EPOLL_WAIT SYS_epoll_wait
#else
#define EPOLL_WAIT SYS_epoll_pwait /* there is no other */
#endif
#ifdef SYS_pipe
#define PIPE2 NOTHING
#else
#define PIPE2 PROGRAMS
#endif
#ifdef SYS_dup2
#define DUP3 NOTHING
#else
#define DUP3 PROGRAMS
#endif

enum { CALLS_MAX = 4, CHILD_SECONDS = 30 }; /* after which a child that hangs ends */

/* What may return the sandbox's code, since nothing can be in the call's place. */
enum { NOTHING, THE_START, WAITS, PROGRAMS, APPENDS };

typedef struct row {
    int calls[CALLS_MAX]; /* 0: no more */
    int may_report;
} row;

static const row of_connections[] = {
    {{SYS_accept4}, NOTHING},
    {{SYS_sendmmsg, SYS_recvmmsg}, NOTHING},
};

static const row of_waits[] = {
    {{SYS_epoll_pwait2}, NOTHING},
    {{EPOLL_WAIT}, EPOLL_WAIT == SYS_epoll_pwait ? WAITS : NOTHING},
    {{EPOLL_WAIT, SYS_epoll_pwait2}, EPOLL_WAIT == SYS_epoll_pwait ? WAITS : NOTHING},
    {{EPOLL_WAIT, SYS_epoll_pwait, SYS_epoll_pwait2}, WAITS},
    {{SYS_epoll_create1}, WAITS},
    {{SYS_eventfd2}, WAITS},
    {{SYS_timerfd_create}, NOTHING},
};

static const row of_files[] = {
    {{SYS_preadv2}, NOTHING},
    {{SYS_pwritev2}, APPENDS},
    {{SYS_preadv2, SYS_pwritev2}, APPENDS},
    {{SYS_copy_file_range}, NOTHING},
    {{SYS_splice}, NOTHING},
    {{SYS_io_uring_setup}, NOTHING},
    {{SYS_io_uring_enter}, NOTHING},
};

static const row of_programs[] = {
    {{SYS_pipe2}, PIPE2},
    {{SYS_dup3}, DUP3},
    {{SYS_waitid}, PROGRAMS},
    {{SYS_pidfd_open, SYS_pidfd_send_signal}, NOTHING},
    {{SYS_pidfd_send_signal}, NOTHING},
    {{SYS_close_range}, NOTHING},
};

static const row of_starts[] = {
    {{SYS_membarrier}, NOTHING},
    {{SYS_madvise, SYS_process_madvise}, NOTHING},
    {{SYS_clone3}, THE_START}, /* the C library's */
};

static const int codes[] = {EPERM, ENOSYS, EINVAL, EACCES, EAGAIN, ENOMEM};

/* False: there is no seccomp here. */
static bool refuse(const int calls[CALLS_MAX], int code) {
    struct sock_filter filter[2 * CALLS_MAX + 2];
    unsigned n = 0;
    filter[n++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int i = 0; i < CALLS_MAX && calls[i]; i++) {
        filter[n++] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1);
        filter[n++] =
            (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)code);
    }
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const struct sock_fprog program = {(unsigned short)n, filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* ---- what has to work; in the child ---- */

static int may_report; /* the row's, and its code */
static int refused;

/* True: the call has worked. Otherwise it has returned the sandbox's code, as it may. */
static bool works(int what, int64_t result) {
    const bool reports = result == -refused || (what == THE_START && result == -EAGAIN);
    if (result < 0 && (what != may_report || !reports)) {
        check_failed(__FILE__, __LINE__, "kind %d returned %" PRId64, what, result);
    }
    return result >= 0;
}

static void files(void) {
    char bytes[16] = "";
    thrum_io a, b;
    CHECK_EQ(thrum_file_open(&a, "a", THRUM_FILE_READ | THRUM_FILE_WRITE | THRUM_FILE_CREATE, 0600,
                             THRUM_FOREVER),
             0);
    CHECK_EQ(thrum_file_pwrite(a, "some text", 9, 0, THRUM_FOREVER), 9);
    CHECK_EQ(thrum_file_pread(a, bytes, 9, 0, far_off()), 9);
    CHECK_STR(bytes, "some text");
    (void)works(APPENDS, thrum_file_append(a, "+", 1, THRUM_FOREVER));
    CHECK_EQ(thrum_file_open(&b, "b", THRUM_FILE_WRITE | THRUM_FILE_CREATE | THRUM_FILE_APPEND,
                             0600, THRUM_FOREVER),
             0);
    CHECK_EQ(thrum_file_append(b, "+", 1, THRUM_FOREVER), 1);
    CHECK_EQ(thrum_io_close(b), 0);
    CHECK_EQ(thrum_file_open(&b, "b", THRUM_FILE_WRITE, 0, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_file_copy(a, 0, b, 0, 9, THRUM_FOREVER), 9);
    CHECK_EQ(thrum_io_close(a), 0);
    CHECK_EQ(thrum_io_close(b), 0);
    CHECK(unlink("a") == 0 && unlink("b") == 0);
}

static void connections(void) {
    char at[THRUM_ADDRESS_TEXT];
    char bytes[4] = "";
    thrum_io listener, dialed, taken;
    CHECK_EQ(thrum_listen(&listener, "tcp:127.0.0.1:0", NULL), 0);
    CHECK_EQ(thrum_io_local(listener, at, sizeof at), 0);
    if (works(WAITS, thrum_dial(&dialed, at, far_off()))) {
        if (works(WAITS, thrum_accept_until(listener, &taken, far_off()))) {
            CHECK_EQ(thrum_write(dialed, "hi", 2), 2);
            CHECK_EQ(thrum_read_full(taken, bytes, 2, far_off()), 2);
            const thrum_time deadline = soon();
            const int64_t n = thrum_read_until(taken, bytes, 2, deadline);
            if (n != -ETIMEDOUT) {
                (void)works(WAITS, n);
            } else {
                CHECK_PASSED(deadline);
            }
            CHECK_EQ(thrum_io_close(taken), 0);
        }
        CHECK_EQ(thrum_io_close(dialed), 0);
    }
    CHECK_EQ(thrum_io_close(listener), 0);
}

static void datagrams(void) {
    char at[THRUM_ADDRESS_TEXT];
    char bytes[2] = "";
    thrum_io receiver, sender;
    CHECK_EQ(thrum_listen(&receiver, "udp:127.0.0.1:0", NULL), 0);
    CHECK_EQ(thrum_io_local(receiver, at, sizeof at), 0);
    CHECK_EQ(thrum_dial(&sender, at, far_off()), 0);
    const thrum_datagram sent[2] = {{.data = (char[]){'a'}, .size = 1},
                                    {.data = (char[]){'b'}, .size = 1}};
    CHECK_EQ(thrum_send_many(sender, sent, 2, far_off()), 2);
    for (int got = 0; got < 2;) {
        thrum_datagram room[2] = {{.data = bytes, .size = 1}, {.data = bytes + 1, .size = 1}};
        const int n = thrum_receive_many(receiver, room, 2, far_off());
        if (!works(WAITS, n)) {
            break;
        }
        got += n;
    }
    CHECK_EQ(thrum_io_close(sender), 0);
    CHECK_EQ(thrum_io_close(receiver), 0);
}

static int made[4][2]; /* pipes, made before; the C library's call may be refused */
static int used;

static void pipes(void) {
    char bytes[8] = "";
    const int *from = made[used++];
    const int *to = made[used++];
    thrum_io in, out, on;
    CHECK_EQ(thrum_io_adopt(&in, from[0]), 0);
    CHECK_EQ(thrum_io_adopt(&out, from[1]), 0);
    CHECK_EQ(thrum_io_adopt(&on, to[1]), 0);
    CHECK_EQ(thrum_write(out, "pipe", 4), 4);
    CHECK_EQ(thrum_io_close(out), 0);
    CHECK_EQ(thrum_copy(in, on, 100, far_off()), 4);
    CHECK_EQ(read(to[0], bytes, 4), 4);
    CHECK_STR(bytes, "pipe");
    close(to[0]);
    CHECK_EQ(thrum_write(on, "x", 1), -EPIPE);
    CHECK_EQ(thrum_io_close(on), 0);
    CHECK_EQ(thrum_io_close(in), 0);
}

static void programs(void) {
    static const char *const answers[] = {"/bin/sh", "-c", "read x; echo $x; exit 4", NULL};
    static const char *const waits[] = {"/bin/cat", NULL};
    const char *failed = NULL;
    thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    thrum_process_output output;
    thrum_process_status status;
    thrum_process *process;
    thrum_io input;
    options.failed = &failed;
    const int code = thrum_process_run(answers, &options, "text\n", 5, &output, far_off());
    if (code != -refused || may_report != WAITS) {
        if (works(PROGRAMS, code)) {
            CHECK_EQ(output.status.code, 4);
            CHECK_EQ(output.out_size, 5);
        } else {
            CHECK(failed && strcmp(failed, "program") != 0);
        }
    }
    thrum_process_output_free(&output);
    options.streams[0] = (thrum_process_stream){.kind = THRUM_PROCESS_PIPE, .pipe = &input};
    if (code == 0) {
        CHECK_EQ(thrum_process_start(&process, waits, &options), 0);
        CHECK_EQ(thrum_process_kill(process, SIGTERM), 0);
        CHECK_EQ(thrum_process_wait(process, &status, far_off()), 0);
        CHECK_EQ(status.signal, SIGTERM);
        CHECK_EQ(thrum_process_close(process), 0);
        CHECK_EQ(thrum_io_close(input), 0);
    }
}

static int all_of_it(void *arg) {
    (void)arg;
    files();
    connections();
    datagrams();
    pipes();
    programs();
    return 0;
}

/* ---- the table ---- */

static void in_a_sandbox(const row *r, int code) {
    may_report = r->may_report;
    refused = code;
    alarm(CHILD_SECONDS);
    for (unsigned i = 0; i < COUNT_OF(made); i++) {
        CHECK_EQ(pipe(made[i]), 0);
    }
    if (!refuse(r->calls, code)) {
        CHECK_SKIP("no seccomp here");
    }
    if (works(THE_START, thrum_run(NULL, all_of_it, NULL))) {
        (void)all_of_it(NULL); /* a plain thread, too */
    }
    _exit(0);
}

static void with_each_code(const row rows[], unsigned n) {
    NOT_BY_POSIX("newer calls, which a sandbox could refuse");
    char path[64];
    int failed = 0;
    in_dir(path);
    /* The thread sanitizer waits for a second at each end. */
    for (unsigned i = 0; i < n * COUNT_OF(codes); i += UNDER_TSAN ? 3 : 1) {
        const row *r = &rows[i / COUNT_OF(codes)];
        const int code = codes[i % COUNT_OF(codes)];
        int status = 0;
        const pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            in_a_sandbox(r, code);
        }
        CHECK_EQ(waitpid(child, &status, 0), child);
        if (status) {
            (void)unlink("a");
            (void)unlink("b");
        }
        if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
            out_of_dir(path);
            CHECK_SKIP("no seccomp here");
        }
        if (status) {
            fprintf(stderr, "call %d refused with %s: status %#x\n", r->calls[0], strerror(code),
                    (unsigned)status);
            failed++;
        }
    }
    out_of_dir(path);
    CHECK_EQ(failed, 0);
}

TEST(connections_in_a_sandbox) {
    /* Accepting, and several datagrams at a call. */
    with_each_code(of_connections, COUNT_OF(of_connections));
}

TEST(waits_in_a_sandbox) {
    /* Sets of descriptors: deadlines are kept, or the wait returns the code. */
    with_each_code(of_waits, COUNT_OF(of_waits));
}

TEST(files_and_pipes_in_a_sandbox) {
    /* Reads, writes and copies that would not wait. */
    with_each_code(of_files, COUNT_OF(of_files));
}

TEST(programs_in_a_sandbox) {
    /* They run, get signals and end, or the start returns the code. */
    with_each_code(of_programs, COUNT_OF(of_programs));
}

TEST(starts_in_a_sandbox) {
    /* What the start of a scheduler asks for. */
    with_each_code(of_starts, COUNT_OF(of_starts));
}
