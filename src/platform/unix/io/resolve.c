/*
 * resolve.c: names of hosts, as the system's libraries take them.
 */
#include "platform/unix/io/inet.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>

#include "platform/faults.h"

/* `system`: errno after the call. glibc treats files that it cannot open as empty. */
static int code_of(int error, int system) {
    switch (error) {
    case EAI_NONAME:
#ifdef EAI_NODATA
    case EAI_NODATA:
#endif
#ifdef EAI_ADDRFAMILY
    case EAI_ADDRFAMILY:
#endif
        return system == EMFILE || system == ENFILE ? -system : -ENOENT;
    case EAI_AGAIN:
        return -EAGAIN;
    case EAI_MEMORY:
        return -ENOMEM;
#ifdef EAI_SYSTEM
    case EAI_SYSTEM:
        return system ? -system : -EIO;
#endif
    default:
        return -EIO;
    }
}

void th_os_hosts_path(char *path, size_t size) {
    (void)snprintf(path, size, "/etc/hosts");
}

int th_os_resolve(const char *host, th_os_family family, th_os_address out[], unsigned max) {
    static const int families[] = {AF_UNSPEC, AF_INET, AF_INET6, AF_UNSPEC};
    const struct addrinfo hints = {.ai_family = families[family], .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    TH_OS_MAY_FAIL(TH_OS_FAULT_RESOLVE, -EAGAIN);
    TH_KEEPS_ERRNO;
    th_os_errno_set(0);
    const int error = getaddrinfo(host, NULL, &hints, &found);
    const int code = error ? code_of(error, th_os_errno_get()) : 0;
    unsigned n = 0;
    for (const struct addrinfo *a = found; a && n < max; a = a->ai_next) {
        if (a->ai_addrlen <= sizeof out[n].words) {
            out[n] = (th_os_address){.size = (uint32_t)a->ai_addrlen};
            memcpy(out[n].words, a->ai_addr, a->ai_addrlen);
            n++;
        }
    }
    if (found) {
        freeaddrinfo(found);
    }
    return code ? code : n ? (int)n : -ENOENT;
}
