/*
 * change.c: notification of changes of files. The descriptor becomes ready when there are some,
 * like any other descriptor; only beginning to watch a path is an operation.
 */
#include <errno.h>

#include "file/operation.h"
#include "io/call.h"
#include "thrum/file.h"

#define ASKED_FOR 511u /* the bits that a program may name */

_Static_assert(THRUM_WATCH_CREATED == TH_OS_WATCH_CREATED &&
                   THRUM_WATCH_DELETED == TH_OS_WATCH_DELETED &&
                   THRUM_WATCH_MODIFIED == TH_OS_WATCH_MODIFIED &&
                   THRUM_WATCH_WRITTEN == TH_OS_WATCH_WRITTEN &&
                   THRUM_WATCH_MOVED_FROM == TH_OS_WATCH_MOVED_FROM &&
                   THRUM_WATCH_MOVED_TO == TH_OS_WATCH_MOVED_TO &&
                   THRUM_WATCH_ATTRIBUTES == TH_OS_WATCH_ATTRIBUTES &&
                   THRUM_WATCH_SELF_DELETED == TH_OS_WATCH_SELF_DELETED &&
                   THRUM_WATCH_SELF_MOVED == TH_OS_WATCH_SELF_MOVED &&
                   THRUM_WATCH_ENDED == TH_OS_WATCH_ENDED &&
                   THRUM_WATCH_OVERFLOW == TH_OS_WATCH_OVERFLOW &&
                   THRUM_WATCH_DIRECTORY == TH_OS_WATCH_DIRECTORY,
               "the public names of changes");

int thrum_watch_open(thrum_io *out) {
    if (!out) {
        return -EINVAL;
    }
    const int fd = th_os_watch_open();
    if (fd < 0) {
        return fd;
    }
    const int code = th_record_adopt(out, fd, TH_OS_OTHER, true);
    if (code) {
        (void)th_os_io_close(fd);
    }
    return code;
}

int thrum_watch_add(thrum_io io, const char *path, unsigned what, thrum_time deadline) {
    if (!path || !what || what & ~ASKED_FOR) {
        return -EINVAL;
    }
    const th_os_file_request request = {.call = TH_OS_FILE_WATCH, .path = path, .flags = what};
    return (int)th_operation_on(io, &request, deadline);
}

static int remove_watch(void *ctx, th_record *record) {
    const int *watch = ctx;
    return th_os_watch_remove(record->fd, *watch);
}

int thrum_watch_remove(thrum_io io, int watch) {
    return th_quick_on(io, remove_watch, &watch);
}

void thrum_watch_buffer_init(thrum_watch_buffer *buffer) {
    buffer->reserved_at = 0;
    buffer->reserved_size = 0;
}

int thrum_watch_next(thrum_io io, thrum_watch_buffer *buffer, thrum_watch_event *out,
                     thrum_time deadline) {
    if (!buffer || !out) {
        return -EINVAL;
    }
    if (buffer->reserved_at == buffer->reserved_size) {
        const int64_t n =
            thrum_read_until(io, buffer->reserved_words, sizeof buffer->reserved_words, deadline);
        if (n <= 0) {
            return n ? (int)n : -EIO; /* such a descriptor has no end */
        }
        buffer->reserved_at = 0;
        buffer->reserved_size = (size_t)n;
    }
    th_os_watch_event event;
    const size_t next = th_os_watch_event_at(buffer->reserved_words, buffer->reserved_size,
                                             buffer->reserved_at, &event);
    buffer->reserved_at = next ? next : buffer->reserved_size;
    if (!next) {
        return -EINVAL;
    }
    *out = (thrum_watch_event){event.watch, event.what, event.pair, event.name};
    return 0;
}
