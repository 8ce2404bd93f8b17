/*
 * pollsets.c: sets of descriptors by the system's driver for sockets: what is asked of it, and how
 * often; answers that are out of date, and those that nobody waits for any more; threads that sleep
 * for the same set.
 */
/* wrap: th_afd_ask th_afd_take */
#include "windows/watched.h"

#include <thrum.h>

static atomic_int asks;
static int taken_from = -1; /* from which a byte is taken behind the back of an answer */

int __real_th_afd_ask(const th_afd *afd, th_afd_request *request, SOCKET base, ULONG events);
int __wrap_th_afd_ask(const th_afd *afd, th_afd_request *request, SOCKET base, ULONG events);
unsigned __real_th_afd_take(HANDLE port, th_afd_request *requests[], unsigned max,
                            int64_t deadline);
unsigned __wrap_th_afd_take(HANDLE port, th_afd_request *requests[], unsigned max,
                            int64_t deadline);

int __wrap_th_afd_ask(const th_afd *afd, th_afd_request *request, SOCKET base, ULONG events) {
    atomic_fetch_add(&asks, 1);
    return __real_th_afd_ask(afd, request, base, events);
}

unsigned __wrap_th_afd_take(HANDLE port, th_afd_request *requests[], unsigned max,
                            int64_t deadline) {
    const unsigned n = __real_th_afd_take(port, requests, max, deadline);
    const int fd = taken_from;
    char byte;
    if (n && fd >= 0) {
        taken_from = -1;
        /* Behind the answer, and before the set has its lock. */
        CHECK_EQ(recv(fd, &byte, 1, 0), 1);
    }
    return n;
}

TEST(an_event_is_told_once_until_a_call_finds_nothing_left) {
    /* A read that leaves something has it told again. */
    watched w;
    watched_open(&w);
    put(w.fds[1], "xy");
    CHECK_EQ(next_bits(&w, far_off()), TH_OS_IN);
    CHECK_EQ(next_bits(&w, 0), 0);
    CHECK_EQ(read_byte(&w), 1);
    CHECK_EQ(next_bits(&w, far_off()), TH_OS_IN); /* that one has left something */
    CHECK_EQ(read_byte(&w), 1);
    CHECK_EQ(read_byte(&w), -EAGAIN);
    CHECK_EQ(next_bits(&w, 0), 0);
    put(w.fds[1], "z");
    CHECK_EQ(next_bits(&w, far_off()), TH_OS_IN);
    watched_close(&w);
}

TEST(an_answer_from_before_a_call_is_none) {
    /* What the system has answered is taken behind its back; a call finds nothing, and what comes
     * later is told. */
    watched w;
    watched_open(&w);
    CHECK_EQ(read_byte(&w), -EAGAIN);
    CHECK_EQ(next_bits(&w, 0), 0);
    put(w.fds[1], "x");
    for (char byte; recv(w.fds[0], &byte, 1, MSG_PEEK) != 1;) {
        sched_yield();
    }
    CHECK_EQ(read_byte(&w), 1);
    CHECK_EQ(read_byte(&w), -EAGAIN);
    CHECK_EQ(next_bits(&w, 0), 0);
    put(w.fds[1], "y");
    CHECK_EQ(next_bits(&w, far_off()), TH_OS_IN);
    watched_close(&w);
}

TEST(an_answer_that_came_first_is_no_loss) {
    /* It is told although nothing is left; the call behind it has the next byte told. */
    watched w;
    watched_open(&w);
    taken_from = w.fds[0];
    put(w.fds[1], "x");
    CHECK_EQ(next_bits(&w, far_off()), TH_OS_IN);
    CHECK_EQ(taken_from, -1);
    CHECK_EQ(read_byte(&w), -EAGAIN);
    put(w.fds[1], "y");
    CHECK_EQ(next_bits(&w, far_off()), TH_OS_IN);
    CHECK_EQ(read_byte(&w), 1);
    watched_close(&w);
}

/* ---- how often it is asked ---- */

TEST(what_waits_is_not_asked_for_again) {
    /* Of a hundred connections the one that has something costs questions, whatever waits. */
    enum { MANY = 100, TURNS = 20 };
    int fds[MANY][2];
    th_os_pollset set;
    th_os_event events[2 * MANY];
    char byte;
    CHECK_EQ(th_os_pollset_open(&set), 0);
    for (int i = 0; i < MANY; i++) {
        pair_tcp(fds[i]);
        CHECK_EQ(th_os_pollset_add(&set, fds[i][0], (uint64_t)i), 0);
    }
    for (int told = 0; told < MANY;) {
        told += th_os_pollset_wait(&set, events, 2 * MANY, far_off());
    }
    CHECK_EQ(atomic_load(&asks), 2 * MANY);
    atomic_store(&asks, 0);
    for (int i = 0; i < TURNS; i++) {
        put(fds[i][1], "x");
        CHECK_EQ(th_os_pollset_wait(&set, events, 2 * MANY, far_off()), 1);
        CHECK_EQ(events[0].key, i);
        CHECK_EQ(th_os_io_read(fds[i][0], TH_OS_TCP, &byte, 1), 1);
        CHECK_EQ(th_os_io_read(fds[i][0], TH_OS_TCP, &byte, 1), -EAGAIN);
        CHECK_EQ(th_os_pollset_wait(&set, events, 2 * MANY, 0), 0);
    }
    CHECK_EQ(atomic_load(&asks), TURNS);
    for (int i = 0; i < MANY; i++) {
        CHECK_EQ(close(fds[i][0]) | close(fds[i][1]), 0);
    }
    th_os_pollset_close(&set);
}

typedef struct crowd {
    thrum_io listener;
    char where[THRUM_ADDRESS_TEXT];
    thrum_event stop;
    atomic_int answered;
} crowd;

static int crowd_talk(thrum_io io, void *arg) {
    char byte;
    (void)arg;
    while (thrum_read(io, &byte, 1) == 1 && thrum_write(io, &byte, 1) == 1) {
    }
    return 0;
}

static int crowd_serve(void *arg) {
    crowd *c = arg;
    thrum_serve_options options = THRUM_SERVE_OPTIONS_INIT;
    options.stop = &c->stop;
    return thrum_serve(c->listener, crowd_talk, NULL, &options);
}

static int crowd_client(void *arg) {
    crowd *c = arg;
    char byte = 'x';
    thrum_io io;
    CHECK_EQ(thrum_dial(&io, c->where, THRUM_FOREVER), 0);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(thrum_write(io, &byte, 1), 1);
        CHECK_EQ(thrum_read(io, &byte, 1), 1);
    }
    CHECK_EQ(thrum_io_close(io), 0);
    atomic_fetch_add(&c->answered, 1);
    return 0;
}

static int crowd_body(void *arg) {
    const int many = (int)(intptr_t)arg;
    crowd c = {.answered = 0};
    thrum_handle *server;
    thrum_scope clients;
    thrum_event_init(&c.stop, THRUM_EVENT_MANUAL, false);
    CHECK_EQ(thrum_listen(&c.listener, "tcp:127.0.0.1:0", NULL), 0);
    CHECK_EQ(thrum_io_local(c.listener, c.where, sizeof c.where), 0);
    CHECK_EQ(thrum_spawn(&server, crowd_serve, &c), 0);
    CHECK_EQ(thrum_scope_open(&clients, THRUM_FOREVER), 0);
    for (int i = 0; i < many; i++) {
        CHECK_EQ(thrum_scope_go(&clients, crowd_client, &c), 0);
    }
    CHECK_EQ(thrum_scope_join(&clients), 0);
    CHECK_EQ(atomic_load(&c.answered), many);
    thrum_event_signal(&c.stop);
    CHECK_EQ(thrum_join(server, NULL), 0);
    return thrum_io_close(c.listener);
}

TEST(a_crowd_costs_questions_by_its_size_alone) {
    /* Two descriptors each, their first events, three bytes both ways, and the end: eight; one more
     * for each that found nothing a second time. */
    for (int many = 10; many <= 160; many *= 4) {
        atomic_store(&asks, 0);
        CHECK_EQ(thrum_run(NULL, crowd_body, (void *)(intptr_t)many), 0);
        CHECK(atomic_load(&asks) <= 16 * many + 32);
    }
}

TEST(a_side_that_has_ended_is_not_told_to_a_writer_again_and_again) {
    /* The other side sends nothing more, and takes nothing: each wait for room is asked
     * for once. */
    watched w;
    char block[65536] = "";
    watched_open(&w);
    CHECK_EQ(shutdown(w.fds[1], SHUT_WR), 0);
    CHECK_EQ(next_bits(&w, far_off()), TH_OS_IN | TH_OS_ODD);
    CHECK_EQ(read_byte(&w), 0);
    CHECK_EQ(next_bits(&w, far_off()), TH_OS_IN | TH_OS_ODD);
    atomic_store(&asks, 0);
    int told = 0; /* each time that the system takes some more of it */
    for (int i = 0; i < 50; i++) {
        while (th_os_io_write(w.fds[0], TH_OS_TCP, block, sizeof block) != -EAGAIN) {
        }
        told += next_bits(&w, soon()) != 0;
    }
    CHECK(atomic_load(&asks) <= told + 1);
    watched_close(&w);
}

TEST(urgent_bytes_are_told_once) {
    /* They stay until others come, and nobody is woken for them meanwhile. */
    watched w;
    watched_open(&w);
    CHECK_EQ(send(w.fds[1], "u", 1, MSG_OOB), 1);
    CHECK_EQ(next_bits(&w, far_off()) & (TH_OS_IN | TH_OS_ODD), TH_OS_IN | TH_OS_ODD);
    CHECK_EQ(read_byte(&w), -EAGAIN);
    CHECK_EQ(next_bits(&w, soon()), 0);
    put(w.fds[1], "x");
    CHECK_EQ(next_bits(&w, far_off()) & TH_OS_IN, TH_OS_IN);
    CHECK_EQ(read_byte(&w), 1);
    watched_close(&w);
}

/* ---- ends ---- */

TEST(what_is_removed_while_it_is_asked_for_is_told_no_more) {
    /* And it may be added again at once. */
    watched w;
    watched_open(&w);
    CHECK_EQ(th_os_pollset_remove(&w.set, w.fds[0]), 0);
    CHECK_EQ(th_os_pollset_remove(&w.set, w.fds[0]), -ENOENT);
    put(w.fds[1], "x");
    CHECK_EQ(next_bits(&w, soon()), 0);
    CHECK_EQ(th_os_pollset_add(&w.set, w.fds[0], 7), 0);
    CHECK_EQ(th_os_pollset_add(&w.set, w.fds[0], 7), -EEXIST);
    uint32_t bits = 0;
    while (bits != (TH_OS_IN | TH_OS_OUT)) {
        bits |= next_bits(&w, far_off());
    }
    watched_close(&w);
}

TEST(a_socket_that_is_closed_behind_our_back_leaves_its_number) {
    /* The system tells of it, so that another one may have the number in the same set. */
    watched w;
    th_os_event events[4];
    watched_open(&w);
    CHECK_EQ(closesocket((SOCKET)w.fds[0]), 0);
    int others[8];
    int same = 0;
    for (int i = 0; i < 8; i++) {
        others[i] = socket(AF_INET, SOCK_DGRAM, 0);
        same += others[i] == w.fds[0];
    }
    CHECK_EQ(same, 1); /* under wine it is the next one's */
    CHECK_EQ(th_os_pollset_add(&w.set, w.fds[0], 8), 0);
    CHECK_EQ(th_os_pollset_wait(&w.set, events, 4, far_off()), 1);
    CHECK_EQ(events[0].key, 8);
    th_os_pollset_close(&w.set);
    for (int i = 0; i < 8; i++) {
        CHECK_EQ(close(others[i]), 0);
    }
    CHECK_EQ(close(w.fds[1]), 0);
}

static void *asks_and_ends(void *arg) {
    const watched *w = arg;
    CHECK_EQ(read_byte(w), -EAGAIN);
    CHECK_EQ(next_bits(w, 0), 0);
    return NULL;
}

TEST(a_question_outlives_the_thread_that_asked_it) {
    /* The system may give it up with the thread; then it is asked anew. */
    watched w;
    pthread_t thread;
    watched_open(&w);
    put(w.fds[1], "x");
    CHECK_EQ(next_bits(&w, far_off()), TH_OS_IN);
    CHECK_EQ(read_byte(&w), 1);
    CHECK_EQ(pthread_create(&thread, NULL, asks_and_ends, &w), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    put(w.fds[1], "y");
    CHECK_EQ(next_bits(&w, far_off()), TH_OS_IN);
    watched_close(&w);
}

typedef struct asker {
    watched w;
    atomic_bool asked;
} asker;

static void *asks_and_ends_at_once(void *arg) {
    asker *a = arg;
    (void)asks_and_ends(&a->w);
    atomic_store(&a->asked, true);
    return NULL;
}

TEST(an_answer_that_comes_as_its_thread_ends_is_not_lost) {
    /* Under wine, that thread would have written it. */
    asker a;
    pthread_t thread;
    watched_open(&a.w);
    for (int i = 0; i < SCALED(50); i++) {
        atomic_store(&a.asked, false);
        CHECK_EQ(pthread_create(&thread, NULL, asks_and_ends_at_once, &a), 0);
        while (!atomic_load(&a.asked)) {
        }
        put(a.w.fds[1], "x");
        CHECK_EQ(next_bits(&a.w, far_off()), TH_OS_IN);
        CHECK_EQ(read_byte(&a.w), 1);
        CHECK_EQ(pthread_join(thread, NULL), 0);
    }
    watched_close(&a.w);
}

/* ---- several threads ---- */

typedef struct waiter {
    const th_os_pollset *sets[2];
    unsigned n;
    bool takes;
    int result;
    th_os_event event;
    pthread_t thread;
} waiter;

static void *wait_main(void *arg) {
    waiter *r = arg;
    r->result = r->takes ? th_os_pollset_wait(r->sets[0], &r->event, 1, far_off())
                         : th_os_pollset_wait_any(r->sets, r->n, far_off());
    return NULL;
}

static bool sleeps_in(const th_os_pollset *named) {
    th_set *set = th_set_of(named);
    AcquireSRWLockShared(&set->lock);
    const bool sleeps = !th_link_alone(&set->places);
    ReleaseSRWLockShared(&set->lock);
    return sleeps;
}

/* It has a place in its last set, and so in all. */
static void waiter_begin(waiter *r) {
    CHECK_EQ(pthread_create(&r->thread, NULL, wait_main, r), 0);
    while (!sleeps_in(r->sets[r->n - 1])) {
        sched_yield();
    }
}

static void waiter_end(const waiter *r) {
    CHECK_EQ(pthread_join(r->thread, NULL), 0);
}

TEST(a_wake_up_wakes_all_that_sleep_and_stays) {
    /* Until it is taken back, each wait has it. */
    watched w;
    waiter waiters[3];
    th_os_event event;
    watched_open(&w);
    for (int i = 0; i < 3; i++) {
        waiters[i] = (waiter){.sets = {&w.set}, .n = 1, .takes = true};
        waiter_begin(&waiters[i]);
    }
    CHECK_EQ(th_os_pollset_wake(&w.set), 0);
    for (int i = 0; i < 3; i++) {
        waiter_end(&waiters[i]);
        CHECK_EQ(waiters[i].result, 1);
        CHECK_EQ(waiters[i].event.key, TH_OS_WAKE);
    }
    CHECK_EQ(th_os_pollset_wait(&w.set, &event, 1, 0), 1);
    CHECK_EQ(event.key, TH_OS_WAKE);
    th_os_pollset_wake_take(&w.set);
    CHECK_EQ(th_os_pollset_wait(&w.set, &event, 1, 0), 0);
    watched_close(&w);
}

TEST(a_call_of_another_thread_is_asked_for_while_the_owner_sleeps) {
    /* Nobody else would ask. */
    watched w;
    put((watched_open(&w), w.fds[1]), "x");
    CHECK_EQ(next_bits(&w, far_off()), TH_OS_IN);
    CHECK_EQ(read_byte(&w), 1);
    waiter owner = {.sets = {&w.set}, .n = 1, .takes = true};
    waiter_begin(&owner);
    CHECK_EQ(read_byte(&w), -EAGAIN); /* from here on something is asked */
    put(w.fds[1], "y");
    waiter_end(&owner);
    CHECK_EQ(owner.result, 1);
    CHECK_EQ(owner.event.bits, TH_OS_IN);
    watched_close(&w);
}

TEST(a_set_of_another_thread_is_waited_for_and_left_alone) {
    /* By a sentinel, which sits at one of the ports and looks at the other one. */
    watched w;
    th_os_pollset own;
    watched_open(&w);
    CHECK_EQ(th_os_pollset_open(&own), 0);
    waiter sentinel = {.sets = {&own, &w.set}, .n = 2};
    waiter_begin(&sentinel);
    put(w.fds[1], "x");
    waiter_end(&sentinel);
    CHECK_EQ(sentinel.result, 2);
    CHECK(th_os_pollset_is_ready(&w.set));
    CHECK_EQ(next_bits(&w, 0), TH_OS_IN);
    CHECK(!th_os_pollset_is_ready(&w.set));
    /* With something asked in its own set, too, it sits there. */
    CHECK_EQ(th_os_pollset_add(&own, w.fds[1], 8), 0);
    CHECK_EQ(th_os_pollset_wait(&own, &(th_os_event){0}, 1, far_off()), 1);
    CHECK_EQ(read_byte(&w), 1);
    CHECK_EQ(read_byte(&w), -EAGAIN);
    waiter_begin(&sentinel);
    put(w.fds[1], "y");
    waiter_end(&sentinel);
    CHECK_EQ(sentinel.result, 2);
    CHECK_EQ(th_os_pollset_wait_any(sentinel.sets, 2, far_off()), 2);
    CHECK_EQ(next_bits(&w, 0), TH_OS_IN);
    waiter_begin(&sentinel);
    CHECK_EQ(th_os_pollset_wake(&own), 0);
    waiter_end(&sentinel);
    CHECK_EQ(sentinel.result, 1);
    th_os_pollset_close(&own);
    watched_close(&w);
}

TEST(a_set_in_sets_wakes_those_that_sleep_in_them) {
    /* One of them sleeps at its port; when that one has gone another one does. */
    watched w;
    th_os_pollset own[2];
    waiter waiters[2];
    watched_open(&w);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(th_os_pollset_open(&own[i]), 0);
        CHECK_EQ(th_os_pollset_add_set(&own[i], &w.set, 9), 0);
        waiters[i] = (waiter){.sets = {&own[i]}, .n = 1, .takes = true};
        waiter_begin(&waiters[i]);
    }
    CHECK_EQ(th_os_pollset_wake(&own[0]), 0);
    waiter_end(&waiters[0]);
    CHECK_EQ(waiters[0].event.key, TH_OS_WAKE);
    put(w.fds[1], "x");
    waiter_end(&waiters[1]);
    CHECK_EQ(waiters[1].event.key, 9);
    th_os_pollset_wake_take(&own[0]);
    CHECK_EQ(th_os_pollset_wait(&own[0], &waiters[0].event, 1, 0), 1);
    CHECK_EQ(waiters[0].event.key, 9);
    CHECK_EQ(next_bits(&w, 0), TH_OS_IN);
    CHECK_EQ(th_os_pollset_wait(&own[0], &waiters[0].event, 1, 0), 0);
    th_os_pollset_close(&own[0]);
    th_os_pollset_close(&own[1]);
    watched_close(&w);
}

TEST(an_alarm_wakes_one_and_stays_until_it_is_set_anew) {
    /* It is no event before its time, nor when it is off. */
    watched w;
    th_os_event event;
    watched_open(&w);
    const int alarm = th_os_alarm_open();
    CHECK(alarm >= 0);
    CHECK_EQ(th_os_pollset_add_alarm(&w.set, alarm), 0);
    waiter owner = {.sets = {&w.set}, .n = 1, .takes = true};
    waiter_begin(&owner);
    const int64_t at = soon();
    th_os_alarm_set(alarm, at);
    waiter_end(&owner);
    CHECK_PASSED(at);
    CHECK_EQ(owner.event.key, TH_OS_ALARM);
    CHECK_EQ(th_os_pollset_wait(&w.set, &event, 1, 0), 1);
    CHECK_EQ(event.key, TH_OS_ALARM);
    th_os_alarm_set(alarm, TH_FOREVER);
    CHECK_EQ(th_os_pollset_wait(&w.set, &event, 1, 0), 0);
    th_os_alarm_set(alarm, far_off());
    CHECK_EQ(th_os_pollset_wait(&w.set, &event, 1, soon()), 0);
    th_os_alarm_close(alarm);
    watched_close(&w);
}

TEST(a_set_that_nobody_sleeps_in_tells_of_its_wake_up_by_its_number) {
    /* As a loop of others waits for it (thrum/poll.h). */
    th_os_pollset set;
    CHECK_EQ(th_os_pollset_open(&set), 0);
    CHECK_EQ(th_os_io_poll(set.set, TH_OS_IN, -1, 0), 0);
    CHECK_EQ(th_os_pollset_wake(&set), 0);
    CHECK_EQ(th_os_pollset_wake(&set), 0);
    CHECK_EQ(th_os_io_poll(set.set, TH_OS_IN, -1, far_off()), TH_OS_IN);
    th_os_pollset_wake_take(&set);
    CHECK_EQ(th_os_io_poll(set.set, TH_OS_IN, -1, 0), 0);
    th_os_pollset_close(&set);
}

/* Each end in turn answers the other one, in as many connections as there are threads. */
enum { STORM = 4, ROUNDS = 300 };

static void *storm_main(void *arg) {
    watched *w = arg;
    char byte;
    for (int i = 0; i < ROUNDS; i++) {
        put(w->fds[1], "x");
        while (read_byte(w) != 1) {
            (void)next_bits(w, far_off());
        }
        CHECK_EQ(send(w->fds[0], "y", 1, 0), 1);
        CHECK_EQ(recv(w->fds[1], &byte, 1, 0), 1);
        if (i % 10 == 0) {
            CHECK_EQ(th_os_pollset_remove(&w->set, w->fds[0]), 0);
            CHECK_EQ(th_os_pollset_add(&w->set, w->fds[0], 7), 0);
        }
    }
    return NULL;
}

TEST(others_look_while_an_owner_sleeps) {
    /* No event is lost between an owner, one that asks whether there is any, and a sentinel. */
    watched all[STORM];
    pthread_t threads[STORM];
    th_os_pollset own;
    const th_os_pollset *sets[1 + STORM] = {&own};
    CHECK_EQ(th_os_pollset_open(&own), 0);
    for (int i = 0; i < STORM; i++) {
        const int on = 1;
        watched_open(&all[i]);
        sets[1 + i] = &all[i].set;
        CHECK_EQ(setsockopt(all[i].fds[1], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), 0);
        CHECK_EQ(setsockopt(all[i].fds[0], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), 0);
        CHECK_EQ(pthread_create(&threads[i], NULL, storm_main, &all[i]), 0);
    }
    for (int i = 0; i < ROUNDS / 10; i++) {
        (void)th_os_pollset_is_ready(&all[i % STORM].set);
        CHECK(th_os_pollset_wait_any(sets, 1 + STORM, soon()) >= 0);
    }
    for (int i = 0; i < STORM; i++) {
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
        watched_close(&all[i]);
    }
    th_os_pollset_close(&own);
}
