/*
 * beside.c: real threads beside the simulation, which pthread_create has started, and children of
 * fork. A crash there is no fault of the run, and a run must not go on from there.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "kit.h"

extern char __executable_start[];
extern char etext[];

__attribute__((format(printf, 1, 2))) static void print(const char *format, ...) {
    char text[256];
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    (void)!write(E->is_mute ? E->outputs[2] : 2, text, (size_t)length);
}

/* The rest of the line. Another thread may have locks of the C library, so it makes few calls. */
static void print_place(uintptr_t address) {
    char exe[32];
    char at[32];
    snprintf(exe, sizeof exe, "/proc/%d/exe", (int)getpid());
    snprintf(at, sizeof at, "%#zx", (size_t)(address - kit_load_base()));
    const pid_t child = vfork();
    if (child == 0) {
        dup2(E->is_mute ? E->outputs[2] : 2, 1);
        execlp("addr2line", "addr2line", "-s", "-e", exe, at, (char *)NULL);
        _exit(1);
    }
    int status = 1;
    if (child < 0 || waitpid(child, &status, 0) < 0 || status) {
        print("?\n");
    }
}

bool kit_is_alone(void) {
    struct stat tasks;
    return stat("/proc/self/task", &tasks) != 0 || tasks.st_nlink <= 3;
}

static void crashed_beside(int signal, uintptr_t at) {
    if (__atomic_test_and_set(&E->crashed_beside, __ATOMIC_RELAXED)) {
        for (;;) {
            pause(); /* the first one reports */
        }
    }
    print("%s: FAILED\n  crash: a thread outside of the simulation crashed: signal %d (%s)\n",
          program_invocation_short_name, signal, strsignal(signal));
    if (at >= (uintptr_t)__executable_start && at < (uintptr_t)etext) {
        print("    crashed at ");
        print_place(at);
    }
    print("  The test kit does not control threads of pthread_create, so nothing repeats this.\n");
    _exit(1);
}

bool kit_is_foreign_signal(int signal, void *context, uintptr_t at) {
    if (getpid() != E->process) { /* a child of fork */
        struct sigaction usual = {.sa_handler = SIG_DFL};
        sigset_t it;
        sigaction(signal, &usual, NULL);
        sigemptyset(&it);
        sigaddset(&it, signal);
        pthread_sigmask(SIG_UNBLOCK, &it, NULL);
        raise(signal);
        return true;
    }
    if (kit_is_real_thread()) {
        return false;
    }
    if (signal != SIGVTALRM) {
        crashed_beside(signal, at);
    }
    sigaddset(&((ucontext_t *)context)->uc_sigmask, signal); /* the next tick goes elsewhere */
    return true;
}

__attribute__((noreturn)) static void end_process(void) {
    E->current = NULL; /* the exit is no fault of the run */
    _exit(1);
}

bool kit_is_beside(void) {
    return E && E->current && !E->inspecting && !kit_is_real_thread();
}

void kit_fail_beside(const char *fault, const char *what) {
    print(
        "%s: FAILED\n  %s: a thread outside of the simulation: %s\n"
        "  The test kit does not control threads of pthread_create. thrum_test_thread_start starts "
        "one that it controls.\n",
        program_invocation_short_name, fault, what);
    end_process();
}

void kit_check_child(void) {
    if (getpid() != E->process) {
        print("%s: the child of a fork must call exec or _exit, but it has %s%s\n",
              program_invocation_short_name, E->failed ? "failed: " : "returned from the test",
              E->failed ? E->message : "");
        end_process();
    }
}

#define MAIN_BYTES (1 << 20) /* of the stack from which the runs were started */

void kit_check_jump(void) {
    const char *here = __builtin_frame_address(0);
    if (E && E->current && !E->inspecting && kit_is_real_thread() && here < E->stack_end &&
        here >= E->stack_begin - MAIN_BYTES) {
        print("%s: FAILED\n  exit: the test was left by longjmp\n"
              "  Its function must return. In it, use THRUM_TEST: checks of other frameworks may "
              "leave it.\n",
              program_invocation_short_name);
        end_process();
    }
}

void kit_wait_for_report(void) {
    while (E && __atomic_load_n(&E->crashed_beside, __ATOMIC_RELAXED)) {
        pause();
    }
}
