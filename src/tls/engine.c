/*
 * engine.c: see engine.h.
 */
#include "tls/engine.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdio.h>

/*
 * The most that may wait in `out`. Written data stays far below it; it is for a peer that makes us
 * answer (for instance with alerts) and takes no answer.
 */
#define OUT_MAX ((size_t)512 * 1024)

__attribute__((noinline, no_sanitize("thread"))) int th_tls_errno_get(void) {
    return errno;
}

__attribute__((noinline, no_sanitize("thread"))) void th_tls_errno_set(int error) {
    errno = error;
}

int th_tls_calls_begin(void) {
    const int kept = th_tls_errno_get();
    ERR_clear_error();
    return kept;
}

void th_tls_calls_end(const int *errno_kept) {
    ERR_clear_error();
    th_tls_errno_set(*errno_kept);
}

#if defined(__has_feature)
#define HAS_TSAN __has_feature(thread_sanitizer)
#elif defined(__SANITIZE_THREAD__)
#define HAS_TSAN 1
#else
#define HAS_TSAN 0
#endif
#if HAS_TSAN
/*
 * OpenSSL keeps random numbers and the like for each thread, which tasks that run on one share one
 * after the other: to the sanitizer, a race in a library that it cannot see into.
 */
__attribute__((weak, visibility("default"))) const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void) {
    return "called_from_lib:libcrypto.so\ncalled_from_lib:libssl.so\n";
}
#endif

/* ---- the stores for OpenSSL's reads and writes ---- */

static int bio_write(BIO *bio, const char *from, int size) {
    th_tls_engine *engine = BIO_get_data(bio);
    const size_t n = (size_t)size;
    BIO_clear_retry_flags(bio);
    engine->refused = th_tls_bytes_length(&engine->out) + n > OUT_MAX
                          ? -EPROTO
                          : th_tls_bytes_reserve(&engine->out, n);
    if (engine->refused) {
        return -1;
    }
    th_tls_bytes_add(&engine->out, from, n);
    return size;
}

static int bio_read(BIO *bio, char *to, int size) {
    th_tls_engine *engine = BIO_get_data(bio);
    th_tls_bytes *in = &engine->in;
    const size_t there = th_tls_bytes_length(in);
    const size_t n = (size_t)size < there ? (size_t)size : there;
    BIO_clear_retry_flags(bio);
    if (!n) {
        BIO_set_retry_read(bio);
        return -1;
    }
    memcpy(to, in->at + in->head, n);
    in->head += n;
    return (int)n;
}

static long bio_ctrl(BIO *bio, int what, long number, void *pointer) {
    (void)bio, (void)number, (void)pointer;
    return what == BIO_CTRL_FLUSH; /* all else is unknown, or nothing is to be done */
}

static CRYPTO_ONCE once = CRYPTO_ONCE_STATIC_INIT;
static BIO_METHOD *method; /* constant once it is there, as long as the process */

static void make_method(void) {
    BIO_METHOD *made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "thrum");
    if (made && BIO_meth_set_write(made, bio_write) && BIO_meth_set_read(made, bio_read) &&
        BIO_meth_set_ctrl(made, bio_ctrl)) {
        method = made;
    }
}

static BIO *make_bio(th_tls_engine *engine) {
    BIO *bio = CRYPTO_THREAD_run_once(&once, make_method) && method ? BIO_new(method) : NULL;
    if (bio) {
        BIO_set_data(bio, engine);
        BIO_set_init(bio, 1);
    }
    return bio;
}

/* ---- opening and closing ---- */

/* The server that a client wants: by an address, or by a name that is sent to the server. */
static bool set_host(SSL *ssl, const char *host) {
    X509_VERIFY_PARAM *param = SSL_get0_param(ssl);
    if (X509_VERIFY_PARAM_set1_ip_asc(param, host)) {
        return true;
    }
    X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set1_host(ssl, host) && SSL_set_tlsext_host_name(ssl, host);
}

static int open_ssl(th_tls_engine *engine, SSL_CTX *ctx, bool is_server, const char *host,
                    SSL_SESSION *session) {
    engine->ssl = SSL_new(ctx);
    engine->in.at = malloc(TH_TLS_IN);
    BIO *bio = engine->ssl ? make_bio(engine) : NULL;
    if (!bio || !engine->in.at) {
        BIO_free(bio);
        return -ENOMEM;
    }
    engine->in.capacity = TH_TLS_IN;
    SSL_set_bio(engine->ssl, bio, bio);
    SSL_set_app_data(engine->ssl, engine);
    if (is_server) {
        SSL_set_accept_state(engine->ssl);
        return 0;
    }
    SSL_set_connect_state(engine->ssl);
    if (session) {
        (void)SSL_set_session(engine->ssl, session); /* else the handshake is a whole one */
    }
    return host && !set_host(engine->ssl, host) ? -ENOMEM : 0;
}

int th_tls_engine_open(th_tls_engine *engine, SSL_CTX *ctx, bool is_server, const char *host,
                       SSL_SESSION *session) {
    TH_TLS_CALLS;
    *engine = (th_tls_engine){0};
    int code = open_ssl(engine, ctx, is_server, host, session);
    if (code) {
        th_tls_engine_close(engine);
    }
    return code;
}

void th_tls_engine_close(th_tls_engine *engine) {
    TH_TLS_CALLS;
    SSL_free(engine->ssl); /* and the BIO */
    SSL_SESSION_free(engine->fresh);
    th_tls_bytes_free(&engine->in);
    th_tls_bytes_free(&engine->out);
    engine->ssl = NULL;
    engine->fresh = NULL;
}

int th_tls_engine_keep(SSL *ssl, SSL_SESSION *session) {
    th_tls_engine *engine = SSL_get_app_data(ssl);
    SSL_SESSION_free(engine->fresh);
    engine->fresh = session;
    return 1; /* the reference is ours */
}

/* ---- failures ---- */

void th_tls_engine_note(th_tls_engine *engine, const char *text) {
    if (!engine->text[0]) {
        snprintf(engine->text, sizeof engine->text, "%s", text);
    }
}

void th_tls_engine_fail(th_tls_engine *engine, int code, const char *text) {
    engine->code = engine->code ? engine->code : code;
    th_tls_engine_note(engine, text);
}

/* Whether it is about the certificate that the other side has shown, or has not. */
static bool is_about_certificate(unsigned long error) {
    const int reason = ERR_GET_REASON(error);
    return ERR_GET_LIB(error) == ERR_LIB_SSL && (reason == SSL_R_CERTIFICATE_VERIFY_FAILED ||
                                                 reason == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE);
}

/* A call of OpenSSL has failed, and its first error has the reason. */
static int failed(th_tls_engine *engine) {
    const unsigned long error = ERR_peek_error();
    const long verified = SSL_get_verify_result(engine->ssl);
    const char *text = error ? ERR_reason_error_string(error) : NULL;
    int code = engine->refused ? engine->refused : -EPROTO;
    if (is_about_certificate(error)) {
        code = -EACCES;
        text = verified != X509_V_OK ? X509_verify_cert_error_string(verified) : text;
    } else if (ERR_GET_REASON(error) == ERR_R_MALLOC_FAILURE) {
        code = -ENOMEM;
    }
    th_tls_engine_fail(engine, code, text ? text : "the protocol was not kept to");
    return engine->code;
}

/* The meaning of the result of an unsuccessful call: -EAGAIN, 0 at the end, or a code. */
static int outcome(th_tls_engine *engine, int result) {
    switch (SSL_get_error(engine->ssl, result)) {
    case SSL_ERROR_WANT_READ:
        return -EAGAIN;
    case SSL_ERROR_ZERO_RETURN:
        engine->ended = true;
        return 0;
    default:
        return failed(engine);
    }
}

/* ---- calls ---- */

int th_tls_engine_handshake(th_tls_engine *engine) {
    TH_TLS_CALLS;
    int result = SSL_do_handshake(engine->ssl);
    int code = result == 1 ? 0 : outcome(engine, result);
    if (code == 0 && result != 1) { /* an end where there was no beginning */
        th_tls_engine_fail(engine, -EPROTO, "the other side has given up");
        code = -EPROTO;
    }
    engine->is_open = code == 0;
    return code;
}

/* Whether a call could find anything without more bytes. */
static bool is_dry(const th_tls_engine *engine) {
    return !th_tls_bytes_length(&engine->in) && !SSL_has_pending(engine->ssl);
}

int64_t th_tls_engine_read(th_tls_engine *engine, void *to, size_t size) {
    if (engine->code || engine->ended) {
        return engine->code;
    }
    if (is_dry(engine)) {
        return -EAGAIN;
    }
    size_t done = 0, n = 0;
    int code = 0;
    TH_TLS_CALLS;
    while (done < size && !code && !engine->ended && !is_dry(engine)) {
        int result = SSL_read_ex(engine->ssl, (char *)to + done, size - done, &n);
        if (result == 1) {
            done += n;
        } else {
            code = outcome(engine, result);
        }
    }
    /* A code behind bytes is that of the next read: it sticks, or bytes are missing still. */
    return done ? (int64_t)done : code ? code : engine->ended ? 0 : -EAGAIN;
}

bool th_tls_engine_is_readable(th_tls_engine *engine) {
    char byte;
    size_t n;
    if (engine->code || engine->ended) {
        return true;
    }
    if (is_dry(engine)) {
        return false;
    }
    TH_TLS_CALLS;
    int result = SSL_peek_ex(engine->ssl, &byte, 1, &n);
    int code = result == 1 ? 1 : outcome(engine, result);
    return code != -EAGAIN;
}

int th_tls_engine_write(th_tls_engine *engine, const void *from, size_t size) {
    size_t n = 0;
    if (engine->code) {
        return engine->code;
    }
    if (engine->closed) {
        return -EPIPE;
    }
    TH_TLS_CALLS;
    int result = SSL_write_ex(engine->ssl, from, size, &n);
    int code = result == 1 ? 0 : outcome(engine, result);
    if (code == -EAGAIN || (code == 0 && result != 1)) { /* it never has to read before a write */
        th_tls_engine_fail(engine, -EPROTO, "the other side would begin anew");
        code = -EPROTO;
    }
    return code;
}

int th_tls_engine_end(th_tls_engine *engine) {
    if (engine->code || engine->closed) {
        return engine->code;
    }
    TH_TLS_CALLS;
    int result = SSL_shutdown(engine->ssl);
    int code = result >= 0 ? 0 : outcome(engine, result);
    code = code == -EAGAIN ? 0 : code; /* theirs is not waited for */
    engine->closed = code == 0;
    return code;
}

/* ---- the handshake's findings ---- */

/* The subject of a certificate, as an allocated text. */
static char *subject_of(const X509 *certificate) {
    BIO *bio = BIO_new(BIO_s_mem());
    char *text = NULL;
    if (bio &&
        X509_NAME_print_ex(bio, X509_get_subject_name(certificate), 0, XN_FLAG_RFC2253) >= 0) {
        char *at;
        const long n = BIO_get_mem_data(bio, &at);
        text = n >= 0 ? malloc((size_t)n + 1) : NULL;
        if (text) {
            memcpy(text, at, (size_t)n);
            text[n] = '\0';
        }
    }
    BIO_free(bio);
    return text;
}

int th_tls_engine_found(th_tls_engine *engine, th_tls_found *found) {
    const unsigned char *protocol = NULL;
    unsigned length = 0;
    int code = 0;
    TH_TLS_CALLS;
    const X509 *certificate = SSL_get0_peer_certificate(engine->ssl);
    SSL_get0_alpn_selected(engine->ssl, &protocol, &length);
    *found = (th_tls_found){
        .version = SSL_get_version(engine->ssl),
        .cipher = SSL_get_cipher_name(engine->ssl),
        .resumed = SSL_session_reused(engine->ssl) == 1,
    };
    if (length && length < sizeof found->protocol) {
        memcpy(found->protocol, protocol, length);
    }
    if (certificate) {
        found->subject = subject_of(certificate);
        code = found->subject ? 0 : -ENOMEM;
    }
    return code;
}
