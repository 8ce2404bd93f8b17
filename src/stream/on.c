/*
 * on.c: a task that is posted when a stream has something to read.
 *
 * Bytes in the buffer are known to nobody else, so the descriptor may stay silent for ever: the
 * task is posted at once then. The side is left before the task is posted, since it may run, and
 * read, before the post has returned.
 */
#include <errno.h>

#include "core/state/thread.h"
#include "core/task/task.h"
#include "stream/side.h"
#include "thrum/sched.h"

/* 1: bytes are buffered; 0: there are none, and the descriptor is *io; or a code. */
static int look(th_stream *stream, thrum_io *io) {
    int code = stream->locks ? th_side_try_enter(stream, TH_READING)
                             : th_side_enter(stream, TH_READING, "thrum_stream_on", THRUM_FOREVER);
    if (!code) {
        const bool some = th_buffer_length(&stream->sides[TH_READING].buffer) != 0;
        code = some ? 1 : stream->calls ? -EOPNOTSUPP : th_side_open(stream);
        *io = stream->io;
        th_side_leave(stream, TH_READING);
    }
    return code;
}

int thrum_stream_on_until(thrum_stream *handle, thrum_task *task, thrum_time deadline) {
    if (!task) {
        return -EINVAL;
    }
    thrum_sched *sched = thrum_sched_current();
    if (!sched) {
        return th_thread_refusal();
    }
    thrum_io io;
    int code = look(th_stream_of(handle), &io);
    if (!code) {
        code = thrum_io_on_until(io, THRUM_IO_READ, task, deadline);
        code = code == -EPERM ? 1 : code; /* no set takes a descriptor that is always ready */
    }
    return code > 0 ? th_task_post_woken(sched, task) : code;
}

int thrum_stream_on(thrum_stream *stream, thrum_task *task) {
    return thrum_stream_on_until(stream, task, THRUM_FOREVER);
}
