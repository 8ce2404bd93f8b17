/*
 * stream_standard.c: the streams of the process: each test has one of its own, with a pipe, a
 * terminal or a file in their places.
 */
/* POSIX: fork(), dup2, termios */
/* matrix: policy workers */
#include "support/io/streams.h"

#include <sys/mman.h>
#include <termios.h>

#include "platform/faults.h"

/* A process whose 0, 1 and 2 are these descriptors (-1: closed); it exits with what fn returns. */
static pid_t start(int in, int out, int err, int (*fn)(void)) {
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        const int fds[3] = {in, out, err};
        for (int i = 0; i < 3; i++) {
            if (fds[i] < 0) {
                close(i);
            } else {
                CHECK_EQ(dup2(fds[i], i), i);
            }
        }
        for (int fd = 3; fd < 256; fd++) {
            close(fd);
        }
        check_end_in_time();
        exit(fn());
    }
    return child;
}

static void finish(pid_t child) {
    int status = 0;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
}

/* Reads until there are this many bytes, or the end. */
static void demand_from(int fd, const char *text) {
    char got[512] = "";
    size_t n = 0;
    ssize_t some;
    while (n < strlen(text) && (some = read(fd, got + n, strlen(text) - n)) > 0) {
        n += (size_t)some;
    }
    CHECK_STR(got, text);
}

static int echo_in_fiber(void *arg) {
    (void)arg;
    char line[64];
    int64_t n;
    while ((n = thrum_stream_read_line(thrum_stdin(), line, sizeof line)) >= 0) {
        CHECK(thrum_stream_printf(thrum_stdout(), "<%s>\n", line) == n + 3);
        CHECK(thrum_stream_printf(thrum_stderr(), "%d", (int)n) > 0);
    }
    CHECK_EQ(n, -ENODATA);
    return 0;
}

static int echo(void) {
    rig_do(0, echo_in_fiber, NULL);
    return 0;
}

static int echo_pooled(void) {
    th_os_fail(TH_OS_FAULT_REOPEN, 0, UINT32_MAX);
    return echo();
}

static int echo_in_thread(void) {
    return echo_in_fiber(NULL);
}

static int (*const echoes[])(void) = {echo, echo_pooled, echo_in_thread};

TEST(pipes_are_read_and_written) {
    /* Lines go through a process; what is left comes at its end; the pipes' flags stay. */
    for (size_t i = 0; i < COUNT_OF(echoes); i++) {
        int in[2];
        int out[2];
        int err[2];
        CHECK(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0 &&
              pipe2(err, O_CLOEXEC) == 0);
        pid_t child = start(in[0], out[1], err[1], echoes[i]);
        CHECK_EQ(write(in[1], "one\nthree\n", 10), 10);
        demand_from(err[0], "35"); /* both are done, and error is not kept back */
        CHECK_EQ(fcntl(in[1], F_GETFL), O_WRONLY);
        CHECK_EQ(fcntl(out[0], F_GETFL), O_RDONLY);
        CHECK_EQ(fcntl(out[1], F_GETFL), O_WRONLY); /* the description that the child has, too */
        CHECK_EQ(fcntl(err[1], F_GETFL), O_WRONLY);
        CHECK_EQ(fcntl(in[0], F_GETFL), O_RDONLY);
        CHECK_EQ(write(in[1], "x", 1), 1);
        close(in[0]);
        close(in[1]);
        close(out[1]);
        demand_from(out[0], "<one>\n<three>\n<x>\n");
        finish(child);
        close(out[0]);
        close(err[0]);
        close(err[1]);
    }
}

TEST(files_are_read_and_written) {
    /* The same with files, at the place that the caller has in them. */
    for (size_t i = 0; i < COUNT_OF(echoes); i++) {
        char text[64] = "";
        int in = memfd_create("in", MFD_CLOEXEC);
        int out = memfd_create("out", MFD_CLOEXEC);
        CHECK_EQ(write(in, "skipped\none\nthree\nx", 19), 19);
        CHECK_EQ(lseek(in, 8, SEEK_SET), 8);
        CHECK_EQ(write(out, "before ", 7), 7);
        pid_t child = start(in, out, open("/dev/null", O_WRONLY | O_CLOEXEC), echoes[i]);
        finish(child);
        CHECK_EQ(pread(out, text, sizeof text, 0), 25);
        CHECK_STR(text, "before <one>\n<three>\n<x>\n");
        close(in);
        close(out);
    }
}

/* ---- terminals ---- */

static int ask_in_fiber(void *arg) {
    (void)arg;
    char line[64];
    CHECK_EQ(thrum_stream_printf(thrum_stdout(), "first\n"), 6); /* goes out as a line */
    CHECK_EQ(thrum_stream_unflushed(thrum_stdout()), 0);
    CHECK_EQ(thrum_stream_printf(thrum_stdout(), "name? "), 6);
    CHECK_EQ(thrum_stream_unflushed(thrum_stdout()), 6);
    CHECK_EQ(thrum_stream_read_line(thrum_stdin(), line, sizeof line), 3);
    CHECK_EQ(thrum_stream_printf(thrum_stdout(), "hello %s\n", line), 10);
    return 0;
}

static int ask(void) {
    rig_do(0, ask_in_fiber, NULL);
    return 0;
}

static int ask_pooled(void) {
    th_os_fail(TH_OS_FAULT_REOPEN, 0, UINT32_MAX);
    return ask();
}

static int ask_in_thread(void) {
    return ask_in_fiber(NULL);
}

TEST(terminals_have_lines_and_prompts) {
    /* Output to a terminal goes out by lines, and before input is waited for. */
    int (*const asks[])(void) = {ask, ask_pooled, ask_in_thread};
    for (size_t i = 0; i < COUNT_OF(asks); i++) {
        int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
        CHECK(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
        int slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
        struct termios settings;
        CHECK_EQ(tcgetattr(slave, &settings), 0);
        settings.c_oflag = 0;
        settings.c_lflag &= (tcflag_t)~ECHO;
        CHECK_EQ(tcsetattr(slave, TCSANOW, &settings), 0);
        pid_t child = start(slave, slave, STDERR_FILENO, asks[i]);
        demand_from(master, "first\nname? ");
        CHECK_EQ(fcntl(slave, F_GETFL) & O_NONBLOCK, 0);
        CHECK_EQ(write(master, "ann\n", 4), 4);
        demand_from(master, "hello ann\n");
        finish(child);
        CHECK_EQ(fcntl(slave, F_GETFL) & O_NONBLOCK, 0);
        close(slave);
        close(master);
    }
}

/* ---- many callers ---- */

enum { TASKS = 20, EACH = 50 };

static int print_lines(void *arg) {
    const int me = *(const int *)arg;
    for (int i = 0; i < EACH; i++) {
        CHECK(thrum_stream_printf(thrum_stdout(), "task %02d line %04d %0200d\n", me, i, 0) > 0);
        if (i % 16 == 0) {
            thrum_yield();
        }
    }
    return 0;
}

static int print_in_tasks(void *arg) {
    static int numbers[TASKS];
    thrum_handle *handles[TASKS];
    (void)arg;
    for (int i = 0; i < TASKS; i++) {
        numbers[i] = i;
        CHECK_EQ(thrum_spawn(&handles[i], print_lines, &numbers[i]), 0);
    }
    for (int i = 0; i < TASKS; i++) {
        CHECK_EQ(thrum_join(handles[i], NULL), 0);
    }
    return thrum_stream_flush(thrum_stdout());
}

static int print_all(void) {
    rig_do(0, print_in_tasks, NULL);
    return 0;
}

TEST(lines_of_many_tasks_are_whole) {
    /* Tasks print at the same time to a pipe that is full again and again. */
    int out[2];
    int next[TASKS] = {0};
    char line[512];
    CHECK_EQ(pipe2(out, O_CLOEXEC), 0);
    CHECK(fcntl(out[1], F_SETPIPE_SZ, 4096) > 0);
    pid_t child = start(-1, out[1], STDERR_FILENO, print_all);
    close(out[1]);
    FILE *file = fdopen(out[0], "r");
    int lines = 0;
    while (fgets(line, sizeof line, file)) {
        int task;
        int i;
        CHECK_EQ(strlen(line), 219);
        CHECK_EQ(sscanf(line, "task %d line %d", &task, &i), 2);
        CHECK_EQ(i, next[task]++);
        lines++;
    }
    CHECK_EQ(lines, TASKS * EACH);
    fclose(file);
    finish(child);
}

/* ---- odd ones ---- */

static int odd(void) {
    char byte;
    thrum_stream *in = thrum_stdin();
    CHECK_EQ(thrum_stream_read(in, &byte, 1), -EBADF); /* 0 is closed */
    CHECK_EQ(thrum_stream_io(in).turn, 0);
    int ends[2];
    CHECK_EQ(pipe(ends), 0);
    CHECK_EQ(ends[0], 0);
    CHECK_EQ(write(ends[1], "ab", 2), 2);
    CHECK_EQ(thrum_stream_read(in, &byte, 1), 1); /* it was opened now */
    CHECK(thrum_stream_io(in).fd > 2);
    CHECK_EQ(thrum_stream_write(in, "x", 1), -EBADF); /* the other direction */
    CHECK_EQ(thrum_stream_flush(in), -EBADF);
    CHECK_EQ(thrum_stream_read(thrum_stdout(), &byte, 1), -EBADF);
    CHECK_EQ(thrum_stream_buffered(in), 1);
    CHECK_EQ(thrum_stream_close(in), 0);
    CHECK_EQ(thrum_stream_read(in, &byte, 1), -EBADF);
    CHECK_EQ(thrum_stream_close(in), -EBADF);
    CHECK_EQ(write(ends[1], "", 1), 1); /* 0 itself is still open */
    thrum_stream *out = thrum_stdout();
    CHECK_EQ(thrum_stream_printf(out, "text"), 4);
    thrum_stream_trim(out);
    CHECK_EQ(thrum_stream_unflushed(out), 4);
    CHECK_EQ(thrum_stream_close(out), 0);
    CHECK_EQ(thrum_stream_printf(out, "text"), -EBADF);
    return 0;
}

TEST(odd_uses_are_refused) {
    /* A closed descriptor, the other direction, and what follows a close. */
    int out[2];
    CHECK_EQ(pipe2(out, O_CLOEXEC), 0);
    pid_t child = start(-1, out[1], STDERR_FILENO, odd);
    close(out[1]);
    demand_from(out[0], "text");
    finish(child);
    close(out[0]);
}

static int exit_in_fiber(void *arg) {
    (void)arg;
    CHECK_EQ(thrum_stream_printf(thrum_stdout(), "%050000d", 0), 50000);
    CHECK_EQ(thrum_stream_printf(thrum_stdout(), "the end\n"), 8);
    exit(0);
}

static int exit_early(void) {
    rig r;
    rig_begin(&r, 0);
    return rig_run(&r, exit_in_fiber, NULL);
}

TEST(exit_writes_the_rest) {
    /* A task that calls exit loses nothing, although the pipe is too small for it. */
    int out[2];
    static char bytes[50009];
    size_t n = 0;
    ssize_t some;
    CHECK_EQ(pipe2(out, O_CLOEXEC), 0);
    CHECK(fcntl(out[1], F_SETPIPE_SZ, 4096) > 0);
    pid_t child = start(-1, out[1], STDERR_FILENO, exit_early);
    close(out[1]);
    while ((some = read(out[0], bytes + n, sizeof bytes - n)) > 0) {
        n += (size_t)some;
    }
    CHECK_EQ(n, 50008);
    CHECK_STR(bytes + 50000, "the end\n");
    finish(child);
    close(out[0]);
}
