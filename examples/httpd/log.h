/*
 * log.h: the access log: a line an answer on stdout, much as other servers write it.
 *
 *     127.0.0.1:40312 - - [Sun, 06 Nov 1994 08:49:37 GMT] "GET /hello" 200 14
 *
 * Connections put their lines into a channel, from which a separate task takes them, several to a
 * write. When stdout does not accept data and the channel is full, they wait for a moment; after
 * that, lines are lost, and their number is printed on stderr at the end. So a log that nobody
 * reads delays nobody. Lines that cannot be written, as on a full disk, are also lost, and later
 * ones are tried again.
 */
#ifndef HTTPD_LOG_H
#define HTTPD_LOG_H

#include <stdbool.h>

struct connection;
struct log;

/* Starts a log. Returns 0 or an error. A task calls it. */
int log_start(struct log **log);

/*
 * Notes an answer. Tasks call it. It may suspend, for a moment. Without a log (NULL) it does
 * nothing.
 */
void log_request(struct log *log, const struct connection *c);

/*
 * Writes the rest, until no write has ended for a second, and ends the log (NULL: none). False: the
 * system does not let go of the write that is under way (Windows, on a pipe that nobody reads): the
 * log's task stays. It may suspend.
 */
bool log_stop(struct log *log);

#endif
