/*
 * messages.c: sends, receives, probes and collectives by many tasks.
 */
#include "support/ranks.h"
#include "support/report/traces.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#define FIBERS 32
#define ROUNDS 20
#define LONG 100000 /* ints: beyond what MPI sends eagerly */

static ranks w;

/* The rank to the right, and to the left. */
static int right(void) {
    return (w.rank + 1) % w.size;
}

static int left(void) {
    return (w.rank + w.size - 1) % w.size;
}

static int all_join(thrum_fn fn) {
    thrum_handle *tasks[FIBERS];
    for (int i = 0; i < FIBERS; i++) {
        CHECK_EQ(thrum_spawn(&tasks[i], fn, (void *)(intptr_t)i), 0);
    }
    for (int i = 0; i < FIBERS; i++) {
        int result = -1;
        CHECK_EQ(thrum_join(tasks[i], &result), 0);
        CHECK_EQ(result, 0);
    }
    return 0;
}

static int one_of_a_ring(void *arg) {
    const int tag = (int)(intptr_t)arg;
    for (int i = 0; i < ROUNDS; i++) {
        const int out = w.rank * 1000 + i;
        int in = -1;
        MPI_Status status;
        CHECK_EQ(thrum_mpi_sendrecv(&out, 1, MPI_INT, right(), tag, &in, 1, MPI_INT, left(), tag,
                                    MPI_COMM_WORLD, &status),
                 0);
        CHECK_EQ(in, left() * 1000 + i);
        CHECK_EQ(status.MPI_SOURCE, left());
        CHECK_EQ(status.MPI_TAG, tag);
    }
    return 0;
}

static int ring(void *arg) {
    (void)arg;
    return all_join(one_of_a_ring);
}

TEST(a_ring_of_many_tasks) {
    /* Each task has a tag; each message comes to the right one, in order. */
    ranks_begin(&w);
    CHECK_EQ(rig_run(&w.r, ring, NULL), 0);
    ranks_end(&w);
}

static int pings(void *arg) {
    const int tag = (int)(intptr_t)arg;
    const int peer = w.size > 1 ? w.rank ^ 1 : 0;
    if (peer >= w.size) {
        return 0;
    }
    for (int i = 0; i < ROUNDS; i++) {
        int value = i;
        MPI_Status status;
        if (w.size == 1) { /* to itself: begun before it is received */
            MPI_Request request;
            isend(&value, 0, tag, &request);
            int in = -1;
            CHECK_EQ(thrum_mpi_recv(&in, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE), 0);
            CHECK_EQ(in, i);
            CHECK_EQ(thrum_mpi_wait(&request, MPI_STATUS_IGNORE), 0);
            continue;
        }
        if (w.rank < peer) {
            CHECK_EQ(thrum_mpi_send(&value, 1, MPI_INT, peer, tag, MPI_COMM_WORLD), 0);
        }
        CHECK_EQ(thrum_mpi_recv(&value, 1, MPI_INT, peer, tag, MPI_COMM_WORLD, &status), 0);
        CHECK_EQ(value, i);
        CHECK_EQ(status.MPI_SOURCE, peer);
        if (w.rank > peer) {
            CHECK_EQ(thrum_mpi_send(&value, 1, MPI_INT, peer, tag, MPI_COMM_WORLD), 0);
        }
    }
    return 0;
}

static int ping_pong(void *arg) {
    (void)arg;
    return all_join(pings);
}

TEST(ping_pong_of_many_tasks) {
    /* Sends and receives, many at a time between two ranks. */
    ranks_begin(&w);
    CHECK_EQ(rig_run(&w.r, ping_pong, NULL), 0);
    ranks_end(&w);
}

static int long_ones(void *arg) {
    int *out = malloc(LONG * sizeof *out), *in = malloc(LONG * sizeof *in);
    (void)arg;
    CHECK(out && in);
    for (int i = 0; i < LONG; i++) {
        out[i] = w.rank + i;
    }
    CHECK_EQ(thrum_mpi_sendrecv(out, LONG, MPI_INT, right(), 5, in, LONG, MPI_INT, left(), 5,
                                MPI_COMM_WORLD, MPI_STATUS_IGNORE),
             0);
    for (int i = 0; i < LONG; i++) {
        CHECK_EQ(in[i], left() + i);
    }
    free(out);
    free(in);
    return 0;
}

TEST(a_long_message) {
    /* One that is sent only when it is received. */
    ranks_begin(&w);
    CHECK_EQ(rig_run(&w.r, long_ones, NULL), 0);
    ranks_end(&w);
}

/* What this process has received by TCP, over all of its connections. */
static uint64_t tcp_received(void) {
    uint64_t sum = 0;
    for (int fd = 0; fd < 1024; fd++) {
        struct tcp_info info = {0};
        socklen_t length = sizeof info;
        if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) == 0) {
            sum += info.tcpi_bytes_received;
        }
    }
    return sum;
}

static int all_are_here(void *arg) {
    (void)arg;
    return thrum_mpi_barrier(MPI_COMM_WORLD);
}

TEST(messages_go_where_the_run_says) {
    /* Over TCP if CHECK_MPI_TRANSPORT is tcp, else not: what is tested is what is meant. */
    const char *transport = getenv("CHECK_MPI_TRANSPORT");
    ranks_begin(&w);
    if (transport && w.size > 1) {
        const uint64_t before = tcp_received();
        CHECK_EQ(rig_run(&w.r, all_are_here, NULL), 0); /* else some bytes may be there already */
        CHECK_EQ(rig_run(&w.r, long_ones, NULL), 0);
        CHECK_EQ(tcp_received() - before >= LONG * sizeof(int), strcmp(transport, "tcp") == 0);
    }
    ranks_end(&w);
}

static int takes(void *arg) {
    MPI_Message *message = arg;
    int in = -1;
    CHECK_EQ(MPI_Mrecv(&in, 1, MPI_INT, message, MPI_STATUS_IGNORE), MPI_SUCCESS);
    return in;
}

static int probes(void *arg) {
    MPI_Request requests[2];
    MPI_Message message;
    MPI_Status status;
    int values[2] = {w.rank, w.rank + 100}, in = -1;
    (void)arg;
    isend(&values[0], right(), 1, &requests[0]);
    CHECK_EQ(thrum_mpi_probe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status), 0);
    CHECK_EQ(status.MPI_SOURCE, left());
    CHECK_EQ(thrum_mpi_probe(left(), MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE), 0);
    CHECK_EQ(thrum_mpi_recv(&in, 1, MPI_INT, left(), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE), 0);
    CHECK_EQ(in, left());
    isend(&values[1], right(), 2, &requests[1]);
    CHECK_EQ(thrum_mpi_mprobe(left(), MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status), 0);
    CHECK_EQ(status.MPI_TAG, 2);
    CHECK_EQ(thrum_mpi_probe_until(left(), 2, MPI_COMM_WORLD, &status, past()), -ETIMEDOUT);
    CHECK_EQ(thrum_mpi_call(takes, &message), left() + 100);
    CHECK_EQ(thrum_mpi_waitall(2, requests, MPI_STATUSES_IGNORE), 0);
    CHECK_EQ(thrum_mpi_mprobe_until(left(), 2, MPI_COMM_WORLD, &message, &status, soon()),
             -ETIMEDOUT);
    return 0;
}

TEST(probes_see_what_comes) {
    /* A probe leaves the message there, one that takes it does not. */
    ranks_begin(&w);
    CHECK_EQ(rig_run(&w.r, probes, NULL), 0);
    ranks_end(&w);
}

static int collectives(void *arg) {
    const int n = w.size, me = w.rank, sum = n * (n - 1) / 2;
    int one, *many = calloc((size_t)n, sizeof *many), *to = calloc((size_t)n, sizeof *to);
    (void)arg;
    CHECK(many && to);
    CHECK_EQ(thrum_mpi_barrier(MPI_COMM_WORLD), 0);
    one = me == n - 1 ? 77 : 0;
    CHECK_EQ(thrum_mpi_bcast(&one, 1, MPI_INT, n - 1, MPI_COMM_WORLD), 0);
    CHECK_EQ(one, 77);
    CHECK_EQ(thrum_mpi_allreduce(&me, &one, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), 0);
    CHECK_EQ(one, sum);
    one = -1;
    CHECK_EQ(thrum_mpi_reduce(&me, &one, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD), 0);
    CHECK_EQ(one, me == 0 ? sum : -1);
    CHECK_EQ(thrum_mpi_gather(&me, 1, MPI_INT, many, 1, MPI_INT, 0, MPI_COMM_WORLD), 0);
    for (int i = 0; i < n; i++) {
        CHECK_EQ(many[i], me == 0 ? i : 0);
        many[i] = 10 + i;
    }
    CHECK_EQ(thrum_mpi_scatter(many, 1, MPI_INT, &one, 1, MPI_INT, 0, MPI_COMM_WORLD), 0);
    CHECK_EQ(one, 10 + me);
    CHECK_EQ(thrum_mpi_allgather(&me, 1, MPI_INT, to, 1, MPI_INT, MPI_COMM_WORLD), 0);
    for (int i = 0; i < n; i++) {
        CHECK_EQ(to[i], i);
        many[i] = me * 100 + i;
    }
    CHECK_EQ(thrum_mpi_alltoall(many, 1, MPI_INT, to, 1, MPI_INT, MPI_COMM_WORLD), 0);
    for (int i = 0; i < n; i++) {
        CHECK_EQ(to[i], i * 100 + me);
    }
    free(many);
    free(to);
    return 0;
}

TEST(collectives_by_a_task) {
    /* Each gives what the blocking form gives. */
    ranks_begin(&w);
    for (int i = 0; i < 5; i++) {
        CHECK_EQ(rig_run(&w.r, collectives, NULL), 0);
    }
    ranks_end(&w);
}

static int collective_beside(void *arg) {
    const MPI_Comm *comms = arg;
    int one = 1, all = 0;
    (void)comms;
    CHECK_EQ(thrum_mpi_allreduce(&one, &all, 1, MPI_INT, MPI_SUM, *comms), 0);
    CHECK_EQ(all, w.size);
    return 0;
}

TEST(collectives_of_several_communicators) {
    /* Tasks beside each other, one a communicator. */
    enum { MANY = 8 };
    MPI_Comm comms[MANY];
    thrum_handle *tasks[MANY];
    ranks_init(&w);
    for (int i = 0; i < MANY; i++) {
        CHECK_EQ(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]), MPI_SUCCESS);
    }
    ranks_begin(&w);
    for (int i = 0; i < MANY; i++) {
        thrum_attr attr = rig_attr(&w.r);
        /* in another order on each rank */
        CHECK_EQ(thrum_spawn_with(&tasks[i], &attr, collective_beside, &comms[(i + w.rank) % MANY]),
                 0);
    }
    for (int i = 0; i < MANY; i++) {
        CHECK_EQ(thrum_join(tasks[i], NULL), 0);
    }
    ranks_end(&w);
    for (int i = 0; i < MANY; i++) {
        CHECK_EQ(MPI_Comm_free(&comms[i]), MPI_SUCCESS);
    }
}

enum { TRACED = 41 }; /* a tag */

static int receives_any(void *arg) {
    int in = -1;
    (void)arg;
    return thrum_mpi_recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, TRACED + 1, MPI_COMM_WORLD,
                          MPI_STATUS_IGNORE);
}

static int receives_own(void *arg) {
    int in = -1;
    (void)arg;
    return thrum_mpi_recv(&in, 1, MPI_INT, w.rank, TRACED, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static int both_wait(void *arg) {
    thrum_handle *tasks[2];
    int code = -1;
    (void)arg;
    CHECK_EQ(thrum_spawn(&tasks[0], receives_own, NULL), 0);
    CHECK_EQ(thrum_spawn(&tasks[1], receives_any, NULL), 0);
    ranks_until_pending(2);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(thrum_mpi_send(&i, 1, MPI_INT, w.rank, TRACED + i, MPI_COMM_WORLD), 0);
        CHECK_EQ(thrum_join(tasks[i], &code), 0);
        CHECK_EQ(code, 0);
    }
    return 0;
}

TEST(traces_have_the_peer_and_the_tag) {
    /* Of each wait, where it begins and where it ends. */
    char text[80];
    ranks_begin(&w);
    CHECK_EQ(thrum_trace_start(w.r.sched, 0), 0);
    CHECK_EQ(rig_run(&w.r, both_wait, NULL), 0);
    CHECK_EQ(thrum_trace_stop(w.r.sched), 0);
    trace_page p = trace_written(w.r.sched);
    snprintf(text, sizeof text, "\",\"args\":{\"peer\":%d,\"tag\":%d}", w.rank, TRACED);
    CHECK_EQ(trace_count(&p, text), 2);
    snprintf(text, sizeof text, "\",\"args\":{\"peer\":\"any\",\"tag\":%d}", TRACED + 1);
    CHECK_EQ(trace_count(&p, text), 2);
    trace_end(&p);
    ranks_end(&w);
}
