/*
 * thrum/tls.h: TLS over a thrum_io: it encrypts a connection and authenticates the peer. It is not
 * in <thrum.h>, but in a separate library, libthrum-tls, which needs OpenSSL 3 (pkg-config:
 * thrum-tls; CMake: find_package(thrum COMPONENTS tls), thrum::tls).
 *
 *     thrum_tls_config *config;
 *     thrum_tls *tls;
 *     int err = thrum_tls_config_client(&config, NULL);
 *     ...
 *     err = thrum_dial(&io, "tcp:example.org:443", deadline);
 *     if (err == 0) {
 *         err = thrum_tls_client(&tls, config, io, "example.org", deadline);
 *         if (err == 0 && thrum_tls_write_until(tls, request, size, deadline) == (int64_t)size) {
 *             n = thrum_tls_read_until(tls, answer, sizeof answer, deadline);
 *         }
 *         thrum_tls_close(tls, deadline);
 *     }
 *
 * A config is made once, for any number of connections. The calls of a connection suspend the task
 * as those of thrum/io.h do, and only in those: no task waits inside OpenSSL. OpenSSL's queue of
 * errors is empty before and after each use of it here. A connection takes 17 KiB for incoming
 * bytes and up to twice that for written ones. While it writes much, it takes 200 KiB more.
 * OpenSSL's own memory comes on top.
 *
 * **The end.** The result 0 of a read means that the peer has ended its side, by its close_notify.
 * The code -ECONNRESET means that the bytes ended without it: somebody may have cut them off.
 * -EPROTO means no TLS, changed bytes, or an alert of the peer. -EACCES means that the peer's
 * certificate is not trusted or missing. After these two all reads and writes return the code.
 * thrum_tls_error writes the reason.
 *
 * Deadlines are absolute; the short forms wait for ever. Any thread may make all calls here,
 * several at a time; thrum_tls_close and thrum_tls_config_free must be the only call on their
 * object. No call changes errno.
 */
#ifndef THRUM_TLS_H
#define THRUM_TLS_H

#include "thrum/base.h"
#include "thrum/io.h"
#include "thrum/stream.h"

THRUM_BEGIN_DECLS

/* Certificates, keys and trust of connections. The caller owns it, until thrum_tls_config_free. */
typedef struct thrum_tls_config thrum_tls_config;
/* A TLS connection. The caller owns it; thrum_tls_close ends it. */
typedef struct thrum_tls thrum_tls;

#define THRUM_TLS_1_2 0x0303u /* a lowest version: TLS 1.2 */
#define THRUM_TLS_1_3 0x0304u /* a lowest version: TLS 1.3 */

#define THRUM_TLS_PEER_DEFAULT 0u /* a client trusts only known servers, a server asks no client */
#define THRUM_TLS_PEER_NONE 1u    /* any peer is trusted */
/* A server's clients may show a certificate; one that is shown is verified. */
#define THRUM_TLS_PEER_OPTIONAL 2u
#define THRUM_TLS_PEER_REQUIRED 3u /* a server's clients must show a certificate */

/* How a config is made. The caller owns it; THRUM_TLS_OPTIONS_INIT sets the defaults. */
typedef struct thrum_tls_options {
    size_t size;                  /* sizeof(thrum_tls_options); set by the init */
    const char *chain_file;       /* PEM: our certificate, and behind it its issuers' */
    const char *key_file;         /* PEM: its private key, without a password */
    const char *ca_file;          /* PEM: trusted certificates; NULL: a client uses the system's */
    thrum_iovec chain;            /* the bytes of `chain_file`, in place of the file */
    thrum_iovec key;              /* the bytes of `key_file`, in place of the file */
    thrum_iovec ca;               /* the bytes of `ca_file`, in place of the file */
    const char *const *protocols; /* ALPN: names, the best one first, ended by NULL; NULL: none */
    unsigned version_min; /* THRUM_TLS_1_2 or THRUM_TLS_1_3; a server has no CBC ciphers and no key
                             exchange by RSA */
    unsigned peer;        /* THRUM_TLS_PEER_DEFAULT, ... */
    bool no_tickets;      /* whether connections are never resumed */
    char *error;          /* memory for the reason of a failure, as text; NULL: none */
    size_t error_size;    /* bytes of that memory; a longer text is cut */
} thrum_tls_options;

/*
 * Sets the defaults of a config's options. They are no certificate, the system's trusted
 * certificates, TLS 1.2 at least, and tickets. THRUM_TLS_OPTIONS_INIT is the same as an
 * initializer.
 *
 * Parameters:
 *   options  the memory of the options
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example:
 *    thrum_tls_options options;
 *    thrum_tls_options_init(&options);
 *    options.version_min = THRUM_TLS_1_3;
 * See also: thrum_tls_config_server, thrum_tls_config_client
 */
/* clang-format off */
#define THRUM_TLS_OPTIONS_INIT { sizeof(thrum_tls_options), NULL, NULL, NULL, { NULL, 0 }, \
    { NULL, 0 }, { NULL, 0 }, NULL, THRUM_TLS_1_2, THRUM_TLS_PEER_DEFAULT, 0, NULL, 0 }
/* clang-format on */
THRUM_API void thrum_tls_options_init(thrum_tls_options *options);

/*
 * Makes the config of a server or of a client. A server needs a certificate and a key; a client may
 * have them. The calls read the files, which may block the thread on a disk.
 *
 * A server that asks for certificates (THRUM_TLS_PEER_OPTIONAL or THRUM_TLS_PEER_REQUIRED) needs
 * trusted certificates.
 *
 * If the call fails, it writes the reason to the memory `error` of the options, with the name of
 * the file: "key.pem: not the key of the certificate". If it succeeds, the text is empty. A call
 * with NULL for `out` or with a wrong `size` does not change the text.
 *
 * Parameters:
 *   out      set to the config, which is the caller's; NULL with an error
 *   options  how to make it, or NULL for the defaults; not kept
 * Returns: 0, or a negative error code. Codes not listed below are the system's for a file.
 * Errors:
 *   -EINVAL   the options make no sense, or `out` is NULL
 *   -ENOENT   there is no such file
 *   -EACCES   the process may not read a file
 *   -EBADMSG  the contents of a file are wrong, or the key is not that of the certificate
 *   -ENOMEM   there is no memory
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example:
 *    char why[200];
 *    thrum_tls_options options = THRUM_TLS_OPTIONS_INIT;
 *    options.chain_file = "cert.pem", options.key_file = "key.pem";
 *    options.error = why, options.error_size = sizeof why;
 *    if (thrum_tls_config_server(&config, &options) != 0) {
 *        fprintf(stderr, "%s\n", why);
 *    }
 * See also: thrum_tls_server, thrum_tls_client, thrum_tls_config_reload, thrum_tls_config_free
 */
THRUM_API THRUM_NODISCARD int thrum_tls_config_server(thrum_tls_config **out,
                                                      const thrum_tls_options *options);
THRUM_API THRUM_NODISCARD int thrum_tls_config_client(thrum_tls_config **out,
                                                      const thrum_tls_options *options);

/*
 * Replaces the contents of a config while it is in use. It is for files that have changed, for
 * example. Later connections use the new contents; the others keep theirs. The call reads the
 * files, which may block the thread on a disk.
 *
 * A client forgets its sessions, and keeps none of earlier connections, even if their tickets come
 * later. A server that asks for certificates, before or after the reload, resumes no earlier
 * sessions.
 *
 * If the call fails, the reason is in `error` of the options, as for thrum_tls_config_server.
 *
 * Parameters:
 *   config   the config
 *   options  how to make it; not kept
 * Returns: 0, or a negative error code; the config is then unchanged. Codes not listed below are
 *   the system's for a file.
 * Errors:
 *   -EINVAL   the options make no sense, or a pointer is NULL
 *   -ENOENT   there is no such file
 *   -EACCES   the process may not read a file
 *   -EBADMSG  the contents of a file are wrong, or the key is not that of the certificate
 *   -ENOMEM   there is no memory
 * Context: any thread; may suspend; not cancellable. The wait is short.
 * Ordering: none.
 * Example:
 *    int err = thrum_tls_config_reload(config, &options); // the same names, new files
 * See also: thrum_tls_config_server
 */
THRUM_API THRUM_NODISCARD int thrum_tls_config_reload(thrum_tls_config *config,
                                                      const thrum_tls_options *options);

/*
 * Ends a config. Connections that have begun with it go on. It must be the only call on the config.
 *
 * Parameters:
 *   config  the config, or NULL for no effect
 * Context: any thread; may suspend; not cancellable. The wait is short.
 * Ordering: none.
 * See also: thrum_tls_config_server
 */
THRUM_API void thrum_tls_config_free(thrum_tls_config *config);

/*
 * Makes a connection over a descriptor, and does the handshake. The caller is the client or the
 * server. **From this call on the descriptor is the connection's**, even after an error.
 *
 * If `*out` is not NULL with an error code, the connection exists only for thrum_tls_error and
 * thrum_tls_close, and the caller must close it. If `*out` is NULL, the descriptor is closed.
 *
 * A server of TLS 1.3 verifies a client's certificate after the client's handshake: the client gets
 * -EPROTO from its first read.
 *
 * Parameters:
 *   out       set to the connection
 *   config    a config of a client or of a server
 *   io        the descriptor
 *   host      a client's name for the server: a name, with or without a dot at its end, or an
 *             address. It is sent to the server and compared with its certificate. NULL only with
 *             THRUM_TLS_PEER_NONE
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: 0, or a negative error code. Codes not listed below are the system's for the descriptor.
 * Errors:
 *   -EINVAL           a pointer is NULL, `io` is {0}, the host is empty or longer than 255 bytes,
 *                     or the config is of the other kind
 *   -ECONNRESET       the bytes ended in the handshake
 *   -EPROTO           the bytes are no TLS or were changed on their way, or the peer sent an alert
 *   -EACCES           the peer's certificate is not trusted, or is missing
 *   -ETIMEDOUT        the deadline passed
 *   -ECANCELED        the caller was cancelled
 *   -EBADF            the descriptor is stale, or was closed or released during the call
 *   -ESHUTDOWN        in the child of a fork: the descriptor is the parent's, or the call would
 *                     wait
 *   -ENOMEM           there is no memory
 *   -EMFILE, -ENFILE  the process or the system has no descriptor for a wait
 *   -ENOSPC           the user waits for too many descriptors (fs.epoll.max_user_watches)
 *   -ENOSYS           a sandbox refuses epoll or eventfd; some return another code
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example: examples/tls_echo.c
 * See also: thrum_tls_read, thrum_tls_write, thrum_tls_close, thrum_tls_error
 */
THRUM_API THRUM_NODISCARD int thrum_tls_client(thrum_tls **out, thrum_tls_config *config,
                                               thrum_io io, const char *host, thrum_time deadline);
THRUM_API THRUM_NODISCARD int thrum_tls_server(thrum_tls **out, thrum_tls_config *config,
                                               thrum_io io, thrum_time deadline);

/*
 * Reads the bytes that are there. If there are none, it waits for the first. thrum_tls_read_until
 * gives up at the deadline.
 *
 * A read may run at the same time as a write; other readers wait until it has ended. The system is
 * asked only if no decrypted byte is there.
 *
 * Parameters:
 *   tls       the connection
 *   to        memory for `size` bytes
 *   size      the most bytes to read
 *   deadline  thrum_tls_read_until only: when to give up, an instant from thrum_after or
 *             THRUM_FOREVER
 * Returns: the number of bytes, 0 at the end or for a `size` of 0, or a negative error code. Codes
 *   not listed below are the system's for the descriptor.
 * Errors:
 *   -EINVAL           a pointer is NULL
 *   -ECONNRESET       the bytes ended without the peer's close_notify, or the connection was reset
 *   -EPROTO           the bytes are no TLS or were changed on their way, or the peer sent an alert
 *   -EACCES           the peer's certificate is not trusted, or is missing
 *   -ETIMEDOUT        the deadline passed
 *   -ECANCELED        the caller was cancelled
 *   -EBADF            the descriptor is stale, or was closed or released during the call
 *   -ESHUTDOWN        in the child of a fork: the descriptor is the parent's, or the call would
 *                     wait
 *   -ENOMEM           there is no memory
 *   -EMFILE, -ENFILE  the process or the system has no descriptor for a wait
 *   -ENOSPC           the user waits for too many descriptors (fs.epoll.max_user_watches)
 *   -ENOSYS           a sandbox refuses epoll or eventfd; some return another code
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    int64_t n = thrum_tls_read_until(tls, text, sizeof text, thrum_after_s(60));
 *    if (n < 0) {
 *        thrum_tls_error(tls, text, sizeof text);
 *    }
 * See also: thrum_tls_is_readable, thrum_tls_write, thrum_tls_stream_open
 */
THRUM_API THRUM_NODISCARD int64_t thrum_tls_read(thrum_tls *tls, void *to, size_t size);
THRUM_API THRUM_NODISCARD int64_t thrum_tls_read_until(thrum_tls *tls, void *to, size_t size,
                                                       thrum_time deadline);

/*
 * Returns whether a read would return at once. Then a byte, the end or an error is there already.
 * Call it before a wait for the descriptor (thrum_serve_idle).
 *
 * Parameters:
 *   tls  the connection
 * Returns: whether a read would not wait.
 * Context: any thread; may suspend; not cancellable. The wait is short.
 * Ordering: none.
 * Example:
 *    if (!thrum_tls_is_readable(tls)) {
 *        err = thrum_serve_idle(thrum_tls_io(tls), thrum_after_s(60));
 *    }
 * See also: thrum_tls_read, thrum_serve_idle
 */
THRUM_API bool thrum_tls_is_readable(thrum_tls *tls);

/*
 * Writes all bytes, in records of up to 16 KiB, of which 4 go out together. thrum_tls_write_until
 * and thrum_tls_writev_until give up at the deadline. A write may run at the same time as a read;
 * other writers wait until it has ended.
 *
 * Encrypted bytes cannot be taken back. If an error, the deadline or a cancel cuts the call short,
 * up to 64 KiB beyond the result may be on their way. So the rest must follow, from the place that
 * the result gives. A write that begins with the same bytes continues with them. A write of other
 * bytes puts them behind those.
 *
 * Parameters:
 *   tls       the connection
 *   from      the bytes
 *   size      how many bytes
 *   parts     pieces of memory with the bytes, in order
 *   n         how many pieces, at most THRUM_IOVECS_MAX
 *   deadline  the forms with _until only: when to give up, an instant from thrum_after or
 *             THRUM_FOREVER
 * Returns: the number of all bytes, or fewer if the call was cut short after so many; a negative
 *   error code if none was written. Codes not listed below are the system's for the descriptor.
 * Errors:
 *   -EINVAL           a pointer is NULL, or there are too many pieces or bytes
 *   -EPIPE            thrum_tls_shutdown was called, or the peer no longer reads
 *   -ECONNRESET       the connection was reset
 *   -EPROTO           the bytes are no TLS or were changed on their way, or the peer sent an alert
 *   -EACCES           the peer's certificate is not trusted, or is missing
 *   -ETIMEDOUT        the deadline passed
 *   -ECANCELED        the caller was cancelled
 *   -EBADF            the descriptor is stale, or was closed or released during the call
 *   -ESHUTDOWN        in the child of a fork: the descriptor is the parent's, or the call would
 *                     wait
 *   -ENOMEM           there is no memory
 *   -EMFILE, -ENFILE  the process or the system has no descriptor for a wait
 *   -ENOSPC           the user waits for too many descriptors (fs.epoll.max_user_watches)
 *   -ENOSYS           a sandbox refuses epoll or eventfd; some return another code
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    thrum_iovec parts[] = {{header, sizeof header}, {body, sizeof body}};
 *    int64_t n = thrum_tls_writev_until(tls, parts, 2, thrum_after_s(10));
 * See also: thrum_tls_read, thrum_tls_shutdown, thrum_tls_stream_open
 */
THRUM_API THRUM_NODISCARD int64_t thrum_tls_write(thrum_tls *tls, const void *from, size_t size);
THRUM_API THRUM_NODISCARD int64_t thrum_tls_write_until(thrum_tls *tls, const void *from,
                                                        size_t size, thrum_time deadline);
THRUM_API THRUM_NODISCARD int64_t thrum_tls_writev_until(thrum_tls *tls, const thrum_iovec *parts,
                                                         unsigned n, thrum_time deadline);

/*
 * Ends our side of a connection. It sends a close_notify, at which the peer reads the end. Reads go
 * on. After -ETIMEDOUT or -ECANCELED the call may be repeated.
 *
 * Parameters:
 *   tls       the connection
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: 0, also for the second time, or a negative error code. Codes not listed below are the
 *   system's for the descriptor.
 * Errors:
 *   -EINVAL           `tls` is NULL
 *   -EPIPE            the peer no longer reads
 *   -ECONNRESET       the connection was reset
 *   -EPROTO           the bytes are no TLS or were changed on their way, or the peer sent an alert
 *   -EACCES           the peer's certificate is not trusted, or is missing
 *   -ETIMEDOUT        the deadline passed
 *   -ECANCELED        the caller was cancelled
 *   -EBADF            the descriptor is stale, or was closed or released during the call
 *   -ESHUTDOWN        in the child of a fork: the descriptor is the parent's, or the call would
 *                     wait
 *   -ENOMEM           there is no memory
 *   -EMFILE, -ENFILE  the process or the system has no descriptor for a wait
 *   -ENOSPC           the user waits for too many descriptors (fs.epoll.max_user_watches)
 *   -ENOSYS           a sandbox refuses epoll or eventfd; some return another code
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    int err = thrum_tls_shutdown(tls, thrum_after_s(5)); // the request is complete
 *    int64_t n = err ? err : thrum_tls_read_until(tls, answer, sizeof answer, thrum_after_s(60));
 * See also: thrum_tls_close, thrum_tls_write
 */
THRUM_API THRUM_NODISCARD int thrum_tls_shutdown(thrum_tls *tls, thrum_time deadline);

/*
 * Ends a connection. It sends a close_notify, unless the connection has failed, closes the
 * descriptor and frees the connection. An error of the first does not prevent the others.
 *
 * It must be the only call on the connection: to end a reader that still waits, call
 * thrum_io_close(thrum_tls_io(tls)) first.
 *
 * Parameters:
 *   tls       the connection, or NULL for no effect
 *   deadline  when to give up sending; if it is past, as 0, nothing is sent
 * Returns: 0, or the negative error code of the close_notify, or else that of the descriptor's
 *   close. Codes not listed below are the system's for the descriptor.
 * Errors:
 *   -EPIPE            the peer no longer reads
 *   -ECONNRESET       the connection was reset
 *   -EPROTO           OpenSSL cannot make the close_notify
 *   -ETIMEDOUT        the deadline passed
 *   -ECANCELED        the caller was cancelled
 *   -EBADF            the descriptor is stale, or was closed or released during the call
 *   -ESHUTDOWN        in the child of a fork: the descriptor is the parent's, or the call would
 *                     wait
 *   -ENOMEM           there is no memory
 *   -EMFILE, -ENFILE  the process or the system has no descriptor for a wait
 *   -ENOSPC           the user waits for too many descriptors (fs.epoll.max_user_watches)
 *   -ENOSYS           a sandbox refuses epoll or eventfd; some return another code
 * Context: any thread; may suspend; cancellable. A cancel ends the sending only.
 * Ordering: none.
 * See also: thrum_tls_shutdown, thrum_tls_client
 */
THRUM_API int thrum_tls_close(thrum_tls *tls, thrum_time deadline);

/*
 * Makes a stream over a connection (thrum/stream.h). The close of the stream closes the connection,
 * unless `keep_io` is set.
 *
 * Parameters:
 *   stream   the memory of the stream, in use until the close; it must not move
 *   tls      the connection, which is the stream's from then on
 *   options  how to make it, or NULL for the defaults; not kept
 * Returns: 0, or a negative error code; the connection is then still the caller's.
 * Errors:
 *   -EINVAL  `stream` or `tls` is NULL, or the options make no sense
 *   -ENOMEM  there is no memory for the locks of a shared stream
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example:
 *    thrum_stream stream;
 *    int err = thrum_tls_stream_open(&stream, tls, NULL);
 *    if (err != 0) {
 *        thrum_tls_close(tls, 0);
 *    }
 * See also: thrum_stream_open, thrum_stream_close
 */
THRUM_API THRUM_NODISCARD int thrum_tls_stream_open(thrum_stream *stream, thrum_tls *tls,
                                                    const thrum_stream_options *options);

/* ---- the properties of a connection ---- */

/*
 * Returns the descriptor of a connection. It stays the connection's, and is for thrum_serve_idle,
 * thrum_io_peer and the like.
 *
 * Parameters:
 *   tls  the connection
 * Returns: the descriptor.
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example:
 *    char peer[THRUM_ADDRESS_TEXT];
 *    int err = thrum_io_peer(thrum_tls_io(tls), peer, sizeof peer);
 * See also: thrum_serve_idle, thrum_io_peer
 */
THRUM_API thrum_io thrum_tls_io(const thrum_tls *tls);

/*
 * Returns a result of the handshake. It is the protocol (ALPN), the version ("TLSv1.3"), the
 * cipher, or the subject of the peer's certificate ("CN=example.org,O=..."). Without a protocol, or
 * without a certificate, it is "".
 *
 * Parameters:
 *   tls  the connection
 * Returns: the text, which lives as long as the connection; "" if the handshake has failed.
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example:
 *    printf("%s, %s\n", thrum_tls_version(tls), thrum_tls_cipher(tls));
 * See also: thrum_tls_is_resumed
 */
THRUM_API const char *thrum_tls_protocol(const thrum_tls *tls);
THRUM_API const char *thrum_tls_version(const thrum_tls *tls);
THRUM_API const char *thrum_tls_cipher(const thrum_tls *tls);
THRUM_API const char *thrum_tls_subject(const thrum_tls *tls);

/*
 * Returns whether a connection resumes the session of an earlier one. It does so by a ticket.
 * Clients keep the last session of up to 32 hosts in their config.
 *
 * Parameters:
 *   tls  the connection
 * Returns: whether it resumes a session.
 * Context: any thread; never suspends.
 * Ordering: none.
 * See also: thrum_tls_version
 */
THRUM_API bool thrum_tls_is_resumed(const thrum_tls *tls);

/*
 * Writes why the connection has failed, such as "certificate has expired". If it has not failed,
 * the text is empty.
 *
 * Parameters:
 *   tls   the connection
 *   text  memory for the text and a zero
 *   size  bytes of that memory; a longer text is cut
 * Context: any thread; may suspend; not cancellable. The wait is short.
 * Ordering: none.
 * Example:
 *    char why[200];
 *    thrum_tls_error(tls, why, sizeof why);
 *    fprintf(stderr, "%s\n", why);
 * See also: thrum_tls_client
 */
THRUM_API void thrum_tls_error(thrum_tls *tls, char *text, size_t size);

THRUM_END_DECLS

#endif
