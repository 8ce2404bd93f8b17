/*
 * fork.c: fork and join in the caller's frame, whichever thread makes the call.
 */
/* matrix: policy workers */
#include "support/sync/actors.h"
#include "support/times.h"

/* ---- the caller or another makes the call ---- */

typedef struct fib_call {
    int n;
    int64_t result;
} fib_call;

static int fib(void *arg) {
    fib_call *call = arg;
    if (call->n < 2) {
        call->result = call->n;
        return 0;
    }
    fib_call first = {call->n - 1, 0};
    fib_call second = {call->n - 2, 0};
    thrum_fork fork;
    thrum_fork_start(&fork, fib, &first);
    CHECK_EQ(fib(&second), 0);
    CHECK_EQ(thrum_fork_join(&fork), 0);
    call->result = first.result + second.result;
    return 0;
}

static int fib_entry(void *arg) {
    (void)arg;
    fib_call call = {24, 0};
    CHECK_EQ(fib(&call), 0);
    CHECK_EQ(call.result, 46368);
    return 0;
}

TEST(a_tree_of_forks_is_summed) {
    /* fib(24) makes some 75,000 forks, stolen or not. */
    rig_do(0, fib_entry, NULL);
}

TEST(a_thread_that_runs_no_task_makes_the_calls_itself) {
    /* It needs no scheduler for the same. */
    fib_call call = {15, 0};
    CHECK_EQ(fib(&call), 0);
    CHECK_EQ(call.result, 610);
}

static int give_back(void *arg) {
    return *(int *)arg;
}

static int results_entry(void *arg) {
    (void)arg;
    static const int values[] = {0, 7, -ENOENT, INT_MIN, INT_MAX};
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        int value = values[i];
        thrum_fork inside;
        thrum_fork_start(&inside, give_back, &value);
        CHECK_EQ(thrum_fork_join(&inside), values[i]);
        thrum_fork_start(&inside, give_back, &value);
        thrum_yield(); /* gives it to another task */
        CHECK_EQ(thrum_fork_join(&inside), values[i]);
    }
    return 0;
}

TEST(the_join_returns_what_the_call_returned) {
    /* The result may be any int, from the caller or another task. */
    rig_do(0, results_entry, NULL);
}

TEST(a_plain_thread_gets_the_result_too) {
    /* The call is made at the start. */
    int value = -5;
    thrum_fork fork;
    thrum_fork_start(&fork, give_back, &value);
    value = 0;
    CHECK_EQ(thrum_fork_join(&fork), -5);
}

/* ---- taken back ---- */

static int add_one(void *arg) {
    atomic_fetch_add((atomic_int *)arg, 1);
    return 7;
}

static int take_back_entry(void *arg) {
    atomic_int *count = arg;
    thrum_fork outer;
    thrum_fork inner;
    for (int i = 0; i < 100; i++) {
        int expected = 0;
        atomic_store(count, 0);
        thrum_fork_start(&outer, add_one, count);
        thrum_fork_start(&inner, add_one, count);
        if (!thrum_fork_take_back(&inner)) {
            CHECK_EQ(thrum_fork_join(&inner), 7);
            expected++;
        }
        if (!thrum_fork_take_back(&outer)) {
            CHECK_EQ(thrum_fork_join(&outer), 7);
            expected++;
        }
        thrum_yield();
        CHECK_EQ(atomic_load(count), expected);
    }
    return 0;
}

TEST(a_call_that_is_taken_back_is_made_by_nobody) {
    /* What a thief has by then is made once, and joined. */
    atomic_int count = 0;
    rig_do(0, take_back_entry, &count);
}

static int begins(void *arg) {
    thrum_sem_post(arg);
    return 7;
}

static int take_back_given_entry(void *arg) {
    (void)arg;
    thrum_sem begun = THRUM_SEM_INIT(0);
    thrum_fork forks[2];
    for (int i = 0; i < 2; i++) {
        thrum_fork_start(&forks[i], begins, &begun);
    }
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(thrum_sem_wait(&begun), 0); /* so others have both */
    }
    for (int i = 1; i >= 0; i--) {
        CHECK(!thrum_fork_take_back(&forks[i]));
        CHECK_EQ(thrum_fork_join(&forks[i]), 7);
    }
    CHECK_EQ(thrum_sem_try_wait(&begun), -EAGAIN); /* each call was made once */
    return 0;
}

TEST(a_call_that_another_task_makes_is_not_taken_back) {
    /* Then the join is as ever. */
    rig_do(0, take_back_given_entry, NULL);
}

TEST(a_plain_thread_takes_nothing_back) {
    /* The call was made at the start. */
    atomic_int count = 0;
    thrum_fork fork;
    thrum_fork_start(&fork, add_one, &count);
    CHECK(!thrum_fork_take_back(&fork));
    CHECK_EQ(thrum_fork_join(&fork), 7);
    CHECK_EQ(atomic_load(&count), 1);
}

/* ---- many, and deep ---- */

#define MANY 2000

static int many_entry(void *arg) {
    atomic_int *count = arg;
    static thrum_fork forks[MANY];
    for (int i = 0; i < MANY; i++) {
        thrum_fork_start(&forks[i], add_one, count);
    }
    for (int i = MANY - 1; i >= 0; i--) {
        CHECK_EQ(thrum_fork_join(&forks[i]), 7);
    }
    CHECK_EQ(atomic_load(count), MANY);
    return 0;
}

TEST(more_forks_at_once_than_a_worker_keeps) {
    /* The older ones go to the queues; each call is made once. */
    atomic_int count = 0;
    rig_do(0, many_entry, &count);
    CHECK_EQ(atomic_load(&count), MANY);
}

typedef struct deep_call {
    int left;
    atomic_int *count;
} deep_call;

static int deep(void *arg) {
    const deep_call *call = arg;
    atomic_fetch_add(call->count, 1);
    if (call->left > 0) {
        deep_call next = {call->left - 1, call->count};
        thrum_fork fork;
        thrum_fork_start(&fork, deep, &next);
        CHECK_EQ(thrum_fork_join(&fork), 0);
    }
    return 0;
}

static int deep_entry(void *arg) {
    deep_call call = {300, arg};
    return deep(&call);
}

TEST(forks_within_forks) {
    /* Each call of a chain forks the next. */
    atomic_int count = 0;
    rig_do(0, deep_entry, &count);
    CHECK_EQ(atomic_load(&count), 301);
}

/* ---- waiting in between ---- */

static int post_sem(void *arg) {
    thrum_sem_post(arg);
    return 0;
}

static int child_wakes_parent(void *arg) {
    (void)arg;
    thrum_sem sems[4];
    thrum_fork forks[4];
    for (int i = 0; i < 4; i++) {
        thrum_sem_init(&sems[i], 0);
    }
    for (int i = 0; i < 4; i++) {
        thrum_fork_start(&forks[i], post_sem, &sems[i]);
    }
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(thrum_sem_wait(&sems[i]), 0);
    }
    for (int i = 3; i >= 0; i--) {
        CHECK_EQ(thrum_fork_join(&forks[i]), 0);
    }
    return 0;
}

TEST(a_waiter_for_its_own_fork_is_woken_by_it) {
    /* A fiber that suspends leaves its forks to others, the older ones as well as the youngest. */
    rig_do(0, child_wakes_parent, NULL);
}

typedef struct relay {
    thrum_sem there;
    thrum_sem back;
} relay;

static int child_of_relay(void *arg) {
    relay *r = arg;
    thrum_sem_post(&r->there);
    return thrum_sem_wait(&r->back);
}

static int relay_entry(void *arg) {
    (void)arg;
    for (int i = 0; i < 100; i++) {
        relay r;
        thrum_sem_init(&r.there, 0);
        thrum_sem_init(&r.back, 0);
        thrum_fork fork;
        thrum_fork_start(&fork, child_of_relay, &r);
        CHECK_EQ(thrum_sem_wait(&r.there), 0);
        thrum_sem_post(&r.back);
        CHECK_EQ(thrum_fork_join(&fork), 0);
    }
    return 0;
}

TEST(parent_and_child_wait_for_each_other) {
    /* They wait for each other a hundred times, with the frame of each reused. */
    rig_do(0, relay_entry, NULL);
}

static thrum_mutex shared_lock = THRUM_MUTEX_INIT;
static long shared_sum; /* protected by it */

static int lock_and_fork(void *arg) {
    const int depth = *(int *)arg;
    thrum_mutex_lock(&shared_lock);
    shared_sum++;
    thrum_mutex_unlock(&shared_lock);
    if (depth == 0) {
        return 0;
    }
    int next = depth - 1;
    thrum_fork first;
    thrum_fork second;
    thrum_fork_start(&first, lock_and_fork, &next);
    thrum_yield();
    thrum_fork_start(&second, lock_and_fork, &next);
    if (depth % 3 == 0) {
        nap();
    }
    CHECK_EQ(thrum_fork_join(&second), 0);
    CHECK_EQ(thrum_fork_join(&first), 0);
    return 0;
}

static int blocking_entry(void *arg) {
    (void)arg;
    int depth = UNDER_TSAN ? 6 : 9;
    CHECK_EQ(lock_and_fork(&depth), 0);
    CHECK_EQ(shared_sum, (2 << (UNDER_TSAN ? 6 : 9)) - 1);
    return 0;
}

TEST(bodies_lock_yield_and_sleep_anywhere) {
    /* Nodes of a tree give their worker up between fork and join, and so move about. */
    rig_do(0, blocking_entry, NULL);
}

/* ---- values and pins ---- */

static thrum_key key;
static atomic_int dropped;

static void drop(void *value) {
    (void)value;
    atomic_fetch_add(&dropped, 1);
}

static int keep_value(void *arg) {
    CHECK_EQ(thrum_key_set(key, arg), 0);
    return 0;
}

static int values_entry(void *arg) {
    thrum_fork fork;
    thrum_fork_start(&fork, keep_value, arg);
    thrum_yield(); /* gives it to another task */
    CHECK_EQ(thrum_fork_join(&fork), 0);
    CHECK_EQ(atomic_load(&dropped), 1);
    CHECK(thrum_key_get(key) == NULL);
    return 0;
}

TEST(values_of_a_call_made_elsewhere_end_with_it) {
    /* They end before the join returns, and are not the caller's. */
    CHECK_EQ(thrum_key_create(&key, drop), 0);
    rig_do(0, values_entry, &dropped);
    thrum_key_delete(key);
}

static int pinned_entry(void *arg) {
    const int here = thrum_worker_id();
    CHECK_EQ(child_wakes_parent(arg), 0);
    CHECK_EQ(relay_entry(arg), 0);
    CHECK_EQ(thrum_worker_id(), here);
    return 0;
}

TEST(a_pinned_task_forks_and_stays) {
    /* Its calls may run elsewhere; it does not. */
    rig r;
    rig_begin(&r, 0);
    thrum_attr attr = rig_attr(&r);
    attr.flags = THRUM_PINNED;
    thrum_handle *handle;
    int result = -1;
    CHECK_EQ(thrum_spawn_with(&handle, &attr, pinned_entry, NULL), 0);
    CHECK_EQ(thrum_join(handle, &result), 0);
    CHECK_EQ(result, 0);
    rig_stop(&r);
}

/* ---- stopping ---- */

static int sleeps_long(void *arg) {
    atomic_fetch_add((atomic_int *)arg, 1);
    const int code = sleep_until_cancelled();
    atomic_fetch_add((atomic_int *)arg, 1);
    return code;
}

static int joins_sleeper(void *arg) {
    thrum_fork fork;
    thrum_fork_start(&fork, sleeps_long, arg);
    thrum_yield();
    CHECK_EQ(thrum_fork_join(&fork), -ECANCELED);
    CHECK_EQ(atomic_load((atomic_int *)arg), 2);
    return 0;
}

TEST(a_join_is_not_ended_by_a_cancel_but_by_its_call) {
    /* Stop cancels the call's sleep; only then does the join return. */
    rig r;
    atomic_int step = 0;
    rig_begin(&r, 0);
    rig_go(&r, joins_sleeper, &step);
    SPIN_UNTIL(atomic_load(&step) == 1);
    CHECK_EQ(thrum_sched_stop_until(r.sched, 0), -ETIMEDOUT);
    rig_stop(&r);
    CHECK_EQ(atomic_load(&step), 2);
}

/* ---- misuse ---- */

static int wrong_order(void *arg) {
    thrum_fork forks[3];
    for (int i = 0; i < 3; i++) {
        thrum_fork_start(&forks[i], add_one, arg);
    }
    return thrum_fork_join(&forks[1]);
}

static int wrong_order_taken_back(void *arg) {
    thrum_fork forks[3];
    for (int i = 0; i < 3; i++) {
        thrum_fork_start(&forks[i], add_one, arg);
    }
    return thrum_fork_take_back(&forks[1]);
}

static int no_join(void *arg) {
    thrum_fork fork;
    thrum_fork_start(&fork, add_one, arg);
    return 0;
}

static void run_wrong_order(void *arg) {
    rig_do(1, wrong_order, arg);
}

static void run_wrong_order_taken_back(void *arg) {
    rig_do(1, wrong_order_taken_back, arg);
}

static void run_no_join(void *arg) {
    rig_do(1, no_join, arg);
}

TEST(forks_left_behind_or_joined_out_of_order_are_misuse) {
    /* It is seen as far as that costs nothing: while no other task has taken them. */
    static atomic_int count;
    check_dies(run_wrong_order, &count, "thrum_fork_join");
    check_dies(run_wrong_order_taken_back, &count, "thrum_fork_take_back: forks are joined");
    check_dies(run_no_join, &count, "thrum_fork_start");
}

static int join_twice(void *arg) {
    thrum_fork fork;
    thrum_fork_start(&fork, add_one, arg);
    CHECK_EQ(thrum_fork_join(&fork), 7);
    return thrum_fork_join(&fork);
}

static int join_taken_back(void *arg) {
    thrum_fork fork;
    thrum_fork_start(&fork, add_one, arg);
    (void)!thrum_fork_take_back(&fork);
    thrum_yield(); /* with workers more the fork was in the slot */
    return thrum_fork_join(&fork) + thrum_fork_join(&fork);
}

static void run_join_twice(void *arg) {
    rig_do(0, join_twice, arg);
}

static void run_join_taken_back(void *arg) {
    rig_do(0, join_taken_back, arg);
}

static void thread_joins_twice(void *arg) {
    (void)join_twice(arg);
}

TEST(a_fork_is_joined_once) {
    /* Also one that another worker may take, and a plain thread's. */
    static atomic_int count;
    check_dies(run_join_twice, &count, "thrum_fork_join");
    check_dies(run_join_taken_back, &count, "thrum_fork_join");
    check_dies(thread_joins_twice, &count, "thrum_fork_join: joined, or taken back, already");
}
