/*
 * semaphore.c: at most SEATS tasks out of many are at the table at a time.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <thrum.h>

enum { GUESTS = 100, SEATS = 3 };

static thrum_sem seats = THRUM_SEM_INIT(SEATS);
static thrum_waitgroup fed = THRUM_WAITGROUP_INIT(GUESTS);
static atomic_int seated;
static atomic_bool crowded;

static int guest(void *arg) {
    (void)arg;
    int err = thrum_sem_wait(&seats);
    if (err == 0) { /* else it was cancelled, and has no seat to give back */
        if (atomic_fetch_add(&seated, 1) >= SEATS) {
            atomic_store(&crowded, true);
        }
        thrum_yield(); /* dinner */
        atomic_fetch_sub(&seated, 1);
        thrum_sem_post(&seats);
    }
    thrum_waitgroup_done(&fed);
    return err;
}

static int run(void *arg) {
    (void)arg;
    for (int i = 0; i < GUESTS; i++) {
        int err = thrum_go(guest, NULL);
        if (err != 0) {
            fprintf(stderr, "semaphore: %s\n", thrum_strerror(err));
            return 1;
        }
    }
    if (thrum_waitgroup_wait(&fed) != 0) {
        return 1;
    }
    int free_seats = 0;
    while (thrum_sem_try_wait(&seats) == 0) {
        free_seats++;
    }
    printf("%d guests, %d seats\n", GUESTS, free_seats);
    return !atomic_load(&crowded) && free_seats == SEATS ? 0 : 1;
}

int main(void) {
    return thrum_run(NULL, run, NULL);
}
