/*
 * ends.c: kernels about beginnings and ends: shutdown, close, join, once, scopes and pools.
 */
#include "kernels.h"

static thrum_mutex lock = THRUM_MUTEX_INIT;
static thrum_waitgroup group = THRUM_WAITGROUP_INIT(2);
static thrum_chan *chan, *quit;
static int value;

static void create(thrum_chan **out, size_t capacity) {
    MUST(thrum_chan_create(out, sizeof(int), capacity));
}

static int end(void) {
    MUST(thrum_chan_destroy(quit));
    return thrum_chan_destroy(chan);
}

/* ---- workers that leave while jobs are pending ---- */

static void do_job(void) {
    thrum_mutex_lock(&lock);
    value++;
    thrum_mutex_unlock(&lock);
}

static int does_jobs(void *arg) {
    int job;
    (void)arg;
    for (;;) {
        thrum_case cases[2] = {THRUM_RECV_CASE(chan, &job), THRUM_RECV_CASE(quit, &job)};
        if (thrum_select(cases, 2, THRUM_FOREVER) == 1) {
            break;
        }
        do_job();
    }
    while (fixed && thrum_chan_try_recv(chan, &job) == 0) {
        do_job();
    }
    return 0;
}

KERNEL(shut_down_with_jobs, "check") {
    create(&chan, 3);
    create(&quit, 0);
    go(does_jobs, NULL);
    go(does_jobs, NULL);
    for (int i = 0; i < 3; i++) {
        MUST(thrum_chan_send(chan, &i));
    }
    MUST(thrum_chan_close(quit));
    join_all();
    THRUM_TEST(value == 3);
    return end();
}

/* ---- two tasks that close the same channel ---- */

static bool closed;

static int gives_up(void *arg) {
    int err = 0;
    (void)arg;
    thrum_mutex_lock(&lock);
    const bool mine = !closed;
    if (fixed) {
        closed = true;
    }
    thrum_mutex_unlock(&lock);
    if (mine) {
        err = thrum_chan_close(quit);
        thrum_mutex_lock(&lock);
        closed = true;
        thrum_mutex_unlock(&lock);
    }
    return err;
}

KERNEL(double_close, "result") {
    thrum_scope scope;
    create(&quit, 0);
    MUST(thrum_scope_open(&scope, THRUM_FOREVER));
    thrum_scope_go(&scope, gives_up, NULL);
    thrum_scope_go(&scope, gives_up, NULL);
    const int err = thrum_scope_join(&scope);
    MUST(thrum_chan_destroy(quit));
    return err;
}

/* ---- a once that waits for a task that waits for the once ---- */

static thrum_once once = THRUM_ONCE_INIT;

static int prepares(void *arg) {
    const int hello = 1;
    if (arg && !fixed) {
        MUST(thrum_chan_send(chan, &hello));
    }
    return 0;
}

static int logs(void *arg) {
    int number;
    (void)arg;
    MUST(thrum_once_run(&once, prepares, NULL));
    return thrum_chan_recv(chan, &number);
}

static int says_hello(void *arg) {
    const int hello = 1;
    (void)arg;
    MUST(thrum_once_run(&once, prepares, &value));
    return fixed ? thrum_chan_send(chan, &hello) : thrum_chan_try_send(chan, &hello);
}

KERNEL(once_waits_for_itself, "deadlock") {
    create(&chan, 0);
    go(logs, NULL);
    go(says_hello, NULL);
    join_all();
    return thrum_chan_destroy(chan);
}

/* ---- two tasks that join each other ---- */

static thrum_handle *first, *second;

static thrum_handle *take_second(void) {
    thrum_mutex_lock(&lock);
    thrum_handle *taken = second;
    second = NULL;
    thrum_mutex_unlock(&lock);
    return taken;
}

static int joins_second(void *arg) {
    (void)arg;
    thrum_handle *other = fixed ? NULL : take_second();
    if (other) {
        MUST(thrum_join(other, NULL));
    }
    thrum_waitgroup_done(&group);
    return 0;
}

static int joins_first(void *arg) {
    (void)arg;
    MUST(thrum_join(first, NULL));
    thrum_waitgroup_done(&group);
    return 0;
}

KERNEL(joined_by_each_other, "deadlock") {
    MUST(thrum_spawn(&first, joins_second, NULL));
    thrum_mutex_lock(&lock);
    MUST(thrum_spawn(&second, joins_first, NULL));
    thrum_mutex_unlock(&lock);
    MUST(thrum_waitgroup_wait(&group));
    thrum_handle *left = take_second();
    return left ? thrum_join(left, NULL) : 0;
}

/* ---- a loop that tries again although the task is cancelled ---- */

static thrum_sem units = THRUM_SEM_INIT(0);

static int gets_a_unit(void *arg) {
    int err;
    (void)arg;
    do {
        err = thrum_sem_wait(&units);
    } while (err != 0 && !(fixed && thrum_cancelled()));
    return err;
}

static int posts_or_fails(void *arg) {
    int number;
    (void)arg;
    const int err = thrum_chan_try_recv(chan, &number);
    if (err == 0) {
        thrum_sem_post(&units);
    }
    return err;
}

static int orders(void *arg) {
    const int one = 1;
    (void)arg;
    return thrum_chan_send(chan, &one);
}

KERNEL(cancel_ignored, "livelock") {
    thrum_scope scope;
    create(&chan, 1);
    MUST(thrum_scope_open(&scope, THRUM_FOREVER));
    thrum_scope_go(&scope, orders, NULL);
    thrum_scope_go(&scope, gets_a_unit, NULL);
    thrum_scope_go(&scope, posts_or_fails, NULL);
    const int err = thrum_scope_join(&scope);
    THRUM_TEST(err == 0 || err == -EAGAIN);
    return thrum_chan_destroy(chan);
}

/* ---- a task that is done twice, because its error path goes on ---- */

static int offers(void *arg) {
    const int one = 1;
    (void)arg;
    if (thrum_chan_try_send(chan, &one) != 0) {
        thrum_waitgroup_done(&group);
        if (fixed) {
            return -EAGAIN;
        }
    }
    thrum_waitgroup_done(&group);
    return 0;
}

static int accepts(void *arg) {
    int number;
    (void)arg;
    return thrum_chan_recv(chan, &number);
}

KERNEL(done_twice, "abort") {
    create(&chan, 1);
    go(offers, NULL);
    go(accepts, NULL);
    go(offers, NULL);
    MUST(thrum_waitgroup_wait(&group));
    join_all();
    return thrum_chan_destroy(chan);
}

/* ---- two objects of a pool, borrowed one by one ---- */

static thrum_pool *pool;

static int borrows_two(void *arg) {
    void *two[2];
    (void)arg;
    if (fixed) {
        MUST(thrum_pool_borrow_n(pool, two, 2));
    } else {
        MUST(thrum_pool_borrow(pool, &two[0]));
        MUST(thrum_pool_borrow(pool, &two[1]));
    }
    thrum_pool_give_back(pool, two[0]);
    thrum_pool_give_back(pool, two[1]);
    return 0;
}

KERNEL(borrowed_one_by_one, "deadlock") {
    thrum_pool_config config = THRUM_POOL_CONFIG_INIT;
    config.item_size = 16;
    config.capacity = 3;
    MUST(thrum_pool_create(&pool, &config));
    for (int i = 0; i < 3; i++) {
        go(borrows_two, NULL);
    }
    join_all();
    return thrum_pool_destroy(pool);
}

/* ---- results that are taken for those of the children in the order of their starts ---- */

static int pages[2] = {10, 11};

static int fetches(void *arg) {
    return *(int *)arg;
}

KERNEL(results_by_start, "check") {
    thrum_scope scope;
    MUST(thrum_scope_open(&scope, THRUM_FOREVER));
    for (int i = 0; i < 2; i++) {
        MUST(thrum_scope_spawn(&scope, NULL, fetches, &pages[i]));
    }
    for (int i = 0; i < 2; i++) {
        void *page;
        int result;
        MUST(thrum_scope_next(&scope, &page, &result));
        THRUM_TEST(result == (fixed ? *(int *)page : pages[i]));
    }
    return thrum_scope_join(&scope);
}

/* ---- a select that waits for one task only, the wrong one ---- */

static thrum_handle *slow, *quick;
static thrum_event quick_ended = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false);

static int waits_for_quick(void *arg) {
    (void)arg;
    return thrum_event_wait(&quick_ended);
}

KERNEL(select_on_one_of_two, "deadlock") {
    MUST(thrum_spawn(&slow, waits_for_quick, NULL));
    MUST(thrum_spawn(&quick, fetches, &pages[0]));
    thrum_case cases[] = {THRUM_JOIN_CASE(slow), THRUM_JOIN_CASE(fixed ? quick : NULL)};
    THRUM_TEST(thrum_select(cases, 2, THRUM_FOREVER) == 1);
    thrum_event_signal(&quick_ended);
    MUST(thrum_join(quick, NULL));
    return thrum_join(slow, NULL);
}
