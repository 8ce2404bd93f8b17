/*
 * free.h: what a program that runs freely works on, and what each runner of it keeps.
 */
#ifndef FREE_H
#define FREE_H

#include <stdatomic.h>

#include "fuzz/fuzz.h"
#include "wire.h"

enum {
    RUNNERS_MAX = 512,
    CHILDREN_MAX = 8,
    ROOTS = 6,
    ROOT_THREADS = 2,
    WAIT_NODES = 4,
    SERIALS = 2,
    WIRES = 3,
    WIRES_WORTH = 4 /* a program with fewer such steps has no wires */
};

typedef struct element {
    int sender, seq;
    uint64_t check; /* a check of the two */
} element;

typedef struct traffic {
    atomic_long sent, received;
    _Atomic(uint64_t) sent_sum, received_sum;
} traffic;

/* A serial task that all runners post. */
typedef struct serial {
    thrum_task task;
    atomic_int inside;  /* runs that go on */
    long runs;          /* protected by there being one run at a time */
    atomic_long posted; /* posts that were accepted, which is the number of runs */
} serial;

typedef struct world {
    thrum_sched *sched;
    atomic_int ids;
    atomic_bool wrong;
    char what[300];

    thrum_mutex mutexes[MUTEXES];
    thrum_cond conds[MUTEXES];
    int mutex_user[MUTEXES]; /* protected by the lock */
    thrum_rwlock locks[LOCKS];
    int lock_data[LOCKS]; /* protected by the lock */
    thrum_sem sems[SEMS];
    atomic_long posts[SEMS], takes[SEMS];
    thrum_waitgroup groups[GROUPS];
    thrum_event events[EVENTS];
    atomic_long signals[EVENTS], passes[EVENTS];
    thrum_once onces[ONCES];
    int once_done[ONCES]; /* written by the once's function */
    thrum_barrier barrier;
    atomic_long passed, lasts;
    thrum_tickets tickets;
    int turn; /* written in a ticket's turn */
    atomic_long on_call, called;
    thrum_pool *pool;
    thrum_chan *chans[CHANS];
    traffic traffic[CHANS];
    thrum_dag *dag;
    atomic_int nodes;
    thrum_dag *waits; /* one node waits for units of a semaphore */
    serial serials[SERIALS];
    thrum_key key;
    wire *wires[WIRES]; /* NULL: the program uses none */

    thrum_handle *roots[ROOTS]; /* NULL: a plain thread */
    thrum_waitgroup begin, alive;
    thrum_sem kept;       /* keeps the scheduler until it is posted */
    atomic_bool stopping; /* the scheduler is being stopped: external threads are refused */
    atomic_long calls;
} world;

typedef struct runner runner;

struct runner {
    world *w;
    int id; /* from 1 */
    bool thread;
    int depth;
    const step *steps;
    int count, at;

    int mutexes, writes, reads[LOCKS];
    int read_data[LOCKS];
    void *items[POOL_SIZE];
    int items_count;
    int owed[GROUPS];
    int shields;
    int seq;
    int last[CHANS][RUNNERS_MAX]; /* the last number received from each sender */
    void *value;
    thrum_scope scope;
    bool scope_open;
    runner *children[CHILDREN_MAX]; /* those with a handle */
    thrum_handle *handles[CHILDREN_MAX];
    int children_count;
    thrum_task task;
    atomic_bool posted;

    thrum_task on_task; /* waits for the end of a wire */
    atomic_bool on_posted;
    wire *on_wire;
    int on_end;
    unsigned on_bits;
};

/* The first thing that is wrong in a run. */
void free_wrong(world *w, int line, const char *what, int value);

#define EXPECT(r, cond, value)                                                                     \
    do {                                                                                           \
        if (!(cond))                                                                               \
            free_wrong((r)->w, __LINE__, #cond, (int)(value));                                     \
    } while (0)

/* Checks a wait's result: 0, `also`, -ETIMEDOUT past the deadline, or -ECANCELED of a cancelled
 * task. Returns whether it is 0. */
bool free_ok(runner *r, int result, thrum_time deadline, int also);

/* Whether it is what a plain thread's start returns while the scheduler is stopped. */
bool free_refused(const runner *r, int result);

/* Does a step, as far as it makes sense; free_leave gives everything back. */
void free_step(runner *r, const step *s);
void free_leave(runner *r);
/* The deadline of a step: for ever only where something ends the wait. */
thrum_time free_deadline(const runner *r, const step *s, bool locks);
void free_drop_locks(runner *r);

/* The whole life of a fiber or thread. */
int free_life(void *arg);
runner *free_runner(world *w, const step *steps, int count, int depth);

void free_step_locks(runner *r, const step *s);
void free_step_counts(runner *r, const step *s);
void free_step_sem(runner *r, const step *s);
void free_step_chans(runner *r, const step *s);
void free_step_io(runner *r, const step *s);
void free_step_tasks(runner *r, const step *s);

/* Has the runner's task that waits for a wire end. */
void free_end_on(runner *r);
void free_wires_make(world *w);
/* Checks that nothing is lost on wires that are whole, and closes them all. */
void free_wires_end(world *w);

thrum_dag *free_wait_graph(void);

/* Makes the serial tasks; free_serials_end cancels those that wait, after the last post. */
void free_serials_make(world *w);
void free_serials_end(world *w);

#endif
