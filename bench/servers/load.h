/*
 * load.h: the kinds of load, one a file. Each is for a server at a port of 127.0.0.1, and prints
 * one JSON object on a line of its own.
 */
#ifndef BENCH_SERVERS_LOAD_H
#define BENCH_SERVERS_LOAD_H

#include <stdint.h>

typedef struct load {
    int port;
    unsigned connections;
    double seconds;
    unsigned rate;  /* messages a second of all connections together; 0: each after its answer */
    unsigned depth; /* requests in one piece */
} load;

/*
 * Messages of 64 bytes that come back, the same over TLS, and HTTP requests, on connections that
 * stay: load_ask.c.
 */
void load_echo(const load *l);
void load_tls(const load *l);
void load_http(const load *l);
/* A connection for each HTTP request, so many at a time: load_close.c. */
void load_close(const load *l);
/* Connections that made one HTTP request and then are idle until stdin ends: load_hold.c. */
void load_hold(const load *l);
/* Connections that send the time at which to end them, and then nothing: load_silent.c. */
void load_silent(const load *l);

/* ---- shared parts ---- */

/* Ends the program, with one line, when `value` is negative; else returns it. */
int64_t must(int64_t value, const char *what);

/* Nanoseconds of CLOCK_MONOTONIC. */
int64_t load_now(void);

/* A socket that is connected, or (without waiting) connecting. */
int load_connect(int port, int flags);

/* Makes the handshake of a connection, which does not block afterwards: load_tls.c. */
void *load_tls_begin(int fd);
/* As send and recv do: how many bytes, or -1 with errno. */
int64_t load_tls_send(void *tls, const void *from, unsigned size);
int64_t load_tls_receive(void *tls, void *to, unsigned size);

#endif
