/*
 * thrum/interval.h: intervals, which tick once in each period.
 *
 * One task or thread waits for the ticks, alone (thrum_interval_wait) or beside other things
 * (THRUM_TICK_CASE in thrum_select). An interval is a few numbers in the caller's memory. Nothing
 * runs between two ticks, and nothing is allocated. There is no call to stop an interval: a caller
 * just no longer waits for it.
 */
#ifndef THRUM_INTERVAL_H
#define THRUM_INTERVAL_H

#include "thrum/base.h"
#include "thrum/chan.h"

THRUM_BEGIN_DECLS

/* When the next tick is due after a tick that was taken late, for example after a long job. */
typedef enum {
    THRUM_MISSED_BURST, /* a period after the late one was due: missed ticks follow at once */
    THRUM_MISSED_DELAY, /* a period after the late one was taken: two ticks are never closer */
    THRUM_MISSED_SKIP   /* whole periods after the late one was due: missed ticks are left out */
} thrum_missed;

/* An interval. The caller owns its memory, and makes it by thrum_interval_init. */
typedef struct thrum_interval {
    /* When the next tick is due; THRUM_FOREVER: never. The program may read and change it. */
    thrum_time next;
    /* The time from one tick to the next, in ns, at least 1. */
    thrum_time period;
    /* How many ticks were left out so far, with THRUM_MISSED_SKIP. */
    uint64_t skipped;
    /* A thrum_missed. */
    uint32_t missed;
    uint32_t reserved_pad;
} thrum_interval;
THRUM_ABI_SIZE(thrum_interval, 32, 32);

/*
 * Makes an interval. It needs no destroy call.
 *
 * Parameters:
 *   interval  the memory of the interval
 *   first     when the first tick is due: thrum_now() for at once, or an instant from thrum_after
 *   period    the time from one tick to the next in ns, from THRUM_MS and the like; with
 *             THRUM_FOREVER there is one tick
 *   missed    when the next tick is due after a late one, a thrum_missed
 * Context: any thread; never suspends.
 * Ordering: none.
 * Misuse: the period is below 1, or `missed` is another number.
 * Example:
 *    thrum_interval second;
 *    thrum_interval_init(&second, thrum_after_s(1), THRUM_S(1), THRUM_MISSED_SKIP);
 * See also: thrum_interval_wait
 */
THRUM_API void thrum_interval_init(thrum_interval *interval, thrum_time first, thrum_time period,
                                   thrum_missed missed);

/*
 * Waits for the next tick, and takes it. thrum_interval_wait_until gives up at the deadline. A tick
 * that is due already is taken at once, even past the deadline, but not by a cancelled caller. So a
 * cancel also ends a loop that never suspends because its jobs take longer than the period.
 *
 * Parameters:
 *   interval  the interval, which no other caller uses meanwhile
 *   deadline  thrum_interval_wait_until only: when to give up, an instant from thrum_after or
 *             THRUM_FOREVER
 * Returns: 0 when a tick was taken, else a negative error code; the interval is then unchanged.
 * Errors:
 *   -ETIMEDOUT  thrum_interval_wait_until: the deadline passed, and no tick was due
 *   -ECANCELED  the caller was cancelled
 *   -ESHUTDOWN  in the child of a fork (thrum/sched.h), on the thread that forked
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    int err;
 *    while ((err = thrum_interval_wait(&second)) == 0) {
 *        print_figures();
 *    }
 * See also: thrum_interval_test, THRUM_TICK_CASE, thrum_sleep_until
 */
THRUM_API THRUM_NODISCARD int thrum_interval_wait(thrum_interval *interval);
THRUM_API THRUM_NODISCARD int thrum_interval_wait_until(thrum_interval *interval,
                                                        thrum_time deadline);

/*
 * Takes a tick if one is due. The body of an intrusive task calls it, and then posts the task until
 * the interval's `next`.
 *
 * Parameters:
 *   interval  the interval, which no other caller uses meanwhile
 * Returns: true when a tick was taken.
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example:
 *    static void beat(thrum_task *self, void *arg) {
 *        thrum_interval *second = arg;
 *        if (!thrum_task_is_cancelled(self) && thrum_interval_test(second)) {
 *            print_figures();
 *            (void)thrum_task_post_until(thrum_sched_current(), self, second->next);
 *        }
 *    }
 * See also: thrum_interval_wait, thrum_task_post_until
 */
THRUM_API THRUM_NODISCARD bool thrum_interval_test(thrum_interval *interval);

/* The kind of a case that takes a tick. */
#define THRUM_CASE_TICK 7u

/*
 * Makes a case of thrum_select, which happens when a tick is due, and takes it. If other cases can
 * be done as well, each has the same chance. With NULL the case never happens.
 *
 * Parameters:
 *   interval_  the interval, a thrum_interval *, or NULL; it must live until the select has
 *              returned, and may be in one case only
 * Returns: a value of thrum_case.
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example:
 *    thrum_case cases[] = {THRUM_RECV_CASE(lines, &line), THRUM_TICK_CASE(&second)};
 *    int which = thrum_select(cases, 2, THRUM_FOREVER);
 * See also: thrum_select, thrum_interval_wait
 */
#ifdef __cplusplus
#define THRUM_TICK_CASE(interval_)                                                                 \
    (thrum_case{NULL, NULL, (1 ? (interval_) : (struct thrum_interval *)0), THRUM_CASE_TICK,       \
                THRUM_CASE_REST})
#else
#define THRUM_TICK_CASE(interval_)                                                                 \
    ((thrum_case){NULL, NULL, (1 ? (interval_) : (struct thrum_interval *)0), THRUM_CASE_TICK,     \
                  THRUM_CASE_REST})
#endif

THRUM_END_DECLS

#endif
