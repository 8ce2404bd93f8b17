/*
 * race.c: kernels whose bug is an access to memory that nothing orders. They are compiled by
 * -fsanitize=thread and linked with thrum::test_race.
 */
#include "kernels.h"

#include <stdatomic.h>
#include <stdlib.h>

/* ---- a counter without a lock ---- */

static thrum_mutex lock = THRUM_MUTEX_INIT;
static int counter;

static int counts(void *arg) {
    (void)arg;
    if (fixed) {
        thrum_mutex_lock(&lock);
    }
    counter++;
    if (fixed) {
        thrum_mutex_unlock(&lock);
    }
    return 0;
}

KERNEL(counter_without_lock, "race") {
    go(counts, NULL);
    go(counts, NULL);
    join_all();
    THRUM_TEST(counter == 2);
    return 0;
}

/* ---- a flag that publishes nothing ---- */

static atomic_bool ready;
static int message;

static int publishes(void *arg) {
    (void)arg;
    message = 42;
    atomic_store_explicit(&ready, true, fixed ? memory_order_release : memory_order_relaxed);
    return 0;
}

static int looks(void *arg) {
    (void)arg;
    if (atomic_load_explicit(&ready, memory_order_acquire)) {
        THRUM_TEST(message == 42);
    }
    return 0;
}

KERNEL(flag_without_release, "race") {
    go(publishes, NULL);
    go(looks, NULL);
    join_all();
    return 0;
}

/* ---- both look before the other one has written: the entry of Dekker's lock ---- */

static atomic_int wants[2];
static atomic_int inside;

static int enters(void *arg) {
    const int mine = *(int *)arg;
    const memory_order order = fixed ? memory_order_seq_cst : memory_order_relaxed;
    atomic_store_explicit(&wants[mine], 1, order);
    if (!atomic_load_explicit(&wants[!mine], order)) {
        THRUM_TEST(atomic_fetch_add(&inside, 1) == 0);
    }
    return 0;
}

KERNEL(old_value, "check") {
    static int numbers[2] = {0, 1};
    go(enters, &numbers[0]);
    go(enters, &numbers[1]);
    join_all();
    return 0;
}

/* ---- an object that is used after another task has freed it ---- */

typedef struct object {
    atomic_int references;
    int value;
} object;

static int drops(void *arg) {
    object *shared = arg;
    const int before = atomic_fetch_sub(&shared->references, 1);
    if (!fixed) {
        THRUM_TEST(shared->value == 7); /* it no longer has a reference */
    }
    if (before == 1) {
        free(shared);
    }
    return 0;
}

KERNEL(used_after_free, "race") {
    object *shared = malloc(sizeof *shared);
    THRUM_TEST(shared);
    atomic_init(&shared->references, 2);
    shared->value = 7;
    go(drops, shared);
    go(drops, shared);
    join_all();
    return 0;
}

/* ---- a sum of several tasks; corrected, it has memory of stacks in turns, and messages ---- */

static thrum_chan *results;
static int total;

static int sums(void *arg) {
    volatile int local[64];
    int sum = 0;
    for (int i = 0; i < 64; i++) {
        local[i] = (int)(intptr_t)arg;
    }
    for (int i = 0; i < 64; i++) {
        sum += local[i];
    }
    if (fixed) {
        return thrum_chan_send(results, &sum);
    }
    total += sum;
    return 0;
}

KERNEL(total_of_tasks, "race") {
    MUST(thrum_chan_create(&results, sizeof(int), 1));
    for (int i = 1; i <= 6; i++) {
        go(sums, (void *)(intptr_t)i);
        if (fixed && i % 2 == 0) {
            int both[2];
            MUST(thrum_chan_recv(results, &both[0]));
            MUST(thrum_chan_recv(results, &both[1]));
            total += both[0] + both[1];
        }
    }
    join_all();
    THRUM_TEST(total == 64 * 21);
    return thrum_chan_destroy(results);
}
