/*
 * standard.c: see standard.h.
 *
 * They are opened by the first call that gets as far as the system (side.c), with the lock of their
 * one direction.
 */
#include "stream/standard.h"

#include <errno.h>

#include "base/atomic.h"
#include "platform/platform.h"
#include "stream/writer.h"

static thrum_mutex locks[3][2] = {
    {THRUM_MUTEX_INIT, THRUM_MUTEX_INIT},
    {THRUM_MUTEX_INIT, THRUM_MUTEX_INIT},
    {THRUM_MUTEX_INIT, THRUM_MUTEX_INIT},
};

#define SIDES                                                                                      \
    {                                                                                              \
        {.size = TH_STREAM_SIZE}, {                                                                \
            .size = TH_STREAM_SIZE                                                                 \
        }                                                                                          \
    }

static union standard {
    thrum_stream outer;
    th_stream stream;
} standards[3] = {
    {.stream = {.locks = locks[0], .sides = SIDES, .open = true, .standard = TH_STDIN}},
    {.stream = {.locks = locks[1], .sides = SIDES, .open = true, .standard = TH_STDOUT}},
    {.stream = {.locks = locks[2],
                .sides = SIDES,
                .open = true,
                .standard = TH_STDERR,
                .flush = THRUM_FLUSH_EACH}},
};

static th_stream *const output = &standards[1].stream;

void th_standard_prompt(thrum_time deadline) {
    if (th_side_try_enter(output, TH_WRITING) == 0) {
        if (output->flush == THRUM_FLUSH_LINE &&
            th_buffer_length(&output->sides[TH_WRITING].buffer)) {
            (void)th_writer_flush(output, deadline);
        }
        th_side_leave(output, TH_WRITING);
    }
}

/* Writes the rest without the scheduler, which may have stopped, or waits for this call. */
static void write_rest(int fd, th_buffer *buffer) {
    th_os_kind kind;
    th_os_identity identity;
    int64_t n = th_os_io_kind(fd, &kind, &identity);
    n = n == -EPERM ? 0 : n; /* a file */
    while (th_buffer_length(buffer) && n >= 0) {
        n = th_os_io_write(fd, kind, th_buffer_first(buffer), th_buffer_length(buffer));
        if (n > 0) {
            th_buffer_take(buffer, NULL, (size_t)n);
        } else if (n == -EAGAIN) {
            n = th_os_io_poll(fd, TH_OS_OUT, -1, TH_FOREVER);
            n = n == -EINTR ? 0 : n;
        }
    }
}

static void at_exit(void) {
    if (th_side_try_enter(output, TH_WRITING) == 0) {
        th_side *side = &output->sides[TH_WRITING];
        int fd = th_buffer_length(&side->buffer) && !side->error ? thrum_io_fd(output->io) : -1;
        if (fd >= 0) {
            write_rest(fd, &side->buffer);
        }
        th_side_leave(output, TH_WRITING);
    }
}

thrum_stream *thrum_stdin(void) {
    return &standards[0].outer;
}

thrum_stream *thrum_stdout(void) {
    static uint32_t xtold;
    if (th_unlikely(!th_load_relaxed(&xtold)) && /* relaxed: only to save the exchange */
        !th_xchg_relaxed(&xtold, 1)) {           /* relaxed: one of the callers does it */
        (void)th_os_at_exit(at_exit);
    }
    return &standards[1].outer;
}

thrum_stream *thrum_stderr(void) {
    return &standards[2].outer;
}
