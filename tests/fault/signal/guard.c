/*
 * guard.c: stack overflows inside fibers, with each kind of guard; and faults that are none.
 */
#include "support/crashes.h"
#include "support/support.h"

#include <signal.h>

#include "platform/faults.h"
#include "platform/platform.h"

/*
 * Uses the stack, so little at a time that no guard page is stepped over, `depth` bytes from
 * `start`.
 */
static __attribute__((noinline)) int dig(uintptr_t start, size_t depth) {
    volatile char block[512];
    for (size_t i = 0; i < sizeof(block); i++) {
        block[i] = 1;
    }
    if (start - (uintptr_t)block >= depth) {
        return 1;
    }
    return dig(start, depth) + block[100];
}

static int overflow(void *arg) {
    volatile char here = 0;
    (void)arg;
    return dig((uintptr_t)&here, SIZE_MAX / 2);
}

/* Just beyond the end, where another stack would begin a page later. */
static int overflow_a_little(void *arg) {
    volatile char here = 0;
    (void)arg;
    dig((uintptr_t)&here, (16u << 10) + 1024);
    thrum_yield();
    return 0;
}

typedef struct attempt {
    const char *guard; /* THRUM_GUARD, or NULL */
    const char *name;  /* NULL: "deep diver" */
    thrum_fn fn;
    size_t stack_size;
    bool as_task;
    bool catch_off;
    void (*before)(void);
} attempt;

static void overflow_task(thrum_task *self, void *arg) {
    (void)self;
    CHECK_EQ(thrum_set_name("deep diver"), 0);
    overflow(arg);
}

static void perform(void *arg) {
    const attempt *a = arg;
    rig r;
    thrum_task task = THRUM_TASK_INIT(overflow_task, NULL);
    if (a->guard) {
        setenv("THRUM_GUARD", a->guard, 1);
    }
    if (a->catch_off) {
        setenv("THRUM_CATCH_OVERFLOW", "0", 1);
    }
    if (a->before) {
        a->before();
    }
    rig_init(&r);
    r.config.workers = 2;
    rig_start(&r);
    thrum_attr attr = rig_attr(&r);
    attr.name = a->name ? a->name : "deep diver";
    attr.stack_size = a->stack_size;
    if (a->as_task) {
        CHECK_EQ(thrum_task_post(r.sched, &task), 0);
    } else {
        CHECK_EQ(thrum_go_with(&attr, a->fn, NULL), 0);
    }
    CHECK_EQ(thrum_sched_stop(r.sched), 0);
}

static int answer(void *arg) {
    (void)arg;
    return 42;
}

/* Returns whether this kernel grants guards of this kind. */
static bool granted(const char *guard) {
    rig r;
    setenv("THRUM_GUARD", guard, 1);
    rig_init(&r);
    const int result = thrum_run(&r.config, answer, NULL);
    CHECK(result == 42 || result == -ENOMEM);
    unsetenv("THRUM_GUARD");
    return result == 42;
}

static void ask_whether_granted(void *guard) {
    _exit(granted(guard) ? 0 : 5);
}

/* Asks in a child: check_dies forks, and this process must not have had threads by then. */
static void skip_unless_granted(const char *guard) {
    char text[1024];
    const int status =
        check_child(ask_whether_granted, (void *)(uintptr_t)guard, text, sizeof(text));
    CHECK(WIFEXITED(status));
    if (WEXITSTATUS(status) == 5) {
        CHECK_SKIP("this kernel refuses %s guards", guard);
    }
    CHECK_EQ(WEXITSTATUS(status), 0);
}

/* The line ends with the task's function and with the options that make the stack larger. */
static void check_fix_is_named(attempt *a) {
    char end[128];
    snprintf(end, sizeof end,
             ", function 0x%" PRIxPTR "; raise attr.stack_size or THRUM_STACK_SIZE",
             (uintptr_t)a->fn);
    check_dies(perform, a, end);
}

static void check_reported(const char *guard) {
    attempt a = {.guard = guard, .fn = overflow};
    check_dies(perform, &a, "stack overflow");
    check_dies(perform, &a, "deep diver");
    check_dies(perform, &a, "131072");
    a.stack_size = 1u << 20;
    check_dies(perform, &a, "1048576");
    check_fix_is_named(&a);
    a.as_task = true;
    check_dies(perform, &a, "deep diver");
}

TEST(overflow_is_reported) {
    /* With the best guard there is the report has the fiber's name and the size of its stack. */
    check_reported(NULL);
}

TEST(overflow_into_a_madvise_guard) {
    /* It is reported with name and size. */
    skip_unless_granted("madvise");
    check_reported("madvise");
}

TEST(overflow_into_an_mprotect_guard) {
    /* It is reported with name and size. */
    skip_unless_granted("mprotect");
    check_reported("mprotect");
}

TEST(overflow_over_a_canary) {
    /* It is found at the next switch, and reported with name and size, too. */
    attempt a = {.guard = "canary", .fn = overflow_a_little, .stack_size = 16u << 10};
    check_dies(perform, &a, "stack overflow");
    check_dies(perform, &a, "deep diver");
    check_dies(perform, &a, "16384");
    check_fix_is_named(&a);
}

static size_t frame_size;

/* A frame whose low end is used, without a compiler that touches the pages on the way. */
static int touch_far_below(void *arg) {
    volatile char here = 0;
    (void)arg;
    *(volatile char *)((uintptr_t)&here - frame_size) = 1;
    return here;
}

TEST(a_large_frame_meets_the_guard) {
    /* What lies below the stack, another task's memory, stays as it was. */
#if UINTPTR_MAX <= 0xffffffff || defined(_WIN32)
    CHECK_SKIP("a guard of %zu bytes", th_os_guard_size());
#endif
    attempt a = {.fn = touch_far_below, .stack_size = 128u << 10};
    for (frame_size = 132u << 10; frame_size <= 192u << 10; frame_size += 12u << 10) {
        check_dies(perform, &a, "stack overflow in fiber deep diver");
    }
}

static int have_a_large_frame(void *arg) {
    char large[3 << 20];
    char *volatile all = large; /* all of it, though only one byte is used */
    (void)arg;
    all[0] = 1;
    return all[0];
}

TEST(a_frame_of_any_size_meets_the_guard) {
    /* It touches each page: who links with the library compiles with -fstack-clash-protection. */
    attempt a = {.fn = have_a_large_frame};
    check_dies(perform, &a, "stack overflow in fiber deep diver");
}

static int overflow_and_end(void *arg) {
    volatile char here = 0;
    (void)arg;
    return dig((uintptr_t)&here, (16u << 10) + 1024);
}

TEST(overflow_over_a_canary_without_a_switch) {
    /* It is found at the task's end. */
    attempt a = {.guard = "canary", .fn = overflow_and_end, .stack_size = 16u << 10};
    check_dies(perform, &a, "deep diver");
}

TEST(overflow_of_a_fiber_with_an_odd_name) {
    /* Its name can neither begin another line nor send controls to the terminal. */
    attempt a = {.name = "od\"d\n\x1b[2J\xff\xc3\xa4", .fn = overflow};
    check_dies(perform, &a, "stack overflow in fiber od\"d??[2J?\xc3\xa4: 131072 bytes");
    a = (attempt){
        .guard = "canary", .name = a.name, .fn = overflow_a_little, .stack_size = 16u << 10};
    check_dies(perform, &a, "stack overflow in fiber od\"d??[2J?\xc3\xa4: 16384 bytes");
}

/* ---- switched off, and other handlers ---- */

static void take_fault(int number) {
    static const char text[] = "the program's own handler\n";
    (void)number;
    if (write(STDERR_FILENO, text, sizeof(text) - 1) > 0) {
        abort();
    }
}

static void catch_faults(void) {
    crash_catch(SIGSEGV, take_fault);
#ifdef SIGBUS
    crash_catch(SIGBUS, take_fault);
#endif
}

static int read_nowhere(void *arg) {
    int *volatile nowhere = (int *)(uintptr_t)64;
    (void)arg;
    return *nowhere;
}

TEST(other_faults_reach_the_handler_before) {
    /* A wild pointer in a fiber is not a fault of ours. */
    attempt a = {.fn = read_nowhere, .before = catch_faults};
    check_dies(perform, &a, "the program's own handler");
}

TEST(overflow_comes_before_the_other_handler) {
    /* An overflow is reported although the program has a handler. */
    attempt a = {.fn = overflow, .before = catch_faults};
    check_dies(perform, &a, "stack overflow");
}

TEST(catching_can_be_switched_off) {
    /* An overflow is then a plain fault, without a line of ours. */
    attempt a = {.fn = overflow, .catch_off = true, .before = crash_quietly};
    char text[65536];
    const int status = check_child(perform, &a, text, sizeof(text));
    CHECK(strstr(text, "thrum:") == NULL);
    if (!UNDER_ASAN && !UNDER_TSAN) { /* these catch it themselves */
        CHECK(WIFSIGNALED(status));
        CHECK(WTERMSIG(status) == SIGSEGV || WTERMSIG(status) == SIGBUS);
    }
}

TEST(fault_without_a_handler_kills) {
    /* Without a handler before ours a wild pointer ends the process as ever. */
    attempt a = {.fn = read_nowhere, .before = crash_quietly};
    char text[65536];
    const int status = check_child(perform, &a, text, sizeof(text));
    CHECK(strstr(text, "thrum:") == NULL);
    if (!UNDER_ASAN && !UNDER_TSAN) {
        CHECK(WIFSIGNALED(status));
        CHECK_EQ(WTERMSIG(status), SIGSEGV);
    }
}

/* ---- guards that are refused ---- */

TEST(auto_falls_back_when_guards_are_refused) {
    /* It falls back to the canary; everything works. */
    rig r;
    rig_init(&r);
    r.config.guard = THRUM_GUARD_AUTO;
    th_os_fail(TH_OS_FAULT_GUARD_MADVISE, 0, UINT32_MAX);
    rig_start(&r);
    CHECK_EQ(rig_run(&r, answer, NULL), 42);
    rig_stop(&r);
    th_os_fail(TH_OS_FAULT_GUARD_MPROTECT, 0, UINT32_MAX);
    rig_start(&r);
    CHECK_EQ(rig_run(&r, answer, NULL), 42);
    rig_stop(&r);
}

TEST(forced_guard_that_is_refused_is_an_error) {
    /* A guard that was asked for by name is never silently another one. */
    rig r;
    rig_init(&r);
    r.config.guard = THRUM_GUARD_MPROTECT;
    th_os_fail(TH_OS_FAULT_GUARD_MPROTECT, 0, UINT32_MAX);
    CHECK_EQ(thrum_sched_start(&r.sched, &r.config), -ENOMEM);
    rig_check_freed(&r);
    r.config.guard = THRUM_GUARD_MADVISE;
    th_os_fail(TH_OS_FAULT_GUARD_MADVISE, 0, UINT32_MAX);
    CHECK_EQ(thrum_sched_start(&r.sched, &r.config), -ENOMEM);
    rig_check_freed(&r);
}

static int wait_on(void *arg) {
    return thrum_sem_wait(arg);
}

TEST(guards_refused_now_and_then) {
    /* Fibers with guards of different kinds run beside each other. */
    rig r;
    thrum_sem sem = THRUM_SEM_INIT(0);
    rig_init(&r);
    r.config.guard = THRUM_GUARD_AUTO;
    rig_start(&r);
    for (int i = 0; i < 300; i++) {
        th_os_fail(TH_OS_FAULT_GUARD_MADVISE, 0, (uint32_t)i % 3);
        th_os_fail(TH_OS_FAULT_GUARD_MPROTECT, 0, (uint32_t)i % 2);
        rig_go(&r, wait_on, &sem);
    }
    CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    for (int i = 0; i < 300; i++) {
        thrum_sem_post(&sem);
    }
    rig_stop(&r);
}
