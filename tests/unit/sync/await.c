/*
 * await.c: waits of intrusive tasks (thrum/await.h) for events, semaphores, channels and the ends
 * of tasks.
 */
/* matrix: policy workers */
#include "support/sync/awaits.h"
#include "support/times.h"

static int on_event(place *p) {
    return thrum_event_on_until(p->of, &p->await, &p->task, p->deadline);
}

static int on_sem(place *p) {
    return thrum_sem_on_until(p->of, &p->await, &p->task, p->deadline);
}

static int on_send(place *p) {
    return thrum_chan_send_on_until(p->of, &p->value, &p->await, &p->task, p->deadline);
}

static int on_recv(place *p) {
    return thrum_chan_recv_on_until(p->of, &p->value, &p->await, &p->task, p->deadline);
}

static int on_join(place *p) {
    return thrum_join_on_until(p->of, &p->await, &p->task, p->deadline);
}

static int nothing(void *unused) {
    (void)unused;
    return 0;
}

TEST(a_wait_for_nothing_posts_nothing) {
    /* An event, a unit, room, an element and an end are there: each is taken at once. */
    thrum_event event = THRUM_EVENT_INIT(THRUM_EVENT_AUTO, true);
    thrum_sem sem = THRUM_SEM_INIT(1);
    thrum_chan *chan;
    place p;
    thrum_handle *handle;
    rig_begin(&r, 0);
    CHECK_EQ(thrum_chan_create(&chan, sizeof(int), 1), 0);
    CHECK_EQ(begin(&p, on_event, &event, THRUM_FOREVER), 1);
    CHECK(!thrum_event_is_signaled(&event));
    CHECK_EQ(begin(&p, on_sem, &sem, THRUM_FOREVER), 1);
    CHECK_EQ(thrum_sem_try_wait(&sem), -EAGAIN);
    CHECK_EQ(begin(&p, on_send, chan, THRUM_FOREVER), 1);
    CHECK_EQ(begin(&p, on_recv, chan, THRUM_FOREVER), 1);
    CHECK_EQ(thrum_chan_len(chan), (size_t)0);
    thrum_attr attr = rig_attr(&r);
    CHECK_EQ(thrum_spawn_with(&handle, &attr, nothing, NULL), 0);
    rig_wait_done(&r);
    CHECK_EQ(begin(&p, on_join, handle, 0), 1);
    CHECK_EQ(thrum_join(handle, NULL), 0);
    CHECK_EQ(atomic_load(&p.runs), 0);
    CHECK_EQ(thrum_chan_destroy(chan), 0);
    rig_stop(&r);
}

TEST(a_waker_makes_the_task_due) {
    /* Signal, post, receive, send: the body has what it waited for, and sees what was written. */
    thrum_event event = THRUM_EVENT_INIT(THRUM_EVENT_AUTO, false);
    thrum_event manual = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false);
    thrum_sem sem = THRUM_SEM_INIT(0);
    thrum_chan *chan;
    place p[5];
    int value;
    rig_begin(&r, 0);
    CHECK_EQ(thrum_chan_create(&chan, sizeof(int), 0), 0);
    CHECK_EQ(begin(&p[0], on_event, &event, THRUM_FOREVER), 0);
    CHECK_EQ(begin(&p[1], on_event, &manual, far_off()), 0);
    CHECK_EQ(begin(&p[2], on_sem, &sem, THRUM_FOREVER), 0);
    CHECK_EQ(begin(&p[3], on_recv, chan, THRUM_FOREVER), 0);
    plain = 7;
    thrum_event_signal(&event);
    thrum_event_signal(&manual);
    thrum_sem_post(&sem);
    value = 5;
    CHECK_EQ(thrum_chan_try_send(chan, &value), 0);
    for (int i = 0; i < 4; i++) {
        await_run(&p[i]);
        CHECK_EQ(p[i].ended, 0);
        CHECK_EQ(p[i].plain, 7);
    }
    CHECK_EQ(p[3].value, 5);
    CHECK(!thrum_event_is_signaled(&event));
    CHECK(thrum_event_is_signaled(&manual));
    CHECK_EQ(thrum_sem_try_wait(&sem), -EAGAIN);
    CHECK_EQ(begin(&p[4], on_send, chan, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_chan_recv(chan, &value), 0);
    await_run(&p[4]);
    CHECK_EQ(p[4].ended, 0);
    CHECK_EQ(value, 0);
    CHECK_EQ(thrum_chan_destroy(chan), 0);
    rig_stop(&r);
}

TEST(a_close_ends_the_wait) {
    /* A sender and a receiver of a channel that is closed: -EPIPE, then and at once. */
    thrum_chan *chan;
    place p;
    rig_begin(&r, 0);
    for (int side = 0; side < 2; side++) {
        on_fn on = side ? on_send : on_recv;
        CHECK_EQ(thrum_chan_create(&chan, sizeof(int), 0), 0);
        CHECK_EQ(begin(&p, on, chan, THRUM_FOREVER), 0);
        CHECK_EQ(thrum_chan_close(chan), 0);
        await_run(&p);
        CHECK_EQ(p.ended, -EPIPE);
        CHECK_EQ(begin(&p, on, chan, THRUM_FOREVER), -EPIPE);
        CHECK_EQ(thrum_chan_destroy(chan), 0);
    }
    rig_stop(&r);
}

TEST(a_deadline_a_cancel_and_a_wakeup_take_nothing) {
    /* The wait is over, with its code; what is given afterwards is still there. */
    static const int codes[] = {-ETIMEDOUT, -ECANCELED, -EAGAIN};
    thrum_event event = THRUM_EVENT_INIT(THRUM_EVENT_AUTO, false);
    thrum_sem sem = THRUM_SEM_INIT(0);
    thrum_chan *chan;
    place p;
    rig_begin(&r, 0);
    CHECK_EQ(thrum_chan_create(&chan, sizeof(int), 0), 0);
    void *things[] = {&event, &sem, chan, chan};
    const on_fn on[] = {on_event, on_sem, on_recv, on_send};
    for (int how = 0; how < 3; how++) {
        for (int i = 0; i < 4; i++) {
            thrum_time deadline = how ? THRUM_FOREVER : soon();
            CHECK_EQ(begin(&p, on[i], things[i], past()), -ETIMEDOUT);
            int code = begin(&p, on[i], things[i], deadline);
            if (code == -ETIMEDOUT && !how) {
                continue; /* it came before the wait */
            }
            CHECK_EQ(code, 0);
            if (how == 1) {
                CHECK_EQ(thrum_task_cancel(&p.task), 0);
            } else if (how == 2) {
                thrum_task_wakeup(&p.task);
            }
            await_run(&p);
            CHECK_EQ(p.ended, codes[how]);
        }
    }
    CHECK_EQ(thrum_event_destroy(&event), 0);
    CHECK_EQ(thrum_sem_destroy(&sem), 0);
    CHECK_EQ(thrum_chan_destroy(chan), 0);
    rig_stop(&r);
}

static int waits_for_gate(void *arg) {
    return thrum_event_wait(arg);
}

TEST(a_task_waits_for_the_end_of_another) {
    /* In time, and with a deadline that comes first; afterwards it is still to be joined. */
    thrum_event opens = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false);
    thrum_handle *handle;
    place p;
    place late;
    int result = 1;
    rig_begin(&r, 0);
    thrum_attr attr = rig_attr(&r);
    CHECK_EQ(thrum_spawn_with(&handle, &attr, waits_for_gate, &opens), 0);
    CHECK_EQ(begin(&late, on_join, handle, past()), -ETIMEDOUT);
    const int code = begin(&late, on_join, handle, soon());
    if (code == 0) {
        await_run(&late);
        CHECK_EQ(late.ended, -ETIMEDOUT);
    } else {
        CHECK_EQ(code, -ETIMEDOUT); /* it came before the wait */
    }
    CHECK_EQ(begin(&p, on_join, handle, THRUM_FOREVER), 0);
    thrum_event_signal(&opens);
    await_run(&p);
    CHECK_EQ(p.ended, 0);
    CHECK_EQ(thrum_join(handle, &result), 0);
    CHECK_EQ(result, 0);
    rig_stop(&r);
}

TEST(a_stop_cancels_waits_that_nothing_ends) {
    /* Nothing but such waits is left: the stop ends them, and they take themselves off. */
    thrum_sem sem = THRUM_SEM_INIT(0);
    place p[3];
    rig_begin(&r, 0);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(begin(&p[i], on_sem, &sem, THRUM_FOREVER), 0);
    }
    rig_stop(&r);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(p[i].ended, -ECANCELED);
    }
    CHECK_EQ(thrum_sem_destroy(&sem), 0);
}

TEST(a_wait_needs_a_task_and_a_scheduler) {
    /* On a plain thread, without a task or an await, a serial one, one that is posted. */
    thrum_event event = THRUM_EVENT_INIT(THRUM_EVENT_AUTO, false);
    place p;
    memset(&p, 0, sizeof p);
    thrum_task_init(&p.task, ends, &p);
    CHECK_EQ(thrum_event_on_until(&event, &p.await, &p.task, THRUM_FOREVER), -ESRCH);
    CHECK_EQ(thrum_event_on_until(&event, &p.await, NULL, THRUM_FOREVER), -EINVAL);
    CHECK_EQ(thrum_sem_on_until(NULL, NULL, &p.task, THRUM_FOREVER), -EINVAL);
    CHECK_EQ(thrum_join_on_until(NULL, &p.await, &p.task, THRUM_FOREVER), -EINVAL);
    rig_begin(&r, 0);
    CHECK_EQ(begin(&p, on_event, &event, THRUM_FOREVER), 0);
    CHECK_EQ(rig_run(&r, begins, &p), 0);
    CHECK_EQ(p.code, -EBUSY);
    thrum_event_signal(&event);
    await_run(&p);
    CHECK_EQ(p.ended, 0);
    rig_wait_done(&r);
    thrum_task_set_serial(&p.task);
    CHECK_EQ(rig_run(&r, begins, &p), 0);
    CHECK_EQ(p.code, -EINVAL);
    rig_stop(&r);
}

/* Waits with its own task in the first run; what came of that is in `code`. */
static void waits_for_itself(thrum_task *self, void *arg) {
    place *p = arg;
    if (atomic_load(&p->runs) == 0) {
        p->code = thrum_sem_on_until(p->of, &p->await, self, THRUM_FOREVER);
    }
    atomic_fetch_add(&p->runs, 1);
}

TEST(a_task_does_not_wait_with_itself) {
    /* Its own body is refused, and nothing stands in line; made anew it may wait. */
    thrum_sem sem = THRUM_SEM_INIT(0);
    place p;
    memset(&p, 0, sizeof p);
    thrum_task_init(&p.task, waits_for_itself, &p);
    p.of = &sem;
    rig_begin(&r, 0);
    CHECK_EQ(thrum_task_post(r.sched, &p.task), 0);
    await_run(&p);
    rig_wait_done(&r);
    CHECK_EQ(p.code, -EBUSY);
    thrum_sem_post(&sem);
    CHECK_EQ(thrum_sem_try_wait(&sem), 0);
    CHECK_EQ(begin(&p, on_sem, &sem, THRUM_FOREVER), 0);
    thrum_sem_post(&sem);
    await_run(&p);
    CHECK_EQ(p.ended, 0);
    rig_stop(&r);
}

TEST(the_end_of_a_parents_task_is_not_waited_for) {
    /* In the child of a fork, by a task of the child's own scheduler: it never comes there. */
    if (UNDER_TSAN || UNDER_ASAN) {
        CHECK_SKIP("the sanitizers take no scheduler after a fork of threads");
    }
    thrum_event opens = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false);
    thrum_handle *handle;
    place p;
    int status = 0;
    rig_begin(&r, 0);
    thrum_attr attr = rig_attr(&r);
    CHECK_EQ(thrum_spawn_with(&handle, &attr, waits_for_gate, &opens), 0);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        check_end_in_time();
        rig_begin(&r, 0);
        CHECK_EQ(begin(&p, on_join, handle, THRUM_FOREVER), -ESHUTDOWN);
        CHECK_EQ(begin(&p, on_join, handle, far_off()), -ESHUTDOWN);
        _exit(0);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    thrum_event_signal(&opens);
    CHECK_EQ(thrum_join(handle, NULL), 0);
    rig_stop(&r);
}

/* ---- many ---- */

enum { WAITS = 64, ROUNDS = 200 };

typedef struct loop {
    thrum_task task;
    thrum_await await;
    thrum_sem *sem;
    atomic_int *left;
    unsigned random;
    int rounds;
} loop;

static atomic_long taken;

static void goes_on(loop *l);

static void is_woken(thrum_task *self, void *arg) {
    (void)self;
    loop *l = arg;
    int code = thrum_await_end(&l->await);
    CHECK(code == 0 || code == -ETIMEDOUT);
    atomic_fetch_add(&taken, code == 0);
    l->rounds--;
    goes_on(l);
}

/* Begins one wait after the other, each by a task made anew, until one has to wait. */
static void goes_on(loop *l) {
    while (l->rounds > 0) {
        l->random = l->random * 1103515245u + 12345u;
        thrum_time deadline = l->random >> 30 ? THRUM_FOREVER : thrum_after(l->random >> 18);
        thrum_task_init(&l->task, is_woken, l);
        int code = thrum_sem_on_until(l->sem, &l->await, &l->task, deadline);
        if (code == 0) {
            return;
        }
        CHECK(code == 1 || code == -ETIMEDOUT);
        atomic_fetch_add(&taken, code == 1);
        l->rounds--;
    }
    atomic_fetch_sub(l->left, 1);
}

static int begins_loop(void *arg) {
    goes_on(arg);
    return 0;
}

TEST(each_unit_comes_to_one_wait) {
    /* Tasks and fibers take units of one semaphore, some waits end before: none is lost. */
    static thrum_sem sem = THRUM_SEM_INIT(0);
    static atomic_int left;
    loop *loops = calloc(WAITS, sizeof *loops);
    CHECK(loops != NULL);
    atomic_store(&left, WAITS);
    rig_begin(&r, 0);
    const int rounds = SCALED(ROUNDS);
    for (int i = 0; i < WAITS; i++) {
        loops[i] = (loop){.sem = &sem, .left = &left, .random = (unsigned)i, .rounds = rounds};
        rig_go(&r, begins_loop, &loops[i]);
    }
    long posted = 0;
    while (atomic_load(&left)) {
        thrum_sem_post(&sem);
        posted++;
        if (posted - atomic_load(&taken) > 100) {
            sched_yield();
        }
    }
    rig_stop(&r);
    long over = 0;
    while (thrum_sem_try_wait(&sem) == 0) {
        over++;
    }
    CHECK_EQ(atomic_load(&taken) + over, posted);
    CHECK_EQ(thrum_sem_destroy(&sem), 0);
    free(loops);
}
