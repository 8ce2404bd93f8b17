/*
 * messages.c: kernels about channels, conditions, groups and deadlines.
 */
#include "kernels.h"

static thrum_mutex lock = THRUM_MUTEX_INIT;
static thrum_cond cond = THRUM_COND_INIT;
static thrum_waitgroup group = THRUM_WAITGROUP_INIT(0);
static thrum_chan *chan, *done;
static int value;
static bool ready;

static void create(thrum_chan **out, size_t capacity) {
    MUST(thrum_chan_create(out, sizeof(int), capacity));
}

static int end(void) {
    if (chan) {
        MUST(thrum_chan_destroy(chan));
    }
    if (done) {
        MUST(thrum_chan_destroy(done));
    }
    return 0;
}

/* ---- a result that nobody receives any more ---- */

static int answers(void *arg) {
    const int number = 1;
    (void)arg;
    (void)!thrum_sleep(THRUM_S(1));
    (void)!thrum_chan_send(chan, &number);
    return 0;
}

KERNEL(late_result, "leak") {
    int number;
    create(&chan, fixed ? 1 : 0);
    MUST(thrum_go(answers, NULL));
    const int err = thrum_chan_recv_until(chan, &number, thrum_after_ms(1000));
    THRUM_TEST(err == 0 || err == -ETIMEDOUT);
    thrum_test_settle();
    return fixed ? end() : 0;
}

/* ---- a channel that is never closed ---- */

static int consumes(void *arg) {
    int number;
    (void)arg;
    while (thrum_chan_recv(chan, &number) == 0) {
        value += number;
    }
    return 0;
}

KERNEL(missed_close, "deadlock") {
    const int one = 1;
    create(&chan, 2);
    go(consumes, NULL);
    MUST(thrum_chan_send(chan, &one));
    MUST(thrum_chan_send(chan, &one));
    if (fixed) {
        MUST(thrum_chan_close(chan));
    }
    join_all();
    return end();
}

/* ---- a send after the close ---- */

static int produces(void *arg) {
    const int one = 1;
    (void)arg;
    THRUM_TEST(thrum_chan_send(chan, &one) == 0);
    if (fixed) {
        thrum_waitgroup_done(&group);
    }
    return 0;
}

static int closes(void *arg) {
    (void)arg;
    if (fixed) {
        MUST(thrum_waitgroup_wait(&group));
    }
    MUST(thrum_chan_close(chan));
    return 0;
}

KERNEL(send_after_close, "check") {
    create(&chan, 4);
    thrum_waitgroup_add(&group, 2);
    go(produces, NULL);
    go(produces, NULL);
    go(closes, NULL);
    join_all();
    return end();
}

/* ---- a signal before the wait ---- */

static int waits(void *arg) {
    (void)arg;
    thrum_mutex_lock(&lock);
    while (fixed && !ready) {
        MUST(thrum_cond_wait(&cond, &lock));
    }
    if (!fixed) {
        MUST(thrum_cond_wait(&cond, &lock));
    }
    thrum_mutex_unlock(&lock);
    return 0;
}

static int signals(void *arg) {
    (void)arg;
    thrum_mutex_lock(&lock);
    ready = true;
    thrum_cond_signal(&cond);
    thrum_mutex_unlock(&lock);
    return 0;
}

KERNEL(lost_signal, "deadlock") {
    go(waits, NULL);
    go(signals, NULL);
    join_all();
    return end();
}

/* ---- one signal for two that wait ---- */

static int waits_ready(void *arg) {
    (void)arg;
    thrum_mutex_lock(&lock);
    while (!ready) {
        MUST(thrum_cond_wait(&cond, &lock));
    }
    thrum_mutex_unlock(&lock);
    return 0;
}

static int signals_one(void *arg) {
    (void)arg;
    thrum_mutex_lock(&lock);
    ready = true;
    if (fixed) {
        thrum_cond_broadcast(&cond);
    } else {
        thrum_cond_signal(&cond);
    }
    thrum_mutex_unlock(&lock);
    return 0;
}

KERNEL(signal_for_two, "deadlock") {
    go(waits_ready, NULL);
    go(waits_ready, NULL);
    go(signals_one, NULL);
    join_all();
    return end();
}

/* ---- if instead of while ---- */

static int takes(void *arg) {
    (void)arg;
    thrum_mutex_lock(&lock);
    if (value == 0) {
        MUST(thrum_cond_wait(&cond, &lock));
    }
    while (fixed && value == 0) {
        MUST(thrum_cond_wait(&cond, &lock));
    }
    value--;
    THRUM_TEST(value >= 0);
    thrum_mutex_unlock(&lock);
    return 0;
}

static int gives(void *arg) {
    (void)arg;
    for (int i = 0; i < 2; i++) {
        thrum_mutex_lock(&lock);
        value++;
        thrum_cond_signal(&cond);
        thrum_mutex_unlock(&lock);
    }
    return 0;
}

KERNEL(if_instead_of_while, "check") {
    go(takes, NULL);
    go(takes, NULL);
    go(gives, NULL);
    join_all();
    return end();
}

/* ---- the wait for a group that is not complete yet ---- */

static int member(void *arg) {
    (void)arg;
    if (!fixed) {
        thrum_waitgroup_add(&group, 1);
    }
    thrum_mutex_lock(&lock);
    value++;
    thrum_mutex_unlock(&lock);
    thrum_waitgroup_done(&group);
    return 0;
}

KERNEL(add_in_the_task, "check") {
    if (fixed) {
        thrum_waitgroup_add(&group, 2);
    }
    go(member, NULL);
    go(member, NULL);
    MUST(thrum_waitgroup_wait(&group));
    THRUM_TEST(value == 2);
    join_all();
    return end();
}

/* ---- done is not reached on one path ---- */

static int fails_early(void *arg) {
    const int number = *(const int *)arg;
    if (number == 1 && !fixed) {
        return -EIO;
    }
    thrum_waitgroup_done(&group);
    return 0;
}

KERNEL(missed_done, "deadlock") {
    static const int numbers[2] = {0, 1};
    thrum_waitgroup_add(&group, 2);
    go(fails_early, (void *)(uintptr_t)&numbers[0]);
    go(fails_early, (void *)(uintptr_t)&numbers[1]);
    MUST(thrum_waitgroup_wait(&group));
    join_all();
    return end();
}

/* ---- a worker that does not see the end ---- */

static int works(void *arg) {
    int number;
    (void)arg;
    for (;;) {
        thrum_case cases[2] = {{.chan = chan, .to = &number, .kind = THRUM_CASE_RECV},
                               {.chan = done, .to = &number, .kind = THRUM_CASE_RECV}};
        const int which = thrum_select(cases, fixed ? 2 : 1, THRUM_FOREVER);
        if (which != 0 || cases[0].status != 0) {
            return 0;
        }
    }
}

KERNEL(select_without_the_end, "deadlock") {
    const int one = 1;
    create(&chan, 0);
    create(&done, 0);
    go(works, NULL);
    MUST(thrum_chan_send(chan, &one));
    MUST(thrum_chan_close(done));
    join_all();
    return end();
}

/* ---- two senders, one receive ---- */

static int replies(void *arg) {
    const int one = 1;
    (void)arg;
    return thrum_chan_send(chan, &one);
}

KERNEL(first_of_two, "leak") {
    int number;
    create(&chan, fixed ? 2 : 0);
    MUST(thrum_go(replies, NULL));
    MUST(thrum_go(replies, NULL));
    MUST(thrum_chan_recv(chan, &number));
    thrum_test_settle();
    return fixed ? end() : 0;
}

/* ---- two tasks that send to each other first ---- */

static int sends_first(void *arg) {
    int number = 1;
    thrum_chan *mine = arg ? chan : done, *its = arg ? done : chan;
    if (arg && fixed) {
        MUST(thrum_chan_recv(mine, &number));
        MUST(thrum_chan_send(its, &number));
    } else {
        MUST(thrum_chan_send(its, &number));
        MUST(thrum_chan_recv(mine, &number));
    }
    return 0;
}

KERNEL(both_send_first, "deadlock") {
    create(&chan, 0);
    create(&done, 0);
    go(sends_first, NULL);
    go(sends_first, &value);
    join_all();
    return end();
}

/* ---- destroying what another task still uses ---- */

static int last_use(void *arg) {
    const int one = 1;
    (void)arg;
    MUST(thrum_chan_send(done, &one));
    thrum_mutex_lock(&lock);
    value++;
    thrum_mutex_unlock(&lock);
    return 0;
}

KERNEL(destroy_in_use, "check") {
    int number;
    create(&done, 1);
    go(last_use, NULL);
    MUST(thrum_chan_recv(done, &number));
    if (fixed) {
        join_all();
    }
    THRUM_TEST(thrum_mutex_destroy(&lock) == 0);
    if (!fixed) {
        THRUM_TEST(value == 1);
        join_all();
    }
    return end();
}
