/*
 * profiled.c: tasks of three kinds for tools/thrum-profile: two names that compute in one function,
 * for 300 ms and 100 ms, and one that sleeps. Prints the trace to the file that it is given.
 */
#include <stdio.h>
#include <thrum.h>
#include <thrum/trace.h>

static volatile unsigned long sink;

static __attribute__((noinline)) void work(thrum_time until) {
    while (thrum_now() < until) {
        for (int i = 0; i < 10000; i++) {
            sink = sink * 3 + 1;
        }
    }
}

static __attribute__((noinline)) int crunch(void *arg) {
    work(thrum_now() + *(thrum_time *)arg);
    return 0;
}

static __attribute__((noinline)) int doze(void *arg) {
    int code = 0;
    for (int i = 0; i < 20 && !code; i++) {
        code = thrum_sleep(*(thrum_time *)arg);
    }
    return code;
}

static int start(thrum_handle **h, const char *name, thrum_fn fn, thrum_time *ns) {
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.name = name;
    return thrum_spawn_with(h, &attr, fn, ns);
}

static int all(void *arg) {
    thrum_time ns[] = {300000000, 100000000, 10000000};
    thrum_handle *h[3];
    FILE *out = fopen(arg, "w");
    int code = !out || thrum_trace_start(thrum_sched_current(), 0);
    code |= start(&h[0], "long", crunch, &ns[0]) | start(&h[1], "short", crunch, &ns[1]) |
            start(&h[2], NULL, doze, &ns[2]);
    for (int i = 0; i < 3 && !code; i++) {
        code = thrum_join(h[i], NULL);
    }
    code = code ? code : thrum_trace_write(thrum_sched_current(), out);
    return code || fclose(out) != 0;
}

int main(int argc, char **argv) {
    return argc == 2 ? thrum_run(NULL, all, argv[1]) : 2;
}
