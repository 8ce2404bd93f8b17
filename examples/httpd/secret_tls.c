/*
 * secret_tls.c: see secret.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <thrum/tls.h>

#include "secret.h"

struct secret {
    thrum_tls_config *config;
    thrum_tls_options options;
};

static const char *const protocols[] = {"http/1.1", NULL};

int secret_create(struct secret **out, const char *chain, const char *key) {
    struct secret *secret = malloc(sizeof *secret);
    if (!secret) {
        return -ENOMEM;
    }
    secret->options = (thrum_tls_options)THRUM_TLS_OPTIONS_INIT;
    secret->options.chain_file = chain;
    secret->options.key_file = key;
    secret->options.protocols = protocols;
    int err = thrum_tls_config_server(&secret->config, &secret->options);
    if (err != 0) {
        free(secret);
        return err;
    }
    *out = secret;
    return 0;
}

int secret_reload(struct secret *secret) {
    return thrum_tls_config_reload(secret->config, &secret->options);
}

void secret_destroy(struct secret *secret) {
    if (secret) {
        thrum_tls_config_free(secret->config);
        free(secret);
    }
}

int secret_begin(struct secret *secret, thrum_io io, thrum_time deadline, thrum_tls **tls) {
    int err = thrum_tls_server(tls, secret->config, io, deadline);
    if (err != 0) {
        thrum_tls_close(*tls, 0);
    }
    return err;
}

int64_t secret_read(thrum_tls *tls, void *to, size_t size, thrum_time deadline) {
    return thrum_tls_read_until(tls, to, size, deadline);
}

int64_t secret_write(thrum_tls *tls, const void *from, size_t size, thrum_time deadline) {
    return thrum_tls_write_until(tls, from, size, deadline);
}

bool secret_is_readable(thrum_tls *tls) {
    return thrum_tls_is_readable(tls);
}

int secret_shutdown(thrum_tls *tls, thrum_time deadline) {
    return thrum_tls_shutdown(tls, deadline);
}

void secret_end(thrum_tls *tls, thrum_time deadline) {
    thrum_tls_close(tls, deadline);
}
