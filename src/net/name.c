/*
 * name.c: which addresses a socket has.
 */
#include <errno.h>

#include "io/call.h"
#include "net/target.h"

typedef struct name {
    char *text;
    size_t size;
    int (*call)(int fd, th_os_address *out);
} name;

static int write_name(void *ctx, th_record *record) {
    const name *n = ctx;
    th_os_family family;
    th_os_style style;
    th_os_address address;
    int code = th_os_socket_what(record->fd, &family, &style);
    code = code ? code : n->call(record->fd, &address);
    return code ? code : th_target_text(style, &address, n->text, n->size);
}

int thrum_io_local(thrum_io io, char *text, size_t size) {
    return th_quick_on(io, write_name, &(name){text, size, th_os_socket_local});
}

int thrum_io_peer(thrum_io io, char *text, size_t size) {
    return th_quick_on(io, write_name, &(name){text, size, th_os_socket_peer});
}
