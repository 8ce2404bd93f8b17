/* netdb.h: what tests take of it. */
#include "windows/unix.h"

/*
 * A test that has --wrap=getaddrinfo has the library's calls wrapped (tests/CMakeLists.txt), which
 * are by the import: that is a pointer to what is called. They are in UTF-16, and their lists are
 * as the test's but for the type of a name that nobody asks for.
 */
int __wrap_getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                       struct addrinfo **out);
void __wrap_freeaddrinfo(struct addrinfo *list);

static int WSAAPI netdb_find(const wchar_t *host, const wchar_t *service, const ADDRINFOW *hints,
                             ADDRINFOW **out) {
    char name[512];
    CHECK(WideCharToMultiByte(CP_UTF8, 0, host, -1, name, sizeof name, NULL, NULL) > 0);
    return __wrap_getaddrinfo(name, (const void *)service, (const void *)hints, (void *)out);
}

static void WSAAPI netdb_free(ADDRINFOW *list) {
    __wrap_freeaddrinfo((void *)list);
}

extern void *__wrap___imp_GetAddrInfoW;
extern void *__wrap___imp_FreeAddrInfoW;
void *__wrap___imp_GetAddrInfoW = (void *)netdb_find;
void *__wrap___imp_FreeAddrInfoW = (void *)netdb_free;
