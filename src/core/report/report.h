/*
 * report.h: a snapshot of a scheduler's fibers (snapshot.h) as text.
 */
#ifndef TH_REPORT_H
#define TH_REPORT_H

#include "core/report/cycle.h"
#include "core/inspect/gauges.h"
#include "core/inspect/group.h"
#include "core/report/words.h"

/* Above this number, fibers are reported in groups that do the same, not one by one. */
#define TH_SINGLE_MAX TH_LIMIT(100u, 4u)

/* How many fibers there are, of each kind. */
typedef struct th_census {
    uint64_t states[TH_SEEN_STATES];
    uint64_t on[TH_ON_KINDS]; /* the blocked ones */
    uint64_t tasks_running;   /* without the threads that are bound and run their own code */
    bool held;                /* false: which fibers are blocked is not known (snapshot.h) */
} th_census;

/* With groups (not NULL) it counts each fiber there, too. */
void th_census_take(th_census *census, thrum_sched *sched, th_groups *groups);

/* A worker, as of some recent moment. */
typedef struct th_seen_worker {
    uint64_t tick;
    uint64_t queued; /* at the worker (gauges.h) */
    bool sleeps;
    bool spare;
    bool idle;       /* a spare that does not take part */
    th_held held;    /* as the spares have seen it */
    int64_t held_ns; /* for how long one task has held it up, if it does */
    th_gauges times; /* for how long a task runs there, and the oldest has been queued */
} th_seen_worker;

th_seen_worker th_report_worker(thrum_sched *sched, unsigned i);

/*
 * The report of a deadlock, and the text of thrum_dump: the workers, then the fibers one by one (if
 * they are many, in groups), then the external threads that wait.
 */
void th_report_deadlock(th_text *text, const th_cycles *cycles);
void th_report_dump(th_text *text);

/* External threads that wait now, up to max, from number `first` on; returns how many. */
unsigned th_report_threads(thrum_sched *sched, unsigned first, th_shown waits[], unsigned max);

#endif
