/*
 * asymmetric_fence.c: what a worker is about to run (queue/asymmetric_fence.h, queue/batch.h) is
 * taken once, by the worker or by a rescuer.
 *
 * docs/history/reviews/gate.md tells which of these tests were seen to fail with which planted
 * fault.
 */
/* wrap: th_os_ticks_ns */
#define _GNU_SOURCE

#include "core/state/worker.h"
#include "platform/faults.h"
#include "platform/platform.h"
#include "queue/batch.h"
#include "support/steps.h"
#include "support/support.h"

/* ---- the asymmetric fence itself: one owner against rescuers ---- */

#define CAPACITY 64

typedef struct item {
    th_work work; /* first */
    int number;   /* plain: published by the push or the store that queues it */
    atomic_int taken;
} item;

typedef struct field {
    th_afence fence;
    th_work *slot;
    th_batch batch;
    th_ring ring;
    th_work *slots[CAPACITY];
    item *items;
    int count;
    bool (*barrier)(void);
    atomic_int owner_took;
    atomic_int rescued;
    atomic_bool over;
} field;

static field f;

static int take(th_work *work) {
    item *it = (item *)(void *)work;
    CHECK(it >= f.items && it < f.items + f.count);
    CHECK_EQ(atomic_fetch_add(&it->taken, 1), 0);
    return it->number;
}

static void owner_takes(th_work *work) {
    if (work) {
        take(work);
        atomic_fetch_add(&f.owner_took, 1);
    }
}

/* Takes as a worker does: out of the batch, which is filled from the ring. */
static th_work *owner_next(void) {
    th_work *work = th_batch_take(&f.batch, &f.fence);
    return work ? work : th_batch_fill(&f.batch, &f.ring, true);
}

static void own(void) {
    for (int i = 0; i < f.count; i++) {
        th_work *work = &f.items[i].work;
        f.items[i].number = i;
        if (i % 4 == 0) { /* into the slot, and what was there to the ring */
            th_work *old = th_afence_take(&f.fence, &f.slot);
            th_store_release(&f.slot, work);
            work = old;
            if (i >= f.count / 2) { /* the rescuers may not have had a processor so far */
                SPIN_UNTIL(atomic_load(&f.rescued) > 0);
            }
        }
        while (work && !th_ring_push(&f.ring, work)) {
            for (int k = 0; k < CAPACITY / 2; k++) {
                owner_takes(owner_next());
            }
        }
        if (i % 16 == 7) {
            owner_takes(th_afence_take(&f.fence, &f.slot));
        }
    }
    for (th_work *work; (work = owner_next()) != NULL;) {
        owner_takes(work);
    }
    owner_takes(th_afence_take(&f.fence, &f.slot));
}

static void *rescuer(void *seat) {
    (void)seat;
    while (!atomic_load(&f.over)) {
        th_work *out[TH_BATCH + 1];
        uint64_t n = 0;
        if (th_afence_rescue_begin(&f.fence, f.barrier)) {
            n = th_batch_rescue(&f.batch, out);
            CHECK(n < TH_BATCH); /* the first one of a batch is not left there */
            out[n] = th_afence_rescue(&f.slot);
            n += out[n] != NULL;
            th_afence_rescue_end(&f.fence);
        }
        for (uint64_t i = 0; i < n; i++) {
            take(out[i]);
        }
        atomic_fetch_add(&f.rescued, (int)n);
        if (n == 0) {
            sched_yield();
        }
    }
    return NULL;
}

static void contend(uint32_t state, bool (*barrier)(void), int rescuers, int count) {
    crew c;
    memset(&f, 0, sizeof(f));
    f.fence.xrevoked = state;
    f.barrier = barrier;
    f.count = count;
    f.items = calloc((size_t)count, sizeof(item));
    CHECK(f.items != NULL);
    th_ring_init(&f.ring, f.slots, CAPACITY);
    crew_start(&c, rescuers, rescuer, NULL);
    own();
    SPIN_UNTIL(atomic_load(&f.owner_took) + atomic_load(&f.rescued) == count);
    atomic_store(&f.over, true);
    crew_join(&c);
    CHECK(atomic_load(&f.rescued) > 0);
    for (int i = 0; i < count; i++) {
        CHECK_EQ(atomic_load(&f.items[i].taken), 1);
    }
    CHECK(!th_batch_seen(&f.batch) && !f.slot);
    CHECK_EQ(f.fence.xrevoked, state);
    CHECK_EQ(f.fence.xtaking, 0);
    free(f.items);
}

static void need_barrier(void) {
    if (th_os_barrier_start() != 0) {
        CHECK_SKIP("the system cannot order processors");
    }
}

TEST(owner_against_rescuers) {
    /* Each item is taken exactly once, with the system's own barrier. */
    need_barrier();
    contend(TH_AFENCE_OPEN, th_os_barrier, 1, SCALED(4000000));
    contend(TH_AFENCE_OPEN, th_os_barrier, 3, SCALED(4000000));
}

static bool no_barrier(void) {
    CHECK(false);
    return false;
}

TEST(owner_against_rescuers_at_a_shut_fence) {
    /* All threads exchange; several rescue at once, and none asks for a barrier. */
    contend(TH_AFENCE_SHUT, no_barrier, 1, SCALED(2000000));
    contend(TH_AFENCE_SHUT, no_barrier, 3, SCALED(2000000));
}

/* ---- an owner that is held up after any instruction ---- */

/*
 * The owner runs step by step (the processor's trap flag). After one step its trap begins
 * a rescue; after the same or a later step it empties the places and ends the rescue. Between two
 * steps it stands for a rescuer on another processor, and needs no barrier.
 */
typedef struct walk {
    th_afence fence;
    th_work *slot;
    int steps;
    int begin_at;
    int end_at;
    bool began;
    th_work works[2];
    int owned[2];
    int rescued[2];
} walk;

static walk w;
static volatile int walking;

static bool stands_still(void) {
    return true;
}

static void count_taken(int *counts, const th_work *work) {
    if (work) {
        counts[work - w.works]++;
    }
}

static void rescue_ends(void) {
    if (w.began) {
        w.began = false;
        count_taken(w.rescued, th_afence_rescue(&w.slot));
        th_afence_rescue_end(&w.fence);
    }
}

static void step_taken(void) {
    if (!walking) {
        return;
    }
    w.steps++;
    if (w.steps == w.begin_at) {
        w.began = th_afence_rescue_begin(&w.fence, stands_still);
    }
    if (w.steps == w.end_at) {
        rescue_ends();
    }
}

/* Takes twice; the place is filled again in between. */
static __attribute__((noinline)) void take_twice(th_work *taken[2]) {
    taken[0] = th_afence_take(&w.fence, &w.slot);
    th_store_release(&w.slot, &w.works[1]);
    taken[1] = th_afence_take(&w.fence, &w.slot);
}

static int walk_once(uint32_t state, int begin_at, int end_at) {
    th_work *taken[2];
    memset(&w, 0, sizeof(w));
    w.fence.xrevoked = state;
    w.slot = &w.works[0];
    w.begin_at = begin_at;
    w.end_at = end_at;
    walking = 1;
    steps_begin();
    take_twice(taken);
    steps_end();
    walking = 0;
    rescue_ends();
    count_taken(w.owned, taken[0]);
    count_taken(w.owned, taken[1]);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(w.owned[i] + w.rescued[i], 1);
    }
    CHECK(w.slot == NULL);
    CHECK_EQ(w.fence.xrevoked, state);
    CHECK_EQ(w.fence.xtaking, 0);
    return w.rescued[0] + w.rescued[1];
}

static void walk_all(uint32_t state) {
    int rescued = walk_once(state, 1, 1);
    const int steps = w.steps;
    const int stride = 1 + steps / 100; /* unoptimized or instrumented: not each pair */
    CHECK(steps > 10);
    for (int begin = 1; begin <= steps; begin += stride) {
        for (int end = begin; end <= steps + stride; end += stride) {
            rescued += walk_once(state, begin, end);
        }
    }
    CHECK(rescued > steps / stride);
}

TEST(rescue_between_any_two_instructions) {
    /* Whatever the owner has done so far, each work is taken once. */
    if (UNDER_TSAN) {
        CHECK_SKIP("the thread sanitizer delivers signals where it likes");
    }
    steps_catch(step_taken);
    walk_all(TH_AFENCE_OPEN);
    walk_all(TH_AFENCE_SHUT);
}

/* ---- the steps of a rescuer ---- */

static th_afence steps;
static uint32_t barriers;

/* What the owner had written before the barrier is visible after it. */
static bool barrier_shows_taking(void) {
    CHECK_EQ(steps.xrevoked, TH_AFENCE_REVOKED);
    steps.xtaking = 1;
    barriers++;
    return true;
}

static bool barrier_shows_nothing(void) {
    CHECK_EQ(steps.xrevoked, TH_AFENCE_REVOKED);
    barriers++;
    return true;
}

static bool barrier_fails(void) {
    barriers++;
    return false;
}

TEST(rescuer_revokes_then_orders_then_looks) {
    /* The rescuer gives up when the owner is taking, and leaves the fence open. */
    CHECK(!th_afence_rescue_begin(&steps, barrier_shows_taking));
    CHECK_EQ(barriers, 1);
    CHECK_EQ(steps.xrevoked, TH_AFENCE_OPEN);
    steps.xtaking = 0;
    CHECK(!th_afence_rescue_begin(&steps, barrier_fails));
    CHECK_EQ(barriers, 2);
    CHECK_EQ(steps.xrevoked, TH_AFENCE_OPEN);
    CHECK(th_afence_rescue_begin(&steps, barrier_shows_nothing));
    CHECK_EQ(barriers, 3);
    CHECK(!th_afence_rescue_begin(&steps, no_barrier)); /* another rescuer */
    CHECK_EQ(steps.xrevoked, TH_AFENCE_REVOKED);
    th_afence_rescue_end(&steps);
    CHECK_EQ(steps.xrevoked, TH_AFENCE_OPEN);
}

/* ---- in a scheduler ---- */

/*
 * A task that finds the rest of a batch behind it holds its worker until all of them have run, and
 * one that it puts into the slot: only a rescue can have taken them.
 */

#define TASKS 200
#define FIBERS 64
#define MORE 8

typedef enum { STANDS, POSTS } manner; /* what the long task does meanwhile */

typedef struct crowd {
    rig r;
    manner how;
    thrum_task tasks[TASKS];
    thrum_task next;
    thrum_task more[MORE];
    atomic_int queued[MORE];
    atomic_int ran;
    atomic_int ran_next;
    atomic_bool held; /* a task holds its worker in this round, or did */
    int rounds_held;
} crowd;

static crowd c;

/*
 * Workers take whole batches only while runs are short. Where the processor is too slow for that,
 * times count less and less, until they do.
 */
static _Atomic int64_t slowness = 1;

int64_t __real_th_os_ticks_ns(uint64_t ticks);
int64_t __wrap_th_os_ticks_ns(uint64_t ticks);

int64_t __wrap_th_os_ticks_ns(uint64_t ticks) {
    return __real_th_os_ticks_ns(ticks) / atomic_load_explicit(&slowness, memory_order_relaxed);
}

/* Whether a whole batch but its first one is still to come. */
static NO_TSAN __attribute__((noinline)) bool heads(bool yields) {
    const th_worker *worker = th_here();
    const th_batch *batch = yields ? &worker->yields_batch : &worker->batch;
    return batch->next == 1 && batch->count == TH_BATCH;
}

static void run_next(thrum_task *self, void *arg) {
    (void)self;
    (void)arg;
    atomic_fetch_add(&c.ran_next, 1);
}

static void run_more(thrum_task *self, void *arg) {
    (void)self;
    atomic_store((atomic_int *)arg, 0);
}

/* Keeps the other workers in work. */
static void post_more(void) {
    for (int i = 0; i < MORE; i++) {
        if (atomic_exchange(&c.queued[i], 1) == 0) {
            thrum_task_init(&c.more[i], run_more, &c.queued[i]);
            CHECK_EQ(thrum_task_post(c.r.sched, &c.more[i]), 0);
        }
    }
}

static void hold_until(int ran) {
    thrum_task_init(&c.next, run_next, NULL);
    CHECK_EQ(thrum_task_post_hint(c.r.sched, &c.next, THRUM_HINT_NEXT), 0);
    while (atomic_load(&c.ran) < ran || atomic_load(&c.ran_next) == 0) {
        if (c.how == POSTS) {
            post_more();
        } else {
            sched_yield();
        }
    }
}

static void run_one(thrum_task *self, void *arg) {
    (void)self;
    (void)arg;
    if (heads(false) && !atomic_exchange(&c.held, true)) {
        hold_until(TASKS - 1);
    }
    atomic_fetch_add(&c.ran, 1);
}

static int post_all(void *arg) {
    (void)arg;
    for (int i = 0; i < TASKS; i++) {
        thrum_task_init(&c.tasks[i], run_one, NULL);
        CHECK_EQ(thrum_task_post(c.r.sched, &c.tasks[i]), 0);
    }
    return 0;
}

static int yield_often(void *arg) {
    (void)arg;
    for (int i = 0; i < 20; i++) {
        thrum_yield();
        if (heads(true) && !atomic_exchange(&c.held, true)) {
            hold_until(FIBERS - 1);
        }
    }
    atomic_fetch_add(&c.ran, 1);
    return 0;
}

static int start_all(void *arg) {
    (void)arg;
    for (int i = 0; i < FIBERS; i++) {
        CHECK_EQ(thrum_go(yield_often, NULL), 0);
    }
    return 0;
}

typedef struct scene {
    thrum_fn start;
    int wanted;
    manner how;
    unsigned workers;
    int rounds;
    uint32_t barriers_had; /* how many calls succeed, with the one that registers */
    uint32_t barriers_not; /* how many calls fail after them */
} scene;

static void play(scene s) {
    memset(&c, 0, sizeof(c));
    rig_init(&c.r);
    c.how = s.how;
    c.r.config.policy = THRUM_SHARDED;
    c.r.config.workers = s.workers;
    th_os_fail(TH_OS_FAULT_BARRIER, s.barriers_had, s.barriers_not);
    rig_start(&c.r);
    const bool must_hold = !UNDER_TSAN && !UNDER_ASAN; /* their runs may be too long for batches */
    for (int i = 0; i < s.rounds || (must_hold && c.rounds_held == 0); i++) {
        atomic_store(&c.ran, 0);
        atomic_store(&c.ran_next, 0);
        atomic_store(&c.held, false);
        rig_go(&c.r, s.start, NULL);
        rig_wait_done(&c.r);
        CHECK_EQ(atomic_load(&c.ran), s.wanted);
        CHECK_EQ(atomic_load(&c.ran_next), atomic_load(&c.held));
        c.rounds_held += atomic_load(&c.held);
        if (i >= s.rounds && atomic_load(&slowness) < INT64_C(1) << 20) {
            atomic_store(&slowness, atomic_load(&slowness) * 2);
        }
    }
    rig_stop(&c.r);
    th_os_fail(TH_OS_FAULT_BARRIER, 0, 0);
}

static void play_all(scene s) {
    if (check_env("THRUM_PIN_ALL", 0) != 0) {
        CHECK_SKIP("tasks that are tied to a busy worker have to wait");
    }
    static const unsigned workers[] = {2, 3, 8};
    for (size_t i = 0; i < COUNT_OF(workers); i++) {
        s.workers = workers[i];
        s.rounds = SCALED((workers[i] == 8 ? 100 : 1000) / (s.how == POSTS ? 10 : 1));
        s.start = post_all;
        s.wanted = TASKS;
        play(s);
        s.start = start_all;
        s.wanted = FIBERS;
        play(s);
    }
}

TEST(batched_work_behind_a_long_task) {
    /* What stands in the batch and in the slot is run by others while the long task goes on. */
    play_all((scene){.how = STANDS});
}

TEST(batched_work_behind_a_long_task_that_posts) {
    /* The same happens while the others have enough to do with what that task queues. */
    play_all((scene){.how = POSTS});
}

TEST(batched_work_where_processors_cannot_be_ordered) {
    /* The fences are shut: all threads exchange. */
    play_all((scene){.how = STANDS, .barriers_had = 0, .barriers_not = UINT32_MAX});
}

TEST(batched_work_where_ordering_fails_for_a_while) {
    /* The fences are open, and rescuers give up until the system can order processors again. */
    play_all((scene){.how = STANDS, .barriers_had = 1, .barriers_not = 20});
}
