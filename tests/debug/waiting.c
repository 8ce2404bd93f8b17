/*
 * waiting.c: for gdb-fibers.sh: three fibers wait deep in their stacks, and one for a pipe; then
 * the program aborts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

static thrum_sem ready;
static thrum_sem never;

static __attribute__((noinline)) int go_deep(int level) {
    volatile char here[256];
    int result;
    memset((char *)(uintptr_t)here, level, sizeof(here));
    if (level > 0) {
        result = go_deep(level - 1);
    } else {
        thrum_sem_post(&ready);
        result = thrum_sem_wait(&never);
    }
    return result + here[0] - level;
}

static int reader(void *arg) {
    (void)arg;
    return go_deep(5);
}

static int reads_pipe(void *arg) {
    int fds[2];
    thrum_io io;
    char byte;
    (void)arg;
    return pipe(fds) != 0 || thrum_io_adopt(&io, fds[0]) != 0 || thrum_read(io, &byte, 1) != 1;
}

/* Whether a dump says that the reader of the pipe waits. */
static bool pipe_waits(void) {
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    bool waits = out && thrum_dump(thrum_sched_current(), out, THRUM_TEXT) == 0 &&
                 fclose(out) == 0 && strstr(text, "\"a pipe\" reads fd ");
    free(text);
    return waits;
}

static int fill(void *arg) {
    thrum_attr attr;
    thrum_attr_init(&attr);
    (void)arg;
    attr.name = "a pipe";
    if (thrum_go_with(&attr, reads_pipe, NULL) != 0) {
        return 1;
    }
    while (!pipe_waits()) {
        thrum_yield();
    }
    attr.name = "a reader";
    for (int i = 0; i < 3; i++) {
        if (thrum_go_with(&attr, reader, NULL) != 0 || thrum_sem_wait(&ready) != 0) {
            return 1;
        }
    }
    abort();
}

int main(void) {
    thrum_config config;
    thrum_config_init(&config);
    thrum_sem_init(&ready, 0);
    thrum_sem_init(&never, 0);
    config.workers = 2;
    return thrum_run(&config, fill, NULL);
}
