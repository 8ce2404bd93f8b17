/*
 * thrum/net.h: connections and datagrams: TCP, UDP and UNIX sockets.
 *
 * Addresses are texts that begin with what they are for:
 *
 *     tcp:127.0.0.1:80    tcp:[::1]:80    tcp:example.org:80
 *     tcp::80             to listen: all addresses of this machine
 *     udp:127.0.0.1:53    datagrams; hosts and ports as for tcp
 *     unix:/run/socket    a connection on this machine, by the path of a file that listening makes
 *     unix:@name          the same by a name that is no file and needs none to be removed
 *     unixgram:/path      datagrams on this machine, which arrive, and in order
 *     seqpacket:/path     a connection of messages on this machine
 *     activation:name     to listen: a socket that this program was started with (LISTEN_FDS); see
 *                         thrum_listen. "activation:" alone: the first of them
 *
 * A port is a number; 0 when listening: the system chooses one (thrum_io_local tells which). Names
 * of hosts are looked up by the system, on threads of the library's own; numbers never are.
 *
 * What these calls give is a thrum_io (thrum/io.h), and its rules hold here: for waits, deadlines
 * and cancels, for several callers at once, and after a fork. What they make is closed on exec. All
 * calls here: any thread.
 */
#ifndef THRUM_NET_H
#define THRUM_NET_H

#include "thrum/base.h"
#include "thrum/io.h"

THRUM_BEGIN_DECLS

/* The most bytes that the text of an address has, its end included. */
#define THRUM_ADDRESS_TEXT 160u

/* ---- connections ---- */

/* Flags of thrum_listen_options. */

/* Several listeners may have the address, also in several processes; the system shares out. */
#define THRUM_LISTEN_SHARED 1u
/* An IPv6 address takes no IPv4 connections. */
#define THRUM_LISTEN_IPV6_ONLY 2u
/* Small writes on what it accepts may be delayed and sent together (Nagle's algorithm). */
#define THRUM_LISTEN_DELAY 4u
/* A UNIX socket's file in which nobody listens any more, as a crash leaves it, is replaced. */
#define THRUM_LISTEN_REPLACE 8u

/* How to listen; THRUM_LISTEN_OPTIONS_INIT sets the defaults. */
typedef struct thrum_listen_options {
    size_t size;      /* sizeof(thrum_listen_options); set by the init */
    unsigned flags;   /* THRUM_LISTEN_SHARED, ... */
    unsigned backlog; /* connections that wait to be accepted; 0: as many as may be */
    unsigned mode;    /* permissions of a UNIX socket's file; 0: what the process's mask says */
    size_t
        receive_buffer; /* bytes that the system keeps for each connection; 0: as it thinks fit */
    size_t send_buffer;
    thrum_time keepalive; /* silent peers of what it accepts are asked that often, at the least
                             every 32,767 s; 0: never */
} thrum_listen_options;

/* The defaults. */
/* clang-format off */
#define THRUM_LISTEN_OPTIONS_INIT { sizeof(thrum_listen_options), 0, 0, 0, 0, 0, 0 }
/* clang-format on */

/*
 * Listens at an address; for "udp:" and "unixgram:" it gives a socket that receives there.
 * `options` may be NULL and is not kept. Of TCP, an address whose last listener was closed a moment
 * ago can be had at once; "tcp::80" takes IPv6 and IPv4, or what of them there is; what it accepts
 * does not delay small writes. A close drops the connections that nobody has accepted, and leaves
 * the file of a UNIX socket behind. It suspends only to look a name up, whose first address that
 * can be had is taken.
 *
 * "activation:" takes over a socket that a service manager has opened: systemd for a unit with a
 * .socket, or another one that sets LISTEN_FDS, LISTEN_PID and LISTEN_FDNAMES (there the names are:
 * FileDescriptorName= of systemd). Each call gives the first that was not given before: of this
 * name or, without one, of all, whatever kind it is, so a program that is handed several kinds, as
 * listeners and datagrams, names them; all of them are closed on exec from then on. Of the options
 * only those are heeded that are about what is accepted; the rest is the manager's. A close leaves
 * the socket open at the manager's, with the connections that wait there.
 *
 * Errors, with nothing made: -EINVAL for an address or options that make no sense, -ENAMETOOLONG,
 * those of thrum_resolve; of "activation:" -ENOENT when the process was handed no socket, or no
 * more of the name, -EBADMSG when the environment makes no sense, -EBADF, -ENOTSOCK or -EOPNOTSUPP
 * when it names what is none that listens or takes datagrams; and the system's: -EADDRINUSE,
 * -EADDRNOTAVAIL, -EACCES, -EAFNOSUPPORT, -EMFILE, -ENFILE, -ENOMEM, -ENOENT for a directory that
 * is not there, ...
 */
THRUM_API THRUM_NODISCARD int thrum_listen(thrum_io *out, const char *address,
                                           const thrum_listen_options *options);

/*
 * Takes a connection, waiting until there is one. Callers are served in their order. On a listener
 * that was not made by the library (thrum_io_adopt, "activation:") O_NONBLOCK is set, until it is
 * given back or closed. It may suspend. A connection that ended before it was taken is none.
 * Errors: -ETIMEDOUT, -ECANCELED; -EINVAL, -EOPNOTSUPP or -ENOTSOCK for what does not listen;
 * -EMFILE or -ENFILE, with the connection still there; -ENOMEM or -ENOBUFS, with which it may be
 * lost.
 */
THRUM_API THRUM_NODISCARD int thrum_accept(thrum_io listener, thrum_io *out);
THRUM_API THRUM_NODISCARD int thrum_accept_until(thrum_io listener, thrum_io *out,
                                                 thrum_time deadline);

/*
 * Connects to an address. A name's addresses are tried side by side, in the order in which the
 * system gives them but IPv6 and IPv4 in turn: the next one 250 ms after the one before, or when
 * that has failed; the first that answers wins. TCP does not delay small writes. A "udp:" or
 * "unixgram:" socket then exchanges datagrams with that address only; the other side of "unixgram:"
 * sees a name that the system has made up. It may suspend.
 *
 * Errors, with nothing made: -EINVAL for an address that makes no sense, -ENAMETOOLONG, -ETIMEDOUT,
 * -ECANCELED, those of thrum_resolve, or the system's for the address: -ECONNREFUSED, -ENETUNREACH,
 * -EHOSTUNREACH, -ENOENT for a UNIX socket that is not there, -EACCES, -EMFILE, -ENFILE, -ENOMEM.
 * Of several addresses it is that of the one that failed first and could at least be tried.
 */
THRUM_API THRUM_NODISCARD int thrum_dial(thrum_io *out, const char *address, thrum_time deadline);

/*
 * Writes the address of a socket, or of its other side, as a text that thrum_dial understands;
 * THRUM_ADDRESS_TEXT bytes hold any. "unix:" alone is a socket without an address. IPv4 addresses
 * are written as such, also when an IPv6 socket has them. It never suspends. It returns 0, -ENOSPC
 * with nothing written, -ENOTSOCK, -ENOTCONN, or -EAFNOSUPPORT.
 */
THRUM_API THRUM_NODISCARD int thrum_io_local(thrum_io io, char *text, size_t size);
THRUM_API THRUM_NODISCARD int thrum_io_peer(thrum_io io, char *text, size_t size);

/* ---- options of a socket ---- */

/* What a socket can be told after it was made. */
typedef enum {
    THRUM_IO_NO_DELAY,  /* TCP: small writes are sent at once: 1, as it is from the beginning */
    THRUM_IO_KEEPALIVE, /* TCP: a silent peer is asked that often, in nanoseconds, at the least
                           every 32,767 s; 0: never */
    THRUM_IO_RECEIVE_BUFFER, /* bytes that the system keeps; it may take more or less than asked */
    THRUM_IO_SEND_BUFFER,
    THRUM_IO_BROADCAST, /* UDP: datagrams may go to all of a network */
    THRUM_IO_RESET,     /* TCP: a close drops what was not sent, and the other side is told */
    THRUM_IO_OPTIONS
} thrum_io_option;

/*
 * Sets an option of a socket, or writes what it is to `value`. It never suspends. It returns 0;
 * -EINVAL for no option, or a value below 0; -ENOTSOCK; -EOPNOTSUPP or -ENOPROTOOPT for a socket
 * that has no such option.
 */
THRUM_API int thrum_io_set_option(thrum_io io, thrum_io_option option, int64_t value);
THRUM_API int thrum_io_get_option(thrum_io io, thrum_io_option option, int64_t *value);

/* ---- addresses and names ---- */

/*
 * An address as the system has it, without what it is for. A value; all zero is none. As a text it
 * is "127.0.0.1:80", "[::1]:80", "/path", "./path" or "@name".
 */
typedef struct thrum_address {
    uint32_t reserved_size;
    uint32_t reserved_zero;
    uint64_t reserved_words[15];
} thrum_address;
THRUM_STATIC_ASSERT(sizeof(thrum_address) == 128, "part of the ABI");

/*
 * Reads an address from a text: one of those above, or one of thrum_dial's with numbers. It never
 * suspends. It returns 0, -EINVAL for anything else, -ENAMETOOLONG, or, where it names an interface
 * ("[fe80::1%eth0]:80"), -EMFILE or -ENFILE: the system finds that by a descriptor.
 */
THRUM_API THRUM_NODISCARD int thrum_address_parse(thrum_address *out, const char *text);

/*
 * Writes the text of an address, of none the empty one; THRUM_ADDRESS_TEXT bytes hold any. It never
 * suspends. It returns 0, or -ENOSPC with nothing written.
 */
THRUM_API THRUM_NODISCARD int thrum_address_text(const thrum_address *address, char *text,
                                                 size_t size);

/* Families of addresses. */
#define THRUM_IPV4 4u
#define THRUM_IPV6 6u

/*
 * Looks up the addresses of a host, of one family or, for 0, of any, in the order in which they are
 * to be tried, and gives them this port. The system's own resolver is asked (/etc/hosts, DNS, ...),
 * by a thread of the library's, while the caller waits. Callers that ask for the same name at the
 * same time get the same answer; nothing is kept for later. A caller that gives up leaves the
 * system's call alone, which may go on for long. Numbers are not looked up. It may suspend.
 *
 * The process looks up at most 16 names at a time; others wait for their turn. Lookups that all
 * callers have given up do not count, and if none of the others has ended for 20 ms, one more is
 * begun, up to 1024 in all. A name that would have to wait is first looked up in the system's
 * hosts file; "localhost" counts as one of its names in any case.
 *
 * It returns how many addresses it has written, at most `max` and at most 32, or an error: -EINVAL
 * for no name, no such family or a `max` of 0; -ENAMETOOLONG; -ENOENT when there is no such name,
 * or it has no such address; -EAGAIN when no server could tell, or the system refuses a
 * thread, and there are none, or none has begun a lookup for 100 ms; -EMFILE or -ENFILE when the
 * resolver gets no descriptor; -EIO for its other failures; -ENOMEM; -ETIMEDOUT; -ECANCELED.
 */
THRUM_API THRUM_NODISCARD int thrum_resolve(const char *host, uint16_t port, unsigned family,
                                            thrum_address *out, unsigned max, thrum_time deadline);

/* ---- datagrams ---- */

/*
 * Sends one datagram, to an address or, with NULL, to the one that the socket was dialed to. It
 * waits for room. It may suspend. It returns `size`, or an error: -EOPNOTSUPP for what has no
 * datagrams, -EMSGSIZE for too many bytes, -EDESTADDRREQ or -ENOTCONN without an address,
 * -ETIMEDOUT, -ECANCELED, and the system's, of which -ECONNREFUSED may be about an earlier one.
 */
THRUM_API THRUM_NODISCARD int64_t thrum_send_to(thrum_io io, const void *from, size_t size,
                                                const thrum_address *to, thrum_time deadline);

/*
 * Takes one datagram, waiting until there is one; `from`, which may be NULL, gets where it comes
 * from. It may suspend. It returns the datagram's length, of which the first `size` bytes have been
 * written and the rest is lost. An empty one is 0; so is the end of a "seqpacket:" connection.
 * Errors: -EOPNOTSUPP, -ETIMEDOUT, -ECANCELED, and the system's, of which -ECONNREFUSED says that
 * nobody receives at the address that was dialed.
 */
THRUM_API THRUM_NODISCARD int64_t thrum_receive_from(thrum_io io, void *to, size_t size,
                                                     thrum_address *from, thrum_time deadline);

/* One of several datagrams. */
typedef struct thrum_datagram {
    void *data;
    size_t size;           /* bytes to be sent, or of room */
    size_t length;         /* of one that was received, as thrum_receive_from returns it */
    thrum_address address; /* to where, or from where; all zero: as the socket was dialed */
} thrum_datagram;

/*
 * Sends n datagrams, in order, in as few calls of the system as can be. It may suspend. It returns
 * n, fewer when an error, the deadline or a cancel came in between, or, if that came first, its
 * code. Errors are those of thrum_send_to.
 */
THRUM_API THRUM_NODISCARD int thrum_send_many(thrum_io io, const thrum_datagram *datagrams,
                                              unsigned n, thrum_time deadline);

/*
 * Takes the datagrams that are there, at most n, waiting until there is one. It may suspend. It
 * returns how many. Errors are those of thrum_receive_from, and -EINVAL for an n of 0.
 */
THRUM_API THRUM_NODISCARD int thrum_receive_many(thrum_io io, thrum_datagram *datagrams, unsigned n,
                                                 thrum_time deadline);

/* ---- descriptors ---- */

/* The most descriptors that are passed at once. */
#define THRUM_FDS_MAX 253u

/*
 * Writes bytes to a UNIX socket, and passes n descriptors with the first of them: the other side
 * gets duplicates, and the caller keeps its own. One that the library has taken over is passed by
 * its thrum_io_fd. It may suspend. It returns what thrum_write_until does. Errors are that one's,
 * and -EINVAL without a byte, for more than THRUM_FDS_MAX or for another socket, and -EBADF also
 * when one of them is no descriptor.
 */
THRUM_API THRUM_NODISCARD int64_t thrum_send_fds(thrum_io io, const void *from, size_t size,
                                                 const int *fds, unsigned n, thrum_time deadline);

/*
 * Reads bytes from a UNIX socket, at least one, and the descriptors that came with them: *n says
 * how many there is room for, and becomes how many came. They are the caller's, and closed on exec.
 * What came with other descriptors is not read with them. It may suspend. It returns the number of
 * bytes, 0 at the end, or an error, with an *n of 0: -EMSGSIZE when more descriptors came, or the
 * process may have no more: all are closed, and the bytes are lost; -EINVAL for another socket,
 * -ETIMEDOUT, -ECANCELED, and the system's.
 */
THRUM_API THRUM_NODISCARD int64_t thrum_receive_fds(thrum_io io, void *to, size_t size, int *fds,
                                                    unsigned *n, thrum_time deadline);

THRUM_END_DECLS

#endif
