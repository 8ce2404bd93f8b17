/*
 * mutex_cond.c: a bounded queue, with a mutex and two conditions, as one would write it for
 * threads.
 */
#include <stdio.h>
#include <stdlib.h>
#include <thrum.h>

enum { CAPACITY = 8, PRODUCERS = 4, CONSUMERS = 4, ITEMS = 1000 };

static struct {
    thrum_mutex mutex; /* protects all below */
    thrum_cond not_empty, not_full;
    int slots[CAPACITY], head, count;
    long sum; /* of all that was taken out */
} queue = {.mutex = THRUM_MUTEX_INIT, .not_empty = THRUM_COND_INIT, .not_full = THRUM_COND_INIT};

static void lock(thrum_mutex *mutex) {
    if (thrum_mutex_lock(mutex) != 0) {
        abort(); /* -EDEADLK: we hold it already */
    }
}

static int produce(void *arg) {
    (void)arg;
    for (int i = 1; i <= ITEMS; i++) {
        lock(&queue.mutex);
        while (queue.count == CAPACITY) {
            thrum_cond_wait(&queue.not_full, &queue.mutex);
        }
        queue.slots[(queue.head + queue.count++) % CAPACITY] = i;
        thrum_cond_signal(&queue.not_empty);
        thrum_mutex_unlock(&queue.mutex);
    }
    return 0;
}

static int consume(void *arg) {
    (void)arg;
    for (int i = 0; i < ITEMS * PRODUCERS / CONSUMERS; i++) {
        lock(&queue.mutex);
        while (queue.count == 0) {
            thrum_cond_wait(&queue.not_empty, &queue.mutex);
        }
        queue.sum += queue.slots[queue.head];
        queue.head = (queue.head + 1) % CAPACITY;
        queue.count--;
        thrum_cond_signal(&queue.not_full);
        thrum_mutex_unlock(&queue.mutex);
    }
    return 0;
}

static int run(void *arg) {
    (void)arg;
    for (int i = 0; i < PRODUCERS; i++) {
        if (thrum_go(produce, NULL) != 0) {
            exit(1);
        }
    }
    for (int i = 0; i < CONSUMERS; i++) {
        if (thrum_go(consume, NULL) != 0) {
            exit(1);
        }
    }
    return 0; /* thrum_run waits for the tasks that still run */
}

int main(void) {
    int err = thrum_run(NULL, run, NULL);
    printf("sum %ld\n", queue.sum);
    return err == 0 && queue.sum == PRODUCERS * (ITEMS * (ITEMS + 1L) / 2) ? 0 : 1;
}
