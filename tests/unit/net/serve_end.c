/*
 * serve_end.c: what ends a server, and how its connections end with it.
 */
/* matrix: policy workers */
/* wrap: th_os_now */
#include "support/io/served.h"
#include "support/sync/stopped_clock.h"
#include "support/times.h"

static void settle(hall *h) {
    CHECK_EQ(thrum_sched_wait_idle(h->r.sched, THRUM_FOREVER), 0);
}

/* ---- what ends it ---- */

TEST(its_listener_is_closed) {
    /* Idle connections end at once, and the server with them. */
    hall h;
    hall_init(&h, echo);
    h.options.stop = NULL;
    hall_open(&h);
    int guest = guest_at(h.where);
    guest_asks(guest);
    settle(&h);
    CHECK_EQ(thrum_io_close(h.listener), 0);
    guest_sees_the_end(guest);
    CHECK_EQ(hall_wait(&h), 0);
    CHECK_EQ(atomic_load(&h.idle_code), -ESHUTDOWN);
    rig_stop(&h.r);
}

TEST(an_event_ends_it) {
    /* In whatever state it is; also one that was signaled before it began. */
    for (int i = 0; i < 50; i++) {
        hall h;
        hall_init(&h, echo);
        if (i % 5 == 0) {
            thrum_event_signal(&h.stop);
        }
        hall_open(&h);
        if (i % 5 == 1) {
            settle(&h);
        }
        int guest = i % 5 > 2 ? guest_at(h.where) : -1;
        CHECK_EQ(hall_end(&h), 0);
        hall_close(&h);
        close(guest);
    }
}

/* One is in the middle of a request, and one waits. */
static void guests_come(hall *h, int *busy, int *idle) {
    *busy = guest_at(h->where);
    CHECK_EQ(write(*busy, "x", 1), 1);
    SPIN_UNTIL(atomic_load(&h->requests) == 1);
    *idle = guest_at(h->where);
    SPIN_UNTIL(atomic_load(&h->begun) == 2);
    settle(h);
}

TEST(a_signal_ends_it) {
    /* One of several; those that come at once behind it mean the same. */
    static const int ends[] = {SIGUSR1, SIGTERM, 0};
    hall h;
    hall_init(&h, echo);
    h.options.stop = NULL;
    h.options.stop_signals = ends;
    hall_open(&h);
    int guest = guest_at(h.where);
    guest_asks(guest);
    clock_stop(); /* for the thread that has the signals: all come at once */
    CHECK_EQ(kill(getpid(), SIGTERM), 0);
    CHECK_EQ(hall_wait(&h), 0);
    guest_sees_the_end(guest);
    CHECK_EQ(kill(getpid(), SIGTERM), 0); /* it would end the test */
    CHECK_EQ(kill(getpid(), SIGUSR1), 0);
    clock_set(0);
    hall_close(&h);
}

TEST(signals_that_did_not_end_it_are_as_before) {
    /* Another reason ends it: what they did before they do again. */
    static const int ends[] = {SIGUSR1, SIGTERM, 0};
    struct sigaction now;
    hall h;
    hall_init(&h, echo);
    h.options.stop_signals = ends;
    hall_open(&h);
    settle(&h);
    thrum_event_signal(&h.stop);
    CHECK_EQ(hall_wait(&h), 0);
    CHECK_EQ(sigaction(SIGTERM, NULL, &now), 0);
    CHECK(now.sa_handler == SIG_DFL);
    hall_close(&h);
}

TEST(a_second_signal_at_once_cuts_nothing_off) {
    /* timeout(1) sends two: what has begun is answered all the same. */
    static const int ends[] = {SIGTERM, 0};
    hall h;
    char byte;
    hall_init(&h, slow);
    h.options.stop = NULL;
    h.options.stop_signals = ends;
    hall_open(&h);
    int busy;
    int idle;
    guests_come(&h, &busy, &idle);
    clock_stop(); /* for the thread that has the signals: both come at once */
    CHECK_EQ(kill(getpid(), SIGTERM), 0);
    guest_sees_the_end(idle); /* it drains */
    CHECK_EQ(kill(getpid(), SIGTERM), 0);
    clock_set(0);
    thrum_sem_post(&h.go);
    CHECK_EQ(read(busy, &byte, 1), 1);
    guest_sees_the_end(busy);
    CHECK_EQ(hall_wait(&h), 0);
    hall_close(&h);
}

static void raises(thrum_io listener, void *arg) {
    hall *h = arg;
    CHECK_EQ(listener.fd, h->listener.fd);
    CHECK_EQ(atomic_fetch_add(&h->requests, 1), 0);
    CHECK_EQ(kill(getpid(), SIGTERM), 0); /* not caught yet, it would end the test */
}

TEST(a_signal_may_come_as_soon_as_it_has_started) {
    /* What is told of the start finds the signals caught: whoever hears of it may send one. */
    static const int ends[] = {SIGTERM, 0};
    hall h;
    hall_init(&h, echo);
    h.options.stop = NULL;
    h.options.stop_signals = ends;
    h.options.started = raises;
    hall_open(&h);
    CHECK_EQ(hall_wait(&h), 0);
    CHECK_EQ(atomic_load(&h.requests), 1);
    hall_close(&h);
}

TEST(a_cancel_of_its_caller_ends_it) {
    /* The connections are drained all the same. */
    hall h;
    char byte;
    hall_init(&h, slow);
    hall_open(&h);
    int busy;
    int idle;
    guests_come(&h, &busy, &idle);
    CHECK_EQ(thrum_cancel(h.server), 0);
    guest_sees_the_end(idle);
    CHECK_EQ(atomic_load(&h.now), 1);
    thrum_sem_post(&h.go);
    CHECK_EQ(read(busy, &byte, 1), 1);
    guest_sees_the_end(busy);
    CHECK_EQ(hall_wait(&h), -ECANCELED);
    hall_close(&h);
}

TEST(a_stop_ends_it) {
    /* One with a deadline cancels the server and all that it has. */
    hall h;
    hall_init(&h, slow);
    hall_open(&h);
    int guest = guest_at(h.where);
    CHECK_EQ(write(guest, "x", 1), 1);
    SPIN_UNTIL(atomic_load(&h.requests) == 1);
    CHECK_EQ(thrum_sched_stop_until(h.r.sched, soon()), -ETIMEDOUT);
    CHECK_EQ(hall_wait(&h), -ECANCELED);
    rig_stop(&h.r);
    guest_sees_the_end(guest);
    CHECK_EQ(thrum_io_close(h.listener), 0);
}

static int serve_and_stop(void *arg) {
    hall *h = arg;
    thrum_event_signal(&h->stop);
    return 0;
}

TEST(a_bound_thread_serves) {
    /* Without workers: its tasks run while it waits. */
    hall h;
    hall_init(&h, echo);
    rig_init(&h.r);
    h.r.config.workers = 0;
    rig_start(&h.r);
    CHECK_EQ(thrum_sched_bind(h.r.sched), 0);
    h.listener = listen_at("tcp:127.0.0.1:0", h.where);
    int guest = guest_at(h.where);
    CHECK_EQ(write(guest, "x", 1), 1);
    rig_go(&h.r, serve_and_stop, &h);
    CHECK_EQ(serves(&h), 0);
    CHECK_EQ(thrum_sched_unbind(), 0);
    close(guest);
    hall_close(&h);
}

/* ---- how connections end ---- */

TEST(a_request_that_is_there_is_answered) {
    /* It has come, and nobody has read it when the server ends. */
    for (int i = 0; i < 30; i++) {
        hall h;
        char byte;
        hall_init(&h, slow);
        hall_open(&h);
        int busy = guest_at(h.where);
        CHECK_EQ(write(busy, "x", 1), 1);
        SPIN_UNTIL(atomic_load(&h.requests) == 1);
        int other = guest_at(h.where);
        SPIN_UNTIL(atomic_load(&h.begun) == 2);
        CHECK_EQ(write(other, "x", 1), 1);
        /* It has come when it can be read, or has been: on a network that is a moment later. */
        const int far = atomic_load(&h.slow_fd);
        SPIN_UNTIL(is_readable_within(far, 0) || atomic_load(&h.requests) == 2);
        thrum_event_signal(&h.stop);
        thrum_sem_post(&h.go);
        thrum_sem_post(&h.go);
        CHECK_EQ(read(busy, &byte, 1), 1);
        CHECK_EQ(read(other, &byte, 1), 1);
        guest_sees_the_end(busy);
        guest_sees_the_end(other);
        CHECK_EQ(hall_wait(&h), 0);
        CHECK_EQ(atomic_load(&h.requests), 2);
        hall_close(&h);
    }
}

static int ends_while_draining(thrum_io io, void *arg) {
    hall *h = arg;
    enters(h);
    CHECK_EQ(thrum_sem_wait(&h->go), 0);
    atomic_store(&h->idle_code, thrum_serve_idle(io, THRUM_FOREVER));
    return leaves(h);
}

TEST(a_wait_that_begins_late_ends_too) {
    /* The server drains already when the connection comes to wait. */
    hall h;
    hall_init(&h, ends_while_draining);
    hall_open(&h);
    int guest = guest_at(h.where);
    SPIN_UNTIL(atomic_load(&h.begun) == 1);
    thrum_event_signal(&h.stop);
    settle(&h);
    thrum_sem_post(&h.go);
    guest_sees_the_end(guest);
    CHECK_EQ(hall_wait(&h), 0);
    CHECK_EQ(atomic_load(&h.idle_code), -ESHUTDOWN);
    hall_close(&h);
}

TEST(idle_ones_end_whenever_it_is) {
    /* Those that are about to wait, wait, or have just been asked: none is forgotten. */
    for (int round = 0; round < SCALED(60); round++) {
        enum { GUESTS = 6 };
        hall h;
        int fds[GUESTS];
        hall_init(&h, echo);
        hall_open(&h);
        for (int i = 0; i < GUESTS; i++) {
            fds[i] = guest_at(h.where);
            if (i % 2) {
                guest_asks(fds[i]);
            }
        }
        if (round % 3 == 0) {
            CHECK_EQ(write(fds[0], "x", 1), 1);
        }
        CHECK_EQ(hall_end(&h), 0);
        hall_close(&h);
        for (int i = 0; i < GUESTS; i++) {
            close(fds[i]);
        }
    }
}

/* ---- not alone at a listener ---- */

TEST(two_servers_at_a_listener) {
    /* Each ends by itself, and the other goes on. In one scheduler, and in two. */
    for (int round = 0; round < 4; round++) {
        hall a, b;
        hall_init(&a, echo);
        hall_init(&b, echo);
        hall_open(&a);
        b.listener = a.listener;
        if (round & 1) {
            rig_begin(&b.r, 2);
        }
        const thrum_attr attr = rig_attr(round & 1 ? &b.r : &a.r);
        CHECK_EQ(thrum_spawn_with(&b.server, &attr, serves, &b), 0);
        settle(&a);
        if (round & 1) {
            settle(&b);
        }
        int fds[10];
        for (int i = 0; i < 10; i++) {
            fds[i] = guest_at(a.where);
            guest_asks(fds[i]);
        }
        while (!atomic_load(&a.begun) || !atomic_load(&b.begun)) { /* each gets some */
            int more = guest_at(a.where);
            guest_asks(more);
            close(more);
        }
        settle(&a);
        hall *first = round & 2 ? &a : &b;
        hall *second = round & 2 ? &b : &a;
        CHECK_EQ(hall_end(first), 0);
        const int before = atomic_load(&second->begun);
        int late = guest_at(a.where);
        guest_asks(late);
        CHECK_EQ(atomic_load(&second->begun), before + 1);
        CHECK_EQ(hall_end(second), 0);
        guest_sees_the_end(late);
        for (int i = 0; i < 10; i++) {
            guest_sees_the_end(fds[i]);
        }
        if (round & 1) {
            rig_stop(&b.r);
        }
        hall_close(&a);
    }
}

static void *accepts(void *seat) {
    hall *h = ((crew_seat *)seat)->arg;
    thrum_io io;
    CHECK_EQ(thrum_accept(h->listener, &io), -EBADF);
    return NULL;
}

TEST(others_accept_too) {
    /* Plain threads wait at the listener as well; the server's end does not wait for them. */
    hall h;
    crew c;
    hall_init(&h, echo);
    rig_begin(&h.r, 0);
    h.listener = listen_at("tcp:127.0.0.1:0", h.where);
    crew_start(&c, 2, accepts, &h);
    const thrum_attr attr = rig_attr(&h.r);
    CHECK_EQ(thrum_spawn_with(&h.server, &attr, serves, &h), 0);
    nap(); /* any order is right */
    CHECK_EQ(hall_end(&h), 0);
    CHECK_EQ(thrum_io_close(h.listener), 0);
    crew_join(&c);
    rig_stop(&h.r);
}
