/*
 * recorder.c: the flight recorder: what is written at a signal, at a stall and at a crash, that the
 * process then ends as it would have, and whose handlers are left alone. Each file that is written
 * is read strictly (support/traces.h).
 */
/* matrix: policy workers */
/* matrix: quick 1 2 */
#define _GNU_SOURCE
#include "support/asked.h"
#include "support/stalls.h"
#include "support/traces.h"
#include "support/unread.h"

#include "core/inspect/recorder.h"
#include "core/state/trace_notes.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static char folder[64];
static char path[128];

static void folder_make(void) {
    snprintf(folder, sizeof(folder), "/tmp/thrum-recorder-XXXXXX");
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof(path), "%s/t.json", folder);
}

/* Removes the folder, which must be empty but for the file. */
static void folder_end(void) {
    unlink(path);
    CHECK_EQ(rmdir(folder), 0);
}

/* Reads a file as a string. */
static char *content(const char *name, size_t *length) {
    char *text = NULL;
    char piece[4096];
    size_t n;
    FILE *in = fopen(name, "r");
    FILE *out = open_memstream(&text, length);
    CHECK(in != NULL && out != NULL);
    while ((n = fread(piece, 1, sizeof(piece), in)) > 0) {
        CHECK_EQ(fwrite(piece, 1, n, out), n);
    }
    fclose(in);
    fclose(out);
    return text;
}

static trace_page trace_of_file(const char *name) {
    trace_page p;
    memset(&p, 0, sizeof(p));
    p.text = content(name, &p.length);
    trace_check(&p);
    return p;
}

static void recorded_init(rig *r, const char *name) {
    rig_init(r);
    r->config.name = name;
    r->config.trace = true;
    r->config.trace_file = path;
}

static int run_some(void *arg) {
    thrum_handle *h;
    (void)arg;
    CHECK_EQ(thrum_set_name("some \"odd\" name"), 0);
    for (int i = 0; i < 100; i++) {
        CHECK_EQ(thrum_spawn(&h, nothing, NULL), 0);
        CHECK(thrum_join(h, NULL) == 0);
    }
    return 0;
}

static void run(rig *r, thrum_fn fn, void *arg) {
    thrum_attr attr = THRUM_ATTR_INIT;
    thrum_handle *h;
    attr.sched = r->sched;
    CHECK_EQ(thrum_spawn_with(&h, &attr, fn, arg), 0);
    CHECK_EQ(thrum_join(h, NULL), 0);
}

/* ---- its name ---- */

TEST(the_file_is_named_by_the_environment) {
    /* A name that is too long is ignored there, and refused in a config. */
    char text[100];
    char name[1000];
    thrum_config c;
    unsetenv("THRUM_TRACE_FILE");
    thrum_config_init(&c);
    CHECK(c.trace_file == NULL);
    setenv("THRUM_TRACE_FILE", "a.json", 1);
    thrum_config_init(&c);
    CHECK_STR(c.trace_file, "a.json");
    memset(name, 'x', sizeof(name) - 1);
    name[901] = '\0';
    setenv("THRUM_TRACE_FILE", name, 1);
    thrum_config_init(&c);
    CHECK(c.trace_file == NULL);
    c.trace_file = name;
    CHECK_EQ(thrum_config_check(&c, text, sizeof(text)), -EINVAL);
    CHECK_STR(text, "trace_file is longer than 900 bytes");
    name[900] = '\0';
    CHECK_EQ(thrum_config_check(&c, text, sizeof(text)), 0);
    unsetenv("THRUM_TRACE_FILE");
}

/* ---- on threads ---- */

TEST(a_signal_has_it_written) {
    /* After the dump; the file is the owner's alone, and a second signal replaces it. */
    struct stat st;
    rig r;
    folder_make();
    recorded_init(&r, "asked");
    r.config.dump_signal = SIGUSR1;
    capture_begin();
    rig_start(&r);
    run(&r, run_some, NULL);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(raise(SIGUSR1), 0);
        await_dump("asked");
        await("thrum: the latest of scheduler \"asked\" is in /tmp/thrum-recorder-");
        await("/t.json\n");
    }
    capture_end();
    trace_page p = trace_of_file(path);
    CHECK(trace_count(&p, "\"name\":\"some \\\"odd\\\" name\"") >= 1);
    CHECK(trace_count(&p, "\"function\":\"nothing\"") >= 100);
    trace_end(&p);
    CHECK_EQ(stat(path, &st), 0);
    CHECK_EQ(st.st_mode & 0777, 0600);
    rig_stop(&r);
    folder_end();
}

TEST(a_stall_has_it_written) {
    /* Once in ten seconds: a second stall at once is told, and writes nothing. */
    struct stat first;
    struct stat second;
    rig r;
    folder_make();
    watched_init(&r, 2);
    r.config.trace = true;
    r.config.trace_file = path;
    capture_begin();
    rig_start(&r);
    stall_begin(&r, &stalls[0], "cruncher", crunch);
    await("/t.json\n");
    stall_end(&stalls[0]);
    CHECK_EQ(stat(path, &first), 0);
    unwanted = "t.json";
    stall_begin(&r, &stalls[1], "cruncher", crunch);
    CHECK_REPORTED(2);
    stall_end(&stalls[1]);
    rig_stop(&r);
    CHECK_EQ(write(STDERR_FILENO, "end\n", 4), 4);
    await("end\n");
    capture_end();
    CHECK_EQ(stat(path, &second), 0);
    CHECK_EQ(first.st_ino, second.st_ino);
    trace_page p = trace_of_file(path);
    CHECK(trace_count(&p, "\"name\":\"cruncher\"") >= 1);
    trace_end(&p);
    folder_end();
}

TEST(a_file_that_cannot_be_written_is_told) {
    /* And the scheduler goes on; a link is neither followed nor replaced. */
    rig r;
    struct stat status;
    folder_make();
    CHECK_EQ(symlink("/dev/null", path), 0);
    recorded_init(&r, "refused");
    r.config.dump_signal = SIGUSR1;
    capture_begin();
    rig_start(&r);
    CHECK_EQ(raise(SIGUSR1), 0);
    await("thrum: the latest of scheduler \"refused\" cannot be written to ");
    capture_end();
    run(&r, run_some, NULL);
    rig_stop(&r);
    CHECK(lstat(path, &status) == 0 && S_ISLNK(status.st_mode));
    folder_end();
}

TEST(what_lies_where_it_is_written_first_is_replaced) {
    /* A pipe that nobody reads holds nothing up, and a link's file stays what it was. */
    rig r;
    char part[160], victim[160];
    size_t length;
    folder_make();
    snprintf(part, sizeof(part), "%s.%d.part", path, (int)getpid());
    snprintf(victim, sizeof(victim), "%s.victim", path);
    const int fd = open(victim, O_WRONLY | O_CREAT, 0600);
    CHECK_EQ(write(fd, "kept", 4), 4);
    close(fd);
    recorded_init(&r, "replaced");
    r.config.dump_signal = SIGUSR1;
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(i ? link(victim, part) : mkfifo(part, 0600), 0);
        capture_begin();
        if (i == 0) {
            rig_start(&r);
        }
        CHECK_EQ(raise(SIGUSR1), 0);
        await("thrum: the latest of scheduler \"replaced\" is in ");
        capture_end();
        trace_page p = trace_of_file(path);
        trace_end(&p);
    }
    rig_stop(&r);
    char *text = content(victim, &length);
    CHECK_STR(text, "kept");
    free(text);
    CHECK_EQ(unlink(victim), 0);
    folder_end();
}

TEST(a_trace_is_on_from_the_start) {
    /* thrum_trace_write has it; a second start says so. */
    rig r;
    folder_make();
    recorded_init(&r, "on");
    rig_start(&r);
    CHECK_EQ(thrum_trace_start(r.sched, 0), -EALREADY);
    run(&r, run_some, NULL);
    trace_page p = trace_written(r.sched);
    CHECK(trace_count(&p, "\"function\":\"nothing\"") >= 100);
    trace_end(&p);
    rig_stop(&r);
    folder_end();
}

TEST(without_memory_for_it_a_start_goes_on_if_the_environment_asks) {
    /* One line says so. A config that asks for it is refused. */
    const size_t buffer = sizeof(th_trace_buffer) + (TH_RECORDER_EVENTS + 1) * sizeof(th_mark);
    rig r;
    folder_make();
    recorded_init(&r, "poor");
    atomic_store(&r.fail_size, buffer);
    CHECK_EQ(thrum_sched_start(&r.sched, &r.config), -ENOMEM);
    CHECK_EQ(atomic_load(&r.refused), 1);
    rig_check_freed(&r);
    CHECK_EQ(setenv("THRUM_TRACE", "on", 1), 0);
    recorded_init(&r, "poor");
    atomic_store(&r.fail_size, buffer);
    capture_begin();
    rig_start(&r);
    await("thrum: THRUM_TRACE: no memory to record scheduler \"poor\"\n");
    capture_end();
    run(&r, run_some, NULL);
    CHECK_EQ(thrum_trace_start(r.sched, 16), 0);
    rig_stop(&r);
    CHECK_EQ(unsetenv("THRUM_TRACE"), 0);
    CHECK_EQ(rmdir(folder), 0);
}

/* ---- crashes, each in a process of its own ---- */

typedef struct crash {
    void (*how)(void);
    int handler;      /* a signal for which the program has a handler; 0: none */
    bool two;         /* a second scheduler is recorded as well */
    bool on_a_thread; /* it crashes where no task runs */
    bool stopped;     /* the scheduler has been stopped */
} crash;

static void segfaults(void) {
    static volatile uintptr_t nowhere = 16;
    *(volatile int *)nowhere = 1;
}

/* A fault that does not come again when the instruction is repeated: its page is there by then. */
static void faults_once(void) {
    siginfo_t info;
    memset(&info, 0, sizeof(info));
    info.si_signo = SIGSEGV;
    info.si_code = SEGV_MAPERR;
    info.si_addr = (void *)(uintptr_t)16;
    CHECK_EQ(syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), SIGSEGV, &info), 0);
}

/* What it says goes nowhere. */
static void segfaults_unheard(void) {
    int ends[2];
    CHECK_EQ(pipe(ends), 0);
    CHECK_EQ(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    CHECK(signal(SIGPIPE, SIG_DFL) != SIG_ERR);
    segfaults();
}

/* What it says waits for a reader. */
static void segfaults_unread(void) {
    static unread u;
    unread_begin(&u);
    segfaults();
}

static void aborts(void) {
    abort();
}

static void traps(void) {
    raise(SIGILL);
}

static void divides(void) {
    raise(SIGFPE);
}

static void misuses(void) {
    static thrum_mutex m = THRUM_MUTEX_INIT;
    thrum_mutex_unlock(&m);
}

static __attribute__((noinline)) int deeper(int n) {
    volatile char block[4096];
    block[0] = (char)n;
    return n < 0 ? 0 : deeper(n + 1) + block[0];
}

static void overflows(void) {
    exit(deeper(1) & 1);
}

static int crashes(void *arg) {
    const crash *c = arg;
    CHECK_EQ(thrum_set_name("the culprit"), 0);
    c->how();
    return 0;
}

static void exits(int number) {
    (void)number;
    _exit(77);
}

/* In the child. */
static void crash_in_child(const crash *c) {
    char log[160];
    const struct rlimit none = {0, 0};
    static rig r[2];
    setrlimit(RLIMIT_CORE, &none);
    alarm(60);
    snprintf(log, sizeof(log), "%s.log", path);
    const int out = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(out >= 0);
    CHECK_EQ(dup2(out, STDERR_FILENO), STDERR_FILENO);
    if (c->handler) {
        const struct sigaction action = {.sa_handler = exits};
        CHECK_EQ(sigaction(c->handler, &action, NULL), 0);
    }
    for (int i = 0; i <= (c->two ? 1 : 0); i++) {
        recorded_init(&r[i], i ? "second" : "first");
        rig_start(&r[i]);
        run(&r[i], run_some, NULL);
    }
    if (c->stopped) {
        rig_stop(&r[0]);
    }
    if (c->on_a_thread || c->stopped) {
        c->how();
    } else {
        run(&r[0], crashes, (void *)(uintptr_t)c);
    }
    _exit(1);
}

/* Returns how the child ended; `log` is what it has printed. */
static int status_of(const crash *c, char **log) {
    char name[160];
    size_t length;
    int status = 0;
    fflush(NULL);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        crash_in_child(c);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    snprintf(name, sizeof(name), "%s.log", path);
    *log = content(name, &length);
    CHECK_EQ(unlink(name), 0);
    return status;
}

static void check_crash(const crash *c, int signal, const char *line) {
    char *log;
    folder_make();
    const int status = status_of(c, &log);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != signal || !strstr(log, line) ||
        !strstr(log, "thrum: the latest of scheduler \"first\" is in ")) {
        check_failed(__FILE__, __LINE__, "status 0x%x, and: %s", (unsigned)status, log);
    }
    trace_page p = trace_of_file(path);
    CHECK(trace_count(&p, "\"function\":\"unit_recorder+0x") >= 100);
    CHECK(c->on_a_thread || trace_count(&p, "\"name\":\"the culprit\"") >= 1);
    trace_end(&p);
    free(log);
    folder_end();
}

/* The sanitizers have handlers of their own for faults, as a program may. */
#define SKIP_IF_SANITIZED()                                                                        \
    if (UNDER_ASAN || UNDER_TSAN) {                                                                \
        CHECK_SKIP("the sanitizer handles faults itself");                                         \
    }

TEST(a_fault_that_would_not_repeat_ends_the_process) {
    /* It is sent again, with its address. */
    SKIP_IF_SANITIZED();
    check_crash(&(crash){.how = faults_once}, SIGSEGV, "thrum: SIGSEGV at 0x10 on worker ");
}

TEST(a_crash_that_nobody_hears_of_is_recorded) {
    /*
     * Stderr is a pipe without a reader, or one that is full and that nobody reads: the process
     * ends by the crash's signal all the same.
     */
    SKIP_IF_SANITIZED();
    static void (*const hows[])(void) = {segfaults_unheard, segfaults_unread};
    for (size_t i = 0; i < COUNT_OF(hows); i++) {
        char *log;
        folder_make();
        const int status = status_of(&(crash){.how = hows[i]}, &log);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
        trace_page p = trace_of_file(path);
        trace_end(&p);
        free(log);
        folder_end();
    }
}

static void crash_in_a_vfork(void) {
    const pid_t child = vfork();
    if (child == 0) {
        segfaults();
    }
    int status = -1;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    CHECK_EQ(write(STDERR_FILENO, "it has ended\n", 13), 13);
    segfaults();
}

TEST(a_child_by_vfork_is_not_taken_for_the_process) {
    /* It crashes in the memory of the process, whose own crash is told afterwards. */
    SKIP_IF_SANITIZED();
    check_crash(&(crash){.how = crash_in_a_vfork}, SIGSEGV,
                "it has ended\nthrum: SIGSEGV at 0x10 on worker ");
}

TEST(a_segfault_is_told_and_ends_the_process) {
    /* One line says where, and which task; the file ends with it. */
    SKIP_IF_SANITIZED();
    check_crash(&(crash){.how = segfaults}, SIGSEGV, "thrum: SIGSEGV at 0x10 on worker ");
    check_crash(&(crash){.how = segfaults}, SIGSEGV, " \"the culprit\" (unit_recorder+0x");
}

TEST(other_signals_by_which_programs_crash) {
    /* Also when another process, or raise, has sent them: then there is no address. */
    SKIP_IF_SANITIZED();
    check_crash(&(crash){.how = aborts}, SIGABRT, "thrum: SIGABRT on worker ");
    check_crash(&(crash){.how = traps}, SIGILL, "thrum: SIGILL on worker ");
    check_crash(&(crash){.how = divides}, SIGFPE, "thrum: SIGFPE on worker ");
}

TEST(a_misuse_is_a_crash) {
    /* The line of the misuse comes first. */
    SKIP_IF_SANITIZED();
    check_crash(&(crash){.how = misuses}, SIGABRT, "thrum_mutex_unlock: ");
}

TEST(an_overflow_is_a_crash) {
    /* It is reported as ever. */
    SKIP_IF_SANITIZED();
    check_crash(&(crash){.how = overflows}, SIGABRT, "thrum: stack overflow in fiber the culprit");
}

TEST(a_crash_of_another_thread) {
    /* No task is to blame, and it is said. */
    SKIP_IF_SANITIZED();
    check_crash(&(crash){.how = segfaults, .on_a_thread = true}, SIGSEGV,
                "thrum: SIGSEGV at 0x10 on a thread of the program's own\n");
}

TEST(each_scheduler_has_its_file) {
    /* The second one's name has a number. */
    char second[160];
    SKIP_IF_SANITIZED();
    char *log;
    folder_make();
    const int status = status_of(&(crash){.how = segfaults, .two = true}, &log);
    CHECK(WIFSIGNALED(status));
    CHECK(strstr(log, "scheduler \"second\" is in ") != NULL);
    free(log);
    snprintf(second, sizeof(second), "%s.2", path);
    trace_page p = trace_of_file(second);
    CHECK(trace_count(&p, "\"sched\":\"second\"") == 1);
    trace_end(&p);
    CHECK_EQ(unlink(second), 0);
    folder_end();
}

TEST(a_handler_of_the_program_stays) {
    /* It is called, and nothing is told: perhaps it goes on. */
    SKIP_IF_SANITIZED();
    static const struct {
        void (*how)(void);
        int signal;
    } all[] = {{segfaults, SIGSEGV}, {aborts, SIGABRT}, {divides, SIGFPE}};
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        char *log;
        folder_make();
        const int status = status_of(&(crash){.how = all[i].how, .handler = all[i].signal}, &log);
        CHECK(WIFEXITED(status));
        CHECK_EQ(WEXITSTATUS(status), 77);
        CHECK_STR(log, "");
        CHECK_EQ(access(path, F_OK), -1);
        free(log);
        folder_end();
    }
}

TEST(after_the_stop_nothing_is_told) {
    /* The process ends as it would have. */
    char *log;
    SKIP_IF_SANITIZED();
    folder_make();
    const int status = status_of(&(crash){.how = segfaults, .stopped = true}, &log);
    CHECK(WIFSIGNALED(status));
    CHECK_EQ(WTERMSIG(status), SIGSEGV);
    CHECK_STR(log, "");
    CHECK_EQ(access(path, F_OK), -1);
    free(log);
    folder_end();
}
