/*
 * config.h: a config: OpenSSL's context, which is replaced as a whole, and a client's sessions.
 *
 * The context is constant once it is there, and connections hold references; but it may be replaced
 * by another. The only OpenSSL calls under the lock count references.
 */
#ifndef TH_TLS_CONFIG_H
#define TH_TLS_CONFIG_H

#include <openssl/ssl.h>

#include "thrum/mutex.h"
#include "thrum/tls.h"

#define TH_TLS_SESSIONS 32u

typedef struct th_tls_kept {
    char *host;
    SSL_SESSION *session;
} th_tls_kept;

struct thrum_tls_config {
    bool is_server; /* constant */
    thrum_mutex lock;

    /* Under the lock. */
    unsigned references; /* the caller's, and one for each connection */
    unsigned next;       /* where the next session is put */
    bool must_name;      /* a client's: it has to name the host */
    bool asks;           /* a server's: it asks for certificates */
    SSL_CTX *ctx;
    th_tls_kept kept[TH_TLS_SESSIONS]; /* a client's: sessions that `ctx` has verified */
};

/*
 * Begins a connection: one more reference to the config, and one to the context that it has now and
 * the session kept for the host (NULL: none). They never wait for long.
 */
int th_tls_config_begin(thrum_tls_config *config, bool is_server, const char *host, SSL_CTX **ctx,
                        SSL_SESSION **session);
void th_tls_config_end(thrum_tls_config *config);

/*
 * Keeps a session of a connection that began with `ctx` for the next connection to this host, if
 * that is the context still: another one may trust others. The reference is the config's then. The
 * connection has a reference to `ctx`, so no other context has its address.
 */
void th_tls_config_keep(thrum_tls_config *config, const SSL_CTX *ctx, const char *host,
                        SSL_SESSION *session);

/*
 * Makes a context. It takes the ticket keys of `before`, which is NULL or the context that it
 * replaces. 0 or a code. (context.c)
 */
int th_tls_context_make(SSL_CTX **out, const thrum_tls_options *options, bool is_server,
                        SSL_CTX *before);

/*
 * Writes "NAME: REASON" to the memory that the options have for it, unless a text is there. No
 * name: the reason alone. No reason: that of the code. Returns the code.
 */
int th_tls_refused(const thrum_tls_options *options, int code, const char *name,
                   const char *reason);

/* Gives a context or a session back. NULL: nothing. */
void th_tls_context_free(SSL_CTX *ctx);
void th_tls_session_free(SSL_SESSION *session);

/* Whether clients look at whom they talk to, and servers ask. */
static inline bool th_tls_verifies(const thrum_tls_options *options, bool is_server) {
    return is_server ? options->peer >= THRUM_TLS_PEER_OPTIONAL
                     : options->peer != THRUM_TLS_PEER_NONE;
}

#endif
