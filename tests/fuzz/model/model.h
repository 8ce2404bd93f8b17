/*
 * model.h: what each call of a program must do, one at a time, written without the library: plain
 * numbers, and which actor waits since when. Where the library's headers leave open which of
 * several comes first, the model is told what was seen, demands that it is one of those, and
 * follows it.
 */
#ifndef MODEL_H
#define MODEL_H

#include "fuzz/fuzz.h"

typedef enum wait_kind {
    W_NONE,
    W_MUTEX,
    W_READ,
    W_WRITE,
    W_COND,
    W_SEM,
    W_GROUP,
    W_EVENT,
    W_ANY,
    W_ONCE,
    W_BARRIER,
    W_TICKET,
    W_POOL,
    W_SEND,
    W_RECV,
    W_SELECT,
    W_SLEEP,
    W_JOIN,
    W_SCOPE,
    W_BLOCKING,
    W_STOP
} wait_kind;

typedef struct m_scope {
    thrum_time deadline; /* the earliest of its own and those around it */
    bool timed;          /* that deadline is its own */
    bool cancelled, visited;
    int reason;
    int living;
} m_scope;

typedef enum m_state { A_FREE, A_READY, A_BLOCKED, A_ENDED } m_state;

typedef struct m_actor {
    m_state state;
    bool cancelled;
    int shields;
    bool has_handle, joined; /* a handle exists; an actor waits in a join of it */
    int ended_with;
    int owner, level; /* the scope that it is a child in; owner -1: none */
    m_scope scopes[DEPTH];
    int depth;

    wait_kind wait;
    int object;
    int n;      /* items, units; masks of a select or wait-any */
    bool part;  /* the wait is within thrum_with_deadline */
    int why;    /* why that call was cancelled, though the wait may have what it waits for */
    int code;   /* what a wait for a mutex ends with */
    long since; /* earlier waits are served first, equal ones in any order */
    thrum_time deadline;
    long sends;

    bool done; /* the call ended in this step, with `result` and `value` */
    int result;
    long value;

    int mutexes, writes; /* masks */
    int reads[LOCKS];
    int items;
    int onces[ONCES], nested;
    long keys[KEYS];
} m_actor;

typedef struct m_chan {
    bool closed;
    int count;
    long elems[STEPS_MAX + 1];
} m_chan;

typedef struct m_ticket {
    bool taken, on_call;
    long since;
} m_ticket;

typedef struct m_task {
    bool posted, woken, signaled;
    thrum_time deadline;
    int runs;
    int last; /* flags of the last run: 1 expired, 2 cancelled, 4 signaled */
} m_task;

/* What the library was seen to do in this step. */
typedef struct seen {
    bool done[ACTORS];
    int result[ACTORS];
    long value[ACTORS];
} seen;

typedef struct model {
    thrum_time now;
    long seq;
    bool stopping;   /* what threads start is refused */
    bool cancelling; /* a stop's deadline has passed: every fiber's waits are cancelled */
    m_actor actors[ACTORS];
    int mutex_owner[MUTEXES];
    int readers[LOCKS], writer[LOCKS];
    bool round[LOCKS]; /* a writer has let readers in past another */
    thrum_time round_at[LOCKS];
    int joined[LOCKS];
    int sems[SEMS];
    int groups[GROUPS];
    bool events[EVENTS];
    enum { ONCE_NEW, ONCE_RUNNING, ONCE_DONE } onces[ONCES];
    int once_owner[ONCES];
    m_ticket tickets[TICKETS];
    int tickets_called; /* on-call functions that ran */
    int pool_free;
    m_chan chans[CHANS];
    m_task tasks[TASKS];
    int relocking; /* mask of actors that want their cond's mutex back in this step */
    int destructs; /* values under keys that were destructed */
    const seen *seen;
    const char *odd; /* what was seen that is not allowed; NULL: nothing */
} model;

void model_init(model *m, thrum_time now);

/* Makes a call of the step as it can be done now; false: it cannot be done. */
bool model_call(model *m, const step *s, call *c);

/* Does the call. Each actor's `done` and what it ended with then say what should have been seen. */
void model_do(model *m, const call *c, const seen *saw);

/* The scheduler and all fibers have ended: actors that wait for that go on. */
void model_stopped(model *m);
/* The actor in thrum_sched_stop; -1: none. */
int model_stopper(const model *m);

/* The next instant at which something ends; THRUM_FOREVER: none. */
thrum_time model_next(const model *m);

/* ---- between the model's files ---- */

bool m_holds_any(const m_actor *a);
void m_finish(model *m, int who, int result, long value);
/* Begins a wait, unless its deadline has passed or it is cancelled: then the call has finished. */
bool m_block(model *m, int who, wait_kind wait, int object, thrum_time deadline);
/* The actor that waits so longest; -1: none. */
int m_first(const model *m, wait_kind wait, int object);
bool m_is_cancelled(const model *m, int who);
void m_cancel_actor(model *m, int who);
void m_cancel_scope(model *m, m_scope *scope, int owner, int level, int why);

void m_mutex_take(model *m, int who, int object, int code, thrum_time deadline);
void m_mutex_give(model *m, int object);
void m_relock(model *m);
void m_rw_left(model *m, int object);
void m_pool_serve(model *m);
void m_sems_serve(model *m);

bool m_locks_allow(const model *m, call *c);
void m_locks_do(model *m, const call *c);
bool m_counts_allow(const model *m, call *c);
void m_counts_do(model *m, const call *c);
bool m_chans_allow(const model *m, call *c);
void m_chans_do(model *m, const call *c);
bool m_tasks_allow(const model *m, call *c);
void m_tasks_do(model *m, const call *c);
void m_task_due(model *m, int k, int flags);
/* The earliest deadline of the scopes that are around what the actor opens. */
thrum_time m_inherited(const model *m, const m_actor *a);
void m_tickets_cancelled(model *m);

#endif
