/*
 * socket.h: the part of the platform's contract that is about sockets: their addresses, how they
 * are made, datagrams, descriptors that are passed, names. Included by platform.h.
 *
 * No call here waits but th_os_resolve.
 */
#ifndef TH_SOCKET_H
#define TH_SOCKET_H

#include "base/cc.h"

/* ---- addresses ---- */

typedef enum th_os_family { TH_OS_UNNAMED, TH_OS_IPV4, TH_OS_IPV6, TH_OS_LOCAL } th_os_family;

/* An address as the system has it: `size` bytes of it, 0 for none. */
#define TH_OS_ADDRESS_WORDS 15u
typedef struct th_os_address {
    uint32_t size;
    uint32_t zero; /* always 0 */
    uint64_t words[TH_OS_ADDRESS_WORDS];
} th_os_address;

th_os_family th_os_address_family(const th_os_address *address);

/*
 * The address that a numeric host names ("127.0.0.1", "::1", "fe80::1%eth0"): 0, -EINVAL when it is
 * a name, or the code with which the system does not find the interface, such as -EMFILE.
 */
int th_os_address_numeric(th_os_address *out, const char *host, uint16_t port);
/* All addresses of the host, of this family: TH_OS_IPV4, TH_OS_IPV6. */
void th_os_address_any(th_os_address *out, th_os_family family, uint16_t port);
/*
 * A UNIX address: a path or, if `abstract`, a name that is no file; -ENAMETOOLONG. A length of 0
 * has the system choose a name when the socket is bound.
 */
int th_os_address_local(th_os_address *out, const char *name, size_t length, bool abstract);

/* The port, 0 for UNIX addresses, which cannot have one set. */
uint16_t th_os_address_port(const th_os_address *address);
void th_os_address_set_port(th_os_address *address, uint16_t port);

/* Whether they are equal. */
bool th_os_address_is(const th_os_address *a, const th_os_address *b);

/*
 * Writes "127.0.0.1:80", "[::1]:80", "/path", "./path", "@name" or "": 0, or -ENOSPC. TEXT bytes
 * hold any.
 */
#define TH_OS_ADDRESS_TEXT 128u
int th_os_address_text(const th_os_address *address, char *text, size_t size);

/*
 * Looks a name up, of one family or of any (TH_OS_UNNAMED), with port 0, in the order in which they
 * are to be tried. Returns how many addresses there are, at most `max`, or -ENOENT (there is no
 * such name, or it has no address), -EAGAIN (no server knew), -EIO, -ENOMEM, ... It may block the
 * thread for long.
 */
int th_os_resolve(const char *host, th_os_family family, th_os_address out[], unsigned max);
/* Writes the path of the system's file of hosts. */
void th_os_hosts_path(char *path, size_t size);

/* ---- sockets ---- */

typedef enum th_os_style { TH_OS_BYTES, TH_OS_DATAGRAMS, TH_OS_PACKETS } th_os_style;

/* Makes a socket that is closed on exec and whose calls do not wait: its number or a code. */
int th_os_socket_open(th_os_family family, th_os_style style);
/* Its family and style; -ENOTSOCK. Families that are not known here: TH_OS_UNNAMED. */
int th_os_socket_what(int fd, th_os_family *family, th_os_style *style);

int th_os_socket_bind(int fd, const th_os_address *address);
int th_os_socket_listen(int fd, int backlog);
/*
 * Whether something may come to it from anywhere: 0 if it listens, or takes datagrams and is not
 * connected; -EOPNOTSUPP if not; -ENOTSOCK, -EBADF.
 */
int th_os_socket_waits(int fd);
/*
 * 0, -EINPROGRESS (it is connected or not once it is ready to write: th_os_socket_error), -EAGAIN
 * (a UNIX listener has too many already, and there will be no notice when it has room), or another
 * code.
 */
int th_os_socket_connect(int fd, const th_os_address *address);
/* The error that the system has kept for the socket, which it forgets then; or 0. */
int th_os_socket_error(int fd);
int th_os_socket_local(int fd, th_os_address *out);
int th_os_socket_peer(int fd, th_os_address *out); /* -ENOTCONN */

/*
 * The file of a UNIX socket that is about to be bound gets these permissions, less the process's
 * mask; th_os_local_mode gives it exactly these afterwards.
 */
int th_os_socket_mode(int fd, unsigned mode);
int th_os_local_mode(const th_os_address *address, unsigned mode);
/* Removes the file of a UNIX address if it is a socket; -ENOTSOCK. */
int th_os_local_remove(const th_os_address *address);

/* Options. Values are 0 or 1, except for sizes in bytes and times in nanoseconds. */
typedef enum th_os_option {
    TH_OS_REUSE_ADDRESS,
    TH_OS_REUSE_PORT,
    TH_OS_IPV6_ONLY,
    TH_OS_NO_DELAY,
    TH_OS_KEEP_ALIVE, /* the time after which it is asked, and between two; 0: never */
    TH_OS_RECEIVE_BUFFER,
    TH_OS_SEND_BUFFER,
    TH_OS_BROADCAST,
    TH_OS_RESET, /* a close drops unsent bytes, and resets the connection */
    TH_OS_OPTIONS
} th_os_option;
int th_os_socket_set(int fd, th_os_option option, int64_t value);
int64_t th_os_socket_get(int fd,
                         th_os_option option); /* the value, -1 of linger, or a code below */

/* ---- messages ---- */

typedef struct th_os_message {
    void *data;
    size_t size;
    size_t length;         /* how long the message is, which may be more than `size` */
    th_os_address address; /* to where, from where; empty: none */
} th_os_message;

/*
 * Sends or takes up to n messages: how many, at least 1, -EAGAIN or another code. No signal is
 * raised.
 */
int th_os_socket_send(int fd, const th_os_message messages[], unsigned n);
int th_os_socket_receive(int fd, th_os_message messages[], unsigned n);

/*
 * Sends bytes together with descriptors, which stay open here: how many bytes, or a code. The
 * descriptors go with the first byte.
 */
#define TH_OS_FDS_MAX 253u
int64_t th_os_socket_send_fds(int fd, const void *from, size_t size, const int fds[], unsigned n);
/*
 * Takes bytes, and up to *n descriptors that came with them, which are closed on exec; *n becomes
 * their number. -EMSGSIZE: there were more, or the process has reached its limit; they are closed,
 * all of them, and the bytes are lost.
 */
int64_t th_os_socket_receive_fds(int fd, void *to, size_t size, int fds[], unsigned *n);

/* ---- a listener for the process's own user ---- */

typedef struct th_os_private {
    int fd;
    th_os_address address;
} th_os_private;

/*
 * Listens at $XDG_RUNTIME_DIR/thrum/PID or, if that is impossible, /tmp/thrum-UID/PID: both folders
 * are made, or must be, the user's own and closed to others; on Windows at a port written in a file
 * of the user's. Leftovers of an ended process there are replaced. 0, -EPERM (somebody else's
 * folder), -EADDRINUSE, or the system's code.
 */
int th_os_private_open(th_os_private *out);
/* Takes a connection: its descriptor; -EPERM: it was another user's, neither ours nor root, and is
 * closed; or a code as th_os_io_accept. */
int th_os_private_accept(const th_os_private *listener);
/*
 * Whether the peer's user cannot be found out: then a connection begins with a line, and only the
 * user knows the right one.
 */
bool th_os_private_asks(void);
bool th_os_private_admits(const char *line);
/* Closes it, and removes its file. */
void th_os_private_close(th_os_private *listener);

#endif
