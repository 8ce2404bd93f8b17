/*
 * servers.c: starts one of thrum's servers: thrum-servers MODE PORT [WORKERS]
 */
#define _GNU_SOURCE 1
#include "servers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <thrum.h>
#include <thrum/net.h>

typedef struct server {
    const char *name;
    int (*run)(thrum_io listener);
} server;

static const server servers[] = {{"http", serve_http},
                                 {"echo", serve_echo},
                                 {"on", serve_on},
                                 {"busy", serve_busy},
                                 {"deadlines", serve_deadlines}};

static const server *chosen;
static char address[64];

static int entry(void *arg) {
    thrum_io listener;
    const int err = thrum_listen(&listener, arg, NULL);
    return err != 0 ? err : chosen->run(listener);
}

static void raise_files(void) {
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

int main(int argc, char **argv) {
    thrum_config config;
    for (unsigned i = 0; argc >= 3 && i < sizeof servers / sizeof *servers; i++) {
        chosen = strcmp(argv[1], servers[i].name) == 0 ? &servers[i] : chosen;
    }
    if (!chosen) {
        fprintf(stderr, "usage: %s http|echo|on|busy|deadlines PORT [WORKERS]\n", argv[0]);
        return 2;
    }
    raise_files();
    thrum_config_init(&config);
    if (argc > 3) {
        config.workers = (unsigned)atoi(argv[3]);
    }
    snprintf(address, sizeof address, "tcp:127.0.0.1:%s", argv[2]);
    const int err = thrum_run(&config, entry, address);
    fprintf(stderr, "%s: %s\n", argv[0], thrum_strerror(err));
    return 1;
}
