/*
 * print.c: formatted text to streams.
 *
 * It is formatted into the buffer. If it does not fit behind the present contents, these are
 * written first; if it is longer than the buffer, the buffer grows for it. So the buffer never
 * holds more than its size, or one text.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "platform/platform.h"
#include "stream/writer.h"

/* The length that the text has; it is cut to `size` with its 0. A code if there is no such text. */
static int64_t format_at(char *at, size_t size, const char *format, va_list args) {
    va_list again;
    va_copy(again, args);
    TH_KEEPS_ERRNO;
    int n = vsnprintf(at, size, format, again);
    const int64_t length = n < 0 ? -(int64_t)th_os_errno_get() : n;
    va_end(again);
    return length;
}

/* Puts the text into the buffer, behind its contents or alone: its length, or a code. */
static int64_t format_in(th_stream *stream, th_side *side, thrum_time deadline, const char *format,
                         va_list args) {
    th_buffer *buffer = &side->buffer;
    const size_t there = th_buffer_length(buffer);
    size_t room = 0;
    if (there < side->size) {
        int code = th_buffer_reserve(buffer, side->size + 1, side->size + 1);
        if (code) {
            return code;
        }
        room = side->size + 1 - there;
    }
    int64_t n = format_at(room ? buffer->at + buffer->tail : NULL, room, format, args);
    if (n < 0 || (size_t)n < room) {
        return n;
    }
    int64_t code = th_writer_flush(stream, deadline);
    code = code ? code : th_buffer_reserve(buffer, (size_t)n + 1, side->size + 1);
    return code ? code : format_at(buffer->at, (size_t)n + 1, format, args);
}

int64_t thrum_stream_vprintf_until(thrum_stream *handle, thrum_time deadline, const char *format,
                                   va_list args) {
    th_stream *stream = th_stream_of(handle);
    int64_t n = th_side_enter(stream, TH_WRITING, "thrum_stream_printf", deadline);
    if (n) {
        return n;
    }
    th_side *side = &stream->sides[TH_WRITING];
    n = th_side_open(stream);
    n = n ? n : side->error;
    n = n ? n : format_in(stream, side, deadline, format, args);
    if (n > 0) {
        side->buffer.tail += (size_t)n;
        n = th_writer_added(stream, (size_t)n, deadline);
    }
    th_side_leave(stream, TH_WRITING);
    return n;
}

int64_t thrum_stream_vprintf(thrum_stream *stream, const char *format, va_list args) {
    return thrum_stream_vprintf_until(stream, THRUM_FOREVER, format, args);
}

int64_t thrum_stream_printf_until(thrum_stream *stream, thrum_time deadline, const char *format,
                                  ...) {
    va_list args;
    va_start(args, format);
    int64_t n = thrum_stream_vprintf_until(stream, deadline, format, args);
    va_end(args);
    return n;
}

int64_t thrum_stream_printf(thrum_stream *stream, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int64_t n = thrum_stream_vprintf_until(stream, THRUM_FOREVER, format, args);
    va_end(args);
    return n;
}
