/*
 * crashes.c: "It crashes." A walk through a list that leads back to itself. With one worker, so
 * that it begins when main waits.
 */
#include <thrum.h>

typedef struct node {
    struct node *next;
    int value;
} node;

static int sum_of(const node *list) {
    return !list ? 0 : list->value + sum_of(list->next) % 1000;
}

static int adds(void *arg) {
    return sum_of(arg);
}

static int start(void *arg) {
    static node list = {&list, 1};
    thrum_handle *adder;
    int result;
    (void)arg;
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.name = "adder";
    int err = thrum_spawn_with(&adder, &attr, adds, &list);
    return err != 0 ? err : thrum_join(adder, &result);
}

int main(void) {
    thrum_config config;
    thrum_config_init(&config);
    config.workers = 1;
    return thrum_run(&config, start, NULL);
}
