/* time.c: "Where does the time go?" Frames of three kinds of tasks, with a trace. */
#include <errno.h>
#include <stdio.h>
#include <thrum.h>

static volatile unsigned long work;

static void compute(unsigned long steps) {
    for (unsigned long i = 0; i < steps; i++) {
        work += i;
    }
}

static int animates(void *arg) {
    (void)arg;
    compute(50000);
    return 0;
}

static int culls(void *arg) {
    (void)arg;
    compute(400000);
    return 0;
}

static int draws(void *arg) {
    (void)arg;
    compute(2000000);
    return 0;
}

static int start(void *arg) {
    static int (*const parts[])(void *) = {animates, culls, draws};
    (void)arg;
    int err = thrum_trace_start(thrum_sched_current(), 0);
    for (int frame = 0; frame < 10 && err == 0; frame++) {
        thrum_handle *handles[3];
        int result;
        for (int i = 0; i < 3 && err == 0; i++) {
            err = thrum_spawn(&handles[i], parts[i], NULL);
        }
        for (int i = 0; i < 3 && err == 0; i++) {
            err = thrum_join(handles[i], &result);
        }
    }
    FILE *out = err == 0 ? fopen("trace.json", "w") : NULL;
    if (!out) {
        return err != 0 ? err : -errno;
    }
    err = thrum_trace_write(thrum_sched_current(), out);
    fclose(out);
    return err;
}

int main(void) {
    return thrum_run(NULL, start, NULL);
}
