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

#define TH_OPTION_SECOND INT64_C(1000000000)
#define TH_OPTION_SECONDS_MAX 32767 /* between two questions; Linux refuses more */

typedef struct th_option_name {
    int level;
    int option;
} th_option_name;

static const th_option_name th_option_names[TH_OS_OPTIONS] = {
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
static int th_option_write(int fd, int level, int option, const void *from, unsigned size);
static int th_option_read(int fd, int level, int option, void *to, unsigned size);

static inline int th_option_set_int(int fd, int level, int option, int value) {
    return th_option_write(fd, level, option, &value, sizeof value);
}

static inline int th_option_get_int(int fd, int level, int option, int *to) {
    *to = 0; /* Windows writes a single byte for some */
    return th_option_read(fd, level, option, to, sizeof *to);
}

/* Nanoseconds in whole seconds, rounded up. */
static inline int th_option_seconds(int64_t ns) {
    return ns >= TH_OPTION_SECONDS_MAX * TH_OPTION_SECOND
               ? TH_OPTION_SECONDS_MAX
               : (int)(ns / TH_OPTION_SECOND + (ns % TH_OPTION_SECOND > 0));
}

static inline int th_option_set(int fd, th_os_option option, int64_t value) {
    int number = value > INT32_MAX ? INT32_MAX : (int)value;
    int code = 0;
    if (option == TH_OS_RESET) {
        /* no other length: a close would hold its thread up for so long */
        const struct linger linger = {.l_onoff = value != 0};
        return th_option_write(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    }
    if (option == TH_OS_KEEP_ALIVE) {
        number = value > 0;
        code =
            number ? th_option_set_int(fd, IPPROTO_TCP, TCP_KEEPIDLE, th_option_seconds(value)) : 0;
        code = code || !number
                   ? code
                   : th_option_set_int(fd, IPPROTO_TCP, TCP_KEEPINTVL, th_option_seconds(value));
    }
    return code ? code
                : th_option_set_int(fd, th_option_names[option].level,
                                    th_option_names[option].option, number);
}

static inline int64_t th_option_get(int fd, th_os_option option) {
    int value;
    if (option == TH_OS_RESET) {
        struct linger linger = {0};
        const int code = th_option_read(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
        return code ? code : linger.l_onoff && !linger.l_linger;
    }
    int code = th_option_get_int(fd, th_option_names[option].level, th_option_names[option].option,
                                 &value);
    if (!code && option == TH_OS_KEEP_ALIVE && value) {
        code = th_option_get_int(fd, IPPROTO_TCP, TCP_KEEPIDLE, &value);
        return code ? code : value * TH_OPTION_SECOND;
    }
    return code ? code : value;
}

#endif
