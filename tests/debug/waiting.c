/*
 * waiting.c: for gdb-fibers.sh: three fibers wait deep in their stacks; then the program aborts.
 */
#include <stdlib.h>
#include <string.h>
#include <thrum.h>

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

static int fill(void *arg) {
    thrum_attr attr;
    thrum_attr_init(&attr);
    attr.name = "a reader";
    (void)arg;
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
