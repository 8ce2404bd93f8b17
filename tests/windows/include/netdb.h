/* netdb.h: what tests take of it. */
#include "windows/unix.h"

/*
 * A test that has --wrap=getaddrinfo has calls by the import wrapped, too (tests/CMakeLists.txt):
 * that is a pointer to what is called.
 */
int __wrap_getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                       struct addrinfo **out);
void __wrap_freeaddrinfo(struct addrinfo *list);
extern void *__wrap___imp_getaddrinfo;
extern void *__wrap___imp_freeaddrinfo;
void *__wrap___imp_getaddrinfo = (void *)__wrap_getaddrinfo;
void *__wrap___imp_freeaddrinfo = (void *)__wrap_freeaddrinfo;
