/*
 * secret_none.c: see secret.h. There is no TLS here, so nothing but the first call is ever made.
 */
#include <errno.h>

#include "secret.h"

int secret_create(struct secret **out, const char *chain, const char *key) {
    (void)out;
    (void)chain;
    (void)key;
    return -EOPNOTSUPP;
}

int secret_reload(struct secret *secret) {
    (void)secret;
    return -EOPNOTSUPP;
}

void secret_destroy(struct secret *secret) {
    (void)secret;
}

int secret_begin(struct secret *secret, thrum_io io, thrum_time deadline, struct thrum_tls **tls) {
    (void)secret;
    (void)io;
    (void)deadline;
    (void)tls;
    return -EOPNOTSUPP;
}

int64_t secret_read(struct thrum_tls *tls, void *to, size_t size, thrum_time deadline) {
    (void)tls;
    (void)to;
    (void)size;
    (void)deadline;
    return -EOPNOTSUPP;
}

int64_t secret_write(struct thrum_tls *tls, const void *from, size_t size, thrum_time deadline) {
    (void)tls;
    (void)from;
    (void)size;
    (void)deadline;
    return -EOPNOTSUPP;
}

bool secret_is_readable(struct thrum_tls *tls) {
    (void)tls;
    return false;
}

int secret_shutdown(struct thrum_tls *tls, thrum_time deadline) {
    (void)tls;
    (void)deadline;
    return -EOPNOTSUPP;
}

void secret_end(struct thrum_tls *tls, thrum_time deadline) {
    (void)tls;
    (void)deadline;
}
