/*
 * stream.c: opening and closing streams.
 */
#include <errno.h>

#include "platform/platform.h"
#include "stream/writer.h"

#define SIZE_LIMIT (SIZE_MAX / 4) /* of a buffer */

void thrum_stream_options_init(thrum_stream_options *options) {
    *options = (thrum_stream_options)THRUM_STREAM_OPTIONS_INIT;
}

static bool make_sense(const thrum_stream_options *options) {
    return options->size == sizeof *options && options->read_size <= SIZE_LIMIT &&
           options->write_size <= SIZE_LIMIT && options->flush <= THRUM_FLUSH_EACH;
}

static thrum_mutex *make_locks(void) {
    thrum_mutex *locks = th_os_alloc(2 * sizeof *locks);
    if (locks) {
        thrum_mutex_init(&locks[TH_READING]);
        thrum_mutex_init(&locks[TH_WRITING]);
    }
    return locks;
}

/* Makes a stream that lies over nothing yet. */
static int make(thrum_stream *handle, const thrum_stream_options *options) {
    const thrum_stream_options defaults = THRUM_STREAM_OPTIONS_INIT;
    options = options ? options : &defaults;
    if (!handle || !make_sense(options)) {
        return -EINVAL;
    }
    thrum_mutex *locks = options->shared ? make_locks() : NULL;
    if (options->shared && !locks) {
        return -ENOMEM;
    }
    *th_stream_of(handle) = (th_stream){
        .locks = locks,
        .sides = {{.size = options->read_size ? options->read_size : TH_STREAM_SIZE},
                  {.size = options->write_size ? options->write_size : TH_STREAM_SIZE}},
        .open = true,
        .keep_io = options->keep_io,
        .flush = (uint8_t)options->flush,
    };
    return 0;
}

int thrum_stream_open(thrum_stream *handle, thrum_io io, const thrum_stream_options *options) {
    int code = io.turn ? make(handle, options) : -EINVAL;
    if (!code) {
        th_stream_of(handle)->io = io;
    }
    return code;
}

int thrum_stream_open_over(thrum_stream *handle, const thrum_stream_calls *calls, void *ctx,
                           const thrum_stream_options *options) {
    int code = calls && calls->read && calls->write ? make(handle, options) : -EINVAL;
    if (!code) {
        th_stream *stream = th_stream_of(handle);
        stream->calls = calls;
        stream->ctx = ctx;
    }
    return code;
}

/* Enters both sides, of which a stream of the process has one: 0 or -EBADF. */
static int enter_both(th_stream *stream, const char *call) {
    int code = -EBADF;
    for (unsigned i = 0; i < 2; i++) {
        if (th_side_enter(stream, i, call, THRUM_FOREVER) == 0) {
            code = 0;
        }
    }
    return code;
}

static void leave_both(th_stream *stream) {
    for (unsigned i = 0; i < 2; i++) {
        if (th_stream_has(stream, i)) {
            th_side_leave(stream, i);
        }
    }
}

/* Closes the stream's descriptor, or its calls, unless that is to stay: 0 or a code. */
static int close_beneath(th_stream *stream, thrum_time deadline) {
    if (stream->keep_io) {
        return 0;
    }
    if (stream->calls) {
        return stream->calls->close ? stream->calls->close(stream->ctx, deadline) : 0;
    }
    return stream->io.turn ? thrum_io_close(stream->io) : 0;
}

int thrum_stream_close_until(thrum_stream *handle, thrum_time deadline) {
    th_stream *stream = th_stream_of(handle);
    int code = enter_both(stream, "thrum_stream_close");
    if (code) {
        return code;
    }
    th_side *writing = &stream->sides[TH_WRITING];
    code = writing->error;
    if (!code && th_buffer_length(&writing->buffer)) {
        code = th_writer_flush(stream, deadline);
    }
    int closed = close_beneath(stream, deadline);
    code = code ? code : closed;
    th_buffer_free(&stream->sides[TH_READING].buffer);
    th_buffer_free(&writing->buffer);
    stream->open = false;
    stream->calls = NULL;
    stream->io = (thrum_io){0};
    leave_both(stream);
    if (!stream->standard) {
        th_os_free(stream->locks);
        stream->locks = NULL;
    }
    return code;
}

int thrum_stream_close(thrum_stream *stream) {
    return thrum_stream_close_until(stream, THRUM_FOREVER);
}

thrum_io thrum_stream_io(thrum_stream *handle) {
    th_stream *stream = th_stream_of(handle);
    if (!stream->standard) { /* constant until the close */
        return stream->calls ? (thrum_io){0} : stream->io;
    }
    const unsigned side = stream->standard != TH_STDIN;
    thrum_io io = {0};
    if (th_side_enter(stream, side, "thrum_stream_io", THRUM_FOREVER) == 0) {
        io = th_side_open(stream) ? io : stream->io;
        th_side_leave(stream, side);
    }
    return io;
}

void thrum_stream_trim(thrum_stream *handle) {
    th_stream *stream = th_stream_of(handle);
    if (enter_both(stream, "thrum_stream_trim") == 0) {
        for (unsigned i = 0; i < 2; i++) {
            if (!th_buffer_length(&stream->sides[i].buffer)) {
                th_buffer_free(&stream->sides[i].buffer);
            }
        }
        leave_both(stream);
    }
}
