/*
 * target.h: the addresses of thrum/net.h, as text and taken apart.
 */
#ifndef TH_TARGET_H
#define TH_TARGET_H

#include "platform/platform.h"
#include "thrum/net.h"

#define TH_HOST_MAX 255u /* the longest name of a host */

typedef enum th_where {
    TH_AT_ADDRESS, /* `address` is it */
    TH_AT_ANY,     /* no host: any address of this machine, with `port` */
    TH_AT_NAME     /* `host` is to be looked up */
} th_where;

typedef struct th_target {
    th_os_style style;
    bool local; /* of the UNIX family */
    th_where where;
    uint16_t port;
    th_os_address address;
    char host[TH_HOST_MAX + 1];
} th_target;

/* Takes a text apart: 0, -EINVAL, or -ENAMETOOLONG. */
int th_target_parse(th_target *out, const char *text);

/* The same for the part after the scheme: a host, which may be missing, and a port. */
int th_target_parse_host(th_target *out, const char *text);
/* The same for a path or an @name. */
int th_target_parse_local(th_target *out, const char *text);

/* The kind that the io layer knows a socket of it as. */
static inline th_os_kind th_target_kind(const th_target *target) {
    return target->style != TH_OS_BYTES ? TH_OS_DATAGRAM : target->local ? TH_OS_STREAM : TH_OS_TCP;
}

/* Writes the text of an address with its scheme: 0, or -ENOSPC. */
int th_target_text(th_os_style style, const th_os_address *address, char *text, size_t size);

#endif
