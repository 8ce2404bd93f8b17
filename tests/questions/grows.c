/* grows.c: "Memory grows." Each request leaves a task behind that waits for an answer for ever. */
#include <stdio.h>
#include <thrum.h>

static thrum_chan *answers;
static thrum_waitgroup asked;
static int requests;

static int asks(void *arg) {
    int answer;
    (void)arg;
    thrum_waitgroup_done(&asked);
    return thrum_chan_recv(answers, &answer);
}

static int serves(void) {
    int err = 0;
    thrum_waitgroup_add(&asked, 1000);
    for (int i = 0; i < 1000 && err == 0; i++) {
        err = thrum_go(asks, NULL);
    }
    err = err != 0 ? err : thrum_waitgroup_wait(&asked);
    printf("requests %d\n", requests += 1000);
    return err != 0 ? err : thrum_metrics_print(thrum_sched_current(), stdout, THRUM_TEXT);
}

static int start(void *arg) {
    (void)arg;
    thrum_waitgroup_init(&asked, 0);
    int err = thrum_chan_create(&answers, sizeof(int), 1);
    for (int i = 0; i < 3 && err == 0; i++) {
        err = serves();
    }
    err = err != 0 ? err : thrum_dump(thrum_sched_current(), stdout, THRUM_TEXT);
    thrum_chan_close(answers);
    return err;
}

int main(void) {
    return thrum_run(NULL, start, NULL);
}
