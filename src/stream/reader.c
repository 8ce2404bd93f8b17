/*
 * reader.c: reading from streams.
 *
 * Data that a call needs as a whole is gathered in the buffer, and taken when it is complete, so
 * nothing is lost if the call ends earlier.
 */
#include <errno.h>
#include <string.h>

#include "platform/platform.h"
#include "stream/gather.h"

/* ---- some, and exactly so many ---- */

static int64_t read_some(th_stream *stream, void *to, size_t size, thrum_time deadline) {
    th_side *side = &stream->sides[TH_READING];
    if (!th_buffer_length(&side->buffer)) {
        if (size >= side->size) {
            return th_gather_past(stream, to, size, deadline);
        }
        int64_t got = size ? th_gather(stream, side, 1, deadline) : 0;
        if (got <= 0) {
            return got;
        }
    }
    const size_t there = th_buffer_length(&side->buffer);
    const size_t n = size < there ? size : there;
    th_buffer_take(&side->buffer, to, n);
    return (int64_t)n;
}

int64_t thrum_stream_read_until(thrum_stream *handle, void *to, size_t size, thrum_time deadline) {
    th_stream *stream = th_stream_of(handle);
    int64_t n = th_side_enter(stream, TH_READING, "thrum_stream_read", deadline);
    return n ? n : th_side_end(stream, TH_READING, read_some(stream, to, size, deadline));
}

int64_t thrum_stream_read(thrum_stream *stream, void *to, size_t size) {
    return thrum_stream_read_until(stream, to, size, THRUM_FOREVER);
}

/*
 * Reads more than a buffer holds, to where it belongs. The memory to keep it in, if it does not
 * become complete, is there from the start, and mostly never touched.
 */
static int64_t read_past(th_stream *stream, th_side *side, char *to, size_t size,
                         thrum_time deadline) {
    char *spare = th_os_alloc(size);
    if (!spare) {
        return -ENOMEM;
    }
    const size_t buffered = th_buffer_length(&side->buffer);
    if (buffered) {
        memcpy(to, th_buffer_first(&side->buffer), buffered);
    }
    size_t done = buffered;
    int64_t n = 1;
    while (done < size && (n = th_gather_past(stream, to + done, size - done, deadline)) > 0) {
        done += (size_t)n;
    }
    if (n >= 0) {
        th_buffer_take(&side->buffer, NULL, buffered);
        n = (int64_t)done;
    } else if (done > buffered) {
        memcpy(spare, to, done);
        th_buffer_replace(&side->buffer, spare, size, done);
        return n;
    }
    th_os_free(spare);
    return n;
}

static int64_t read_full(th_stream *stream, void *to, size_t size, thrum_time deadline) {
    th_side *side = &stream->sides[TH_READING];
    if (size > th_buffer_length(&side->buffer)) {
        if (size > side->size) {
            return read_past(stream, side, to, size, deadline);
        }
        int64_t got = th_gather(stream, side, size, deadline);
        if (got < 0) {
            return got;
        }
        const size_t there = th_buffer_length(&side->buffer);
        size = size < there ? size : there;
    }
    th_buffer_take(&side->buffer, to, size);
    return (int64_t)size;
}

int64_t thrum_stream_read_full_until(thrum_stream *handle, void *to, size_t size,
                                     thrum_time deadline) {
    th_stream *stream = th_stream_of(handle);
    int64_t n = th_side_enter(stream, TH_READING, "thrum_stream_read_full", deadline);
    return n ? n : th_side_end(stream, TH_READING, read_full(stream, to, size, deadline));
}

int64_t thrum_stream_read_full(thrum_stream *stream, void *to, size_t size) {
    return thrum_stream_read_full_until(stream, to, size, THRUM_FOREVER);
}

/* ---- up to a byte ---- */

static int64_t read_delim(th_stream *stream, int delimiter, void *to, size_t size,
                          thrum_time deadline) {
    th_side *side = &stream->sides[TH_READING];
    int64_t n = th_gather_to(stream, side, delimiter, size, deadline);
    if (n < 0) {
        return n;
    }
    const size_t length = n ? (size_t)n : th_buffer_length(&side->buffer);
    th_buffer_take(&side->buffer, to, length);
    return (int64_t)length;
}

int64_t thrum_stream_read_delim_until(thrum_stream *handle, int delimiter, void *to, size_t size,
                                      thrum_time deadline) {
    th_stream *stream = th_stream_of(handle);
    int64_t n = th_side_enter(stream, TH_READING, "thrum_stream_read_delim", deadline);
    return n ? n
             : th_side_end(stream, TH_READING, read_delim(stream, delimiter, to, size, deadline));
}

int64_t thrum_stream_read_delim(thrum_stream *stream, int delimiter, void *to, size_t size) {
    return thrum_stream_read_delim_until(stream, delimiter, to, size, THRUM_FOREVER);
}

/* `size` has room for the 0, in place of which the line may have "\r\n": one byte more. */
static int64_t read_line(th_stream *stream, char *line, size_t size, thrum_time deadline) {
    th_side *side = &stream->sides[TH_READING];
    th_buffer *buffer = &side->buffer;
    int64_t n = th_gather_to(stream, side, '\n', size + 1, deadline);
    if (n < 0) {
        return n;
    }
    const size_t whole = n ? (size_t)n : th_buffer_length(buffer);
    if (!whole) {
        return -ENODATA;
    }
    size_t length = n ? whole - 1 : whole;
    if (n && length && th_buffer_first(buffer)[length - 1] == '\r') {
        length--;
    }
    if (length >= size) {
        return -EMSGSIZE;
    }
    memcpy(line, th_buffer_first(buffer), length);
    line[length] = 0;
    th_buffer_take(buffer, NULL, whole);
    return (int64_t)length;
}

int64_t thrum_stream_read_line_until(thrum_stream *handle, char *line, size_t size,
                                     thrum_time deadline) {
    th_stream *stream = th_stream_of(handle);
    if (!size || size > SIZE_MAX / 2) {
        return -EINVAL;
    }
    int64_t n = th_side_enter(stream, TH_READING, "thrum_stream_read_line", deadline);
    return n ? n : th_side_end(stream, TH_READING, read_line(stream, line, size, deadline));
}

int64_t thrum_stream_read_line(thrum_stream *stream, char *line, size_t size) {
    return thrum_stream_read_line_until(stream, line, size, THRUM_FOREVER);
}
