/*
 * transfer.c: reads and writes, and streams over them.
 */
#include "tls/connection.h"

#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

/* One look by the reader, with the bytes received since the last one. */
static int64_t look(thrum_tls *tls, void *to, size_t size, size_t came, thrum_time deadline) {
    th_tls_engine *engine = &tls->engine;
    thrum_mutex_lock(&tls->lock);
    if (came) {
        engine->in.head = 0;
        engine->in.tail = came;
    }
    int64_t n = th_tls_engine_read(engine, to, size);
    const bool is_answered = th_tls_bytes_length(&engine->out) != 0;
    const bool is_fresh = engine->fresh != NULL;
    thrum_mutex_unlock(&tls->lock);
    if (is_fresh) {
        th_tls_keep(tls);
    }
    if (is_answered) { /* an alert; or a writer is about to send it */
        th_tls_send_aside(tls, deadline);
    }
    return n;
}

static int64_t read_some(thrum_tls *tls, void *to, size_t size, thrum_time deadline) {
    int64_t n = look(tls, to, size, 0, deadline);
    while (n == -EAGAIN) {
        n = th_tls_receive(tls, deadline);
        if (n > 0) {
            n = look(tls, to, size, (size_t)n, deadline);
        }
    }
    return n;
}

int64_t thrum_tls_read_until(thrum_tls *tls, void *to, size_t size, thrum_time deadline) {
    if (!tls || (!to && size)) {
        return -EINVAL;
    }
    if (th_tls_is_past(deadline)) {
        return -ETIMEDOUT;
    }
    int64_t n = size ? th_tls_enter(&tls->reading, deadline) : 0;
    if (size && n == 0) {
        n = read_some(tls, to, size, deadline);
        thrum_sem_post(&tls->reading);
    }
    return n;
}

int64_t thrum_tls_read(thrum_tls *tls, void *to, size_t size) {
    return thrum_tls_read_until(tls, to, size, THRUM_FOREVER);
}

bool thrum_tls_is_readable(thrum_tls *tls) {
    thrum_mutex_lock(&tls->lock);
    const bool is_readable = th_tls_engine_is_readable(&tls->engine);
    thrum_mutex_unlock(&tls->lock);
    return is_readable;
}

/* ---- writing ---- */

/* A write's position in its pieces. */
typedef struct cursor {
    const thrum_iovec *part;
    size_t offset; /* in that one */
    size_t left;   /* bytes in all */
} cursor;

/* The bytes that lie together here, at most `limit`. There are some left. */
static const char *here(cursor *at, size_t limit, size_t *n) {
    while (at->offset == at->part->size) {
        at->part++;
        at->offset = 0;
    }
    const size_t there = at->part->size - at->offset;
    *n = there < limit ? there : limit;
    return (const char *)at->part->base + at->offset;
}

static void step(cursor *at, size_t n) {
    at->offset += n;
    at->left -= n;
}

/* Whether the next n bytes are these. */
static bool are_next(cursor at, const char *bytes, size_t n) {
    while (n) {
        size_t piece;
        const char *from = here(&at, n, &piece);
        if (memcmp(from, bytes, piece) != 0) {
            return false;
        }
        step(&at, piece);
        bytes += piece;
        n -= piece;
    }
    return true;
}

/* Copies the next n bytes, which are encrypted but not sent, to be known again: 0 or -ENOMEM. */
static int owe(thrum_tls *tls, cursor at, size_t n) {
    int code = th_tls_bytes_reserve(&tls->owed, n);
    while (!code && n) {
        size_t piece;
        const char *from = here(&at, n, &piece);
        th_tls_bytes_add(&tls->owed, from, piece);
        step(&at, piece);
        n -= piece;
    }
    return code;
}

/*
 * The rest of an earlier write goes out first. Returns how many bytes of this write that was, since
 * it goes on with the same bytes, or a code.
 */
static int64_t resume(thrum_tls *tls, cursor *at, thrum_time deadline) {
    size_t n = th_tls_bytes_length(&tls->owed);
    n = n < at->left ? n : at->left;
    if (n && !are_next(*at, tls->owed.at + tls->owed.head, n)) {
        th_tls_bytes_free(&tls->owed);
        n = 0;
    }
    int code = tls->write_code;
    if (!code && th_tls_bytes_length(&tls->flight)) {
        code = th_tls_send(tls, deadline);
    }
    if (code) { /* perhaps of the alert: the connection's failure has precedence */
        thrum_mutex_lock(&tls->lock);
        code = tls->engine.code ? tls->engine.code : code;
        thrum_mutex_unlock(&tls->lock);
        return code;
    }
    tls->owed.head += n;
    if (!th_tls_bytes_length(&tls->owed)) {
        th_tls_bytes_free(&tls->owed);
    }
    for (size_t left = n, piece; left; left -= piece) {
        (void)here(at, left, &piece);
        step(at, piece);
    }
    return (int64_t)n;
}

/* Encrypts the next bytes, as many as go out together: how many, or a code. */
static int64_t encrypt(thrum_tls *tls, cursor *at) {
    size_t done = 0;
    int code = 0;
    thrum_mutex_lock(&tls->lock);
    while (!code && at->left && done < TH_TLS_CHUNK) {
        size_t n;
        const char *from = here(at, TH_TLS_CHUNK - done, &n);
        code = th_tls_engine_write(&tls->engine, from, n);
        if (!code) {
            step(at, n);
            done += n;
        }
    }
    if (!code && !th_tls_bytes_length(&tls->flight)) { /* th_tls_send need not take the lock */
        const th_tls_bytes empty = tls->flight;
        tls->flight = tls->engine.out;
        tls->engine.out = empty;
    }
    thrum_mutex_unlock(&tls->lock);
    return code ? code : (int64_t)done;
}

static int64_t write_all(thrum_tls *tls, cursor at, thrum_time deadline) {
    int64_t done = resume(tls, &at, deadline);
    int64_t code = done < 0 ? done : 0;
    while (!code && at.left) {
        const cursor before = at;
        int64_t n = encrypt(tls, &at);
        code = n < 0 ? n : th_tls_send_flight(tls, deadline);
        if (!code) {
            done += n;
        } else if (n > 0 && !tls->write_code && owe(tls, before, (size_t)n) != 0) {
            /* later bytes could not be told apart from sent ones */
            code = tls->write_code = -ENOMEM;
        }
    }
    return done > 0 ? done : code;
}

int64_t thrum_tls_writev_until(thrum_tls *tls, const thrum_iovec *parts, unsigned n,
                               thrum_time deadline) {
    cursor at = {.part = parts};
    if (!tls || n > THRUM_IOVECS_MAX || (n && !parts)) {
        return -EINVAL;
    }
    for (unsigned i = 0; i < n; i++) {
        if (parts[i].size > (size_t)INT64_MAX - at.left || (parts[i].size && !parts[i].base)) {
            return -EINVAL;
        }
        at.left += parts[i].size;
    }
    if (th_tls_is_past(deadline)) {
        return -ETIMEDOUT;
    }
    int64_t done = at.left ? th_tls_enter(&tls->writing, deadline) : 0;
    if (at.left && done == 0) {
        done = write_all(tls, at, deadline);
        thrum_sem_post(&tls->writing);
    }
    return done;
}

int64_t thrum_tls_write_until(thrum_tls *tls, const void *from, size_t size, thrum_time deadline) {
    const thrum_iovec part = {(void *)(uintptr_t)from, size};
    return thrum_tls_writev_until(tls, &part, 1, deadline);
}

int64_t thrum_tls_write(thrum_tls *tls, const void *from, size_t size) {
    return thrum_tls_write_until(tls, from, size, THRUM_FOREVER);
}

/* ---- streams ---- */

static int64_t stream_read(void *tls, void *to, size_t size, thrum_time deadline) {
    return thrum_tls_read_until(tls, to, size, deadline);
}

static int64_t stream_write(void *tls, const thrum_iovec *parts, unsigned n, thrum_time deadline) {
    return thrum_tls_writev_until(tls, parts, n, deadline);
}

static int stream_close(void *tls, thrum_time deadline) {
    return thrum_tls_close(tls, deadline);
}

int thrum_tls_stream_open(thrum_stream *stream, thrum_tls *tls,
                          const thrum_stream_options *options) {
    static const thrum_stream_calls calls = {stream_read, stream_write, stream_close};
    return tls ? thrum_stream_open_over(stream, &calls, tls, options) : -EINVAL;
}
