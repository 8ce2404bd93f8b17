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

void kit_wait_for_report(void) {
    while (E && __atomic_load_n(&E->crashed_beside, __ATOMIC_RELAXED)) {
        pause();
    }
}
