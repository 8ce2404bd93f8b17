/*
 * Settings that tasks read without a lock: a task that reloads them publishes a new block through
 * an atomic pointer. It is linked with thrum::test_race, which finds the mistake of its order;
 * -DFIXED corrects it.
 */
#include <stdatomic.h>
#include <stdlib.h>

#include <thrum.h>
#include <thrum/test.h>

#ifdef FIXED
#define PUBLISH memory_order_release
#else
#define PUBLISH memory_order_relaxed
#endif

typedef struct settings {
    int retries;
    thrum_time timeout;
} settings;
static _Atomic(settings *) current;

static int reload(void *arg) {
    settings *s = malloc(sizeof *s);
    (void)arg;
    THRUM_TEST(s != NULL);
    s->retries = 3;
    s->timeout = THRUM_MS(50);
    atomic_store_explicit(&current, s, PUBLISH);
    return 0;
}

static int request(void *arg) {
    const settings *s = atomic_load_explicit(&current, memory_order_acquire);
    (void)arg;
    if (s) {
        THRUM_TEST(s->retries == 3);
    }
    return 0;
}

static int reloads_while_requests_run(void *arg) {
    thrum_scope tasks;
    (void)arg;
    THRUM_TEST(thrum_scope_open(&tasks, THRUM_FOREVER) == 0);
    THRUM_TEST(thrum_scope_go(&tasks, reload, NULL) == 0);
    THRUM_TEST(thrum_scope_go(&tasks, request, NULL) == 0);
    THRUM_TEST(thrum_scope_join(&tasks) == 0);
    free(atomic_load(&current));
    return 0;
}

int main(int argc, char **argv) {
    return thrum_test_main(argc, argv, reloads_while_requests_run, NULL);
}
