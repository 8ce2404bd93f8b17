/*
 * cancel.c: cancelling single tasks: each of its waits ends, and nothing else does.
 */
/* matrix: policy workers */
#include "support/support.h"
#include "support/times.h"

typedef struct room {
    rig rig;
    thrum_sem sem;
    thrum_event event;
    thrum_waitgroup wg;
    thrum_mutex mutex;
    thrum_cond cond;
    thrum_handle *gates[2]; /* tasks that end when `open` is posted */
    thrum_sem open;
    atomic_int inside;
} room;

static int waits_at_gate(void *arg) {
    return thrum_sem_wait(&((room *)arg)->open);
}

static thrum_handle *spawn_in(room *m, thrum_fn fn, void *arg) {
    thrum_attr attr = THRUM_ATTR_INIT;
    thrum_handle *handle;
    attr.sched = m->rig.sched;
    CHECK_EQ(thrum_spawn_with(&handle, &attr, fn, arg), 0);
    return handle;
}

static void room_begin(room *m) {
    memset(m, 0, sizeof *m);
    rig_begin(&m->rig, 0);
    thrum_sem_init(&m->sem, 0);
    thrum_sem_init(&m->open, 0);
    thrum_event_init(&m->event, THRUM_EVENT_AUTO, false);
    thrum_waitgroup_init(&m->wg, 1);
    thrum_mutex_init(&m->mutex);
    thrum_cond_init(&m->cond);
    m->gates[0] = spawn_in(m, waits_at_gate, m);
    m->gates[1] = spawn_in(m, waits_at_gate, m);
}

static void room_end(room *m) {
    for (size_t i = 0; i < COUNT_OF(m->gates); i++) {
        thrum_sem_post(&m->open);
    }
    for (size_t i = 0; i < COUNT_OF(m->gates); i++) {
        CHECK_EQ(thrum_join(m->gates[i], NULL), 0);
    }
    rig_stop(&m->rig);
}

static int join_result(thrum_handle *handle) {
    int result = 1;
    CHECK_EQ(thrum_join(handle, &result), 0);
    return result;
}

/* ---- every wait ---- */

static int on_sem(room *m) {
    return thrum_sem_wait(&m->sem);
}

static int on_sem_until(room *m) {
    return thrum_sem_wait_until(&m->sem, far_off());
}

static int on_event(room *m) {
    return thrum_event_wait(&m->event);
}

static int on_event_until(room *m) {
    return thrum_event_wait_until(&m->event, far_off());
}

static int on_waitgroup(room *m) {
    return thrum_waitgroup_wait(&m->wg);
}

static int on_waitgroup_until(room *m) {
    return thrum_waitgroup_wait_until(&m->wg, far_off());
}

static int on_cond(room *m) {
    thrum_mutex_lock(&m->mutex);
    int code = thrum_cond_wait(&m->cond, &m->mutex);
    thrum_mutex_unlock(&m->mutex); /* it is held, or this would stop the program */
    return code;
}

static int on_cond_until(room *m) {
    thrum_mutex_lock(&m->mutex);
    int code = thrum_cond_wait_until(&m->cond, &m->mutex, far_off());
    thrum_mutex_unlock(&m->mutex);
    return code;
}

static int on_join(room *m) {
    return thrum_join(m->gates[0], NULL);
}

static int on_join_until(room *m) {
    return thrum_join_until(m->gates[1], NULL, far_off());
}

static int on_sleep(room *m) {
    (void)m;
    return sleep_until_cancelled();
}

static int (*const waits[])(room *) = {
    on_sem,  on_sem_until,  on_event, on_event_until, on_waitgroup, on_waitgroup_until,
    on_cond, on_cond_until, on_join,  on_join_until,  on_sleep,
};

typedef struct visit {
    room *room;
    int (*wait)(room *);
    int codes[2];
    bool before, after;
} visit;

static int visits(void *arg) {
    visit *v = arg;
    v->before = thrum_cancelled();
    atomic_fetch_add(&v->room->inside, 1);
    v->codes[0] = v->wait(v->room);
    v->after = thrum_cancelled();
    v->codes[1] = v->wait(v->room); /* and so does each that comes after */
    return -7;
}

TEST(each_kind_of_wait_ends) {
    /*
     * Blocked tasks get one cancel after the other; a task beside them that is not cancelled waits
     * on.
     */
    room m;
    visit v[COUNT_OF(waits)];
    thrum_handle *handles[COUNT_OF(waits)];
    room_begin(&m);
    for (size_t i = 0; i < COUNT_OF(waits); i++) {
        v[i] = (visit){.room = &m, .wait = waits[i]};
        handles[i] = spawn_in(&m, visits, &v[i]);
    }
    SPIN_UNTIL(atomic_load(&m.inside) == COUNT_OF(waits));
    CHECK_EQ(thrum_sched_wait_idle(m.rig.sched, THRUM_FOREVER), 0);
    for (size_t i = 0; i < COUNT_OF(waits); i++) {
        CHECK_EQ(thrum_cancel(handles[i]), 0);
        CHECK_EQ(join_result(handles[i]), -7);
        CHECK_EQ(v[i].codes[0], -ECANCELED);
        CHECK_EQ(v[i].codes[1], -ECANCELED);
        CHECK(!v[i].before && v[i].after);
    }
    CHECK_EQ(thrum_sem_try_wait(&m.sem), -EAGAIN);
    room_end(&m);
}

TEST(tasks_on_their_way_into_a_wait_end) {
    /* The cancel comes before the body, in it, or in the wait. */
    room m;
    visit v[COUNT_OF(waits)];
    thrum_handle *handles[COUNT_OF(waits)];
    room_begin(&m);
    for (int round = 0; round < SCALED(200); round++) {
        for (size_t i = 0; i < COUNT_OF(waits); i++) {
            v[i] = (visit){.room = &m, .wait = waits[i]};
            handles[i] = spawn_in(&m, visits, &v[i]);
        }
        for (size_t i = 0; i < COUNT_OF(waits); i++) {
            CHECK_EQ(thrum_cancel(handles[i]), 0);
            CHECK_EQ(thrum_cancel(handles[i]), 0); /* a second cancel does nothing */
        }
        for (size_t i = 0; i < COUNT_OF(waits); i++) {
            CHECK_EQ(join_result(handles[i]), -7); /* it ran */
            CHECK(v[i].codes[0] == -ECANCELED && v[i].codes[1] == -ECANCELED && v[i].after);
        }
    }
    room_end(&m);
}

/* ---- what goes on ---- */

static int takes_what_is_there(void *arg) {
    room *m = arg;
    SPIN_UNTIL(thrum_cancelled());
    CHECK_EQ(thrum_sem_wait(&m->sem), 0);
    CHECK_EQ(thrum_event_wait(&m->event), 0);
    CHECK_EQ(thrum_sem_wait(&m->sem), -ECANCELED);
    thrum_yield();
    return 0;
}

TEST(calls_that_need_not_wait_succeed) {
    /* They take a unit and a signal that are there. */
    room m;
    room_begin(&m);
    thrum_sem_post(&m.sem);
    thrum_event_signal(&m.event);
    thrum_handle *handle = spawn_in(&m, takes_what_is_there, &m);
    CHECK_EQ(thrum_cancel(handle), 0);
    CHECK_EQ(join_result(handle), 0);
    room_end(&m);
}

static int locks(void *arg) {
    room *m = arg;
    atomic_fetch_add(&m->inside, 1);
    thrum_mutex_lock(&m->mutex);
    thrum_mutex_unlock(&m->mutex);
    return thrum_sem_wait(&m->sem);
}

TEST(a_mutex_is_locked_all_the_same) {
    /* A task waits for it when it is cancelled, and has it in the end. */
    room m;
    room_begin(&m);
    thrum_mutex_lock(&m.mutex);
    thrum_handle *handle = spawn_in(&m, locks, &m);
    SPIN_UNTIL(atomic_load(&m.inside) == 1);
    CHECK_EQ(thrum_sched_wait_idle(m.rig.sched, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_cancel(handle), 0);
    CHECK_EQ(thrum_sched_wait_idle(m.rig.sched, THRUM_FOREVER), 0);
    thrum_mutex_unlock(&m.mutex);
    CHECK_EQ(join_result(handle), -ECANCELED); /* the semaphore's */
    room_end(&m);
}

static int cleans_up(void *arg) {
    room *m = arg;
    CHECK_EQ(thrum_sem_wait(&m->sem), -ECANCELED);
    thrum_shield_begin();
    thrum_shield_begin();
    CHECK(thrum_cancelled()); /* it is still cancelled */
    nap();
    atomic_fetch_add(&m->inside, 1);
    CHECK_EQ(thrum_event_wait(&m->event), 0);
    thrum_shield_end();
    CHECK_EQ(thrum_event_wait_until(&m->event, soon()), -ETIMEDOUT);
    thrum_shield_end();
    CHECK_EQ(thrum_sem_wait(&m->sem), -ECANCELED);
    return 0;
}

TEST(behind_a_shield_waits_are_waits) {
    /* They are, until the last of the nested shields ends. */
    room m;
    room_begin(&m);
    thrum_handle *handle = spawn_in(&m, cleans_up, &m);
    CHECK_EQ(thrum_cancel(handle), 0);
    SPIN_UNTIL(atomic_load(&m.inside) == 1);
    CHECK_EQ(thrum_sched_wait_idle(m.rig.sched, THRUM_FOREVER), 0);
    thrum_event_signal(&m.event);
    CHECK_EQ(join_result(handle), 0);
    room_end(&m);
}

static int waits_shielded(void *arg) {
    room *m = arg;
    thrum_shield_begin();
    atomic_fetch_add(&m->inside, 1);
    int code = thrum_sem_wait(&m->sem);
    thrum_shield_end();
    return code;
}

TEST(a_wait_that_began_behind_a_shield_is_not_cut_short) {
    /* The cancel finds it blocked, and leaves it so. */
    room m;
    room_begin(&m);
    thrum_handle *handle = spawn_in(&m, waits_shielded, &m);
    SPIN_UNTIL(atomic_load(&m.inside) == 1);
    CHECK_EQ(thrum_sched_wait_idle(m.rig.sched, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_cancel(handle), 0);
    CHECK_EQ(thrum_sched_wait_idle(m.rig.sched, THRUM_FOREVER), 0);
    thrum_sem_post(&m.sem);
    CHECK_EQ(join_result(handle), 0);
    room_end(&m);
}

static int is_not_cancelled(void *arg) {
    (void)arg;
    CHECK(!thrum_cancelled());
    nap();
    return 0;
}

static int leaves_a_shield(void *arg) {
    (void)arg;
    thrum_shield_begin();
    nap();
    return 0;
}

TEST(the_next_task_knows_nothing_of_it) {
    /*
     * The next task may run on the same fiber or not: neither a cancel nor a shield outlives its
     * task.
     */
    room m;
    room_begin(&m);
    for (int i = 0; i < SCALED(500); i++) {
        thrum_handle *handle = spawn_in(&m, i % 2 ? waits_at_gate : leaves_a_shield, &m);
        if (i % 2) {
            CHECK_EQ(thrum_cancel(handle), 0);
            CHECK_EQ(join_result(handle), -ECANCELED);
        } else {
            CHECK_EQ(join_result(handle), 0);
        }
        CHECK_EQ(join_result(spawn_in(&m, is_not_cancelled, NULL)), 0);
    }
    room_end(&m);
}

static int returns_at_once(void *arg) {
    (void)arg;
    return 0;
}

TEST(cancelling_what_has_ended_is_without_effect) {
    /* This holds when its scheduler is gone, too. */
    room m;
    room_begin(&m);
    thrum_handle *handle = spawn_in(&m, returns_at_once, NULL);
    CHECK_EQ(thrum_sched_wait_idle(m.rig.sched, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_cancel(handle), 0);
    CHECK_EQ(thrum_cancel(NULL), -EINVAL);
    CHECK(!thrum_cancelled());
    CHECK_EQ(join_result(handle), 0);
    room_end(&m);
}

/* ---- calls that block the thread ---- */

static int holds_the_pool(void *arg) {
    room *m = arg;
    atomic_fetch_add(&m->inside, 1);
    return thrum_sem_wait(&m->sem);
}

static int counts(void *arg) {
    atomic_fetch_add((atomic_int *)arg, 1);
    return 0;
}

typedef struct call {
    room *room;
    thrum_fn fn;
    void *arg;
    int code;
} call;

static int calls(void *arg) {
    call *c = arg;
    c->code = thrum_blocking(c->fn, c->arg, NULL);
    return 0;
}

TEST(a_blocking_call_is_withdrawn_or_waited_for) {
    /* The pool has one thread, which one call holds: those behind it have not begun. */
    room m;
    atomic_int begun = 0;
    memset(&m, 0, sizeof m);
    rig_init(&m.rig);
    m.rig.config.blocking_threads_max = 1;
    rig_start(&m.rig);
    thrum_sem_init(&m.sem, 0);
    call first = {&m, holds_the_pool, &m, 1};
    call later[10];
    thrum_handle *handles[10];
    thrum_handle *handle = spawn_in(&m, calls, &first);
    SPIN_UNTIL(atomic_load(&m.inside) == 1);
    for (size_t i = 0; i < COUNT_OF(later); i++) {
        later[i] = (call){&m, counts, &begun, 1};
        handles[i] = spawn_in(&m, calls, &later[i]);
    }
    CHECK_EQ(thrum_sched_wait_idle(m.rig.sched, THRUM_FOREVER), 0);
    for (size_t i = 0; i < COUNT_OF(later); i += 3) {
        CHECK_EQ(thrum_cancel(handles[i]), 0);
        CHECK_EQ(join_result(handles[i]), 0);
        CHECK_EQ(later[i].code, -ECANCELED);
    }
    CHECK_EQ(thrum_cancel(handle), 0);
    CHECK_EQ(thrum_sched_wait_idle(m.rig.sched, THRUM_FOREVER), 0);
    CHECK_EQ(atomic_load(&begun), 0);
    thrum_sem_post(&m.sem);
    CHECK_EQ(join_result(handle), 0);
    CHECK_EQ(first.code, 0); /* it was waited for */
    for (size_t i = 0; i < COUNT_OF(later); i++) {
        if (i % 3) {
            CHECK_EQ(join_result(handles[i]), 0);
            CHECK_EQ(later[i].code, 0);
        }
    }
    CHECK_EQ(atomic_load(&begun), 6);
    rig_stop(&m.rig);
}

static int begins_and_calls(void *arg) {
    atomic_int *begun = arg;
    thrum_shield_begin();
    CHECK_EQ(thrum_blocking(counts, begun, NULL), 0); /* so that there is a thread, which is idle */
    thrum_shield_end();
    while (!thrum_cancelled()) {
        thrum_yield();
    }
    for (int i = 0; i < 200; i++) {
        CHECK_EQ(thrum_blocking(counts, begun, NULL), -ECANCELED);
    }
    thrum_shield_begin();
    CHECK_EQ(thrum_blocking(counts, begun, NULL), 0);
    thrum_shield_end();
    return 0;
}

TEST(a_cancelled_task_begins_no_blocking_call) {
    /* It does not, however fast a thread of the pool would have taken it. */
    room m;
    atomic_int begun = 0;
    memset(&m, 0, sizeof m);
    rig_begin(&m.rig, 0);
    thrum_handle *handle = spawn_in(&m, begins_and_calls, &begun);
    CHECK_EQ(thrum_cancel(handle), 0);
    CHECK_EQ(join_result(handle), 0);
    CHECK_EQ(atomic_load(&begun), 2);
    rig_stop(&m.rig);
}

/* ---- misuse ---- */

static int ends_no_shield(void *arg) {
    (void)arg;
    thrum_shield_end();
    return 0;
}

static void end_no_shield(void *arg) {
    rig r;
    (void)arg;
    rig_begin(&r, 0);
    (void)rig_run(&r, ends_no_shield, NULL);
}

TEST(ending_a_shield_that_is_none_aborts) {
    /* The line names the call. */
    check_dies(end_no_shield, NULL, "thrum_shield_end: there is no shield to end");
}
