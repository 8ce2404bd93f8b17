/*
 * spares.h: shared by the worlds of spares (spares.c, spares_back.c).
 */
#ifndef SPARES_H
#define SPARES_H

#include "whole.h"

#define SPARES_MS 40 /* stall_rescue_ms: two looks and a half are in the least time of a stay */
#define SPARES_NS (SPARES_MS * 1000000ll)
#define SPARES_STAY_NS 50000000ll /* the least time of a stay (core/worker/spares.c) */
#define SPARES_IDLE_ENDS 24       /* ends of sleeps, one after the other, while all are parked */

extern thrum_sched *spares_sched;
extern whole_gate spares_gate;   /* spares_holds waits for this */
extern whole_gate spares_passed; /* it has gone on */

thrum_config spares_config(unsigned workers, unsigned spares, thrum_policy policy);
void spares_begin(unsigned workers, unsigned spares, thrum_policy policy);

/* The hook: no worker is free, so the monitor looks; and an idle scheduler soon sleeps. */
void spares_asleep(void);

/* The calling thread sleeps for so long. */
void spares_sleep(int64_t ns);

/* Tasks of whole_tasks: the first holds its worker up, the second lets it go on. */
void spares_holds(thrum_task *self, void *arg);
void spares_opens(thrum_task *self, void *arg);

#endif
