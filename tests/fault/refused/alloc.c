/*
 * alloc.c: the Nth allocation fails, for every N: an error comes back, nothing is lost or leaked,
 * and later everything works.
 */
/* matrix: policy workers */
#include "support/support.h"

#include "platform/faults.h"

static void fail_everything(rig *r, bool on) {
    atomic_store(&r->fail_all, on);
    th_os_fail(TH_OS_FAULT_ALLOC, 0, on ? UINT32_MAX : 0);
}

static int answer(void *arg) {
    (void)arg;
    return 42;
}

TEST(start_fails_at_each_allocation) {
    /*
     * The start fails with -ENOMEM and leaves nothing behind, until there are enough allocations.
     */
    long n = 0;
    for (bool started = false; !started;) {
        rig r;
        rig_init(&r);
        atomic_store(&r.fail_at, ++n);
        const int error = thrum_sched_start(&r.sched, &r.config);
        if (error != 0) {
            CHECK_EQ(error, -ENOMEM);
            CHECK_EQ(atomic_load(&r.refused), 1);
            rig_check_freed(&r);
            continue;
        }
        if (atomic_load(&r.refused) == 0) {
            started = true; /* it needs no more than that */
        }
        atomic_store(&r.fail_at, 0);
        CHECK_EQ(rig_run(&r, answer, NULL), 42);
        CHECK_EQ(thrum_sched_stop(r.sched), 0);
        rig_check_freed(&r);
    }
    CHECK(n > 3);
}

TEST(run_fails_at_each_allocation) {
    /* thrum_run says why it did not start, or runs. */
    for (long n = 1;; n++) {
        rig r;
        rig_init(&r);
        atomic_store(&r.fail_at, n);
        const int result = thrum_run(&r.config, answer, NULL);
        rig_check_freed(&r);
        if (atomic_load(&r.refused) == 0) {
            CHECK_EQ(result, 42);
            break;
        }
        CHECK(result == -ENOMEM || result == 42);
    }
}

/* ---- spawning ---- */

typedef struct spawns {
    rig *r;
    atomic_int ran;
    int started;
    bool joinable;
    thrum_handle *handles[20000];
} spawns;

static int count_run(void *arg) {
    atomic_fetch_add(&((spawns *)arg)->ran, 1);
    return 3;
}

static int start_one(spawns *s) {
    const thrum_attr attr = rig_attr(s->r);
    return s->joinable ? thrum_spawn_with(&s->handles[s->started], &attr, count_run, s)
                       : thrum_go_with(&attr, count_run, s);
}

/*
 * Starts tasks while nothing can be allocated, until one is refused; then does it again with
 * memory.
 */
static int spawn_without_memory(void *arg) {
    spawns *s = arg;
    int error = 0;
    fail_everything(s->r, true);
    while (s->started < 10000 && (error = start_one(s)) == 0) {
        s->started++;
    }
    CHECK(error == -ENOMEM);
    CHECK_EQ(start_one(s), -ENOMEM);
    fail_everything(s->r, false);
    for (int i = 0; i < 5000; i++) {
        CHECK_EQ(start_one(s), 0);
        s->started++;
    }
    for (int i = 0; s->joinable && i < s->started; i++) {
        int result = 0;
        CHECK_EQ(thrum_join(s->handles[i], &result), 0);
        CHECK_EQ(result, 3);
    }
    return 0;
}

static void check_spawns(bool joinable, bool external) {
    rig r;
    static spawns s;
    holder h;
    s.r = &r;
    s.joinable = joinable;
    rig_begin(&r, 1); /* with one worker what is queued stays queued meanwhile */
    if (external) {
        holder_begin(&r, &h, -1);
        fail_everything(&r, true);
        int error = 0;
        while (s.started < 10000 && (error = start_one(&s)) == 0) {
            s.started++;
        }
        CHECK_EQ(error, -ENOMEM);
        fail_everything(&r, false);
        holder_end(&h);
        for (int i = 0; joinable && i < s.started; i++) {
            CHECK_EQ(thrum_join(s.handles[i], NULL), 0);
        }
    } else {
        CHECK_EQ(rig_run(&r, spawn_without_memory, &s), 0);
    }
    rig_wait_done(&r);
    CHECK_EQ(atomic_load(&s.ran), s.started);
    CHECK_EQ(rig_run(&r, answer, NULL), 42);
    rig_stop(&r);
}

static int ends_later(void *arg) {
    atomic_fetch_add((atomic_long *)arg, 1);
    return 0;
}

static int plain_go_without_memory(void *arg) {
    rig *r = arg;
    atomic_long ran = 0;
    long started = 0;
    int error = 0;
    fail_everything(r, true);
    while (started < 100000 && (error = thrum_go(ends_later, &ran)) == 0) {
        started++; /* with one worker none ends meanwhile */
    }
    fail_everything(r, false);
    CHECK_EQ(error, -ENOMEM);
    CHECK_EQ(atomic_load(&ran), 0);
    YIELD_UNTIL(atomic_load(&ran) == started);
    CHECK_EQ(thrum_go(ends_later, &ran), 0);
    YIELD_UNTIL(atomic_load(&ran) == started + 1);
    return 0;
}

TEST(plain_go_fails_where_there_is_no_memory) {
    /* Each way fails with -ENOMEM; what was started runs, and later it works. */
    rig r;
    rig_begin(&r, 1);
    CHECK_EQ(rig_run(&r, plain_go_without_memory, &r), 0);
    rig_stop(&r);
}

TEST(go_without_memory) {
    /* -ENOMEM comes with nothing started; what was started runs, and later calls work. */
    check_spawns(false, false);
}

TEST(spawn_without_memory) {
    /* The same holds with handles. */
    check_spawns(true, false);
}

TEST(go_from_external_threads_without_memory) {
    /* The same holds on a plain thread. */
    check_spawns(false, true);
}

TEST(spawn_from_external_threads_without_memory) {
    /* The same holds on a plain thread, with handles. */
    check_spawns(true, true);
}

/* ---- each allocation of a mixed load ---- */

typedef struct load {
    rig *r;
    thrum_key keys[8];
    atomic_int started, ran;
    thrum_sem sem;
} load;

static int load_fiber(void *arg) {
    load *l = arg;
    for (int i = 0; i < 8; i++) {
        const int error = thrum_key_set(l->keys[i], l);
        CHECK(error == 0 || error == -ENOMEM);
        CHECK(thrum_key_get(l->keys[i]) == (error == 0 ? l : NULL));
    }
    CHECK_EQ(thrum_sem_wait(&l->sem), 0);
    atomic_fetch_add(&l->ran, 1);
    return 0;
}

static int load_main(void *arg) {
    load *l = arg;
    thrum_attr attr = rig_attr(l->r);
    for (int i = 0; i < 60; i++) {
        attr.name = i % 2 == 0 ? "loaded" : NULL;
        attr.stack_size = i % 4 == 0 ? 1u << 20 : 0;
        const int error = thrum_go_with(&attr, load_fiber, l);
        if (error == 0) {
            atomic_fetch_add(&l->started, 1);
        } else {
            CHECK_EQ(error, -ENOMEM);
        }
    }
    for (int i = atomic_load(&l->started); i > 0; i--) {
        thrum_sem_post(&l->sem);
    }
    return 0;
}

TEST(load_goes_on_at_each_failed_allocation) {
    /*
     * In spawns and values under keys each Nth allocation is refused once: waits and stacks are
     * unharmed.
     */
    bool refused = true;
    static load l;
    for (int i = 0; i < 8; i++) {
        CHECK_EQ(thrum_key_create(&l.keys[i], NULL), 0);
    }
    for (long n = 1; refused && n < 2000; n += n < 40 ? 1 : 13) {
        rig r;
        rig_begin(&r, 0);
        l.r = &r;
        atomic_store(&l.started, 0);
        atomic_store(&l.ran, 0);
        thrum_sem_init(&l.sem, 0);
        atomic_store(&r.fail_at, atomic_load(&r.calls) + n);
        const thrum_attr attr = rig_attr(&r);
        const int error = thrum_go_with(&attr, load_main, &l);
        CHECK(error == 0 || error == -ENOMEM);
        rig_wait_done(&r);
        CHECK_EQ(atomic_load(&l.ran), atomic_load(&l.started));
        refused = atomic_load(&r.refused) > 0;
        rig_stop(&r);
    }
    CHECK(!refused); /* each allocation has failed once */
}

/* ---- values under keys ---- */

static thrum_key keys[THRUM_KEYS_MAX];
static int cell;

static void set_until_refused(rig *r) {
    int kept = 0, error = 0;
    fail_everything(r, true);
    while (kept < THRUM_KEYS_MAX && (error = thrum_key_set(keys[kept], &cell)) == 0) {
        kept++;
    }
    CHECK(kept < THRUM_KEYS_MAX);
    CHECK_EQ(error, -ENOMEM);
    CHECK(thrum_key_get(keys[kept]) == NULL);
    for (int i = 0; i < kept; i++) {
        CHECK(thrum_key_get(keys[i]) == &cell);
    }
    fail_everything(r, false);
    for (int i = 0; i < THRUM_KEYS_MAX; i++) {
        CHECK_EQ(thrum_key_set(keys[i], &cell), 0);
    }
    for (int i = 0; i < THRUM_KEYS_MAX; i++) {
        CHECK(thrum_key_get(keys[i]) == &cell);
    }
}

static int set_in_fiber(void *arg) {
    set_until_refused(arg);
    return 0;
}

TEST(key_set_without_memory) {
    /*
     * A set fails with -ENOMEM, the values that are there stay, and later it works; in a fiber and
     * in a thread.
     */
    rig r;
    for (int i = 0; i < THRUM_KEYS_MAX; i++) {
        CHECK_EQ(thrum_key_create(&keys[i], NULL), 0);
    }
    rig_begin(&r, 0);
    CHECK_EQ(rig_run(&r, set_in_fiber, &r), 0);
    set_until_refused(&r);
    rig_stop(&r);
}

/* ---- what must not allocate ---- */

typedef struct poor {
    rig *r;
    thrum_task tasks[200];
    thrum_sem done;
    thrum_mutex mutex;
    thrum_cond cond;
    thrum_event event;
    thrum_waitgroup group;
    int met; /* protected by mutex */
    atomic_int ran;
} poor;

static void poor_task(thrum_task *self, void *arg) {
    poor *p = arg;
    (void)self;
    if (atomic_fetch_add(&p->ran, 1) % 10 == 0) {
        thrum_yield();
    }
    thrum_sem_post(&p->done);
}

static void *post_in_fresh_thread(void *seat) {
    const crew_seat *s = seat;
    poor *p = s->arg;
    thrum_task *batch[50];
    for (int i = 0; i < 50; i++) {
        batch[i] = &p->tasks[s->index * 50 + i];
        thrum_task_init(batch[i], poor_task, p);
    }
    for (int i = 0; i < 25; i++) {
        thrum_task_set_worker(batch[i], i % 5 == 0 ? 0 : -1);
        CHECK_EQ(thrum_task_post_hint(p->r->sched, batch[i], (thrum_hint)(i % 3)), 0);
    }
    CHECK_EQ(thrum_task_post_batch(p->r->sched, batch + 25, 25), 0);
    for (int i = 0; i < 50; i++) {
        CHECK_EQ(thrum_sem_wait(&p->done), 0);
    }
    return NULL;
}

TEST(posts_need_no_memory) {
    /*
     * Posting a task succeeds where nothing can be allocated, also on threads that never posted
     * before.
     */
    rig r;
    crew c;
    static poor p;
    rig_begin(&r, 0);
    p.r = &r;
    thrum_sem_init(&p.done, 0);
    fail_everything(&r, true);
    crew_start(&c, 4, post_in_fresh_thread, &p);
    crew_join(&c);
    fail_everything(&r, false);
    CHECK_EQ(atomic_load(&p.ran), 200);
    rig_stop(&r);
}

#define POOR_FIBERS 20
#define POOR_THREADS 4

static void meet(poor *p) {
    thrum_mutex_lock(&p->mutex);
    if (++p->met == POOR_FIBERS + POOR_THREADS) {
        thrum_cond_broadcast(&p->cond);
    }
    while (p->met < POOR_FIBERS + POOR_THREADS) {
        CHECK_EQ(thrum_cond_wait(&p->cond, &p->mutex), 0);
    }
    thrum_mutex_unlock(&p->mutex);
    thrum_waitgroup_done(&p->group);
    CHECK_EQ(thrum_waitgroup_wait(&p->group), 0);
    thrum_event_signal(&p->event);
    CHECK_EQ(thrum_event_wait(&p->event), 0);
    thrum_sem_post(&p->done);
    CHECK_EQ(thrum_sem_wait(&p->done), 0);
}

static int meet_in_fiber(void *arg) {
    meet(arg);
    return 0;
}

static void *meet_in_thread(void *seat) {
    meet(((crew_seat *)seat)->arg);
    return NULL;
}

TEST(waits_need_no_memory) {
    /*
     * Every primitive waits and wakes where nothing can be allocated, in fibers and fresh threads.
     */
    rig r;
    crew c;
    static poor p;
    thrum_handle *handles[POOR_FIBERS];
    rig_begin(&r, 0);
    p.r = &r;
    thrum_sem_init(&p.done, 0);
    thrum_mutex_init(&p.mutex);
    thrum_cond_init(&p.cond);
    thrum_event_init(&p.event, THRUM_EVENT_MANUAL, false);
    thrum_waitgroup_init(&p.group, POOR_FIBERS + POOR_THREADS);
    const thrum_attr attr = rig_attr(&r);
    for (int i = 0; i < POOR_FIBERS; i++) {
        CHECK_EQ(thrum_spawn_with(&handles[i], &attr, meet_in_fiber, &p), 0);
    }
    /* they all wait at the condition now, each on a stack of its own */
    CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    fail_everything(&r, true);
    crew_start(&c, POOR_THREADS, meet_in_thread, &p);
    crew_join(&c);
    for (int i = 0; i < POOR_FIBERS; i++) {
        CHECK_EQ(thrum_join(handles[i], NULL), 0);
    }
    CHECK_EQ(thrum_sched_wait_done(r.sched, THRUM_FOREVER), 0);
    watchdog_remove(&r);
    CHECK_EQ(thrum_sched_stop(r.sched), 0); /* stopping needs no memory either */
    fail_everything(&r, false);
    rig_check_freed(&r);
}
