/*
 * resolve.c: names of hosts, which are UTF-8: the system encodes names that are not ASCII (IDNA),
 * and looks them up as the user has configured.
 */
#include "platform/windows/winsock/winsock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "platform/faults.h"

#define HOST_WORDS 512 /* more than a name may have */

static int code_of(int error) {
    switch (error) {
    case 0:
        return 0;
    case WSAHOST_NOT_FOUND:
    case WSANO_DATA:
        return -ENOENT;
    case WSATRY_AGAIN:
        return -EAGAIN;
    case WSA_NOT_ENOUGH_MEMORY:
        return -ENOMEM;
    default:
        return -EIO;
    }
}

static unsigned copy(const ADDRINFOW *found, th_os_address out[], unsigned max) {
    unsigned n = 0;
    for (const ADDRINFOW *a = found; a && n < max; a = a->ai_next) {
        if (a->ai_addrlen <= sizeof out[n].words) {
            out[n] = (th_os_address){.size = (uint32_t)a->ai_addrlen};
            memcpy(out[n].words, a->ai_addr, a->ai_addrlen);
            n++;
        }
    }
    return n;
}

void th_os_hosts_path(char *path, size_t size) {
    const char *root = th_os_env("SystemRoot");
    (void)snprintf(path, size, "%s\\System32\\drivers\\etc\\hosts", root ? root : "C:\\Windows");
}

int th_os_resolve(const char *host, th_os_family family, th_os_address out[], unsigned max) {
    static const int families[] = {AF_UNSPEC, AF_INET, AF_INET6, AF_UNSPEC};
    const ADDRINFOW hints = {.ai_family = families[family], .ai_socktype = SOCK_STREAM};
    ADDRINFOW *found = NULL;
    wchar_t name[HOST_WORDS];
    unsigned n = 0;
    TH_OS_MAY_FAIL(TH_OS_FAULT_RESOLVE, -EAGAIN);
    if (!th_nt_wide(host, name, HOST_WORDS)) {
        return -ENOENT; /* a name that is not UTF-8 does not exist */
    }
    TH_KEEPS_ERRNO;
    int code = th_winsock_begin();
    code = code ? code : code_of(GetAddrInfoW(name, NULL, &hints, &found));
    if (!code) {
        n = copy(found, out, max);
        FreeAddrInfoW(found);
    }
    return code ? code : n ? (int)n : -ENOENT;
}
