/*
 * quit_posix.c: see quit.h. A thread waits for the signals, so no code runs in a signal handler.
 */
#define _GNU_SOURCE 1
#include "quit.h"

#include <signal.h>
#include <stdlib.h>

static const int signals[] = {SIGINT, SIGTERM};
enum { SIGNALS = sizeof signals / sizeof signals[0] };
static sigset_t set; /* the awaited signals; written once, before any thread is started */

void quit_prepare(struct quit *quit) {
    *quit = (struct quit){.ended = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false)};
    sigemptyset(&set);
    for (int i = 0; i < SIGNALS; i++) {
        struct sigaction present;
        if (sigaction(signals[i], NULL, &present) == 0 && present.sa_handler != SIG_IGN) {
            sigaddset(&set, signals[i]);
        }
    }
    sigaddset(&set, SIGUSR1); /* quit_end sends it */
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static void *watch(void *arg) {
    struct quit *quit = arg;
    int signal;
    while (sigwait(&set, &signal) != 0 ||
           (signal == SIGUSR1 && !thrum_event_is_signaled(&quit->ended))) {
    }
    if (signal == SIGUSR1) {
        return NULL;
    }
    quit->signal = signal;
    quit->fn(quit->ctx, signal);
    if (thrum_event_wait_until(&quit->ended, thrum_after_s(1)) != 0) {
        quit_die(signal); /* something holds it up: a reader that does not read, a dead disk */
    }
    return NULL;
}

int quit_begin(struct quit *quit, void (*fn)(void *ctx, int signal), void *ctx) {
    quit->fn = fn;
    quit->ctx = ctx;
    return -pthread_create(&quit->thread, NULL, watch, quit);
}

void quit_end(struct quit *quit) {
    thrum_event_signal(&quit->ended);
    pthread_kill(quit->thread, SIGUSR1);
    pthread_join(quit->thread, NULL);
}

void quit_die(int signum) {
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, signum);
    signal(signum, SIG_DFL);
    raise(signum); /* waits until it is let through */
    pthread_sigmask(SIG_UNBLOCK, &one, NULL);
    _Exit(1); /* not reached */
}
