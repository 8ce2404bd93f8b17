/*
 * private.c: who is at the other side of a UNIX socket.
 */
#include "platform/unix/system.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

bool th_system_is_own_peer(int fd) {
    struct ucred peer;
    socklen_t size = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           (peer.uid == 0 || peer.uid == geteuid());
}

FILE *th_os_printer_open(th_os_print_fn put, void *cookie) {
    const cookie_io_functions_t calls = {.write = put};
    return fopencookie(cookie, "w", calls);
}

int th_os_printer_close(FILE *out, th_os_print_fn put, void *cookie) {
    const bool whole = !fflush(out) && !ferror(out);
    (void)put;
    (void)cookie;
    fclose(out);
    return whole ? 0 : -EIO;
}

int th_os_printer_at_exit(void (*call)(void)) {
    return th_os_at_exit(call);
}
