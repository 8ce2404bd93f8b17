/*
 * event.c: a manual event is a gate that opens for all; an auto event lets one through at a time.
 */
#include <stdio.h>
#include <thrum.h>

enum { RUNNERS = 10 };

static thrum_event start = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false);
static thrum_event track = THRUM_EVENT_INIT(THRUM_EVENT_AUTO, true); /* free for one */
static thrum_waitgroup finished = THRUM_WAITGROUP_INIT(RUNNERS);
static int laps; /* only the runner on the track touches it */

static int runner(void *arg) {
    (void)arg;
    int err = thrum_event_wait(&start); /* all of them wait here */
    if (err == 0) {
        err = thrum_event_wait(&track); /* clears it: the others wait */
    }
    if (err == 0) {
        int before = laps;
        thrum_yield();
        laps = before + 1;
        thrum_event_signal(&track); /* for the next one */
    }
    thrum_waitgroup_done(&finished); /* in any case, also when it was cancelled */
    return err;
}

static int run(void *arg) {
    (void)arg;
    for (int i = 0; i < RUNNERS; i++) {
        int err = thrum_go(runner, NULL);
        if (err != 0) {
            fprintf(stderr, "event: %s\n", thrum_strerror(err));
            return 1;
        }
    }
    thrum_event_signal(&start);
    if (thrum_waitgroup_wait(&finished) != 0) {
        return 1;
    }
    printf("%d laps\n", laps);
    /* Still signaled: a manual event stays so until it is cleared. The track is free again. */
    return laps == RUNNERS && thrum_event_test(&start) && thrum_event_test(&track) ? 0 : 1;
}

int main(void) {
    return thrum_run(NULL, run, NULL);
}
