/*
 * profiled.c: tasks of three kinds for tools/user/thrum-profile: two names that compute in one
 * function, one three times as much as the other, and one that sleeps. Prints the trace to the file
 * that it is given.
 */
#include <stdio.h>
#include <thrum.h>
#include <thrum/trace.h>

static volatile unsigned long sink;

static __attribute__((noinline)) void work(int64_t steps) {
    for (int64_t i = 0; i < steps; i++) {
        sink = sink * 3 + 1;
    }
}

static __attribute__((noinline)) int crunch(void *arg) {
    work(*(int64_t *)arg);
    return 0;
}

static __attribute__((noinline)) int doze(void *arg) {
    int code = 0;
    for (int i = 0; i < 20 && !code; i++) {
        code = thrum_sleep(*(int64_t *)arg);
    }
    return code;
}

static int start(thrum_handle **h, const char *name, thrum_fn fn, int64_t *arg) {
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.name = name;
    return thrum_spawn_with(h, &attr, fn, arg);
}

static int all(void *arg) {
    int64_t args[] = {150000000, 50000000, 10000000};
    thrum_handle *h[3];
    FILE *out = fopen(arg, "w");
    int code = !out || thrum_trace_start(thrum_sched_current(), 0);
    code |= start(&h[0], "long", crunch, &args[0]) | start(&h[1], "short", crunch, &args[1]) |
            start(&h[2], NULL, doze, &args[2]);
    for (int i = 0; i < 3 && !code; i++) {
        code = thrum_join(h[i], NULL);
    }
    code = code ? code : thrum_trace_write(thrum_sched_current(), out);
    return code || fclose(out) != 0;
}

int main(int argc, char **argv) {
    return argc == 2 ? thrum_run(NULL, all, argv[1]) : 2;
}
