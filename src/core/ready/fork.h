/*
 * fork.h: calls that a task has put off until it asks for their results, and that others may make
 * meanwhile: how they are offered, given, taken back, stolen. What they are: fork_state.h.
 */
#ifndef TH_FORK_H
#define TH_FORK_H

#include "core/state/fork_state.h"

typedef struct th_worker th_worker;

/* ---- the owner: in its task's context ---- */

/* `shared`: there are other workers, who may come for what is offered. */
void th_forks_init(th_forks *forks, bool shared);

/* Whether somebody would take what is forked now. */
bool th_forks_hungry(void);

/* The slow halves of th_fork_push and th_fork_pop (parallel/forking.h). */
void th_fork_push_slow(th_worker *worker, th_fork *fork);
bool th_fork_pop_slow(th_fork *fork, th_worker *worker); /* in whose array it stood, or NULL */
void th_forks_expose(th_worker *worker);

/* Before the fiber suspends: whoever waits for something may be waiting for its own forks. */
void th_forks_give_all(th_worker *worker);
/* False: there are none. True: there are, or the owner has not seen yet that a rescuer had them. */
static inline bool th_forks_any(const th_forks *forks) {
    /* relaxed: only the owner writes these */
    return th_load_relaxed(&forks->xtail) != th_load_relaxed(&forks->head_seen) ||
           th_load_relaxed(&forks->offered);
}

/* For the child of a fork: forks that were started before it are the parent's. */
void th_forks_orphaned(th_forks *forks);

/* The task has ended: stops the program if there is a fork that was not joined. */
void th_forks_end(th_worker *worker);

/* ---- others ---- */

/*
 * A thief: what another worker offers, or NULL. Worker's context. The rescuer takes private ones,
 * too, of an owner that does not come round to offering them: the older half of them.
 */
th_work *th_forks_steal(th_worker *worker);
th_work *th_forks_rescue(th_worker *worker);

/* Whether any other worker offers something, or has a private one too: guesses. */
bool th_forks_seen(const th_worker *worker);
bool th_forks_left(const th_worker *worker);

#endif
