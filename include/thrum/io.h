/*
 * thrum/io.h: bytes to and from descriptors: sockets, pipes, terminals, eventfds. A thrum_io names
 * a descriptor that the library has taken over (thrum_io_adopt, thrum_accept, thrum_dial). It is a
 * value: copies name the same descriptor. After a close all copies are stale, even if the system
 * has given the number to another descriptor. {0} names no descriptor.
 *
 * A call that waits suspends its task, and the worker runs other tasks. On a plain thread the call
 * blocks the thread. Tasks of several schedulers and plain threads may use a descriptor at the same
 * time. Each of its two directions, reading and writing, serves one call at a time, in the order of
 * arrival. So writes of several callers do not mix. If 64 calls of a task in a row need not wait,
 * the task then yields (thrum_yield).
 *
 * Deadlines are absolute (thrum_after). Past its deadline a call tries nothing and returns
 * -ETIMEDOUT; thrum_copy and thrum_select differ. If its deadline or a cancel comes in the middle
 * of a transfer, the call returns the number of bytes that it has moved. If it has moved none, it
 * returns -ETIMEDOUT or -ECANCELED. thrum_read_full returns the code in both cases.
 *
 * Every call returns -EBADF for a stale thrum_io. In the child of a fork it returns -ESHUTDOWN for
 * a descriptor that the parent had taken over. If the system has no descriptor or no memory for a
 * wait, the call returns -EMFILE, -ENFILE, -ENOMEM or -ENOSPC before it waits. A task's wait needs
 * epoll and an eventfd, a plain thread's wait an eventfd. In a sandbox that refuses them the wait
 * returns the sandbox's code, mostly -ENOSYS. Other codes are the system's for the descriptor. No
 * call raises SIGPIPE.
 */
#ifndef THRUM_IO_H
#define THRUM_IO_H

#include "thrum/base.h"
#include "thrum/chan.h"
#include "thrum/task.h"

THRUM_BEGIN_DECLS

/* The name of a descriptor that the library has taken over: a value, {0} for none. */
typedef struct thrum_io {
    int32_t fd;    /* the system's number */
    uint32_t turn; /* the number's generation, which grows each time it is taken over; 0: none */
} thrum_io;

/* The direction of reading, as a bit. */
#define THRUM_IO_READ 1u
/* The direction of writing, as a bit. */
#define THRUM_IO_WRITE 2u

/* A piece of memory, which stays the caller's. It has the layout of the system's struct iovec. */
typedef struct thrum_iovec {
    void *base;  /* its first byte */
    size_t size; /* bytes */
} thrum_iovec;

/*
 * Takes a descriptor over. From then on only the library closes it (thrum_io_close), unless
 * thrum_io_release gives it back.
 *
 * A socket is not changed before it is accepted from (thrum_accept) or copied (thrum_copy). On
 * other descriptors O_NONBLOCK is set until they are given back or closed.
 *
 * Parameters:
 *   out  set to the descriptor's name
 *   fd   a socket, a pipe, a terminal, or another descriptor that can be waited for
 * Returns: 0, or a negative error code; the descriptor is then still the caller's.
 * Errors:
 *   -EINVAL  `out` is NULL
 *   -EBADF   `fd` is no open descriptor
 *   -EPERM   `fd` is a file or a directory, which are always ready (thrum_file_adopt takes those)
 *   -EEXIST  the library has taken it over already
 *   -ENOMEM  there is no memory
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example:
 *    thrum_io io;
 *    int err = thrum_io_adopt(&io, PQsocket(connection));
 *    if (err == 0) {
 *        int bits = thrum_io_wait(io, THRUM_IO_READ, thrum_after_s(5));
 *        (void)thrum_io_release(io);
 *    }
 * See also: thrum_io_adopt_shared, thrum_io_release, thrum_io_close, thrum_file_adopt
 */
THRUM_API THRUM_NODISCARD int thrum_io_adopt(thrum_io *out, int fd);

/*
 * Makes a separate descriptor for the same pipe, terminal, socket or file. The new one is taken
 * over, and the old one stays the caller's. It is for descriptors that other processes share, as a
 * shell and its commands share a terminal: O_NONBLOCK is not set on theirs.
 *
 * Pipes and terminals are opened once more, and sockets are duplicated. Anything else is
 * duplicated, too, and so is a pipe or terminal that cannot be opened again. Its calls are then
 * made on the blocking pool (thrum_blocking), except reads of a file that is in the page cache. So
 * files are allowed here; their calls end when the system has made them. A pipe stays open at this
 * end until both descriptors are closed.
 *
 * Parameters:
 *   out  set to the name of the new descriptor
 *   fd   the descriptor
 * Returns: 0, or a negative error code; no descriptor was made then.
 * Errors:
 *   -EINVAL           `out` is NULL
 *   -EBADF            `fd` is no open descriptor
 *   -EMFILE, -ENFILE  the process or the system has too many descriptors
 *   -ENOMEM           there is no memory
 *   -EOPNOTSUPP       on Windows: `fd` watches files (thrum_watch_open), or is the library's own
 *                     pipe to a process
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example:
 *    thrum_io terminal;
 *    int err = thrum_io_adopt_shared(&terminal, STDERR_FILENO);
 * See also: thrum_io_adopt, thrum_stdin
 */
THRUM_API THRUM_NODISCARD int thrum_io_adopt_shared(thrum_io *out, int fd);

/*
 * Gives a descriptor back to the caller, with O_NONBLOCK as it was before. Afterwards `io` is
 * stale. Calls that wait for the descriptor return -EBADF first, as for thrum_io_close.
 *
 * If operations on a file are under way, the result is a duplicate with another number. The old
 * number is closed when the last of them ends (thrum/file.h).
 *
 * Parameters:
 *   io  the descriptor
 * Returns: the descriptor's number, which is the caller's to close, or a negative error code.
 * Errors:
 *   -EBADF       `io` is stale
 *   -ESHUTDOWN   in the child of a fork: `io` is the parent's
 *   -EMFILE      a file with operations under way could not be duplicated; it is closed when the
 *                last of them ends
 *   -EOPNOTSUPP  on Windows: `io` watches files (thrum_watch_open); it is unchanged
 * Context: any thread; may suspend; not cancellable. The wait is short.
 * Ordering: none.
 * Example:
 *    int fd = thrum_io_release(io);
 *    if (fd >= 0) {
 *        close(fd);
 *    }
 * See also: thrum_io_adopt, thrum_io_fd, thrum_io_close
 */
THRUM_API THRUM_NODISCARD int thrum_io_release(thrum_io io);

/*
 * Returns the system's number of a descriptor. It is for calls that the library does not have. The
 * descriptor stays the library's: the caller must not close it.
 *
 * Parameters:
 *   io  the descriptor
 * Returns: the number, or a negative error code.
 * Errors:
 *   -EBADF      `io` is stale
 *   -ESHUTDOWN  in the child of a fork: `io` is the parent's
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example:
 *    int on = 1;
 *    setsockopt(thrum_io_fd(io), IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on);
 * See also: thrum_io_release
 */
THRUM_API int thrum_io_fd(thrum_io io);

/*
 * Closes a descriptor. Calls that wait for it return -EBADF. Calls that are inside the system at
 * this moment end first, and this call waits for them.
 *
 * When it returns, the system may give the number to another descriptor. For operations on a file
 * the close does not wait: the number is free when the last of them ends (thrum/file.h).
 *
 * Parameters:
 *   io  the descriptor
 * Returns: 0, or a negative error code. After a code of the system the descriptor is closed all the
 *   same. Codes not listed below are the system's for the close, such as -EIO.
 * Errors:
 *   -EBADF      `io` is stale
 *   -ESHUTDOWN  in the child of a fork: `io` is the parent's
 * Context: any thread; may suspend; not cancellable. The wait is short.
 * Ordering: none.
 * See also: thrum_io_shutdown, thrum_io_release
 */
THRUM_API int thrum_io_close(thrum_io io);

/*
 * Ends one direction of a socket, or both. With THRUM_IO_WRITE the peer reads the end after the
 * bytes that were written before. With THRUM_IO_READ reads still return the bytes that have
 * arrived; then they return the end, and so do reads that wait.
 *
 * On Linux a TCP socket with THRUM_IO_READ alone still accepts the peer's bytes, and reads return
 * them. To abandon a connection, end both directions.
 *
 * Parameters:
 *   io    a socket
 *   bits  THRUM_IO_READ, THRUM_IO_WRITE or both
 * Returns: 0, or a negative error code.
 * Errors:
 *   -EINVAL     `bits` is 0 or has other bits
 *   -EBADF      `io` is stale
 *   -ESHUTDOWN  in the child of a fork: `io` is the parent's
 *   -ENOTSOCK   `io` is no socket
 *   -ENOTCONN   the socket is not connected
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example:
 *    int err = thrum_io_shutdown(io, THRUM_IO_WRITE); // the request is complete
 *    int64_t n = err ? err : thrum_read_full(io, answer, sizeof answer, thrum_after_s(5));
 * See also: thrum_io_close
 */
THRUM_API int thrum_io_shutdown(thrum_io io, unsigned bits);

/*
 * Waits until a descriptor is ready to be read or written. It is for descriptors on which another
 * library makes the calls. Ready means that such a call would not wait; it may still fail.
 *
 * The wait consumes nothing, and does not queue behind callers that read or write.
 *
 * Parameters:
 *   io        the descriptor
 *   bits      THRUM_IO_READ, THRUM_IO_WRITE or both
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: the directions in which it is ready, as bits, or a negative error code.
 * Errors:
 *   -EINVAL           `bits` is 0 or has other bits
 *   -EBADF            `io` is stale, or was closed or released during the call
 *   -ESHUTDOWN        in the child of a fork: `io` is the parent's, or the call would wait
 *   -ETIMEDOUT        the deadline passed
 *   -ECANCELED        the caller was cancelled
 *   -EMFILE, -ENFILE  the process or the system has no descriptor for the wait
 *   -ENOMEM           there is no memory for the wait
 *   -ENOSPC           the user waits for too many descriptors (fs.epoll.max_user_watches)
 *   -ENOSYS           a sandbox refuses epoll or eventfd; some return another code
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    int bits = thrum_io_wait(io, THRUM_IO_READ | THRUM_IO_WRITE, thrum_after_s(5));
 *    if (bits > 0 && bits & (int)THRUM_IO_READ) {
 *        ssize_t n = recv(thrum_io_fd(io), text, sizeof text, MSG_DONTWAIT);
 *    }
 * See also: thrum_io_case, thrum_io_on
 */
THRUM_API THRUM_NODISCARD int thrum_io_wait(thrum_io io, unsigned bits, thrum_time deadline);

/*
 * Waits once until a descriptor is ready. It is for descriptors that this library has not taken
 * over, such as the socket of another library that makes all calls on it. The descriptor does not
 * change, and several callers may wait for it. If it is not ready at once, the call waits on a
 * duplicate, which costs about four system calls. To wait for the same descriptor again and again,
 * take it over (thrum_io_adopt) and use thrum_io_wait.
 *
 * The caller keeps the descriptor open until the call has returned. A close of it does not end the
 * wait, and the connection or pipe stays open until then.
 *
 * Parameters:
 *   fd        the system's number
 *   bits      THRUM_IO_READ, THRUM_IO_WRITE or both
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: the directions in which it is ready, as bits, or a negative error code.
 * Errors:
 *   -EINVAL           `bits` is 0 or has other bits
 *   -EBADF            `fd` is no open descriptor
 *   -ETIMEDOUT        the deadline passed
 *   -ECANCELED        the caller was cancelled
 *   -ESHUTDOWN        in the child of a fork (thrum/sched.h): the call would wait
 *   -EMFILE, -ENFILE  the process or the system has no descriptor for the wait
 *   -ENOMEM           there is no memory for the wait
 *   -ENOSPC           the user waits for too many descriptors (fs.epoll.max_user_watches)
 *   -ENOSYS           a sandbox refuses epoll or eventfd; some return another code
 *   -EOPNOTSUPP       on Windows: `fd` watches files (thrum_watch_open), or is the library's own
 *                     pipe to a process
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    int bits = thrum_fd_wait(PQsocket(connection), THRUM_IO_READ, thrum_after_s(5));
 * See also: thrum_io_adopt, thrum_io_wait
 */
THRUM_API THRUM_NODISCARD int thrum_fd_wait(int fd, unsigned bits, thrum_time deadline);

/* The most descriptors among the cases of one thrum_select. */
#define THRUM_SELECT_IO_MAX 32

/*
 * Makes a case for thrum_select from a descriptor. The case happens when the descriptor is ready in
 * one direction, as for thrum_io_wait, and consumes nothing.
 *
 * If the select returns the case's index, its `status` is 0, or -EBADF if `io` is stale or was
 * closed during the call. In the child of a fork the status is -ESHUTDOWN for a descriptor of the
 * parent. Another caller may be faster, so the next call on the descriptor may wait all the same:
 * give it a deadline. For another `bit`, or more than THRUM_SELECT_IO_MAX descriptors, the select
 * returns -EINVAL.
 *
 * Parameters:
 *   io   the descriptor
 *   bit  THRUM_IO_READ or THRUM_IO_WRITE
 * Returns: the case, a value.
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example:
 *    thrum_case cases[] = {thrum_io_case(io, THRUM_IO_READ), THRUM_EVENT_CASE(&stop)};
 *    if (thrum_select(cases, 2, THRUM_FOREVER) == 0 && cases[0].status == 0) {
 *        n = thrum_read_until(io, text, sizeof text, thrum_after_ms(100));
 *    }
 * See also: thrum_select, thrum_io_wait
 */
THRUM_API THRUM_NODISCARD thrum_case thrum_io_case(thrum_io io, unsigned bit);

/*
 * Posts a task when a descriptor is ready in one direction. The task goes to the caller's
 * scheduler. So an idle connection needs no stack. thrum_io_on_until posts the task at its deadline
 * at the latest; thrum_task_is_expired then returns true in the task.
 *
 * Ready is as for thrum_io_wait. The task may also run although nothing is there, so its first call
 * on the descriptor should have a short deadline. Everything else that makes a waiting task due
 * does so here, too: thrum_task_wakeup, thrum_task_signal, thrum_task_cancel and a stop. A wakeup
 * that came before, or a signal that no run has received, makes the task due at once. A close or
 * release of the descriptor counts as a cancel. Once the task is due, neither the descriptor nor
 * the library touches it. Then thrum_task_cancel may return -EBUSY because the run has begun.
 *
 * The task's own body may make the call. It takes effect when the body returns.
 *
 * Parameters:
 *   io        the descriptor
 *   bits      THRUM_IO_READ or THRUM_IO_WRITE
 *   task      the task, which belongs to the scheduler until its body begins
 *   deadline  thrum_io_on_until only: when to post it at the latest
 * Returns: 0, or a negative error code; the task is then still the caller's.
 * Errors:
 *   -EINVAL     `bits` is not one direction, `task` is NULL or has no body, or it is tied to a
 *               worker that has never taken part
 *   -EBUSY      another task waits for this direction, or the task is posted already
 *   -EPERM      `io` is a file, which is always ready
 *   -EBADF      `io` is stale
 *   -ESHUTDOWN  the scheduler stops and this run was cancelled, or in the child of a fork
 *   -ESRCH      the caller is a plain thread
 *   -EMFILE     the process has no descriptor for the wait, or the number is above 4 million
 *   -ENFILE     the system has no descriptor for the wait
 *   -ENOMEM     there is no memory for the wait
 *   -ENOSPC     the user waits for too many descriptors (fs.epoll.max_user_watches)
 *   -ENOSYS     a sandbox refuses epoll or eventfd; some return another code
 * Context: a task or a bound thread; never suspends.
 * Ordering: the writes before the call are visible to the task's run.
 * Example:
 *    static void when_ready(thrum_task *self, void *arg) {
 *        connection *c = arg;
 *        int64_t n = thrum_read_until(c->io, c->text, sizeof c->text, thrum_after_ms(1));
 *        if (n == -ETIMEDOUT || answer(c, n)) {
 *            c->error = thrum_io_on(c->io, THRUM_IO_READ, self);
 *        }
 *    }
 * See also: thrum_task_post_until, thrum_io_wait, thrum_stream_on
 */
THRUM_API THRUM_NODISCARD int thrum_io_on(thrum_io io, unsigned bits, thrum_task *task);
THRUM_API THRUM_NODISCARD int thrum_io_on_until(thrum_io io, unsigned bits, thrum_task *task,
                                                thrum_time deadline);

/*
 * Reads the bytes that are there. If there are none, it waits for the first. thrum_read_until gives
 * up at the deadline.
 *
 * Parameters:
 *   io        the descriptor
 *   to        memory for `size` bytes, the caller's
 *   size      the most bytes to read
 *   deadline  thrum_read_until only: when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: the number of bytes, 0 at the end or for a `size` of 0, or a negative error code. Codes
 *   not listed below are the system's, such as -ECONNRESET.
 * Errors:
 *   -EBADF            `io` is stale or not open for reading, or was closed or released during the
 *                     call
 *   -ESHUTDOWN        in the child of a fork: `io` is the parent's, or the call would wait
 *   -ETIMEDOUT        the deadline passed
 *   -ECANCELED        the caller was cancelled
 *   -EOPNOTSUPP       `io` is a socket with messages: an empty message would look like the end
 *                     (thrum_receive_from)
 *   -EMFILE, -ENFILE  the process or the system has no descriptor for a wait
 *   -ENOMEM           there is no memory for a wait
 *   -ENOSPC           the user waits for too many descriptors (fs.epoll.max_user_watches)
 *   -ENOSYS           a sandbox refuses epoll or eventfd; some return another code
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    char text[4096];
 *    int64_t n;
 *    while ((n = thrum_read_until(io, text, sizeof text, thrum_after_s(60))) > 0) {
 *        fwrite(text, 1, (size_t)n, stdout);
 *    }
 * See also: thrum_read_full, thrum_readv_until, thrum_stream_read, thrum_write
 */
THRUM_API THRUM_NODISCARD int64_t thrum_read(thrum_io io, void *to, size_t size);
THRUM_API THRUM_NODISCARD int64_t thrum_read_until(thrum_io io, void *to, size_t size,
                                                   thrum_time deadline);

/*
 * Reads exactly `size` bytes, or fewer if the end comes first.
 *
 * After an error code the bytes that were read are lost. A stream keeps them and resumes
 * (thrum_stream_read_full).
 *
 * Parameters:
 *   io        the descriptor
 *   to        memory for `size` bytes, the caller's
 *   size      how many bytes to read
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: the number of bytes, less than `size` only at the end, or a negative error code. Codes
 *   not listed below are the system's, such as -ECONNRESET.
 * Errors:
 *   -EBADF            `io` is stale or not open for reading, or was closed or released during the
 *                     call
 *   -ESHUTDOWN        in the child of a fork: `io` is the parent's, or the call would wait
 *   -ETIMEDOUT        the deadline passed
 *   -ECANCELED        the caller was cancelled
 *   -EOPNOTSUPP       `io` is a socket with messages (thrum_receive_from)
 *   -EMFILE, -ENFILE  the process or the system has no descriptor for a wait
 *   -ENOMEM           there is no memory for a wait
 *   -ENOSPC           the user waits for too many descriptors (fs.epoll.max_user_watches)
 *   -ENOSYS           a sandbox refuses epoll or eventfd; some return another code
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    unsigned char header[8];
 *    int64_t n = thrum_read_full(io, header, sizeof header, thrum_after_s(5));
 *    if (n == 0) {
 *        return 0; // the end, between two messages
 *    }
 * See also: thrum_read, thrum_stream_read_full
 */
THRUM_API THRUM_NODISCARD int64_t thrum_read_full(thrum_io io, void *to, size_t size,
                                                  thrum_time deadline);

/*
 * Writes all bytes, and waits for room. thrum_write_until gives up at the deadline.
 *
 * An error, the deadline or a cancel may cut the call short. Then the peer has the beginning, and
 * the rest of a message must follow before another one. If an error of the system cut it short,
 * later writes return that error until the descriptor is closed.
 *
 * Parameters:
 *   io        the descriptor
 *   from      the bytes, the caller's
 *   size      how many bytes to write
 *   deadline  thrum_write_until only: when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: `size`, or fewer if the call was cut short after so many bytes; a negative error code if
 *   no byte was written. Codes not listed below are the system's, such as -ECONNRESET.
 * Errors:
 *   -EBADF            `io` is stale or not open for writing, or was closed or released during the
 *                     call
 *   -ESHUTDOWN        in the child of a fork: `io` is the parent's, or the call would wait
 *   -ETIMEDOUT        the deadline passed
 *   -ECANCELED        the caller was cancelled
 *   -EPIPE            the peer no longer reads
 *   -EMFILE, -ENFILE  the process or the system has no descriptor for a wait
 *   -ENOMEM           there is no memory for a wait
 *   -ENOSPC           the user waits for too many descriptors (fs.epoll.max_user_watches), or a
 *                     device is full
 *   -ENOSYS           a sandbox refuses epoll or eventfd; some return another code
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example: examples/echo.c
 * See also: thrum_writev_until, thrum_stream_write, thrum_read
 */
THRUM_API THRUM_NODISCARD int64_t thrum_write(thrum_io io, const void *from, size_t size);
THRUM_API THRUM_NODISCARD int64_t thrum_write_until(thrum_io io, const void *from, size_t size,
                                                    thrum_time deadline);

/*
 * thrum_try_read reads the bytes that are there, and thrum_try_write writes as many bytes as there
 * is room for, so a write may be short. They wait neither for the descriptor nor for other callers.
 *
 * A loop that tries again and again keeps its worker from all other tasks. To be notified, use
 * thrum_io_wait, thrum_io_on or a case of thrum_select.
 *
 * Parameters:
 *   io    the descriptor
 *   to    memory for `size` bytes, the caller's
 *   from  the bytes, the caller's
 *   size  the most bytes to read, or how many to write
 * Returns: the number of bytes, 0 for a `size` of 0, or a negative error code; thrum_try_read also
 *   returns 0 at the end. Codes not listed below are the system's, such as -ECONNRESET.
 * Errors:
 *   -EAGAIN      there is no byte, or no room; or another caller is reading or writing
 *   -EBADF       `io` is stale, or not open in this direction
 *   -ESHUTDOWN   in the child of a fork: `io` is the parent's
 *   -EOPNOTSUPP  the calls on `io` are made on the blocking pool (thrum_io_adopt_shared), because
 *                they might block; or `io` is a socket with messages (thrum_try_receive_from)
 *   -EPIPE       thrum_try_write: the peer no longer reads
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example:
 *    int64_t n = thrum_try_read(io, text, sizeof text);
 *    if (n == -EAGAIN) {
 *        n = flush(io) < 0 ? -EIO : thrum_read(io, text, sizeof text); // before the wait
 *    }
 * See also: thrum_read, thrum_write, thrum_try_accept
 */
THRUM_API THRUM_NODISCARD int64_t thrum_try_read(thrum_io io, void *to, size_t size);
THRUM_API THRUM_NODISCARD int64_t thrum_try_write(thrum_io io, const void *from, size_t size);

/* The most pieces of memory for one call. */
#define THRUM_IOVECS_MAX 1024u

/*
 * Reads the bytes that are there into several pieces of memory, in order. If there are none, it
 * waits for the first.
 *
 * Parameters:
 *   io        the descriptor
 *   parts     the pieces, the caller's
 *   n         how many pieces, at most THRUM_IOVECS_MAX
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: the number of bytes, 0 at the end or if the pieces have no bytes, or a negative error
 *   code. Codes not listed below are the system's, such as -ECONNRESET.
 * Errors:
 *   -EINVAL           there are too many pieces, or more bytes than a ssize_t counts
 *   -EBADF            `io` is stale or not open for reading, or was closed or released during the
 *                     call
 *   -ESHUTDOWN        in the child of a fork: `io` is the parent's, or the call would wait
 *   -ETIMEDOUT        the deadline passed
 *   -ECANCELED        the caller was cancelled
 *   -EOPNOTSUPP       `io` is a socket with messages (thrum_receive_from)
 *   -EMFILE, -ENFILE  the process or the system has no descriptor for a wait
 *   -ENOMEM           there is no memory for a wait
 *   -ENOSPC           the user waits for too many descriptors (fs.epoll.max_user_watches)
 *   -ENOSYS           a sandbox refuses epoll or eventfd; some return another code
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    thrum_iovec parts[] = {{header, sizeof header}, {body, sizeof body}};
 *    int64_t n = thrum_readv_until(io, parts, 2, thrum_after_s(5));
 * See also: thrum_read_until
 */
THRUM_API THRUM_NODISCARD int64_t thrum_readv_until(thrum_io io, const thrum_iovec *parts,
                                                    unsigned n, thrum_time deadline);

/*
 * Writes several pieces of memory, all bytes in order, and waits for room. A call that is cut short
 * behaves as thrum_write_until does.
 *
 * Parameters:
 *   io        the descriptor
 *   parts     the pieces, the caller's
 *   n         how many pieces, at most THRUM_IOVECS_MAX
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: the size of all pieces, or fewer bytes if the call was cut short. A negative error code
 *   if no byte was written. Codes not listed below are the system's, such as -ECONNRESET.
 * Errors:
 *   -EINVAL           there are too many pieces, or more bytes than a ssize_t counts
 *   -EBADF            `io` is stale or not open for writing, or was closed or released during the
 *                     call
 *   -ESHUTDOWN        in the child of a fork: `io` is the parent's, or the call would wait
 *   -ETIMEDOUT        the deadline passed
 *   -ECANCELED        the caller was cancelled
 *   -EPIPE            the peer no longer reads
 *   -EMFILE, -ENFILE  the process or the system has no descriptor for a wait
 *   -ENOMEM           there is no memory for a wait
 *   -ENOSPC           the user waits for too many descriptors (fs.epoll.max_user_watches), or a
 *                     device is full
 *   -ENOSYS           a sandbox refuses epoll or eventfd; some return another code
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    thrum_iovec parts[] = {{header, sizeof header}, {body, sizeof body}};
 *    int64_t n = thrum_writev_until(io, parts, 2, thrum_after_s(5));
 * See also: thrum_write_until
 */
THRUM_API THRUM_NODISCARD int64_t thrum_writev_until(thrum_io io, const thrum_iovec *parts,
                                                     unsigned n, thrum_time deadline);

/*
 * Copies bytes from one descriptor to another. It goes on until `from` ends, `limit` bytes are
 * copied, or the deadline passes.
 *
 * A count below `limit` does not mean that the end was met. To copy everything, call again until
 * the result is 0 or a code. If an error follows a count, later reads of `from` or writes to `to`
 * return that error until the descriptor is closed. The close itself does not report it.
 *
 * No byte is lost if `from` is a socket, a file, or a pipe whose bytes the system moves: unwritten
 * bytes can still be read. From other descriptors the call may have read up to 64 KiB that can no
 * longer be written. Then it returns -EIO, even after bytes that were written, and the unwritten
 * ones are lost. To save them, it writes them as far as there is room, even past its deadline or in
 * a cancelled task.
 *
 * The call holds the two directions only while bytes move, so reads and writes of other callers may
 * come between two pieces. A close of either end ends the call. If bytes of `from` could be lost,
 * the call writes them first. The system moves bytes from or to a pipe without a copy (splice),
 * unless it refuses. For that, O_NONBLOCK is set on a socket at the other end until the socket is
 * given back or closed. If the other end is a file or a shared socket (thrum_io_adopt_shared),
 * there is no splice. Without splice the call allocates 64 KiB meanwhile.
 *
 * Parameters:
 *   from      the source of the bytes
 *   to        their destination
 *   limit     the most bytes, or UINT64_MAX for all
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: the number of bytes that were written to `to`. 0 if the end came first or `limit` is 0.
 *   A negative error code if no byte was written, or if bytes were lost. Codes not listed below are
 *   the system's for one of the two, such as -ECONNRESET.
 * Errors:
 *   -EBADF            one of the two is stale or not open in that way, or was closed or released
 *                     during the call
 *   -ESHUTDOWN        in the child of a fork: one of the two is the parent's, or the call would
 *                     wait
 *   -ETIMEDOUT        the deadline passed
 *   -ECANCELED        the caller was cancelled
 *   -EOPNOTSUPP       one of the two is a socket with messages
 *   -EIO              bytes that were read are lost, or the device has failed
 *   -EPIPE            the peer of `to` no longer reads
 *   -EMFILE, -ENFILE  the process or the system has no descriptor for a wait
 *   -ENOMEM           there is no memory for the bytes, or for a wait
 *   -ENOSPC           the user waits for too many descriptors (fs.epoll.max_user_watches), or a
 *                     device is full
 *   -ENOSYS           a sandbox refuses epoll or eventfd; some return another code
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    int64_t n;
 *    while ((n = thrum_copy(client, server, UINT64_MAX, thrum_after_s(60))) > 0) {
 *    }
 * See also: thrum_file_copy, thrum_read, thrum_write
 */
THRUM_API THRUM_NODISCARD int64_t thrum_copy(thrum_io from, thrum_io to, uint64_t limit,
                                             thrum_time deadline);

THRUM_END_DECLS

#endif
