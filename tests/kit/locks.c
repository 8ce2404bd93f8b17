/*
 * locks.c: kernels about locks.
 */
#include "kernels.h"

static thrum_mutex a = THRUM_MUTEX_INIT, b = THRUM_MUTEX_INIT, c = THRUM_MUTEX_INIT;
static thrum_rwlock rw = THRUM_RWLOCK_INIT;
static thrum_chan *chan;
static int value;

/* ---- two locks in two orders ---- */

static int a_then_b(void *arg) {
    (void)arg;
    thrum_mutex_lock(&a);
    thrum_mutex_lock(&b);
    thrum_mutex_unlock(&b);
    thrum_mutex_unlock(&a);
    return 0;
}

static int b_then_a(void *arg) {
    if (fixed) {
        return a_then_b(arg);
    }
    thrum_mutex_lock(&b);
    thrum_mutex_lock(&a);
    thrum_mutex_unlock(&a);
    thrum_mutex_unlock(&b);
    return 0;
}

KERNEL(ab_ba, "deadlock") {
    go(a_then_b, NULL);
    go(b_then_a, NULL);
    join_all();
    return 0;
}

/* ---- three locks in a circle ---- */

static thrum_mutex *const circle[3] = {&a, &b, &c};

static int next_pair(void *arg) {
    const int i = *(const int *)arg;
    thrum_mutex *first = circle[i], *second = circle[(i + 1) % 3];
    if (fixed && i == 2) {
        first = circle[0];
        second = circle[2];
    }
    thrum_mutex_lock(first);
    thrum_mutex_lock(second);
    thrum_mutex_unlock(second);
    thrum_mutex_unlock(first);
    return 0;
}

KERNEL(circle_of_three, "deadlock") {
    static const int numbers[3] = {0, 1, 2};
    for (int i = 0; i < 3; i++) {
        go(next_pair, (void *)(uintptr_t)&numbers[i]);
    }
    join_all();
    return 0;
}

/* ---- an early return with the lock held ---- */

static int early(void *arg) {
    (void)arg;
    thrum_mutex_lock(&a);
    if (value == 1) { /* somebody was here before */
        if (fixed) {
            thrum_mutex_unlock(&a);
        }
        return 0;
    }
    value = 1;
    thrum_mutex_unlock(&a);
    return 0;
}

static int user(void *arg) {
    (void)arg;
    thrum_mutex_lock(&a);
    value += 2;
    thrum_mutex_unlock(&a);
    return 0;
}

KERNEL(missed_unlock, "held") {
    go(early, NULL);
    go(early, NULL);
    go(user, NULL);
    join_all();
    return 0;
}

/* ---- a reader that reads again while a writer waits ---- */

static int reads_twice(void *arg) {
    (void)arg;
    thrum_rwlock_rdlock(&rw);
    if (!fixed) {
        thrum_rwlock_rdlock(&rw); /* in a function that it calls */
        thrum_rwlock_unlock(&rw);
    }
    thrum_rwlock_unlock(&rw);
    return 0;
}

static int writes(void *arg) {
    (void)arg;
    thrum_rwlock_wrlock(&rw);
    value++;
    thrum_rwlock_unlock(&rw);
    return 0;
}

KERNEL(read_write_read, "deadlock") {
    go(reads_twice, NULL);
    go(writes, NULL);
    join_all();
    return 0;
}

/* ---- two readers that become writers ---- */

static int upgrades(void *arg) {
    (void)arg;
    thrum_rwlock_rdlock(&rw);
    if (fixed) {
        thrum_rwlock_unlock(&rw);
    }
    thrum_mutex_lock(&a); /* one becomes a writer at a time */
    if (fixed) {
        thrum_rwlock_wrlock(&rw);
    } else {
        thrum_rwlock_rdlock(&rw);
        thrum_rwlock_unlock(&rw);
    }
    value++;
    thrum_mutex_unlock(&a);
    thrum_rwlock_unlock(&rw);
    return 0;
}

KERNEL(lock_upgrade, "deadlock") {
    go(upgrades, NULL);
    go(writes, NULL);
    go(upgrades, NULL);
    join_all();
    return 0;
}

/* ---- a send with a lock that the receiver wants ---- */

static int sends_locked(void *arg) {
    (void)arg;
    const int number = 7;
    thrum_mutex_lock(&a);
    if (fixed) {
        thrum_mutex_unlock(&a);
    }
    MUST(thrum_chan_send(chan, &number));
    if (!fixed) {
        thrum_mutex_unlock(&a);
    }
    return 0;
}

static int receives_locked(void *arg) {
    (void)arg;
    int number;
    thrum_mutex_lock(&a);
    value++;
    thrum_mutex_unlock(&a);
    MUST(thrum_chan_recv(chan, &number));
    return 0;
}

KERNEL(channel_with_lock, "deadlock") {
    MUST(thrum_chan_create(&chan, sizeof(int), 0));
    go(sends_locked, NULL);
    go(receives_locked, NULL);
    join_all();
    return thrum_chan_destroy(chan);
}

/* ---- check, unlock, lock, act ---- */

static int takes_ten(void *arg) {
    (void)arg;
    thrum_mutex_lock(&a);
    const bool enough = value >= 10;
    if (!fixed) {
        thrum_mutex_unlock(&a);
        thrum_mutex_lock(&a);
    }
    if (enough) {
        value -= 10;
        THRUM_TEST(value >= 0);
    }
    thrum_mutex_unlock(&a);
    return 0;
}

KERNEL(check_then_act, "check") {
    value = 10;
    go(takes_ten, NULL);
    go(takes_ten, NULL);
    join_all();
    return 0;
}

/* ---- two halves that must be seen together ---- */

static int left, right;

static int moves(void *arg) {
    (void)arg;
    thrum_mutex_lock(&a);
    left--;
    if (!fixed) {
        thrum_mutex_unlock(&a);
        thrum_mutex_lock(&a);
    }
    right++;
    thrum_mutex_unlock(&a);
    return 0;
}

static int sums(void *arg) {
    (void)arg;
    thrum_mutex_lock(&a);
    THRUM_TEST(left + right == 100);
    thrum_mutex_unlock(&a);
    return 0;
}

KERNEL(torn_invariant, "check") {
    left = 100;
    go(moves, NULL);
    go(sums, NULL);
    join_all();
    return 0;
}

/* ---- plain data without a lock ---- */

static int increments(void *arg) {
    (void)arg;
    if (fixed) {
        thrum_mutex_lock(&a);
    }
    const int before = value;
    thrum_test_point("between load and store");
    value = before + 1;
    if (fixed) {
        thrum_mutex_unlock(&a);
    }
    return 0;
}

KERNEL(lost_update, "check") {
    go(increments, NULL);
    go(increments, NULL);
    join_all();
    THRUM_TEST(value == 2);
    return 0;
}

/* ---- unlocking what another task holds ---- */

static int locks_only(void *arg) {
    (void)arg;
    thrum_mutex_lock(&a);
    if (fixed) {
        thrum_mutex_unlock(&a);
    }
    return 0;
}

KERNEL(unlock_by_a_stranger, "held") {
    go(locks_only, NULL);
    join_all();
    if (!fixed) {
        thrum_mutex_unlock(&a);
    }
    return 0;
}
