/*
 * options.h: the options of sockets by the calls that each system with Berkeley's sockets has. The
 * file that includes it has the headers of its system, and the two calls.
 */
#ifndef TH_UNIX_OPTIONS_H
#define TH_UNIX_OPTIONS_H

#include "platform/platform.h"

#ifndef SO_REUSEPORT
#define SO_REUSEPORT (-1) /* refused by the system, as any option that it does not know */
#endif
#ifndef TCP_KEEPIDLE /* Windows 10; as its headers have them */
#define TCP_KEEPIDLE 3
#define TCP_KEEPINTVL 17
#endif

#define SECOND INT64_C(1000000000)
#define SECONDS_MAX 32767 /* between two questions; Linux refuses more */

typedef struct th_option_name {
    int level;
    int option;
} th_option_name;

static const th_option_name names[TH_OS_OPTIONS] = {
    [TH_OS_REUSE_ADDRESS] = {SOL_SOCKET, SO_REUSEADDR},
    [TH_OS_REUSE_PORT] = {SOL_SOCKET, SO_REUSEPORT},
    [TH_OS_IPV6_ONLY] = {IPPROTO_IPV6, IPV6_V6ONLY},
    [TH_OS_NO_DELAY] = {IPPROTO_TCP, TCP_NODELAY},
    [TH_OS_KEEP_ALIVE] = {SOL_SOCKET, SO_KEEPALIVE},
    [TH_OS_RECEIVE_BUFFER] = {SOL_SOCKET, SO_RCVBUF},
    [TH_OS_SEND_BUFFER] = {SOL_SOCKET, SO_SNDBUF},
    [TH_OS_BROADCAST] = {SOL_SOCKET, SO_BROADCAST},
    [TH_OS_RESET] = {SOL_SOCKET, SO_LINGER},
};

/* Both return 0 or a code. */
static int set(int fd, int level, int option, const void *from, unsigned size);
static int get(int fd, int level, int option, void *to, unsigned size);

static inline int set_int(int fd, int level, int option, int value) {
    return set(fd, level, option, &value, sizeof value);
}

static inline int get_int(int fd, int level, int option, int *to) {
    *to = 0; /* Windows writes a single byte for some */
    return get(fd, level, option, to, sizeof *to);
}

/* Nanoseconds in whole seconds, rounded up. */
static inline int seconds_of(int64_t ns) {
    return ns >= SECONDS_MAX * SECOND ? SECONDS_MAX : (int)(ns / SECOND + (ns % SECOND > 0));
}

static inline int set_option(int fd, th_os_option option, int64_t value) {
    int number = value > INT32_MAX ? INT32_MAX : (int)value;
    int code = 0;
    if (option == TH_OS_RESET) {
        /* no other length: a close would hold its thread up for so long */
        const struct linger linger = {.l_onoff = value != 0};
        return set(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    }
    if (option == TH_OS_KEEP_ALIVE) {
        number = value > 0;
        code = number ? set_int(fd, IPPROTO_TCP, TCP_KEEPIDLE, seconds_of(value)) : 0;
        code = code || !number ? code : set_int(fd, IPPROTO_TCP, TCP_KEEPINTVL, seconds_of(value));
    }
    return code ? code : set_int(fd, names[option].level, names[option].option, number);
}

static inline int64_t get_option(int fd, th_os_option option) {
    int value;
    if (option == TH_OS_RESET) {
        struct linger linger = {0};
        const int code = get(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
        return code ? code : linger.l_onoff && !linger.l_linger;
    }
    int code = get_int(fd, names[option].level, names[option].option, &value);
    if (!code && option == TH_OS_KEEP_ALIVE && value) {
        code = get_int(fd, IPPROTO_TCP, TCP_KEEPIDLE, &value);
        return code ? code : value * SECOND;
    }
    return code ? code : value;
}

#endif
