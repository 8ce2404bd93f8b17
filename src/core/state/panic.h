/*
 * panic.h: stopping the program with one line; and one line for a mistake after which it goes on.
 */
#ifndef TH_PANIC_H
#define TH_PANIC_H

#include "base/check.h"
#include "thrum/base.h"

/* Writes the line to the scheduler's panic hook, or to stderr; then aborts. NULL: to stderr. */
TH_NORETURN TH_COLD void th_panic(thrum_sched *sched, const char *line);

/* ---- mistakes: legal, but hardly ever meant (THRUM_CHECK) ---- */

/* Each kind is reported once in a process. */
typedef enum {
    TH_MISTAKE_DEADLINE, /* a duration was passed as a deadline */
    TH_MISTAKE_SLEEP,    /* a sleep is too short to be meant in nanoseconds */
    TH_MISTAKE_HANDLES,  /* handles that nobody has joined or detached by the stop */
    TH_MISTAKE_HELD,     /* tasks hold all workers and spares */
    TH_MISTAKE_ENDS,     /* a task has ended with a mutex locked */
} th_mistake;

/*
 * The kinds that are looked for, a bit each. The simulator's worlds make them on purpose. The test
 * kit finds handles that are left by itself, and in its virtual time no task holds a worker for
 * long; the other mistakes fail the run.
 */
#if !defined(TH_SIM)
#define TH_MISTAKES (~0u)
#elif defined(TH_KIT) && TH_KIT
#define TH_MISTAKES (1u << TH_MISTAKE_DEADLINE | 1u << TH_MISTAKE_SLEEP | 1u << TH_MISTAKE_ENDS)
#else
#define TH_MISTAKES 0u
#endif

/* Whether mistakes are reported: as THRUM_CHECK has it, read each time, else in debug builds. */
TH_COLD bool th_mistakes_count(void);

/*
 * Writes "thrum: check: TEXT" to stderr, unless that is off or the kind was reported before. With
 * `caller`, " (fiber NAME, which runs FUNCTION)" follows. Only for paths that are never hot.
 */
TH_COLD TH_PRINTF(3, 4) void th_mistake_report(th_mistake kind, bool caller, const char *format,
                                               ...);

/* A deadline that has passed, and is as small as durations are. */
TH_COLD void th_mistake_deadline(int64_t deadline);

#define TH_DURATION_MAX 3600000000000ll /* what is longer is not taken for a duration: an hour */

/* A deadline has passed. */
static inline void th_deadline_passed(int64_t deadline) {
    if (TH_MISTAKES && th_unlikely((uint64_t)deadline - 1 < TH_DURATION_MAX)) {
        th_mistake_deadline(deadline);
    }
}

#endif
