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

/*
 * The loop ends when the wait returns that the task is cancelled: all its waits then return at
 * once, and a loop that did not test the result would spin for ever. The mutex is held in any case.
 */
static int put(int item) {
    int err = 0;
    thrum_mutex_lock(&queue.mutex);
    while (err == 0 && queue.count == CAPACITY) {
        err = thrum_cond_wait(&queue.not_full, &queue.mutex);
    }
    if (err == 0) {
        queue.slots[(queue.head + queue.count++) % CAPACITY] = item;
        thrum_cond_signal(&queue.not_empty);
    }
    thrum_mutex_unlock(&queue.mutex);
    return err;
}

static int take_and_add(void) {
    int err = 0;
    thrum_mutex_lock(&queue.mutex);
    while (err == 0 && queue.count == 0) {
        err = thrum_cond_wait(&queue.not_empty, &queue.mutex);
    }
    if (err == 0) {
        queue.sum += queue.slots[queue.head];
        queue.head = (queue.head + 1) % CAPACITY;
        queue.count--;
        thrum_cond_signal(&queue.not_full);
    }
    thrum_mutex_unlock(&queue.mutex);
    return err;
}

static int produce(void *arg) {
    (void)arg;
    int err = 0;
    for (int i = 1; i <= ITEMS && err == 0; i++) {
        err = put(i);
    }
    return err;
}

static int consume(void *arg) {
    (void)arg;
    int err = 0;
    for (int i = 0; i < ITEMS * PRODUCERS / CONSUMERS && err == 0; i++) {
        err = take_and_add();
    }
    return err;
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
