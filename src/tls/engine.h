/*
 * engine.h: one connection in OpenSSL, between two stores of encrypted bytes. Nothing here waits.
 *
 *     bytes received -> in -> [OpenSSL] -> bytes read
 *     bytes written -> [OpenSSL] -> out -> bytes to be sent
 *
 * OpenSSL's calls are made in engine.c and context.c alone (config.c only counts references), so
 * that no task is ever suspended within one, nor within a function that has the address of a
 * thread-local at hand: errno, the queue of errors. Each call here empties that queue before and
 * behind it, and keeps errno. The caller holds the connection's lock, unless the connection is not
 * open yet.
 */
#ifndef TH_TLS_ENGINE_H
#define TH_TLS_ENGINE_H

#include <openssl/ssl.h>
#include <stdint.h>

#include "thrum/io.h"
#include "tls/bytes.h"

typedef struct th_tls_engine {
    SSL *ssl;
    th_tls_bytes in; /* memory of TH_TLS_IN bytes; empty wherever a call has wanted more */
    th_tls_bytes out;
    SSL_SESSION *fresh; /* a new one that is not kept yet, or NULL */
    int code;           /* the code with which the connection has failed, or 0 */
    int refused;        /* out could not take bytes: why */
    bool ended;         /* the other side's close_notify has come */
    bool closed;        /* ours is in `out`, or was */
    bool is_open;       /* the handshake is done */
    char text[200];     /* why it has failed */
} th_tls_engine;

/* A record of the greatest length that TLS allows, and a little more. */
#define TH_TLS_RECORD ((size_t)16384)
#define TH_TLS_IN (TH_TLS_RECORD + 1024)

/* Bytes that a write encrypts before they are sent. */
#define TH_TLS_CHUNK (4 * TH_TLS_RECORD)

/* The findings of the handshake; see thrum/tls.h. */
typedef struct th_tls_found {
    const char *version;
    const char *cipher;
    char *subject; /* allocated, or NULL */
    char protocol[256];
    bool resumed;
} th_tls_found;

/*
 * errno of the thread that runs now. Calls of their own, for the compiler knows nothing of threads
 * that change in a wait; nor does the thread sanitizer, to which tasks are threads, know that those
 * which run on one thread share it.
 */
int th_tls_errno_get(void);
void th_tls_errno_set(int error);

/*
 * The rest of the block calls OpenSSL: the thread's list of errors is empty before and after it,
 * and errno stays.
 */
#define TH_TLS_CALLS                                                                               \
    const int errno_kept_ __attribute__((unused, cleanup(th_tls_calls_end))) = th_tls_calls_begin()
int th_tls_calls_begin(void);
void th_tls_calls_end(const int *errno_kept);

/* Makes the inside of a connection: 0 or -ENOMEM. `host` is NULL of servers, and may be. */
int th_tls_engine_open(th_tls_engine *engine, SSL_CTX *ctx, bool is_server, const char *host,
                       SSL_SESSION *session);
void th_tls_engine_close(th_tls_engine *engine);

/* These return -EAGAIN where they need more bytes in `in`, which is empty then. */
int th_tls_engine_handshake(th_tls_engine *engine);
int64_t th_tls_engine_read(th_tls_engine *engine, void *to, size_t size);

/* Encrypts up to TH_TLS_CHUNK bytes into `out`: 0, or a code. */
int th_tls_engine_write(th_tls_engine *engine, const void *from, size_t size);

/* Puts the close_notify into `out`: 0, or a code. */
int th_tls_engine_end(th_tls_engine *engine);

/* Whether a read would not want more. */
bool th_tls_engine_is_readable(th_tls_engine *engine);

/*
 * Notes a text about an event, unless there is one already; the second function: about a
 * failure.
 */
void th_tls_engine_note(th_tls_engine *engine, const char *text);
void th_tls_engine_fail(th_tls_engine *engine, int code, const char *text);

/* Reads the handshake's findings: 0 or -ENOMEM. */
int th_tls_engine_found(th_tls_engine *engine, th_tls_found *found);

/* Called by OpenSSL: a session has come that may be resumed. It stays the engine's. */
int th_tls_engine_keep(SSL *ssl, SSL_SESSION *session);

#endif
