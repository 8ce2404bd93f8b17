/*
 * look.c: looking ahead in streams, leaving bytes out, and putting them back.
 */
#include <errno.h>
#include <string.h>

#include "stream/gather.h"

int64_t thrum_stream_peek_until(thrum_stream *handle, size_t n, const void **at,
                                thrum_time deadline) {
    th_stream *stream = th_stream_of(handle);
    int64_t got = th_side_enter(stream, TH_READING, "thrum_stream_peek", deadline);
    if (got) {
        return got;
    }
    th_side *side = &stream->sides[TH_READING];
    got = n > SIZE_MAX / 2 ? -ENOMEM : th_gather(stream, side, n, deadline);
    if (got >= 0) {
        got = (int64_t)th_buffer_length(&side->buffer);
        *at = th_buffer_first(&side->buffer);
    }
    th_side_leave(stream, TH_READING);
    return got;
}

int64_t thrum_stream_peek(thrum_stream *stream, size_t n, const void **at) {
    return thrum_stream_peek_until(stream, n, at, THRUM_FOREVER);
}

/* ---- leaving out ---- */

static int64_t skip(th_stream *stream, uint64_t n, thrum_time deadline) {
    th_side *side = &stream->sides[TH_READING];
    uint64_t done = 0;
    int64_t got = 1;
    while (done < n && (got = th_gather(stream, side, 1, deadline)) > 0) {
        const size_t there = th_buffer_length(&side->buffer);
        const size_t take = n - done < there ? (size_t)(n - done) : there;
        th_buffer_take(&side->buffer, NULL, take);
        done += take;
    }
    return done || got >= 0 ? (int64_t)done : got;
}

int64_t thrum_stream_skip_until(thrum_stream *handle, uint64_t n, thrum_time deadline) {
    th_stream *stream = th_stream_of(handle);
    n = n < INT64_MAX ? n : INT64_MAX;
    int64_t done = th_side_enter(stream, TH_READING, "thrum_stream_skip", deadline);
    return done ? done : th_side_end(stream, TH_READING, skip(stream, n, deadline));
}

int64_t thrum_stream_skip(thrum_stream *stream, uint64_t n) {
    return thrum_stream_skip_until(stream, n, THRUM_FOREVER);
}

static int64_t skip_delim(th_stream *stream, int delimiter, thrum_time deadline) {
    th_side *side = &stream->sides[TH_READING];
    int64_t done = 0;
    int64_t got;
    while ((got = th_gather(stream, side, 1, deadline)) > 0) {
        const size_t there = th_buffer_length(&side->buffer);
        const char *first = th_buffer_first(&side->buffer);
        const char *found = memchr(first, delimiter, there);
        const size_t take = found ? (size_t)(found - first) + 1 : there;
        th_buffer_take(&side->buffer, NULL, take);
        done += (int64_t)take;
        if (found) {
            return done;
        }
    }
    return got;
}

int64_t thrum_stream_skip_delim_until(thrum_stream *handle, int delimiter, thrum_time deadline) {
    th_stream *stream = th_stream_of(handle);
    int64_t done = th_side_enter(stream, TH_READING, "thrum_stream_skip_delim", deadline);
    return done ? done : th_side_end(stream, TH_READING, skip_delim(stream, delimiter, deadline));
}

int64_t thrum_stream_skip_delim(thrum_stream *stream, int delimiter) {
    return thrum_stream_skip_delim_until(stream, delimiter, THRUM_FOREVER);
}

/* ---- putting back ---- */

int thrum_stream_unread(thrum_stream *handle, const void *from, size_t n) {
    th_stream *stream = th_stream_of(handle);
    int code = th_side_enter(stream, TH_READING, "thrum_stream_unread", THRUM_FOREVER);
    if (!code) {
        th_side *side = &stream->sides[TH_READING];
        code = th_buffer_put_back(&side->buffer, from, n, side->size);
        th_side_leave(stream, TH_READING);
    }
    return code;
}

size_t thrum_stream_buffered(const thrum_stream *handle) {
    const th_stream *stream = (const th_stream *)(const void *)handle;
    return th_buffer_length(&stream->sides[TH_READING].buffer);
}
