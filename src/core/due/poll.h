/*
 * poll.h: descriptors that become ready make fibers runnable. core/worker/POLLING.md has the
 * states, the protocol and the argument.
 */
#ifndef TH_POLL_H
#define TH_POLL_H

#include "base/atomic.h"
#include "core/basis/poll_state.h"
#include "core/state/worker.h"

typedef struct th_waiter th_waiter;

/*
 * Adds a descriptor to the set of the calling worker or, on any other thread, of a worker of the
 * scheduler; opens the set if need be. `event` is the same in all calls. Returns 0, with the set in
 * *out, or a code. In a task's context.
 */
int th_poll_add(thrum_sched *sched, int fd, uint64_t key, th_poll_fn event, th_poller **out);
/* The same to the set of the worker with this number, modulo how many there are. */
int th_poll_add_at(thrum_sched *sched, unsigned worker, int fd, uint64_t key, th_poll_fn event,
                   th_poller **out);
/* The same to a set that is open already, of any worker: for want of descriptors. -EMFILE: none. */
int th_poll_add_open(thrum_sched *sched, int fd, uint64_t key, th_poller **out);
/* Opens the set that the caller would add to. 0 or a code. */
int th_poll_open(thrum_sched *sched, th_poll_fn event);
/* A descriptor is no longer in the set. */
void th_poll_gone(th_poller *poller);

/*
 * For th_poll_fn: ends the wait of a waiter that was taken off its list, a timed one having been
 * claimed for TH_WAIT_WOKEN. A fiber of the same scheduler goes into by->due.
 */
void th_poll_wake(th_worker *by, th_waiter *waiter);

/*
 * Looks at the worker's own set, and queues ready work. True: there was some. With `next` the
 * worker has nothing else to do, and may go on with worker->handoff.
 */
bool th_poll_own(th_worker *worker, bool next);
/* The same for the sets of running workers that did not look for a while. */
bool th_poll_help(th_worker *worker);
/*
 * Sleeps in the worker's set: 1 with events for th_poll_awake, -ETIMEDOUT, or -EINTR. The sentinel
 * is also woken by events in the sets of workers that stand still.
 */
int th_poll_sleep(th_worker *worker, int64_t deadline);
/* Whether there is something that th_poll_awake has to see to. */
static inline bool th_poll_has_got(const th_worker *worker) {
    return worker->poller.got || worker->poller.got_others;
}
/*
 * Queues the events from its sleep, except work that it may go on with at once (worker->handoff);
 * takes back its wake-up. True: it was woken to check others.
 */
bool th_poll_awake(th_worker *worker);
/*
 * For a sentinel without a set: opens one, if a worker with descriptors stands still. True: it
 * parks anew, to sleep there.
 */
bool th_poll_begin_watch(th_worker *worker);

/*
 * For a bound thread of a scheduler without workers: looks at the set that all of them share, if
 * the last look was a while ago, or `at_once`. True: something was ready.
 */
bool th_poll_loose(th_worker *worker, bool at_once);
/*
 * The same thread is about to sleep: true if it sleeps in a set of its own, in which the shared one
 * is. *until is moved forward if the system refuses such a set, and if a foreign loop does not see
 * its events.
 */
bool th_poll_nests(th_worker *worker, int64_t *until);

/* By the thread itself: opens its set for a loop that is not ours. 0, or a code. */
int th_poll_embed(th_worker *worker);

/* Whether the set is open. */
static inline bool th_poller_is_open(const th_poller *poller) {
    /* pairs: th_poll_add; the set */
    return th_load_acquire(&poller->xopen) != 0;
}

/* Whether descriptors wait in the worker's set: another one has to look while it runs. */
static inline bool th_poll_any(const th_worker *worker) {
    /* relaxed: a hint; a descriptor added at this moment was checked when it was added */
    return worker->polls && th_load_relaxed(&worker->poller.xmembers) != 0;
}

/* The same for a worker that may not know yet that another thread has opened its set. */
static inline bool th_poll_added(const th_worker *worker) {
    /* relaxed: ordered by the caller's fence; a thread that adds the first one fences, too */
    return th_load_relaxed(&worker->poller.xmembers) != 0;
}

/*
 * By the worker itself: has its event called with this key and no bits before the next look at its
 * set, by any thread: the worker looks before it parks. The key is that of a member of the set.
 * With a lock that the event takes, too.
 */
static inline void th_poll_put_off(th_worker *worker, uint64_t key) {
    /* relaxed: only whether there is an event; the event's own lock orders its contents */
    th_store_relaxed(&worker->poller.xput_off, key);
}
static inline bool th_poll_has_put_off(const th_worker *worker) {
    return th_load_relaxed(&worker->poller.xput_off) != 0; /* relaxed: as above */
}

/*
 * Whether a descriptor of the worker's is ready, and has been for a while: asked of the system. Or
 * something is put off.
 */
bool th_poll_waits(const th_worker *worker);

/* Whether a worker that runs has descriptors: the sentinel comes round soon then. */
bool th_poll_watched(const thrum_sched *sched);

#define TH_POLL_HELP_NS 1000000 /* after so long without a look others look */
/* A running worker that did not look for so long stands still, and counts as one for so long. */
#define TH_POLL_STILL_NS 30000
#define TH_POLL_STILL_MEMORY_NS 10000000
#define TH_POLL_LOOK_NS 20000 /* between two looks of a thread that runs */

#endif
