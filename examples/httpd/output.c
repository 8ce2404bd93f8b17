/*
 * output.c: see output.h. Reading a file may block a thread, and sendfile(2) reads one: so it is
 * called on the blocking pool. It does not wait for the other side there (the socket is not a
 * blocking one): that is for the task to do. If the system has no such call a file goes through
 * memory.
 */
#include "output.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <thrum/blocking.h>

#include "beneath.h"
#include "system.h"

enum { SENDFILE_MAX = 1 << 20 };

/* Sends bytes, piece by piece. */
static void send_pieces(struct output *out, const char *from, size_t size) {
    while (size > 0 && out->error == 0) {
        size_t piece = size < OUTPUT_PIECE ? size : OUTPUT_PIECE;
        int64_t n = wire_write(out->wire, from, piece, thrum_after(out->timeout));
        if (n != (int64_t)piece) { /* a short write is a deadline, or an error: no way to go on */
            out->error = n < 0 ? (int)n : -ETIMEDOUT;
        }
        from += piece;
        size -= piece;
    }
}

int output_flush(struct output *out) {
    send_pieces(out, out->data, out->used);
    out->used = 0;
    return out->error;
}

void output_add(struct output *out, const void *from, size_t size) {
    if (size > OUTPUT_SIZE - out->used) {
        output_flush(out);
    }
    if (size > OUTPUT_SIZE) {
        send_pieces(out, from, size);
    } else if (size > 0 && out->error == 0) {
        memcpy(out->data + out->used, from, size);
        out->used += size;
    }
}

void output_number(struct output *out, uint64_t number) {
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    output_add(out, digits + at, sizeof digits - at);
}

/* ---- files ---- */

/* A piece for the system to send by itself. */
struct piece {
    int socket;
    int file;
    uint64_t offset;
    size_t size;
};

static int send_piece(void *arg) {
    const struct piece *piece = arg;
    return system_send_file(piece->socket, piece->file, piece->offset, piece->size);
}

/* Sends some of it: how much, -EAGAIN, -ENOSYS where the system has no call for it, or an error. */
static int send_some(struct output *out, int file, uint64_t offset, uint64_t size) {
    struct piece piece = {.socket = thrum_io_fd(out->wire->io),
                          .file = file,
                          .offset = offset,
                          .size = (size_t)(size < SENDFILE_MAX ? size : SENDFILE_MAX)};
    int n = 0;
    int err = thrum_blocking(send_piece, &piece, &n);
    return err != 0 ? err : n == 0 ? -EIO : n;
}

/* Some of a file, to be read. */
struct excerpt {
    char *to;
    int file;
    uint64_t offset;
    size_t size;
};

static int read_excerpt(void *arg) {
    const struct excerpt *it = arg;
    return beneath_read(it->file, it->to, it->size, it->offset);
}

/* Sends a file through memory: where bytes have to be encrypted, or the system sends no files. */
static void send_copied(struct output *out, int file, uint64_t offset, uint64_t size) {
    char *memory = malloc(OUTPUT_PIECE);
    out->error = memory ? out->error : -ENOMEM;
    while (size > 0 && out->error == 0) {
        struct excerpt it = {.to = memory,
                             .file = file,
                             .offset = offset,
                             .size = (size_t)(size < OUTPUT_PIECE ? size : OUTPUT_PIECE)};
        int n = 0;
        int err = thrum_blocking(read_excerpt, &it, &n);
        if (err != 0 || (n <= 0 && n != -EINTR)) {
            out->error = err != 0 ? err : n == 0 ? -EIO : n;
        } else if (n > 0) {
            send_pieces(out, memory, (size_t)n);
            offset += (uint64_t)n;
            size -= (uint64_t)n;
        }
    }
    free(memory);
}

void output_file(struct output *out, int file, uint64_t offset, uint64_t size) {
    thrum_time deadline = thrum_after(out->timeout);
    uint64_t taken = 0; /* since the deadline was set */
    output_flush(out);
    if (out->wire->tls) {
        send_copied(out, file, offset, size);
        return;
    }
    while (size > 0 && out->error == 0) {
        int n = send_some(out, file, offset, size);
        if (n == -ENOSYS) {
            send_copied(out, file, offset, size);
            return;
        }
        if (n == -EAGAIN) {
            int bits = thrum_io_wait(out->wire->io, THRUM_IO_WRITE, deadline);
            out->error = bits < 0 ? bits : 0;
        } else if (n < 0 && n != -EINTR) {
            out->error = n;
        } else if (n > 0) {
            offset += (uint64_t)n;
            size -= (uint64_t)n;
            taken += (uint64_t)n;
        }
        if (taken >= OUTPUT_PIECE) {
            deadline = thrum_after(out->timeout);
            taken = 0;
        }
    }
}
