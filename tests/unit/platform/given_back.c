/*
 * given_back.c: the memory of a burst goes back to the system while workers are awake.
 */
/* matrix: policy workers */
#include <fcntl.h>

#include "core/state/handle.h"
#include "core/state/worker.h"
#include "support/support.h"

#define CROWD (UNDER_TSAN ? 3000 : 12000)
#define DEPTH ((size_t)12 << 10)

/* What the process has in memory, in bytes. */
static size_t resident(void) {
    char text[128];
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    ssize_t n = read(fd, text, sizeof(text) - 1);
    close(fd);
    CHECK(n > 0);
    text[n] = '\0';
    char *second = strchr(text, ' ');
    CHECK(second != NULL);
    return strtoul(second, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
}

typedef struct burst {
    thrum_waitgroup ready;
    thrum_waitgroup left;
    thrum_event gate;
    size_t before;
    size_t most;
} burst;

static __attribute__((noinline)) void use_stack(void) {
    volatile char block[DEPTH];
    for (size_t i = sizeof(block); i > 0; i -= 512) {
        block[i - 1] = 1;
    }
}

static int stay(void *arg) {
    burst *b = arg;
    use_stack();
    thrum_waitgroup_done(&b->ready);
    CHECK_EQ(thrum_event_wait(&b->gate), 0);
    thrum_waitgroup_done(&b->left);
    return 0;
}

static int nothing(void *arg) {
    (void)arg;
    return 0;
}

/* Starts a crowd that waits on stacks of its own, and goes. */
static void come_and_go(burst *b) {
    thrum_waitgroup_init(&b->ready, CROWD);
    thrum_waitgroup_init(&b->left, CROWD);
    thrum_event_init(&b->gate, THRUM_EVENT_MANUAL, false);
    b->before = resident();
    for (int i = 0; i < CROWD; i++) {
        CHECK_EQ(thrum_go(stay, b), 0);
    }
    CHECK_EQ(thrum_waitgroup_wait(&b->ready), 0);
    b->most = resident();
    thrum_event_signal(&b->gate);
    CHECK_EQ(thrum_waitgroup_wait(&b->left), 0);
}

/*
 * Whether all is back but a tenth, and the stacks that are kept on purpose. Sanitizers keep memory
 * of their own: with them the scheduler's store tells it.
 */
static bool is_back(const burst *b, size_t kept) {
    if (UNDER_ASAN || UNDER_TSAN) {
        thrum_sched *sched = thrum_sched_current();
        th_lock_acquire(&sched->fibers_lock);
        unsigned stored = sched->fibers_count;
        th_lock_release(&sched->fibers_lock);
        return stored <= TH_FIBER_CACHE_STORED;
    }
    return resident() <= b->before + (b->most - b->before) / 10 + kept;
}

static size_t kept_stacks(void) {
    size_t workers = (size_t)check_env("THRUM_WORKERS", 2);
    return (TH_FIBER_CACHE_STORED + 2 * TH_FIBER_CACHE_KEPT * workers) * ((size_t)24 << 10);
}

/* Always has something to do: there is always another task. */
static int goes_on(void *arg) {
    burst *b = arg;
    come_and_go(b);
    while (!is_back(b, kept_stacks())) {
        for (int i = 0; i < 50; i++) {
            CHECK_EQ(thrum_go(nothing, NULL), 0);
            thrum_yield();
        }
    }
    return 0;
}

TEST(stacks_go_back_beside_tasks) {
    /* A worker that is awake all the time gives back what a crowd has left. */
    burst b = {.before = 0};
    CHECK_EQ(thrum_run(NULL, goes_on, &b), 0);
}

/* Two fibers hand each other the turn, and start nothing. */
typedef struct turns {
    thrum_sem ping;
    thrum_sem pong;
    bool over;
    burst b;
} turns;

static int answers(void *arg) {
    turns *t = arg;
    for (;;) {
        CHECK_EQ(thrum_sem_wait(&t->ping), 0);
        bool over = t->over;
        thrum_sem_post(&t->pong);
        if (over) {
            return 0;
        }
    }
}

static int asks(void *arg) {
    turns *t = arg;
    come_and_go(&t->b);
    thrum_handle *other;
    CHECK_EQ(thrum_spawn(&other, answers, t), 0);
    while (!t->over) {
        t->over = is_back(&t->b, kept_stacks());
        for (int i = 0; i < (t->over ? 1 : 50); i++) {
            thrum_sem_post(&t->ping);
            CHECK_EQ(thrum_sem_wait(&t->pong), 0);
        }
    }
    return thrum_join(other, NULL);
}

TEST(stacks_go_back_beside_fibers_that_wait) {
    /* No task begins: the worker goes from one fiber to the next. */
    turns t = {.over = false};
    thrum_sem_init(&t.ping, 0);
    thrum_sem_init(&t.pong, 0);
    CHECK_EQ(thrum_run(NULL, asks, &t), 0);
}

static int computes(void *arg) {
    burst *b = arg;
    come_and_go(b);
    while (!is_back(b, kept_stacks())) {
    }
    return 0;
}

TEST(stacks_go_back_beside_a_task_that_computes) {
    /* The only worker that is awake does not come round: another one, asleep, gives them back. */
    if (check_env("THRUM_WORKERS", 2) < 2) {
        CHECK_SKIP("there is nobody else");
    }
    burst b = {.before = 0};
    CHECK_EQ(thrum_run(NULL, computes, &b), 0);
}

/* ---- task objects ---- */

#define TASKS (UNDER_TSAN ? 15000 : UNDER_ASAN ? 200000 : 1000000)
/* What the depot keeps (256 magazines of 128, core/state/slab.c), and what the caches hold. */
#define KEPT_OBJECTS 40000

static atomic_long ran;
static atomic_long started; /* rounds whose tasks are all in the queues */

/* None ends before that: each holds the worker that took it, so that objects pile up. */
static int counts(void *arg) {
    const long round = atomic_load(&ran) / TASKS + 1;
    while (atomic_load(&started) < round) {
        sched_yield();
    }
    atomic_fetch_add_explicit(&ran, 1, memory_order_relaxed);
    return arg == NULL;
}

/* Objects in the scheduler's memory, used or not. */
static size_t objects(void) {
    th_slab *slab = thrum_sched_current()->go_slab;
    th_lock_acquire(&slab->lock);
    size_t total = slab->total;
    th_lock_release(&slab->lock);
    return total;
}

/* Two bursts of tasks that wait in queues, and what goes on afterwards. */
static int starts_many(void *arg) {
    burst *b = arg;
    b->before = resident();
    for (long round = 1; round <= 2; round++) {
        for (int i = 0; i < TASKS; i++) {
            CHECK_EQ(thrum_go(counts, b), 0);
        }
        const size_t now = resident();
        b->most = now > b->most ? now : b->most;
        atomic_store(&started, round);
        while (atomic_load(&ran) < round * TASKS) {
            thrum_yield();
        }
    }
    const size_t most = objects();
    const size_t kept = KEPT_OBJECTS * thrum_sched_current()->go_slab->object_size;
    while (objects() > most / 10 + KEPT_OBJECTS || !is_back(b, kept + ((size_t)2 << 20))) {
        for (int i = 0; i < 50; i++) {
            CHECK_EQ(thrum_go(nothing, NULL), 0);
            thrum_yield();
        }
    }
    return 0;
}

TEST(task_objects_go_back_beside_tasks) {
    /*
     * Of the objects of two bursts of a million tasks a tenth stays at most, and some that are
     * kept.
     */
    burst b = {.before = 0};
    CHECK_EQ(thrum_run(NULL, starts_many, &b), 0);
}
