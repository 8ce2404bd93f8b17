/*
 * thrum/stream.h: buffered bytes: lines, exact sizes, look-ahead, formatted text. A stream is
 * memory of the caller, over a thrum_io:
 *
 *     thrum_stream stream;
 *     int err = thrum_stream_open(&stream, io, NULL);
 *     while (err == 0 && thrum_stream_read_line_until(&stream, line, sizeof line, end) >= 0) {
 *         (void)thrum_stream_printf_until(&stream, end, "%s, too\n", line);
 *     }
 *     int closed = thrum_stream_close_until(&stream, end);
 *
 * Reading and writing are independent: one task or thread may read while another writes. **Two
 * readers at a time, or two writers, are misuse**, and stop the program if the library detects it.
 * In a `shared` stream each call has its direction for itself. The others wait for it, until their
 * deadlines; a cancel does not end that wait (thrum/mutex.h).
 *
 * **Streams resume.** A call that reads a whole unit (exactly n bytes, a line) takes all of it or
 * nothing. If its deadline, a cancel or an error ends it, the bytes that have come stay in the
 * stream. The same or another call continues with them. Buffered bytes that are not written yet
 * stay, too. After the end of the input, the bytes in the buffer are the rest, and no call waits
 * for more behind them. After the rest a call asks the system again, because a terminal may
 * continue; past its deadline it returns the end.
 *
 * Any thread may make all calls here. Deadlines are absolute; the short forms wait for ever. A call
 * that finds its bytes, or room, in the buffer ignores its deadline. A call that waits does so as
 * thrum_read_until and thrum_write_until do, and returns their errors. For a stream that is closed
 * or {0}, a call returns -EBADF. After -ENOMEM nothing was done.
 *
 * An error of the system in writing sticks: later writes and the close return it. So a program may
 * check the close only. Deadlines, cancels, and a lack of memory or descriptors do not stick.
 * -ENOSPC sticks, unless it comes from a wait for a descriptor, because the user waits for too
 * many. Over calls (thrum_stream_open_over) it always sticks.
 */
#ifndef THRUM_STREAM_H
#define THRUM_STREAM_H

#include <stdarg.h>

#include "thrum/base.h"
#include "thrum/io.h"
#include "thrum/task.h"

THRUM_BEGIN_DECLS

/* A stream. The caller owns its memory, which must not move from the open to the close. */
typedef struct thrum_stream {
    uint64_t reserved[16];
} thrum_stream;
THRUM_STATIC_ASSERT(sizeof(thrum_stream) == 128, "part of the ABI");

/* A stream writes its buffer when it is full, at thrum_stream_flush, and at no other time. If a
 * deadline or a cancel prevents that, the write has taken its bytes all the same. */
#define THRUM_FLUSH_FULL 0u
/* A stream also writes its buffer after a write with an end of line in it. */
#define THRUM_FLUSH_LINE 1u
/* A stream writes its buffer after each write. */
#define THRUM_FLUSH_EACH 2u

/* How a stream is made. The caller owns it; THRUM_STREAM_OPTIONS_INIT sets the defaults. */
typedef struct thrum_stream_options {
    size_t size;       /* sizeof(thrum_stream_options); set by the init */
    size_t read_size;  /* bytes of the buffer for reading, allocated at its first use; 0: 8 KiB */
    size_t write_size; /* the same of the buffer for writing */
    unsigned flush;    /* THRUM_FLUSH_FULL, THRUM_FLUSH_LINE or THRUM_FLUSH_EACH */
    bool shared;       /* whether several callers may read, or write, at a time */
    bool keep_io;      /* whether the close leaves the descriptor open */
} thrum_stream_options;

/*
 * Sets the defaults of a stream's options. They are buffers of 8 KiB, THRUM_FLUSH_FULL, not shared,
 * and a close that closes the descriptor. THRUM_STREAM_OPTIONS_INIT is the same as an initializer.
 *
 * Parameters:
 *   options  the memory of the options
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example:
 *    thrum_stream_options options;
 *    thrum_stream_options_init(&options);
 *    options.shared = true;
 * See also: thrum_stream_open
 */
/* clang-format off */
#define THRUM_STREAM_OPTIONS_INIT { sizeof(thrum_stream_options), 0, 0, THRUM_FLUSH_FULL, 0, 0 }
/* clang-format on */
THRUM_API void thrum_stream_options_init(thrum_stream_options *options);

/*
 * Makes a stream over a descriptor. The close of the stream closes the descriptor, unless `keep_io`
 * is set.
 *
 * Parameters:
 *   stream   the memory of the stream, in use until the close; it must not move
 *   io       the descriptor, which is the stream's from then on
 *   options  how to make it, or NULL for the defaults; not kept
 * Returns: 0, or a negative error code; `io` is then still the caller's.
 * Errors:
 *   -EINVAL  `stream` is NULL, `io` is {0}, or the options make no sense
 *   -ENOMEM  there is no memory for the locks of a shared stream
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example:
 *    thrum_stream stream;
 *    int err = thrum_stream_open(&stream, io, NULL);
 *    if (err == 0) {
 *        thrum_stream_printf(&stream, "hello\n");
 *        err = thrum_stream_close(&stream);
 *    }
 * See also: thrum_stream_close, thrum_stream_open_over, thrum_tls_stream_open
 */
THRUM_API THRUM_NODISCARD int thrum_stream_open(thrum_stream *stream, thrum_io io,
                                                const thrum_stream_options *options);

/*
 * The functions that a stream uses in place of a descriptor, for bytes that are compressed,
 * encrypted or counted on their way. They belong to the caller and must live until the close of the
 * stream. At most one read and one write are called at a time.
 */
typedef struct thrum_stream_calls {
    /* Reads as thrum_read_until does, with its results. */
    int64_t (*read)(void *ctx, void *to, size_t size, thrum_time deadline);
    /* Writes as thrum_writev_until does, with its results: 1 or 2 pieces, none of them empty. */
    int64_t (*write)(void *ctx, const thrum_iovec *parts, unsigned n, thrum_time deadline);
    /* The last call, with the deadline of the stream's close: 0 or a code; NULL: there is none. */
    int (*close)(void *ctx, thrum_time deadline);
} thrum_stream_calls;

/*
 * Makes a stream over functions, in place of a descriptor. The close of the stream calls
 * `calls->close`, unless `keep_io` is set.
 *
 * Parameters:
 *   stream   the memory of the stream, in use until the close; it must not move
 *   calls    the functions, in use until the close
 *   ctx      their first argument
 *   options  how to make it, or NULL for the defaults; not kept
 * Returns: 0, or a negative error code.
 * Errors:
 *   -EINVAL  a pointer, `calls->read` or `calls->write` is NULL, or the options make no sense
 *   -ENOMEM  there is no memory for the locks of a shared stream
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example:
 *    static const thrum_stream_calls calls = {inflate_some, deflate_all, inflate_end};
 *    int err = thrum_stream_open_over(&stream, &calls, &zlib, NULL);
 * See also: thrum_stream_open, thrum_stream_close
 */
THRUM_API THRUM_NODISCARD int thrum_stream_open_over(thrum_stream *stream,
                                                     const thrum_stream_calls *calls, void *ctx,
                                                     const thrum_stream_options *options);

/*
 * Closes a stream. It writes the bytes that are still in the buffer, closes the descriptor and
 * frees the buffers. thrum_stream_close_until gives up the writing at its deadline. Bytes that were
 * read ahead are lost.
 *
 * The stream is closed even after an error. It must be the only call on the stream: to end a reader
 * that still waits, call thrum_io_close(thrum_stream_io(stream)) first.
 *
 * Parameters:
 *   stream    the stream
 *   deadline  thrum_stream_close_until only: when to give up writing
 * Returns: 0; or the error of writing that sticks, the code that kept bytes from being written, or
 *   the code of the close beneath. Codes not listed below are the system's for the writes and the
 *   close.
 * Errors:
 *   -EBADF                the stream is closed already or {0}, or its descriptor was closed or
 *                         released
 *   -ETIMEDOUT            the deadline passed before all bytes were written
 *   -ECANCELED            the caller was cancelled before all bytes were written
 *   -ESHUTDOWN            in the child of a fork: the descriptor is the parent's, or the call would
 *                         wait
 *   -EPIPE                the peer no longer reads
 *   -ENOSPC               the device is full, or the user waits for too many descriptors
 *   -EMFILE, -ENFILE, -ENOMEM, -ENOSYS  a wait could not begin
 * Context: any thread; may suspend; cancellable. A cancel ends the writing only.
 * Ordering: none.
 * Misuse: another call on the stream at the same time, if it is not shared.
 * See also: thrum_stream_flush, thrum_stream_open
 */
THRUM_API int thrum_stream_close(thrum_stream *stream);
THRUM_API int thrum_stream_close_until(thrum_stream *stream, thrum_time deadline);

/*
 * Returns the descriptor of a stream. It stays the stream's, and is for thrum_io_shutdown,
 * thrum_io_wait and the like.
 *
 * For a stream of the process the call opens the stream first, and waits while another call is
 * inside.
 *
 * Parameters:
 *   stream  the stream
 * Returns: the descriptor; {0} if the stream is closed, lies over calls, or is one of the process
 *   that cannot be opened.
 * Context: any thread; may suspend; not cancellable. It suspends only for a stream of the process.
 * Ordering: none.
 * Example:
 *    thrum_io_shutdown(thrum_stream_io(&stream), THRUM_IO_WRITE);
 * See also: thrum_stream_open, thrum_stream_buffered
 */
THRUM_API thrum_io thrum_stream_io(thrum_stream *stream);

/* ---- reading ---- */

/*
 * Reads the bytes that are there. If there are none, it waits for the first.
 * thrum_stream_read_until gives up at the deadline. Reads that are at least as large as the buffer
 * bypass it.
 *
 * Parameters:
 *   stream    the stream
 *   to        memory for `size` bytes
 *   size      the most bytes to read
 *   deadline  thrum_stream_read_until only: when to give up
 * Returns: the number of bytes, 0 at the end or for a `size` of 0, or a negative error code. Codes
 *   not listed below are the system's, or those of thrum_stream_calls.
 * Errors:
 *   -EBADF            the stream is closed or {0}, or its descriptor was closed or released
 *   -ETIMEDOUT        the deadline passed
 *   -ECANCELED        the caller was cancelled
 *   -ESHUTDOWN        in the child of a fork: the descriptor is the parent's, or the call would
 *                     wait
 *   -EOPNOTSUPP       the descriptor is a socket with messages (thrum_receive_from)
 *   -ENOMEM           there is no memory for the buffer or for a wait
 *   -EMFILE, -ENFILE  the process or the system has no descriptor for a wait
 *   -ENOSPC           the user waits for too many descriptors (fs.epoll.max_user_watches)
 *   -ENOSYS           a sandbox refuses epoll or eventfd; some return another code
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Misuse: two readers at a time, if the stream is not shared.
 * Example:
 *    int64_t n = thrum_stream_read_until(&stream, text, sizeof text, thrum_after_s(30));
 * See also: thrum_stream_read_full, thrum_stream_read_line, thrum_stream_buffered
 */
THRUM_API THRUM_NODISCARD int64_t thrum_stream_read(thrum_stream *stream, void *to, size_t size);
THRUM_API THRUM_NODISCARD int64_t thrum_stream_read_until(thrum_stream *stream, void *to,
                                                          size_t size, thrum_time deadline);

/*
 * Reads exactly `size` bytes, or fewer if the end comes first. thrum_stream_read_full_until gives
 * up at the deadline.
 *
 * On an error nothing is taken: the bytes that have come stay in the stream, and the next call
 * continues with them. `to` may have been written to. If `size` is above the buffer's size, the
 * call allocates `size` bytes meanwhile, so that no byte can be lost.
 *
 * Parameters:
 *   stream    the stream
 *   to        memory for `size` bytes
 *   size      how many bytes to read
 *   deadline  thrum_stream_read_full_until only: when to give up
 * Returns: the number of bytes, less than `size` only at the end, or a negative error code. Codes
 *   not listed below are the system's, or those of thrum_stream_calls.
 * Errors:
 *   -EBADF            the stream is closed or {0}, or its descriptor was closed or released
 *   -ETIMEDOUT        the deadline passed
 *   -ECANCELED        the caller was cancelled
 *   -ESHUTDOWN        in the child of a fork: the descriptor is the parent's, or the call would
 *                     wait
 *   -EOPNOTSUPP       the descriptor is a socket with messages (thrum_receive_from)
 *   -ENOMEM           there is no memory for the buffer or for a wait
 *   -EMFILE, -ENFILE  the process or the system has no descriptor for a wait
 *   -ENOSPC           the user waits for too many descriptors (fs.epoll.max_user_watches)
 *   -ENOSYS           a sandbox refuses epoll or eventfd; some return another code
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Misuse: two readers at a time, if the stream is not shared.
 * Example:
 *    unsigned char header[8];
 *    int64_t n = thrum_stream_read_full(&stream, header, sizeof header);
 *    if (n != sizeof header) {
 *        return n == 0 ? 0 : -EPROTO; // 0: the end, between two messages
 *    }
 * See also: thrum_stream_read, thrum_stream_peek
 */
THRUM_API THRUM_NODISCARD int64_t thrum_stream_read_full(thrum_stream *stream, void *to,
                                                         size_t size);
THRUM_API THRUM_NODISCARD int64_t thrum_stream_read_full_until(thrum_stream *stream, void *to,
                                                               size_t size, thrum_time deadline);

/*
 * Reads a line. It removes the "\n" or "\r\n" at the end, and writes a zero there.
 * thrum_stream_read_line_until gives up at the deadline.
 *
 * The last line may lack its "\n"; thrum_stream_read_delim shows whether it does. The buffer grows
 * for a line up to the room that `size` gives. After -EMSGSIZE, call again with more room, take the
 * line's beginning with thrum_stream_read, or drop it with thrum_stream_skip_delim.
 *
 * Parameters:
 *   stream    the stream
 *   line      memory for the line and a zero
 *   size      bytes of that memory
 *   deadline  thrum_stream_read_line_until only: when to give up
 * Returns: the length of the line, 0 for an empty one, or a negative error code; nothing was taken
 *   then. Codes not listed below are the system's, or those of thrum_stream_calls.
 * Errors:
 *   -ENODATA          the end
 *   -EMSGSIZE         the line and its zero do not fit
 *   -EINVAL           `size` is 0, or above half of SIZE_MAX
 *   -EBADF            the stream is closed or {0}, or its descriptor was closed or released
 *   -ETIMEDOUT        the deadline passed
 *   -ECANCELED        the caller was cancelled
 *   -ESHUTDOWN        in the child of a fork: the descriptor is the parent's, or the call would
 *                     wait
 *   -EOPNOTSUPP       the descriptor is a socket with messages (thrum_receive_from)
 *   -ENOMEM           there is no memory for the buffer or for a wait
 *   -EMFILE, -ENFILE  the process or the system has no descriptor for a wait
 *   -ENOSPC           the user waits for too many descriptors (fs.epoll.max_user_watches)
 *   -ENOSYS           a sandbox refuses epoll or eventfd; some return another code
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Misuse: two readers at a time, if the stream is not shared.
 * Example:
 *    char line[256];
 *    while (thrum_stream_read_line(thrum_stdin(), line, sizeof line) >= 0) {
 *        thrum_stream_printf(thrum_stdout(), "%s\n", line);
 *    }
 * See also: thrum_stream_read_delim, thrum_stream_skip_delim
 */
THRUM_API THRUM_NODISCARD int64_t thrum_stream_read_line(thrum_stream *stream, char *line,
                                                         size_t size);
THRUM_API THRUM_NODISCARD int64_t thrum_stream_read_line_until(thrum_stream *stream, char *line,
                                                               size_t size, thrum_time deadline);

/*
 * Reads up to a delimiter, and the delimiter itself. thrum_stream_read_delim_until gives up at the
 * deadline.
 *
 * If the last byte that was read is not the delimiter, the end came behind it. After -EMSGSIZE,
 * call again with more room, take some bytes with thrum_stream_read, or drop them with
 * thrum_stream_skip_delim.
 *
 * Parameters:
 *   stream     the stream
 *   delimiter  the byte
 *   to         memory for `size` bytes
 *   size       the most bytes to read
 *   deadline   thrum_stream_read_delim_until only: when to give up
 * Returns: the number of bytes, 0 at the end, or a negative error code; nothing was taken then.
 *   Codes not listed below are the system's, or those of thrum_stream_calls.
 * Errors:
 *   -EMSGSIZE         the delimiter is not among the next `size` bytes
 *   -EBADF            the stream is closed or {0}, or its descriptor was closed or released
 *   -ETIMEDOUT        the deadline passed
 *   -ECANCELED        the caller was cancelled
 *   -ESHUTDOWN        in the child of a fork: the descriptor is the parent's, or the call would
 *                     wait
 *   -EOPNOTSUPP       the descriptor is a socket with messages (thrum_receive_from)
 *   -ENOMEM           there is no memory for the buffer or for a wait
 *   -EMFILE, -ENFILE  the process or the system has no descriptor for a wait
 *   -ENOSPC           the user waits for too many descriptors (fs.epoll.max_user_watches)
 *   -ENOSYS           a sandbox refuses epoll or eventfd; some return another code
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Misuse: two readers at a time, if the stream is not shared.
 * Example:
 *    int64_t n = thrum_stream_read_delim(&stream, ';', field, sizeof field);
 *    bool last = n > 0 && field[n - 1] != ';';
 * See also: thrum_stream_read_line, thrum_stream_skip_delim
 */
THRUM_API THRUM_NODISCARD int64_t thrum_stream_read_delim(thrum_stream *stream, int delimiter,
                                                          void *to, size_t size);
THRUM_API THRUM_NODISCARD int64_t thrum_stream_read_delim_until(thrum_stream *stream, int delimiter,
                                                                void *to, size_t size,
                                                                thrum_time deadline);

/*
 * Waits until there are `n` bytes, and takes none. thrum_stream_peek_until gives up at the
 * deadline.
 *
 * The buffer grows to `n` bytes. For an `n` of 0 the call shows the bytes in the buffer and does
 * not wait.
 *
 * Parameters:
 *   stream    the stream
 *   n         how many bytes to wait for
 *   at        set to the first of them; valid until the next call that reads
 *   deadline  thrum_stream_peek_until only: when to give up
 * Returns: how many bytes there are, less than `n` only if the end comes behind them, or a negative
 *   error code. Codes not listed below are the system's, or those of thrum_stream_calls.
 * Errors:
 *   -EBADF            the stream is closed or {0}, or its descriptor was closed or released
 *   -ETIMEDOUT        the deadline passed
 *   -ECANCELED        the caller was cancelled
 *   -ESHUTDOWN        in the child of a fork: the descriptor is the parent's, or the call would
 *                     wait
 *   -EOPNOTSUPP       the descriptor is a socket with messages (thrum_receive_from)
 *   -ENOMEM           there is no memory for the buffer or for a wait
 *   -EMFILE, -ENFILE  the process or the system has no descriptor for a wait
 *   -ENOSPC           the user waits for too many descriptors (fs.epoll.max_user_watches)
 *   -ENOSYS           a sandbox refuses epoll or eventfd; some return another code
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Misuse: two readers at a time, if the stream is not shared.
 * Example:
 *    const void *first;
 *    bool is_tls = thrum_stream_peek(&stream, 1, &first) > 0 && *(const char *)first == 22;
 * See also: thrum_stream_buffered, thrum_stream_unread
 */
THRUM_API THRUM_NODISCARD int64_t thrum_stream_peek(thrum_stream *stream, size_t n,
                                                    const void **at);
THRUM_API THRUM_NODISCARD int64_t thrum_stream_peek_until(thrum_stream *stream, size_t n,
                                                          const void **at, thrum_time deadline);

/*
 * Takes bytes and drops them. thrum_stream_skip_until gives up at the deadline.
 *
 * Parameters:
 *   stream    the stream
 *   n         how many bytes, or UINT64_MAX for all
 *   deadline  thrum_stream_skip_until only: when to give up
 * Returns: `n`, or fewer if the end or an error came after so many. If none was dropped, 0 at the
 *   end or a negative error code. Codes not listed below are the system's, or those of
 *   thrum_stream_calls.
 * Errors:
 *   -EBADF            the stream is closed or {0}, or its descriptor was closed or released
 *   -ETIMEDOUT        the deadline passed
 *   -ECANCELED        the caller was cancelled
 *   -ESHUTDOWN        in the child of a fork: the descriptor is the parent's, or the call would
 *                     wait
 *   -EOPNOTSUPP       the descriptor is a socket with messages (thrum_receive_from)
 *   -ENOMEM           there is no memory for the buffer or for a wait
 *   -EMFILE, -ENFILE  the process or the system has no descriptor for a wait
 *   -ENOSPC           the user waits for too many descriptors (fs.epoll.max_user_watches)
 *   -ENOSYS           a sandbox refuses epoll or eventfd; some return another code
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Misuse: two readers at a time, if the stream is not shared.
 * Example:
 *    if (thrum_stream_skip(&stream, length) != (int64_t)length) {
 *        return -EPROTO;
 *    }
 * See also: thrum_stream_skip_delim, thrum_stream_read
 */
THRUM_API int64_t thrum_stream_skip(thrum_stream *stream, uint64_t n);
THRUM_API int64_t thrum_stream_skip_until(thrum_stream *stream, uint64_t n, thrum_time deadline);

/*
 * Drops bytes up to a delimiter, and the delimiter itself. thrum_stream_skip_delim_until gives up
 * at the deadline. After an error the dropped bytes stay dropped, and a repeated call continues.
 *
 * Parameters:
 *   stream     the stream
 *   delimiter  the byte
 *   deadline   thrum_stream_skip_delim_until only: when to give up
 * Returns: how many bytes were dropped, 0 if the end came first, or a negative error code. Codes
 *   not listed below are the system's, or those of thrum_stream_calls.
 * Errors:
 *   -EBADF            the stream is closed or {0}, or its descriptor was closed or released
 *   -ETIMEDOUT        the deadline passed
 *   -ECANCELED        the caller was cancelled
 *   -ESHUTDOWN        in the child of a fork: the descriptor is the parent's, or the call would
 *                     wait
 *   -EOPNOTSUPP       the descriptor is a socket with messages (thrum_receive_from)
 *   -ENOMEM           there is no memory for the buffer or for a wait
 *   -EMFILE, -ENFILE  the process or the system has no descriptor for a wait
 *   -ENOSPC           the user waits for too many descriptors (fs.epoll.max_user_watches)
 *   -ENOSYS           a sandbox refuses epoll or eventfd; some return another code
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Misuse: two readers at a time, if the stream is not shared.
 * Example:
 *    if (thrum_stream_read_line(&stream, line, sizeof line) == -EMSGSIZE) {
 *        n = thrum_stream_skip_delim(&stream, '\n');
 *    }
 * See also: thrum_stream_skip, thrum_stream_read_line
 */
THRUM_API int64_t thrum_stream_skip_delim(thrum_stream *stream, int delimiter);
THRUM_API int64_t thrum_stream_skip_delim_until(thrum_stream *stream, int delimiter,
                                                thrum_time deadline);

/*
 * Puts bytes back, so that they are read next. They need not be bytes that were read before.
 *
 * Parameters:
 *   stream  the stream
 *   from    the bytes
 *   n       how many bytes
 * Returns: 0, or a negative error code; nothing was put back then.
 * Errors:
 *   -EBADF   the stream is closed or {0}
 *   -ENOMEM  there is no memory for the buffer
 * Context: any thread; may suspend; not cancellable. It suspends only if the stream is shared.
 * Ordering: none.
 * Misuse: two readers at a time, if the stream is not shared.
 * Example:
 *    int err = thrum_stream_unread(&stream, rest, rest_size);
 * See also: thrum_stream_peek
 */
THRUM_API THRUM_NODISCARD int thrum_stream_unread(thrum_stream *stream, const void *from, size_t n);

/*
 * Returns how many bytes have come and are not read. As long as there are any, thrum_stream_read
 * does not wait, even if thrum_io_wait would. Only the reader may make the call.
 *
 * Parameters:
 *   stream  the stream
 * Returns: the number of bytes.
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example:
 *    if (thrum_stream_buffered(&stream) == 0) {
 *        err = thrum_serve_idle(thrum_stream_io(&stream), thrum_after_s(60));
 *    }
 * See also: thrum_stream_peek, thrum_serve_idle
 */
THRUM_API size_t thrum_stream_buffered(const thrum_stream *stream);

/*
 * Posts a task to the caller's scheduler when there is something to read. So an idle connection
 * needs no stack. thrum_stream_on_until posts the task at its deadline at the latest.
 *
 * If bytes are buffered, the task is posted at once, even before its deadline, as if it had been
 * woken. Otherwise it is posted when the descriptor is ready, with all that thrum_io_on_until
 * describes. The task may also run although nothing is there, so its first call should have a short
 * deadline. A file is ready at once. From the call on the stream is not in use: the task may read
 * before the call has returned.
 *
 * The call counts as one of the reader. The task's own body may make it. It takes effect when the
 * body returns.
 *
 * Parameters:
 *   stream    the stream
 *   task      the task, which belongs to the scheduler until its body begins
 *   deadline  thrum_stream_on_until only: when to post it at the latest
 * Returns: 0, or a negative error code; the task is then still the caller's.
 * Errors:
 *   -EINVAL      `task` is NULL or has no body, or it is tied to a worker that has never taken part
 *   -EBUSY       another task waits for the descriptor, the task is posted already, or another
 *                caller reads from a shared stream at this moment
 *   -EOPNOTSUPP  the stream lies over calls and has nothing buffered
 *   -EBADF       the stream is closed or {0}, or its descriptor was closed or released
 *   -ESHUTDOWN   the scheduler stops and this run was cancelled, or in the child of a fork
 *   -ESRCH       the caller is a plain thread
 *   -EMFILE      the process has no descriptor for the wait, or the number is above 4 million
 *   -ENFILE      the system has no descriptor for the wait
 *   -ENOMEM      there is no memory for the wait
 *   -ENOSPC      the user waits for too many descriptors (fs.epoll.max_user_watches)
 *   -ENOSYS      a sandbox refuses epoll or eventfd; some return another code
 * Context: a task or a bound thread; never suspends.
 * Ordering: the writes before the call are visible to the task's run.
 * Misuse: two readers at a time, if the stream is not shared.
 * Example:
 *    int err = thrum_stream_on_until(&c->stream, &c->task, thrum_after_s(60));
 *    if (err != 0) {
 *        end_connection(c);
 *    }
 * See also: thrum_io_on, thrum_task_post_until
 */
THRUM_API THRUM_NODISCARD int thrum_stream_on(thrum_stream *stream, thrum_task *task);
THRUM_API THRUM_NODISCARD int thrum_stream_on_until(thrum_stream *stream, thrum_task *task,
                                                    thrum_time deadline);

/* ---- writing ---- */

/*
 * Writes bytes to the buffer. Bytes that do not fit go out at once, with the buffered ones before
 * them, in one call of the system. thrum_stream_write_until gives up at the deadline.
 *
 * A deadline, a cancel or an error may cut the call short. Then the rest of a message must follow
 * before another one.
 *
 * Parameters:
 *   stream    the stream
 *   from      the bytes
 *   size      how many bytes
 *   deadline  thrum_stream_write_until only: when to give up
 * Returns: `size`, or fewer if the call was cut short after so many bytes; a negative error code if
 *   none was taken. Codes not listed below are the system's, or those of thrum_stream_calls.
 * Errors:
 *   -EBADF            the stream is closed or {0}, or its descriptor was closed or released
 *   -ETIMEDOUT        the deadline passed
 *   -ECANCELED        the caller was cancelled
 *   -ESHUTDOWN        in the child of a fork: the descriptor is the parent's, or the call would
 *                     wait
 *   -EPIPE            the peer no longer reads
 *   -ENOMEM           there is no memory for the buffer or for a wait
 *   -EMFILE, -ENFILE  the process or the system has no descriptor for a wait
 *   -ENOSPC           the device is full, or the user waits for too many descriptors
 *                     (fs.epoll.max_user_watches)
 *   -ENOSYS           a sandbox refuses epoll or eventfd; some return another code
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Misuse: two writers at a time, if the stream is not shared.
 * Example:
 *    int64_t n = thrum_stream_write(&stream, text, length);
 *    if (n == (int64_t)length) {
 *        n = thrum_stream_flush(&stream);
 *    }
 * See also: thrum_stream_flush, thrum_stream_printf
 */
THRUM_API THRUM_NODISCARD int64_t thrum_stream_write(thrum_stream *stream, const void *from,
                                                     size_t size);
THRUM_API THRUM_NODISCARD int64_t thrum_stream_write_until(thrum_stream *stream, const void *from,
                                                           size_t size, thrum_time deadline);

/* Has the compiler check the arguments of a format: `text` and `first` are the positions of the
 * format and of its first argument, from 1. */
#if defined(__GNUC__)
#define THRUM_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define THRUM_PRINTF(text, first)
#endif

/*
 * Writes formatted text, as printf does. The text is taken whole or not at all: if it is longer
 * than the buffer, the buffer grows. The forms with _until give up at the deadline.
 *
 * Formatting takes about 2 KiB of stack for numbers, and more for long double. Errors of the system
 * stick, so the result may be ignored and checked at the close.
 *
 * Parameters:
 *   stream    the stream
 *   deadline  the forms with _until only: when to give up
 *   format    the format
 *   ...       its arguments
 *   args      its arguments; the call leaves them as vprintf does
 * Returns: the length of the text, or a negative error code; nothing was taken then. Codes not
 *   listed below are the system's, or those of thrum_stream_calls.
 * Errors:
 *   -EILSEQ           the C library cannot convert a wide character
 *   -EOVERFLOW        the text is longer than INT_MAX
 *   -EBADF            the stream is closed or {0}, or its descriptor was closed or released
 *   -ETIMEDOUT        the deadline passed
 *   -ECANCELED        the caller was cancelled
 *   -ESHUTDOWN        in the child of a fork: the descriptor is the parent's, or the call would
 *                     wait
 *   -EPIPE            the peer no longer reads
 *   -ENOMEM           there is no memory for the buffer or for a wait
 *   -EMFILE, -ENFILE  the process or the system has no descriptor for a wait
 *   -ENOSPC           the device is full, or the user waits for too many descriptors
 *                     (fs.epoll.max_user_watches)
 *   -ENOSYS           a sandbox refuses epoll or eventfd; some return another code
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Misuse: two writers at a time, if the stream is not shared.
 * Example:
 *    thrum_stream_printf(&stream, "%d of %d\n", done, all);
 *    int err = thrum_stream_close(&stream); // also an error of the line above
 * See also: thrum_stream_write, thrum_stream_flush
 */
THRUM_API int64_t thrum_stream_printf(thrum_stream *stream, const char *format, ...)
    THRUM_PRINTF(2, 3);
THRUM_API int64_t thrum_stream_vprintf(thrum_stream *stream, const char *format, va_list args)
    THRUM_PRINTF(2, 0);
THRUM_API int64_t thrum_stream_printf_until(thrum_stream *stream, thrum_time deadline,
                                            const char *format, ...) THRUM_PRINTF(3, 4);
THRUM_API int64_t thrum_stream_vprintf_until(thrum_stream *stream, thrum_time deadline,
                                             const char *format, va_list args) THRUM_PRINTF(3, 0);

/*
 * Writes the bytes in the buffer. thrum_stream_flush_until gives up at the deadline. After an error
 * the unwritten bytes stay, and a repeated call continues.
 *
 * Parameters:
 *   stream    the stream
 *   deadline  thrum_stream_flush_until only: when to give up
 * Returns: 0, or a negative error code. Codes not listed below are the system's, or those of
 *   thrum_stream_calls.
 * Errors:
 *   -EBADF            the stream is closed or {0}, or its descriptor was closed or released
 *   -ETIMEDOUT        the deadline passed
 *   -ECANCELED        the caller was cancelled
 *   -ESHUTDOWN        in the child of a fork: the descriptor is the parent's, or the call would
 *                     wait
 *   -EPIPE            the peer no longer reads
 *   -ENOMEM           there is no memory for the buffer or for a wait
 *   -EMFILE, -ENFILE  the process or the system has no descriptor for a wait
 *   -ENOSPC           the device is full, or the user waits for too many descriptors
 *                     (fs.epoll.max_user_watches)
 *   -ENOSYS           a sandbox refuses epoll or eventfd; some return another code
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Misuse: two writers at a time, if the stream is not shared.
 * Example:
 *    thrum_stream_printf(&stream, "220 ready\r\n");
 *    int err = thrum_stream_flush_until(&stream, thrum_after_s(10));
 * See also: thrum_stream_unflushed, thrum_stream_close
 */
THRUM_API THRUM_NODISCARD int thrum_stream_flush(thrum_stream *stream);
THRUM_API THRUM_NODISCARD int thrum_stream_flush_until(thrum_stream *stream, thrum_time deadline);

/*
 * Returns how many bytes are in the buffer and not written yet. Only the writer may make the call.
 *
 * Parameters:
 *   stream  the stream
 * Returns: the number of bytes.
 * Context: any thread; never suspends.
 * Ordering: none.
 * See also: thrum_stream_flush
 */
THRUM_API size_t thrum_stream_unflushed(const thrum_stream *stream);

/*
 * Returns the error of writing that sticks, if there is one. Only the writer may make the call.
 *
 * Parameters:
 *   stream  the stream
 * Returns: 0, or the negative error code that later writes and the close return.
 * Errors: none.
 * Context: any thread; never suspends.
 * Ordering: none.
 * See also: thrum_stream_write, thrum_stream_close
 */
THRUM_API int thrum_stream_error(const thrum_stream *stream);

/*
 * Frees the buffers that are empty, until they are used again. It is for a connection that is idle
 * for long. It must be the only call on the stream.
 *
 * Parameters:
 *   stream  the stream
 * Context: any thread; never suspends.
 * Ordering: none.
 * Misuse: another call on the stream at the same time, if it is not shared.
 * Example:
 *    thrum_stream_trim(&stream);
 *    err = thrum_serve_idle(thrum_stream_io(&stream), thrum_after_s(600));
 * See also: thrum_stream_options
 */
THRUM_API void thrum_stream_trim(thrum_stream *stream);

/* ---- the streams of the process ---- */

/*
 * Returns standard input, output or error as a stream for tasks. No call on these streams blocks a
 * worker, and nothing changes for other processes that use the same terminal, pipe or file
 * (thrum_io_adopt_shared).
 *
 * The streams are shared, and opened at their first use. An error of the opening is returned by
 * that use, and the next one tries again. Calls in the other direction return -EBADF.
 *
 * Output goes out by lines on a terminal, otherwise when its buffer is full. Before a call waits
 * for standard input, it writes the buffered output of a terminal, unless another call is writing.
 * At the end of the process (exit) the rest of the output is written, unless a call is under way.
 * Standard error is written at once. C's stdin and stdout have separate buffers, so do not mix the
 * two.
 *
 * Returns: the stream, which is never freed.
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example:
 *    thrum_stream_printf(thrum_stdout(), "name? ");
 *    int64_t n = thrum_stream_read_line(thrum_stdin(), line, sizeof line);
 * See also: thrum_io_adopt_shared, thrum_stream_printf
 */
THRUM_API thrum_stream *thrum_stdin(void);
THRUM_API thrum_stream *thrum_stdout(void);
THRUM_API thrum_stream *thrum_stderr(void);

THRUM_END_DECLS

#endif
