/*
 * wire.h: the transport of a connection: a plain descriptor, or TLS over it.
 */
#ifndef HTTPD_WIRE_H
#define HTTPD_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <thrum/io.h>

#include "secret.h"

struct wire {
    thrum_io io;
    struct thrum_tls *tls; /* NULL: as it is */
};

/*
 * Begins a connection, with a handshake if there is a secret (else NULL): 0, or a code with nothing
 * left to close except by thrum_serve.
 */
int wire_open(struct wire *wire, thrum_io io, struct secret *secret, thrum_time deadline);

/* Between two requests: as thrum_serve_read. */
int64_t wire_begin(struct wire *wire, void *to, size_t size, thrum_time deadline);

/* As thrum_read_until, thrum_write_until. */
int64_t wire_read(struct wire *wire, void *to, size_t size, thrum_time deadline);
int64_t wire_write(struct wire *wire, const void *from, size_t size, thrum_time deadline);

/* Whether more has come, as far as the system or further. */
bool wire_is_more_there(const struct wire *wire);

/* Announces that nothing else will be written. Returns 0 or a code. The peer may go on sending. */
int wire_announce_end(struct wire *wire, thrum_time deadline);

/* Ends what wire_open has begun. `is_torn`: the peer need not be notified. */
void wire_close(struct wire *wire, bool is_torn);

#endif
