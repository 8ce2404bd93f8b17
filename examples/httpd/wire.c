/*
 * wire.c: see wire.h.
 */
#include "wire.h"

#include <thrum/net.h>
#include <thrum/serve.h>

#include "system.h"

#define GOODBYE_NS THRUM_S(1) /* for the last few bytes to be taken */

int wire_open(struct wire *wire, thrum_io io, struct secret *secret, thrum_time deadline) {
    *wire = (struct wire){.io = io};
    if (!secret) {
        return 0;
    }
    int err = thrum_serve_idle(io, deadline); /* the server's end need not wait for it to begin */
    return err != 0 ? err : secret_begin(secret, io, deadline, &wire->tls);
}

int64_t wire_begin(struct wire *wire, void *to, size_t size, thrum_time deadline) {
    if (!wire->tls) {
        return thrum_serve_read(wire->io, to, size, deadline);
    }
    int err = secret_is_readable(wire->tls) ? 0 : thrum_serve_idle(wire->io, deadline);
    return err != 0 ? err : secret_read(wire->tls, to, size, deadline);
}

int64_t wire_read(struct wire *wire, void *to, size_t size, thrum_time deadline) {
    return !wire->tls ? thrum_read_until(wire->io, to, size, deadline)
                      : secret_read(wire->tls, to, size, deadline);
}

int64_t wire_write(struct wire *wire, const void *from, size_t size, thrum_time deadline) {
    return !wire->tls ? thrum_write_until(wire->io, from, size, deadline)
                      : secret_write(wire->tls, from, size, deadline);
}

bool wire_is_more_there(const struct wire *wire) {
    return (wire->tls && secret_is_readable(wire->tls)) || system_has_come(thrum_io_fd(wire->io));
}

int wire_announce_end(struct wire *wire, thrum_time deadline) {
    int err = wire->tls ? secret_shutdown(wire->tls, deadline) : 0;
    return err != 0 ? err : thrum_io_shutdown(wire->io, THRUM_IO_WRITE);
}

void wire_close(struct wire *wire, bool is_torn) {
    if (is_torn) {
        thrum_io_set_option(wire->io, THRUM_IO_RESET,
                            1); /* bytes that it did not take need not be kept */
    }
    if (wire->tls) {
        secret_end(wire->tls, is_torn ? 0 : thrum_after(GOODBYE_NS));
    }
}
