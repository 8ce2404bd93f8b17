/*
 * printer.c: streams for printing, as files; absent.c has their end.
 */
#include "platform/unix/system.h"

#include <fcntl.h>
#include <stdio.h>

FILE *th_os_printer_open(th_os_print_fn put, void *cookie) {
    (void)put;
    (void)cookie;
    const int saved = th_os_errno_get();
    FILE *out = tmpfile();
    if (out) {
        (void)fcntl(fileno(out), F_SETFD, FD_CLOEXEC);
    }
    th_os_errno_set(saved);
    return out;
}

int th_os_printer_at_exit(void (*call)(void)) {
    return th_os_at_exit(call);
}
