/*
 * io_looked_at.c: workers that are in a long run while their sets have descriptors: others look.
 */
/* matrix: policy workers */
#define _GNU_SOURCE
#include "core/due/poll.h"
#include "support/sync/held.h"
#include "support/io/io.h"
#include "support/times.h"

typedef struct scene {
    rig r;
    ends e;
    atomic_int got;
    atomic_bool computes, looks, out;
} scene;

static int reads_one(void *arg) {
    scene *s = arg;
    char byte;
    CHECK_EQ(thrum_read(s->e.io[0], &byte, 1), 1);
    atomic_fetch_add(&s->got, 1);
    return 0;
}

static int computes(void *arg) {
    scene *s = arg;
    atomic_store(&s->computes, true);
    SPIN_UNTIL(atomic_load(&s->out) || atomic_load(&s->got) == 1);
    return 0;
}

/* Queues both on the worker: the reader first, which any worker may resume. */
static int begins_both(void *arg) {
    scene *s = arg;
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.flags = THRUM_PINNED;
    attr.worker = 0;
    CHECK_EQ(thrum_go_with(&attr, computes, s), 0);
    return reads_one(s);
}

/* Lets time pass, on a plain thread. Nothing depends on how much. */
static void naps(int n) {
    while (n-- > 0) {
        nap();
    }
}

TEST(others_look_when_a_worker_computes) {
    /* Its set has a descriptor that becomes ready; the others were asleep for long or for short. */
    scene s = {.got = 0};
    if (check_env("THRUM_WORKERS", 1) == 1) {
        CHECK_SKIP("there is no other worker");
    }
    for (int i = 0; i < 30; i++) {
        rig_begin(&s.r, 0);
        atomic_store(&s.got, 0);
        atomic_store(&s.computes, false);
        ends_open_half(&s.e, UNIX);
        CHECK_EQ(thrum_sched_wait_idle(s.r.sched, THRUM_FOREVER), 0);
        if (i % 3 != 0) {
            naps(i % 3 == 1 ? 40 : 4); /* in which the long sleep begins, or does not */
        }
        rig_go(&s.r, begins_both, &s);
        SPIN_UNTIL(atomic_load(&s.computes));
        SPIN_UNTIL(io_awaits(s.e.io[0], THRUM_IO_READ));
        if (i % 2 == 0) {
            naps(25);
        }
        put(s.e.fds[1], "x");
        SPIN_UNTIL(atomic_load(&s.got) == 1);
        rig_wait_done(&s.r);
        ends_close(&s.e);
        rig_stop(&s.r);
    }
}

static int looks_late(void *arg) {
    scene *s = arg;
    th_worker *self = th_here();
    th_worker *other = &s->r.sched->workers[0];
    atomic_store(&s->looks, true);
    SPIN_UNTIL(atomic_load(&s->computes));
    th_store_relaxed(&other->poller.xlooked_at, 0); /* long ago */
    CHECK(!th_poll_help(self));
    CHECK(th_poll_begin_watch(self));
    return 0;
}

TEST(a_look_that_comes_late_finds_that_a_worker_stands_still) {
    /* A sentinel whose rounds come late looks in each; it waits for the other set all the same. */
    scene s = {.got = 0};
    thrum_attr attrs[2];
    thrum_handle *late;
    if (check_env("THRUM_WORKERS", 1) != 2) {
        CHECK_SKIP("others would look, too");
    }
    rig_init(&s.r);
    s.r.config.workers_spare = 0;
    rig_start(&s.r);
    for (int i = 0; i < 2; i++) {
        attrs[i] = rig_attr(&s.r);
        attrs[i].flags = THRUM_PINNED;
        attrs[i].worker = i;
    }
    ends_open_half(&s.e, UNIX);
    CHECK_EQ(thrum_spawn_with(&late, &attrs[1], looks_late, &s), 0);
    SPIN_UNTIL(atomic_load(&s.looks));
    CHECK_EQ(thrum_go_with(&attrs[0], reads_one, &s), 0);
    SPIN_UNTIL(io_awaits(s.e.io[0], THRUM_IO_READ));
    CHECK_EQ(thrum_go_with(&attrs[0], computes, &s), 0);
    CHECK_EQ(thrum_join(late, NULL), 0);
    atomic_store(&s.out, true);
    put(s.e.fds[1], "x");
    SPIN_UNTIL(atomic_load(&s.got) == 1);
    rig_wait_done(&s.r);
    ends_close(&s.e);
    rig_stop(&s.r);
}

TEST(a_spare_looks_when_all_workers_are_held_up) {
    /* All regular workers are in long runs; a spare takes over, and finds what is ready. */
    scene s = {.got = 0};
    rig_init(&s.r);
    s.r.config.workers_spare = 2;
    rig_start(&s.r);
    ends_open_half(&s.e, UNIX);
    rig_go(&s.r, reads_one, &s);
    SPIN_UNTIL(io_awaits(s.e.io[0], THRUM_IO_READ));
    holder h[64];
    const unsigned n = thrum_sched_parallelism(s.r.sched);
    for (unsigned i = 0; i < n; i++) {
        holder_begin(&s.r, &h[i], (int)i);
    }
    put(s.e.fds[1], "x");
    SPIN_UNTIL(atomic_load(&s.got) == 1);
    for (unsigned i = 0; i < n; i++) {
        holder_end(&h[i]);
    }
    ends_close(&s.e);
    rig_stop(&s.r);
}

static int does_nothing(void *arg) {
    (void)arg;
    return 0;
}

/* Whether a spare has a set of its own by now. */
static bool is_watched(const hold *h) {
    for (int i = 0; i < held_spares(h); i++) {
        if (th_poller_is_open(&h->r.sched->workers[held_regular(h) + i].poller)) {
            return true;
        }
    }
    return false;
}

TEST(a_spare_that_waits_for_the_sets_of_others_goes_back) {
    /* It sleeps in a set of its own, as the sentinel: there it is found when it is sent back. */
    static hold h;
    scene s = {.got = 0};
    for (held_way way = HELD_READING; way < HELD_WAYS; way++) {
        held_init(&h);
        h.r.config.workers_spare = 2;
        held_start(&h);
        ends_open_half(&s.e, UNIX);
        rig_go(&h.r, reads_one, &s);
        SPIN_UNTIL(io_awaits(s.e.io[0], THRUM_IO_READ));
        held_begin(&h, way, held_regular(&h), true);
        rig_go(&h.r, does_nothing, NULL); /* for which it stands in */
        SPIN_UNTIL(is_watched(&h));
        held_open(&h);
        held_end(&h);
        held_settle(&h);
        put(s.e.fds[1], "x");
        rig_wait_done(&h.r);
        ends_close(&s.e);
        held_stop(&h);
    }
}
