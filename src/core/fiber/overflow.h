/*
 * overflow.h: a stack overflow is reported with the fiber's name and its stack's size.
 */
#ifndef TH_OVERFLOW_H
#define TH_OVERFLOW_H

/* Installs the handler, once for the process; failing to is not an error, only less of a report. */
void th_overflow_catch(void);

struct th_fiber;

/* The canary below the fiber's stack is gone: the same report, then the end. */
_Noreturn void th_overflow_stop(const struct th_fiber *fiber);

#endif
