/* stays.c: "It does not end." The main task has returned; one that it started has not. */
#include <thrum.h>

static thrum_event flushed;

static int flushes(void *arg) {
    (void)arg;
    return thrum_event_wait(&flushed); /* nobody signals it */
}

static int start(void *arg) {
    (void)arg;
    thrum_event_init(&flushed, THRUM_EVENT_MANUAL, false);
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.name = "log";
    return thrum_go_with(&attr, flushes, NULL);
}

int main(void) {
    return thrum_run(NULL, start, NULL);
}
