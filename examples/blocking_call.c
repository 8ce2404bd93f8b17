/*
 * blocking_call.c: a call that blocks its thread goes through thrum_blocking, so that it holds up a
 * thread of the blocking pool and not a worker.
 *
 * Here one worker runs both ends of a pipe. If the reader blocked the worker, the writer would
 * never run: with a single worker no spare takes over unless the config requests one. resolve.c has
 * tasks that just make blocking calls.
 */
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

static int pipe_ends[2];

struct reading {
    char text[32];
    ssize_t got; /* of read(2); the call's input and result are in its argument */
};

/* Runs on a thread of the pool. */
static int read_pipe(void *arg) {
    struct reading *reading = arg;
    reading->got = read(pipe_ends[0], reading->text, sizeof reading->text - 1);
    return 0;
}

static int reader(void *arg) {
    int err = thrum_blocking(read_pipe, arg, NULL); /* this fiber waits, the worker does not */
    return err;
}

static int run(void *arg) {
    struct reading *reading = arg;
    thrum_handle *handle;
    if (thrum_spawn(&handle, reader, reading) != 0) {
        return 1;
    }
    thrum_yield(); /* lets the reader begin to wait */
    ssize_t put = write(pipe_ends[1], "through a pipe", 14);
    int err;
    return put == 14 && thrum_join(handle, &err) == 0 && err == 0 ? 0 : 1;
}

int main(void) {
    if (pipe(pipe_ends) != 0) {
        perror("blocking_call: pipe");
        return 1;
    }
    thrum_config config;
    thrum_config_init(&config);
    config.workers = 1;
    struct reading reading = {"", 0};
    int err = thrum_run(&config, run, &reading);
    printf("read: %s\n", reading.text);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    return err == 0 && reading.got == 14 && strcmp(reading.text, "through a pipe") == 0 ? 0 : 1;
}
