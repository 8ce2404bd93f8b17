/*
 * net_waits.c: deadlines, cancels and closes of accepts and dials; many of them at once.
 */
/* matrix: policy workers */
#include "support/io/nets.h"

#include "io/record.h"
#include "support/times.h"

/* ---- accepting ---- */

static int no_connection(void *arg) {
    char where[THRUM_ADDRESS_TEXT];
    thrum_io io = {3, 3};
    (void)arg;
    thrum_io listener = listen_at("tcp:127.0.0.1:0", where);
    CHECK_EQ(thrum_accept_until(listener, &io, soon()), -ETIMEDOUT);
    CHECK_EQ(thrum_accept_until(listener, &io, 0), -ETIMEDOUT);
    CHECK_EQ(io.fd, 3);
    thrum_io near;
    CHECK_EQ(thrum_dial(&near, where, 0), -ETIMEDOUT);
    CHECK_EQ(thrum_dial(&near, where, far_off()), 0);
    CHECK_EQ(thrum_accept_until(listener, &io, 0), -ETIMEDOUT); /* past it nothing is tried */
    CHECK_EQ(thrum_accept_until(listener, &io, far_off()), 0);
    CHECK_EQ(thrum_io_close(near), 0);
    CHECK_EQ(thrum_io_close(io), 0);
    CHECK_EQ(thrum_io_close(listener), 0);
    return 0;
}

TEST(an_accept_ends_at_its_deadline) {
    /* And takes nothing. */
    both(no_connection);
}

typedef struct stage {
    thrum_io listener;
    char where[THRUM_ADDRESS_TEXT];
    atomic_int begun;
    atomic_int ended;
    int code; /* that is expected */
} stage;

static int accept_for_nothing(void *arg) {
    stage *s = ((actor *)arg)->arg;
    thrum_io io;
    atomic_fetch_add(&s->begun, 1);
    CHECK_EQ(thrum_accept(s->listener, &io), s->code);
    atomic_fetch_add(&s->ended, 1);
    return 0;
}

TEST(a_close_ends_accepts) {
    /* Those of tasks and of plain threads: -EBADF. */
    rig r;
    stage s = {.code = -EBADF};
    rig_begin(&r, 0);
    s.listener = listen_at("tcp:127.0.0.1:0", s.where);
    cast *c = cast_new(&r);
    cast_add_mixed(c, 5, 5, accept_for_nothing, &s);
    SPIN_UNTIL(atomic_load(&s.begun) == 10);
    nap(); /* most of them wait by then; it need not be all */
    CHECK_EQ(thrum_io_close(s.listener), 0);
    cast_join(c);
    rig_stop(&r);
}

static int accept_body(void *arg) {
    stage *s = arg;
    thrum_io io;
    atomic_fetch_add(&s->begun, 1);
    return thrum_accept(s->listener, &io);
}

static int cancel_body(void *arg) {
    stage *s = arg;
    thrum_handle *handle;
    int result = 0;
    CHECK_EQ(thrum_spawn(&handle, accept_body, s), 0);
    YIELD_UNTIL(atomic_load(&s->begun) == 1);
    thrum_yield();
    thrum_cancel(handle);
    CHECK_EQ(thrum_join(handle, &result), 0);
    CHECK_EQ(result, -ECANCELED);
    thrum_io near, far;
    CHECK_EQ(thrum_dial(&near, s->where, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_accept(s->listener, &far), 0);
    CHECK_EQ(thrum_io_close(near), 0);
    CHECK_EQ(thrum_io_close(far), 0);
    return 0;
}

TEST(a_cancel_ends_an_accept) {
    /* The next one takes what comes afterwards. */
    stage s = {.code = 0};
    s.listener = listen_at("tcp:127.0.0.1:0", s.where);
    rig_do(0, cancel_body, &s);
    CHECK_EQ(thrum_io_close(s.listener), 0);
}

/* ---- many ---- */

enum { EACH = 20 };

static int dial_some(void *arg) {
    actor *a = arg;
    stage *s = a->arg;
    for (int i = 0; i < SCALED(EACH); i++) {
        thrum_io io;
        char text[32], back[32] = "";
        int n = snprintf(text, sizeof text, "%d of %d", i, a->index) + 1;
        CHECK_EQ(thrum_dial(&io, s->where, THRUM_FOREVER), 0);
        CHECK_EQ(thrum_write(io, text, (size_t)n), n);
        CHECK_EQ(thrum_read_full(io, back, (size_t)n, THRUM_FOREVER), n);
        CHECK_STR(text, back);
        CHECK_EQ(thrum_io_close(io), 0);
    }
    return 0;
}

static int echo_some(void *arg) {
    stage *s = ((actor *)arg)->arg;
    thrum_io io;
    int code;
    while ((code = thrum_accept(s->listener, &io)) == 0) {
        char text[32];
        int64_t n;
        while ((n = thrum_read(io, text, sizeof text)) > 0) {
            CHECK_EQ(thrum_write(io, text, (size_t)n), n);
        }
        CHECK_EQ(n, 0);
        atomic_fetch_add(&s->ended, 1);
        CHECK_EQ(thrum_io_close(io), 0);
    }
    CHECK_EQ(code, -EBADF);
    return 0;
}

static void dial_many(const char *address, int fibers, int threads, int (*client)(void *arg)) {
    rig r;
    stage s = {.code = 0};
    rig_begin(&r, 0);
    s.listener = listen_at(address, s.where);
    cast *servers = cast_new(&r);
    cast *clients = cast_new(&r);
    cast_add_mixed(servers, 6, 2, echo_some, &s);
    cast_add_mixed(clients, fibers, threads, client, &s);
    cast_join(clients);
    CHECK_EQ(thrum_io_close(s.listener), 0);
    cast_join(servers);
    CHECK_EQ(atomic_load(&s.ended), (fibers + threads) * SCALED(EACH));
    rig_stop(&r);
}

TEST(many_dial_at_once) {
    /* Each gets its own bytes back, tasks and plain threads. */
    dial_many("tcp:127.0.0.1:0", 8, 2, dial_some);
    dial_many("tcp:127.0.0.1:0", 0, 10, dial_some);
}

TEST(many_dial_a_unix_socket_at_once) {
    /* Likewise. */
    char address[64];
    snprintf(address, sizeof address, "unix:@thrum-test-%d", (int)getpid());
    dial_many(address, 8, 2, dial_some);
}

static int borrow_and_dial_some(void *arg) {
    stage *s = ((actor *)arg)->arg;
    for (int i = 0; i < SCALED(EACH); i++) {
        thrum_io io;
        char byte;
        CHECK_EQ(thrum_io_fd(s->listener), s->listener.fd);
        CHECK_EQ(thrum_dial(&io, s->where, THRUM_FOREVER), 0);
        CHECK_EQ(thrum_io_shutdown(io, THRUM_IO_WRITE), 0);
        CHECK_EQ(thrum_read(io, &byte, 1), 0); /* it has been accepted, and closed */
        CHECK_EQ(thrum_io_close(io), 0);
    }
    return 0;
}

TEST(a_listener_can_be_borrowed_while_it_accepts) {
    /* By any thread: the thread sanitizer finds nothing. */
    dial_many("tcp:127.0.0.1:0", 4, 2, borrow_and_dial_some);
}

/* ---- dialing ---- */

static int dial_full(void *arg) {
    thrum_io queued[2], io, far;
    stage *s = arg;
    thrum_listen_options options = THRUM_LISTEN_OPTIONS_INIT;
    options.backlog = 1;
    snprintf(s->where, sizeof s->where, "unix:@thrum-test-%d", (int)getpid());
    CHECK_EQ(thrum_listen(&s->listener, s->where, &options), 0);
    int n = 0;
    while (n < 2) {
        CHECK_EQ(thrum_dial(&queued[n++], s->where, far_off()), 0);
    }
    CHECK_EQ(thrum_dial(&io, s->where, soon()), -ETIMEDOUT);
    CHECK_EQ(thrum_accept(s->listener, &far), 0);
    CHECK_EQ(thrum_dial(&io, s->where, far_off()), 0);
    CHECK_EQ(thrum_io_close(io), 0);
    CHECK_EQ(thrum_io_close(far), 0);
    while (n > 0) {
        CHECK_EQ(thrum_io_close(queued[--n]), 0);
    }
    CHECK_EQ(thrum_io_close(s->listener), 0);
    return 0;
}

TEST(a_full_unix_listener_is_waited_for) {
    /* Until the deadline, or until a connection is taken. */
    stage s = {.code = 0};
    rig_do(0, dial_full, &s);
    CHECK_EQ(dial_full(&s), 0);
}

static int dial_silent(void *arg) {
    stage *s = arg;
    thrum_io io;
    atomic_fetch_add(&s->begun, 1);
    return thrum_dial(&io, s->where, THRUM_FOREVER);
}

/* A listener whose queue is full as soon as one stands in it; the system then ignores who dials. */
static int silent_listener(struct sockaddr_in *at, int fds[], int max) {
    socklen_t size = sizeof *at;
    int n = 0;
    *at = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    fds[n++] = socket(AF_INET, SOCK_STREAM, 0);
    CHECK_EQ(bind(fds[0], (void *)at, size), 0);
    CHECK_EQ(listen(fds[0], 0), 0);
    CHECK_EQ(getsockname(fds[0], (void *)at, &size), 0);
    while (n < max) {
        fds[n] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)connect(fds[n++], (void *)at, size);
        await_readable(fds[0]);
    }
    return n;
}

static int dial_silent_body(void *arg) {
    stage *s = arg;
    thrum_handle *handle;
    thrum_io io;
    int result = 0;
    const int before = open_count();
    CHECK_EQ(thrum_dial(&io, s->where, soon()), -ETIMEDOUT);
    CHECK_EQ(thrum_spawn(&handle, dial_silent, s), 0);
    YIELD_UNTIL(atomic_load(&s->begun) == 1);
    nap(); /* it waits by then, or not */
    thrum_cancel(handle);
    CHECK_EQ(thrum_join(handle, &result), 0);
    CHECK_EQ(result, -ECANCELED);
    CHECK_EQ(open_count(), before);
    return 0;
}

TEST(a_dial_ends_at_its_deadline_and_by_a_cancel) {
    /* With nothing open afterwards, from tasks and from a plain thread. */
    struct sockaddr_in at;
    int fds[5];
    stage s = {.code = 0};
    thrum_io io;
    int n = silent_listener(&at, fds, 5);
    snprintf(s.where, sizeof s.where, "tcp:127.0.0.1:%u", ntohs(at.sin_port));
    rig_do(0, dial_silent_body, &s);
    CHECK_EQ(thrum_dial(&io, s.where, soon()), -ETIMEDOUT);
    while (n > 0) {
        close(fds[--n]);
    }
}

/* ---- listeners that were made elsewhere ---- */

static int adopted_body(void *arg) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    char where[THRUM_ADDRESS_TEXT];
    thrum_io listener, near, far;
    (void)arg;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK_EQ(bind(fd, (void *)&at, size), 0);
    CHECK_EQ(listen(fd, 5), 0);
    CHECK_EQ(thrum_io_adopt(&listener, fd), 0);
    CHECK_EQ(thrum_accept_until(listener, &far, soon()), -ETIMEDOUT);
    CHECK_EQ(thrum_io_local(listener, where, sizeof where), 0);
    CHECK_EQ(thrum_dial(&near, where, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_accept(listener, &far), 0);
    check_talks(near, far);
    CHECK_EQ(thrum_io_close(near), 0);
    CHECK_EQ(thrum_io_close(far), 0);
    CHECK_EQ(thrum_io_release(listener), fd);
    CHECK_EQ(fcntl(fd, F_GETFL) & O_NONBLOCK, 0); /* as it was */
    close(fd);
    return 0;
}

TEST(a_listener_that_blocks_is_taken_over) {
    /* Its accepts do not hold a worker up, and it is given back as it was. */
    both(adopted_body);
}

/* ---- waits without a direction ---- */

static int wait_in_vain(void *arg) {
    stage *s = ((actor *)arg)->arg;
    atomic_fetch_add(&s->begun, 1);
    CHECK_EQ(thrum_io_wait(s->listener, THRUM_IO_READ, THRUM_FOREVER), -EBADF);
    return 0;
}

static int wait_for_urgent(void *arg) {
    stage *s = ((actor *)arg)->arg;
    char text[8];
    atomic_fetch_add(&s->begun, 1);
    CHECK_EQ(thrum_read_until(s->listener, text, 8, soon()), -ETIMEDOUT);
    atomic_fetch_add(&s->ended, 1);
    return 0;
}

/* How many stand in thrum_io_wait for something to read. */
static int watching(thrum_io io) {
    th_direction *d = &th_record_at(io.fd)->directions[0];
    return waiting32(&d->xword, &d->first_watch);
}

TEST(a_thread_that_waits_is_found_by_a_close_behind_an_event) {
    /* An event for which the descriptor is not ready after all leaves the thread where it is. */
    rig r;
    pair p;
    stage s = {.code = 0};
    char urgent;
    rig_begin(&r, 0);
    pair_open(&p, "tcp:127.0.0.1:0");
    s.listener = p.far;
    cast *c = cast_new(&r);
    cast_add(c, true, wait_for_urgent, &s); /* has a worker told of it */
    cast_add(c, false, wait_in_vain, &s);
    SPIN_UNTIL(watching(p.far) == 1 && atomic_load(&s.ended) == 1);
    CHECK_EQ(send(thrum_io_fd(p.near), "!", 1, MSG_OOB), 1);
    while (recv(thrum_io_fd(p.far), &urgent, 1, MSG_OOB | MSG_PEEK) != 1) {
        nap();
    }
    nap(); /* the worker has the event by then, or not */
    CHECK_EQ(thrum_io_close(p.far), 0);
    cast_join(c);
    CHECK_EQ(thrum_io_close(p.near), 0);
    CHECK_EQ(thrum_io_close(p.listener), 0);
    rig_stop(&r);
}
