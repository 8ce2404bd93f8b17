/*
 * thrum/stream.h: buffered bytes: lines, exactly so many, a look ahead, formatted text.
 *
 * A stream lies in the caller's memory, over a thrum_io:
 *
 *     thrum_stream stream;
 *     int err = thrum_stream_open(&stream, io, NULL);
 *     while (err == 0 && thrum_stream_read_line_until(&stream, line, sizeof line, end) >= 0) {
 *         (void)thrum_stream_printf_until(&stream, end, "%s, too\n", line);
 *     }
 *     int closed = thrum_stream_close_until(&stream, end);
 *
 * Reading and writing are apart: one task or thread may read while another one writes. **Two
 * readers at a time, or two writers, are misuse**, and abort where they are seen, unless the stream
 * is `shared`: then each call has its direction for itself, and the others wait for their turn,
 * until their deadlines, whatever cancels them (thrum/mutex.h).
 *
 * **Streams resume.** A call that reads a whole thing (exactly n, a line) takes all of it or
 * nothing: at its deadline, when the caller is cancelled, or on an error, what has come stays in
 * the stream, and the same call, or another one, goes on with it. Buffered bytes that are not
 * written yet stay likewise. Once a call has met the end, what is left in the buffer is the rest:
 * nobody waits for more behind it. Behind the rest a call asks again, since a terminal may go on;
 * past its deadline, which it would not wait for, it returns the end.
 *
 * All calls here: any thread. Deadlines are absolute; the short forms wait for ever. A call that
 * finds what it needs in the buffer, or room there, does not look at its deadline. Where a call may
 * suspend, it waits as thrum_read_until and thrum_write_until do, and returns their errors:
 * -ETIMEDOUT, -ECANCELED, -EBADF for a descriptor that was closed, the system's. -EBADF is also
 * that of a stream that is closed, or {0}. -ENOMEM: there is no memory for a buffer, and nothing
 * was done.
 *
 * An error of the system when writing sticks: whatever is written later returns it, and so does the
 * close; so a program may look there only. Deadlines, cancels, and a lack of memory or descriptors
 * never stick. -ENOSPC of a wait, when the user has too many descriptors in sets, does not stick in
 * a stream over a descriptor; over calls (thrum_stream_open_over) -ENOSPC always does.
 */
#ifndef THRUM_STREAM_H
#define THRUM_STREAM_H

#include <stdarg.h>

#include "thrum/base.h"
#include "thrum/io.h"
#include "thrum/task.h"

THRUM_BEGIN_DECLS

typedef struct thrum_stream {
    uint64_t reserved[16];
} thrum_stream;
THRUM_STATIC_ASSERT(sizeof(thrum_stream) == 128, "part of the ABI");

/*
 * When what is written goes out; always at thrum_stream_flush, and when the buffer is full. Where a
 * deadline or a cancel keeps it from that, the write has taken its bytes all the same.
 */
#define THRUM_FLUSH_FULL 0u /* only then */
#define THRUM_FLUSH_LINE 1u /* also after a write with an end of line in it */
#define THRUM_FLUSH_EACH 2u /* after each write */

/* How a stream is made; THRUM_STREAM_OPTIONS_INIT sets the defaults. */
typedef struct thrum_stream_options {
    size_t size;       /* sizeof(thrum_stream_options); set by the init */
    size_t read_size;  /* bytes of the buffers, which are allocated at their first use; */
    size_t write_size; /* 0: 8 KiB */
    unsigned flush;    /* THRUM_FLUSH_FULL, _LINE or _EACH */
    bool shared;       /* several may read, or write, at a time */
    bool keep_io;      /* the close leaves the descriptor open */
} thrum_stream_options;

/* clang-format off */
#define THRUM_STREAM_OPTIONS_INIT { sizeof(thrum_stream_options), 0, 0, THRUM_FLUSH_FULL, 0, 0 }
/* clang-format on */

/*
 * Sets the defaults, which are the values of THRUM_STREAM_OPTIONS_INIT. Any thread may call it. It
 * never suspends and cannot fail.
 */
THRUM_API void thrum_stream_options_init(thrum_stream_options *options);

/*
 * Makes a stream over a descriptor, which the stream closes when it is closed. The options are not
 * kept; NULL: the defaults. The stream's memory is the caller's, in use until the close, and must
 * not move. It never suspends. It returns 0, or with `io` still the caller's -EINVAL for NULL or
 * options that make no sense, -ENOMEM for a shared one.
 */
THRUM_API THRUM_NODISCARD int thrum_stream_open(thrum_stream *stream, thrum_io io,
                                                const thrum_stream_options *options);

/*
 * What a stream may lie over in place of a descriptor: bytes that are packed, encrypted or counted
 * on their way. `read` does as thrum_read_until, `write` as thrum_writev_until (there are 1 or 2
 * pieces, none of them empty), and both return codes as those do. One call of each is made at a
 * time. `close` is the last call, with the deadline of the stream's close, and returns 0 or a code;
 * NULL: there is nothing to be closed.
 */
typedef struct thrum_stream_calls {
    int64_t (*read)(void *ctx, void *to, size_t size, thrum_time deadline);
    int64_t (*write)(void *ctx, const thrum_iovec *parts, unsigned n, thrum_time deadline);
    int (*close)(void *ctx, thrum_time deadline);
} thrum_stream_calls;

/*
 * Makes a stream over calls; otherwise as thrum_stream_open. `calls` and what `ctx` names are in
 * use until the close; with `keep_io` the stream does not call `close`. Any thread may call it. It
 * never suspends. It returns 0, or -EINVAL, where `read` or `write` is NULL, too, or -ENOMEM.
 */
THRUM_API THRUM_NODISCARD int thrum_stream_open_over(thrum_stream *stream,
                                                     const thrum_stream_calls *calls, void *ctx,
                                                     const thrum_stream_options *options);

/*
 * Flushes what is not written yet, closes the descriptor and frees the buffers; bytes that were
 * read ahead are lost. It must be the only call on the stream: a reader that still waits is ended
 * by thrum_io_close(thrum_stream_io(stream)) first. It may suspend. The stream is closed whatever
 * it returns: 0; the error of writing that sticks, or that kept bytes from being written, as
 * -ETIMEDOUT; or what thrum_io_close says.
 */
THRUM_API int thrum_stream_close(thrum_stream *stream);
/* Does the same, and flushes until the deadline only: then it returns -ETIMEDOUT. */
THRUM_API int thrum_stream_close_until(thrum_stream *stream, thrum_time deadline);

/*
 * Returns the descriptor, which stays the stream's: for thrum_io_shutdown, thrum_io_wait and the
 * like. {0}: the stream is closed, or lies over calls. It never suspends.
 */
THRUM_API thrum_io thrum_stream_io(thrum_stream *stream);

/* ---- reading ---- */

/*
 * Reads what is there, waiting until there is at least a byte. Reads that are as large as the
 * buffer go past it. It may suspend. It returns the number of bytes, 0 at the end or for a `size`
 * of 0, or an error.
 */
THRUM_API THRUM_NODISCARD int64_t thrum_stream_read(thrum_stream *stream, void *to, size_t size);
/* Does the same until the deadline. */
THRUM_API THRUM_NODISCARD int64_t thrum_stream_read_until(thrum_stream *stream, void *to,
                                                          size_t size, thrum_time deadline);

/*
 * Reads `size` bytes. Fewer: the end came behind them. On an error nothing is taken, what has come
 * stays in the stream, and `to` may have been written to. It may suspend. Beyond the buffer's size
 * it takes memory for `size` bytes meanwhile, so that nothing can be lost; it returns -ENOMEM if
 * there is none.
 */
THRUM_API THRUM_NODISCARD int64_t thrum_stream_read_full(thrum_stream *stream, void *to,
                                                         size_t size);
/* Does the same until the deadline. */
THRUM_API THRUM_NODISCARD int64_t thrum_stream_read_full_until(thrum_stream *stream, void *to,
                                                               size_t size, thrum_time deadline);

/*
 * Reads a line, without the "\n" or "\r\n" at its end, and sets a 0 behind it. It may suspend. It
 * returns the line's length, which is 0 for an empty one, or -ENODATA at the end. The last line may
 * lack its "\n" (thrum_stream_read_delim tells). -EMSGSIZE: it does not fit into `size` bytes with
 * the 0, and nothing was taken: call again with more room, take its beginning with
 * thrum_stream_read, or leave it out with thrum_stream_skip_delim. The buffer grows for a line as
 * far as `size` asks for it. -EINVAL: `size` is 0.
 */
THRUM_API THRUM_NODISCARD int64_t thrum_stream_read_line(thrum_stream *stream, char *line,
                                                         size_t size);
/* Does the same until the deadline. */
THRUM_API THRUM_NODISCARD int64_t thrum_stream_read_line_until(thrum_stream *stream, char *line,
                                                               size_t size, thrum_time deadline);

/*
 * Reads up to a byte, and that too. It may suspend. It returns how many bytes it has read: the last
 * one is `delimiter`, or else the end came behind them; 0: the end. -EMSGSIZE: there is no such
 * byte among the next `size`, and nothing was taken; what to do is as for thrum_stream_read_line.
 */
THRUM_API THRUM_NODISCARD int64_t thrum_stream_read_delim(thrum_stream *stream, int delimiter,
                                                          void *to, size_t size);
/* Does the same until the deadline. */
THRUM_API THRUM_NODISCARD int64_t thrum_stream_read_delim_until(thrum_stream *stream, int delimiter,
                                                                void *to, size_t size,
                                                                thrum_time deadline);

/*
 * Waits until there are n bytes, and takes none: `*at` points to them, until the next call that
 * reads. It may suspend. It returns how many there are, at least n; fewer: the end comes behind
 * them. The buffer grows to n. For n of 0 it shows what is in the buffer, and does not wait.
 */
THRUM_API THRUM_NODISCARD int64_t thrum_stream_peek(thrum_stream *stream, size_t n,
                                                    const void **at);
/* Does the same until the deadline. */
THRUM_API THRUM_NODISCARD int64_t thrum_stream_peek_until(thrum_stream *stream, size_t n,
                                                          const void **at, thrum_time deadline);

/*
 * Takes n bytes and drops them (UINT64_MAX: all there are). It may suspend. It returns n; fewer:
 * the end came, or an error, behind so many. If there were none: 0 at the end, or the error.
 */
THRUM_API int64_t thrum_stream_skip(thrum_stream *stream, uint64_t n);
/* Does the same until the deadline. */
THRUM_API int64_t thrum_stream_skip_until(thrum_stream *stream, uint64_t n, thrum_time deadline);

/*
 * Drops what comes up to a byte, and that too. It may suspend. It returns how many bytes it has
 * dropped; 0: the end came first. On an error what it has dropped stays dropped, and a repeated
 * call goes on.
 */
THRUM_API int64_t thrum_stream_skip_delim(thrum_stream *stream, int delimiter);
/* Does the same until the deadline. */
THRUM_API int64_t thrum_stream_skip_delim_until(thrum_stream *stream, int delimiter,
                                                thrum_time deadline);

/*
 * Puts bytes back, which are read next. They need not be those that came. It suspends only where
 * the stream is shared. It returns 0, or an error with nothing put back: -ENOMEM, -EBADF.
 */
THRUM_API THRUM_NODISCARD int thrum_stream_unread(thrum_stream *stream, const void *from, size_t n);

/*
 * Returns how many bytes have come and are not read: as long as there are any, a call of
 * thrum_stream_read does not wait, whatever thrum_io_wait says of the descriptor. The reader may
 * call it. It never suspends and cannot fail.
 */
THRUM_API size_t thrum_stream_buffered(const thrum_stream *stream);

/*
 * Posts a task to the caller's scheduler once there is something to read: a connection that has
 * nothing to say needs no stack. Where bytes are buffered that is at once, whatever the deadline
 * is, as if the task had been woken; otherwise when the descriptor is ready, or at the deadline,
 * and all that thrum_io_on_until says holds here too: the task may also run although nothing is
 * there, so it begins with a call whose deadline is soon. What the system is never asked to wait
 * for, as a file, is ready at once. The stream is not in use from then on: the task may read before
 * the call has returned.
 *
 * A task and a bound thread may call it, also the task's own body: then it takes effect when the
 * body returns. It is a call of the reader's, and never suspends. Errors, with the task still the
 * caller's: those of thrum_io_on, without -EPERM; -EBUSY also where another one reads from a shared
 * stream at this moment; -EOPNOTSUPP for a stream over calls that has nothing buffered.
 */
THRUM_API THRUM_NODISCARD int thrum_stream_on(thrum_stream *stream, thrum_task *task);
THRUM_API THRUM_NODISCARD int thrum_stream_on_until(thrum_stream *stream, thrum_task *task,
                                                    thrum_time deadline);

/* ---- writing ---- */

/*
 * Writes to the buffer; what does not fit there goes out at once, with what is in the buffer before
 * it, in one call of the system. It may suspend. It returns `size`; less when a deadline, a cancel
 * or an error cut it short: then so many are taken, and the rest of a message must follow before
 * another one. If none is taken: the code.
 */
THRUM_API THRUM_NODISCARD int64_t thrum_stream_write(thrum_stream *stream, const void *from,
                                                     size_t size);
/* Does the same until the deadline. */
THRUM_API THRUM_NODISCARD int64_t thrum_stream_write_until(thrum_stream *stream, const void *from,
                                                           size_t size, thrum_time deadline);

/* Has the compiler look at the arguments of a format. */
#if defined(__GNUC__)
#define THRUM_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define THRUM_PRINTF(text, first)
#endif

/*
 * Writes formatted text, as printf does, which takes about 2 KiB of stack for numbers and more for
 * long double. It is taken whole or not at all: one that is longer than the buffer has the buffer
 * grow. It may suspend. It returns the length of the text, or the code with nothing taken:
 * -EILSEQ, -EOVERFLOW (the C library's).
 */
THRUM_API int64_t thrum_stream_printf(thrum_stream *stream, const char *format, ...)
    THRUM_PRINTF(2, 3);
THRUM_API int64_t thrum_stream_vprintf(thrum_stream *stream, const char *format, va_list args)
    THRUM_PRINTF(2, 0);
/* Do the same until the deadline; they may suspend, too. */
THRUM_API int64_t thrum_stream_printf_until(thrum_stream *stream, thrum_time deadline,
                                            const char *format, ...) THRUM_PRINTF(3, 4);
THRUM_API int64_t thrum_stream_vprintf_until(thrum_stream *stream, thrum_time deadline,
                                             const char *format, va_list args) THRUM_PRINTF(3, 0);

/*
 * Writes what is in the buffer. It may suspend. It returns 0, or an error: what is not written then
 * stays, and a repeated call goes on.
 */
THRUM_API THRUM_NODISCARD int thrum_stream_flush(thrum_stream *stream);
/* Does the same until the deadline. Past it, it returns -ETIMEDOUT. */
THRUM_API THRUM_NODISCARD int thrum_stream_flush_until(thrum_stream *stream, thrum_time deadline);

/* Returns how many bytes are not written yet. The writer may call it. It never suspends. */
THRUM_API size_t thrum_stream_unflushed(const thrum_stream *stream);

/*
 * Returns the error of writing that sticks, or 0. The writer may call it. It never suspends and
 * cannot fail.
 */
THRUM_API int thrum_stream_error(const thrum_stream *stream);

/*
 * Frees the buffers that are empty, until they are used again: for a connection that is idle for
 * long. It must be the only call on the stream. It never suspends and cannot fail.
 */
THRUM_API void thrum_stream_trim(thrum_stream *stream);

/* ---- the streams of the process ---- */

/*
 * Standard input, output and error, for tasks: no call on them blocks a worker, and nothing changes
 * for other processes that have the same terminal, pipe or file (thrum_io_adopt_shared). They are
 * shared, and opened at their first use: an error of that is the call's, and the next call tries
 * again. The other direction is -EBADF.
 *
 * Output goes out by lines on a terminal, otherwise when its buffer is full; what is left goes out
 * at the end of the process (exit), unless a call is under way, as it does before input from a
 * terminal is waited for; error goes out at once. C's stdin and stdout have buffers of their own,
 * so the two should not be mixed. Any thread may call them. They never suspend and cannot fail.
 */
THRUM_API thrum_stream *thrum_stdin(void);
THRUM_API thrum_stream *thrum_stdout(void);
THRUM_API thrum_stream *thrum_stderr(void);

THRUM_END_DECLS

#endif
