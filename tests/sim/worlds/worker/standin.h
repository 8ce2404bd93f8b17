/*
 * standin.h: what the worlds of spares share (standin.c, standin_back.c).
 */
#ifndef STANDIN_H
#define STANDIN_H

#include "whole.h"

#define STANDIN_MS 40 /* stall_rescue_ms: two looks and a half are in the least time of a stay */
#define STANDIN_NS (STANDIN_MS * 1000000ll)
#define STANDIN_STAY_NS 50000000ll /* the least time of a stay (core/worker/bench.c) */
#define STANDIN_IDLE_ENDS 24       /* ends of sleeps, one after the other, while all are parked */

extern thrum_sched *standin_sched;
extern whole_gate standin_gate;   /* what standin_holds waits for */
extern whole_gate standin_passed; /* it has gone on */

thrum_config standin_config(unsigned workers, unsigned spares, thrum_policy policy);
void standin_begin(unsigned workers, unsigned spares, thrum_policy policy);

/* The hook: no worker is free, so the lookout looks; and an idle scheduler soon sleeps. */
void standin_asleep(void);

/* The calling thread sleeps for so long. */
void standin_sleep(int64_t ns);

/* Tasks of whole_tasks: one that holds its worker up, and one that lets it go on. */
void standin_holds(thrum_task *self, void *arg);
void standin_opens(thrum_task *self, void *arg);

#endif
