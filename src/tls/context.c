/*
 * context.c: OpenSSL's context, as the options of a config ask for it. Nothing here waits; see
 * engine.h.
 */
#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tls/config.h"
#include "tls/engine.h"

int th_tls_refused(const thrum_tls_options *options, int code, const char *name,
                   const char *reason) {
    if (options->error && options->error_size && !options->error[0]) {
        (void)snprintf(options->error, options->error_size, "%s%s%s", name ? name : "",
                       name ? ": " : "", reason ? reason : thrum_strerror(code));
    }
    return code;
}

/* ---- files, or the same in memory ---- */

typedef struct source {
    const thrum_tls_options *options;
    const char *file;
    thrum_iovec memory; /* in place of the file, if it has bytes */
    const char *name;   /* in texts about the memory */
} source;

/* A failure that the options' text is to name. */
static int refused(const source *of, int code, const char *reason) {
    return th_tls_refused(of->options, code, of->memory.size ? of->name : of->file, reason);
}

/* Opens it for reading: 0, or a code, which for a file is the system's. */
static int open_pem(BIO **out, const source *of) {
    const thrum_iovec memory = of->memory;
    if (memory.size) {
        *out = memory.size <= INT32_MAX ? BIO_new_mem_buf(memory.base, (int)memory.size) : NULL;
        return *out ? 0 : -ENOMEM;
    }
    th_tls_errno_set(0);
    *out = BIO_new_file(of->file, "r");
    const int error = th_tls_errno_get();
    return *out ? 0 : refused(of, error ? -error : -ENOMEM, NULL);
}

/* The reason why there is no next one: 0, it was the last; or a code. */
static int end_of_pem(const source *of) {
    const unsigned long error = ERR_peek_last_error();
    const bool is_end =
        ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
    return is_end ? 0
           : ERR_GET_REASON(error) == ERR_R_MALLOC_FAILURE
               ? -ENOMEM
               : refused(of, -EBADMSG, ERR_reason_error_string(error));
}

/* A key must not be asked a password for: there is nobody to ask. */
static int no_password(char *to, int size, int writes, void *arg) {
    (void)to, (void)size, (void)writes, (void)arg;
    return -1;
}

/* Calls `take` for each certificate, at least one, which it then owns: 0 or a code. */
static int read_pem(const source *of,
                    int (*take)(SSL_CTX *ctx, X509 *certificate, const source *of, int at),
                    SSL_CTX *ctx) {
    BIO *pem;
    X509 *certificate;
    int n = 0;
    int code = open_pem(&pem, of);
    if (code) {
        return code;
    }
    while (!code && (certificate = PEM_read_bio_X509(pem, NULL, no_password, NULL))) {
        code = take(ctx, certificate, of, n++);
    }
    code = code ? code : end_of_pem(of);
    BIO_free(pem);
    return code || n ? code : refused(of, -EBADMSG, "no certificate in PEM");
}

/* ---- the own certificate and its key ---- */

/* The first is the own certificate; the others are sent to the peer after it. */
static int take_own(SSL_CTX *ctx, X509 *certificate, const source *of, int at) {
    if (at == 0) {
        const int used = SSL_CTX_use_certificate(ctx, certificate);
        X509_free(certificate);
        return used == 1 ? 0
                         : refused(of, -EBADMSG, ERR_reason_error_string(ERR_peek_last_error()));
    }
    if (SSL_CTX_add0_chain_cert(ctx, certificate) != 1) {
        X509_free(certificate);
        return -ENOMEM;
    }
    return 0;
}

static int read_key(SSL_CTX *ctx, const thrum_tls_options *options) {
    const source of = {options, options->key_file, options->key, "key"};
    BIO *pem;
    int code = open_pem(&pem, &of);
    if (code) {
        return code;
    }
    EVP_PKEY *key = PEM_read_bio_PrivateKey(pem, NULL, no_password, NULL);
    const bool fits =
        key && SSL_CTX_use_PrivateKey(ctx, key) == 1 && SSL_CTX_check_private_key(ctx) == 1;
    const char *reason =
        key ? "not the key of the certificate" : "no private key in PEM without a password";
    EVP_PKEY_free(key);
    BIO_free(pem);
    return fits ? 0 : refused(&of, -EBADMSG, reason);
}

/* ---- whom to trust ---- */

/* Known as trusted; a server also sends its name to the clients. */
static int take_ca(SSL_CTX *ctx, X509 *certificate, const source *of, int at) {
    (void)of, (void)at;
    const bool known = X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), certificate) == 1 &&
                       SSL_CTX_add_client_CA(ctx, certificate) == 1;
    X509_free(certificate);
    return known ? 0 : -ENOMEM;
}

static int read_ca(SSL_CTX *ctx, const thrum_tls_options *options) {
    if (!options->ca_file && !options->ca.size) {
        (void)SSL_CTX_set_default_verify_paths(ctx); /* without a store nobody is trusted */
        return 0;
    }
    return read_pem(&(source){options, options->ca_file, options->ca, "ca"}, take_ca, ctx);
}

static int set_peer(SSL_CTX *ctx, const thrum_tls_options *options, bool is_server) {
    const bool optional = options->peer == THRUM_TLS_PEER_OPTIONAL;
    if (!th_tls_verifies(options, is_server)) {
        SSL_CTX_set_verify(ctx, SSL_VERIFY_NONE, NULL);
        return 0;
    }
    SSL_CTX_set_verify(
        ctx, SSL_VERIFY_PEER | (is_server && !optional ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0),
        NULL);
    return read_ca(ctx, options);
}

/* ---- protocols (ALPN) ---- */

typedef struct names {
    unsigned size;
    unsigned char wire[]; /* each with its length before it */
} names;

static CRYPTO_ONCE once = CRYPTO_ONCE_STATIC_INIT;
static int place = -1; /* of the names in a context: constant once it is there */

static void free_names(void *parent, void *pointer, CRYPTO_EX_DATA *data, int index, long number,
                       void *arg) {
    (void)parent, (void)data, (void)index, (void)number, (void)arg;
    free(pointer);
}

static void make_place(void) {
    place = SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, free_names);
}

/* By the server's list; a client that has none of them is refused. */
static int choose(SSL *ssl, const unsigned char **out, unsigned char *length,
                  const unsigned char *theirs, unsigned size, void *arg) {
    const names *ours = arg;
    unsigned char *found;
    (void)ssl;
    if (SSL_select_next_proto(&found, length, ours->wire, ours->size, theirs, size) !=
        OPENSSL_NPN_NEGOTIATED) {
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    }
    *out = found;
    return SSL_TLSEXT_ERR_OK;
}

static int make_names(names **out, const char *const *protocols) {
    size_t size = 0;
    for (const char *const *name = protocols; *name; name++) {
        const size_t length = strlen(*name);
        if (!length || length > 255 || size > 65535 - 1 - length) {
            return -EINVAL;
        }
        size += 1 + length;
    }
    names *made = malloc(sizeof *made + size);
    if (!made) {
        return -ENOMEM;
    }
    made->size = 0;
    for (const char *const *name = protocols; *name; name++) {
        const size_t length = strlen(*name);
        made->wire[made->size] = (unsigned char)length;
        memcpy(made->wire + made->size + 1, *name, length);
        made->size += 1 + (unsigned)length;
    }
    *out = made;
    return 0;
}

static int set_protocols(SSL_CTX *ctx, const thrum_tls_options *options, bool is_server) {
    names *made;
    if (!options->protocols || !options->protocols[0]) {
        return 0;
    }
    int code = make_names(&made, options->protocols);
    if (code) {
        return th_tls_refused(options, code, "protocols",
                              code == -EINVAL ? "an empty name, or too long" : NULL);
    }
    if (!is_server) {
        code = SSL_CTX_set_alpn_protos(ctx, made->wire, made->size) == 0 ? 0 : -ENOMEM;
        free(made);
        return code;
    }
    if (!CRYPTO_THREAD_run_once(&once, make_place) || place < 0 ||
        !SSL_CTX_set_ex_data(ctx, place, made)) {
        free(made);
        return -ENOMEM;
    }
    SSL_CTX_set_alpn_select_cb(ctx, choose, made);
    return 0;
}

/* ---- sessions ---- */

enum { TICKET_KEYS_MAX = 256 };

/* Tickets of the context before stay good: OpenSSL has random keys in each context. */
static void copy_ticket_keys(SSL_CTX *ctx, SSL_CTX *before) {
    unsigned char keys[TICKET_KEYS_MAX];
    const long size = SSL_CTX_get_tlsext_ticket_keys(ctx, NULL, 0);
    if (size > 0 && size <= TICKET_KEYS_MAX &&
        SSL_CTX_get_tlsext_ticket_keys(before, keys, (int)size) == 1) {
        (void)SSL_CTX_set_tlsext_ticket_keys(ctx, keys, (int)size);
    }
    OPENSSL_cleanse(keys, sizeof keys);
}

/* A server's sessions are in its tickets; a client keeps them itself (th_tls_config_keep). */
static void set_sessions(SSL_CTX *ctx, const thrum_tls_options *options, bool is_server,
                         SSL_CTX *before) {
    static const unsigned char ours[] = "thrum";
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    (void)SSL_CTX_set_session_id_context(ctx, ours, sizeof ours - 1);
    if (options->no_tickets) {
        SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET);
        (void)SSL_CTX_set_num_tickets(ctx, 0);
    } else if (!is_server) {
        SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
        SSL_CTX_sess_set_new_cb(ctx, th_tls_engine_keep);
    } else if (before) {
        copy_ticket_keys(ctx, before);
    }
}

/* ---- ciphers ---- */

/*
 * With 1.2, a server takes only those ciphers allowed by the system's settings that encrypt and
 * authenticate in one step and have a key for each connection, in the server's order. (1.3 has no
 * others.)
 */
static int set_ciphers(SSL_CTX *ctx) {
    char list[2048] = "";
    size_t used = 0;
    const STACK_OF(SSL_CIPHER) *all = SSL_CTX_get_ciphers(ctx);
    for (int i = 0; i < sk_SSL_CIPHER_num(all); i++) {
        const SSL_CIPHER *cipher = sk_SSL_CIPHER_value(all, i);
        const char *name = SSL_CIPHER_get_name(cipher);
        const int exchange = SSL_CIPHER_get_kx_nid(cipher);
        const bool fresh = exchange == NID_kx_ecdhe || exchange == NID_kx_dhe;
        const size_t length = strlen(name);
        if (SSL_CIPHER_is_aead(cipher) && fresh && used + length + 2 <= sizeof list) {
            list[used] = ':';
            used += used != 0;
            memcpy(list + used, name, length + 1);
            used += length;
        }
    }
    SSL_CTX_set_options(ctx, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
    /* If the settings allow none of them they are left as they are. */
    return !used || SSL_CTX_set_cipher_list(ctx, list) == 1 ? 0 : -ENOMEM;
}

/* ---- all of it ---- */

/*
 * Before the library's first use of OpenSSL. Its exit handler frees its locks and tables, but
 * workers go on while the program exits: so it is to have none, and the system frees all of it. A
 * program that has used OpenSSL before keeps that handler.
 */
static void keep_to_the_end(void) {
    const int saved = th_tls_errno_get();
    (void)OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
    th_tls_errno_set(saved);
}

static int set_all(SSL_CTX *ctx, const thrum_tls_options *options, bool is_server,
                   SSL_CTX *before) {
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
    int code = SSL_CTX_set_min_proto_version(ctx, (int)options->version_min) == 1 ? 0 : -EINVAL;
    code = code || !is_server ? code : set_ciphers(ctx);
    if (!code && (options->chain_file || options->chain.size)) {
        code = read_pem(&(source){options, options->chain_file, options->chain, "chain"}, take_own,
                        ctx);
        code = code ? code : read_key(ctx, options);
    }
    code = code ? code : set_peer(ctx, options, is_server);
    code = code ? code : set_protocols(ctx, options, is_server);
    set_sessions(ctx, options, is_server, before);
    return code;
}

int th_tls_context_make(SSL_CTX **out, const thrum_tls_options *options, bool is_server,
                        SSL_CTX *before) {
    keep_to_the_end();
    TH_TLS_CALLS;
    SSL_CTX *ctx = SSL_CTX_new(is_server ? TLS_server_method() : TLS_client_method());
    int code = ctx ? set_all(ctx, options, is_server, before) : -ENOMEM;
    if (code) {
        (void)th_tls_refused(options, code, NULL, NULL);
        SSL_CTX_free(ctx);
        ctx = NULL;
    }
    *out = ctx;
    return code;
}

void th_tls_context_free(SSL_CTX *ctx) {
    TH_TLS_CALLS;
    SSL_CTX_free(ctx);
}

void th_tls_session_free(SSL_SESSION *session) {
    TH_TLS_CALLS;
    SSL_SESSION_free(session);
}
