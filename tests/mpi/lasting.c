/*
 * lasting.c: what a wait costs that lasts, and how a message comes that is long under way after it.
 */
/* wrap: thrum_event_wait_outside */
#include "support/ranks.h"

#include <time.h>

#define LASTS THRUM_S(5)

/*
 * While it is quiet for 16 ms to 512 ms each pause is a sixteenth of that, which makes 57 of them;
 * then they last for 32 ms. Where the end of one wakes several threads they are twice as long, so
 * 29 and 64 ms. The rest is for those before, and after what MPI does by itself.
 */
#define PAUSES_MOST (57 + LASTS / THRUM_MS(32) + 100)
#define PAUSES_MOST_OF_SEVERAL (29 + LASTS / THRUM_MS(64) + 50)

static ranks w;
static atomic_int pauses; /* of the task that asks */
static atomic_int pieces; /* of a message: so many calls of MPI_Testsome move some bytes of it */

int __real_thrum_event_wait_outside(thrum_event *event, const char *what, thrum_time deadline);
int __wrap_thrum_event_wait_outside(thrum_event *event, const char *what, thrum_time deadline);

int __wrap_thrum_event_wait_outside(thrum_event *event, const char *what, thrum_time deadline) {
    if (strcmp(what, "MPI") == 0)
        atomic_fetch_add(&pauses, 1);
    return __real_thrum_event_wait_outside(event, what, deadline);
}

/* The processor time so far, of this process or thread. */
static int64_t spent(clockid_t clock) {
    struct timespec now;
    CHECK_EQ(clock_gettime(clock, &now), 0);
    return (int64_t)now.tv_sec * THRUM_S(1) + now.tv_nsec;
}

/* Taken over, as MPI lets profilers do. */
int MPI_Testsome(int n, MPI_Request requests[], int *count, int indices[], MPI_Status statuses[]) {
    if (atomic_load(&pieces) > 0) {
        const int64_t until = spent(CLOCK_THREAD_CPUTIME_ID) + THRUM_US(300);
        while (spent(CLOCK_THREAD_CPUTIME_ID) < until) {
        }
        atomic_fetch_sub(&pieces, 1);
    }
    return PMPI_Testsome(n, requests, count, indices, statuses);
}

/* ---- what it costs ---- */

static int lasting(void *most) {
    int value;
    const thrum_time begin = thrum_now();
    const int64_t before = spent(CLOCK_PROCESS_CPUTIME_ID);
    atomic_store(&pauses, 0);
    CHECK_EQ(thrum_mpi_recv_until(&value, 1, MPI_INT, MPI_ANY_SOURCE, 60, MPI_COMM_WORLD,
                                  MPI_STATUS_IGNORE, begin + LASTS),
             -ETIMEDOUT);
    const int64_t took = spent(CLOCK_PROCESS_CPUTIME_ID) - before;
    const double share = (double)took / (double)(thrum_now() - begin);
    printf("%d pauses, %.2f %% of a processor\n", atomic_load(&pauses), share * 100);
    CHECK(atomic_load(&pauses) > 20);
    CHECK(atomic_load(&pauses) < (intptr_t)most);
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
    /*
     * What costs is that threads are woken at the ends of pauses: so those are counted, and what it
     * comes to here, by all threads of a rank together, is printed.
     */
    run_lasting(1, PAUSES_MOST);
}

TEST(a_wait_that_lasts_costs_little_beside_more_workers) {
    /* Each end of a pause wakes a second one. */
    run_lasting(2, PAUSES_MOST_OF_SEVERAL);
}

/* ---- what comes then ---- */

static int waits(void *arg) {
    return thrum_mpi_wait(arg, MPI_STATUS_IGNORE);
}

static int long_message(void *arg) {
    enum { PIECES = 60 };
    MPI_Request receiving, sending;
    thrum_handle *task;
    int in = -1, out = 4, code = -1;
    (void)arg;
    irecv(&in, w.rank, 61, &receiving);
    atomic_store(&pauses, 0);
    CHECK_EQ(thrum_spawn(&task, waits, &receiving), 0);
    while (atomic_load(&pauses) < 30) /* it is quiet */
        CHECK_EQ(thrum_sleep(THRUM_MS(1)), 0);
    const int before = atomic_load(&pauses);
    atomic_store(&pieces, PIECES);
    while (atomic_load(&pieces) > 0)
        CHECK_EQ(thrum_sleep(THRUM_MS(1)), 0);
    CHECK(atomic_load(&pauses) - before < PIECES / 2);
    isend(&out, w.rank, 61, &sending);
    CHECK_EQ(thrum_mpi_wait(&sending, MPI_STATUS_IGNORE), 0);
    CHECK_EQ(thrum_join(task, &code), 0);
    CHECK(code == 0 && in == 4);
    return 0;
}

TEST(a_message_of_many_pieces_waits_for_few_pauses) {
    /* MPI says nothing of the pieces; that a call took long is all that is seen of them. */
    ranks_begin(&w);
    CHECK_EQ(rig_run(&w.r, long_message, NULL), 0);
    ranks_end(&w);
}
