/*
 * descriptor.h: the part of the platform's contract that is about descriptors: sets of them that
 * report readiness, and calls on one that never wait. Included by platform.h.
 *
 * The kernel's own locks order these calls: a thread's writes before a call that found a descriptor
 * not ready are visible to the thread that gets the resulting event. That does not hold for
 * th_os_io_poll, which takes no lock.
 */
#ifndef TH_DESCRIPTOR_H
#define TH_DESCRIPTOR_H

#include "base/cc.h"

/* ---- sets ---- */

/* A descriptor's readiness; calls that poll for readiness take the first two. */
#define TH_OS_IN 1u
#define TH_OS_OUT 2u
/*
 * The other side has ended, or there is an error or urgent data: from now on a short transfer does
 * not mean that nothing is left.
 */
#define TH_OS_ODD 4u

typedef struct th_os_event {
    uint64_t key;  /* as it was added; or TH_OS_WAKE, TH_OS_ALARM */
    uint32_t bits; /* TH_OS_IN, TH_OS_OUT, TH_OS_ODD */
} th_os_event;

#define TH_OS_WAKE UINT64_MAX

/*
 * A set of descriptors and a wake-up. Each descriptor in it gives an event when it is added and is
 * ready, and whenever it becomes ready again (more bytes, more room); the event goes to one of the
 * threads that wait for the set, and is not repeated. The wake-up gives an event to every wait
 * until it is taken back.
 */
typedef struct th_os_pollset {
    int set;
    int wake;
} th_os_pollset;

/*
 * Makes an empty set, which can be waited for. Errors: -EMFILE, -ENFILE, -ENOMEM, -ENOSYS or
 * another code of a sandbox.
 */
int th_os_pollset_open(th_os_pollset *out);
void th_os_pollset_close(th_os_pollset *set);

/*
 * Adds a descriptor, for both directions. Any thread. Errors: -EEXIST (it is in it), -EPERM (it is
 * always ready, as files are), -EBADF, -ENOMEM, -ENOSPC (the user has too many).
 */
int th_os_pollset_add(const th_os_pollset *set, int fd, uint64_t key);
/* Adds another set, which is ready as long as it has events: that is repeated in every wait. */
int th_os_pollset_add_set(const th_os_pollset *set, const th_os_pollset *other, uint64_t key);
/* Removes a descriptor; -ENOENT, -EBADF: it was not in it. A close removes the last duplicate. */
int th_os_pollset_remove(const th_os_pollset *set, int fd);

/*
 * Waits until there are events or the absolute deadline has passed (TH_FOREVER: none; 0: does not
 * wait). Returns the number of events, 0 at the deadline, or -EINTR. Any thread.
 */
int th_os_pollset_wait(const th_os_pollset *set, th_os_event events[], unsigned max,
                       int64_t deadline);

/*
 * An alarm: an event, TH_OS_ALARM, in all sets that it is in, from a time on until it is set anew;
 * when it goes off, at least one of the threads that wait for such a set is woken. Any thread.
 */
#define TH_OS_ALARM (UINT64_MAX - 1)
int th_os_alarm_open(void); /* its number, or a code as above */
void th_os_alarm_close(int alarm);
void th_os_alarm_set(int alarm, int64_t at); /* an absolute time; TH_FOREVER: it is off */
int th_os_pollset_add_alarm(const th_os_pollset *set, int alarm);

/* Whether a wait would find events, or the wake-up; none of them is taken. Any thread. */
bool th_os_pollset_is_ready(const th_os_pollset *set);

/*
 * Whether `set` is a descriptor that is readable as long as a wait would find events, for a loop of
 * others. Else it is so for the wake-up alone.
 */
bool th_os_pollset_shows(void);

/*
 * Waits until that is so for one of the sets, n of at most TH_OS_SETS_MAX, or the absolute deadline
 * has passed. Returns which of them (bit i: sets[i]), 0 at the deadline, or -EINTR; it takes
 * nothing. By the thread that owns the first of them. If a thread can sleep for a single set alone,
 * as on Windows, the others are looked at each millisecond while something is asked there, or as
 * often as the system's timer ticks (15.6 ms).
 */
#define TH_OS_SETS_MAX 16u
int th_os_pollset_wait_any(const th_os_pollset *const sets[], unsigned n, int64_t deadline);

/*
 * Sets the wake-up, as long as the set is open: 0, or -EBADF. Any thread. Takes it back: its owner
 * alone.
 */
int th_os_pollset_wake(const th_os_pollset *set);
void th_os_pollset_wake_take(const th_os_pollset *set);

/* A wake-up without a set, for a thread that waits for one descriptor (th_os_io_poll). */
int th_os_wakeup_open(void); /* its number, or a code as above */
void th_os_wakeup_close(int wakeup);
void th_os_wakeup_set(int wakeup);
void th_os_wakeup_take(int wakeup);

/* ---- calls on a descriptor ---- */

/* The kind of a descriptor, as far as calls differ. */
typedef enum th_os_kind {
    TH_OS_TCP,      /* a stream socket whose short transfers mean that nothing is left */
    TH_OS_STREAM,   /* another stream socket */
    TH_OS_DATAGRAM, /* a socket with messages: datagrams and seqpackets */
    TH_OS_PIPE,
    TH_OS_OTHER, /* ttys, eventfds, ...: read and written otherwise */
    TH_OS_FILE,  /* always ready, although a call may wait for a device */
    TH_OS_KINDS
} th_os_kind;

static inline bool th_os_is_socket(th_os_kind kind) {
    return kind <= TH_OS_DATAGRAM;
}

typedef struct th_os_identity {
    uint64_t device;
    uint64_t inode;
} th_os_identity;

/*
 * The descriptor's kind. Errors: -EBADF; -EPERM, with the kind, if it is always ready (files,
 * directories). If a socket can be set not to wait only for all its owners, as on Windows, this
 * sets it.
 */
int th_os_io_kind(int fd, th_os_kind *kind, th_os_identity *identity);

/*
 * Has reads and writes on it not wait from now on, or again as before; sockets need none of it.
 * Returns 1 if it was so already, 0 if not, or a code.
 */
int th_os_io_nonblocking(int fd, bool on);

/* 0, or -EOPNOTSUPP: it is one by the library's doing alone, so nobody else can have it. */
int th_os_io_releases(int fd);

/* A piece of memory; laid out as the system has it. */
typedef struct th_os_part {
    void *base;
    size_t size;
} th_os_part;

/*
 * Reads or writes as much as possible without waiting. They return the number of bytes (read 0: the
 * end), -EAGAIN, or the system's code. A write without a reader is -EPIPE, and the calling thread
 * gets no signal.
 */
int64_t th_os_io_read(int fd, th_os_kind kind, void *to, size_t size);
int64_t th_os_io_write(int fd, th_os_kind kind, const void *from, size_t size);
int64_t th_os_io_readv(int fd, th_os_kind kind, const th_os_part parts[], unsigned n);
int64_t th_os_io_writev(int fd, th_os_kind kind, const th_os_part parts[], unsigned n);

/*
 * As th_os_io_read on a stream socket, but the bytes stay where they are. The second takes n that
 * were seen so; they are written to memory of that size, which may as well be left as it is.
 */
int64_t th_os_io_peek(int fd, void *to, size_t size);
int64_t th_os_io_skip(int fd, th_os_kind kind, void *memory, size_t n);
/* Puts a file's position back by n bytes. */
int th_os_io_unread(int fd, size_t n);

/*
 * Moves up to n bytes from one descriptor to another, of which one is a pipe, and neither waits
 * (th_os_io_nonblocking). Returns their number, 0 at the end; -EAGAIN: the one is empty, or the
 * other one full; -EINVAL, -ENOSYS, -EOPNOTSUPP or -EPERM: the system cannot do that with these
 * two, or not here; or its code. If nobody reads any more it is -EPIPE, and the calling thread gets
 * no signal.
 */
int64_t th_os_io_splice(int from, int to, size_t n);

/*
 * Reads and writes on a description that others share, so that it must not be set not to wait:
 * -EAGAIN when it is not ready. A call on a file waits for the device; others may wait if somebody
 * takes the bytes, or the room, in this very moment. So they are not for workers. A write may be
 * short.
 */
int64_t th_os_io_readv_shared(int fd, th_os_kind kind, const th_os_part parts[], unsigned n);
int64_t th_os_io_writev_shared(int fd, th_os_kind kind, const th_os_part parts[], unsigned n);

/* Reads from a file's page cache. -EAGAIN, -EOPNOTSUPP: it would have to wait. */
int64_t th_os_io_readv_cached(int fd, const th_os_part parts[], unsigned n);

/*
 * Opens the descriptor's object again, with a separate description, on which calls do not wait.
 * Returns the new number, or a code: -EOPNOTSUPP if that would be another object (only pipes, ttys
 * and /dev/null and its like are known not to be).
 */
int th_os_io_reopen(int fd);
/* Another number for the same description, which programs that are started do not get. */
int th_os_io_duplicate(int fd);
/* Has programs that are started not get the descriptor. 0 or -EBADF. */
int th_os_io_close_on_exec(int fd);
bool th_os_io_is_tty(int fd);

/*
 * A description for people: "tcp 127.0.0.1:80 from 127.0.0.1:5012", with the word `between` between
 * its own address and the other side's; "unix /path"; for other kinds the system's name
 * ("pipe:[123]"). *listens: it is a listener. Addresses may hold any bytes. 0 or a code.
 */
#define TH_OS_IO_TEXT 300u
int th_os_io_text(int fd, const char *between, char *text, size_t size, bool *listens);

/* Takes a connection of a listener: its descriptor, or a code (-EAGAIN: there is none). */
int th_os_io_accept(int fd);
int th_os_io_shutdown(int fd, unsigned bits);
/* Gives the descriptor back; the number is free afterwards, with any result. */
int th_os_io_close(int fd);

/*
 * Waits until the descriptor is ready for one of the bits, the wake-up is set (-1: none), or the
 * absolute deadline has passed (0: does not wait). Returns the bits that are ready, with TH_OS_ODD
 * where the other side has ended or there is an error (both directions are ready then), 0, or a
 * code.
 */
int th_os_io_poll(int fd, unsigned bits, int wakeup, int64_t deadline);

/*
 * The same for several, n of at most TH_OS_POLLED_MAX: sets `ready` of each (TH_OS_IN, TH_OS_OUT,
 * TH_OS_ODD; all of them for a closed number), and returns how many have it set, 0, or a code.
 */
#define TH_OS_POLLED_MAX 32u
typedef struct th_os_polled {
    int fd;
    uint32_t bits; /* TH_OS_IN, TH_OS_OUT */
    uint32_t ready;
} th_os_polled;
int th_os_io_poll_any(th_os_polled polled[], unsigned n, int wakeup, int64_t deadline);

#endif
