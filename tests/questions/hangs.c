/* hangs.c: "It hangs." A reader waits for a semaphore that nobody posts. */
#include <thrum.h>

static thrum_sem loaded;

static int reads(void *arg) {
    (void)arg;
    return thrum_sem_wait(&loaded);
}

static int start(void *arg) {
    thrum_handle *reader;
    int result;
    (void)arg;
    thrum_sem_init(&loaded, 0);
    const thrum_attr attr = {.size = sizeof attr, .worker = -1, .name = "reader"};
    int err = thrum_spawn_with(&reader, &attr, reads, NULL);
    return err != 0 ? err : thrum_join(reader, &result);
}

int main(void) {
    return thrum_run(NULL, start, NULL);
}
