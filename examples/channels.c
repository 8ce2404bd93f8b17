/*
 * channels.c: a pipeline over channels: numbers are made, squared by several workers, and added up.
 * Once the sum is large enough a quit channel is closed: every stage, which selects over its work
 * and quit, ends, also one that is just waiting to hand something on.
 */
#include <stdbool.h>
#include <stdio.h>
#include <thrum.h>

enum { SQUARERS = 4, ENOUGH = 1000000 };

static thrum_chan *numbers; /* rendezvous: only as many are made as are wanted */
static thrum_chan *squares; /* a buffer between the squaring tasks and the adding one */
static thrum_chan *quit;    /* carries nothing; its close notifies all at once */
static thrum_waitgroup stages = THRUM_WAITGROUP_INIT(SQUARERS + 1);

/* Hands a number on. False: it is time to go. */
static bool give(thrum_chan *to, long n) {
    thrum_case cases[] = {THRUM_SEND_CASE(to, &n), THRUM_RECV_CASE(quit, NULL)};
    return thrum_select(cases, 2, THRUM_FOREVER) == 0 && cases[0].status == 0;
}

/* Takes one. False: it is time to stop, or none is left. */
static bool take(thrum_chan *from, long *n) {
    thrum_case cases[] = {THRUM_RECV_CASE(from, n), THRUM_RECV_CASE(quit, NULL)};
    return thrum_select(cases, 2, THRUM_FOREVER) == 0 && cases[0].status == 0;
}

static int count(void *arg) {
    (void)arg;
    long n = 0;
    while (give(numbers, ++n)) {
    }
    thrum_waitgroup_done(&stages);
    return 0;
}

static int square(void *arg) {
    (void)arg;
    long n;
    while (take(numbers, &n) && give(squares, n * n)) {
    }
    thrum_waitgroup_done(&stages);
    return 0;
}

static int start(void) {
    int err = thrum_go(count, NULL);
    for (int i = 0; i < SQUARERS && err == 0; i++) {
        err = thrum_go(square, NULL);
    }
    return err;
}

static int run(void *arg) {
    (void)arg;
    int err = thrum_chan_create(&numbers, sizeof(long), 0);
    err = err ? err : thrum_chan_create(&squares, sizeof(long), 16);
    err = err ? err : thrum_chan_create(&quit, 0, 0);
    err = err ? err : start();
    if (err != 0) {
        fprintf(stderr, "channels: %s\n", thrum_strerror(err));
        return 1;
    }
    long sum = 0;
    long added = 0;
    long n;
    while (sum < ENOUGH && thrum_chan_recv(squares, &n) == 0) {
        sum += n;
        added++;
    }
    thrum_chan_close(quit);
    if (thrum_waitgroup_wait(&stages) != 0) { /* afterwards no task uses the channels */
        return 1;
    }
    printf("%ld squares make %ld; %zu were too many\n", added, sum, thrum_chan_len(squares));
    thrum_chan_destroy(numbers);
    thrum_chan_destroy(squares);
    thrum_chan_destroy(quit);
    return sum >= ENOUGH ? 0 : 1;
}

int main(void) {
    return thrum_run(NULL, run, NULL);
}
