/*
 * act.h: the objects that a stepped program uses, and how a call is made on them.
 */
#ifndef ACT_H
#define ACT_H

#include <stdatomic.h>

#include "fuzz.h"

typedef struct actor actor;

typedef struct objects {
    thrum_mutex mutexes[MUTEXES];
    thrum_cond conds[MUTEXES];
    thrum_rwlock locks[LOCKS];
    thrum_sem sems[SEMS];
    thrum_waitgroup groups[GROUPS];
    thrum_event events[EVENTS];
    thrum_once onces[ONCES];
    thrum_barrier barrier;
    thrum_tickets tickets;
    thrum_ticket ticket[TICKETS];
    thrum_pool *pool;
    thrum_chan *chans[CHANS];
    thrum_key keys[KEYS];
    thrum_task tasks[TASKS];
    thrum_sched *sched;
    atomic_int task_runs[TASKS], task_last[TASKS];
    atomic_int ticket_waits[TICKETS]; /* actors that wait for it, or have just been let go */
    atomic_int tickets_called, destructs, constructs, unmade;
    thrum_dag *dag;
    atomic_int nodes_run;
    thrum_dag *waits;    /* its second node waits for units of a semaphore that the run names */
    atomic_int released; /* mask: actors whose blocking call may end */
    actor *actors;
} objects;

/* What one call came to. */
typedef struct result {
    int code;
    long value;
} result;

/* A run of the graph `waits`. */
typedef struct waiting {
    thrum_sem *sem;
    const call *call;
    atomic_int called[4]; /* how often each node was called */
} waiting;

/* Waits for the call's units, without a deadline (`plain`) or with it. */
int act_sem_wait(const waiting *w, bool plain);

struct actor {
    objects *o;
    int index;
    thrum_sem turn; /* a fiber's; a thread has gate_turn */
    call call;
    atomic_bool done; /* the call has ended, with `result` */
    result result;
    atomic_bool in_blocking; /* its blocking call has begun */
    thrum_handle *handle;
    thrum_scope scopes[DEPTH];
    int depth;
    void *items[POOL_SIZE];
    int items_count;
};

void objects_make(objects *o, thrum_sched *sched, actor *actors);
/* Makes a new channel in the place of one that was destroyed. */
void objects_chan(objects *o, int i);
/* Destroys them; returns what is wrong with them, or NULL. */
const char *objects_unmake(objects *o);

/* The actor's body: does a call at each turn, until its end. */
int actor_main(void *arg);

/* The body of a plain thread's actor, which has no end of its own. */
void actor_thread(actor *a);

/* Makes a fresh actor. */
void actor_reset(actor *a, objects *o, int index);

#endif
