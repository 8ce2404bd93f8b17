/*
 * panic.h: stopping the program with one line.
 */
#ifndef TH_PANIC_H
#define TH_PANIC_H

#include "base/check.h"
#include "thrum/base.h"

/* The line goes to the scheduler's panic hook, or to stderr; then the program aborts. NULL: stderr.
 */
TH_NORETURN TH_COLD void th_panic(thrum_sched *sched, const char *line);

#endif
