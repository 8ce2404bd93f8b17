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
    atomic_int ticket_waits[TICKETS]; /* who waits for it, or has been let go just now */
    atomic_int tickets_called, destructs, constructs, unmade;
    thrum_dag *dag;
    atomic_int nodes_run;
    thrum_dag *waits;    /* its second node waits for units of a semaphore, as the run is told */
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
    atomic_int called[4]; /* how often each node was */
} waiting;

/* Waits for so many units, in the form without a deadline or with it. */
int act_sem_wait(const waiting *w, bool plain);

struct actor {
    objects *o;
    int index;
    thrum_sem turn; /* a thread's: gate.h */
    call call;
    atomic_bool done; /* the call has ended, with: */
    result result;
    atomic_bool in_blocking; /* its blocking call has begun */
    thrum_handle *handle;
    thrum_scope scopes[DEPTH];
    int depth;
    void *items[POOL_SIZE];
    int items_count;
};

void objects_make(objects *o, thrum_sched *sched, actor *actors);
/* A new channel in the place of one that was destroyed. */
void objects_chan(objects *o, int i);
/* What is wrong with them at the end, or NULL; then they are gone. */
const char *objects_unmake(objects *o);

/* The actor's body: does calls when it is its turn, until its end. */
int actor_main(void *arg);

/* The same of a plain thread, which never ends. */
void actor_thread(actor *a);

/* A fresh actor. */
void actor_reset(actor *a, objects *o, int index);

#endif
