/*
 * main.c: kv-replicated, one of three servers that keep the same keys. README.md explains how it
 * works.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <thrum.h>

#include "replica.h"

static void say_where(thrum_io listener, void *arg) {
    char where[THRUM_ADDRESS_TEXT];
    (void)arg;
    if (thrum_io_local(listener, where, sizeof where) == 0) {
        printf("listening at %s\n", where);
        fflush(stdout);
    }
}

int main(int argc, char **argv) {
    static const int ends[] = {SIGTERM, SIGINT, 0};
    struct replica_options options = {.stop_signals = ends, .started = say_where};
    const char *me = argc == 6 ? argv[1] : "";
    if (*me < '1' || *me > '0' + REPLICAS || me[1]) {
        fprintf(stderr, "usage: kv-replicated 1|2|3 LOG HOST:PORT HOST:PORT HOST:PORT\n");
        return 2;
    }
    options.me = (unsigned)(*me - '1');
    options.log = argv[2];
    for (unsigned i = 0; i < REPLICAS; i++) {
        options.hosts[i] = argv[3 + i];
    }
    const int err = thrum_run(NULL, replica_run, &options);
    if (err) {
        fprintf(stderr, "kv-replicated: %s\n", thrum_strerror(err));
    }
    return err != 0;
}
