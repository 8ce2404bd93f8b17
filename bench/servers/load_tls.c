/*
 * load_tls.c: the bytes of a connection, sealed by OpenSSL (load_ask.c). The server's certificate
 * is not looked at: it is made for the run.
 */
#include <errno.h>
#include <fcntl.h>
#include <openssl/ssl.h>

#include "load.h"

void *load_tls_begin(int fd) {
    static SSL_CTX *context;
    if (!context) {
        context = SSL_CTX_new(TLS_client_method());
        must(context && SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) ? 0 : -1, "OpenSSL");
    }
    SSL *ssl = SSL_new(context);
    must(ssl && SSL_set_fd(ssl, fd) && SSL_connect(ssl) == 1 ? 0 : -1, "TLS handshake");
    must(fcntl(fd, F_SETFL, O_NONBLOCK), "O_NONBLOCK");
    return ssl;
}

static int64_t result(SSL *ssl, int n) {
    if (n > 0) {
        return n;
    }
    errno = SSL_get_error(ssl, n) == SSL_ERROR_WANT_READ ? EAGAIN : EPROTO;
    return -1;
}

int64_t load_tls_send(void *tls, const void *from, unsigned size) {
    return result(tls, SSL_write(tls, from, (int)size));
}

int64_t load_tls_receive(void *tls, void *to, unsigned size) {
    return result(tls, SSL_read(tls, to, (int)size));
}
