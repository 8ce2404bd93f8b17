/*
 * absent_sockets.c: what is not there yet on Windows: sockets, their addresses and messages.
 *
 * Each of these calls says so: -ENOSYS, which what is above passes on to its callers.
 */
#include <errno.h>

#include "platform/platform.h"

/* Nobody can look at the process from outside, so nothing is printed for them. */
FILE *th_os_printer_open(th_os_print_fn put, void *cookie) {
    (void)put;
    (void)cookie;
    return NULL;
}

th_os_family th_os_address_family(const th_os_address *address) {
    (void)address;
    return TH_OS_UNNAMED;
}

int th_os_address_numeric(th_os_address *out, const char *host, uint16_t port) {
    (void)out;
    (void)host;
    (void)port;
    return -ENOSYS;
}

void th_os_address_any(th_os_address *out, th_os_family family, uint16_t port) {
    (void)family;
    (void)port;
    *out = (th_os_address){0};
}

int th_os_address_local(th_os_address *out, const char *name, size_t length, bool abstract) {
    (void)out;
    (void)name;
    (void)length;
    (void)abstract;
    return -ENOSYS;
}

uint16_t th_os_address_port(const th_os_address *address) {
    (void)address;
    return 0;
}

void th_os_address_set_port(th_os_address *address, uint16_t port) {
    (void)address;
    (void)port;
}

bool th_os_address_is(const th_os_address *a, const th_os_address *b) {
    (void)a;
    (void)b;
    return false;
}

int th_os_address_text(const th_os_address *address, char *text, size_t size) {
    (void)address;
    (void)text;
    (void)size;
    return -ENOSYS;
}

int th_os_resolve(const char *host, th_os_family family, th_os_address out[], unsigned max) {
    (void)host;
    (void)family;
    (void)out;
    (void)max;
    return -ENOSYS;
}

int th_os_socket_open(th_os_family family, th_os_style style) {
    (void)family;
    (void)style;
    return -ENOSYS;
}

int th_os_socket_what(int fd, th_os_family *family, th_os_style *style) {
    (void)fd;
    (void)family;
    (void)style;
    return -ENOSYS;
}

int th_os_socket_bind(int fd, const th_os_address *address) {
    (void)fd;
    (void)address;
    return -ENOSYS;
}

int th_os_socket_listen(int fd, int backlog) {
    (void)fd;
    (void)backlog;
    return -ENOSYS;
}

int th_os_socket_waits(int fd) {
    (void)fd;
    return -ENOSYS;
}

int th_os_socket_connect(int fd, const th_os_address *address) {
    (void)fd;
    (void)address;
    return -ENOSYS;
}

int th_os_socket_error(int fd) {
    (void)fd;
    return -ENOSYS;
}

int th_os_socket_local(int fd, th_os_address *out) {
    (void)fd;
    (void)out;
    return -ENOSYS;
}

int th_os_socket_peer(int fd, th_os_address *out) {
    (void)fd;
    (void)out;
    return -ENOSYS;
}

int th_os_socket_mode(int fd, unsigned mode) {
    (void)fd;
    (void)mode;
    return -ENOSYS;
}

int th_os_local_mode(const th_os_address *address, unsigned mode) {
    (void)address;
    (void)mode;
    return -ENOSYS;
}

int th_os_local_remove(const th_os_address *address) {
    (void)address;
    return -ENOSYS;
}

int th_os_socket_set(int fd, th_os_option option, int64_t value) {
    (void)fd;
    (void)option;
    (void)value;
    return -ENOSYS;
}

int64_t th_os_socket_get(int fd, th_os_option option) {
    (void)fd;
    (void)option;
    return -ENOSYS;
}

int th_os_socket_send(int fd, const th_os_message messages[], unsigned n) {
    (void)fd;
    (void)messages;
    (void)n;
    return -ENOSYS;
}

int th_os_socket_receive(int fd, th_os_message messages[], unsigned n) {
    (void)fd;
    (void)messages;
    (void)n;
    return -ENOSYS;
}

int64_t th_os_socket_send_fds(int fd, const void *from, size_t size, const int fds[], unsigned n) {
    (void)fd;
    (void)from;
    (void)size;
    (void)fds;
    (void)n;
    return -ENOSYS;
}

int64_t th_os_socket_receive_fds(int fd, void *to, size_t size, int fds[], unsigned *n) {
    (void)fd;
    (void)to;
    (void)size;
    (void)fds;
    (void)n;
    return -ENOSYS;
}

int th_os_private_open(th_os_private *out) {
    (void)out;
    return -ENOSYS;
}

int th_os_private_accept(const th_os_private *listener) {
    (void)listener;
    return -ENOSYS;
}

void th_os_private_close(th_os_private *listener) {
    (void)listener;
}
