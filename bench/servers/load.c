/*
 * load.c: a load for servers that wrk and redis-benchmark cannot make.
 *
 *     thrum-load echo|tls PORT CONNECTIONS SECONDS [RATE]
 *     thrum-load http PORT CONNECTIONS SECONDS DEPTH
 *     thrum-load close|hold|silent PORT CONNECTIONS [SECONDS]
 *
 * One thread. It prints the work done and the times of answers; ../servers.py reads it.
 */
#define _GNU_SOURCE 1
#include "load.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

int64_t must(int64_t value, const char *what) {
    if (value < 0) {
        fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
        exit(1);
    }
    return value;
}

int64_t load_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int load_connect(int port, int flags) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    const int on = 1;
    const int fd = (int)must(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0), "socket");
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    must(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), "TCP_NODELAY");
    const int err = connect(fd, (struct sockaddr *)&to, sizeof to);
    must(err != 0 && errno == EINPROGRESS ? 0 : err, "connect");
    return fd;
}

/* As many descriptors as the system grants without asking. */
static void raise_files(void) {
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(const load *l);
    } kinds[] = {{"echo", load_echo},   {"tls", load_tls},   {"http", load_http},
                 {"close", load_close}, {"hold", load_hold}, {"silent", load_silent}};
    signal(SIGPIPE, SIG_IGN);
    raise_files();
    for (unsigned i = 0; argc >= 4 && i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(argv[1], kinds[i].name) == 0) {
            const bool is_http = kinds[i].run == load_http;
            const unsigned last = argc > 5 ? (unsigned)atoi(argv[5]) : is_http;
            const load l = {.port = atoi(argv[2]),
                            .connections = (unsigned)atoi(argv[3]),
                            .seconds = argc > 4 ? atof(argv[4]) : 1,
                            .rate = is_http ? 0 : last,
                            .depth = is_http ? last : 1};
            kinds[i].run(&l);
            return fflush(stdout) != 0;
        }
    }
    fprintf(stderr, "usage: %s echo|tls|http|close|hold|silent PORT CONNECTIONS [SECONDS [RATE]]\n",
            *argv);
    return 2;
}
