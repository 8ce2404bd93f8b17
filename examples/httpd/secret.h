/*
 * secret.h: TLS, as far as the server has to do with it. secret_tls.c has it, by libthrum-tls;
 * secret_none.c replaces it if that is not there, and returns -EOPNOTSUPP.
 */
#ifndef HTTPD_SECRET_H
#define HTTPD_SECRET_H

#include <stdbool.h>
#include <stddef.h>
#include <thrum/io.h>

struct secret;    /* of the server: its certificate and its key */
struct thrum_tls; /* of a connection */

/* Reads the files: 0 or a code. The names must stay. They block the thread on a disk. */
int secret_create(struct secret **out, const char *chain, const char *key);
int secret_reload(struct secret *secret);

/* NULL: nothing. */
void secret_destroy(struct secret *secret);

/*
 * Does the handshake over a descriptor, which is the connection's from now on: 0, with *tls to be
 * ended; else it is ended already.
 */
int secret_begin(struct secret *secret, thrum_io io, thrum_time deadline, struct thrum_tls **tls);

/* As thrum_read_until, thrum_write_until. */
int64_t secret_read(struct thrum_tls *tls, void *to, size_t size, thrum_time deadline);
int64_t secret_write(struct thrum_tls *tls, const void *from, size_t size, thrum_time deadline);

/* Whether a read would not wait. */
bool secret_is_readable(struct thrum_tls *tls);

/* Notifies the peer that nothing else will be written. */
int secret_shutdown(struct thrum_tls *tls, thrum_time deadline);

/* Ends the connection, and the descriptor; until the deadline it notifies the peer. */
void secret_end(struct thrum_tls *tls, thrum_time deadline);

#endif
