/*
 * maps.c: stacks that cannot be mapped: tasks stay queued, waits are unharmed, and everything goes
 * on when there are stacks again.
 */
/* matrix: policy workers */
#include "support/support.h"
#include "support/times.h"

#include "platform/faults.h"

static void refuse_maps(bool on) {
    th_os_fail(TH_OS_FAULT_MAP, 0, on ? UINT32_MAX : 0);
}

static uint32_t refused(void) {
    return UINT32_MAX - th_os_fails_left(TH_OS_FAULT_MAP);
}

static int answer(void *arg) {
    (void)arg;
    return 42;
}

TEST(start_fails_at_each_mapping) {
    /* The start fails with -ENOMEM and leaves nothing behind. */
    for (uint32_t n = 0;; n++) {
        rig r;
        rig_init(&r);
        th_os_fail(TH_OS_FAULT_MAP, n, UINT32_MAX); /* smaller ones are tried, too */
        const int error = thrum_sched_start(&r.sched, &r.config);
        const bool had_all = th_os_fails_left(TH_OS_FAULT_MAP) == UINT32_MAX;
        refuse_maps(false);
        if (error == 0) {
            CHECK_EQ(rig_run(&r, answer, NULL), 42);
            CHECK_EQ(thrum_sched_stop(r.sched), 0);
        } else {
            CHECK_EQ(error, -ENOMEM);
        }
        rig_check_freed(&r);
        if (had_all) {
            CHECK_EQ(error, 0);
            CHECK(n > 0);
            break;
        }
    }
}

typedef struct crowd {
    rig *r;
    thrum_sem sem;
    atomic_int begun, through;
} crowd;

static int wait_in_crowd(void *arg) {
    crowd *c = arg;
    atomic_fetch_add(&c->begun, 1);
    CHECK_EQ(thrum_sem_wait(&c->sem), 0);
    atomic_fetch_add(&c->through, 1);
    return 0;
}

static void wait_in_task(thrum_task *self, void *arg) {
    (void)self;
    wait_in_crowd(arg);
}

#define CROWD 300

/*
 * Starts more waiting tasks than there are stacks; returns when a mapping was refused for want of
 * more.
 */
static void overcrowd(rig *r, crowd *c) {
    static thrum_task tasks[CROWD];
    memset(c, 0, sizeof(*c));
    c->r = r;
    thrum_sem_init(&c->sem, 0);
    refuse_maps(true);
    for (int i = 0; i < CROWD; i++) {
        if (i % 2 == 0) {
            rig_go(r, wait_in_crowd, c);
        } else {
            thrum_task_init(&tasks[i], wait_in_task, c);
            CHECK_EQ(thrum_task_post(r->sched, &tasks[i]), 0);
        }
    }
    SPIN_UNTIL(refused() > 0);
    CHECK(atomic_load(&c->begun) < CROWD);
}

TEST(tasks_wait_for_stacks_that_come_free) {
    /*
     * No mapping ever works again: tasks that hold a stack are served, end, and make room for
     * others.
     */
    rig r;
    crowd c;
    rig_begin(&r, 0);
    overcrowd(&r, &c);
    for (int i = 0; i < CROWD; i++) {
        thrum_sem_post(&c.sem);
    }
    rig_wait_done(&r);
    CHECK_EQ(atomic_load(&c.through), CROWD);
    refuse_maps(false);
    rig_stop(&r);
}

TEST(tasks_go_on_when_mapping_works_again) {
    /* All wait for what only a queued task could bring; new stacks set them free. */
    rig r;
    crowd c;
    rig_begin(&r, 0);
    overcrowd(&r, &c);
    CHECK_EQ(thrum_sched_wait_done(r.sched, soon()), -ETIMEDOUT);
    CHECK_EQ(atomic_load(&c.through), 0);
    refuse_maps(false);
    SPIN_UNTIL(atomic_load(&c.begun) == CROWD);
    for (int i = 0; i < CROWD; i++) {
        thrum_sem_post(&c.sem);
    }
    rig_stop(&r);
    CHECK_EQ(atomic_load(&c.through), CROWD);
}

TEST(stop_waits_for_tasks_without_a_stack) {
    /* Tasks that are only queued are run before stop returns. */
    rig r;
    crowd c;
    rig_begin(&r, 0);
    overcrowd(&r, &c);
    for (int i = 0; i < CROWD; i++) {
        thrum_sem_post(&c.sem);
    }
    rig_stop(&r);
    refuse_maps(false);
    CHECK_EQ(atomic_load(&c.through), CROWD);
}

static int stacks_of(const rig *r) {
    thrum_metrics m;
    m.size = sizeof m;
    CHECK_EQ(thrum_metrics_read(r->sched, THRUM_ALL_WORKERS, &m), 0);
    return (int)m.stacks;
}

TEST(each_worker_spares_what_it_has) {
    /*
     * No more stacks can be had, and a crowd has left them to any of the workers, which sleep. All
     * but the one that each worker's loop runs on are for tasks that wait on the first worker.
     */
    rig r;
    crowd c;
    rig_begin(&r, 0);
    overcrowd(&r, &c);
    for (int i = 0; i < CROWD; i++) {
        thrum_sem_post(&c.sem);
    }
    rig_wait_done(&r);
    thrum_attr attr = rig_attr(&r);
    attr.flags |= THRUM_PINNED;
    attr.worker = 0;
    const int spare = stacks_of(&r) - (int)thrum_sched_parallelism(r.sched);
    CHECK(spare > 0);
    atomic_store(&c.begun, 0);
    for (int i = 0; i < spare; i++) {
        CHECK_EQ(thrum_go_with(&attr, wait_in_crowd, &c), 0);
        SPIN_UNTIL(atomic_load(&c.begun) == i + 1);
    }
    refuse_maps(false);
    for (int i = 0; i < spare; i++) {
        thrum_sem_post(&c.sem);
    }
    rig_stop(&r);
    CHECK_EQ(atomic_load(&c.through), CROWD + spare);
}

/* All that were started have begun, or wait for a stack. */
static bool all_have_settled(const rig *r, crowd *c, int started) {
    thrum_metrics m;
    m.size = sizeof m;
    CHECK_EQ(thrum_metrics_read(r->sched, THRUM_ALL_WORKERS, &m), 0);
    return (int)m.tasks_deferred + atomic_load(&c->begun) == started;
}

typedef struct starter {
    crowd *c;
    thrum_event go;
    thrum_event done;
    int started;
} starter;

static int start_until_refused(void *arg) {
    starter *s = arg;
    int code;
    CHECK_EQ(thrum_event_wait(&s->go), 0);
    while ((code = thrum_go(wait_in_crowd, s->c)) == 0) {
        s->started++;
    }
    CHECK_EQ(code, -ENOMEM);
    thrum_event_signal(&s->done);
    return 0;
}

static int spawned(rig *r, crowd *c) {
    const thrum_attr attr = rig_attr(r);
    thrum_handle *handle;
    int n = 0;
    int code;
    while ((code = thrum_spawn_with(&handle, &attr, wait_in_crowd, c)) == 0) {
        CHECK_EQ(thrum_detach(handle), 0);
        n++;
    }
    CHECK_EQ(code, -ENOMEM);
    return n;
}

TEST(not_too_many_tasks_wait_for_stacks) {
    /* Further ones are refused, in tasks and outside; those that were not refused all run. */
    rig r;
    crowd c;
    int code = 0;
    int n = CROWD;
    rig_begin(&r, 0);
    const thrum_attr attr = rig_attr(&r);
    starter s = {.c = &c};
    thrum_event_init(&s.go, THRUM_EVENT_AUTO, false);
    thrum_event_init(&s.done, THRUM_EVENT_AUTO, false);
    rig_go(&r, start_until_refused, &s);
    CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    overcrowd(&r, &c);
    for (; code == 0; n += code == 0) {
        if (n % 1024 == 0) {
            SPIN_UNTIL(all_have_settled(&r, &c, n));
        }
        code = thrum_go_with(&attr, wait_in_crowd, &c);
    }
    CHECK_EQ(code, -ENOMEM);
    n += spawned(&r, &c);
    thrum_event_signal(&s.go);
    CHECK_EQ(thrum_event_wait(&s.done), 0);
    n += s.started;
    CHECK(n > 16384);
    for (int i = 0; i < n; i++) {
        thrum_sem_post(&c.sem);
    }
    refuse_maps(false);
    SPIN_UNTIL(atomic_load(&c.through) == n);
    CHECK_EQ(rig_run(&r, answer, NULL), 42);
    rig_stop(&r);
}

/* ---- waits of running fibers ---- */

typedef struct pair {
    thrum_sem a, b;
    atomic_bool ready, over;
} pair;

static int ping(void *arg) {
    pair *p = arg;
    atomic_store(&p->ready, true);
    while (!atomic_load(&p->over)) {
        thrum_sem_post(&p->b);
        CHECK_EQ(thrum_sem_wait(&p->a), 0);
        thrum_yield();
    }
    thrum_sem_post(&p->b);
    return 0;
}

static int pong(void *arg) {
    pair *p = arg;
    for (;;) {
        CHECK_EQ(thrum_sem_wait(&p->b), 0);
        if (atomic_load(&p->over)) {
            return 0;
        }
        thrum_sem_post(&p->a);
    }
}

TEST(waits_need_no_mapping) {
    /* Fibers that run already go on waiting and waking each other while no stack can be had. */
    rig r;
    crowd c;
    pair p = {.a = THRUM_SEM_INIT(0), .b = THRUM_SEM_INIT(0)};
    rig_begin(&r, 0);
    rig_go(&r, pong, &p);
    rig_go(&r, ping, &p);
    SPIN_UNTIL(atomic_load(&p.ready));
    overcrowd(&r, &c);
    for (int i = 0; i < CROWD; i++) {
        thrum_sem_post(&c.sem);
    }
    SPIN_UNTIL(atomic_load(&c.through) == CROWD);
    atomic_store(&p.over, true);
    thrum_sem_post(&p.a);
    rig_stop(&r);
    refuse_maps(false);
}

/* A body that waits: the library does not give the others up, however long they get no stack. */
static void hold_a_stack(rig *r, gate *g) {
    gate_begin(r, g);
    CHECK_EQ(thrum_sched_wait_idle(r->sched, THRUM_FOREVER), 0);
}

TEST(task_with_a_stack_of_its_own_waits_for_it) {
    /* A task that wants another size stays queued until its stack can be mapped; others pass it. */
    rig r;
    thrum_handle *handle = NULL;
    int result = 0;
    gate g;
    rig_begin(&r, 0);
    hold_a_stack(&r, &g);
    thrum_attr attr = rig_attr(&r);
    attr.stack_size = 8u << 20;
    refuse_maps(true);
    CHECK_EQ(thrum_spawn_with(&handle, &attr, answer, NULL), 0);
    SPIN_UNTIL(refused() > 0);
    for (int i = 0; i < 100; i++) {
        CHECK_EQ(rig_run(&r, answer, NULL), 42);
    }
    refuse_maps(false);
    CHECK_EQ(thrum_join(handle, &result), 0);
    CHECK_EQ(result, 42);
    gate_open(&g);
    rig_stop(&r);
}

TEST(many_tasks_wait_for_stacks_of_several_sizes) {
    /* Each gets its own stack in the end. */
    rig r;
    thrum_handle *handles[60];
    int result = 0;
    gate g;
    rig_begin(&r, 0);
    hold_a_stack(&r, &g);
    thrum_attr attr = rig_attr(&r);
    refuse_maps(true);
    for (int i = 0; i < 60; i++) {
        attr.stack_size = (size_t)(32u << 10) << (i % 9);
        CHECK_EQ(thrum_spawn_with(&handles[i], &attr, answer, NULL), 0);
    }
    SPIN_UNTIL(refused() > 0);
    refuse_maps(false);
    for (int i = 0; i < 60; i++) {
        CHECK_EQ(thrum_join(handles[i], &result), 0);
        CHECK_EQ(result, 42);
    }
    gate_open(&g);
    rig_stop(&r);
}

static void take_line(void *ctx, const char *line) {
    (void)ctx;
    fprintf(stderr, "HOOK<%s>\n", line);
}

static void nothing_left(void *arg) {
    rig r;
    (void)arg;
    rig_init(&r);
    r.config.panic = take_line;
    rig_start(&r);
    thrum_attr attr = rig_attr(&r);
    attr.stack_size = 8u << 20;
    refuse_maps(true);
    CHECK_EQ(thrum_go_with(&attr, answer, NULL), 0);
    CHECK_EQ(thrum_sched_stop(r.sched), 0);
}

TEST(panic_when_nothing_can_free_a_stack) {
    /* With a task that never gets its stack and nothing left to resume, the panic hook is told. */
    check_dies(nothing_left, NULL, "HOOK<thrum: no stack");
}
