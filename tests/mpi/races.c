/*
 * races.c: waits of each kind that are cancelled, or reach their deadline, while another rank's
 * message comes. Whatever is first, the message is there once.
 * And waits that come while others are there.
 */
#include "support/ranks.h"

#define ROUNDS 60
#define TAG 80 /* and one more for each kind */

static ranks w;

static int right(void) {
    return (w.rank + 1) % w.size;
}

static int left(void) {
    return (w.rank + w.size - 1) % w.size;
}

/* One wait of a kind, for the message of one round. The second request gets nothing. */
typedef struct one_wait {
    int kind, tag, value, nothing, index;
    MPI_Request requests[2];
    MPI_Message message;
} one_wait;

typedef struct kind {
    bool posts; /* receives are begun before the wait, and stay when it ends early */
    int (*waits)(one_wait *o, thrum_time deadline);
} kind;

static int by_wait(one_wait *o, thrum_time deadline) {
    return thrum_mpi_wait_until(&o->requests[0], MPI_STATUS_IGNORE, deadline);
}

static int by_waitany(one_wait *o, thrum_time deadline) {
    return thrum_mpi_waitany_until(2, o->requests, &o->index, MPI_STATUS_IGNORE, deadline);
}

static int by_waitsome(one_wait *o, thrum_time deadline) {
    int indices[2], count;
    const int code =
        thrum_mpi_waitsome_until(2, o->requests, &count, indices, MPI_STATUSES_IGNORE, deadline);
    CHECK(code || count == 1);
    o->index = code ? -1 : indices[0];
    return code;
}

/* The first alone, twice: the one that is over is inactive then. */
static int by_waitall(one_wait *o, thrum_time deadline) {
    MPI_Request both[2] = {o->requests[0], MPI_REQUEST_NULL};
    const int code = thrum_mpi_waitall_until(2, both, MPI_STATUSES_IGNORE, deadline);
    o->requests[0] = both[0];
    return code;
}

static int by_recv(one_wait *o, thrum_time deadline) {
    return thrum_mpi_recv_until(&o->value, 1, MPI_INT, left(), o->tag, MPI_COMM_WORLD,
                                MPI_STATUS_IGNORE, deadline);
}

static int by_probe(one_wait *o, thrum_time deadline) {
    const int code =
        thrum_mpi_probe_until(left(), o->tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE, deadline);
    return code ? code : by_recv(o, THRUM_FOREVER);
}

static int takes(void *arg) {
    one_wait *o = arg;
    return MPI_Mrecv(&o->value, 1, MPI_INT, &o->message, MPI_STATUS_IGNORE);
}

static int by_mprobe(one_wait *o, thrum_time deadline) {
    const int code = thrum_mpi_mprobe_until(left(), o->tag, MPI_COMM_WORLD, &o->message,
                                            MPI_STATUS_IGNORE, deadline);
    return code ? code : thrum_mpi_call(takes, o);
}

static const kind kinds[] = {
    {true, by_wait},  {true, by_waitany}, {true, by_waitsome}, {true, by_waitall},
    {false, by_recv}, {false, by_probe},  {false, by_mprobe},
};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

static int cancelled(void *arg) {
    one_wait *o = arg;
    return kinds[o->kind].waits(o, THRUM_FOREVER);
}

static int cancels(void *arg) {
    return thrum_cancel(arg);
}

static void yields(int n) {
    for (int i = 0; i < n; i++) {
        thrum_yield();
    }
}

/* A cancel from a task of its own: before, beside or after the message. */
static int wait_beside_a_cancel(one_wait *o, int round) {
    thrum_handle *task, *canceller;
    int code = 1;
    CHECK_EQ(thrum_spawn(&task, cancelled, o), 0);
    yields(round % 40);
    CHECK_EQ(thrum_spawn(&canceller, cancels, task), 0);
    CHECK_EQ(thrum_join(canceller, NULL), 0); /* the handle is its, too, until then */
    CHECK_EQ(thrum_join(task, &code), 0);
    return code;
}

static int cancel_request(void *arg) {
    return MPI_Cancel(arg);
}

static void one_round(int which, int round) {
    one_wait o = {.kind = which, .tag = TAG + which, .value = -1, .nothing = -1, .index = -1};
    MPI_Request sent;
    int out = w.rank * 1000 + round, code;
    const kind *k = &kinds[which];
    if (k->posts) {
        irecv(&o.value, left(), o.tag, &o.requests[0]);
        irecv(&o.nothing, left(), o.tag + KINDS, &o.requests[1]);
    }
    isend(&out, right(), o.tag, &sent);
    if (round % 2) {
        code = wait_beside_a_cancel(&o, round / 2);
        CHECK(code == 0 || code == -ECANCELED);
    } else {
        code = k->waits(&o, thrum_after_us(round * 3));
        CHECK(code == 0 || code == -ETIMEDOUT);
    }
    if (code) { /* nothing is lost: once more */
        CHECK_EQ(k->waits(&o, THRUM_FOREVER), 0);
    }
    CHECK_EQ(o.value, left() * 1000 + round);
    CHECK_EQ(o.nothing, -1);
    CHECK(o.index <= 0);
    if (k->posts) {
        CHECK(o.requests[0] == MPI_REQUEST_NULL);
        CHECK_EQ(thrum_mpi_call(cancel_request, &o.requests[1]), MPI_SUCCESS);
        CHECK_EQ(thrum_mpi_wait(&o.requests[1], MPI_STATUS_IGNORE), 0);
    }
    CHECK_EQ(thrum_mpi_wait(&sent, MPI_STATUS_IGNORE), 0);
}

static int rounds(void *arg) {
    for (int i = 0; i < ROUNDS; i++) {
        one_round((int)(intptr_t)arg, i);
    }
    return 0;
}

static int all_kinds(void *arg) {
    thrum_handle *tasks[KINDS];
    (void)arg;
    for (int i = 0; i < KINDS; i++) {
        CHECK_EQ(thrum_spawn(&tasks[i], rounds, (void *)(intptr_t)i), 0);
    }
    for (int i = 0; i < KINDS; i++) {
        CHECK_EQ(thrum_join(tasks[i], NULL), 0);
    }
    CHECK_EQ(thrum_mpi_barrier(MPI_COMM_WORLD), 0);
    for (int i = 0; i < 2 * KINDS; i++) { /* nor is anything there twice */
        CHECK_EQ(thrum_mpi_probe_until(left(), TAG + i, MPI_COMM_WORLD, MPI_STATUS_IGNORE, past()),
                 -ETIMEDOUT);
    }
    return 0;
}

TEST(waits_that_end_beside_their_message) {
    /* By a cancel or a deadline, of all kinds at a time. */
    thrum_mpi_metrics metrics = THRUM_MPI_METRICS_INIT;
    ranks_begin_cancelling(&w);
    CHECK_EQ(rig_run(&w.r, all_kinds, NULL), 0);
    CHECK_EQ(thrum_mpi_metrics_read(&metrics), 0);
    CHECK_EQ(metrics.pending, 0);
    ranks_end(&w);
}

/* ---- the table ---- */

typedef struct many_wait {
    int n;
    MPI_Request requests[200];
} many_wait;

static int waits_for_all(void *arg) {
    many_wait *m = arg;
    return thrum_mpi_waitall(m->n, m->requests, MPI_STATUSES_IGNORE);
}

static int grows(void *arg) {
    static many_wait first, second;
    static int in[201], out = 3;
    thrum_handle *tasks[2];
    MPI_Request sent;
    int code = -1;
    (void)arg;
    first.n = 1;
    second.n = 200;
    for (int i = 0; i <= 200; i++) {
        in[i] = -1;
        irecv(&in[i], w.rank, 200 + i, i ? &second.requests[i - 1] : &first.requests[0]);
    }
    CHECK_EQ(thrum_spawn(&tasks[0], waits_for_all, &first), 0);
    ranks_until_pending(1);
    ranks_until_asked(); /* it is in the table then */
    CHECK_EQ(thrum_spawn(&tasks[1], waits_for_all, &second), 0);
    ranks_until_pending(2);
    for (int i = 0; i <= 200; i++) {
        isend(&out, w.rank, 200 + i, &sent);
        CHECK_EQ(thrum_mpi_wait(&sent, MPI_STATUS_IGNORE), 0);
    }
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(thrum_join(tasks[i], &code), 0);
        CHECK_EQ(code, 0);
    }
    for (int i = 0; i <= 200; i++) {
        CHECK_EQ(in[i], 3);
    }
    return 0;
}

TEST(a_table_that_grows_keeps_its_rows) {
    /* A wait for many requests beside one that is in the table. */
    ranks_begin(&w);
    CHECK_EQ(rig_run(&w.r, grows, NULL), 0);
    ranks_end(&w);
}
