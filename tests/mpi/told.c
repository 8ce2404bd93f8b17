/*
 * told.c: what waits make of an MPI that tells. No MPI of Debian's tells a wait that a rank is
 * dead (bad.c), so these calls are taken over, as MPI lets profilers do: they go on to PMPI_...,
 * but for a request that is marked, and for beginnings while those are refused.
 */
#include "support/ranks.h"

#define DEAD MPI_ERR_OTHER /* what is told: an MPI may have a code of its own */

static ranks w;
static MPI_Request marked;
static atomic_bool tells;       /* marked has failed */
static atomic_bool refuses_all; /* MPI_Testsome says so at once, of no request */
static atomic_bool begins_fail; /* sends, probes and collectives are refused */
enum { NOTHING, A_LEVEL, A_THREAD, A_KEYVAL, AN_ATTRIBUTE, A_SPLIT, A_SUM };
static atomic_int refuses;       /* what of a start, or of the workers beside ranks */
static atomic_int marked_failed; /* how often it was told */

static bool is_dead(MPI_Request request) {
    return atomic_load(&tells) && request != MPI_REQUEST_NULL && request == marked;
}

/* The request is gone with its failure. */
static int fail(MPI_Request *request) {
    atomic_fetch_add(&marked_failed, 1);
    CHECK_EQ(PMPI_Cancel(request), MPI_SUCCESS);
    CHECK_EQ(PMPI_Wait(request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    return DEAD;
}

/*
 * The compiler may remember errno's address across a wait: every access goes through a call. Tasks
 * share a thread's in turn, which ThreadSanitizer takes for a race.
 */
static NO_TSAN __attribute__((noinline)) void set_errno(int value) {
    __asm__ volatile("" ::: "memory");
    errno = value;
}

static NO_TSAN __attribute__((noinline)) int get_errno(void) {
    __asm__ volatile("" ::: "memory");
    return errno;
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status) {
    set_errno(EBADF); /* a call of MPI's may */
    if (is_dead(*request)) {
        *flag = 1;
        return fail(request);
    }
    return PMPI_Test(request, flag, status);
}

int MPI_Testsome(int n, MPI_Request requests[], int *count, int indices[], MPI_Status statuses[]) {
    for (int i = 0; i < n; i++) {
        if (is_dead(requests[i])) {
            if (atomic_load(&refuses_all)) {
                return DEAD;
            }
            *count = 1;
            indices[0] = i;
            fail(&requests[i]);
            if (statuses != MPI_STATUSES_IGNORE) {
                statuses[0].MPI_ERROR = DEAD;
            }
            return MPI_ERR_IN_STATUS;
        }
    }
    return PMPI_Testsome(n, requests, count, indices, statuses);
}

int MPI_Testany(int n, MPI_Request requests[], int *index, int *flag, MPI_Status *status) {
    for (int i = 0; i < n; i++) {
        if (is_dead(requests[i])) {
            *index = i;
            *flag = 1;
            return fail(&requests[i]);
        }
    }
    return PMPI_Testany(n, requests, index, flag, status);
}

int MPI_Testall(int n, MPI_Request requests[], int *flag, MPI_Status statuses[]) {
    for (int i = 0; i < n; i++) {
        if (is_dead(requests[i])) {
            *flag = 1;
            for (int k = 0; k < n && statuses != MPI_STATUSES_IGNORE; k++) {
                statuses[k].MPI_ERROR = k == i ? DEAD : MPI_ERR_PENDING;
            }
            fail(&requests[i]);
            return MPI_ERR_IN_STATUS;
        }
    }
    return PMPI_Testall(n, requests, flag, statuses);
}

int MPI_Isend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request) {
    return atomic_load(&begins_fail) ? DEAD
                                     : PMPI_Isend(buffer, count, type, to, tag, comm, request);
}

int MPI_Iprobe(int from, int tag, MPI_Comm comm, int *flag, MPI_Status *status) {
    return atomic_load(&begins_fail) ? DEAD : PMPI_Iprobe(from, tag, comm, flag, status);
}

int MPI_Improbe(int from, int tag, MPI_Comm comm, int *flag, MPI_Message *message,
                MPI_Status *status) {
    return atomic_load(&begins_fail) ? DEAD : PMPI_Improbe(from, tag, comm, flag, message, status);
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request) {
    return atomic_load(&begins_fail) ? DEAD : PMPI_Ibarrier(comm, request);
}

/* ---- requests ---- */

enum { WAIT, WAITALL, WAITANY, WAITSOME, WAYS };

typedef struct dead_wait {
    int way;
    MPI_Request requests[2]; /* the first fails */
    int values[2];
} dead_wait;

static int waits_for_dead(void *arg) {
    dead_wait *d = arg;
    MPI_Status statuses[2];
    int number = -1, indices[2];
    switch (d->way) {
    case WAIT:
        return thrum_mpi_wait(&d->requests[0], MPI_STATUS_IGNORE);
    case WAITALL:
        CHECK_EQ(thrum_mpi_waitall(2, d->requests, statuses), MPI_ERR_IN_STATUS);
        CHECK_EQ(statuses[0].MPI_ERROR, DEAD);
        CHECK_EQ(statuses[1].MPI_ERROR, MPI_ERR_PENDING);
        return DEAD;
    case WAITANY:
        return thrum_mpi_waitany(2, d->requests, &number, MPI_STATUS_IGNORE);
    default:
        CHECK_EQ(thrum_mpi_waitsome(2, d->requests, &number, indices, statuses), MPI_ERR_IN_STATUS);
        CHECK(number == 1 && indices[0] == 0);
        return statuses[0].MPI_ERROR;
    }
}

static int waits_for_live(void *arg) {
    return thrum_mpi_wait(arg, MPI_STATUS_IGNORE);
}

/* A wait that MPI tells, beside one of another task, which goes on. */
static int one_way(int way) {
    dead_wait d = {.way = way, .values = {-1, -1}};
    thrum_handle *dead, *live;
    MPI_Request request;
    int value = -1, code = 0, out = 6;
    for (int i = 0; i < 2; i++) {
        irecv(&d.values[i], w.rank, 90 + i, &d.requests[i]);
    }
    irecv(&value, w.rank, 92, &request);
    marked = d.requests[0];
    CHECK_EQ(thrum_spawn(&live, waits_for_live, &request), 0);
    CHECK_EQ(thrum_spawn(&dead, waits_for_dead, &d), 0);
    ranks_until_pending(2);
    atomic_store(&tells, true);
    CHECK_EQ(thrum_join(dead, &code), 0);
    CHECK_EQ(code, DEAD);
    atomic_store(&tells, false);
    CHECK(d.requests[0] == MPI_REQUEST_NULL && d.requests[1] != MPI_REQUEST_NULL);
    ranks_until_pending(1);
    for (int i = 1; i < 3; i++) { /* the others are as they were */
        MPI_Request sent;
        isend(&out, w.rank, 90 + i, &sent);
        CHECK_EQ(thrum_mpi_wait(i == 1 ? &d.requests[1] : &sent, MPI_STATUS_IGNORE), 0);
        CHECK_EQ(i == 1 ? thrum_mpi_wait(&sent, MPI_STATUS_IGNORE) : 0, 0);
    }
    CHECK_EQ(thrum_join(live, &code), 0);
    CHECK_EQ(code, 0);
    CHECK(d.values[0] == -1 && d.values[1] == 6 && value == 6);
    return 0;
}

static int all_ways(void *arg) {
    /* A wait for some asks by MPI_Testsome itself, and would have no request to say it of. */
    const int ways = atomic_load(&refuses_all) ? WAITSOME : WAYS;
    (void)arg;
    atomic_store(&marked_failed, 0);
    for (int way = 0; way < ways; way++) {
        one_way(way);
    }
    CHECK_EQ(atomic_load(&marked_failed), ways); /* each is told once */
    return 0;
}

static void run(thrum_fn fn) {
    ranks_begin(&w);
    CHECK_EQ(rig_run(&w.r, fn, NULL), 0);
    ranks_end(&w);
}

TEST(waits_end_when_mpi_tells) {
    /* For one, all, any and some requests; no other wait does. */
    run(all_ways);
}

TEST(waits_end_when_mpi_refuses_the_whole) {
    /* MPI_Testsome fails without saying for which: each request is asked about alone. */
    atomic_store(&refuses_all, true);
    run(all_ways);
    atomic_store(&refuses_all, false);
}

/* ---- MPI's own failures ---- */

static int begins_short_receive(void *arg) {
    static int value;
    CHECK_EQ(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), MPI_SUCCESS);
    return MPI_Irecv(&value, 1, MPI_INT, (w.rank + w.size - 1) % w.size, 97, MPI_COMM_WORLD, arg);
}

static int sends_too_much(void *arg) {
    static const int two[2];
    return MPI_Isend(two, 2, MPI_INT, (w.rank + 1) % w.size, 97, MPI_COMM_WORLD, arg);
}

static int error_class(int code) {
    int class = -1;
    return MPI_Error_class(code, &class) == MPI_SUCCESS ? class : -1;
}

static int truncated(void *arg) {
    thrum_handle *task;
    MPI_Request receiving, sending;
    int code = 0;
    (void)arg;
    CHECK_EQ(thrum_mpi_call(begins_short_receive, &receiving), MPI_SUCCESS);
    CHECK_EQ(thrum_spawn(&task, waits_for_live, &receiving), 0);
    ranks_until_pending(1);
    CHECK_EQ(thrum_mpi_barrier(MPI_COMM_WORLD), 0); /* on each rank */
    CHECK_EQ(thrum_mpi_call(sends_too_much, &sending), MPI_SUCCESS);
    CHECK_EQ(thrum_join(task, &code), 0);
    CHECK_EQ(error_class(code), MPI_ERR_TRUNCATE);
    const int told = thrum_mpi_wait(&sending, MPI_STATUS_IGNORE); /* the sender may be, too */
    CHECK(told == 0 || error_class(told) == MPI_ERR_TRUNCATE);
    return thrum_mpi_barrier(MPI_COMM_WORLD);
}

TEST(a_failure_of_a_queued_wait_is_told) {
    /* A message too long for its receive. (Open MPI cuts one to oneself off, and does not tell.) */
    ranks_init(&w);
    if (w.size > 1) {
        run(truncated);
        CHECK_EQ(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL), MPI_SUCCESS);
    }
}

/* ---- beginnings ---- */

static int refused(void *arg) {
    int in = -1, out = 1;
    MPI_Message message;
    (void)arg;
    atomic_store(&begins_fail, true);
    CHECK_EQ(thrum_mpi_send(&out, 1, MPI_INT, w.rank, 95, MPI_COMM_WORLD), DEAD);
    CHECK_EQ(thrum_mpi_recv(&in, 1, MPI_INT, w.rank, 94, MPI_COMM_WORLD, MPI_STATUS_IGNORE), DEAD);
    CHECK_EQ(thrum_mpi_probe(w.rank, 95, MPI_COMM_WORLD, MPI_STATUS_IGNORE), DEAD);
    CHECK_EQ(thrum_mpi_mprobe(w.rank, 95, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE), DEAD);
    CHECK_EQ(thrum_mpi_barrier(MPI_COMM_WORLD), DEAD);
    CHECK_EQ(thrum_mpi_sendrecv(&out, 1, MPI_INT, w.rank, 95, &in, 1, MPI_INT, w.rank, 95,
                                MPI_COMM_WORLD, MPI_STATUS_IGNORE),
             DEAD);
    atomic_store(&begins_fail, false);
    CHECK_EQ(thrum_mpi_sendrecv(&out, 1, MPI_INT, w.rank, 95, &in, 1, MPI_INT, w.rank, 95,
                                MPI_COMM_WORLD, MPI_STATUS_IGNORE),
             0);
    CHECK_EQ(in, 1); /* the receive of the one that failed was taken back */
    return 0;
}

TEST(what_mpi_does_not_begin) {
    /* Messages, probes and collectives return its code, and nothing of them stays. */
    run(refused);
}

static int fails_later(void *arg) {
    int in = -1;
    (void)arg;
    return thrum_mpi_recv(&in, 1, MPI_INT, w.rank, 96, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* The request is the receive's own, so it is marked where MPI gives it. */
int MPI_Irecv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request *request) {
    if (atomic_load(&begins_fail) && tag == 94) {
        return DEAD;
    }
    const int code = PMPI_Irecv(buffer, count, type, from, tag, comm, request);
    if (tag == 96) {
        marked = *request;
    }
    return code;
}

static int receive_fails(void *arg) {
    thrum_handle *task;
    int code = 0;
    (void)arg;
    CHECK_EQ(thrum_spawn(&task, fails_later, NULL), 0);
    ranks_until_pending(1);
    atomic_store(&tells, true);
    CHECK_EQ(thrum_join(task, &code), 0);
    atomic_store(&tells, false);
    CHECK_EQ(code, DEAD);
    ranks_until_pending(0);
    return 0;
}

TEST(a_receive_ends_when_mpi_tells) {
    /* With its code, and not with the library's of a cancel. */
    run(receive_fails);
}

enum { LONG = 100000 }; /* ints: under way until they are received */

static int exchanges(void *arg) {
    static int out[LONG];
    int in = -1;
    (void)arg;
    const int code = thrum_mpi_sendrecv(out, LONG, MPI_INT, w.rank, 93, &in, 1, MPI_INT, w.rank, 96,
                                        MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_EQ(in, -1);
    return code;
}

static int half_fails(void *arg) {
    static int in[LONG];
    thrum_handle *task;
    int code = 0;
    (void)arg;
    CHECK_EQ(thrum_spawn(&task, exchanges, NULL), 0);
    dump_until(w.r.sched, ", and receive from ");
    atomic_store(&tells, true);
    char line[60];
    snprintf(line, sizeof line, " waits for MPI send to %d, tag 93, since ", w.rank);
    dump_until(w.r.sched, line);
    atomic_store(&tells, false);
    CHECK_EQ(thrum_mpi_recv(in, LONG, MPI_INT, w.rank, 93, MPI_COMM_WORLD, MPI_STATUS_IGNORE), 0);
    CHECK_EQ(thrum_join(task, &code), 0);
    CHECK_EQ(code, DEAD);
    return 0;
}

TEST(a_send_and_a_receive_of_which_the_receive_fails) {
    /* The call ends only when the send is over, too: its buffer is the caller's again. */
    run(half_fails);
}

/* ---- errno ---- */

static int keeps_errno(void *arg) {
    MPI_Request receiving, sending;
    int in = -1, out = 2;
    (void)arg;
    irecv(&in, w.rank, 98, &receiving);
    isend(&out, w.rank, 98, &sending);
    set_errno(77);
    CHECK_EQ(thrum_mpi_wait(&receiving, MPI_STATUS_IGNORE), 0);
    CHECK_EQ(get_errno(), 77);
    CHECK_EQ(thrum_mpi_wait(&sending, MPI_STATUS_IGNORE), 0);
    CHECK_EQ(get_errno(), 77);
    return 0;
}

TEST(errno_is_as_it_was) {
    /* Whatever MPI does to it. */
    run(keeps_errno);
}

/* ---- the start ---- */

int MPI_Query_thread(int *level) {
    const int code = PMPI_Query_thread(level);
    if (atomic_load(&refuses) == A_LEVEL) {
        *level = MPI_THREAD_SINGLE;
    }
    return code;
}

int MPI_Is_thread_main(int *is) {
    const int code = PMPI_Is_thread_main(is);
    if (atomic_load(&refuses) == A_THREAD) {
        *is = 0;
    }
    return code;
}

int MPI_Comm_create_keyval(MPI_Comm_copy_attr_function *copy, MPI_Comm_delete_attr_function *end,
                           int *keyval, void *extra) {
    return atomic_load(&refuses) == A_KEYVAL ? DEAD
                                             : PMPI_Comm_create_keyval(copy, end, keyval, extra);
}

int MPI_Comm_set_attr(MPI_Comm comm, int keyval, void *value) {
    return atomic_load(&refuses) == AN_ATTRIBUTE ? DEAD : PMPI_Comm_set_attr(comm, keyval, value);
}

static int start_refused(int what) {
    atomic_store(&refuses, what);
    const int code = thrum_mpi_start(w.r.sched);
    atomic_store(&refuses, NOTHING);
    return code;
}

TEST(a_start_that_mpi_refuses) {
    /* It says so, nothing of it stays, and a later one works. */
    ranks_init(&w);
    rig_init(&w.r);
    rig_start(&w.r);
    if (w.level == MPI_THREAD_FUNNELED) {
        CHECK_EQ(thrum_mpi_start(w.r.sched), -EPERM); /* this thread is not bound */
        CHECK_EQ(thrum_sched_bind(w.r.sched), 0);
        CHECK_EQ(start_refused(A_THREAD), -EPERM);
    }
    CHECK_EQ(start_refused(A_LEVEL), -EPERM);
    CHECK_EQ(start_refused(A_KEYVAL), -ENOMEM);
    CHECK_EQ(start_refused(AN_ATTRIBUTE), -ENOMEM);
    CHECK_EQ(thrum_mpi_start(w.r.sched), 0);
    CHECK_EQ(thrum_mpi_start(w.r.sched), -EALREADY);
    ranks_end(&w);
}

/* ---- workers beside ranks ---- */

int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *part) {
    return atomic_load(&refuses) == A_SPLIT ? DEAD
                                            : PMPI_Comm_split_type(comm, type, key, info, part);
}

int MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
    const int code = PMPI_Allreduce(from, to, count, type, op, comm);
    return atomic_load(&refuses) == A_SUM ? DEAD : code;
}

static unsigned workers_refused(int what) {
    atomic_store(&refuses, what);
    const unsigned n = thrum_mpi_workers();
    atomic_store(&refuses, NOTHING);
    return n;
}

TEST(workers_where_mpi_does_not_say) {
    /* One, not all processors: other ranks may have them, too. */
    ranks_init(&w);
    CHECK_EQ(workers_refused(A_SPLIT), 1);
    CHECK_EQ(workers_refused(A_SUM), 1);
}
