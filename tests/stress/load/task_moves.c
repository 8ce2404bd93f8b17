/*
 * task_moves.c: tasks that signal each other round a ring, and that move between schedulers;
 * threads that are still in a call about a task when stop frees the scheduler.
 */

#include "core/state/worker.h"
#include "support/mapped.h"
#include "support/steps.h"
#include "support/support.h"
#include "support/times.h"

static const thrum_policy policies[] = {THRUM_SHARDED, THRUM_FIFO, THRUM_GLOBAL};

static void begin_as(rig *r, unsigned workers, thrum_policy policy) {
    rig_init(r);
    r->config.workers = workers;
    r->config.policy = policy;
    rig_start(r);
}

static uint64_t dice(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* ---- a ring ---- */

enum { RING = 1000, SIGNALS = 10 };

typedef struct member {
    thrum_task task;
    thrum_sched *sched;
    struct member *next, *before;
    int sent; /* plain: the runs of a task are ordered */
    atomic_int received;
} member;

static member ring[RING];

/* Sends the next signal when the one before was received: signals do not add up. */
static void pass_on(thrum_task *self, void *arg) {
    member *l = arg;
    if (thrum_task_receive_signal(self)) {
        atomic_fetch_add(&l->received, 1);
        thrum_task_wakeup(&l->before->task); /* the one before may send another */
    }
    if (l->sent < SIGNALS && atomic_load(&l->next->received) == l->sent) {
        l->sent++;
        thrum_task_signal(&l->next->task);
    }
    if (l->sent < SIGNALS || atomic_load(&l->received) < SIGNALS) {
        CHECK_EQ(thrum_task_post_wait(l->sched, self), 0);
    }
}

TEST(a_ring_of_tasks_with_ten_signals_each) {
    /* A thousand tasks on five workers: each signals the next one; none is lost, none comes twice.
     */
    const int rounds = SCALED(40);
    for (int i = 0; i < rounds; i++) {
        rig r;
        begin_as(&r, 5, policies[i % 3]);
        for (int k = 0; k < RING; k++) {
            member *l = &ring[k];
            l->sched = r.sched;
            l->next = &ring[(k + 1) % RING];
            l->before = &ring[(k + RING - 1) % RING];
            l->sent = 0;
            atomic_store(&l->received, 0);
            thrum_task_init(&l->task, pass_on, l);
        }
        for (int k = 0; k < RING; k++) {
            CHECK_EQ(thrum_task_post(r.sched, &ring[k].task), 0);
        }
        rig_wait_done(&r); /* stop would cancel those that wait */
        rig_stop(&r);
        for (int k = 0; k < RING; k++) {
            CHECK_EQ(ring[k].sent, SIGNALS);
            CHECK_EQ(atomic_load(&ring[k].received), SIGNALS);
        }
    }
}

/* ---- between schedulers ---- */

enum { SCHEDS = 3, TRAVELLERS = 300 };

typedef struct traveller {
    thrum_task task;
    thrum_sched *next; /* the scheduler that it was posted to */
    uint64_t random;
    int hops, left;
    bool refused;
    atomic_int inside;
} traveller;

static struct {
    rig rigs[SCHEDS];
    thrum_waitgroup left;    /* travellers that are under way */
    thrum_waitgroup refused; /* those that have not been refused by the one that stops */
} world;

static traveller travellers[TRAVELLERS];

static int travel_to(traveller *t, thrum_sched *next) {
    switch (dice(&t->random) % 4) {
    case 0:
        return thrum_task_post(next, &t->task);
    case 1:
        return thrum_task_post_after(next, &t->task, (thrum_time)(dice(&t->random) % 50000));
    case 2:
        thrum_task_wakeup(&t->task);
        return thrum_task_post_wait(next, &t->task);
    default:
        thrum_task_signal(&t->task);
        return thrum_task_post_until(next, &t->task, far_off());
    }
}

static void travel(thrum_task *self, void *arg) {
    traveller *t = arg;
    CHECK_EQ(atomic_fetch_add(&t->inside, 1), 0);
    CHECK(thrum_sched_current() == t->next);
    thrum_task_receive_signal(self);
    t->hops++;
    const bool last = --t->left == 0;
    if (!last) {
        t->next = world.rigs[dice(&t->random) % SCHEDS].sched;
        CHECK_EQ(travel_to(t, t->next), 0);
        if (t->left % 8 == 0) {
            thrum_yield(); /* it goes on here, and runs there after it has returned */
        }
    }
    CHECK_EQ(atomic_fetch_sub(&t->inside, 1), 1);
    if (last) {
        thrum_waitgroup_done(&world.left);
    }
}

static void travellers_begin(thrum_task_fn fn, int hops) {
    thrum_waitgroup_init(&world.left, TRAVELLERS);
    thrum_waitgroup_init(&world.refused, TRAVELLERS);
    for (int i = 0; i < TRAVELLERS; i++) {
        traveller *t = &travellers[i];
        memset(t, 0, sizeof(*t));
        t->random = (uint64_t)i;
        t->left = hops;
        t->next = world.rigs[i % SCHEDS].sched;
        thrum_task_init(&t->task, fn, t);
    }
    for (int i = 0; i < TRAVELLERS; i++) {
        CHECK_EQ(thrum_task_post(travellers[i].next, &travellers[i].task), 0);
    }
}

TEST(tasks_travel_between_schedulers) {
    /* Between three schedulers, each of another policy, each hop is one run where it is posted. */
    const int hops = SCALED(1000);
    for (unsigned workers = 1; workers <= 4; workers += 3) {
        for (int i = 0; i < SCHEDS; i++) {
            begin_as(&world.rigs[i], workers, policies[i]);
        }
        travellers_begin(travel, hops);
        CHECK_EQ(thrum_waitgroup_wait(&world.left), 0);
        for (int i = 0; i < SCHEDS; i++) {
            rig_stop(&world.rigs[i]);
        }
        for (int i = 0; i < TRAVELLERS; i++) {
            CHECK_EQ(travellers[i].hops, hops);
        }
    }
}

/* Goes to and fro until the second scheduler refuses it; then it ends where it is. */
static void travel_until_refused(thrum_task *self, void *arg) {
    traveller *t = arg;
    CHECK(thrum_sched_current() == t->next);
    thrum_task_receive_signal(self);
    t->hops++;
    thrum_sched *there = world.rigs[1].sched;
    thrum_sched *next = t->next == there ? world.rigs[0].sched : there;
    const int result = travel_to(t, next);
    if (result == 0) {
        t->next = next;
        t->left++;
        return;
    }
    CHECK_EQ(result, -ESHUTDOWN);
    CHECK(next == there);
    t->refused = true;
    thrum_waitgroup_done(&world.refused);
}

static void *open_when_all_were_refused(void *seat) {
    CHECK_EQ(thrum_waitgroup_wait(&world.refused), 0);
    gate_open(((crew_seat *)seat)->arg);
    return NULL;
}

TEST(tasks_travel_to_a_scheduler_that_stops) {
    /* A task that is accepted runs there and comes back; one that is refused stays its poster's. */
    const int rounds = SCALED(60);
    for (int i = 0; i < rounds; i++) {
        gate g;
        crew c;
        for (int k = 0; k < SCHEDS; k++) {
            begin_as(&world.rigs[k], (unsigned)(1 + i % 4), policies[(i + k) % 3]);
        }
        gate_begin(&world.rigs[1], &g);
        thrum_waitgroup_init(&world.refused, TRAVELLERS);
        travellers_begin(travel_until_refused, 1);
        crew_start(&c, 1, open_when_all_were_refused, &g);
        rig_stop(&world.rigs[1]);
        crew_join(&c);
        rig_stop(&world.rigs[0]);
        rig_stop(&world.rigs[2]);
        for (int k = 0; k < TRAVELLERS; k++) {
            CHECK(travellers[k].refused);
            CHECK_EQ(travellers[k].hops, travellers[k].left);
        }
    }
}

/* ---- threads that are still in their calls when stop frees ---- */

typedef enum { POST, POST_WAIT, WAKEUP, SIGNAL, CANCEL, CALLS } call;

/*
 * The thread makes its call step by step (the processor's trap flag), and stands still for a while
 * after one of the steps. Stop is called now, or has been called and waits for a task that the
 * thread is making due: it may get everything done meanwhile but the end.
 */
static struct {
    thrum_task task;
    thrum_sched *sched;
    call call;
    int steps, stall_at;
    bool accepted;
    atomic_bool may_stop;
    atomic_int ran;
} st;

static volatile int walking;

static void step_taken(void) {
    if (walking && ++st.steps == st.stall_at) {
        atomic_store(&st.may_stop, true);
        await_passed(soon()); /* how long changes only how likely a fault is seen */
    }
}

static void count_run(thrum_task *self, void *arg) {
    (void)self;
    (void)arg;
    atomic_fetch_add(&st.ran, 1);
}

static __attribute__((noinline)) int make_call(void) {
    switch (st.call) {
    case POST:
        return thrum_task_post(st.sched, &st.task);
    case POST_WAIT:
        return thrum_task_post_wait(st.sched, &st.task);
    case WAKEUP:
        thrum_task_wakeup(&st.task);
        return 0;
    case SIGNAL:
        thrum_task_signal(&st.task);
        return 0;
    default:
        return thrum_task_cancel(&st.task);
    }
}

static void *call_step_by_step(void *seat) {
    (void)seat;
    if (st.call <= POST_WAIT) { /* the thread is known to the scheduler */
        CHECK_EQ(thrum_task_post(st.sched, &st.task), 0);
        CHECK_EQ(thrum_sched_wait_done(st.sched, THRUM_FOREVER), 0);
        atomic_store(&st.ran, 0);
    } else {
        CHECK_EQ(thrum_task_post_until(st.sched, &st.task, far_off()), 0);
    }
    if (st.call >= WAKEUP) { /* stop waits for it already */
        atomic_store(&st.may_stop, true);
        SPIN_UNTIL(th_load_acquire(&st.sched->xquiesce_waiters) == 1);
    }
    walking = 1;
    steps_begin();
    const int result = make_call();
    steps_end();
    walking = 0;
    CHECK(result == 0 || (st.call <= POST_WAIT && result == -ESHUTDOWN));
    st.accepted = result == 0;
    atomic_store(&st.may_stop, true); /* or it was over before */
    return NULL;
}

/* Returns how many steps the call takes, when it need not stand still. */
static int call_and_stop(call what, int round, int stall_at) {
    rig r;
    crew c;
    memset(&st, 0, sizeof(st));
    rig_init(&r);
    r.config.workers = 1 + (unsigned)round % 2;
    r.config.policy = policies[round % 3];
    mapped_init(&r);
    rig_start(&r);
    st.sched = r.sched;
    st.call = what;
    st.stall_at = stall_at;
    thrum_task_init(&st.task, count_run, NULL);
    crew_start(&c, 1, call_step_by_step, NULL);
    SPIN_UNTIL(atomic_load(&st.may_stop));
    watchdog_remove(&r);
    CHECK_EQ(thrum_sched_stop(st.sched), 0);
    crew_join(&c);
    CHECK_EQ(atomic_load(&st.ran), st.accepted);
    rig_check_freed(&r);
    return st.steps;
}

TEST(calls_from_external_threads_that_are_not_over_when_stop_frees) {
    /*
     * A thread that posts, wakes, signals or cancels the last task is held up after any of its
     * instructions: what it posted runs or is refused, and nothing freed is touched.
     */
    if (UNDER_TSAN) {
        CHECK_SKIP("the thread sanitizer delivers signals where it likes");
    }
    steps_catch(step_taken);
    const int rounds = SCALED(50);
    for (call what = POST; what < CALLS; what++) {
        const int steps = call_and_stop(what, 0, 0);
        const int stride = 1 + steps / rounds;
        CHECK(steps > 10);
        for (int round = 0; round * stride < steps; round++) {
            call_and_stop(what, round, 1 + round * stride);
        }
    }
}
