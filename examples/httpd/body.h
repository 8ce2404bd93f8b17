/*
 * body.h: the body of a request in memory.
 *
 * It takes memory as its bytes come, not as the request announces them, up to a limit for each
 * request and another for all requests in memory. So data from sockets cannot fill the memory,
 * regardless of their number.
 */
#ifndef HTTPD_BODY_H
#define HTTPD_BODY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct body {
    char *data;
    size_t size;
    size_t capacity; /* taken from `xall` */
    size_t come;     /* bytes that have come; beyond `size` where they are dropped */
    bool keeps;      /* else its bytes are counted and dropped */

    size_t max;          /* of a request */
    size_t all_max;      /* of all */
    atomic_size_t *xall; /* the total of all bodies */
};

/* Adds received bytes. Returns 0, or the status with which to refuse the request: 413 or 503. */
int body_add(struct body *body, const char *from, size_t size);

/* Frees it; the next one is dropped unless it is set to be kept. */
void body_end(struct body *body);

#endif
