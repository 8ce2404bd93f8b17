/*
 * thrum/tls.h: TLS over a thrum_io: encrypted bytes, and who the other side is. It is no part of
 * <thrum.h>, and a library of its own, libthrum-tls, which needs OpenSSL 3 (pkg-config: thrum-tls;
 * CMake: find_package(thrum COMPONENTS tls), thrum::tls).
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
 * A config is made once, and any number of connections use it. A connection's calls suspend the
 * task as those of thrum/io.h do, and only in those: no task waits in the middle of OpenSSL, whose
 * queue of errors is empty before and behind each use of it here. Of its own, a connection takes
 * 17 KiB for what comes, up to twice that for what it has written, and while much is written 200
 * KiB more; and there is what OpenSSL takes.
 *
 * **The end.** 0 from a read says that the other side has ended what it had to say, by its
 * close_notify. -ECONNRESET says that the bytes ended without that: what has come may be cut off,
 * by whomever. -EPROTO: what came is no TLS, was changed on its way, or is an alert of the other
 * side's; -EACCES: its certificate is not trusted, or is missing. thrum_tls_error has words
 * for them. After -EPROTO and -EACCES all reads and writes return the code.
 *
 * Deadlines are absolute; the short forms wait for ever. Waits end as those of thrum/io.h do:
 * -ETIMEDOUT, -ECANCELED, -EBADF when the descriptor was closed. Any thread may call everything
 * here, several at a time; thrum_tls_close and thrum_tls_config_free have to be the only call on
 * what they end. No call changes errno.
 */
#ifndef THRUM_TLS_H
#define THRUM_TLS_H

#include "thrum/base.h"
#include "thrum/io.h"
#include "thrum/stream.h"

THRUM_BEGIN_DECLS

typedef struct thrum_tls_config thrum_tls_config; /* certificates, and whom to trust */
typedef struct thrum_tls thrum_tls;               /* a connection */

/* The least version that is spoken. */
#define THRUM_TLS_1_2 0x0303u
#define THRUM_TLS_1_3 0x0304u

/* What is asked of the other side's certificate. */
#define THRUM_TLS_PEER_DEFAULT 0u /* a client trusts only known servers, a server asks nobody */
#define THRUM_TLS_PEER_NONE 1u    /* anybody is trusted: a client talks to whoever answers */
#define THRUM_TLS_PEER_OPTIONAL                                                                    \
    2u /* a server's clients may show one; one that is shown is checked */
#define THRUM_TLS_PEER_REQUIRED 3u /* they must */

/* How a config is made; THRUM_TLS_OPTIONS_INIT sets the defaults. */
typedef struct thrum_tls_options {
    size_t size;            /* sizeof(thrum_tls_options); set by the init */
    const char *chain_file; /* PEM: the own certificate, and behind it those that vouch for it */
    const char *key_file;   /* PEM: its private key, without a password */
    const char *ca_file;    /* PEM: whom to trust; NULL: clients trust the system's */
    thrum_iovec chain;      /* the same in memory, each in place of the file */
    thrum_iovec key;
    thrum_iovec ca;
    const char *const
        *protocols;       /* ALPN: names, the best one first, behind them NULL; NULL: none */
    unsigned version_min; /* THRUM_TLS_1_2 or _3; a server has no CBC ciphers, nor RSA's exchange */
    unsigned peer;        /* THRUM_TLS_PEER_... */
    bool no_tickets;      /* connections are not resumed */
} thrum_tls_options;

/* clang-format off */
#define THRUM_TLS_OPTIONS_INIT { sizeof(thrum_tls_options), NULL, NULL, NULL, { NULL, 0 }, \
    { NULL, 0 }, { NULL, 0 }, NULL, THRUM_TLS_1_2, THRUM_TLS_PEER_DEFAULT, 0 }
/* clang-format on */

/*
 * Sets the defaults, which are the values of THRUM_TLS_OPTIONS_INIT. Any thread may call it. It
 * never suspends and cannot fail.
 */
THRUM_API void thrum_tls_options_init(thrum_tls_options *options);

/*
 * Makes the config of a server, which has a certificate and a key, or of a client, which may have
 * them (NULL: the defaults). Nothing of the options is kept. Any thread may call them. They never
 * suspend, and read the files, which may block the thread on a disk. They return 0, with *out the
 * caller's; or with *out NULL -EINVAL for options that make no sense (a server that asks for
 * certificates has to be told whom to trust), the system's code for a file (-ENOENT, -EACCES,
 * ...), -EBADMSG for one that is not what it should be, or a key of another certificate, -ENOMEM.
 */
THRUM_API THRUM_NODISCARD int thrum_tls_config_server(thrum_tls_config **out,
                                                      const thrum_tls_options *options);
THRUM_API THRUM_NODISCARD int thrum_tls_config_client(thrum_tls_config **out,
                                                      const thrum_tls_options *options);

/*
 * Makes a config anew, from files that have changed, say, while it is in use: connections that
 * begin later have the new one, others keep what they began with. A client forgets its sessions,
 * and keeps none of connections that began before, whenever their tickets come. A server that asks
 * for certificates before or after the reload resumes no sessions from before it. Any thread may
 * call it. It may suspend, for a moment. It returns 0, or the codes of thrum_tls_config_server with
 * the config unchanged.
 */
THRUM_API THRUM_NODISCARD int thrum_tls_config_reload(thrum_tls_config *config,
                                                      const thrum_tls_options *options);

/*
 * Ends a config; connections that were begun with it go on. Any thread may call it, as the only
 * call on the config. NULL: it does nothing. It may suspend, for a moment, and cannot fail.
 */
THRUM_API void thrum_tls_config_free(thrum_tls_config *config);

/*
 * Makes a connection over a descriptor, and does the handshake: as the client, who names the host
 * that it wants, for the server to choose by and for its certificate to be held against (a name,
 * with or without a dot at its end, or an address; NULL only with THRUM_TLS_PEER_NONE), or as the
 * server. **The descriptor is the connection's from this call on**, whatever it returns. Any thread
 * may call them. They may suspend.
 *
 * They return 0, or -ETIMEDOUT, -ECANCELED, -EACCES, -EPROTO, -ECONNRESET, -ENOMEM, or the system's
 * for the descriptor. If *out is not NULL with such a code, the connection is there for
 * thrum_tls_error and thrum_tls_close only, where it must end up all the same. With *out NULL the
 * descriptor is closed: -ENOMEM, or -EINVAL for NULL, a host that is empty or longer than 255
 * bytes, or a config of the other kind.
 *
 * A server of TLS 1.3 judges a client's certificate when the client's handshake is over: the
 * client learns by -EPROTO from its first read.
 */
THRUM_API THRUM_NODISCARD int thrum_tls_client(thrum_tls **out, thrum_tls_config *config,
                                               thrum_io io, const char *host, thrum_time deadline);
THRUM_API THRUM_NODISCARD int thrum_tls_server(thrum_tls **out, thrum_tls_config *config,
                                               thrum_io io, thrum_time deadline);

/*
 * Reads what is there, waiting until there is at least a byte; the system is asked only where
 * nothing has come yet. It may run beside writes; other readers wait for their turn. Any thread may
 * call it. It may suspend. It returns the number of bytes, 0 at the end or for a `size` of 0, or a
 * code, as the head says.
 */
THRUM_API THRUM_NODISCARD int64_t thrum_tls_read(thrum_tls *tls, void *to, size_t size);
THRUM_API THRUM_NODISCARD int64_t thrum_tls_read_until(thrum_tls *tls, void *to, size_t size,
                                                       thrum_time deadline);

/*
 * Returns whether a read would not wait, since a byte, the end or an error is there already: before
 * waiting for the descriptor (thrum_serve_idle) it is to be asked. Any thread may call it. It may
 * suspend, for a moment, and cannot fail.
 */
THRUM_API bool thrum_tls_is_readable(thrum_tls *tls);

/*
 * Writes all of it, in records of up to 16 KiB of which 4 go out together. It may run beside reads;
 * other writers wait for their turn. Any thread may call it. It may suspend. It returns `size`;
 * less when an error, the deadline or a cancel cut it short, and if nothing was written the code:
 * -EPIPE after thrum_tls_shutdown.
 *
 * What has been encrypted cannot be taken back. After a write that was cut short up to 64 KiB more
 * than it said may be on their way. So the rest must follow, from where the count says: a write
 * that begins with the same bytes goes on with them. Whatever else is written then comes behind
 * them.
 */
THRUM_API THRUM_NODISCARD int64_t thrum_tls_write(thrum_tls *tls, const void *from, size_t size);
THRUM_API THRUM_NODISCARD int64_t thrum_tls_write_until(thrum_tls *tls, const void *from,
                                                        size_t size, thrum_time deadline);
/*
 * Does the same for several pieces of memory, in order. It returns -EINVAL for more than
 * THRUM_IOVECS_MAX pieces.
 */
THRUM_API THRUM_NODISCARD int64_t thrum_tls_writev_until(thrum_tls *tls, const thrum_iovec *parts,
                                                         unsigned n, thrum_time deadline);

/*
 * Tells the other side that nothing more will be written (close_notify), which then reads the end;
 * reads go on. Any thread may call it. It may suspend. It returns 0, also for the second time, or
 * a code of writing; after -ETIMEDOUT or -ECANCELED it may be called again.
 */
THRUM_API THRUM_NODISCARD int thrum_tls_shutdown(thrum_tls *tls, thrum_time deadline);

/*
 * Ends a connection: does thrum_tls_shutdown, unless the connection has failed, until the deadline
 * only; a past one, as 0, sends nothing. Then it closes the descriptor, whatever that has returned,
 * and frees the connection. Any thread may call it, as the only call on the connection: a reader
 * that still waits is ended by thrum_io_close(thrum_tls_io(tls)) first. NULL: it does nothing. It
 * may suspend. It returns 0, or what the shutdown or else the close of the descriptor has returned.
 */
THRUM_API int thrum_tls_close(thrum_tls *tls, thrum_time deadline);

/*
 * Makes a stream over a connection (thrum/stream.h), which closes the connection when it is closed,
 * unless it is told to keep it (`keep_io`). Any thread may call it. It never suspends. It returns
 * 0, or, with the connection still the caller's, the codes of thrum_stream_open.
 */
THRUM_API THRUM_NODISCARD int thrum_tls_stream_open(thrum_stream *stream, thrum_tls *tls,
                                                    const thrum_stream_options *options);

/* ---- what is known of a connection ---- */

/*
 * Returns the descriptor, which stays the connection's: for thrum_serve_idle, thrum_io_peer and the
 * like. Any thread may call it. It never suspends and cannot fail.
 */
THRUM_API thrum_io thrum_tls_io(const thrum_tls *tls);

/*
 * What the handshake has found: the protocol (ALPN; "": none), the version ("TLSv1.3"), the cipher,
 * and the subject of the other side's certificate ("CN=example.org,O=..."; "": it has shown none).
 * They return texts that live as long as the connection, and are empty if the handshake has failed.
 * Any thread may call them. They never suspend and cannot fail.
 */
THRUM_API const char *thrum_tls_protocol(const thrum_tls *tls);
THRUM_API const char *thrum_tls_version(const thrum_tls *tls);
THRUM_API const char *thrum_tls_cipher(const thrum_tls *tls);
THRUM_API const char *thrum_tls_subject(const thrum_tls *tls);

/*
 * Returns whether the connection goes on with the session of an earlier one, by its ticket. Clients
 * keep the last session of up to 32 hosts in their config. Any thread may call it. It never
 * suspends and cannot fail.
 */
THRUM_API bool thrum_tls_is_resumed(const thrum_tls *tls);

/*
 * Writes in words why the connection has failed, "certificate has expired", say, cut to `size` with
 * a 0 behind it; an empty text if it has not. Any thread may call it. It may suspend, for a moment,
 * and cannot fail.
 */
THRUM_API void thrum_tls_error(thrum_tls *tls, char *text, size_t size);

THRUM_END_DECLS

#endif
