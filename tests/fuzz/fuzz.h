/*
 * fuzz.h: programs of random operations over all of the API, shared by the model, the stepped run
 * and the free run. README.md says how they fit together.
 *
 *   actor     a fiber, or a plain thread, that does one operation after the other
 *   hand      one more fiber, which does only what never suspends and is never cancelled
 *   step      four bytes: actor, operation, two arguments; what they mean depends on the state
 *   call      a step as it is done, legal and with its deadline
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <thrum.h>

enum {
    FIBERS = 6,
    HAND = FIBERS,
    THREADS = 2, /* plain ones; numbered from HAND + 1 */
    ACTORS = FIBERS + 1 + THREADS,
    STEPS_MAX = 2000,
    MUTEXES = 2,
    LOCKS = 2,
    SEMS = 2,
    GROUPS = 2,
    EVENTS = 3, /* the first is manual */
    ONCES = 2,
    BARRIER_SIZE = 3,
    TICKETS = 4,
    POOL_SIZE = 3,
    CHANS = 3, /* rendezvous, CHAN_BOUND, unbounded */
    CHAN_BOUND = 2,
    KEYS = 2,
    TASKS = 2,
    DEPTH = 2 /* scopes that an actor may have open */
};

/*
 * Name, and what may do it: 1 actors, 2 also the hand; 8 more: no plain thread. Those on
 * descriptors (io_) are only for runs all at once.
 */
#define FUZZ_OPS(X)                                                                                \
    X(mutex_lock, 1)                                                                               \
    X(mutex_try, 1)                                                                                \
    X(mutex_unlock, 1)                                                                             \
    X(rw_read, 1)                                                                                  \
    X(rw_write, 1)                                                                                 \
    X(rw_try_read, 1)                                                                              \
    X(rw_try_write, 1)                                                                             \
    X(rw_unlock, 1)                                                                                \
    X(cond_wait, 1)                                                                                \
    X(cond_signal, 2)                                                                              \
    X(cond_broadcast, 2)                                                                           \
    X(sem_wait, 1)                                                                                 \
    X(sem_try, 2)                                                                                  \
    X(sem_post, 2)                                                                                 \
    X(group_add, 2)                                                                                \
    X(group_done, 2)                                                                               \
    X(group_wait, 1)                                                                               \
    X(event_signal, 2)                                                                             \
    X(event_clear, 2)                                                                              \
    X(event_wait, 1)                                                                               \
    X(event_test, 2)                                                                               \
    X(event_any, 1)                                                                                \
    X(once_run, 1)                                                                                 \
    X(once_end, 1)                                                                                 \
    X(once_destroy, 2)                                                                             \
    X(barrier_wait, 1)                                                                             \
    X(ticket_take, 2)                                                                              \
    X(ticket_wait, 1)                                                                              \
    X(ticket_called, 2)                                                                            \
    X(ticket_done, 2)                                                                              \
    X(ticket_on_call, 2)                                                                           \
    X(pool_borrow, 1)                                                                              \
    X(pool_try, 1)                                                                                 \
    X(pool_give, 1)                                                                                \
    X(chan_send, 1)                                                                                \
    X(chan_recv, 1)                                                                                \
    X(chan_try_send, 2)                                                                            \
    X(chan_try_recv, 2)                                                                            \
    X(chan_close, 2)                                                                               \
    X(chan_len, 2)                                                                                 \
    X(chan_renew, 2)                                                                               \
    X(select, 1)                                                                                   \
    X(io_write, 1)                                                                                 \
    X(io_read, 1)                                                                                  \
    X(io_wait, 1)                                                                                  \
    X(io_on, 1)                                                                                    \
    X(io_shutdown, 1)                                                                              \
    X(io_close, 1)                                                                                 \
    X(io_renew, 1)                                                                                 \
    X(sleep, 1)                                                                                    \
    X(yield, 1)                                                                                    \
    X(spawn, 2)                                                                                    \
    X(join, 1)                                                                                     \
    X(detach, 2)                                                                                   \
    X(cancel, 2)                                                                                   \
    X(cancelled, 1)                                                                                \
    X(shield_begin, 1)                                                                             \
    X(shield_end, 1)                                                                               \
    X(end, 9)                                                                                      \
    X(scope_open, 1)                                                                               \
    X(scope_go, 9)                                                                                 \
    X(scope_cancel, 2)                                                                             \
    X(scope_join, 9)                                                                               \
    X(key_set, 1)                                                                                  \
    X(key_get, 1)                                                                                  \
    X(parallel, 1)                                                                                 \
    X(blocking, 9)                                                                                 \
    X(blocking_end, 2)                                                                             \
    X(task_post, 2)                                                                                \
    X(task_wake, 2)                                                                                \
    X(task_signal, 2)                                                                              \
    X(task_cancel, 2)                                                                              \
    X(advance, 2)                                                                                  \
    X(stop, 2)                                                                                     \
    X(restart, 2)

typedef enum op {
#define FUZZ_OP_ENUM(name, who) OP_##name,
    FUZZ_OPS(FUZZ_OP_ENUM)
#undef FUZZ_OP_ENUM
        OP_COUNT
} op;

typedef struct step {
    uint8_t who, op, a, b;
} step;

typedef struct program {
    int count;
    step steps[STEPS_MAX];
} program;

/* How a call waits for units of a semaphore; several runs of the one graph go on at a time. */
typedef enum form {
    FORM_DIRECT,
    FORM_GRAPH,   /* by a node of a graph that the caller runs */
    FORM_DEADLINE /* without a deadline, within thrum_with_deadline */
} form;

typedef struct call {
    int who;
    op op;
    int a; /* the object's number, or another actor's */
    int b; /* units of a semaphore */
    form form;
    bool plain; /* the form without a deadline */
    thrum_time deadline;
    long value; /* what is sent or set: differs for each call */
} call;

/* A result that is none of the library's: the function of a once has begun. */
#define ENTERED 1000

/* ---- program.c ---- */

extern const char *const fuzz_op_names[OP_COUNT];
extern const int fuzz_op_who[OP_COUNT];

static inline bool fuzz_is_thread(int who) {
    return who > HAND;
}

/* A source of numbers for one program; the same seed gives the same ones. */
uint64_t fuzz_random(uint64_t *state);

void program_from_seed(program *p, uint64_t seed, int steps);
void program_from_bytes(program *p, const uint8_t *bytes, size_t size);

/* Prints a line a step: actor, operation, a, b. */
void program_print(const program *p, void *file);
/* Reads a program as it is printed, or libFuzzer's bytes. False: there is no such file. */
bool program_read(program *p, const char *path);

/* ---- the two runs: NULL, or what was wrong, with the number of the step where it was seen ---- */

typedef struct outcome {
    int at;         /* -1: at the end */
    long calls;     /* steps that were done */
    char what[400]; /* "": nothing was wrong */
} outcome;

/* Does one step at a time, and compares each with the model. stepped_begin, with the number of
 * workers (0 or 1), is called once before, stepped_end once at the end. */
void stepped_begin(unsigned workers, bool lifo);
void stepped_run(const program *p, outcome *out, bool trace);
void stepped_end(outcome *out);

/* Does all at once, with so many workers. */
void free_begin(unsigned workers, int policy);
void free_run(const program *p, outcome *out);
void free_end(outcome *out);

#endif
