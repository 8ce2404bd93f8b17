/*
 * thrum/io.h: bytes to and from descriptors: sockets, pipes, ttys, eventfds.
 *
 * A thrum_io names a descriptor that the library has taken over (thrum_io_adopt, thrum_accept,
 * thrum_dial). It is a value: copies name the same descriptor, and once that is closed they are
 * stale, also when the system has given the number to another one. {0} names none.
 *
 * Calls that wait suspend the task, and its worker goes on; on a plain thread they block it. A
 * descriptor may be used from tasks of several schedulers and from plain threads at once. Each of
 * its two directions serves one call at a time, in the order in which they came: a write of one
 * caller is not torn by that of another one. 64 calls of a task in a row that need not wait are
 * followed by a thrum_yield.
 *
 * Deadlines are absolute (thrum_after). At a deadline, or when the caller is cancelled, a transfer
 * that has moved bytes returns their count, any other one -ETIMEDOUT or -ECANCELED; past its
 * deadline no call tries anything (but see thrum_copy, and thrum_select). Any thread may call
 * everything here, but thrum_io_on.
 *
 * Every call returns -EBADF for a stale thrum_io, and -ESHUTDOWN for one that the parent of a fork
 * has made; a wait that begins while the system has no descriptor or no memory for it returns
 * -EMFILE, -ENFILE, -ENOMEM or -ENOSPC, having done nothing. In a sandbox without epoll or
 * eventfd it returns what that says, -ENOSYS mostly: a wait of a plain thread, in thrum_io_wait
 * too, needs an eventfd, that of a task both. Other codes are the system's for the
 * descriptor (-ECONNRESET, -EPIPE, ...). No call raises SIGPIPE.
 */
#ifndef THRUM_IO_H
#define THRUM_IO_H

#include "thrum/base.h"
#include "thrum/chan.h"
#include "thrum/task.h"

THRUM_BEGIN_DECLS

typedef struct thrum_io {
    int32_t fd;
    uint32_t turn; /* which of those that have had the number; 0: none */
} thrum_io;

/* The two directions, as bits. */
#define THRUM_IO_READ 1u
#define THRUM_IO_WRITE 2u

/* A piece of memory, laid out as the system's struct iovec. */
typedef struct thrum_iovec {
    void *base;
    size_t size;
} thrum_iovec;

/*
 * Takes a descriptor over: from now on only the library closes it (thrum_io_close), unless
 * thrum_io_release gives it back. Of sockets nothing is changed, unless they are accepted from
 * (thrum_accept) or copied (thrum_copy). Of others O_NONBLOCK is set until they are given back or
 * closed. Any thread may call it. It never suspends. Errors, with the descriptor still the
 * caller's: -EINVAL for NULL; -EBADF when it is no descriptor; -EPERM for files and directories,
 * which are always ready; -EEXIST when it is taken over already; -ENOMEM.
 */
THRUM_API THRUM_NODISCARD int thrum_io_adopt(thrum_io *out, int fd);

/*
 * Makes a descriptor of the library's own for what `fd` names, which stays the caller's: for those
 * that other processes share, as a shell and its commands share a terminal. O_NONBLOCK is not set
 * on theirs. Pipes and ttys are opened once more; sockets are duplicated. Anything else, and what
 * cannot be opened again, is duplicated, too, and its calls are made on the blocking pool
 * (thrum_blocking), but for reads of a file that the system has in memory: so files are allowed
 * here, whose calls end when the system has made them. A pipe is open at this end until both
 * descriptors are closed. Any thread may call it. It never suspends. Errors, with nothing made:
 * -EINVAL for NULL; -EBADF; -EMFILE, -ENFILE or -ENOMEM; -EOPNOTSUPP on Windows, for what tells of
 * changes of files and for the library's own pipe to a program.
 */
THRUM_API THRUM_NODISCARD int thrum_io_adopt_shared(thrum_io *out, int fd);

/*
 * Gives a descriptor back as it was: it returns its number (of a file with operations under way
 * that of a duplicate, thrum/file.h), and `io` is stale. Calls that wait under it return -EBADF
 * first, as for thrum_io_close. Any thread may call it. It may suspend. -EBADF; -EOPNOTSUPP, with
 * `io` as it was: on Windows, for what tells of changes of files.
 */
THRUM_API THRUM_NODISCARD int thrum_io_release(thrum_io io);

/*
 * Returns the descriptor, which stays the library's, or -EBADF. Any thread may call it. It never
 * suspends.
 */
THRUM_API int thrum_io_fd(thrum_io io);

/*
 * Closes a descriptor. Calls that wait under it return -EBADF; those that are in the middle of a
 * call of the system end it first. When this returns, the number is the system's again, unless
 * operations on a file are under way, which it does not wait for (thrum/file.h). Any thread may
 * call it. It may suspend, for a moment, whatever cancels the caller. It returns 0, -EBADF, or
 * the system's code for the close, after which the descriptor is closed all the same.
 */
THRUM_API int thrum_io_close(thrum_io io);

/*
 * Ends one direction of a socket, or both: bits are THRUM_IO_READ and THRUM_IO_WRITE. The other
 * side reads the end after what was written. Reads still get what has come; then they find the end,
 * also those that wait. But of TCP, with THRUM_IO_READ alone, Linux goes on to take what the other
 * side sends, and reads get that, too: to be rid of a connection end both directions. Any thread
 * may call it. It never suspends. It returns 0, -EINVAL for other bits, -ENOTSOCK, or -ENOTCONN.
 */
THRUM_API int thrum_io_shutdown(thrum_io io, unsigned bits);

/*
 * Waits until the descriptor is ready in one of the directions `bits`, and returns those in which
 * it is: for descriptors on which another library makes the calls. Ready means that such a call
 * would not wait; it may still fail. It takes nothing, and does not wait for callers that read or
 * write. Any thread may call it. It may suspend. Errors: -EINVAL for other bits, -ETIMEDOUT,
 * -ECANCELED.
 */
THRUM_API THRUM_NODISCARD int thrum_io_wait(thrum_io io, unsigned bits, thrum_time deadline);

/* The most descriptors among the cases of one select. */
#define THRUM_SELECT_IO_MAX 32

/*
 * Makes a case for thrum_select (thrum/chan.h), which happens when the descriptor is ready in the
 * direction `bit`, as for thrum_io_wait; its `status` is 0 then, and -EBADF when `io` is stale, or
 * is closed meanwhile (-ESHUTDOWN: it is the parent's, of a fork). It takes nothing. Another caller
 * may be faster, so what the program does next may wait all the same: give it a deadline. With
 * another `bit`, or more than THRUM_SELECT_IO_MAX of them, the select returns -EINVAL. Any thread
 * may call it. It never suspends.
 */
THRUM_API THRUM_NODISCARD thrum_case thrum_io_case(thrum_io io, unsigned bit);

/*
 * Posts a task to the caller's scheduler once the descriptor is ready in one direction: a
 * connection that has nothing to say needs no stack. Ready is as for thrum_io_wait; the task may
 * also run although nothing is there, so it begins with a call whose deadline is soon. The task is
 * posted as by thrum_task_post_until, at the latest at the deadline: thrum_task_is_expired tells.
 * What else makes a waiting task due does so here (thrum_task_wakeup, thrum_task_signal,
 * thrum_task_cancel, a stop), and so does the end of the descriptor (thrum_io_close,
 * thrum_io_release), which counts as a cancel. From then on neither the descriptor nor the library
 * touches the task. As at any post, a wakeup that came before, or a signal that no run has
 * received, makes it due at once; and a thrum_task_cancel may find that its run has begun: -EBUSY.
 *
 * A task and a bound thread may call it, also the task's own body: then it takes effect when the
 * body returns. It never suspends. Errors, with the task still the caller's: -EINVAL unless `bits`
 * is one direction; -EBUSY when a task waits for this direction, or the task is posted; -EPERM for
 * a file, which is always ready; -EMFILE for numbers of more than 4 million; -ESRCH on a plain
 * thread; those of thrum_task_post.
 */
THRUM_API THRUM_NODISCARD int thrum_io_on(thrum_io io, unsigned bits, thrum_task *task);
THRUM_API THRUM_NODISCARD int thrum_io_on_until(thrum_io io, unsigned bits, thrum_task *task,
                                                thrum_time deadline);

/*
 * Reads what is there, waiting until there is at least a byte. Any thread may call it. It may
 * suspend. It returns the number of bytes, 0 at the end or for a `size` of 0, or an error:
 * -ETIMEDOUT, -ECANCELED, -EOPNOTSUPP for sockets with messages, where an empty one would look like
 * the end (thrum_receive_from).
 */
THRUM_API THRUM_NODISCARD int64_t thrum_read(thrum_io io, void *to, size_t size);
THRUM_API THRUM_NODISCARD int64_t thrum_read_until(thrum_io io, void *to, size_t size,
                                                   thrum_time deadline);

/*
 * Reads `size` bytes. Fewer: the end came. On any other trouble it returns the code, and what was
 * read is lost; a stream (thrum/stream.h) can resume. Any thread may call it. It may suspend.
 * Errors are those of thrum_read_until.
 */
THRUM_API THRUM_NODISCARD int64_t thrum_read_full(thrum_io io, void *to, size_t size,
                                                  thrum_time deadline);

/*
 * Writes all of it, waiting for room. It may suspend. It returns `size`; less when an error, the
 * deadline or a cancel cut it short: then the other side has the beginning, and the rest of a
 * message must follow before another one. If nothing was written: the code. After an error of the
 * system behind a short write, writes return that error until the descriptor is closed. Any thread
 * may call them.
 */
THRUM_API THRUM_NODISCARD int64_t thrum_write(thrum_io io, const void *from, size_t size);
THRUM_API THRUM_NODISCARD int64_t thrum_write_until(thrum_io io, const void *from, size_t size,
                                                    thrum_time deadline);

/*
 * The same for several pieces of memory, in order: thrum_readv_until returns what is there,
 * thrum_writev_until writes all. They return -EINVAL for more than THRUM_IOVECS_MAX pieces, and for
 * more bytes than a ssize_t counts; else callers, waits and errors are those of thrum_read_until
 * and thrum_write_until.
 */
#define THRUM_IOVECS_MAX 1024u
THRUM_API THRUM_NODISCARD int64_t thrum_readv_until(thrum_io io, const thrum_iovec *parts,
                                                    unsigned n, thrum_time deadline);
THRUM_API THRUM_NODISCARD int64_t thrum_writev_until(thrum_io io, const thrum_iovec *parts,
                                                     unsigned n, thrum_time deadline);

/*
 * Copies bytes until `from` has no more, `limit` bytes were copied (UINT64_MAX: all there are), or
 * the deadline has passed. It may suspend. Any thread may call it. It returns how many bytes were
 * written to `to`; 0: the end came first, or `limit` is 0. If nothing was written, it returns the
 * code that ended it: those of thrum_read_until and thrum_write_until, -EOPNOTSUPP when one of the
 * two is a socket with messages, -ENOMEM. So a count below `limit` does not say that the end was
 * met: whoever wants all calls it again until it returns 0 or a code. An error behind a count is
 * that of later reads of `from`, or writes to `to`, until it is closed; a close does not tell it.
 *
 * No byte is lost, whatever ends it, where `from` is a socket, a file, or a pipe whose bytes the
 * system moves (below): what was not written is still there to be read. Of others up to 64 KiB may
 * have been read that cannot be written any more: then it returns -EIO, whatever was written
 * before, and those bytes are lost. To keep them it writes such bytes past its deadline and its
 * cancel, too, as far as there is room.
 *
 * The two directions are held only while bytes move, so other callers' reads and writes may come
 * between two pieces. A close of either end ends it; that of `from`, where bytes were read of it
 * that could be lost, once these are written. Bytes from or to a pipe are moved by the system
 * without a copy (splice), unless the other end is a file or a socket that others share
 * (thrum_io_adopt_shared), or the system refuses; for that O_NONBLOCK is set on a socket at the
 * other end until it is released. Otherwise 64 KiB of memory are taken meanwhile.
 */
THRUM_API THRUM_NODISCARD int64_t thrum_copy(thrum_io from, thrum_io to, uint64_t limit,
                                             thrum_time deadline);

THRUM_END_DECLS

#endif
