/*
 * tls_echo.c: an echo over TLS without deadlines: thrum-tls-echo PORT CHAIN.pem KEY.pem
 */
#include <stdio.h>
#include <thrum.h>
#include <thrum/net.h>
#include <thrum/serve.h>
#include <thrum/tls.h>

static int echo(thrum_io io, void *config) {
    char text[4096];
    thrum_tls *tls;
    int64_t n;
    int err = thrum_tls_server(&tls, config, io, THRUM_FOREVER);
    while (err == 0 && (n = thrum_tls_read(tls, text, sizeof text)) > 0 &&
           thrum_tls_write(tls, text, (size_t)n) == n) {
    }
    thrum_tls_close(tls, 0);
    return err;
}

static int entry(void *arg) {
    char **argv = arg;
    char address[64];
    thrum_io listener;
    thrum_tls_config *config;
    thrum_tls_options options = THRUM_TLS_OPTIONS_INIT;
    options.chain_file = argv[2];
    options.key_file = argv[3];
    int err = thrum_tls_config_server(&config, &options);
    if (err == 0) {
        snprintf(address, sizeof address, "tcp:127.0.0.1:%s", argv[1]);
        err = thrum_listen(&listener, address, NULL);
    }
    return err != 0 ? err : thrum_serve(listener, echo, config, NULL);
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: %s PORT CHAIN.pem KEY.pem\n", argv[0]);
        return 2;
    }
    const int err = thrum_run(NULL, entry, argv);
    fprintf(stderr, "%s: %s\n", argv[0], thrum_strerror(err));
    return 1;
}
