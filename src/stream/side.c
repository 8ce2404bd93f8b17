/*
 * side.c: see side.h.
 *
 * The mark of a call that is inside is no lock: it is read and written without an order, and finds
 * the mistake where a call comes while another one waits, which is where it would do harm.
 */
#include "stream/side.h"

#include <errno.h>

#include "base/atomic.h"
#include "base/check.h"
#include "io/call.h"
#include "platform/platform.h"

/* A shared stream's lock was taken: 0, or it is given back. */
static int entered(th_stream *stream, unsigned side) {
    if (stream->open && th_stream_has(stream, side)) {
        return 0;
    }
    thrum_mutex_unlock(&stream->locks[side]);
    return -EBADF;
}

int th_side_enter(th_stream *stream, unsigned side, const char *call, thrum_time deadline) {
    if (stream->locks) {
        if (deadline != THRUM_FOREVER && thrum_mutex_try_lock(&stream->locks[side]) != 0) {
            int code = thrum_mutex_lock_until(&stream->locks[side], deadline);
            return code ? code : entered(stream, side);
        }
        if (deadline == THRUM_FOREVER) {
            thrum_mutex_lock(&stream->locks[side]);
        }
        return entered(stream, side);
    }
    if (!stream->open) {
        return -EBADF;
    }
    uint32_t *xbusy = &stream->sides[side].xbusy;
    if (th_unlikely(th_load_relaxed(xbusy) != 0)) { /* relaxed: it orders nothing, see above */
        th_misuse(call, side == TH_READING ? "two readers at a time" : "two writers at a time",
                  stream);
    }
    th_store_relaxed(xbusy, 1); /* relaxed: as above */
    return 0;
}

int th_side_try_enter(th_stream *stream, unsigned side) {
    return thrum_mutex_try_lock(&stream->locks[side]) ? -EBUSY : entered(stream, side);
}

void th_side_leave(th_stream *stream, unsigned side) {
    if (stream->locks) {
        thrum_mutex_unlock(&stream->locks[side]);
    } else {
        th_store_relaxed(&stream->sides[side].xbusy, 0); /* relaxed: as in th_side_enter */
    }
}

int th_side_open_slow(th_stream *stream) {
    const int fd = stream->standard - TH_STDIN;
    int code = thrum_io_adopt_shared(&stream->io, fd);
    if (!code && stream->standard == TH_STDOUT && th_os_io_is_tty(fd)) {
        stream->flush = THRUM_FLUSH_LINE;
    }
    return code;
}

int64_t th_side_read(th_stream *stream, void *to, size_t size, thrum_time deadline) {
    if (stream->calls) {
        return stream->calls->read(stream->ctx, to, size, deadline);
    }
    int code = th_side_open(stream);
    return code ? code : thrum_read_until(stream->io, to, size, deadline);
}

static int64_t write_parts(th_stream *stream, const thrum_iovec *parts, unsigned n,
                           thrum_time deadline, bool *waited) {
    *waited = false; /* other calls' codes are taken for those of writes */
    return stream->calls ? stream->calls->write(stream->ctx, parts, n, deadline)
                         : th_writev_until(stream->io, parts, n, deadline, waited);
}

/*
 * Whether the stream is torn by the code, or may go on later. -ENOSPC from a write is a full disk,
 * and from a wait too many descriptors in sets: then no byte is lost.
 */
static bool sticks(int64_t code, bool waited) {
    return code != -ETIMEDOUT && code != -ECANCELED && code != -ENOMEM && code != -EMFILE &&
           code != -ENFILE && !(code == -ENOSPC && waited);
}

int th_side_write(th_stream *stream, const void *from, size_t size, size_t *taken,
                  thrum_time deadline) {
    th_side *side = &stream->sides[TH_WRITING];
    *taken = 0;
    int code = side->error ? side->error : th_side_open(stream);
    while (!code && th_buffer_length(&side->buffer) + size - *taken) {
        const size_t buffered = th_buffer_length(&side->buffer);
        const thrum_iovec parts[2] = {
            {th_buffer_first(&side->buffer), buffered},
            {size ? (char *)(uintptr_t)from + *taken : NULL, size - *taken},
        };
        const bool one = !buffered || size == *taken;
        bool waited;
        int64_t n = write_parts(stream, &parts[!buffered], one ? 1 : 2, deadline, &waited);
        if (n > 0) {
            size_t of_buffer = (size_t)n < buffered ? (size_t)n : buffered;
            th_buffer_take(&side->buffer, NULL, of_buffer);
            *taken += (size_t)n - of_buffer;
        } else {
            code = (int)n;
            side->error = sticks(n, waited) ? code : 0;
        }
    }
    return code;
}
