/*
 * engine.h: polls MPI for all waiters. src/mpi/README.md has the overview.
 *
 * Words:
 *   record   one wait: its conditions, and the fiber to wake. It is on the waiter's stack
 *   row      a request of a record in the table, which MPI_Testsome polls
 *   looked   a record that has no rows: its own `look` is called at each sweep
 *   sweep    one poll of MPI
 *
 * A record is new, then incoming, then in the table or the list of looked ones, then over. `gate`
 * protects the state shared by waiters and sweeps, for moments; `sweeping` is held through a sweep,
 * so its holder finds each record either over and signaled, or not begun to be. The order is
 * sweeping, gate; MPI's own (calls.c) comes behind sweeping, and before none.
 */
#ifndef TH_MPI_ENGINE_H
#define TH_MPI_ENGINE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <thrum.h>
#include <thrum/mpi.h>
#include <thrum/poll.h>

#define TH_MPI_WHAT 96 /* bytes of the description of a wait in dumps */

typedef struct th_mpi_record th_mpi_record;

struct th_mpi_record {
    /* The object of the wait; constant, except MPI's writes. */
    int (*look)(void *record); /* calls MPI; whether it is over, with `code` set */
    void (*name)(th_mpi_record *record);
    int n; /* requests */
    MPI_Request *requests;
    MPI_Status *statuses; /* MPI_STATUS_IGNORE, MPI_STATUSES_IGNORE */
    int *index;           /* of any; of some: their number */
    int *indices;
    MPI_Message *message;
    bool has_rows;   /* it waits for each of its requests, which MPI_Testsome is asked about */
    bool is_alone;   /* wait, not waitall: the request's own code is returned */
    bool is_message; /* begun here: its peer and its tag are known, for traces; negative: any */
    int peer;
    int tag;

    /* For the look. */
    bool is_begun; /* the operation that it begins */
    bool is_last;  /* it is queued behind this one */
    int code;

    /* For the engine. */
    th_mpi_record *next;          /* incoming: gate; looked: sweeping; finished ones: the sweep's */
    th_mpi_record *newer, *older; /* gate: its neighbours among all that wait */
    int left;                     /* rows that are not over; sweeping */
    bool is_over;                 /* gate, set by a sweep */
    bool is_taken;                /* sweeping: it is not incoming any longer */
    thrum_event over;             /* auto */
    char what[TH_MPI_WHAT];
};

/* A request in the table. */
typedef struct th_mpi_row {
    th_mpi_record *owner;
    int place; /* among its requests */
} th_mpi_row;

/* The rows, in parallel arrays as MPI takes them. */
typedef struct th_mpi_table {
    int capacity;
    int n;
    MPI_Request *requests;
    MPI_Status *statuses; /* these two: MPI_Testsome's results */
    int *indices;
    th_mpi_row *rows;
} th_mpi_table;

/* A call for MPI's thread (calls.c). */
typedef struct th_mpi_called {
    int (*fn)(void *arg);
    void *arg;
    int code;
    thrum_event over;
    struct th_mpi_called *next;
} th_mpi_called;

typedef struct th_mpi_engine {
    bool is_on; /* written while nobody else calls */
    bool is_finalized;
    bool is_stopping;
    bool is_forked;   /* in the child of a fork: nothing here goes on in it */
    unsigned workers; /* constant, as the next */
    int level;        /* MPI_THREAD_... */
    int keyval;
    thrum_source *source;

    thrum_mutex gate;
    th_mpi_record *incoming; /* gate: records for the next sweep */
    th_mpi_record **incoming_last;
    th_mpi_record *waiting;    /* gate: the newest of all that wait */
    th_mpi_table *larger;      /* gate: the table that the next sweep goes on with, or NULL */
    size_t reserved;           /* gate: rows of all records that are under way */
    size_t capacity;           /* gate: of the largest table */
    thrum_mpi_metrics metrics; /* gate */
    uint64_t moves;            /* gate: begins and ends so far; and the next two */
    uint64_t moves_seen;
    thrum_time moved;     /* when a sweep saw that there were new ones */
    thrum_event moving;   /* auto: there are */
    unsigned short_waits; /* gate: over after a few looks, but not the first, since last seen */

    thrum_mutex sweeping;
    th_mpi_table *table;   /* sweeping */
    th_mpi_record *looked; /* sweeping */
    th_mpi_record *fresh;  /* of the sweep: those whose requests are not in the table yet */
    thrum_time patience;   /* of the task that asks: so long it does not sleep */
    bool is_timed;         /* of the sweep: whether the next is known */
    thrum_time took;       /* of the sweep: processor time that MPI's calls have taken */
    unsigned sweeps;       /* of the task that asks, and the next five: so far */
    thrum_time least[2];   /* the time of the fastest of the last sweeps, and of those before */
    thrum_time more;       /* the extra time of the last one */
    thrum_time stirred;    /* when a sweep last moved bytes, judged by its time */
    thrum_time doubt;      /* for how long less is made of that, since nothing had followed; */
    thrum_time doubted;    /* and until when */
    bool has_failed;       /* of the sweep: records with rows in the table are over */
    th_mpi_record *over;   /* for the sweep: records that it has found to be over */

    /* calls.c */
    thrum_mutex calling; /* held in each call, at SERIALIZED */
    thrum_mutex queueing;
    th_mpi_called *calls; /* queueing; and the next three */
    th_mpi_called **calls_last;
    uint64_t calls_made;
    bool ends;
    thrum_key serving;  /* the value of the task that makes calls; constant */
    thrum_event called; /* auto */
    thrum_event ended;  /* auto */
} th_mpi_engine;

extern th_mpi_engine th_mpi;

/* 0, or why nothing can be called: -ESHUTDOWN, -ESRCH. */
int th_mpi_ready(void);

/* Calls fn(arg) in the way of the level. It is not cancelled. */
int th_mpi_do(int (*fn)(void *arg), void *arg);

/* The thread's errno. */
int th_mpi_errno(void);
void th_mpi_set_errno(int value);

/* At FUNNELED: has calls made on the caller's thread, until the end of that. */
int th_mpi_calls_begin(void);
void th_mpi_calls_end(void);

/* Whether the caller is a call that MPI's thread makes for another. */
bool th_mpi_is_serving(void);

/* Aborts the process: the function would wait for itself. */
_Noreturn void th_mpi_refuse(const char *does);

/*
 * MPI's code for several requests; one of the class MPI_ERR_IN_STATUS as that itself, since MPICH
 * has codes of its own for it. Called where MPI may be.
 */
int th_mpi_code(int code);

/* How often a wait looks before it is queued. */
unsigned th_mpi_looks(void);

/* Waits for the record's condition: its code, or -ETIMEDOUT, ..., -ENOMEM with it given up. */
int th_mpi_await(th_mpi_record *record, thrum_time deadline);

/* The same for a record that has to end: not cancelled, and regardless of any lack. */
int th_mpi_await_end(th_mpi_record *record);

/* The source's function: asks as often as is of use. */
void th_mpi_ask(void *arg);

/* Asks once, and returns how many waits are over; of these the source's ends are to be counted. */
unsigned th_mpi_sweep(void);

/* Adds a record to those that sweeps check: 0, -ENOMEM, or the source's code. */
int th_mpi_enter(th_mpi_record *record);

/* Takes it out again. False: it is over. */
bool th_mpi_leave(th_mpi_record *record);

/*
 * The description of one waiter, and the number of waiters: for the message of an MPI_Finalize,
 * which may come in a call that a sweep waits for. So it takes the gate only.
 */
uint64_t th_mpi_waiting(char what[TH_MPI_WHAT]);

void th_mpi_table_free(th_mpi_table *table);

#endif
