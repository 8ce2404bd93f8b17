/*
 * servers.h: thrum's servers for the comparison, one a file, beside the examples echo, httpd and
 * kv. Each is called in a task, serves until the process is killed, and returns an error's code.
 */
#ifndef BENCH_SERVERS_SERVERS_H
#define BENCH_SERVERS_SERVERS_H

#include <thrum/io.h>

/* Answers each request by a text, a fiber for each connection: serve_hello.c. */
int serve_http(thrum_io listener);
/* The same, with no fiber while a connection is idle: serve_on.c. */
int serve_on(thrum_io listener);
/* Sends all bytes back, and has no deadlines: serve_echo.c. */
int serve_echo(thrum_io listener);
/* Sends all bytes back, while half of the workers compute for 5 ms at a time: serve_echo.c. */
int serve_busy(thrum_io listener);
/*
 * Ends each connection at the instant that it has sent, and reports the delay:
 * serve_deadlines.c.
 */
int serve_deadlines(thrum_io listener);

#endif
