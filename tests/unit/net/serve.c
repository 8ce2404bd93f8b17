/*
 * serve.c: a server: its connections, their number, what it refuses, and what is refused it.
 */
/* matrix: policy workers */
#include "support/io/served.h"
#include "support/times.h"

#include "platform/faults.h"

enum { GUESTS = 30 };

TEST(each_connection_has_a_task) {
    /* Many are open at a time, and are answered in any order; all is given back. */
    hall h;
    int fds[GUESTS];
    int before = -1;
    for (int round = 0; round < 3; round++) {
        hall_init(&h, echo);
        hall_open(&h);
        for (int i = 0; i < GUESTS; i++) {
            fds[i] = guest_at(h.where);
        }
        for (int k = 0; k < 3; k++) {
            for (int i = GUESTS - 1; i >= 0; i--) {
                guest_asks(fds[(i * 7) % GUESTS]);
            }
        }
        CHECK_EQ(atomic_load(&h.most), GUESTS);
        for (int i = 0; i < GUESTS / 2; i++) {
            close(fds[i]);
        }
        SPIN_UNTIL(atomic_load(&h.ended) == GUESTS / 2);
        CHECK_EQ(hall_end(&h), 0);
        for (int i = GUESTS / 2; i < GUESTS; i++) {
            guest_sees_the_end(fds[i]);
        }
        CHECK_EQ(atomic_load(&h.requests), 3 * GUESTS);
        hall_close(&h);
        CHECK(before < 0 || descriptors() == before);
        before = descriptors();
    }
}

TEST(connections_are_shared_out) {
    /* Behind a wait they go on on workers in turn, unless others are free earlier. */
    hall h;
    int fds[GUESTS];
    hall_init(&h, echo);
    hall_open(&h);
    const unsigned workers = thrum_sched_parallelism(h.r.sched);
    for (int i = 0; i < GUESTS; i++) {
        fds[i] = guest_at(h.where);
    }
    bool shared = workers == 1 || workers >= 31; /* not known by the bits */
    for (int round = 0; round < 20 || !shared; round++) {
        for (int i = 0; i < GUESTS; i++) {
            guest_asks(fds[i]);
        }
        const int bits = atomic_load(&h.worker_bits);
        shared = shared || (bits & (bits - 1)) != 0; /* at least two */
    }
    CHECK_EQ(hall_end(&h), 0);
    for (int i = 0; i < GUESTS; i++) {
        guest_sees_the_end(fds[i]);
    }
    hall_close(&h);
}

static void check_counted(const hall *h, uint64_t accepts, uint64_t served) {
    thrum_metrics m = THRUM_METRICS_INIT;
    CHECK_EQ(thrum_metrics_read(h->r.sched, THRUM_ALL_WORKERS, &m), 0);
    CHECK_EQ(m.io_accepts, accepts);
    CHECK_EQ(m.io_served, served);
}

TEST(a_limit_lets_more_wait) {
    /* Never more at a time; each of those that wait gets its turn. */
    hall h;
    int fds[GUESTS];
    hall_init(&h, slow);
    h.options.connections_max = 3;
    hall_open(&h);
    for (int i = 0; i < GUESTS; i++) {
        fds[i] = guest_at(h.where);
        CHECK_EQ(write(fds[i], "x", 1), 1);
    }
    SPIN_UNTIL(atomic_load(&h.requests) == 3);
    CHECK_EQ(thrum_sched_wait_idle(h.r.sched, THRUM_FOREVER), 0);
    CHECK_EQ(atomic_load(&h.begun), 3);
    check_counted(&h, 3, 3);
    for (int i = 0; i < GUESTS; i++) {
        thrum_sem_post(&h.go);
    }
    for (int i = 0; i < GUESTS; i++) {
        char byte;
        CHECK_EQ(read(fds[i], &byte, 1), 1);
        guest_sees_the_end(fds[i]);
    }
    CHECK_EQ(atomic_load(&h.most), 3);
    CHECK_EQ(hall_end(&h), 0);
    check_counted(&h, GUESTS, 0);
    hall_close(&h);
}

TEST(a_full_server_ends) {
    /* With no place left the end is seen as well; who waits in the backlog is never begun. */
    hall h;
    int fds[3];
    hall_init(&h, echo);
    h.options.connections_max = 1;
    hall_open(&h);
    fds[0] = guest_at(h.where);
    guest_asks(fds[0]); /* before the others come: nobody else has taken the place */
    for (int i = 1; i < 3; i++) {
        fds[i] = guest_at(h.where);
    }
    await_readable(h.listener.fd);
    CHECK_EQ(thrum_sched_wait_idle(h.r.sched, THRUM_FOREVER), 0);
    CHECK_EQ(hall_end(&h), 0);
    CHECK_EQ(atomic_load(&h.begun), 1);
    guest_sees_the_end(fds[0]);
    hall_close(&h);
    for (int i = 1; i < 3; i++) {
        close(fds[i]);
    }
}

static int closes_itself(thrum_io io, void *arg) {
    hall *h = arg;
    enters(h);
    CHECK_EQ(thrum_io_close(io), 0);
    thrum_yield();
    return leaves(h);
}

TEST(a_connection_closes_itself) {
    /* Its number comes again meanwhile, and the new one is no worse for it. */
    hall h;
    hall_init(&h, closes_itself);
    hall_open(&h);
    for (int i = 0; i < 200; i++) {
        guest_sees_the_end(guest_at(h.where));
    }
    CHECK_EQ(hall_end(&h), 0);
    CHECK_EQ(atomic_load(&h.ended), 200);
    hall_close(&h);
}

static int passes_on(thrum_io io, void *arg) {
    hall *h = arg;
    enters(h);
    const int fd = thrum_io_release(io);
    CHECK(fd >= 0);
    CHECK_EQ(thrum_serve_idle(io, THRUM_FOREVER), -EBADF);
    atomic_store(&h->requests, fd);
    return leaves(h);
}

TEST(a_connection_is_passed_on) {
    /* What was released stays open, and is no connection of the server's any more. */
    hall h;
    thrum_io io;
    hall_init(&h, passes_on);
    hall_open(&h);
    int guest = guest_at(h.where);
    SPIN_UNTIL(atomic_load(&h.ended) == 1);
    CHECK_EQ(hall_end(&h), 0);
    CHECK_EQ(thrum_io_adopt(&io, atomic_load(&h.requests)), 0);
    CHECK_EQ(thrum_write(io, "y", 1), 1);
    CHECK_EQ(thrum_io_close(io), 0);
    char byte;
    CHECK_EQ(read(guest, &byte, 1), 1);
    guest_sees_the_end(guest);
    hall_close(&h);
}

static int idle_body(void *arg) {
    pair p;
    (void)arg;
    pair_open(&p, "tcp:127.0.0.1:0");
    CHECK_EQ(thrum_serve_idle(p.far, THRUM_FOREVER), -EINVAL);
    CHECK_EQ(thrum_write(p.near, "x", 1), 1);
    char byte;
    CHECK_EQ(thrum_serve_idle(p.far, THRUM_FOREVER), -EINVAL);
    CHECK_EQ(thrum_serve_read(p.far, &byte, 1, THRUM_FOREVER), -EINVAL);
    CHECK_EQ(thrum_read(p.far, &byte, 1), 1); /* nothing was lost by that */
    pair_close(&p);
    CHECK_EQ(thrum_serve_idle(p.far, THRUM_FOREVER), -EBADF);
    CHECK_EQ(thrum_serve_idle((thrum_io){0, 0}, THRUM_FOREVER), -EBADF);
    CHECK_EQ(thrum_serve_read(p.far, &byte, 1, THRUM_FOREVER), -EBADF);
    return 0;
}

static int refusals_body(void *arg) {
    thrum_serve_options options = THRUM_SERVE_OPTIONS_INIT;
    static const int no_signal[] = {SIGUSR1, 99, 0};
    char where[THRUM_ADDRESS_TEXT];
    thrum_io listener = listen_at("tcp:127.0.0.1:0", where), io;
    CHECK_EQ(thrum_serve(listener, NULL, NULL, NULL), -EINVAL);
    options.size--;
    CHECK_EQ(thrum_serve(listener, echo, arg, &options), -EINVAL);
    options.size++;
    options.drain = -1;
    CHECK_EQ(thrum_serve(listener, echo, arg, &options), -EINVAL);
    options.drain = 0;
    options.stop_signals = no_signal;
    CHECK_EQ(thrum_serve(listener, echo, arg, &options), -EINVAL);
    CHECK_EQ(thrum_listen(&io, "udp:127.0.0.1:0", NULL), 0);
    CHECK(thrum_serve(io, echo, arg, NULL) < 0);
    CHECK_EQ(thrum_io_close(io), 0);
    CHECK_EQ(thrum_serve(io, echo, arg, NULL), -EBADF);
    CHECK_EQ(thrum_io_close(listener), 0);
    CHECK_EQ(thrum_serve(listener, echo, arg, NULL), -EBADF);
    return 0;
}

static int no_socket_body(void *arg) {
    const thrum_io io = no_socket();
    CHECK_EQ(thrum_serve(io, echo, arg, NULL), -ENOTSOCK);
    CHECK_EQ(thrum_io_close(io), 0);
    return 0;
}

TEST(what_is_no_socket_is_refused) {
    /* Nothing else has connections. */
    hall h;
    hall_init(&h, echo);
    rig_do(0, no_socket_body, &h);
}

TEST(what_makes_no_sense_is_refused) {
    /* Options, signals, what does not listen, and plain threads. */
    hall h;
    char where[THRUM_ADDRESS_TEXT];
    hall_init(&h, echo);
    rig_do(0, idle_body, NULL);
    rig_do(0, refusals_body, &h);
    thrum_io listener = listen_at("tcp:127.0.0.1:0", where);
    CHECK_EQ(thrum_serve(listener, echo, &h, NULL), -ESRCH);
    CHECK_EQ(thrum_serve_idle(listener, THRUM_FOREVER), -ESRCH);
    CHECK_EQ(thrum_serve_read(listener, where, 1, THRUM_FOREVER), -ESRCH);
    CHECK_EQ(thrum_io_close(listener), 0);
}

static int idle_deadline(thrum_io io, void *arg) {
    hall *h = arg;
    char byte;
    enters(h);
    CHECK_EQ(thrum_serve_idle(io, soon()), -ETIMEDOUT);
    CHECK_EQ(thrum_write(io, "a", 1), 1);
    CHECK_EQ(thrum_serve_idle(io, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_serve_idle(io, far_off()), 0); /* it takes nothing */
    CHECK_EQ(thrum_serve_idle(io, 0), -ETIMEDOUT);
    CHECK_EQ(thrum_serve_read(io, &byte, 0, THRUM_FOREVER), -EINVAL);
    CHECK_EQ(thrum_serve_read(io, &byte, 1, 0), -ETIMEDOUT);
    CHECK_EQ(thrum_serve_read(io, &byte, 1, THRUM_FOREVER), 1);
    CHECK_EQ(thrum_serve_read(io, &byte, 1, soon()), -ETIMEDOUT);
    CHECK_EQ(thrum_serve_idle(io, soon()), -ETIMEDOUT);
    return leaves(h);
}

TEST(idle_has_a_deadline) {
    /* It waits for something to read, and takes nothing of it. */
    hall h;
    char byte;
    hall_init(&h, idle_deadline);
    hall_open(&h);
    int guest = guest_at(h.where);
    CHECK_EQ(read(guest, &byte, 1), 1);
    CHECK_EQ(write(guest, "x", 1), 1);
    guest_sees_the_end(guest);
    CHECK_EQ(hall_end(&h), 0);
    hall_close(&h);
}

typedef struct reader {
    thrum_io io;
    hall *h;
} reader;

static int reads_for_it(void *arg) {
    const reader *r = arg;
    return echo(r->io, r->h);
}

static int has_a_reader(thrum_io io, void *arg) {
    reader r = {io, arg};
    thrum_handle *task;
    CHECK_EQ(thrum_spawn(&task, reads_for_it, &r), 0);
    CHECK_EQ(thrum_join(task, NULL), 0);
    return 0;
}

TEST(a_task_of_the_connections_waits_for_requests) {
    /* Not the connection's own: it is told of the server's end as well. */
    hall h;
    hall_init(&h, has_a_reader);
    hall_open(&h);
    int guest = guest_at(h.where);
    guest_asks(guest);
    guest_asks(guest);
    CHECK_EQ(hall_end(&h), 0);
    CHECK_EQ(atomic_load(&h.idle_code), -ESHUTDOWN);
    guest_sees_the_end(guest);
    hall_close(&h);
}

static int outlet[2];

static int copies_then_reads(thrum_io io, void *arg) {
    hall *h = arg;
    char byte;
    thrum_io to;
    enters(h);
    CHECK_EQ(thrum_io_adopt(&to, outlet[0]), 0);
    CHECK_EQ(thrum_copy(io, to, UINT64_MAX, THRUM_FOREVER), 3);
    atomic_store(&h->read_code, (int)thrum_serve_read(io, &byte, 1, THRUM_FOREVER));
    CHECK_EQ(thrum_io_close(to), 0);
    return leaves(h);
}

TEST(an_error_that_a_copy_has_seen_is_not_taken_for_the_end) {
    /* The system tells of a reset once, and the copy returned what it had written. */
    const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    hall h;
    char text[3];
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, outlet), 0);
    hall_init(&h, copies_then_reads);
    hall_open(&h);
    int guest = guest_at(h.where);
    CHECK_EQ(write(guest, "abc", 3), 3);
    CHECK_EQ(recv(outlet[1], text, 3, MSG_WAITALL), 3);
    CHECK_EQ(setsockopt(guest, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
    CHECK_EQ(close(guest), 0);
    SPIN_UNTIL(atomic_load(&h.ended) == 1);
    CHECK_EQ(atomic_load(&h.read_code), -ECONNRESET);
    CHECK_EQ(hall_end(&h), 0);
    hall_close(&h);
    CHECK_EQ(close(outlet[1]), 0);
}

TEST(no_descriptor_is_left_for_a_while) {
    /* It goes on when there is one again; the connection has waited. */
    hall h;
    hall_init(&h, echo);
    hall_open(&h);
    int first = guest_at(h.where);
    guest_asks(first);
    CHECK_EQ(thrum_sched_wait_idle(h.r.sched, THRUM_FOREVER), 0);
    th_os_fail(TH_OS_FAULT_ACCEPT, 0, 2);
    int second = guest_at(h.where);
    SPIN_UNTIL(th_os_fails_left(TH_OS_FAULT_ACCEPT) < 2);
    close(first); /* this has it try again at once */
    guest_asks(second);
    CHECK_EQ(th_os_fails_left(TH_OS_FAULT_ACCEPT), 0);
    th_os_fail(TH_OS_FAULT_ACCEPT, 0, 1000000);
    int third = guest_at(h.where);
    SPIN_UNTIL(th_os_fails_left(TH_OS_FAULT_ACCEPT) < 1000000);
    CHECK_EQ(hall_end(&h), 0); /* also while it has none */
    th_os_fail(TH_OS_FAULT_ACCEPT, 0, 0);
    guest_sees_the_end(second);
    hall_close(&h);
    close(third);
}

static uint64_t accepted(const hall *h) {
    thrum_metrics m = THRUM_METRICS_INIT;
    CHECK_EQ(thrum_metrics_read(h->r.sched, THRUM_ALL_WORKERS, &m), 0);
    return m.io_accepts;
}

/* Has the next connection fail for want of memory, of the library's own or of the scheduler's. */
static void fail_connection(bool library) {
    hall h;
    char byte;
    hall_init(&h, slow);
    hall_open(&h);
    int first = guest_at(h.where);
    CHECK_EQ(write(first, "x", 1), 1);
    SPIN_UNTIL(atomic_load(&h.requests) == 1);
    CHECK_EQ(thrum_sched_wait_idle(h.r.sched, THRUM_FOREVER), 0);
    if (library) {
        th_os_fail(TH_OS_FAULT_ALLOC, 0, 1);
    } else {
        atomic_store(&h.r.fail_all, true);
    }
    enum { MOST = 400 };
    int fds[MOST];
    struct pollfd asked[MOST];
    nfds_t n = 0;
    do { /* it may have memory for some tasks */
        fds[n] = guest_at(h.where);
        asked[n] = (struct pollfd){.fd = (__typeof__(asked->fd))fds[n], .events = POLLIN};
        n++;
        while (accepted(&h) <= n && poll(asked, n, 1) == 0) {
            /* each is taken, or one ends, before the next comes: few may fit into the backlog */
        }
    } while (poll(asked, n, n < MOST ? 0 : -1) == 0);
    CHECK(library || atomic_load(&h.r.refused) > 0);
    th_os_fail(TH_OS_FAULT_ALLOC, 0, 0);
    atomic_store(&h.r.fail_all, false);
    thrum_sem_post(&h.go);
    CHECK_EQ(read(first, &byte, 1), 1);
    guest_sees_the_end(first);
    CHECK_EQ(hall_wait(&h), -ENOMEM);
    hall_close(&h);
    while (n > 0) { /* those that were not accepted are reset when the listener is closed */
        CHECK(read(fds[--n], &byte, 1) == 0 || errno == ECONNRESET);
        CHECK_EQ(close(fds[n]), 0);
    }
}

TEST(no_memory_for_a_connection) {
    /* The server ends with the code, and those that are there go on to their end. */
    fail_connection(true);
    fail_connection(false);
}
