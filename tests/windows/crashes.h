/*
 * crashes.h: a part of support/crashes.h: faults are exceptions, of which the C library makes
 * signals where the program has a handler.
 */
#ifndef WINDOWS_CRASHES_H
#define WINDOWS_CRASHES_H

#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#define SIZE WINDOWS_SIZE
#include <windows.h>
#undef SIZE
#undef near
#undef far

static LPTOP_LEVEL_EXCEPTION_FILTER crash_before; /* the C library's */

static LONG WINAPI crash_ends(EXCEPTION_POINTERS *both) {
    const LONG told = crash_before ? crash_before(both) : EXCEPTION_CONTINUE_SEARCH;
    return told == EXCEPTION_CONTINUE_SEARCH ? EXCEPTION_EXECUTE_HANDLER : told;
}

/* Else the system would start a debugger. */
CHECK_UNUSED static void crash_quietly(void) {
    LPTOP_LEVEL_EXCEPTION_FILTER before = SetUnhandledExceptionFilter(crash_ends);
    crash_before = before == crash_ends ? crash_before : before;
}

CHECK_UNUSED static void crash_catch(int number, void (*handler)(int)) {
    CHECK(number == SIGBUS || signal(number, handler) != SIG_ERR); /* it has no such one */
}

#endif
