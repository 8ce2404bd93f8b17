/*
 * thrum/net.h: connections and datagrams: TCP, UDP and UNIX sockets. Addresses are texts that begin
 * with their kind:
 *
 *     tcp:127.0.0.1:80    tcp:[::1]:80    tcp:example.org:80
 *     tcp::80             to listen: all addresses of this machine
 *     udp:127.0.0.1:53    datagrams; hosts and ports as for tcp
 *     unix:/run/socket    a connection on this machine, by the path of a file that listening makes
 *     unix:@name          the same by a name that is no file, so that no file remains
 *     unixgram:/path      datagrams on this machine, which arrive, and in order
 *     seqpacket:/path     a connection of messages on this machine
 *     activation:name     to listen: a socket that this process was started with (LISTEN_FDS); see
 *                         thrum_listen. "activation:" alone: the first of them
 *
 * A port is a number. With 0 a listener gets a port that the system chooses (thrum_io_local returns
 * it). The system looks up names of hosts, on threads of the library; numbers are never looked up.
 *
 * The results are thrum_ios, so the rules of thrum/io.h hold: for waits, deadlines and cancels,
 * several callers at once, and forks. All descriptors that are made here are closed on exec. Any
 * thread may make all calls here.
 */
#ifndef THRUM_NET_H
#define THRUM_NET_H

#include "thrum/base.h"
#include "thrum/io.h"

THRUM_BEGIN_DECLS

/* The most bytes of the text of an address, with the zero at its end. */
#define THRUM_ADDRESS_TEXT 160u

/* ---- connections ---- */

/* A flag of thrum_listen_options: several listeners may have the address, also in several
 * processes, and the system distributes the connections. */
#define THRUM_LISTEN_SHARED 1u
/* A flag of thrum_listen_options: an IPv6 address takes no IPv4 connections. */
#define THRUM_LISTEN_IPV6_ONLY 2u
/* A flag of thrum_listen_options: small writes on accepted connections may be delayed and sent
 * together (Nagle's algorithm). */
#define THRUM_LISTEN_DELAY 4u
/* A flag of thrum_listen_options: if nobody listens at the file of a UNIX socket, as after a crash,
 * the file is replaced. */
#define THRUM_LISTEN_REPLACE 8u

/* How to listen. The caller owns it; THRUM_LISTEN_OPTIONS_INIT sets the defaults. */
typedef struct thrum_listen_options {
    size_t size;      /* sizeof(thrum_listen_options); set by the init */
    unsigned flags;   /* THRUM_LISTEN_SHARED, ... */
    unsigned backlog; /* the most connections that wait to be accepted; 0: the system's maximum */
    unsigned mode;    /* permissions of a UNIX socket's file; 0: 0777 less the process's umask */
    size_t receive_buffer; /* bytes that the system keeps for each connection; 0: its own choice */
    size_t send_buffer;    /* the same for bytes that are sent */
    thrum_time keepalive;  /* ns from one probe of a silent peer of an accepted connection to the
                              next, at most 32,767 s; 0: no probes */
} thrum_listen_options;

/* The initializer of a thrum_listen_options: the defaults, which are zeros. */
/* clang-format off */
#define THRUM_LISTEN_OPTIONS_INIT { sizeof(thrum_listen_options), 0, 0, 0, 0, 0, 0 }
/* clang-format on */

/*
 * Listens at an address. For "udp:" and "unixgram:" the result is a socket that receives there.
 *
 * A TCP address whose last listener was closed a moment ago can be used at once. "tcp::80" takes
 * IPv6 and IPv4, or the one of them that the machine has. Accepted TCP connections do not delay
 * small writes. A close drops the connections that nobody has accepted, and leaves the file of a
 * UNIX socket behind. If the address has a name, the call looks it up and takes the first of its
 * addresses that can be used.
 *
 * "activation:" takes over a socket that a service manager has opened (socket activation). It is
 * systemd for a unit with a .socket, or another manager that sets LISTEN_FDS, LISTEN_PID and
 * LISTEN_FDNAMES. With systemd the names are those of FileDescriptorName=. Each call takes the
 * first socket that no earlier call has taken: with this name or, without a name, any. So a program
 * that gets sockets of several kinds, such as listeners and datagrams, should name them. From then
 * on all of them are closed on exec. Only the options about accepted connections have an effect;
 * the manager has set the others. A close leaves the manager's copy of the socket open, with the
 * connections that wait there.
 *
 * Parameters:
 *   out      set to the listener, which is the caller's to close
 *   address  the address, one of the texts above
 *   options  how to listen, or NULL for the defaults; not kept
 * Returns: 0, or a negative error code; nothing is opened then. Codes not listed below are the
 *   system's for the address.
 * Errors:
 *   -EINVAL           the address has none of the forms above: it begins with its kind, as in
 *                     "tcp:127.0.0.1:80", and has a port. Or the options make no sense, or a
 *                     pointer is NULL
 *   -ENAMETOOLONG     a host has more than 255 bytes, or a path or name is too long
 *   -EADDRINUSE       somebody listens there already, or the file of the UNIX socket exists
 *   -EADDRNOTAVAIL    the machine does not have the address
 *   -EACCES           the process may not listen there
 *   -EAFNOSUPPORT     the system does not have this kind of address
 *   -ENOENT           there is no such host or directory; for "activation:" the process got no
 *                     socket, or no further one of the name
 *   -EAGAIN           no name server could answer, or the system refuses a thread for the lookup
 *   -EIO              the lookup failed otherwise
 *   -ECANCELED        the caller was cancelled during the lookup
 *   -ESHUTDOWN        in the child of a fork: the lookup would wait
 *   -EMFILE, -ENFILE  the process or the system has too many descriptors
 *   -ENOMEM           there is no memory
 *   -EBADMSG          "activation:": the environment makes no sense
 *   -EBADF            "activation:": the environment names a descriptor that is not open
 *   -ENOTSOCK         "activation:": it names a descriptor that is no socket
 *   -EOPNOTSUPP       "activation:": it names a socket that neither listens nor takes datagrams
 * Context: any thread; may suspend; cancellable. It suspends only to look a name up.
 * Ordering: none.
 * Example: examples/echo.c
 * See also: thrum_accept, thrum_serve, thrum_io_local
 */
THRUM_API THRUM_NODISCARD int thrum_listen(thrum_io *out, const char *address,
                                           const thrum_listen_options *options);

/*
 * Takes a connection, and waits until there is one. Callers are served in their order.
 * thrum_accept_until gives up at the deadline.
 *
 * A connection that ended before it was taken does not count. On a listener that the library has
 * not made (thrum_io_adopt, "activation:") O_NONBLOCK is set until the listener is given back or
 * closed.
 *
 * Parameters:
 *   listener  the listener
 *   out       set to the connection, which is the caller's to close
 *   deadline  thrum_accept_until only: when to give up, an instant from thrum_after or
 *             THRUM_FOREVER
 * Returns: 0, or a negative error code.
 * Errors:
 *   -EINVAL           `out` is NULL, or `listener` does not listen
 *   -EOPNOTSUPP       `listener` is of a kind that does not listen
 *   -ENOTSOCK         `listener` is no socket
 *   -EBADF            `listener` is stale, or was closed or released during the call
 *   -ESHUTDOWN        in the child of a fork: `listener` is the parent's, or the call would wait
 *   -ETIMEDOUT        the deadline passed
 *   -ECANCELED        the caller was cancelled
 *   -EMFILE, -ENFILE  the process or the system has too many descriptors; the connection still
 *                     waits
 *   -ENOMEM           there is no memory; the connection may be lost
 *   -ENOBUFS          the system has no memory for sockets; the connection may be lost
 *   -ENOSPC           the user waits for too many descriptors (fs.epoll.max_user_watches)
 *   -ENOSYS           a sandbox refuses epoll or eventfd; some return another code
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    thrum_io io;
 *    while (thrum_accept(listener, &io) == 0) {
 *        talk(io);
 *        thrum_io_close(io);
 *    }
 * See also: thrum_serve, thrum_listen
 */
THRUM_API THRUM_NODISCARD int thrum_accept(thrum_io listener, thrum_io *out);
THRUM_API THRUM_NODISCARD int thrum_accept_until(thrum_io listener, thrum_io *out,
                                                 thrum_time deadline);

/*
 * Accepts a connection that is there already. It waits neither for one nor for other callers.
 *
 * Parameters:
 *   listener  the listener, as for thrum_accept
 *   out       set to the connection, which is the caller's to close
 * Returns: 0, or a negative error code.
 * Errors:
 *   -EAGAIN           no connection is there, or another caller is accepting
 *   -EINVAL           `out` is NULL, or `listener` does not listen
 *   -EOPNOTSUPP       `listener` is of a kind that does not listen
 *   -ENOTSOCK         `listener` is no socket
 *   -EBADF            `listener` is stale
 *   -ESHUTDOWN        in the child of a fork: `listener` is the parent's
 *   -EMFILE, -ENFILE  the process or the system has too many descriptors; the connection still
 *                     waits
 *   -ENOMEM           there is no memory; the connection may be lost
 *   -ENOBUFS          the system has no memory for sockets; the connection may be lost
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example:
 *    while (thrum_try_accept(listener, &io) == 0) {
 *        refuse(io); // all that wait, before the server ends
 *    }
 * See also: thrum_accept, thrum_try_read
 */
THRUM_API THRUM_NODISCARD int thrum_try_accept(thrum_io listener, thrum_io *out);

/*
 * Connects to an address. If a name has several addresses, they are tried side by side, in the
 * system's order but with IPv6 and IPv4 alternating. The next one is tried after 250 ms, or at once
 * when the one before fails; the first that answers wins.
 *
 * TCP connections do not delay small writes. A "udp:" or "unixgram:" socket then exchanges
 * datagrams with that address only. The peer of a "unixgram:" socket sees a name that the system
 * has chosen.
 *
 * Parameters:
 *   out       set to the connection, which is the caller's to close
 *   address   the address, with a host: "tcp::80" is only for listeners
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: 0, or a negative error code; nothing is opened then. If several addresses fail, it is
 *   the code of the first that could at least be tried. Codes not listed below are the system's for
 *   the address.
 * Errors:
 *   -EINVAL           the address has none of the forms above, as for thrum_listen, or a pointer is
 *                     NULL
 *   -ENAMETOOLONG     a host has more than 255 bytes, or a path or name is too long
 *   -ECONNREFUSED     nobody listens there
 *   -ENETUNREACH      there is no route to the network
 *   -EHOSTUNREACH     the host cannot be reached
 *   -ENOENT           there is no such host, or no such UNIX socket
 *   -EACCES           the process may not connect there
 *   -ETIMEDOUT        the deadline passed, or the host did not answer the system in time
 *   -ECANCELED        the caller was cancelled
 *   -EAGAIN           no name server could answer, or the system refuses a thread for the lookup
 *   -EIO              the lookup failed otherwise
 *   -ESHUTDOWN        in the child of a fork: the call would wait
 *   -EMFILE, -ENFILE  the process or the system has too many descriptors
 *   -ENOMEM           there is no memory
 *   -ENOSPC           the user waits for too many descriptors (fs.epoll.max_user_watches)
 *   -ENOSYS           a sandbox refuses epoll or eventfd; some return another code
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    thrum_io io;
 *    int err = thrum_dial(&io, "tcp:example.org:80", thrum_after_s(5));
 * See also: thrum_listen, thrum_resolve, thrum_tls_client
 */
THRUM_API THRUM_NODISCARD int thrum_dial(thrum_io *out, const char *address, thrum_time deadline);

/*
 * Writes the address of a socket or of its peer as a text. thrum_dial accepts the text.
 *
 * "unix:" alone is a socket without an address. IPv4 addresses are written as such, even if the
 * socket is an IPv6 one.
 *
 * Parameters:
 *   io    the socket
 *   text  memory for the text and a zero
 *   size  bytes of that memory; THRUM_ADDRESS_TEXT is enough for any address
 * Returns: 0, or a negative error code; `text` is not written then.
 * Errors:
 *   -ENOSPC        the text does not fit
 *   -EBADF         `io` is stale
 *   -ESHUTDOWN     in the child of a fork: `io` is the parent's
 *   -ENOTSOCK      `io` is no socket
 *   -ENOTCONN      thrum_io_peer only: the socket has no peer
 *   -EAFNOSUPPORT  the address is of another kind
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example:
 *    char text[THRUM_ADDRESS_TEXT];
 *    if (thrum_io_local(listener, text, sizeof text) == 0) {
 *        printf("listening at %s\n", text);
 *    }
 * See also: thrum_listen, thrum_dial
 */
THRUM_API THRUM_NODISCARD int thrum_io_local(thrum_io io, char *text, size_t size);
THRUM_API THRUM_NODISCARD int thrum_io_peer(thrum_io io, char *text, size_t size);

/* ---- options of a socket ---- */

/* An option of a socket, for thrum_io_set_option and thrum_io_get_option. */
typedef enum {
    THRUM_IO_NO_DELAY,  /* TCP: 1: small writes are sent at once, the default here; 0: they may be
                           delayed */
    THRUM_IO_KEEPALIVE, /* TCP: ns from one probe of a silent peer to the next, at most 32,767 s;
                           0: no probes */
    THRUM_IO_RECEIVE_BUFFER, /* bytes that the system keeps; it may take more or less than asked */
    THRUM_IO_SEND_BUFFER,    /* the same for bytes that are sent */
    THRUM_IO_BROADCAST,      /* UDP: 1: datagrams may go to all hosts of a network */
    THRUM_IO_RESET,  /* TCP: 1: a close drops unsent bytes and resets the connection at the peer */
    THRUM_IO_OPTIONS /* how many options there are */
} thrum_io_option;

/*
 * Sets an option of a socket, or reads it into `*value`.
 *
 * Parameters:
 *   io      the socket
 *   option  which option
 *   value   the new value, not below 0; thrum_io_get_option: set to the present one
 * Returns: 0, or a negative error code; nothing is changed then.
 * Errors:
 *   -EINVAL               there is no such option, or `value` is below 0 or NULL
 *   -EBADF                `io` is stale
 *   -ESHUTDOWN            in the child of a fork: `io` is the parent's
 *   -ENOTSOCK             `io` is no socket
 *   -EOPNOTSUPP, -ENOPROTOOPT  this kind of socket does not have the option
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example:
 *    int err = thrum_io_set_option(io, THRUM_IO_KEEPALIVE, THRUM_S(60));
 * See also: thrum_listen
 */
THRUM_API int thrum_io_set_option(thrum_io io, thrum_io_option option, int64_t value);
THRUM_API int thrum_io_get_option(thrum_io io, thrum_io_option option, int64_t *value);

/* ---- addresses and names ---- */

/*
 * An address in the system's form, without the kind of socket. It is a value; all zero is none. As
 * a text it is "127.0.0.1:80", "[::1]:80", "/path", "./path" or "@name".
 */
typedef struct thrum_address {
    uint32_t reserved_size;
    uint32_t reserved_zero;
    uint64_t reserved_words[15];
} thrum_address;
THRUM_STATIC_ASSERT(sizeof(thrum_address) == 128, "part of the ABI");

/*
 * Reads an address from a text. The text has no kind, such as "127.0.0.1:80", or is one for
 * thrum_dial with numbers. Names are not looked up (thrum_resolve).
 *
 * Parameters:
 *   out   set to the address
 *   text  the text
 * Returns: 0, or a negative error code; `*out` is unchanged then.
 * Errors:
 *   -EINVAL           the text is no address or has a name, or a pointer is NULL
 *   -ENAMETOOLONG     a path or name is too long
 *   -EMFILE, -ENFILE  the text names an interface ("[fe80::1%eth0]:80"), and there is no descriptor
 *                     to look for it
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example:
 *    thrum_address server;
 *    int err = thrum_address_parse(&server, "127.0.0.1:53");
 * See also: thrum_address_text, thrum_resolve, thrum_send_to
 */
THRUM_API THRUM_NODISCARD int thrum_address_parse(thrum_address *out, const char *text);

/*
 * Writes an address as a text; none is the empty text.
 *
 * Parameters:
 *   address  the address
 *   text     memory for the text and a zero
 *   size     bytes of that memory; THRUM_ADDRESS_TEXT is enough for any address
 * Returns: 0, or a negative error code; `text` is not written then.
 * Errors:
 *   -ENOSPC  the text does not fit
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example:
 *    char text[THRUM_ADDRESS_TEXT];
 *    if (thrum_address_text(&address, text, sizeof text) == 0) {
 *        printf("from %s\n", text);
 *    }
 * See also: thrum_address_parse
 */
THRUM_API THRUM_NODISCARD int thrum_address_text(const thrum_address *address, char *text,
                                                 size_t size);

/* The family of IPv4 addresses, for thrum_resolve. */
#define THRUM_IPV4 4u
/* The family of IPv6 addresses, for thrum_resolve. */
#define THRUM_IPV6 6u

/*
 * Looks up the addresses of a host, and gives them a port. They come in the order in which they are
 * to be tried. Numbers are not looked up.
 *
 * A thread of the library asks the system's resolver (/etc/hosts, DNS, ...) while the caller waits.
 * Callers that ask for the same name at the same time share one lookup; no result is kept for
 * later. If a caller gives up, the system's call goes on without it, which may take long.
 *
 * The process looks up at most 16 names at a time; further ones wait. Lookups that all callers have
 * given up do not count. If none of the others ends for 20 ms, one more begins, up to 1024 in all.
 * A name that would have to wait is looked up in the system's hosts file first. "localhost" always
 * counts as one of the names there.
 *
 * Parameters:
 *   host      the name, or a number
 *   port      the port of all results
 *   family    THRUM_IPV4, THRUM_IPV6, or 0 for both
 *   out       memory for `max` addresses
 *   max       the most addresses to write; there are at most 32
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: how many addresses were written, at least 1, or a negative error code. Codes not listed
 *   below are the resolver's, from the system.
 * Errors:
 *   -EINVAL           `host` is NULL or empty, `out` is NULL, `max` is 0, or there is no such
 *                     family
 *   -ENAMETOOLONG     `host` has more than 255 bytes
 *   -ENOENT           there is no such host, or it has no address of the family
 *   -EAGAIN           no name server could answer; or the system refuses a thread and none has
 *                     begun a lookup for 100 ms
 *   -EIO              the resolver failed otherwise
 *   -EMFILE, -ENFILE  the process or the system has no descriptor for the resolver
 *   -ENOMEM           there is no memory
 *   -ETIMEDOUT        the deadline passed
 *   -ECANCELED        the caller was cancelled
 *   -ESHUTDOWN        in the child of a fork: the call would wait
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    thrum_address found[4];
 *    int n = thrum_resolve("example.org", 53, THRUM_IPV4, found, 4, thrum_after_s(5));
 * See also: thrum_dial, thrum_address_parse
 */
THRUM_API THRUM_NODISCARD int thrum_resolve(const char *host, uint16_t port, unsigned family,
                                            thrum_address *out, unsigned max, thrum_time deadline);

/* ---- datagrams ---- */

/*
 * Sends one datagram, and waits for room.
 *
 * Parameters:
 *   io        a socket for datagrams or messages
 *   from      the bytes, the caller's
 *   size      how many bytes
 *   to        the address to send to; NULL: the one that the socket was dialed to
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: `size`, or a negative error code. Codes not listed below are the system's, such as
 *   -ENETUNREACH.
 * Errors:
 *   -EOPNOTSUPP           `io` has no datagrams
 *   -EMSGSIZE             there are more bytes than a datagram can have
 *   -EDESTADDRREQ, -ENOTCONN  there is no address to send to
 *   -ECONNREFUSED         nobody receives there; it may be about an earlier datagram
 *   -EBADF                `io` is stale, or was closed or released during the call
 *   -ESHUTDOWN            in the child of a fork: `io` is the parent's, or the call would wait
 *   -ETIMEDOUT            the deadline passed
 *   -ECANCELED            the caller was cancelled
 *   -EMFILE, -ENFILE      the process or the system has no descriptor for a wait
 *   -ENOMEM               there is no memory for a wait
 *   -ENOSPC               the user waits for too many descriptors (fs.epoll.max_user_watches)
 *   -ENOSYS               a sandbox refuses epoll or eventfd; some return another code
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    if (thrum_send_to(io, query, size, &server, thrum_after_s(1)) == (int64_t)size) {
 *        n = thrum_receive_from(io, answer, sizeof answer, NULL, thrum_after_s(5));
 *    }
 * See also: thrum_send_many, thrum_receive_from, thrum_address_parse
 */
THRUM_API THRUM_NODISCARD int64_t thrum_send_to(thrum_io io, const void *from, size_t size,
                                                const thrum_address *to, thrum_time deadline);

/*
 * Takes one datagram, and waits until there is one.
 *
 * An empty datagram is 0, and so is the end of a "seqpacket:" connection.
 *
 * Parameters:
 *   io        a socket for datagrams or messages
 *   to        memory for `size` bytes
 *   size      the most bytes to write; the rest of a longer datagram is lost
 *   from      set to the sender's address, or NULL
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: the datagram's length, which may be above `size`, or a negative error code. Codes not
 *   listed below are the system's.
 * Errors:
 *   -EOPNOTSUPP       `io` has no datagrams
 *   -ECONNREFUSED     nobody receives at the address that was dialed
 *   -EBADF            `io` is stale, or was closed or released during the call
 *   -ESHUTDOWN        in the child of a fork: `io` is the parent's, or the call would wait
 *   -ETIMEDOUT        the deadline passed
 *   -ECANCELED        the caller was cancelled
 *   -EMFILE, -ENFILE  the process or the system has no descriptor for a wait
 *   -ENOMEM           there is no memory for a wait
 *   -ENOSPC           the user waits for too many descriptors (fs.epoll.max_user_watches)
 *   -ENOSYS           a sandbox refuses epoll or eventfd; some return another code
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    thrum_address peer;
 *    int64_t n = thrum_receive_from(io, text, sizeof text, &peer, THRUM_FOREVER);
 *    if (n >= 0 && n <= (int64_t)sizeof text) {
 *        n = thrum_send_to(io, text, (size_t)n, &peer, thrum_after_s(1));
 *    }
 * See also: thrum_receive_many, thrum_send_to
 */
THRUM_API THRUM_NODISCARD int64_t thrum_receive_from(thrum_io io, void *to, size_t size,
                                                     thrum_address *from, thrum_time deadline);

/*
 * Sends one datagram, or receives one that is there, without waiting for room, for a datagram or
 * for other callers.
 *
 * Parameters:
 *   io     a socket for datagrams or messages
 *   data   the bytes to send, or memory for the received ones
 *   size   how many bytes
 *   to     as for thrum_send_to
 *   from   as for thrum_receive_from
 * Returns: as thrum_send_to and thrum_receive_from, or a negative error code. Codes not listed
 *   below are the system's, such as -ENETUNREACH.
 * Errors:
 *   -EAGAIN      there is no room, or no datagram; or another caller is sending or receiving
 *   -EOPNOTSUPP  `io` has no datagrams
 *   -EBADF       `io` is stale
 *   -ESHUTDOWN   in the child of a fork: `io` is the parent's
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example:
 *    while (thrum_try_receive_from(io, text, sizeof text, NULL) >= 0) { // drops old ones
 *    }
 * See also: thrum_send_to, thrum_receive_from, thrum_try_read
 */
THRUM_API THRUM_NODISCARD int64_t thrum_try_send_to(thrum_io io, const void *data, size_t size,
                                                    const thrum_address *to);
THRUM_API THRUM_NODISCARD int64_t thrum_try_receive_from(thrum_io io, void *data, size_t size,
                                                         thrum_address *from);

/* One of several datagrams. The memory of its bytes is the caller's. */
typedef struct thrum_datagram {
    void *data;            /* the bytes, or memory for them */
    size_t size;           /* bytes to be sent, or of that memory */
    size_t length;         /* of one that was received, as thrum_receive_from returns it */
    thrum_address address; /* to where, or from where; all zero: as the socket was dialed */
} thrum_datagram;

/*
 * Sends several datagrams, in order. It makes as few calls of the system as possible.
 *
 * Parameters:
 *   io         a socket for datagrams or messages
 *   datagrams  the datagrams, the caller's
 *   n          how many there are
 *   deadline   when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: `n`, or fewer if an error, the deadline or a cancel came after so many; a negative error
 *   code if none was sent. Codes not listed below are the system's, such as -ENETUNREACH.
 * Errors:
 *   -EOPNOTSUPP           `io` has no datagrams
 *   -EMSGSIZE             the first has more bytes than a datagram can have
 *   -EDESTADDRREQ, -ENOTCONN  the first has no address to go to
 *   -ECONNREFUSED         nobody receives there; it may be about an earlier datagram
 *   -EBADF                `io` is stale, or was closed or released during the call
 *   -ESHUTDOWN            in the child of a fork: `io` is the parent's, or the call would wait
 *   -ETIMEDOUT            the deadline passed
 *   -ECANCELED            the caller was cancelled
 *   -EMFILE, -ENFILE      the process or the system has no descriptor for a wait
 *   -ENOMEM               there is no memory for a wait
 *   -ENOSPC               the user waits for too many descriptors (fs.epoll.max_user_watches)
 *   -ENOSYS               a sandbox refuses epoll or eventfd; some return another code
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    thrum_datagram two[2] = {{.data = a, .size = sizeof a}, {.data = b, .size = sizeof b}};
 *    int sent = thrum_send_many(io, two, 2, thrum_after_s(1));
 * See also: thrum_send_to, thrum_receive_many
 */
THRUM_API THRUM_NODISCARD int thrum_send_many(thrum_io io, const thrum_datagram *datagrams,
                                              unsigned n, thrum_time deadline);

/*
 * Takes the datagrams that are there. If there are none, it waits for the first.
 *
 * Parameters:
 *   io         a socket for datagrams or messages
 *   datagrams  each has memory for the bytes; the call sets `length` and `address`
 *   n          the most datagrams to take
 *   deadline   when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: how many were taken, at least 1, or a negative error code. Codes not listed below are
 *   the system's.
 * Errors:
 *   -EINVAL           `n` is 0
 *   -EOPNOTSUPP       `io` has no datagrams
 *   -ECONNREFUSED     nobody receives at the address that was dialed
 *   -EBADF            `io` is stale, or was closed or released during the call
 *   -ESHUTDOWN        in the child of a fork: `io` is the parent's, or the call would wait
 *   -ETIMEDOUT        the deadline passed
 *   -ECANCELED        the caller was cancelled
 *   -EMFILE, -ENFILE  the process or the system has no descriptor for a wait
 *   -ENOMEM           there is no memory for a wait
 *   -ENOSPC           the user waits for too many descriptors (fs.epoll.max_user_watches)
 *   -ENOSYS           a sandbox refuses epoll or eventfd; some return another code
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    thrum_datagram some[2] = {{.data = a, .size = sizeof a}, {.data = b, .size = sizeof b}};
 *    int came = thrum_receive_many(io, some, 2, THRUM_FOREVER);
 * See also: thrum_receive_from, thrum_send_many
 */
THRUM_API THRUM_NODISCARD int thrum_receive_many(thrum_io io, thrum_datagram *datagrams, unsigned n,
                                                 thrum_time deadline);

/* ---- descriptors ---- */

/* The most descriptors that are passed at once. */
#define THRUM_FDS_MAX 253u

/*
 * Writes bytes to a UNIX socket, and passes descriptors. They come with the first byte. The peer
 * gets duplicates, and the caller keeps its own. To pass a descriptor that the library has taken
 * over, use its thrum_io_fd.
 *
 * A call that is cut short behaves as thrum_write_until does.
 *
 * Parameters:
 *   io        a UNIX socket
 *   from      the bytes, the caller's
 *   size      how many bytes, at least 1
 *   fds       the descriptors
 *   n         how many descriptors, at most THRUM_FDS_MAX
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: `size`, or fewer if the call was cut short after so many bytes; a negative error code if
 *   no byte was written. Codes not listed below are the system's.
 * Errors:
 *   -EINVAL           `size` is 0, `n` is above THRUM_FDS_MAX, or `io` is no UNIX socket
 *   -EBADF            `io` is stale, or was closed or released during the call; or one of `fds` is
 *                     not open
 *   -ESHUTDOWN        in the child of a fork: `io` is the parent's, or the call would wait
 *   -ETIMEDOUT        the deadline passed
 *   -ECANCELED        the caller was cancelled
 *   -EPIPE            the peer no longer reads
 *   -EMFILE, -ENFILE  the process or the system has no descriptor for a wait
 *   -ENOMEM           there is no memory for a wait
 *   -ENOSPC           the user waits for too many descriptors (fs.epoll.max_user_watches)
 *   -ENOSYS           a sandbox refuses epoll or eventfd; some return another code
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    int fd = thrum_io_fd(connection);
 *    int64_t n = thrum_send_fds(worker, "c", 1, &fd, 1, thrum_after_s(1));
 * See also: thrum_receive_fds
 */
THRUM_API THRUM_NODISCARD int64_t thrum_send_fds(thrum_io io, const void *from, size_t size,
                                                 const int *fds, unsigned n, thrum_time deadline);

/*
 * Reads bytes and descriptors from a UNIX socket. It waits for at least one byte, and returns the
 * descriptors that came with it. The descriptors are the caller's, and closed on exec.
 *
 * One call does not join bytes that came with different descriptors.
 *
 * Parameters:
 *   io        a UNIX socket
 *   to        memory for `size` bytes
 *   size      the most bytes to read, at least 1
 *   fds       memory for `*n` descriptors
 *   n         set to how many descriptors came, to 0 with an error
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: the number of bytes, 0 at the end, or a negative error code. Codes not listed below are
 *   the system's.
 * Errors:
 *   -EINVAL           `n` is NULL, `size` is 0, or `io` is no UNIX socket
 *   -EMSGSIZE         more descriptors came than there is room for, or than the process may have;
 *                     all are closed, and the bytes are lost
 *   -EBADF            `io` is stale, or was closed or released during the call
 *   -ESHUTDOWN        in the child of a fork: `io` is the parent's, or the call would wait
 *   -ETIMEDOUT        the deadline passed
 *   -ECANCELED        the caller was cancelled
 *   -EMFILE, -ENFILE  the process or the system has no descriptor for a wait
 *   -ENOMEM           there is no memory for a wait
 *   -ENOSPC           the user waits for too many descriptors (fs.epoll.max_user_watches)
 *   -ENOSYS           a sandbox refuses epoll or eventfd; some return another code
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    int fd;
 *    unsigned n = 1;
 *    char c;
 *    if (thrum_receive_fds(master, &c, 1, &fd, &n, THRUM_FOREVER) == 1 && n == 1) {
 *        err = thrum_io_adopt(&connection, fd);
 *    }
 * See also: thrum_send_fds, thrum_io_adopt
 */
THRUM_API THRUM_NODISCARD int64_t thrum_receive_fds(thrum_io io, void *to, size_t size, int *fds,
                                                    unsigned *n, thrum_time deadline);

THRUM_END_DECLS

#endif
