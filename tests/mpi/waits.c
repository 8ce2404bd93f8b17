/*
 * waits.c: waits for one, any, some and all requests, and how they end early.
 */
#include "mpi/engine.h"
#include "support/ranks.h"

static ranks w;

/* ---- messages to oneself ---- */

static int self_send(int value, int tag) {
    MPI_Request request;
    isend(&value, w.rank, tag, &request);
    return thrum_mpi_wait(&request, MPI_STATUS_IGNORE);
}

static int own(int n, int tag, int values[], MPI_Request requests[]) {
    for (int i = 0; i < n; i++) {
        values[i] = -1;
        irecv(&values[i], w.rank, tag + i, &requests[i]);
    }
    return 0;
}

/* Runs it in a task, with the main thread free to make calls. */
static void run(thrum_fn fn) {
    ranks_begin(&w);
    CHECK_EQ(rig_run(&w.r, fn, NULL), 0);
    ranks_end(&w);
}

static int one(void *arg) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    int value;
    (void)arg;
    CHECK_EQ(thrum_mpi_wait(&request, &status), 0);
    own(1, 3, &value, &request);
    CHECK_EQ(thrum_mpi_wait_until(&request, &status, soon()), -ETIMEDOUT);
    CHECK_EQ(thrum_mpi_wait_until(&request, &status, past()), -ETIMEDOUT);
    CHECK(request != MPI_REQUEST_NULL);
    CHECK_EQ(self_send(42, 3), 0);
    CHECK_EQ(thrum_mpi_wait(&request, &status), 0); /* it was the caller's all the time */
    CHECK_EQ(value, 42);
    CHECK_EQ(status.MPI_TAG, 3);
    CHECK(request == MPI_REQUEST_NULL);
    return 0;
}

TEST(a_wait_past_its_deadline_leaves_the_request) {
    /* It can be waited for again, and gets what comes. */
    run(one);
}

static int sends_later(void *arg) {
    const int tag = (int)(intptr_t)arg;
    dump_until(w.r.sched, "MPI: ");
    return self_send(tag * 10, tag);
}

static int any(void *arg) {
    enum { MANY = 5 };
    MPI_Request requests[MANY];
    MPI_Status status;
    thrum_handle *sender;
    int values[MANY], index = -1;
    (void)arg;
    own(MANY, 10, values, requests);
    CHECK_EQ(thrum_spawn(&sender, sends_later, (void *)12), 0);
    CHECK_EQ(thrum_mpi_waitany(MANY, requests, &index, &status), 0);
    CHECK_EQ(thrum_join(sender, NULL), 0);
    CHECK_EQ(index, 2);
    CHECK_EQ(values[2], 120);
    CHECK_EQ(status.MPI_TAG, 12);
    CHECK(requests[2] == MPI_REQUEST_NULL);
    CHECK_EQ(thrum_mpi_waitany_until(MANY, requests, &index, &status, soon()), -ETIMEDOUT);
    for (int i = 0; i < MANY; i++)
        if (i != 2)
            CHECK_EQ(self_send(i, 10 + i), 0);
    for (int i = 0; i < MANY - 1; i++) { /* two at once: one each time, and none is lost */
        CHECK_EQ(thrum_mpi_waitany(MANY, requests, &index, MPI_STATUS_IGNORE), 0);
        CHECK(index >= 0 && index < MANY && values[index] == index);
        values[index] = -1;
    }
    CHECK_EQ(thrum_mpi_waitany(MANY, requests, &index, &status), 0);
    CHECK_EQ(index, MPI_UNDEFINED);
    return 0;
}

TEST(one_of_several) {
    /* As MPI_Waitany. */
    run(any);
}

static int some(void *arg) {
    enum { MANY = 4 };
    MPI_Request requests[MANY];
    MPI_Status statuses[MANY];
    int values[MANY], indices[MANY], count = -1, all = 0;
    thrum_handle *sender;
    (void)arg;
    own(MANY, 20, values, requests);
    CHECK_EQ(thrum_mpi_waitsome_until(MANY, requests, &count, indices, statuses, soon()),
             -ETIMEDOUT);
    CHECK_EQ(thrum_spawn(&sender, sends_later, (void *)21), 0);
    CHECK_EQ(thrum_mpi_waitsome(MANY, requests, &count, indices, statuses), 0);
    CHECK_EQ(thrum_join(sender, NULL), 0);
    CHECK(count == 1 && indices[0] == 1 && values[1] == 210 && statuses[0].MPI_TAG == 21);
    for (int i = 0; i < MANY; i++)
        if (i != 1)
            CHECK_EQ(self_send(i, 20 + i), 0);
    while (all < MANY - 1) {
        CHECK_EQ(thrum_mpi_waitsome(MANY, requests, &count, indices, MPI_STATUSES_IGNORE), 0);
        CHECK(count > 0);
        all += count;
    }
    CHECK_EQ(thrum_mpi_waitsome(MANY, requests, &count, indices, statuses), 0);
    CHECK_EQ(count, MPI_UNDEFINED);
    return 0;
}

TEST(some_of_several) {
    /* As MPI_Waitsome. */
    run(some);
}

static int all(void *arg) {
    enum { MANY = 300 }; /* the table grows */
    MPI_Request requests[MANY];
    static int values[MANY];
    static MPI_Status statuses[MANY];
    (void)arg;
    own(MANY, 100, values, requests);
    for (int i = 0; i < MANY; i += 3)
        CHECK_EQ(self_send(i, 100 + i), 0);
    thrum_time length = THRUM_MS(1);
    for (int over = 0; over < MANY / 3; length *= 2) { /* it may pass before MPI was asked */
        CHECK_EQ(thrum_mpi_waitall_until(MANY, requests, statuses, thrum_after(length)),
                 -ETIMEDOUT);
        over = 0;
        for (int i = 0; i < MANY; i++)
            over += requests[i] == MPI_REQUEST_NULL;
    }
    for (int i = 0; i < MANY; i++) {
        CHECK_EQ(requests[i] == MPI_REQUEST_NULL, i % 3 == 0);
        CHECK_EQ(values[i], i % 3 ? -1 : i);
        if (i % 3)
            CHECK_EQ(self_send(i, 100 + i), 0);
    }
    CHECK_EQ(thrum_mpi_waitall(MANY, requests, statuses), 0);
    for (int i = 0; i < MANY; i++) {
        CHECK(requests[i] == MPI_REQUEST_NULL);
        CHECK_EQ(values[i], i);
    }
    CHECK_EQ(thrum_mpi_waitall(MANY, requests, MPI_STATUSES_IGNORE), 0);
    return 0;
}

TEST(all_of_several) {
    /* As MPI_Waitall; a deadline leaves those that are not over, and no others. */
    run(all);
}

typedef struct persistent {
    int in[2], out[2];
    MPI_Request requests[4];
} persistent;

static int make_persistent(void *arg) {
    persistent *p = arg;
    for (int i = 0; i < 2; i++) {
        MPI_Recv_init(&p->in[i], 1, MPI_INT, w.rank, 60 + i, MPI_COMM_WORLD, &p->requests[i]);
        MPI_Send_init(&p->out[i], 1, MPI_INT, w.rank, 60 + i, MPI_COMM_WORLD, &p->requests[2 + i]);
    }
    return MPI_Start(&p->requests[0]);
}

static int start_send(void *arg) {
    return MPI_Start(&((persistent *)arg)->requests[2]);
}

static int free_persistent(void *arg) {
    for (int i = 0; i < 4; i++)
        MPI_Request_free(&((persistent *)arg)->requests[i]);
    return 0;
}

static int starts_later(void *arg) {
    dump_until(w.r.sched, "MPI: all of 4 requests");
    return thrum_mpi_call(start_send, arg);
}

static int inactive(void *arg) {
    persistent p = {.out = {7, 8}};
    thrum_handle *starter;
    (void)arg;
    CHECK_EQ(thrum_mpi_call(make_persistent, &p), 0);
    CHECK_EQ(thrum_spawn(&starter, starts_later, &p), 0);
    CHECK_EQ(thrum_mpi_waitall(4, p.requests, MPI_STATUSES_IGNORE), 0);
    CHECK_EQ(thrum_join(starter, NULL), 0);
    CHECK_EQ(p.in[0], 7);
    CHECK(p.requests[0] != MPI_REQUEST_NULL);
    CHECK_EQ(thrum_mpi_call(free_persistent, &p), 0);
    return 0;
}

TEST(requests_that_are_not_started) {
    /* They are over for a wait for all; a wait for them and others goes on. */
    run(inactive);
}

/* ---- failures ---- */

static int pair[2];

static int begins_receives(void *arg) {
    MPI_Request *requests = arg;
    const int from = (w.rank + w.size - 1) % w.size;
    CHECK_EQ(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), MPI_SUCCESS);
    CHECK_EQ(MPI_Irecv(&pair[0], 1, MPI_INT, from, 70, MPI_COMM_WORLD, &requests[0]), MPI_SUCCESS);
    return MPI_Irecv(&pair[1], 1, MPI_INT, from, 71, MPI_COMM_WORLD, &requests[1]);
}

/* More than its receive has room for. */
static int sends_too_much(void *arg) {
    static const int two[2];
    return MPI_Isend(two, 2, MPI_INT, (w.rank + 1) % w.size, 70, MPI_COMM_WORLD, arg);
}

static int error_class(int code) {
    int class = -1;
    return MPI_Error_class(code, &class) == MPI_SUCCESS ? class : -1;
}

/* Has MPI asked for a while, for what does not come. */
static void has_asked(void) {
    CHECK_EQ(thrum_mpi_probe_until(w.rank, 72, MPI_COMM_WORLD, MPI_STATUS_IGNORE, soon()),
             -ETIMEDOUT);
}

static int fails(void *arg) {
    MPI_Request requests[2], sent[2];
    MPI_Status statuses[2];
    int out = 3;
    (void)arg;
    CHECK_EQ(thrum_mpi_call(begins_receives, requests), MPI_SUCCESS);
    CHECK_EQ(thrum_mpi_barrier(MPI_COMM_WORLD), 0); /* all receives are there */
    CHECK_EQ(thrum_mpi_call(sends_too_much, &sent[0]), MPI_SUCCESS);
    if (w.size > 1) { /* to oneself, Open MPI cuts a message off and does not tell */
        const int code = thrum_mpi_waitall(2, requests, statuses);
        CHECK_EQ(code, MPI_ERR_IN_STATUS); /* not one of MPICH's own */
        CHECK_EQ(error_class(statuses[0].MPI_ERROR), MPI_ERR_TRUNCATE);
        CHECK_EQ(statuses[1].MPI_ERROR, MPI_ERR_PENDING);
        CHECK(requests[1] != MPI_REQUEST_NULL);
        has_asked();
    } else {
        const int code = thrum_mpi_wait(&requests[0], MPI_STATUS_IGNORE);
        CHECK(code == 0 || error_class(code) == MPI_ERR_TRUNCATE);
    }
    CHECK_EQ(thrum_mpi_barrier(MPI_COMM_WORLD), 0);
    isend(&out, (w.rank + 1) % w.size, 71, &sent[1]);
    CHECK_EQ(thrum_mpi_wait(&sent[1], MPI_STATUS_IGNORE), 0);
    CHECK_EQ(thrum_mpi_barrier(MPI_COMM_WORLD), 0);
    has_asked(); /* the request is the caller's alone, and so is its end */
    CHECK_EQ(thrum_mpi_wait(&requests[1], &statuses[1]), 0);
    CHECK_EQ(statuses[1].MPI_TAG, 71);
    const int told = thrum_mpi_wait(&sent[0], MPI_STATUS_IGNORE); /* the sender may be, too */
    CHECK(told == 0 || error_class(told) == MPI_ERR_TRUNCATE);
    return 0;
}

TEST(one_of_all_fails) {
    /* The wait ends, and the engine lets go of the request that is under way. */
    run(fails);
    CHECK_EQ(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL), MPI_SUCCESS);
}

/* ---- cancels ---- */

static atomic_int received;

static int receives(void *arg) {
    int value = -1;
    const int code =
        thrum_mpi_recv(&value, 1, MPI_INT, w.rank, 30, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    (void)arg;
    CHECK(code == 0 || code == -ECANCELED);
    CHECK_EQ(value, code ? -1 : 5);
    atomic_fetch_add(&received, !code);
    return code;
}

static int cancels(void *arg) {
    return thrum_cancel(arg);
}

/* A message to oneself may be over only when it is received. */
static int race(void *arg) {
    atomic_store(&received, 0);
    (void)arg;
    for (int i = 0; i < 100; i++) {
        thrum_handle *task = NULL, *canceller = NULL;
        MPI_Request sent;
        int code = 1, out = 5, in = -1;
        CHECK_EQ(thrum_spawn(&task, receives, NULL), 0);
        if (i % 3)
            ranks_until_pending(1);
        CHECK_EQ(thrum_spawn(&canceller, cancels, task), 0);
        if (i % 2)
            thrum_yield();
        isend(&out, w.rank, 30, &sent);
        CHECK_EQ(thrum_join(canceller, NULL), 0);
        CHECK_EQ(thrum_join(task, &code), 0);
        if (code) { /* it is still there, for another receive */
            CHECK_EQ(thrum_mpi_recv(&in, 1, MPI_INT, w.rank, 30, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                     0);
            CHECK_EQ(in, 5);
        }
        CHECK_EQ(thrum_mpi_wait(&sent, MPI_STATUS_IGNORE), 0);
    }
    CHECK_EQ(thrum_mpi_probe_until(w.rank, 30, MPI_COMM_WORLD, MPI_STATUS_IGNORE, soon()),
             -ETIMEDOUT);
    return 0;
}

TEST(a_cancel_beside_the_message) {
    /* Either the receive is cancelled, and the message is another's, or it is received. */
    ranks_begin_cancelling(&w);
    CHECK_EQ(rig_run(&w.r, race, NULL), 0);
    ranks_end(&w);
}

static int early(void *arg) {
    MPI_Request sent;
    int value = -1, out = 9;
    (void)arg;
    CHECK_EQ(thrum_mpi_recv_until(&value, 1, MPI_INT, w.rank, 31, MPI_COMM_WORLD, MPI_STATUS_IGNORE,
                                  soon()),
             -ETIMEDOUT);
    isend(&out, w.rank, 31, &sent);
    CHECK_EQ(value, -1); /* its buffer was free again */
    CHECK_EQ(thrum_mpi_recv(&value, 1, MPI_INT, w.rank, 31, MPI_COMM_WORLD, MPI_STATUS_IGNORE), 0);
    CHECK_EQ(value, 9);
    CHECK_EQ(thrum_mpi_wait(&sent, MPI_STATUS_IGNORE), 0);
    return 0;
}

TEST(a_receive_past_its_deadline_is_taken_back) {
    /* What comes later is another receive's. */
    run(early);
}

static int waits_for_ever(void *arg) {
    return thrum_mpi_waitall(2, arg, MPI_STATUSES_IGNORE);
}

static int cleans_up(void *arg) {
    MPI_Request *requests = arg;
    for (int i = 0; i < 2; i++)
        CHECK_EQ(self_send(1, 40 + i), 0);
    return thrum_mpi_waitall(2, requests, MPI_STATUSES_IGNORE);
}

static int waits_for_one(void *arg) {
    return thrum_mpi_wait(arg, MPI_STATUS_IGNORE);
}
TEST(a_stop_while_it_is_quiet) {
    /* It is refused at once, also in a pause of the task that asks. */
    MPI_Request request;
    thrum_handle *task = NULL;
    thrum_attr attr;
    int value = -1, code = 0;
    ranks_begin(&w);
    attr = rig_attr(&w.r);
    own(1, 45, &value, &request);
    CHECK_EQ(thrum_spawn_with(&task, &attr, waits_for_one, &request), 0);
    while (!__atomic_load_n(&th_mpi.moving.reserved_first, __ATOMIC_RELAXED)) /* a pause */
        nap();
    CHECK_EQ(thrum_mpi_stop(), -EBUSY);
    CHECK_EQ(self_send(6, 45), 0);
    CHECK_EQ(thrum_join(task, &code), 0);
    CHECK_EQ(code, 0);
    CHECK_EQ(value, 6);
    ranks_end(&w);
}

TEST(a_stop_with_requests_under_way) {
    /* It ends the wait, and the requests are still the program's. */
    MPI_Request requests[2];
    thrum_handle *task = NULL;
    thrum_attr attr;
    int code = 0, values[2];
    ranks_begin(&w);
    attr = rig_attr(&w.r);
    own(2, 40, values, requests);
    CHECK_EQ(thrum_spawn_with(&task, &attr, waits_for_ever, requests), 0);
    dump_until(w.r.sched, "MPI: all of 2 requests");
    CHECK_EQ(thrum_mpi_stop(), -EBUSY);
    CHECK_EQ(thrum_cancel(task), 0);
    CHECK_EQ(thrum_join(task, &code), 0);
    CHECK_EQ(code, -ECANCELED);
    CHECK_EQ(thrum_spawn_with(&task, &attr, waits_for_ever, &requests[0]), 0);
    dump_until(w.r.sched, "MPI: all of 2 requests");
    CHECK_EQ(thrum_sched_stop_until(w.r.sched, past()), -ETIMEDOUT);
    thrum_shield_begin(); /* at FUNNELED this thread's own waits are cancelled, too */
    CHECK_EQ(thrum_join(task, &code), 0);
    thrum_shield_end();
    CHECK_EQ(code, -ECANCELED);
    CHECK_EQ(thrum_mpi_stop(), 0);
    rig_stop(&w.r);
    CHECK_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
    ranks_begin(&w);
    CHECK_EQ(rig_run(&w.r, cleans_up, requests), 0);
    ranks_end(&w);
}

/* ---- mistakes ---- */

static int nothing(void *arg) {
    (void)arg;
    return 7;
}

static int mistakes(void *arg) {
    MPI_Request request = MPI_REQUEST_NULL;
    thrum_mpi_metrics metrics = THRUM_MPI_METRICS_INIT;
    int number;
    (void)arg;
    CHECK_EQ(thrum_mpi_start(NULL), -EALREADY);
    CHECK_EQ(thrum_mpi_wait(NULL, MPI_STATUS_IGNORE), -EINVAL);
    CHECK_EQ(thrum_mpi_waitany(1, NULL, &number, MPI_STATUS_IGNORE), -EINVAL);
    CHECK_EQ(thrum_mpi_waitany(-1, &request, &number, MPI_STATUS_IGNORE), -EINVAL);
    CHECK_EQ(thrum_mpi_waitany(1, &request, NULL, MPI_STATUS_IGNORE), -EINVAL);
    CHECK_EQ(thrum_mpi_waitsome(1, &request, &number, NULL, MPI_STATUSES_IGNORE), -EINVAL);
    CHECK_EQ(thrum_mpi_waitsome(1, &request, NULL, &number, MPI_STATUSES_IGNORE), -EINVAL);
    CHECK_EQ(thrum_mpi_waitall(-1, &request, MPI_STATUSES_IGNORE), -EINVAL);
    CHECK_EQ(thrum_mpi_waitall(1, NULL, MPI_STATUSES_IGNORE), -EINVAL);
    CHECK_EQ(thrum_mpi_mprobe(0, 0, MPI_COMM_WORLD, NULL, MPI_STATUS_IGNORE), -EINVAL);
    CHECK_EQ(thrum_mpi_call(NULL, NULL), -EINVAL);
    CHECK_EQ(thrum_mpi_call(nothing, NULL), 7);
    CHECK_EQ(thrum_mpi_metrics_read(NULL), -EINVAL);
    metrics.size = 3;
    CHECK_EQ(thrum_mpi_metrics_read(&metrics), -EINVAL);
    return 0;
}

TEST(mistakes_are_codes) {
    /* Also before it is started, and after its end. */
    MPI_Request request = MPI_REQUEST_NULL;
    thrum_mpi_metrics metrics = THRUM_MPI_METRICS_INIT;
    ranks_init(&w);
    CHECK_EQ(thrum_mpi_start(NULL), -EINVAL);
    run(mistakes);
    CHECK_EQ(thrum_mpi_stop(), -ESRCH);
    CHECK_EQ(thrum_mpi_wait(&request, MPI_STATUS_IGNORE), -ESRCH);
    CHECK_EQ(thrum_mpi_barrier(MPI_COMM_WORLD), -ESRCH);
    CHECK_EQ(thrum_mpi_call(nothing, NULL), -ESRCH);
    CHECK_EQ(thrum_mpi_metrics_read(&metrics), -ESRCH);
}

/* ---- what is seen ---- */

static int is_seen(void *arg) {
    thrum_handle *task = NULL;
    thrum_mpi_metrics metrics = THRUM_MPI_METRICS_INIT;
    char line[100];
    (void)arg;
    CHECK_EQ(thrum_spawn(&task, receives, NULL), 0);
    snprintf(line, sizeof line, " waits for MPI receive from %d, tag 30, 4 bytes, ", w.rank);
    dump_until(w.r.sched, line);
    CHECK_EQ(thrum_mpi_metrics_read(&metrics), 0);
    CHECK_EQ(metrics.pending, 1);
    CHECK(metrics.waits >= 1 && metrics.pending_max >= 1);
    CHECK_EQ(thrum_sched_wait_idle(NULL, THRUM_FOREVER), -EINVAL);
    CHECK_EQ(self_send(5, 30), 0);
    CHECK_EQ(thrum_join(task, NULL), 0);
    CHECK_EQ(thrum_mpi_metrics_read(&metrics), 0);
    CHECK_EQ(metrics.pending, 0);
    return 0;
}

TEST(waits_are_seen) {
    /* In dumps, by what they are for, and in the figures. */
    run(is_seen);
}

enum { LONG = 100000 }; /* ints: under way until they are received */

static int sends_long(void *arg) {
    static int out[LONG];
    return thrum_mpi_send(out, LONG, MPI_INT, w.rank, (int)(intptr_t)arg, MPI_COMM_WORLD);
}

static int receives_long(int tag) {
    static int in[LONG];
    return thrum_mpi_recv(in, LONG, MPI_INT, w.rank, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static int send_is_seen(void *arg) {
    thrum_handle *task = NULL;
    char line[100];
    int code = -1;
    (void)arg;
    CHECK_EQ(thrum_spawn(&task, sends_long, (void *)53), 0);
    snprintf(line, sizeof line, " waits for MPI send to %d, tag 53, 400000 bytes, ", w.rank);
    dump_until(w.r.sched, line);
    CHECK_EQ(receives_long(53), 0);
    CHECK_EQ(thrum_join(task, &code), 0);
    CHECK_EQ(code, 0);
    return 0;
}

TEST(sends_are_seen) {
    /* A long one waits until it is received. */
    run(send_is_seen);
}

TEST(nothing_is_asked_while_nobody_waits) {
    /* Neither before the first wait nor after the last. */
    thrum_mpi_metrics before = THRUM_MPI_METRICS_INIT, after = THRUM_MPI_METRICS_INIT;
    ranks_begin(&w);
    CHECK_EQ(thrum_mpi_metrics_read(&before), 0);
    CHECK_EQ(before.asked, 0);
    CHECK_EQ(rig_run(&w.r, is_seen, NULL), 0); /* a sweep has ended its wait */
    CHECK_EQ(thrum_mpi_metrics_read(&before), 0);
    CHECK(before.asked > 0);
    for (int i = 0; i < 50; i++)
        nap();
    CHECK_EQ(thrum_mpi_metrics_read(&after), 0);
    CHECK_EQ(after.asked, before.asked);
    ranks_end(&w);
}

TEST(workers_beside_ranks) {
    /* At least one, at most the machine's. */
    ranks_init(&w);
    const unsigned n = thrum_mpi_workers();
    CHECK(n >= 1 && n <= (unsigned)sysconf(_SC_NPROCESSORS_ONLN));
}
