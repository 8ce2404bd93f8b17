/*
 * fork_slots.h: forks are calls that a task puts off until it needs their results, and that other
 * workers may make meanwhile. Here they are offered, given, taken back and stolen; fork_state.h
 * defines them.
 */
#ifndef TH_FORK_SLOTS_H
#define TH_FORK_SLOTS_H

#include "core/state/fork_state.h"

typedef struct th_worker th_worker;

/* ---- the owner: in its task's context ---- */

/* `shared`: there are other workers, which may take an offered fork. */
void th_forks_init(th_forks *forks, bool shared);

/* Whether a thief would take a fork that is made now: the slot is empty. */
bool th_forks_hungry(void);

/* The slow halves of th_fork_push and th_fork_pop (parallel/forking.h). For a pop, `worker` is the
 * one in whose array the fork stood, or NULL; true: the caller has the fork. */
void th_fork_push_slow(th_worker *worker, th_fork *fork);
bool th_fork_pop_slow(th_fork *fork, th_worker *worker, const char *call);
void th_forks_expose(th_worker *worker);

/* Gives all forks before the fiber suspends: its wait may depend on its own forks. */
void th_forks_give_all(th_worker *worker);
/* False: there are no forks. True: there are, or a rescuer has taken them, which the owner has not
 * seen yet. */
static inline bool th_forks_any(const th_forks *forks) {
    /* relaxed: only the owner writes these */
    return th_load_relaxed(&forks->xtail) != th_load_relaxed(&forks->head_seen) ||
           th_load_relaxed(&forks->offered);
}

/* For the child of fork(): forks that were started before it belong to the parent. */
void th_forks_orphaned(th_forks *forks);

/* The task has ended: stops the program if there is a fork that was not joined. */
void th_forks_end(th_worker *worker);

/* ---- other workers: in their own context ---- */

/*
 * Takes a fork that another worker offers, or NULL. A rescuer also takes private forks of an owner
 * that does not come round to offering them: the older half of them.
 */
th_work *th_forks_steal(th_worker *worker);
th_work *th_forks_rescue(th_worker *worker);

/* Whether any other worker offers a fork; whether any offers one or has private ones: guesses. */
bool th_forks_seen(const th_worker *worker);
bool th_forks_left(const th_worker *worker);
/* Whether this worker does: a guess. */
bool th_forks_left_at(const th_worker *victim);

#endif
