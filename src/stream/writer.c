/*
 * writer.c: writing to streams.
 */
#include "stream/writer.h"

#include <errno.h>
#include <string.h>

int th_writer_flush(th_stream *stream, thrum_time deadline) {
    size_t none;
    return th_side_write(stream, NULL, 0, &none, deadline);
}

int thrum_stream_flush_until(thrum_stream *handle, thrum_time deadline) {
    th_stream *stream = th_stream_of(handle);
    int code = th_side_enter(stream, TH_WRITING, "thrum_stream_flush", deadline);
    return code ? code : (int)th_side_end(stream, TH_WRITING, th_writer_flush(stream, deadline));
}

int thrum_stream_flush(thrum_stream *stream) {
    return thrum_stream_flush_until(stream, THRUM_FOREVER);
}

int64_t th_writer_added(th_stream *stream, size_t n, thrum_time deadline) {
    const th_side *side = &stream->sides[TH_WRITING];
    const th_buffer *buffer = &side->buffer;
    const char *first = buffer->at + buffer->tail - n;
    if (stream->flush == THRUM_FLUSH_EACH || th_buffer_length(buffer) > side->size ||
        (stream->flush == THRUM_FLUSH_LINE && memchr(first, '\n', n))) {
        (void)th_writer_flush(stream, deadline);
    }
    return side->error ? side->error : (int64_t)n;
}

static int64_t write_some(th_stream *stream, const void *from, size_t size, thrum_time deadline) {
    th_side *side = &stream->sides[TH_WRITING];
    th_buffer *buffer = &side->buffer;
    int code = th_side_open(stream);
    if (code || side->error || !size) {
        return code ? code : side->error;
    }
    const size_t there = th_buffer_length(buffer);
    if (there < side->size && size <= side->size - there &&
        !th_buffer_reserve(buffer, there + size, side->size + 1)) { /* print.c sets a 0, too */
        th_buffer_add(buffer, from, size);
        return th_writer_added(stream, size, deadline);
    }
    size_t taken; /* without memory for a buffer it goes out at once, too */
    code = th_side_write(stream, from, size, &taken, deadline);
    return taken ? (int64_t)taken : code;
}

int64_t thrum_stream_write_until(thrum_stream *handle, const void *from, size_t size,
                                 thrum_time deadline) {
    th_stream *stream = th_stream_of(handle);
    int64_t n = th_side_enter(stream, TH_WRITING, "thrum_stream_write", deadline);
    return n ? n : th_side_end(stream, TH_WRITING, write_some(stream, from, size, deadline));
}

int64_t thrum_stream_write(thrum_stream *stream, const void *from, size_t size) {
    return thrum_stream_write_until(stream, from, size, THRUM_FOREVER);
}

size_t thrum_stream_unflushed(const thrum_stream *handle) {
    const th_stream *stream = (const th_stream *)(const void *)handle;
    return th_buffer_length(&stream->sides[TH_WRITING].buffer);
}

int thrum_stream_error(const thrum_stream *handle) {
    const th_stream *stream = (const th_stream *)(const void *)handle;
    return stream->sides[TH_WRITING].error;
}
