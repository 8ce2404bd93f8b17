/*
 * panic.h: stopping the program with one line.
 */
#ifndef TH_PANIC_H
#define TH_PANIC_H

#include "base/check.h"
#include "thrum/base.h"

/* Writes the line to the scheduler's panic hook, or to stderr; then aborts. NULL: to stderr. */
TH_NORETURN TH_COLD void th_panic(thrum_sched *sched, const char *line);

#endif
