/*
 * side.h: being the one call in a direction of a stream, and its calls on the descriptor.
 */
#ifndef TH_SIDE_H
#define TH_SIDE_H

#include "stream/stream_state.h"

/*
 * Enters a side: 0, -EBADF (the stream is closed), or -ETIMEDOUT where it is shared and others are
 * inside. Two calls at a time are misuse otherwise. `call` is its name, for that message.
 */
int th_side_enter(th_stream *stream, unsigned side, const char *call, thrum_time deadline);
/* The same of a shared stream, without waiting: -EBUSY where another call is inside. */
int th_side_try_enter(th_stream *stream, unsigned side);
void th_side_leave(th_stream *stream, unsigned side);
/* Leaves with the result of the call, which is returned. */
static inline int64_t th_side_end(th_stream *stream, unsigned side, int64_t result) {
    th_side_leave(stream, side);
    return result;
}

/* By the call inside: reads at least a byte, as thrum_read_until. */
int64_t th_side_read(th_stream *stream, void *to, size_t size, thrum_time deadline);

/*
 * By the call inside: writes all that is in the buffer, and then `size` bytes. Returns 0 or a code,
 * after which the unwritten part of the buffer stays there; *taken is the number of the bytes
 * behind it that were written. Errors that stick do so from here.
 */
int th_side_write(th_stream *stream, const void *from, size_t size, size_t *taken,
                  thrum_time deadline);

/* By the call inside: opens a stream of the process that is not open yet. 0 or a code. */
int th_side_open_slow(th_stream *stream);
static inline int th_side_open(th_stream *stream) {
    return th_likely(stream->io.turn || !stream->standard) ? 0 : th_side_open_slow(stream);
}

#endif
