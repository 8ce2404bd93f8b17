/*
 * metrics.c: prints a scheduler's metrics for Prometheus.
 */
#include <stdio.h>

#include "thrum.h"

static int prints(void *arg) {
    (void)arg;
    thrum_yield();
    return thrum_metrics_print(thrum_sched_current(), stdout, THRUM_PROMETHEUS);
}

int main(void) {
    thrum_config config;
    thrum_config_init(&config);
    config.name = "a \"name\"";
    return thrum_run(&config, prints, NULL) == 0 ? 0 : 1;
}
