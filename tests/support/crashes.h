/*
 * crashes.h: helpers for functions that crash, which a test runs in a process of their own.
 *
 *   crash_quietly   a fault that nobody handles ends the process, and nothing else
 *   crash_catch     the program has a handler of its own for SIGSEGV and the like
 */
#ifndef CRASHES_H
#define CRASHES_H

#include "check.h"

#if defined(_WIN32)
#include "windows/crashes.h"
#else
#include "posix/crashes.h"
#endif

#endif
