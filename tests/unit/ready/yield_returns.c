/*
 * yield_returns.c: a yield returns, and whatever else would starve runs, while others keep each
 * other ready for ever: their row ends only when the test has what it waits for. A yield does not
 * return too early, either: all that was queued has run.
 */
/* matrix: policy workers */
#include "support/io/files.h"
#include "support/times.h"

#include "core/state/worker.h"

enum { YIELDS = 200, SIZE = 3 << 20 };

/* Where the row and what waits beside it are. */
typedef enum {
    ANYWHERE,   /* on any worker */
    ONE_WORKER, /* tied to a worker */
    TIED,       /* tied to the main thread, which is bound; there are workers */
    TIED_HELPS, /* the same, and it helps the workers meanwhile */
    NO_WORKERS, /* the main thread is bound and runs them */
    PLACES
} place;

typedef struct row {
    rig r;
    thrum_sem sems[2];
    atomic_int count;  /* of fibers in the row */
    atomic_bool ready; /* it has begun */
    atomic_bool over;
    thrum_task task;
} row;

static row a_row;
static char *bytes;

static bool is_bound(place where) {
    return where >= TIED;
}

static thrum_attr attr_of(const row *w, place where) {
    thrum_attr attr = rig_attr(&w->r);
    attr.flags = where == ONE_WORKER || where == TIED || where == TIED_HELPS ? THRUM_PINNED : 0;
    attr.worker = where == ONE_WORKER ? 0 : -1;
    return attr;
}

static void begin(row *w, place where, unsigned interval) {
    rig_init(&w->r);
    w->r.config.workers = where == NO_WORKERS ? 0 : w->r.config.workers;
    w->r.config.help_when_bound = where == TIED_HELPS;
    w->r.config.global_interval = interval ? interval : w->r.config.global_interval;
    rig_start(&w->r);
    thrum_sem_init(&w->sems[0], 1);
    thrum_sem_init(&w->sems[1], 0);
    atomic_store(&w->count, 0);
    atomic_store(&w->ready, false);
    atomic_store(&w->over, false);
    if (is_bound(where)) {
        CHECK_EQ(thrum_sched_bind(w->r.sched), 0);
    }
}

static void end(row *w, place where) {
    if (is_bound(where)) {
        CHECK_EQ(thrum_sched_unbind(), 0);
    }
    rig_stop(&w->r);
}

/* One of two that wake each other. */
static int wakes_the_other(void *arg) {
    row *w = arg;
    const int mine = atomic_fetch_add(&w->count, 1);
    do {
        CHECK_EQ(thrum_sem_wait(&w->sems[mine]), 0);
        if (mine == 1) {
            atomic_store(&w->ready, true);
        }
        thrum_sem_post(&w->sems[1 - mine]);
    } while (!atomic_load(&w->over));
    thrum_sem_post(&w->sems[1 - mine]); /* it may have looked before */
    return 0;
}

static int yields(void *arg) {
    row *w = arg;
    YIELD_UNTIL(atomic_load(&w->ready));
    for (int i = 0; i < YIELDS; i++) {
        thrum_yield();
    }
    atomic_store(&w->over, true);
    return 0;
}

/* Runs fn, which ends the row, beside the row. */
static void check_returns(place where, unsigned interval, thrum_fn fn) {
    row *w = &a_row;
    thrum_handle *handles[3];
    begin(w, where, interval);
    const thrum_attr attr = attr_of(w, where);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(thrum_spawn_with(&handles[i], &attr, i == 1 ? fn : wakes_the_other, w), 0);
    }
    for (int i = 0; i < 3; i++) {
        int result = 1;
        CHECK_EQ(thrum_join(handles[i], &result), 0);
        CHECK_EQ(result, 0);
    }
    end(w, where);
}

TEST(a_yield_returns_beside_two_that_wake_each_other) {
    /* Wherever they are, and however often what may starve comes first. */
    static const unsigned intervals[] = {0, 1, 2, 1000};
    for (place where = ANYWHERE; where < PLACES; where++) {
        for (size_t i = 0; i < COUNT_OF(intervals); i++) {
            check_returns(where, intervals[i], yields);
        }
    }
}

/* The file is longer than one step, between which the library yields; both deadlines do. */
static int reads(void *arg) {
    row *w = arg;
    thrum_io io;
    YIELD_UNTIL(atomic_load(&w->ready));
    CHECK_EQ(thrum_file_open(&io, "a", THRUM_FILE_READ, 0, THRUM_FOREVER), 0);
    const int64_t n = thrum_file_pread(io, bytes, SIZE, 0, soon());
    CHECK(n == -ETIMEDOUT || (n > 0 && n <= SIZE));
    CHECK_EQ(thrum_file_pread(io, bytes, SIZE, 0, far_off()), SIZE);
    CHECK_EQ(thrum_io_close(io), 0);
    atomic_store(&w->over, true);
    return 0;
}

TEST(a_file_is_read_beside_two_that_wake_each_other) {
    /* The library yields between the steps of a read, with a deadline or without. */
    char path[64];
    in_dir(path);
    bytes = calloc(1, SIZE);
    CHECK(bytes != NULL);
    const thrum_io io = opened("a", THRUM_FILE_WRITE | THRUM_FILE_CREATE | THRUM_FILE_EXCLUSIVE);
    CHECK_EQ(thrum_file_pwrite(io, bytes, SIZE, 0, THRUM_FOREVER), SIZE);
    CHECK_EQ(thrum_io_close(io), 0);
    for (place where = ANYWHERE; where < PLACES; where++) {
        check_returns(where, 0, reads);
    }
    CHECK_EQ(thrum_file_unlink("a", THRUM_FOREVER), 0);
    free(bytes);
    out_of_dir(path);
}

TEST(the_bound_thread_itself_yields) {
    /* Its root is a fiber like any other. */
    row *w = &a_row;
    for (place where = TIED; where < PLACES; where++) {
        begin(w, where, 0);
        const thrum_attr attr = attr_of(w, where);
        for (int i = 0; i < 2; i++) {
            CHECK_EQ(thrum_go_with(&attr, wakes_the_other, w), 0);
        }
        CHECK_EQ(yields(w), 0);
        rig_wait_done(&w->r);
        end(w, where);
    }
}

/* ---- a task that posts itself ---- */

static void posts_itself(thrum_task *self, void *arg) {
    row *w = arg;
    atomic_store(&w->ready, true);
    if (!atomic_load(&w->over)) {
        CHECK_EQ(thrum_task_post(w->r.sched, self), 0);
    }
}

static int waits(void *arg) {
    row *w = arg;
    CHECK_EQ(thrum_sem_wait(&w->sems[1]), 0);
    atomic_store(&w->over, true);
    return 0;
}

static void *wakes_from_outside(void *arg) {
    const crew_seat *seat = arg;
    row *w = seat->arg;
    SPIN_UNTIL(atomic_load(&w->ready));
    thrum_sem_post(&w->sems[1]);
    return NULL;
}

static void check_beside_a_task(place where, thrum_fn fn, bool woken) {
    row *w = &a_row;
    crew c;
    begin(w, where, 0);
    const thrum_attr attr = attr_of(w, where);
    CHECK_EQ(thrum_go_with(&attr, fn, w), 0);
    thrum_task_init(&w->task, posts_itself, w);
    CHECK_EQ(thrum_task_post(w->r.sched, &w->task), 0);
    crew_start(&c, woken ? 1 : 0, wakes_from_outside, w);
    rig_wait_done(&w->r);
    crew_join(&c);
    end(w, where);
}

TEST(a_yield_returns_beside_a_task_that_posts_itself) {
    /* It is ready again whenever the next one is picked. */
    for (place where = ANYWHERE; where < PLACES; where++) {
        check_beside_a_task(where, yields, false);
    }
}

TEST(a_fiber_that_another_thread_wakes_goes_on_beside_a_task_that_posts_itself) {
    /* It comes through an inbox, which is looked at although the list behind it is never empty. */
    for (place where = ANYWHERE; where < PLACES; where++) {
        check_beside_a_task(where, waits, true);
    }
}

static int ends_it(void *arg) {
    row *w = arg;
    atomic_store(&w->over, true);
    return 0;
}

/* As soon as a task waits for a stack. */
static void *lets_stacks_be_had(void *arg) {
    const crew_seat *seat = arg;
    const row *w = seat->arg;
    SPIN_UNTIL(th_load_relaxed(&w->r.sched->xdeferred) != 0);
    th_os_fail(TH_OS_FAULT_MAP, 0, 0);
    return NULL;
}

TEST(a_task_that_waited_for_a_stack_begins_beside_a_task_that_posts_itself) {
    /* The system refuses it one at first. */
    if (UNDER_TSAN) {
        CHECK_SKIP("there the task that posts itself needs a stack, too");
    }
    for (place where = ANYWHERE; where < PLACES; where++) {
        row *w = &a_row;
        crew c;
        begin(w, where, 0);
        thrum_attr attr = attr_of(w, where);
        attr.stack_size = 8u << 20;
        thrum_task_init(&w->task, posts_itself, w);
        CHECK_EQ(thrum_task_post(w->r.sched, &w->task), 0);
        crew_start(&c, 1, lets_stacks_be_had, w);
        th_os_fail(TH_OS_FAULT_MAP, 0, UINT32_MAX);
        CHECK_EQ(thrum_go_with(&attr, ends_it, w), 0);
        rig_wait_done(&w->r);
        crew_join(&c);
        end(w, where);
    }
}

/* ---- what a yield lets pass ---- */

enum { OWN = 300, LOOSE = 200 };

static int counts(void *arg) {
    atomic_fetch_add((atomic_int *)arg, 1);
    return 0;
}

static void *starts_from_outside(void *arg) {
    const crew_seat *seat = arg;
    row *w = seat->arg;
    const thrum_attr attr = rig_attr(&w->r);
    for (int i = 0; i < LOOSE; i++) {
        CHECK_EQ(thrum_go_with(&attr, counts, &w->count), 0);
    }
    return NULL;
}

static place here;

static int lets_all_pass(void *arg) {
    row *w = arg;
    const thrum_attr attr = attr_of(w, here);
    for (int round = 1; round <= 3; round++) {
        crew c;
        crew_start(&c, here == NO_WORKERS ? 1 : 0, starts_from_outside, w);
        for (int i = 0; i < OWN; i++) {
            CHECK_EQ(thrum_go_with(&attr, counts, &w->count), 0);
        }
        crew_join(&c);
        thrum_yield();
        CHECK_EQ(atomic_load(&w->count), round * (here == NO_WORKERS ? OWN + LOOSE : OWN));
    }
    return 0;
}

TEST(a_yield_lets_pass_all_that_is_tied_to_its_thread) {
    /*
     * However much is queued, and however often the policy looks at what would starve: in a task,
     * and in the bound thread's root. Without workers, that is what other threads start, too.
     */
    row *w = &a_row;
    static const unsigned intervals[] = {0, 1, 10};
    for (size_t i = 0; i < sizeof intervals / sizeof intervals[0]; i++) {
        for (here = ONE_WORKER; here < PLACES; here++) {
            begin(w, here, intervals[i]);
            const thrum_attr attr = attr_of(w, here);
            thrum_handle *handle;
            CHECK_EQ(thrum_spawn_with(&handle, &attr, lets_all_pass, w), 0);
            CHECK_EQ(thrum_join(handle, NULL), 0);
            if (is_bound(here)) {
                atomic_store(&w->count, 0);
                CHECK_EQ(lets_all_pass(w), 0);
            }
            end(w, here);
        }
    }
}
