/*
 * crashes.h: a part of support/crashes.h: faults are signals.
 */
#ifndef POSIX_CRASHES_H
#define POSIX_CRASHES_H

#include <signal.h>

CHECK_UNUSED static void crash_quietly(void) {
    /* check_child and check_dies see to it that no core is written; the handler by which the
     * coverage build keeps its counts would be one of the program's */
    signal(SIGABRT, SIG_DFL);
}

CHECK_UNUSED static void crash_catch(int number, void (*handler)(int)) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = SA_ONSTACK;
    CHECK_EQ(sigaction(number, &action, NULL), 0);
}

#endif
