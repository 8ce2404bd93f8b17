/*
 * quit_windows.c: see quit.h. The system calls the handler on a thread of its own: Control-C is
 * SIGINT, and all that ends the console is SIGTERM.
 */
#include "quit.h"

#include <signal.h>
#include <stdlib.h>
#include <windows.h>

enum { CONTROL_C_ENDED = 0xC000013A }; /* the status of a program ended by Control-C */

static SRWLOCK lock = SRWLOCK_INIT;
static struct quit *running; /* under the lock; NULL: nobody is notified */

static BOOL WINAPI on_event(DWORD event) {
    AcquireSRWLockExclusive(&lock);
    struct quit *quit = running;
    const bool first = quit && quit->signal == 0;
    if (first) {
        quit->signal = event == CTRL_C_EVENT || event == CTRL_BREAK_EVENT ? SIGINT : SIGTERM;
        quit->fn(quit->ctx, quit->signal);
    }
    ReleaseSRWLockExclusive(&lock);
    if (first) {
        Sleep(1000);
        quit_die(SIGINT); /* something holds it up: a reader that does not read, a dead disk */
    }
    return quit != NULL;
}

void quit_prepare(struct quit *quit) {
    *quit = (struct quit){.ended = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false)};
}

int quit_begin(struct quit *quit, void (*fn)(void *ctx, int signal), void *ctx) {
    quit->fn = fn;
    quit->ctx = ctx;
    AcquireSRWLockExclusive(&lock);
    running = quit;
    ReleaseSRWLockExclusive(&lock);
    return SetConsoleCtrlHandler(on_event, TRUE) ? 0 : -ENOSYS;
}

void quit_end(struct quit *quit) {
    (void)quit;
    SetConsoleCtrlHandler(on_event, FALSE);
    AcquireSRWLockExclusive(&lock);
    running = NULL;
    ReleaseSRWLockExclusive(&lock);
}

void quit_die(int signum) {
    (void)signum;
    ExitProcess((UINT)CONTROL_C_ENDED);
}
