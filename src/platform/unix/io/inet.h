/*
 * inet.h: addresses of the internet, whose calls Unix systems and Windows share. It is included
 * before any header.
 */
#ifndef TH_UNIX_INET_H
#define TH_UNIX_INET_H

#ifndef TH_PLATFORM_WINDOWS

#include "platform/unix/system.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define TH_SCOPE_SIZE IF_NAMESIZE
/*
 * The reason why the system has not found an interface: it needs a descriptor for it, and may not
 * report that.
 */
static inline int th_why_no_scope(void) {
    const int probe = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (probe < 0) {
        return -th_os_errno_get();
    }
    (void)close(probe);
    return -EINVAL;
}

static inline bool th_scope_name(uint32_t number, char name[TH_SCOPE_SIZE]) {
    return if_indextoname(number, name) != NULL;
}

#else

#include "platform/windows/winsock/winsock.h"
/* This header must come after the ones above. */
#include <iphlpapi.h>

typedef ADDRESS_FAMILY sa_family_t;

static inline int th_why_no_scope(void) {
    return -EINVAL;
}

/* Interfaces are given by their numbers there. */
#define TH_SCOPE_SIZE 12
static inline bool th_scope_name(uint32_t number, char name[TH_SCOPE_SIZE]) {
    (void)number;
    (void)name;
    return false;
}

#endif

#endif
