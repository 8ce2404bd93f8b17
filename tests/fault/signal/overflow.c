/*
 * The fault handler below the scheduler: an overflow of ours is reported, every other fault goes to
 * the handler that was there before, as if ours did not exist.
 */
/* POSIX: siginfo_t, sigaltstack */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <sys/mman.h>

#include "base/annotate.h"
#include "base/check.h"
#include "check.h"
#include "core/fiber/stack.h"
#include "platform/platform.h"

/* ---- helpers of these tests ---- */

/* Returns the wait status of a child that runs fn(arg). */
static int status_of(void (*fn)(void *), void *arg) {
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        check_end_in_time();
        fn(arg);
        _exit(0);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    return status;
}

static void check_killed_by(int status, int signal) {
    if (!WIFSIGNALED(status) || WTERMSIG(status) != signal) {
        check_failed(__FILE__, __LINE__, "not killed by %d: wait status 0x%x", signal,
                     (unsigned)status);
    }
}

static void check_exited_with(int status, int code) {
    if (!WIFEXITED(status) || WEXITSTATUS(status) != code) {
        check_failed(__FILE__, __LINE__, "not exited with %d: wait status 0x%x", code,
                     (unsigned)status);
    }
}

static volatile char *bad_page; /* a protected page */

static void make_bad_page(void) {
    bad_page = th_os_map(th_os_page_size());
    CHECK(bad_page != NULL);
    CHECK_EQ(th_os_guard_mprotect((void *)(uintptr_t)bad_page, th_os_page_size()), 0);
}

static bool knows_nothing(uintptr_t address) {
    (void)address;
    return false;
}

/* Installs the action that a program had before ours. */
static void had_before(int signal, int flags, void *handler, int masked) {
    struct sigaction action = {.sa_flags = flags};
    if (flags & SA_SIGINFO) {
        action.sa_sigaction = (void (*)(int, siginfo_t *, void *))(uintptr_t)handler;
    } else {
        action.sa_handler = (void (*)(int))(uintptr_t)handler;
    }
    sigemptyset(&action.sa_mask);
    if (masked != 0) {
        sigaddset(&action.sa_mask, masked);
    }
    CHECK_EQ(sigaction(signal, &action, NULL), 0);
}

/* ---- overflows ---- */

static th_stack stack;
static th_context main_context, fiber_context;

static void *books_alloc(void *ctx, size_t size) {
    (void)ctx;
    return malloc(size);
}

static void books_free(void *ctx, void *ptr) {
    (void)ctx;
    free(ptr);
}

static bool knows_the_stack(uintptr_t address) {
    static const char line[] = "overflow of the fiber in this test\n";
    if (!th_stack_find_guard(&stack, address)) {
        return false;
    }
    th_os_stderr(line, sizeof line - 1);
    return true;
}

/* The sanitizers' own checks of the stack's bounds would come first. */
__attribute__((no_sanitize("address"))) TH_NO_TSAN TH_NOINLINE static int dig(int n) {
    volatile char room[512];
    room[0] = (char)n;
    return n == 0 ? 0 : dig(n - 1) + room[0];
}

static void overflow(void *arg) {
    (void)arg;
    dig(INT32_MAX);
    _exit(3);
}

static void overflow_a_fiber(void *arg) {
    th_stacks stacks;
    void *altstack;
    th_stacks_init(&stacks, *(thrum_guard *)arg, books_alloc, books_free, NULL);
    if (th_stack_get(&stacks, 0, &stack) != 0) {
        th_os_stderr("overflow of the fiber in this test\n", 35); /* the kernel lacks this guard */
        abort();
    }
    had_before(SIGSEGV, 0, SIG_DFL, 0);
    CHECK_EQ(th_os_fault_thread_enter(&altstack), 0);
    CHECK_EQ(th_os_fault_catch(knows_the_stack), 0);
    th_context_make(&fiber_context, stack.bottom, stack.top, overflow, NULL);
    th_context_switch(&main_context, &fiber_context);
}

TEST(overflow_into_a_madvise_guard_is_told) {
    /* The handler runs on the alternate stack, prints, and the program aborts. */
    thrum_guard kind = THRUM_GUARD_MADVISE;
    check_dies(overflow_a_fiber, &kind, "overflow of the fiber in this test");
}

TEST(overflow_into_an_mprotect_guard_is_told) {
    /* The kernel gives another code for these pages (SEGV_ACCERR, SEGV_MAPERR). */
    thrum_guard kind = THRUM_GUARD_MPROTECT;
    check_dies(overflow_a_fiber, &kind, "overflow of the fiber in this test");
}

/* ---- others' faults ---- */

static void mend(int signal, siginfo_t *info, void *ucontext) {
    (void)ucontext;
    if (signal != SIGSEGV || info->si_addr != (void *)(uintptr_t)bad_page || info->si_code <= 0) {
        _exit(4);
    }
    mprotect((void *)(uintptr_t)bad_page, th_os_page_size(), PROT_READ | PROT_WRITE);
}

static void mended_by_previous(void *arg) {
    (void)arg;
    make_bad_page();
    had_before(SIGSEGV, SA_SIGINFO, (void *)(uintptr_t)mend, 0);
    CHECK_EQ(th_os_fault_catch(knows_nothing), 0);
    CHECK_EQ(th_os_fault_catch(knows_nothing), 0); /* the second time it must not find itself */
    errno = 4711;
    *bad_page = 7;
    CHECK_EQ(errno, 4711);
    CHECK_EQ(*bad_page, 7);
    _exit(42);
}

TEST(previous_handler_may_mend_the_fault) {
    /* It gets the signal with its address; when it returns the program goes on. */
    check_exited_with(status_of(mended_by_previous, NULL), 42);
}

static int nodefer;

static void see_mask(int signal) {
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    bool right = signal == SIGSEGV && sigismember(&now, SIGUSR1) && sigismember(&now, SIGHUP) &&
                 !sigismember(&now, SIGUSR2) && sigismember(&now, SIGSEGV) == (nodefer == 0);
    _exit(right ? 42 : 5);
}

static void mask_as_asked(void *arg) {
    nodefer = *(int *)arg;
    make_bad_page();
    had_before(SIGSEGV, nodefer, (void *)(uintptr_t)see_mask, SIGUSR1);
    CHECK_EQ(th_os_fault_catch(knows_nothing), 0);
    sigset_t hup;
    sigemptyset(&hup);
    sigaddset(&hup, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &hup, NULL);
    *bad_page = 1;
}

TEST(previous_handler_gets_the_mask_that_it_asked_for) {
    /* The mask is what was blocked, its own mask, and the signal itself unless SA_NODEFER. */
    int flags = 0;
    check_exited_with(status_of(mask_as_asked, &flags), 42);
    flags = (int)SA_NODEFER;
    check_exited_with(status_of(mask_as_asked, &flags), 42);
}

static void die_by_default(void *arg) {
    make_bad_page();
    had_before(SIGSEGV, 0, *(void **)arg, 0);
    CHECK_EQ(th_os_fault_catch(knows_nothing), 0);
    *bad_page = 1;
    _exit(6);
}

TEST(fault_without_a_handler_kills) {
    /*
     * The signal itself kills, so that a core is dumped where it happened; also when it is ignored.
     */
    void *action = (void *)(uintptr_t)SIG_DFL;
    check_killed_by(status_of(die_by_default, &action), SIGSEGV);
    action = (void *)(uintptr_t)SIG_IGN;
    check_killed_by(status_of(die_by_default, &action), SIGSEGV);
}

static void send_to_self(void *arg) {
    had_before(SIGSEGV, 0, *(void **)arg, 0);
    CHECK_EQ(th_os_fault_catch(knows_nothing), 0);
    kill(getpid(), SIGSEGV);
    _exit(42);
}

TEST(sent_signal_does_what_it_did) {
    /* kill -SEGV is deadly by default, and does nothing when ignored. */
    void *action = (void *)(uintptr_t)SIG_DFL;
    check_killed_by(status_of(send_to_self, &action), SIGSEGV);
    action = (void *)(uintptr_t)SIG_IGN;
    check_exited_with(status_of(send_to_self, &action), 42);
}

static void see_sender(int signal, siginfo_t *info, void *ucontext) {
    (void)ucontext;
    _exit(signal == SIGSEGV && info->si_code == SI_USER && info->si_pid == getpid() ? 42 : 7);
}

static bool never_asked(uintptr_t address) {
    (void)address;
    _exit(8);
}

static void sent_to_handler(void *arg) {
    (void)arg;
    had_before(SIGSEGV, SA_SIGINFO, (void *)(uintptr_t)see_sender, 0);
    CHECK_EQ(th_os_fault_catch(never_asked), 0);
    kill(getpid(), SIGSEGV);
    for (;;) {
        pause();
    }
}

TEST(sent_signal_reaches_the_handler) {
    /* The handler gets the sender's siginfo; ours is not even asked. */
    check_exited_with(status_of(sent_to_handler, NULL), 42);
}

static void once_and_back(int signal) {
    (void)signal; /* the fault repeats */
}

static void one_shot(void *arg) {
    (void)arg;
    make_bad_page();
    had_before(SIGSEGV, (int)SA_RESETHAND, (void *)(uintptr_t)once_and_back, 0);
    CHECK_EQ(th_os_fault_catch(knows_nothing), 0);
    *bad_page = 1;
    _exit(9);
}

TEST(one_shot_handler_runs_once) {
    /* With SA_RESETHAND the second fault kills. */
    check_killed_by(status_of(one_shot, NULL), SIGSEGV);
}

static sigjmp_buf escape;

static void jump_out(int signal) {
    siglongjmp(escape, signal);
}

static void jumps_out(void *arg) {
    void *altstack;
    (void)arg;
    make_bad_page();
    had_before(SIGSEGV, 0, (void *)(uintptr_t)jump_out, 0);
    CHECK_EQ(th_os_fault_thread_enter(&altstack), 0);
    CHECK_EQ(th_os_fault_catch(knows_nothing), 0);
    for (volatile int i = 0; i < 3; i++) {
        int signal = sigsetjmp(escape, 1);
        if (signal == 0) {
            *bad_page = 1;
        }
        CHECK_EQ(signal, SIGSEGV);
    }
    th_os_fault_thread_leave(altstack);
    _exit(42);
}

TEST(previous_handler_may_jump_out) {
    /* It may do so again and again, also from the alternate stack. */
    check_exited_with(status_of(jumps_out, NULL), 42);
}

static void see_bus(int signal) {
    _exit(signal == SIGBUS ? 42 : 10);
}

static void bus_error(void *arg) {
    had_before(SIGBUS, 0, *(void **)arg, 0);
    CHECK_EQ(th_os_fault_catch(knows_nothing), 0);
    int fd = memfd_create("empty", 0);
    CHECK(fd >= 0);
    volatile char *p = mmap(NULL, th_os_page_size(), PROT_READ, MAP_SHARED, fd, 0);
    CHECK(p != MAP_FAILED);
    _exit(p[0] == 0 ? 11 : 12);
}

TEST(bus_errors_are_passed_on_too) {
    /* They go to SIGBUS's own previous action. */
    void *action = (void *)(uintptr_t)see_bus;
    check_exited_with(status_of(bus_error, &action), 42);
    action = (void *)(uintptr_t)SIG_DFL;
    check_killed_by(status_of(bus_error, &action), SIGBUS);
}

/* ---- the alternate stack ---- */

static void with_and_without(void *arg) {
    static char own[65536];
    (void)arg;
    void *altstack;
    stack_t now;
    stack_t off = {.ss_flags = SS_DISABLE};
    CHECK_EQ(sigaltstack(&off, NULL), 0);
    CHECK_EQ(th_os_fault_thread_enter(&altstack), 0);
    CHECK(altstack != NULL);
    CHECK_EQ(sigaltstack(NULL, &now), 0);
    CHECK(now.ss_sp == altstack && now.ss_size >= 65536);
    th_os_fault_thread_leave(altstack);
    CHECK_EQ(sigaltstack(NULL, &now), 0);
    CHECK(now.ss_flags & SS_DISABLE);

    stack_t mine = {.ss_sp = own, .ss_size = sizeof own};
    CHECK_EQ(sigaltstack(&mine, NULL), 0);
    CHECK_EQ(th_os_fault_thread_enter(&altstack), 0);
    CHECK(altstack == NULL);
    th_os_fault_thread_leave(altstack);
    CHECK_EQ(sigaltstack(NULL, &now), 0);
    CHECK(now.ss_sp == own);
    CHECK_EQ(sigaltstack(&off, NULL), 0);
    _exit(42);
}

TEST(alternate_stack_of_others_is_respected) {
    /* A thread that has one keeps it; ours is taken away again. */
    check_exited_with(status_of(with_and_without, NULL), 42);
}
