/*
 * lasting.c: how often a wait that lasts is asked for, and how a message comes that is long under
 * way after it. The time is the test's: a pause of the task that asks is over at once, and sets the
 * clock forward by its length.
 */
/* wrap: thrum_event_wait_outside thrum_now clock_gettime */
#include "support/ranks.h"

#include <time.h>

#define LASTS THRUM_S(5)    /* all pauses together */
#define LOOK THRUM_US(20)   /* what a look at the clock takes */
#define PIECE THRUM_US(300) /* what MPI takes to move some bytes of a message */

/*
 * While it is quiet for 16 ms to 512 ms each pause is a sixteenth of that, which makes 57 of them;
 * then they last for 32 ms. Where the end of one wakes several threads they are twice as long, so
 * 29 and 64 ms.
 */
#define PAUSES_MOST (57 + LASTS / THRUM_MS(32))
#define PAUSES_MOST_OF_SEVERAL (29 + LASTS / THRUM_MS(64))
#define PAUSES_LEAST (LASTS / THRUM_MS(64))

static ranks w;
static _Atomic int64_t shown;  /* the time, or 0: the system's */
static _Atomic int64_t worked; /* the processor time of each thread */
static _Atomic int64_t paused; /* the length of all pauses */
static atomic_int pauses;      /* of the task that asks */
static atomic_int lasted;      /* how many of them there were when LASTS was over; 0: it is not */
static atomic_int pieces; /* of a message: so many calls of MPI_Testsome move some bytes of it */
static atomic_int late;   /* how many pauses there were meanwhile */

thrum_time __real_thrum_now(void);
thrum_time __wrap_thrum_now(void);
int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __real_thrum_event_wait_outside(thrum_event *event, const char *what, thrum_time deadline);
int __wrap_thrum_event_wait_outside(thrum_event *event, const char *what, thrum_time deadline);

thrum_time __wrap_thrum_now(void) {
    return atomic_load(&shown) ? atomic_fetch_add(&shown, LOOK) : __real_thrum_now();
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *now) {
    if (!atomic_load(&shown) || clock != CLOCK_THREAD_CPUTIME_ID) {
        return __real_clock_gettime(clock, now);
    }
    const int64_t at = atomic_load(&worked);
    *now = (struct timespec){.tv_sec = at / THRUM_S(1), .tv_nsec = at % THRUM_S(1)};
    return 0;
}

static int pause_at_once(thrum_event *event, const char *what, int64_t length) {
    thrum_yield();
    const int code = __real_thrum_event_wait_outside(event, what, 0);
    if (code != -ETIMEDOUT) {
        return code;
    }
    atomic_fetch_add(&shown, length);
    const int n = atomic_fetch_add(&pauses, 1) + 1;
    const int64_t all = atomic_fetch_add(&paused, length) + length;
    if (all >= LASTS && all - length < LASTS) {
        atomic_store(&lasted, n);
    }
    if (atomic_load(&pieces) > 0) {
        atomic_fetch_add(&late, 1);
    }
    return code;
}

int __wrap_thrum_event_wait_outside(thrum_event *event, const char *what, thrum_time deadline) {
    const int64_t now = atomic_load(&shown);
    return now && strcmp(what, "MPI") == 0 ? pause_at_once(event, what, deadline - now)
                                           : __real_thrum_event_wait_outside(event, what, deadline);
}

/* Taken over, as MPI lets profilers do. */
int MPI_Testsome(int n, MPI_Request requests[], int *count, int indices[], MPI_Status statuses[]) {
    if (atomic_load(&pieces) > 0) {
        atomic_fetch_add(&worked, PIECE);
        atomic_fetch_add(&shown, PIECE);
        atomic_fetch_sub(&pieces, 1);
    }
    return PMPI_Testsome(n, requests, count, indices, statuses);
}

static int waits(void *arg) {
    return thrum_mpi_wait(arg, MPI_STATUS_IGNORE);
}

/* A receive that lasts, until so many pauses have been. */
typedef struct receive {
    MPI_Request request;
    thrum_handle *task;
    int in;
} receive;

static void receive_begin(receive *r) {
    atomic_store(&paused, 0);
    atomic_store(&pauses, 0);
    atomic_store(&lasted, 0);
    atomic_store(&late, 0);
    atomic_store(&shown, __real_thrum_now());
    r->in = -1;
    irecv(&r->in, w.rank, 61, &r->request);
    CHECK_EQ(thrum_spawn(&r->task, waits, &r->request), 0);
}

/* Its message comes. */
static void receive_end(receive *r) {
    MPI_Request sending;
    int out = 4, code = -1;
    isend(&out, w.rank, 61, &sending);
    CHECK_EQ(thrum_mpi_wait(&sending, MPI_STATUS_IGNORE), 0);
    CHECK_EQ(thrum_join(r->task, &code), 0);
    CHECK(code == 0 && r->in == 4);
    atomic_store(&shown, 0);
}

/* ---- what it costs ---- */

static int lasting(void *most) {
    receive r;
    receive_begin(&r);
    YIELD_UNTIL(atomic_load(&lasted));
    printf("%d pauses in %d s\n", atomic_load(&lasted), (int)(LASTS / THRUM_S(1)));
    CHECK(atomic_load(&lasted) >= PAUSES_LEAST);
    CHECK(atomic_load(&lasted) <= (intptr_t)most);
    receive_end(&r);
    return 0;
}

static void run_lasting(unsigned workers, int64_t most) {
    ranks_init(&w);
    rig_init(&w.r);
    w.r.config.stack_size = RANKS_STACK;
    w.r.config.workers = workers;
    ranks_start(&w);
    CHECK_EQ(rig_run(&w.r, lasting, (void *)(intptr_t)most), 0);
    ranks_end(&w);
}

TEST(a_wait_that_lasts_costs_little) {
    /* What costs is that threads are woken at the ends of pauses: so those are counted. */
    run_lasting(1, PAUSES_MOST);
}

TEST(a_wait_that_lasts_costs_little_beside_more_workers) {
    /* Each end of a pause wakes a second one. */
    run_lasting(2, PAUSES_MOST_OF_SEVERAL);
}

/* ---- what comes then ---- */

static int long_message(void *arg) {
    enum { PIECES = 60 };
    receive r;
    (void)arg;
    receive_begin(&r);
    YIELD_UNTIL(atomic_load(&pauses) >= 30); /* it is quiet */
    atomic_store(&pieces, PIECES);
    YIELD_UNTIL(atomic_load(&pieces) == 0);
    CHECK(atomic_load(&late) <= 1); /* the one that was just over */
    receive_end(&r);
    return 0;
}

TEST(a_message_of_many_pieces_waits_for_few_pauses) {
    /* MPI says nothing of the pieces; that a call took long is all that is seen of them. */
    ranks_begin(&w);
    CHECK_EQ(rig_run(&w.r, long_message, NULL), 0);
    ranks_end(&w);
}
