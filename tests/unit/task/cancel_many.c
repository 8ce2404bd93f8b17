/*
 * cancel_many.c: cancels of so many that they let others run in between (core/wait/WAITING.md,
 * "Rounds"): several at once, of one scope and of what is around it, with and without workers.
 */
#include "support/support.h"
#include "support/times.h"

enum { MANY = SLOWNESS > 3 ? 600 : 2000, FAILS_EVERY = 97, BRANCHES = 20 };

/* Pairs of policies and workers, each in a scheduler of its own. */
static const unsigned workers[] = {0, 1, 2, 4};
#define POLICIES 3u

typedef struct crowd {
    rig rig;
    thrum_sem never;
    thrum_scope *scope;
    int children, every; /* the number of children; each so-manieth cancels or fails, 0: none */
    bool fails;
    atomic_bool go;
    atomic_int waiting, ended, cut;
    int result; /* the result of the join */
} crowd;

/*
 * Runs a test in every cell; without workers the thread is bound, so that tasks run in its waits.
 */
static void in_each_cell(int (*fn)(void *arg), crowd *c, void (*meanwhile)(crowd *c)) {
    for (thrum_policy policy = THRUM_SHARDED; policy < (thrum_policy)POLICIES; policy++) {
        for (unsigned cell = 0; cell < COUNT_OF(workers); cell++) {
            thrum_handle *handle;
            rig_init(&c->rig);
            c->rig.config.workers = workers[cell];
            c->rig.config.policy = policy;
            rig_start(&c->rig);
            thrum_sem_init(&c->never, 0);
            atomic_store(&c->go, false);
            atomic_store(&c->waiting, 0);
            atomic_store(&c->ended, 0);
            atomic_store(&c->cut, 0);
            if (workers[cell] == 0) {
                CHECK_EQ(thrum_sched_bind(c->rig.sched), 0);
            }
            const thrum_attr attr = rig_attr(&c->rig);
            CHECK_EQ(thrum_spawn_with(&handle, &attr, fn, c), 0);
            if (meanwhile) {
                meanwhile(c);
            }
            CHECK_EQ(thrum_join(handle, NULL), 0);
            CHECK_EQ(atomic_load(&c->ended), c->children);
            rig_stop(&c->rig);
        }
    }
}

/* ---- one scope, cancelled by several of its children ---- */

typedef struct child {
    crowd *c;
    int index;
} child;

static child children[MANY];

static int waits_or_cancels(void *arg) {
    const child *self = arg;
    crowd *c = self->c;
    const bool acts = c->every != 0 && self->index % c->every == 0;
    int result = 0;
    atomic_fetch_add(&c->waiting, 1);
    if (acts) {
        YIELD_UNTIL(atomic_load(&c->go));
    } else {
        CHECK_EQ(thrum_sem_wait(&c->never), -ECANCELED);
        CHECK(thrum_cancelled());
        atomic_fetch_add(&c->cut, 1);
    }
    if (acts && c->fails) {
        result = -1 - self->index;
    } else if (acts) {
        thrum_scope_cancel(c->scope);
    }
    atomic_fetch_add(&c->ended, 1);
    return result;
}

static void start_children(crowd *c, thrum_scope *scope) {
    c->scope = scope;
    for (int i = 0; i < c->children; i++) {
        children[i] = (child){c, i};
        CHECK_EQ(thrum_scope_go(scope, waits_or_cancels, &children[i]), 0);
    }
    YIELD_UNTIL(atomic_load(&c->waiting) == c->children);
}

static int opens_one(void *arg) {
    crowd *c = arg;
    thrum_scope scope;
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    start_children(c, &scope);
    atomic_store(&c->go, true);
    c->result = thrum_scope_join(&scope);
    CHECK(c->fails ? c->result < 0 && (-1 - c->result) % FAILS_EVERY == 0
                   : c->result == -ECANCELED);
    CHECK_EQ(atomic_load(&c->cut), MANY - (MANY + FAILS_EVERY - 1) / FAILS_EVERY);
    return 0;
}

TEST(children_that_fail_at_once) {
    /* The first child cancels the others; its end waits for that, the join for its end. */
    crowd c = {.children = MANY, .every = FAILS_EVERY, .fails = true};
    in_each_cell(opens_one, &c, NULL);
}

TEST(children_that_cancel_at_once) {
    /* One of them cancels; the others find it done or under way. */
    crowd c = {.children = MANY, .every = FAILS_EVERY};
    in_each_cell(opens_one, &c, NULL);
}

/* ---- the owner, its deadline, and others ---- */

static int owner_cancels(void *arg) {
    crowd *c = arg;
    thrum_scope scope;
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    start_children(c, &scope);
    thrum_scope_cancel(&scope);
    CHECK_EQ(thrum_scope_join(&scope), -ECANCELED);
    CHECK_EQ(atomic_load(&c->cut), MANY);
    return 0;
}

TEST(the_owner_cancels) {
    /* All that waited are cut short, and the join waits for them. */
    crowd c = {.children = MANY};
    in_each_cell(owner_cancels, &c, NULL);
}

static int late_by_itself(void *arg) {
    crowd *c = arg;
    thrum_scope scope;
    CHECK_EQ(thrum_scope_open(&scope, soon()), 0);
    c->scope = &scope;
    for (int i = 0; i < MANY; i++) {
        children[i] = (child){c, i};
        CHECK_EQ(thrum_scope_go(&scope, waits_or_cancels, &children[i]), 0);
    }
    CHECK_EQ(thrum_scope_join(&scope), -ETIMEDOUT);
    CHECK_EQ(atomic_load(&c->cut), MANY);
    return 0;
}

TEST(a_deadline_cancels) {
    /* Its timer's task lets others run like any other. */
    crowd c = {.children = MANY};
    in_each_cell(late_by_itself, &c, NULL);
}

/* ---- a tree below a task; scopes close and open meanwhile ---- */

static int leaf(void *arg) {
    crowd *c = arg;
    atomic_fetch_add(&c->waiting, 1);
    CHECK_EQ(thrum_sem_wait(&c->never), -ECANCELED);
    atomic_fetch_add(&c->ended, 1);
    return -ECANCELED;
}

static int born_cancelled(void *arg) {
    CHECK(thrum_cancelled());
    CHECK_EQ(thrum_sem_wait(&((crowd *)arg)->never), -ECANCELED);
    return 0;
}

static int branch(void *arg) {
    crowd *c = arg;
    thrum_scope scope;
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    for (int i = 0; i < MANY / BRANCHES; i++) {
        CHECK_EQ(thrum_scope_go(&scope, leaf, c), 0);
    }
    CHECK_EQ(thrum_scope_join(&scope), -ECANCELED);
    for (int i = 0; i < 3; i++) { /* the same memory, while the cancel is under way */
        CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
        CHECK_EQ(thrum_scope_go(&scope, born_cancelled, c), 0);
        CHECK_EQ(thrum_scope_join(&scope), -ECANCELED);
    }
    return 0;
}

static int tree(void *arg) {
    crowd *c = arg;
    thrum_scope scope;
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    for (int i = 0; i < BRANCHES; i++) {
        CHECK_EQ(thrum_scope_go(&scope, branch, c), 0);
    }
    CHECK_EQ(thrum_scope_join(&scope), -ECANCELED);
    return 0;
}

static int cancels_the_tree(void *arg) {
    CHECK_EQ(thrum_cancel(arg), 0);
    return 0;
}

static void *thread_cancels_the_tree(void *arg) {
    (void)cancels_the_tree(((crew_seat *)arg)->arg);
    return NULL;
}

/* Tasks and plain threads cancel the tree's task at once; then each of the fresh ones again. */
static int tree_and_cancellers(void *arg) {
    crowd *c = arg;
    thrum_handle *handle, *cancellers[4];
    crew threads;
    CHECK_EQ(thrum_spawn(&handle, tree, c), 0);
    YIELD_UNTIL(atomic_load(&c->waiting) == MANY);
    crew_start(&threads, 2, thread_cancels_the_tree, handle);
    for (size_t i = 0; i < COUNT_OF(cancellers); i++) {
        CHECK_EQ(thrum_spawn(&cancellers[i], cancels_the_tree, handle), 0);
    }
    for (size_t i = 0; i < COUNT_OF(cancellers); i++) {
        CHECK_EQ(thrum_join(cancellers[i], NULL), 0);
    }
    crew_join(&threads);
    CHECK_EQ(thrum_join(handle, NULL), 0);
    return 0;
}

TEST(several_cancel_a_task_with_a_tree_below_it) {
    /* Scopes close, and others open in their memory, while the first of the cancels pauses. */
    crowd c = {.children = MANY};
    in_each_cell(tree_and_cancellers, &c, NULL);
}

/* ---- a stop meanwhile ---- */

static int cancels_until_the_end(void *arg) {
    crowd *c = arg;
    thrum_scope scope;
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    c->scope = &scope;
    for (int i = 0; i < MANY; i++) {
        children[i] = (child){c, i};
        CHECK_EQ(thrum_scope_go(&scope, waits_or_cancels, &children[i]), 0);
    }
    atomic_store(&c->go, true);
    thrum_scope_cancel(&scope);
    CHECK(thrum_scope_join(&scope) < 0);
    return 0;
}

TEST(a_stop_whose_deadline_passes_meanwhile) {
    /* The cancels may be anywhere just then; without workers they go on in the next stop. */
    for (int round = 0; round < check_scaled(20); round++) {
        for (unsigned cell = 0; cell < COUNT_OF(workers); cell++) {
            crowd c = {.children = MANY, .every = FAILS_EVERY};
            rig_init(&c.rig);
            c.rig.config.workers = workers[cell];
            rig_start(&c.rig);
            thrum_sem_init(&c.never, 0);
            rig_go(&c.rig, cancels_until_the_end, &c);
            const int code = thrum_sched_stop_until(c.rig.sched, thrum_after_us(round * 200));
            if (code == -ETIMEDOUT) {
                rig_stop(&c.rig);
            } else {
                CHECK_EQ(code, 0);
                rig_stopped(&c.rig);
            }
            CHECK_EQ(atomic_load(&c.ended), MANY);
        }
    }
}

/* ---- others run meanwhile, and may do anything ---- */

typedef struct bystander {
    crowd *c;
    atomic_int turns;
    bool forks;
} bystander;

static int child_of_a_fork(void *arg) {
    crowd *c = arg;
    thrum_scope scope;
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    start_children(c, &scope);
    thrum_scope_cancel(&scope);
    CHECK_EQ(thrum_scope_join(&scope), -ECANCELED);
    return 3;
}

/*
 * Runs in the child: the parent's scope is out of reach, and a scheduler of its own cancels as
 * many.
 */
static void fork_and_check(crowd *c) {
    int status = 0;
    const pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        check_end_in_time();
        thrum_scope_cancel(c->scope);
        if (UNDER_TSAN) {
            _exit(3); /* that sanitizer starts no thread there */
        }
        crowd own = {.children = MANY};
        thrum_sem_init(&own.never, 0);
        thrum_config config;
        thrum_config_init(&config);
        config.workers = 1;
        _exit(thrum_run(&config, child_of_a_fork, &own));
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 3);
}

static int stands_by(void *arg) {
    bystander *b = arg;
    if (b->forks) {
        fork_and_check(b->c);
    }
    while (atomic_load(&b->c->ended) < b->c->children) {
        atomic_fetch_add(&b->turns, 1);
        thrum_yield();
    }
    return 0;
}

static int cancels_beside(void *arg) {
    bystander *b = arg;
    thrum_scope scope;
    thrum_handle *handle;
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    start_children(b->c, &scope);
    CHECK_EQ(thrum_spawn(&handle, stands_by, b), 0);
    thrum_scope_cancel(&scope);
    CHECK(atomic_load(&b->turns) >= 1); /* one worker: it ran in the middle of the call */
    CHECK_EQ(thrum_scope_join(&scope), -ECANCELED);
    CHECK_EQ(thrum_join(handle, NULL), 0);
    return 0;
}

static void cancel_beside(bool forks) {
    for (thrum_policy policy = THRUM_SHARDED; policy < (thrum_policy)POLICIES; policy++) {
        for (unsigned count = 0; count <= 1; count++) {
            crowd c = {.children = MANY};
            bystander b = {.c = &c, .forks = forks};
            rig_init(&c.rig);
            c.rig.config.workers = count;
            c.rig.config.policy = policy;
            rig_start(&c.rig);
            thrum_sem_init(&c.never, 0);
            if (count == 0) {
                CHECK_EQ(thrum_sched_bind(c.rig.sched), 0);
            }
            CHECK_EQ(rig_run(&c.rig, cancels_beside, &b), 0);
            rig_stop(&c.rig);
        }
    }
}

TEST(others_run_in_the_middle_of_it) {
    /* They run on the one worker, or the one thread, that the canceller has. */
    cancel_beside(false);
}

TEST(one_of_the_others_forks) {
    /* The child has the half of a cancel in its memory, and no thread that would go on with it. */
    cancel_beside(true);
}

static int holds_its_worker(void *arg) {
    bystander *b = arg;
    SPIN_UNTIL(atomic_load(&b->c->ended) == b->c->children);
    return 0;
}

static int cancels_behind_one_that_computes(void *arg) {
    bystander *b = arg;
    thrum_scope scope;
    thrum_handle *handle;
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    start_children(b->c, &scope);
    CHECK_EQ(thrum_spawn(&handle, holds_its_worker, b), 0);
    thrum_scope_cancel(&scope);
    CHECK_EQ(thrum_scope_join(&scope), -ECANCELED);
    CHECK_EQ(thrum_join(handle, NULL), 0);
    return 0;
}

TEST(another_worker_goes_on_with_it) {
    /* The task that it has given way to keeps its worker until all are cancelled. */
    for (thrum_policy policy = THRUM_SHARDED; policy < (thrum_policy)POLICIES; policy++) {
        crowd c = {.children = MANY};
        bystander b = {.c = &c};
        rig_init(&c.rig);
        c.rig.config.workers = 2;
        c.rig.config.policy = policy;
        rig_start(&c.rig);
        thrum_sem_init(&c.never, 0);
        CHECK_EQ(rig_run(&c.rig, cancels_behind_one_that_computes, &b), 0);
        rig_stop(&c.rig);
    }
}

/* ---- a bound thread itself ---- */

static int counts_turns(void *arg) {
    atomic_int *turns = arg;
    atomic_fetch_add(turns, 1);
    return 0;
}

TEST(a_bound_thread_cancels) {
    /* It cancels in its root: what is tied to the thread runs in the middle of the call. */
    crowd c = {.children = MANY};
    atomic_int turns = 0;
    thrum_scope scope;
    rig_init(&c.rig);
    c.rig.config.workers = 0;
    rig_start(&c.rig);
    thrum_sem_init(&c.never, 0);
    CHECK_EQ(thrum_sched_bind(c.rig.sched), 0);
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    start_children(&c, &scope);
    CHECK_EQ(thrum_go(counts_turns, &turns), 0);
    thrum_scope_cancel(&scope);
    CHECK_EQ(atomic_load(&turns), 1);
    CHECK_EQ(thrum_scope_join(&scope), -ECANCELED);
    CHECK_EQ(atomic_load(&c.cut), MANY);
    rig_stop(&c.rig);
}
