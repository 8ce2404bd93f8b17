/*
 * load_tls_none.c: in place of load_tls.c where OpenSSL is not there.
 */
#include <errno.h>
#include <stddef.h>

#include "load.h"

void *load_tls_begin(int fd) {
    (void)fd;
    errno = ENOSYS;
    must(-1, "TLS (Debian: libssl-dev)");
    return NULL;
}

int64_t load_tls_send(void *tls, const void *from, unsigned size) {
    (void)tls;
    (void)from;
    (void)size;
    return -1;
}

int64_t load_tls_receive(void *tls, void *to, unsigned size) {
    (void)tls;
    (void)to;
    (void)size;
    return -1;
}
