/*
 * tls.h: common parts of tests of libthrum-tls.
 *
 *   issued    a certificate with its key, made here by OpenSSL, as PEM in memory
 *   beside    a function beside the caller: in a task if that is one, else in a thread
 *   couple    a client and a server over a pair of sockets, after their handshake
 *   raw       the peer as plain OpenSSL over a socket, in a thread that blocks
 */
#ifndef TLS_H
#define TLS_H

#include "support/support.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <thrum/tls.h>

/* ---- certificates ---- */

typedef struct issued {
    X509 *certificate;
    EVP_PKEY *key;
    thrum_iovec chain_pem;
    thrum_iovec key_pem;
} issued;

static thrum_iovec pem_end(BIO *bio) {
    char *at;
    const long n = BIO_get_mem_data(bio, &at);
    thrum_iovec pem = {malloc((size_t)n), (size_t)n};
    CHECK(n > 0 && pem.base);
    memcpy(pem.base, at, (size_t)n);
    BIO_free(bio);
    return pem;
}

static void extend(X509 *certificate, int what, const char *value) {
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, what, value);
    CHECK(extension != NULL);
    CHECK_EQ(X509_add_ext(certificate, extension, -1), 1);
    X509_EXTENSION_free(extension);
}

static bool issues_others; /* the next certificate may issue others */

/*
 * Issues a certificate from `begins` to `ends` (seconds from now), by `issuer`; NULL: self-signed,
 * and able to issue others. `names`: "DNS:a.test,IP:127.0.0.1".
 */
static void issue_for(issued *out, const char *name, const char *names, const issued *issuer,
                      long begins, long ends) {
    static long serial;
    X509 *x = X509_new();
    out->key = EVP_EC_gen("P-256");
    CHECK(x && out->key);
    CHECK_EQ(X509_set_version(x, X509_VERSION_3), 1);
    ASN1_INTEGER_set(X509_get_serialNumber(x), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(x), begins);
    X509_gmtime_adj(X509_getm_notAfter(x), ends);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_UTF8,
                               (const unsigned char *)name, -1, -1, 0);
    X509_set_issuer_name(x, X509_get_subject_name(issuer ? issuer->certificate : x));
    X509_set_pubkey(x, out->key);
    extend(x, NID_basic_constraints, issuer && !issues_others ? "CA:FALSE" : "critical,CA:TRUE");
    if (names) {
        extend(x, NID_subject_alt_name, names);
    }
    CHECK(X509_sign(x, issuer ? issuer->key : out->key, EVP_sha256()) > 0);
    out->certificate = x;
    BIO *bio = BIO_new(BIO_s_mem());
    CHECK_EQ(PEM_write_bio_X509(bio, x), 1);
    out->chain_pem = pem_end(bio);
    bio = BIO_new(BIO_s_mem());
    CHECK_EQ(PEM_write_bio_PrivateKey(bio, out->key, NULL, NULL, 0, NULL, NULL), 1);
    out->key_pem = pem_end(bio);
    ERR_clear_error();
}

static void issue(issued *out, const char *name, const char *names, const issued *issuer) {
    issue_for(out, name, names, issuer, -60, 3600);
}

static void issued_free(issued *it) {
    X509_free(it->certificate);
    EVP_PKEY_free(it->key);
    free(it->chain_pem.base);
    free(it->key_pem.base);
}

/* ---- something beside ---- */

typedef struct beside {
    thrum_handle *task;
    pthread_t thread;
    thrum_fn fn;
    void *arg;
    int result;
} beside;

static void *beside_main(void *arg) {
    beside *b = arg;
    b->result = b->fn(b->arg);
    return NULL;
}

static void beside_begin(beside *b, thrum_fn fn, void *arg) {
    *b = (beside){.fn = fn, .arg = arg};
    if (thrum_sched_current()) {
        CHECK_EQ(thrum_spawn(&b->task, fn, arg), 0);
    } else {
        CHECK_EQ(pthread_create(&b->thread, NULL, beside_main, b), 0);
    }
}

static int beside_end(beside *b) {
    if (b->task) {
        CHECK_EQ(thrum_join(b->task, &b->result), 0);
    } else {
        CHECK_EQ(pthread_join(b->thread, NULL), 0);
    }
    return b->result;
}

/* Runs a body in a task of a new rig, and on this plain thread. */
CHECK_UNUSED static void both(thrum_fn fn) {
    rig_do(0, fn, NULL);
    CHECK_EQ(fn(NULL), 0);
}

/* ---- two ends ---- */

static thrum_io adopted(int fd) {
    thrum_io io;
    CHECK_EQ(thrum_io_adopt(&io, fd), 0);
    return io;
}

/* A certificate authority, a server named a.test, and a client that trusts the authority. */
typedef struct world {
    issued ca, own;
    thrum_tls_config *server, *client;
} world;

CHECK_UNUSED static thrum_tls_options server_options(const world *w) {
    thrum_tls_options options = THRUM_TLS_OPTIONS_INIT;
    options.chain = w->own.chain_pem;
    options.key = w->own.key_pem;
    return options;
}

CHECK_UNUSED static thrum_tls_options client_options(const world *w) {
    thrum_tls_options options = THRUM_TLS_OPTIONS_INIT;
    options.ca = w->ca.chain_pem;
    return options;
}

CHECK_UNUSED static void world_make(world *w) {
    issue(&w->ca, "the issuer", NULL, NULL);
    issue(&w->own, "a.test", "DNS:a.test,IP:127.0.0.1", &w->ca);
    thrum_tls_options options = server_options(w);
    CHECK_EQ(thrum_tls_config_server(&w->server, &options), 0);
    options = client_options(w);
    CHECK_EQ(thrum_tls_config_client(&w->client, &options), 0);
}

CHECK_UNUSED static void world_end(world *w) {
    thrum_tls_config_free(w->server);
    thrum_tls_config_free(w->client);
    issued_free(&w->ca);
    issued_free(&w->own);
}

typedef struct couple {
    thrum_tls *client, *server;
    thrum_tls_config *server_config;
    int fds[2]; /* the client's, the server's */
    thrum_time deadline;
    int client_code, server_code;
} couple;

static int couple_serves(void *arg) {
    couple *c = arg;
    c->server_code =
        thrum_tls_server(&c->server, c->server_config, adopted(c->fds[1]), c->deadline);
    return 0;
}

/* Both handshakes, with any result. */
CHECK_UNUSED static void couple_try(couple *c, thrum_tls_config *server, thrum_tls_config *client,
                                    const char *host) {
    beside b;
    *c = (couple){.server_config = server, .deadline = THRUM_FOREVER};
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, c->fds), 0);
    for (int i = 0; i < 2; i++) { /* the system may be set to give more than any test writes */
        CHECK_EQ(setsockopt(c->fds[i], SOL_SOCKET, SO_SNDBUF, &(int){106496}, sizeof(int)), 0);
    }
    beside_begin(&b, couple_serves, c);
    c->client_code = thrum_tls_client(&c->client, client, adopted(c->fds[0]), host, c->deadline);
    beside_end(&b);
}

/* Handshakes that work. */
CHECK_UNUSED static void couple_open(couple *c, world *w) {
    couple_try(c, w->server, w->client, "a.test");
    CHECK_EQ(c->client_code, 0);
    CHECK_EQ(c->server_code, 0);
}

CHECK_UNUSED static void couple_close(couple *c) {
    (void)thrum_tls_close(c->client, THRUM_FOREVER);
    (void)thrum_tls_close(c->server, THRUM_FOREVER);
}

/* One end reads the other's bytes. */
CHECK_UNUSED static void says(thrum_tls *from, thrum_tls *to, const char *text) {
    char got[64] = "";
    const size_t n = strlen(text);
    size_t came = 0;
    CHECK_EQ(thrum_tls_write(from, text, n), n);
    while (came < n) {
        int64_t some = thrum_tls_read(to, got + came, sizeof got - 1 - came);
        CHECK(some > 0);
        came += (size_t)some;
    }
    CHECK_STR(got, text);
}

CHECK_UNUSED static void check_error(thrum_tls *tls, const char *expected) {
    char text[200];
    thrum_tls_error(tls, text, sizeof text);
    if (!strstr(text, expected)) {
        check_failed(__FILE__, __LINE__, "\"%s\" is not in \"%s\"", expected, text);
    }
}

/* ---- plain OpenSSL ---- */

typedef struct raw {
    SSL_CTX *ctx;
    SSL *ssl;
    int fd;
    int version; /* TLS1_2_VERSION: no other; 0: any */
    const world *w;
    bool is_server;
    void (*then)(struct raw *r); /* after the handshake */
    pthread_t thread;
} raw;

static void *raw_main(void *arg) {
    raw *r = arg;
    r->ctx = SSL_CTX_new(TLS_method());
    if (r->version != 0) {
        CHECK_EQ(SSL_CTX_set_max_proto_version(r->ctx, r->version), 1);
    }
    if (r->is_server) {
        CHECK_EQ(SSL_CTX_use_certificate(r->ctx, r->w->own.certificate), 1);
        CHECK_EQ(SSL_CTX_use_PrivateKey(r->ctx, r->w->own.key), 1);
    }
    r->ssl = SSL_new(r->ctx);
    CHECK_EQ(SSL_set_fd(r->ssl, r->fd), 1);
    CHECK_EQ(r->is_server ? SSL_accept(r->ssl) : SSL_connect(r->ssl), 1);
    r->then(r);
    SSL_free(r->ssl);
    SSL_CTX_free(r->ctx);
    close(r->fd);
    return NULL;
}

/* Begins one at the other end of the descriptor that is returned. */
CHECK_UNUSED static int raw_begin(raw *r, const world *w, bool is_server, int version,
                                  void (*then)(raw *r)) {
    int fds[2];
    *r = (raw){.w = w, .is_server = is_server, .version = version, .then = then};
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    r->fd = fds[1];
    signal(SIGPIPE, SIG_IGN);
    CHECK_EQ(pthread_create(&r->thread, NULL, raw_main, r), 0);
    return fds[0];
}

CHECK_UNUSED static void raw_end(raw *r) {
    CHECK_EQ(pthread_join(r->thread, NULL), 0);
}

#endif
