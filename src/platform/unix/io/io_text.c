/*
 * io_text.c: descriptors in words, for people.
 */
#include "platform/unix/io/io_text.h"

#include <errno.h>
#include <stdio.h>

/* "tcp", or NULL for a socket of another kind. */
static const char *word_of(th_os_family family, th_os_style style) {
    static const char *const words[][3] = {
        [TH_OS_UNNAMED] = {NULL, NULL, NULL},
        [TH_OS_IPV4] = {"tcp", "udp", NULL},
        [TH_OS_IPV6] = {"tcp", "udp", NULL},
        [TH_OS_LOCAL] = {"unix", "unixgram", "unixpacket"},
    };
    return words[family][style];
}

static int text_of(int fd, const char *between, char *text, size_t size, bool *listens) {
    char here[TH_OS_ADDRESS_TEXT] = "";
    char there[TH_OS_ADDRESS_TEXT] = "";
    th_os_family family;
    th_os_style style;
    th_os_address address;
    *listens = false;
    const char *word = th_os_socket_what(fd, &family, &style) ? NULL : word_of(family, style);
    if (!word) {
        return th_text_of_other(fd, text, size);
    }
    *listens = style != TH_OS_DATAGRAMS && !th_os_socket_waits(fd);
    if (!th_os_socket_local(fd, &address)) {
        (void)th_os_address_text(&address, here, sizeof here);
    }
    if (!*listens && !th_os_socket_peer(fd, &address)) {
        (void)th_os_address_text(&address, there, sizeof there);
    }
    int n = snprintf(text, size, "%s%s%s%s%s%s%s", word, here[0] ? " " : "", here,
                     there[0] ? " " : "", there[0] ? between : "", there[0] ? " " : "", there);
    return n < 0 || (size_t)n >= size ? -ENOSPC : 0;
}

int th_os_io_text(int fd, const char *between, char *text, size_t size, bool *listens) {
    TH_KEEPS_ERRNO;
    return text_of(fd, between, text, size, listens);
}
