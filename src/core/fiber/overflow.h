/*
 * overflow.h: a stack overflow is reported with the fiber's name and its task's function, the size
 * of the stack, and the options that make it larger.
 */
#ifndef TH_OVERFLOW_H
#define TH_OVERFLOW_H

/* Installs the handler, once for the process. A failure is no error: only the report is missing. */
void th_overflow_catch(void);

struct th_fiber;

/* Makes the same report and stops the program, when the canary below the stack is gone. */
_Noreturn void th_overflow_stop(const struct th_fiber *fiber);

#endif
