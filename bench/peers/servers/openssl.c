/*
 * openssl.c: the bare loop over TLS: one thread, one level-triggered set; OpenSSL reads and writes
 * the sockets itself, and only the necessary work is done. It is the encrypted twin of epoll.c.
 *
 *     peer-server-openssl PORT CHAIN.pem KEY.pem
 */
#define _GNU_SOURCE 1
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "listener.h"

enum { ROOM = 4096, EVENTS = 256 };

static void end(SSL *ssl) {
    close(SSL_get_fd(ssl));
    SSL_free(ssl);
}

/* The handshake is made by the first reads. */
static void serve(SSL *ssl) {
    char text[ROOM];
    const int n = SSL_read(ssl, text, ROOM);
    if (n <= 0) {
        if (SSL_get_error(ssl, n) != SSL_ERROR_WANT_READ) {
            ERR_clear_error();
            end(ssl);
        }
        return;
    }
    if (SSL_write(ssl, text, n) != n) { /* a load reads its answers: there is room */
        ERR_clear_error();
        end(ssl);
    }
}

static void accept_all(SSL_CTX *context, int set, int listener) {
    int fd;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        SSL *ssl = SSL_new(context);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = ssl};
        SSL_set_fd(ssl, fd);
        SSL_set_accept_state(ssl);
        if (epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) != 0) {
            end(ssl);
        }
    }
}

int main(int argc, char **argv) {
    struct epoll_event events[EVENTS], event = {.events = EPOLLIN, .data.ptr = NULL};
    if (argc != 4) {
        fprintf(stderr, "usage: %s PORT CHAIN.pem KEY.pem\n", argv[0]);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    if (!SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) ||
        SSL_CTX_use_certificate_chain_file(context, argv[2]) != 1 ||
        SSL_CTX_use_PrivateKey_file(context, argv[3], SSL_FILETYPE_PEM) != 1) {
        ERR_print_errors_fp(stderr);
        return 1;
    }
    const int listener = listen_at(atoi(argv[1]), SOCK_NONBLOCK);
    const int set = epoll_create1(EPOLL_CLOEXEC);
    if (listener < 0 || epoll_ctl(set, EPOLL_CTL_ADD, listener, &event) != 0) {
        perror("listen");
        return 1;
    }
    for (;;) {
        const int n = epoll_wait(set, events, EVENTS, -1);
        for (int i = 0; i < n; i++) {
            if (!events[i].data.ptr) {
                accept_all(context, set, listener);
            } else {
                serve(events[i].data.ptr);
            }
        }
    }
}
