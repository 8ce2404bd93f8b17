/*
 * address.c: addresses of sockets, and their text.
 */
#include "platform/unix/io/inet.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

_Static_assert(sizeof(struct sockaddr_un) <= sizeof(((th_os_address *)0)->words) &&
                   sizeof(struct sockaddr_in6) <= sizeof(((th_os_address *)0)->words),
               "any address fits");
_Static_assert(TH_OS_ADDRESS_TEXT > sizeof(struct sockaddr_un) &&
                   TH_OS_ADDRESS_TEXT > INET6_ADDRSTRLEN + TH_SCOPE_SIZE + 10,
               "the text of any address fits");

#define PATH_AT offsetof(struct sockaddr_un, sun_path)

static void put(th_os_address *out, const void *address, size_t size) {
    *out = (th_os_address){.size = (uint32_t)size};
    memcpy(out->words, address, size);
}

th_os_family th_os_address_family(const th_os_address *address) {
    sa_family_t family = AF_UNSPEC;
    if (address->size >= sizeof family) {
        memcpy(&family, address->words, sizeof family);
    }
    return family == AF_INET    ? TH_OS_IPV4
           : family == AF_INET6 ? TH_OS_IPV6
           : family == AF_UNIX  ? TH_OS_LOCAL
                                : TH_OS_UNNAMED;
}

static struct sockaddr_in ipv4_of(const th_os_address *address) {
    struct sockaddr_in in = {0};
    memcpy(&in, address->words, sizeof in);
    return in;
}

static struct sockaddr_in6 ipv6_of(const th_os_address *address) {
    struct sockaddr_in6 in6 = {0};
    memcpy(&in6, address->words, sizeof in6);
    return in6;
}

/* ---- making them ---- */

/* The number of an interface, by its name or as it is: 0 or a code. */
static int scope_of(const char *name, uint32_t *out) {
    uint32_t scope = if_nametoindex(name);
    const char *at = name;
    if (!scope) {
        for (; *at >= '0' && *at <= '9' && scope < UINT32_MAX / 10 - 1; at++) {
            scope = scope * 10 + (uint32_t)(*at - '0');
        }
        scope = *at ? 0 : scope;
    }
    *out = scope;
    return scope ? 0 : *at ? th_why_no_scope() : -EINVAL;
}

static int ipv6_numeric(th_os_address *out, const char *host, uint16_t port) {
    char text[INET6_ADDRSTRLEN];
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    const char *percent = strchr(host, '%');
    size_t length = percent ? (size_t)(percent - host) : strlen(host);
    if (length >= sizeof text) {
        return -EINVAL;
    }
    memcpy(text, host, length);
    text[length] = 0;
    if (inet_pton(AF_INET6, text, &in6.sin6_addr) != 1) {
        return -EINVAL;
    }
    uint32_t scope = 0;
    const int code = percent ? scope_of(percent + 1, &scope) : 0;
    if (!code) {
        in6.sin6_scope_id = scope;
        put(out, &in6, sizeof in6);
    }
    return code;
}

int th_os_address_numeric(th_os_address *out, const char *host, uint16_t port) {
    TH_KEEPS_ERRNO;
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
    int code = 0;
    if (inet_pton(AF_INET, host, &in.sin_addr) == 1) {
        put(out, &in, sizeof in);
    } else {
        code = ipv6_numeric(out, host, port);
    }
    return code;
}

void th_os_address_any(th_os_address *out, th_os_family family, uint16_t port) {
    if (family == TH_OS_IPV4) {
        const struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
        put(out, &in, sizeof in);
    } else {
        const struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
        put(out, &in6, sizeof in6);
    }
}

int th_os_address_local(th_os_address *out, const char *name, size_t length, bool abstract) {
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    if (length + 1 > sizeof un.sun_path) {
        return -ENAMETOOLONG;
    }
    memcpy(un.sun_path + abstract, name, length);
    put(out, &un, length ? PATH_AT + length + 1 : PATH_AT);
    return 0;
}

/* ---- parts of them ---- */

uint16_t th_os_address_port(const th_os_address *address) {
    switch (th_os_address_family(address)) {
    case TH_OS_IPV4:
        return ntohs(ipv4_of(address).sin_port);
    case TH_OS_IPV6:
        return ntohs(ipv6_of(address).sin6_port);
    default:
        return 0;
    }
}

void th_os_address_set_port(th_os_address *address, uint16_t port) {
    if (th_os_address_family(address) == TH_OS_IPV4) {
        struct sockaddr_in in = ipv4_of(address);
        in.sin_port = htons(port);
        put(address, &in, sizeof in);
    } else if (th_os_address_family(address) == TH_OS_IPV6) {
        struct sockaddr_in6 in6 = ipv6_of(address);
        in6.sin6_port = htons(port);
        put(address, &in6, sizeof in6);
    }
}

bool th_os_address_is(const th_os_address *a, const th_os_address *b) {
    return a->size == b->size && memcmp(a->words, b->words, a->size) == 0;
}

/* ---- their text ---- */

static void ipv4_text(char *text, const struct in_addr *address, uint16_t port) {
    char host[INET_ADDRSTRLEN] = "";
    inet_ntop(AF_INET, address, host, sizeof host);
    snprintf(text, TH_OS_ADDRESS_TEXT, "%s:%u", host, port);
}

static void ipv6_text(char *text, const struct sockaddr_in6 *in6) {
    char host[INET6_ADDRSTRLEN] = "";
    char scope[TH_SCOPE_SIZE + 1] = "";
    uint16_t port = ntohs(in6->sin6_port);
    if (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
        struct in_addr mapped;
        memcpy(&mapped, in6->sin6_addr.s6_addr + 12, sizeof mapped);
        ipv4_text(text, &mapped, port);
        return;
    }
    inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof host);
    if (in6->sin6_scope_id) {
        scope[0] = '%';
        if (!th_scope_name((uint32_t)in6->sin6_scope_id, scope + 1)) {
            snprintf(scope, sizeof scope, "%%%u", (unsigned)in6->sin6_scope_id);
        }
    }
    snprintf(text, TH_OS_ADDRESS_TEXT, "[%s%s]:%u", host, scope, port);
}

/* A name that is no file may hold zeroes, which are written like its first byte. */
static void local_text(char *text, const th_os_address *address) {
    struct sockaddr_un un = {0};
    memcpy(&un, address->words, address->size < sizeof un ? address->size : sizeof un);
    size_t length = address->size > PATH_AT ? address->size - PATH_AT : 0;
    length = length < sizeof un.sun_path ? length : sizeof un.sun_path; /* the system counts a 0 */
    if (length && un.sun_path[0]) {
        length = strnlen(un.sun_path, length);
        const char *here = un.sun_path[0] == '/' || un.sun_path[0] == '.' ? "" : "./";
        snprintf(text, TH_OS_ADDRESS_TEXT, "%s%.*s", here, (int)length, un.sun_path);
        return;
    }
    for (size_t i = 0; i < length; i++) {
        text[i] = un.sun_path[i] ? un.sun_path[i] : '@';
    }
    text[length] = 0;
}

int th_os_address_text(const th_os_address *address, char *text, size_t size) {
    char whole[TH_OS_ADDRESS_TEXT] = "";
    TH_KEEPS_ERRNO;
    switch (th_os_address_family(address)) {
    case TH_OS_IPV4: {
        const struct sockaddr_in in = ipv4_of(address);
        ipv4_text(whole, &in.sin_addr, ntohs(in.sin_port));
        break;
    }
    case TH_OS_IPV6: {
        const struct sockaddr_in6 in6 = ipv6_of(address);
        ipv6_text(whole, &in6);
        break;
    }
    case TH_OS_LOCAL:
        local_text(whole, address);
        break;
    default:
        break;
    }
    size_t length = strlen(whole);
    if (length >= size) {
        return -ENOSPC;
    }
    memcpy(text, whole, length + 1);
    return 0;
}
