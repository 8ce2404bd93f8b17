/*
 * plain_threads.c: plain threads use the same primitives as tasks. A fiber that waits suspends, a
 * thread that waits sleeps in the kernel; neither need know which the other is.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <thrum.h>

enum { THREADS = 4, ORDERS = 500 };

static thrum_mutex till = THRUM_MUTEX_INIT;
static thrum_sem orders = THRUM_SEM_INIT(0);
static thrum_sem served = THRUM_SEM_INIT(0);
static long income; /* under `till` */

static void pay(long amount) {
    thrum_mutex_lock(&till);
    income += amount;
    thrum_mutex_unlock(&till);
}

static void *customer(void *arg) {
    for (int i = 0; i < ORDERS; i++) {
        thrum_sem_post(&orders);
        if (thrum_sem_wait(&served) != 0) {
            abort(); /* nothing cancels a plain thread */
        }
        pay(2);
    }
    return arg;
}

static int cook(void *arg) {
    (void)arg;
    for (int i = 0; i < ORDERS; i++) {
        int err = thrum_sem_wait(&orders);
        if (err != 0) {
            return err;
        }
        pay(-1);
        thrum_sem_post(&served);
    }
    return 0;
}

int main(void) {
    thrum_sched *sched;
    int err = thrum_sched_start(&sched, NULL);
    if (err != 0) {
        fprintf(stderr, "plain_threads: %s\n", thrum_strerror(err));
        return 1;
    }
    /* An external thread names the scheduler in the attr. */
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, customer, NULL) != 0 ||
            thrum_go_with(&attr, cook, NULL) != 0) {
            return 1;
        }
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    err = thrum_sched_stop(sched); /* waits for the cooks */
    printf("income %ld\n", income);
    return err == 0 && income == THREADS * ORDERS ? 0 : 1;
}
