/*
 * shutdown.c: stopping against spawning, starting and stopping under load.
 */
/* matrix: policy workers */
#include "support/threads.h"

typedef struct flood {
    rig *r;
    gate g;
    atomic_int accepted, ran;  /* posts by external threads */
    atomic_int started, ended; /* tasks from inside */
    atomic_int posting;        /* threads that have not been refused yet */
    int inside_left;
} flood;

static void external_task(thrum_task *self, void *arg) {
    flood *f = arg;
    free(self);
    atomic_fetch_add(&f->ran, 1);
}

static int inside_fiber(void *arg) {
    flood *f = arg;
    const int n = atomic_fetch_add(&f->started, 1);
    if (n < f->inside_left) {
        CHECK_EQ(thrum_go(inside_fiber, f), 0);
        if (n % 2 == 0) {
            CHECK_EQ(thrum_go(inside_fiber, f), 0);
        }
    }
    if (n % 5 == 0) {
        thrum_yield();
    }
    atomic_fetch_add(&f->ended, 1);
    return 0;
}

static void *flood_thread(void *seat) {
    flood *f = ((crew_seat *)seat)->arg;
    const thrum_attr attr = rig_attr(f->r);
    for (int i = 0;; i++) {
        int error;
        if (i % 4 == 0) {
            error = thrum_go_with(&attr, inside_fiber, f);
        } else {
            thrum_task *task = malloc(sizeof(*task));
            CHECK(task != NULL);
            thrum_task_init(task, external_task, f);
            error = thrum_task_post(f->r->sched, task);
            if (error == 0) {
                atomic_fetch_add(&f->accepted, 1);
            } else {
                free(task);
            }
        }
        if (error != 0) {
            CHECK_EQ(error, -ESHUTDOWN);
            break;
        }
        while (atomic_load(&f->accepted) - atomic_load(&f->ran) > 2000) {
            sched_yield();
        }
    }
    if (atomic_fetch_sub(&f->posting, 1) == 1) {
        gate_open(&f->g);
    }
    return NULL;
}

TEST(flooded_from_both_sides_while_it_stops) {
    /* Tasks and external threads post until the stop: what is accepted runs; nothing is left. */
    for (int round = 0; round < SCALED(200); round++) {
        rig r;
        crew c;
        flood f = {.r = &r, .posting = 2, .inside_left = 500};
        rig_begin(&r, 0);
        gate_begin(&r, &f.g);
        rig_go(&r, inside_fiber, &f);
        crew_start(&c, 2, flood_thread, &f);
        SPIN_UNTIL(atomic_load(&f.accepted) > round % 50);
        rig_stop(&r);
        crew_join(&c);
        CHECK_EQ(atomic_load(&f.ran), atomic_load(&f.accepted));
        CHECK_EQ(atomic_load(&f.ended), atomic_load(&f.started));
    }
}

static atomic_int ended;

static int spawn_more(void *arg) {
    const intptr_t left = (intptr_t)arg;
    if (left > 0) {
        CHECK_EQ(thrum_go(spawn_more, (void *)(left - 1)), 0);
        CHECK_EQ(thrum_go(spawn_more, (void *)(left - 1)), 0);
    }
    thrum_yield();
    atomic_fetch_add(&ended, 1);
    return 0;
}

TEST(started_and_stopped_under_load) {
    /* Thousands of times a stop begins while a tree of tasks still grows. */
    const unsigned workers = (unsigned)check_env("THRUM_WORKERS", 2);
    const int rounds = SCALED(STARTS) / (workers > 8 ? 10 : 1) + 1;
    for (int i = 0; i < rounds; i++) {
        rig r;
        atomic_store(&ended, 0);
        rig_begin(&r, 0);
        rig_go(&r, spawn_more, (void *)(intptr_t)3);
        rig_stop(&r);
        CHECK_EQ(atomic_load(&ended), 15);
    }
}

TEST(started_and_stopped_empty) {
    /* Workers that have hardly begun are stopped. */
    const unsigned workers = (unsigned)check_env("THRUM_WORKERS", 2);
    const int rounds = SCALED(STARTS) / (workers > 8 ? 10 : 1) + 1;
    for (int i = 0; i < rounds; i++) {
        rig r;
        rig_begin(&r, 0);
        rig_stop(&r);
    }
}

static int run_small(void *arg) {
    (void)arg;
    CHECK_EQ(thrum_go(spawn_more, (void *)(intptr_t)2), 0);
    return 4;
}

static void *run_in_thread(void *seat) {
    const int rounds = *(int *)((crew_seat *)seat)->arg;
    for (int i = 0; i < rounds; i++) {
        rig r;
        rig_init(&r);
        CHECK_EQ(thrum_run(&r.config, run_small, NULL), 4);
        rig_check_freed(&r);
    }
    return NULL;
}

TEST(several_run_side_by_side) {
    /* Schedulers start and stop in four threads at once, and do not disturb each other. */
    crew c;
    int rounds = SCALED(200);
    if (check_env("THRUM_WORKERS", 2) > 8) {
        rounds = rounds / 10 + 1;
    }
    crew_start(&c, 4, run_in_thread, &rounds);
    crew_join(&c);
    CHECK_EQ(atomic_load(&ended), 4 * rounds * 7);
}

typedef struct late {
    rig *r;
    thrum_sem sem;
} late;

static int wait_late(void *arg) {
    return thrum_sem_wait(&((late *)arg)->sem);
}

static void *wake_late(void *seat) {
    late *l = ((crew_seat *)seat)->arg;
    for (int i = 0; i < 20; i++) {
        thrum_sem_post(&l->sem);
    }
    return NULL;
}

TEST(last_fibers_are_woken_by_external_threads) {
    /* While stop waits for blocked fibers, an external thread wakes them: a wake is no post. */
    for (int round = 0; round < SCALED(500); round++) {
        rig r;
        crew c;
        late l = {.r = &r, .sem = THRUM_SEM_INIT(0)};
        rig_begin(&r, round % 3 == 0 ? 1 : 2);
        for (int i = 0; i < 20; i++) {
            rig_go(&r, wait_late, &l);
        }
        crew_start(&c, 1, wake_late, &l);
        rig_stop(&r);
        crew_join(&c);
    }
}

/* ---- two schedulers ---- */

typedef struct neighbours {
    rig *from, *to;
    gate g;
    atomic_int accepted, ran;
    atomic_int posting;
} neighbours;

static void neighbour_task(thrum_task *self, void *arg) {
    neighbours *n = arg;
    free(self);
    atomic_fetch_add(&n->ran, 1);
}

static int flood_neighbour(void *arg) {
    neighbours *n = arg;
    for (int i = 0;; i++) {
        thrum_task *task = malloc(sizeof(*task));
        CHECK(task != NULL);
        thrum_task_init(task, neighbour_task, n);
        const int error = thrum_task_post(n->to->sched, task);
        if (error != 0) {
            CHECK_EQ(error, -ESHUTDOWN);
            free(task);
            break;
        }
        atomic_fetch_add(&n->accepted, 1);
        YIELD_UNTIL(atomic_load(&n->accepted) - atomic_load(&n->ran) < 500);
        if (i % 10 == 0) {
            thrum_yield(); /* it goes on on another thread */
        }
    }
    if (atomic_fetch_sub(&n->posting, 1) == 1) {
        gate_open(&n->g);
    }
    return 0;
}

TEST(flooded_by_another_scheduler_while_it_stops) {
    /* Tasks post to another scheduler, as external threads do; each post runs or is refused. */
    rig from;
    rig_begin(&from, 0);
    for (int round = 0; round < SCALED(150); round++) {
        rig to;
        neighbours n = {.from = &from, .to = &to, .posting = 6};
        rig_begin(&to, 2);
        gate_begin(&to, &n.g);
        for (int i = 0; i < 6; i++) {
            rig_go(&from, flood_neighbour, &n);
        }
        SPIN_UNTIL(atomic_load(&n.accepted) > round % 50);
        rig_stop(&to);
        rig_wait_done(&from);
        CHECK_EQ(atomic_load(&n.ran), atomic_load(&n.accepted));
    }
    rig_stop(&from);
}

/* ---- handles across the stop ---- */

#define HANDLES 100

typedef struct heirs {
    thrum_handle *handles[HANDLES];
    atomic_int next;
} heirs;

static int yield_and_end(void *arg) {
    for (intptr_t i = (intptr_t)arg % 7; i > 0; i--) {
        thrum_yield();
    }
    return (int)(intptr_t)arg;
}

static void *join_while_it_stops(void *seat) {
    heirs *h = ((crew_seat *)seat)->arg;
    for (int i; (i = atomic_fetch_add(&h->next, 1)) < HANDLES;) {
        int result = -1;
        if (i % 4 == 3) {
            CHECK_EQ(thrum_detach(h->handles[i]), 0);
        } else {
            CHECK_EQ(thrum_join(h->handles[i], &result), 0);
            CHECK_EQ(result, i);
        }
    }
    return NULL;
}

TEST(handles_are_given_up_while_it_stops) {
    /* Plain threads join and detach before, during and after the end of the scheduler. */
    for (int round = 0; round < SCALED(200); round++) {
        rig r;
        crew c;
        heirs h = {.next = 0};
        rig_begin(&r, 0);
        const thrum_attr attr = rig_attr(&r);
        for (intptr_t i = 0; i < HANDLES; i++) {
            CHECK_EQ(thrum_spawn_with(&h.handles[i], &attr, yield_and_end, (void *)i), 0);
        }
        crew_start(&c, 3, join_while_it_stops, &h);
        watchdog_remove(&r);
        CHECK_EQ(thrum_sched_stop(r.sched), 0);
        crew_join(&c);
        rig_check_freed(&r); /* the last handle took the rest along */
    }
}
