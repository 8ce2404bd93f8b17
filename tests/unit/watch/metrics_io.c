/*
 * metrics_io.c: what is counted of descriptors, where the test knows how often it happened.
 */
/* matrix: policy workers */
#include "support/io/io.h"

#include "support/sync/held.h"
#include "support/times.h"

#include <thrum/net.h>

static thrum_metrics figures(const rig *r, int worker) {
    thrum_metrics m = THRUM_METRICS_INIT;
    CHECK_EQ(thrum_metrics_read(r->sched, worker, &m), 0);
    return m;
}

static thrum_metrics all_of(const rig *r) {
    return figures(r, THRUM_ALL_WORKERS);
}

/* ---- bytes ---- */

enum { READ = 6 + 6 + 7, WRITTEN = 6 + 6 + 7 };

static int moves_bytes(void *arg) {
    const end_kind *k = arg;
    char text[16];
    const thrum_iovec out[] = {{"abc", 3}, {"defg", 4}};
    const thrum_iovec in[] = {{text, 3}, {text + 3, 4}};
    ends e;
    ends_open(&e, *k);
    CHECK_EQ(thrum_write(e.io[1], "hello\n", 6), 6);
    CHECK_EQ(thrum_read(e.io[0], text, 2), 2);
    CHECK_EQ(thrum_read(e.io[0], text, sizeof text), 4);
    CHECK_EQ(thrum_read_until(e.io[0], text, 1, soon()), -ETIMEDOUT);
    CHECK_EQ(thrum_write_until(e.io[1], "again\n", 6, far_off()), 6);
    CHECK_EQ(thrum_read_full(e.io[0], text, 6, far_off()), 6);
    CHECK_EQ(thrum_writev_until(e.io[1], out, 2, THRUM_FOREVER), 7);
    CHECK_EQ(thrum_readv_until(e.io[0], in, 2, THRUM_FOREVER), 7);
    CHECK_EQ(thrum_io_close(e.io[1]), 0);
    CHECK_EQ(thrum_read(e.io[0], text, 1), 0); /* the end, which is no byte */
    CHECK_EQ(thrum_io_close(e.io[0]), 0);
    return 0;
}

TEST(bytes_are_counted) {
    /* They are, whichever call moves them, and only those that were moved. */
    rig r;
    rig_begin(&r, 0);
    for (uint64_t i = 0; i < PTY; i++) {
        end_kind k = (end_kind)i;
        CHECK_EQ(rig_run(&r, moves_bytes, &k), 0);
        const thrum_metrics m = all_of(&r);
        CHECK_EQ(m.io_read_bytes, (i + 1) * READ);
        CHECK_EQ(m.io_written_bytes, (i + 1) * WRITTEN);
    }
    rig_stop(&r);
}

static int sends_messages(void *arg) {
    thrum_io from, to;
    thrum_datagram got[3];
    char texts[3][4];
    char where[THRUM_ADDRESS_TEXT];
    (void)arg;
    CHECK_EQ(thrum_listen(&to, "udp:127.0.0.1:0", NULL), 0);
    CHECK_EQ(thrum_io_local(to, where, sizeof where), 0);
    CHECK_EQ(thrum_dial(&from, where, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_send_to(from, "one", 3, NULL, THRUM_FOREVER), 3);
    CHECK_EQ(thrum_send_to(from, "longer", 6, NULL, THRUM_FOREVER), 6);
    memset(got, 0, sizeof got);
    for (int i = 0; i < 3; i++) {
        got[i].data = texts[i];
        got[i].size = sizeof texts[i];
    }
    for (int have = 0; have < 2;) {
        const int more = thrum_receive_many(to, got, 3, THRUM_FOREVER);
        CHECK(more > 0);
        have += more;
    }
    CHECK_EQ(thrum_io_close(from) | thrum_io_close(to), 0);
    return 0;
}

static int passes_descriptors(void *arg) {
    char text[5];
    int fds[2];
    int passed = -1;
    unsigned n = 1;
    (void)arg;
    pair_open(fds, UNIX);
    const thrum_io from = adopted(fds[0]);
    const thrum_io to = adopted(fds[1]);
    CHECK_EQ(thrum_send_fds(from, "12345", 5, fds, 1, THRUM_FOREVER), 5);
    CHECK_EQ(thrum_receive_fds(to, text, 5, &passed, &n, THRUM_FOREVER), 5);
    CHECK_EQ(n, 1);
    CHECK_EQ(close(passed) | thrum_io_close(from) | thrum_io_close(to), 0);
    return 0;
}

TEST(bytes_of_messages_are_counted) {
    /* What does not fit of one is lost, and not counted as received. */
    rig r;
    rig_begin(&r, 0);
    CHECK_EQ(rig_run(&r, sends_messages, NULL), 0);
    const thrum_metrics m = all_of(&r);
    CHECK_EQ(m.io_written_bytes, 3 + 6);
    CHECK_EQ(m.io_read_bytes, 3 + 4);
    rig_stop(&r);
}

TEST(bytes_beside_descriptors_are_counted) {
    /* Those that were passed along are no bytes. */
    rig r;
    rig_begin(&r, 0);
    CHECK_EQ(rig_run(&r, passes_descriptors, NULL), 0);
    const thrum_metrics m = all_of(&r);
    CHECK_EQ(m.io_written_bytes, 5);
    CHECK_EQ(m.io_read_bytes, 5);
    rig_stop(&r);
}

/* ---- waits ---- */

enum { WAITS = 20 };

typedef struct scene {
    rig *r;
    ends e;
    bool watches;
    atomic_int got;
} scene;

static int waits_often(void *arg) {
    scene *s = arg;
    char byte;
    for (int i = 0; i < WAITS; i++) {
        if (s->watches) {
            CHECK_EQ(thrum_io_wait(s->e.io[0], THRUM_IO_READ, THRUM_FOREVER), THRUM_IO_READ);
        }
        CHECK_EQ(thrum_read(s->e.io[0], &byte, 1), 1);
        atomic_fetch_add(&s->got, 1);
    }
    return 0;
}

static bool is_waiting(const scene *s) {
    return s->watches ? IO_WATCHING(s->e.io[0], THRUM_IO_READ) > 0
                      : io_awaits(s->e.io[0], THRUM_IO_READ);
}

/* Writes each byte only when it is waited for. */
static void *writes_what_is_awaited(void *arg) {
    scene *s = arg;
    for (int i = 0; i < WAITS; i++) {
        SPIN_UNTIL(atomic_load(&s->got) == i && is_waiting(s));
        if (s->watches) { /* it asks the system once more after it was listed */
            CHECK_EQ(thrum_sched_wait_idle(s->r->sched, THRUM_FOREVER), 0);
        }
        put(s->e.fds[1], "x");
    }
    return NULL;
}

/* Each byte was written when it was awaited, so there was one event each: a pipe's end has one
 * direction. */
static void check_waits(const rig *r, int waits) {
    /* A worker counts events when it has told of them: the waiter may have ended by then. */
    SPIN_UNTIL(all_of(r).poll_events >= (uint64_t)waits);
    const thrum_metrics m = all_of(r);
    CHECK_EQ(m.io_waits, waits);
    CHECK_EQ(m.io_read_bytes, waits);
    CHECK_EQ(m.poll_events, waits);
    CHECK(m.polls > 0);
}

TEST(waits_and_events_are_counted) {
    /* Each wait is, of a read and without one, and each descriptor that was found ready. */
    rig r;
    rig_begin(&r, 0);
    for (int i = 0; i < 2; i++) {
        scene s = {.r = &r, .watches = i != 0};
        ends_open_reader(&s.e);
        rig_go(&r, waits_often, &s);
        writes_what_is_awaited(&s);
        rig_wait_done(&r);
        check_waits(&r, (i + 1) * WAITS);
        ends_close(&s.e);
    }
    rig_stop(&r);
}

TEST(a_bound_thread_counts) {
    /* So it does without workers, where all such threads share a set, and beside workers. */
    rig r;
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        rig_init(&r);
        r.config.workers = i ? r.config.workers : 0;
        rig_start(&r);
        scene s = {.r = &r};
        ends_open_reader(&s.e);
        CHECK_EQ(thrum_sched_bind(r.sched), 0);
        CHECK_EQ(pthread_create(&thread, NULL, writes_what_is_awaited, &s), 0);
        CHECK_EQ(waits_often(&s), 0);
        CHECK_EQ(thrum_sched_unbind(), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
        check_waits(&r, WAITS);
        ends_close(&s.e);
        rig_stop(&r);
    }
}

TEST(a_plain_thread_counts_nowhere) {
    /* It belongs to no scheduler, although one is there and its tasks use the descriptor, too. */
    rig r;
    pthread_t thread;
    rig_begin(&r, 0);
    scene s = {.r = &r};
    ends_open_half(&s.e, PIPE);
    rig_go(&r, waits_often, &s);
    writes_what_is_awaited(&s);
    rig_wait_done(&r);
    atomic_store(&s.got, 0);
    CHECK_EQ(pthread_create(&thread, NULL, writes_what_is_awaited, &s), 0);
    CHECK_EQ(waits_often(&s), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(all_of(&r).io_waits, WAITS);
    CHECK_EQ(all_of(&r).io_read_bytes, WAITS);
    ends_close(&s.e);
    rig_stop(&r);
}

static int writes_and_opens(void *arg) {
    hold *h = arg;
    CHECK_EQ(thrum_write(((ends *)h->arg)->io[1], "12345", 5), 5);
    held_open(h);
    return 0;
}

TEST(a_spare_counts) {
    /* It is in the sum, and in its own column, what it does while all workers are held up. */
    static hold h;
    ends e;
    held_init_spares(&h);
    held_start(&h);
    ends_open(&e, UNIX);
    h.arg = &e;
    held_begin(&h, HELD_READING, held_regular(&h), true);
    const thrum_attr attr = rig_attr(&h.r);
    CHECK_EQ(thrum_go_with(&attr, writes_and_opens, &h), 0);
    held_end(&h);
    uint64_t by_spares = 0;
    for (int i = held_regular(&h); i < (int)thrum_sched_workers(h.r.sched); i++) {
        by_spares += figures(&h.r, i).io_written_bytes;
    }
    CHECK_EQ(by_spares, 5);
    CHECK_EQ(held_metrics(&h).io_written_bytes, 5);
    ends_close(&e);
    held_stop(&h);
}

/* ---- tasks, connections, wakes ---- */

typedef struct listed {
    thrum_task task;
    ends e;
    int left;
    thrum_event over;
} listed;

static void reads_again(thrum_task *self, void *arg) {
    listed *l = arg;
    char byte;
    CHECK_EQ(thrum_read(l->e.io[0], &byte, 1), 1);
    if (--l->left == 0) {
        thrum_event_signal(&l->over);
    } else {
        CHECK_EQ(thrum_io_on(l->e.io[0], THRUM_IO_READ, self), 0);
    }
}

static int lists_a_task(void *arg) {
    listed *l = arg;
    ends_open(&l->e, UNIX);
    thrum_task_init(&l->task, reads_again, l);
    CHECK_EQ(thrum_io_on(l->e.io[0], THRUM_IO_READ, &l->task), 0);
    CHECK_EQ(thrum_io_on(l->e.io[0], THRUM_IO_READ, &l->task), -EBUSY);
    CHECK_EQ(thrum_write(l->e.io[1], "1234567", 7), 7);
    int code = thrum_event_wait(&l->over);
    ends_close(&l->e);
    return code;
}

TEST(tasks_that_were_listed_are_counted) {
    /* Each posting is, by the body that posts its own task as well; one that is refused is not. */
    rig r;
    listed l = {.left = 7};
    thrum_event_init(&l.over, THRUM_EVENT_MANUAL, false);
    rig_begin(&r, 0);
    CHECK_EQ(rig_run(&r, lists_a_task, &l), 0);
    rig_wait_done(&r);
    CHECK_EQ(all_of(&r).io_posts, 7);
    rig_stop(&r);
}

static int accepts_three(void *arg) {
    thrum_io listener, near, far;
    char where[THRUM_ADDRESS_TEXT];
    (void)arg;
    CHECK_EQ(thrum_listen(&listener, "tcp:127.0.0.1:0", NULL), 0);
    CHECK_EQ(thrum_io_local(listener, where, sizeof where), 0);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(thrum_dial(&near, where, THRUM_FOREVER), 0);
        CHECK_EQ(thrum_accept(listener, &far), 0);
        CHECK_EQ(thrum_io_close(near) | thrum_io_close(far), 0);
    }
    CHECK_EQ(thrum_accept_until(listener, &far, soon()), -ETIMEDOUT);
    return thrum_io_close(listener);
}

TEST(connections_are_counted) {
    /* Those that were accepted are; one that did not come is not. */
    rig r;
    rig_begin(&r, 0);
    CHECK_EQ(rig_run(&r, accepts_three, NULL), 0);
    CHECK_EQ(all_of(&r).io_accepts, 3);
    CHECK_EQ(all_of(&r).io_served, 0);
    rig_stop(&r);
}

static int ends_at_once(void *arg) {
    (void)arg;
    return 0;
}

static bool sleeps_in_its_set(const rig *r) {
    const uint32_t word = th_load_relaxed(&r->sched->workers[0].xsleep); /* relaxed: a test */
    return (word & TH_SLEEP_PARKED) && (word & TH_SLEEP_POLLING);
}

static uint64_t polls_and_their_wakes(const rig *r) {
    const thrum_metrics m = all_of(r);
    return m.polls + m.wakes_polling;
}

TEST(wakes_of_workers_that_poll_are_counted) {
    /* A lone worker sleeps by its futex until something waits for a descriptor, then in its set. */
    rig r;
    rig_init(&r);
    r.config.workers = 1;
    r.config.workers_spare = 0;
    rig_start(&r);
    while (all_of(&r).futex_wakes == 0) {
        CHECK_EQ(rig_run(&r, ends_at_once, NULL), 0);
    }
    CHECK_EQ(polls_and_their_wakes(&r), 0);
    scene s = {.r = &r};
    ends_open_reader(&s.e);
    rig_go(&r, waits_often, &s);
    while (all_of(&r).wakes_polling < 3) {
        SPIN_UNTIL(sleeps_in_its_set(&r));
        CHECK_EQ(rig_run(&r, ends_at_once, NULL), 0);
    }
    writes_what_is_awaited(&s);
    rig_wait_done(&r);
    check_waits(&r, WAITS);
    ends_close(&s.e);
    rig_stop(&r);
}

/* ---- who is woken by an event ---- */

typedef struct opened {
    ends e;
    atomic_bool got;
} opened;

/* Waits on its own worker: from then on that has a set. */
static int waits_once(void *arg) {
    opened *o = arg;
    char byte;
    CHECK_EQ(thrum_read(o->e.io[0], &byte, 1), 1);
    atomic_store(&o->got, true);
    return 0;
}

static bool all_sleep_in_sets(const rig *r) {
    bool all = true;
    for (unsigned i = 0; i < 2; i++) {
        const uint32_t word = th_load_relaxed(&r->sched->workers[i].xsleep); /* relaxed: a test */
        all = all && (word & TH_SLEEP_PARKED) && (word & TH_SLEEP_POLLING);
    }
    return all && th_park_parked(th_load_relaxed(&r->sched->xpark)) == 2; /* relaxed: a test */
}

static uint64_t wakes_for_work(const rig *r) {
    const thrum_metrics m = all_of(r);
    return m.wakes_submit + m.wakes_chain;
}

/* Whether some events in a row have woken nobody but the thread that the system woke. */
static bool events_wake_one_thread(rig *r, scene *s) {
    atomic_store(&s->got, 0);
    rig_go(r, waits_often, s);
    SPIN_UNTIL(is_waiting(s) && all_sleep_in_sets(r));
    const uint64_t before = wakes_for_work(r);
    for (int i = 0; i < WAITS; i++) {
        SPIN_UNTIL(is_waiting(s) && all_sleep_in_sets(r));
        put(s->e.fds[1], "x");
        SPIN_UNTIL(atomic_load(&s->got) == i + 1);
    }
    rig_wait_done(r);
    return wakes_for_work(r) == before;
}

TEST(an_event_wakes_one_thread) {
    /* The owner of the set, by the system: it wakes no other one for the fiber that goes on. If the
     * system lets that thread wait meanwhile, another one may come for the fiber, and wake. */
    rig r;
    opened o[2] = {0};
    scene s = {.r = &r};
    rig_init(&r);
    r.config.policy = THRUM_SHARDED;
    r.config.workers = 2;
    r.config.workers_spare = 0;
    rig_start(&r);
    for (int i = 0; i < 2; i++) {
        thrum_attr attr = rig_attr(&r);
        attr.flags |= THRUM_PINNED;
        attr.worker = i;
        ends_open_half(&o[i].e, PIPE);
        CHECK_EQ(thrum_go_with(&attr, waits_once, &o[i]), 0);
        SPIN_UNTIL(io_awaits(o[i].e.io[0], THRUM_IO_READ));
        put(o[i].e.fds[1], "x");
        SPIN_UNTIL(atomic_load(&o[i].got));
    }
    ends_open_half(&s.e, PIPE);
    SPIN_UNTIL(events_wake_one_thread(&r, &s));
    for (int i = 0; i < 2; i++) {
        ends_close(&o[i].e);
    }
    ends_close(&s.e);
    rig_stop(&r);
}
