/*
 * target.c: see target.h.
 */
#include "net/target.h"

#include <errno.h>
#include <string.h>

typedef struct scheme {
    const char *name;
    th_os_style style;
    bool local;
} scheme;

static const scheme schemes[] = {
    {"tcp:", TH_OS_BYTES, false},        {"udp:", TH_OS_DATAGRAMS, false},
    {"unix:", TH_OS_BYTES, true},        {"unixgram:", TH_OS_DATAGRAMS, true},
    {"seqpacket:", TH_OS_PACKETS, true},
};
#define SCHEMES (sizeof schemes / sizeof schemes[0])

/* ---- reading ---- */

static int port_of(const char *text, uint16_t *port) {
    uint32_t number = 0;
    if (!*text) {
        return -EINVAL;
    }
    for (; *text; text++) {
        if (*text < '0' || *text > '9') {
            return -EINVAL;
        }
        number = number * 10 + (uint32_t)(*text - '0');
        if (number > UINT16_MAX) {
            return -EINVAL;
        }
    }
    *port = (uint16_t)number;
    return 0;
}

/* The part before the port's colon: "host", "[numbers]" or nothing. */
static int host_of(th_target *out, const char *text, size_t length) {
    bool bracketed = length && text[0] == '[';
    if (bracketed) {
        if (length < 3 || text[length - 1] != ']') {
            return -EINVAL;
        }
        text++;
        length -= 2;
    }
    if (length > TH_HOST_MAX) {
        return -ENAMETOOLONG;
    }
    memcpy(out->host, text, length);
    out->host[length] = 0;
    if (strpbrk(out->host, bracketed ? "[]" : "[]:/@ ")) {
        return -EINVAL;
    }
    out->where = TH_AT_ADDRESS;
    if (!length) {
        out->where = TH_AT_ANY;
        return 0;
    }
    const int code = th_os_address_numeric(&out->address, out->host, out->port);
    if (code) {
        out->where = TH_AT_NAME;
        return bracketed || code != -EINVAL ? code : 0;
    }
    return bracketed && th_os_address_family(&out->address) != TH_OS_IPV6 ? -EINVAL : 0;
}

int th_target_parse_host(th_target *out, const char *text) {
    const char *colon = strrchr(text, ':');
    if (!colon) {
        return -EINVAL;
    }
    int code = port_of(colon + 1, &out->port);
    return code ? code : host_of(out, text, (size_t)(colon - text));
}

int th_target_parse_local(th_target *out, const char *text) {
    bool abstract = text[0] == '@';
    text += abstract;
    out->where = TH_AT_ADDRESS;
    return *text ? th_os_address_local(&out->address, text, strlen(text), abstract) : -EINVAL;
}

int th_target_parse(th_target *out, const char *text) {
    *out = (th_target){0};
    for (unsigned i = 0; i < SCHEMES; i++) {
        const size_t length = strlen(schemes[i].name);
        if (strncmp(text, schemes[i].name, length) == 0) {
            out->style = schemes[i].style;
            out->local = schemes[i].local;
            return out->local ? th_target_parse_local(out, text + length)
                              : th_target_parse_host(out, text + length);
        }
    }
    return -EINVAL;
}

/* ---- writing ---- */

int th_target_text(th_os_style style, const th_os_address *address, char *text, size_t size) {
    const bool local = th_os_address_family(address) == TH_OS_LOCAL;
    const scheme *one = schemes;
    while (one->style != style || one->local != local) {
        if (++one == schemes + SCHEMES) {
            return -EAFNOSUPPORT;
        }
    }
    const size_t length = strlen(one->name);
    if (length >= size) {
        return -ENOSPC;
    }
    int code = th_os_address_text(address, text + length, size - length);
    if (!code) {
        memcpy(text, one->name, length);
    }
    return code;
}
