/*
 * env.c: environment variables.
 */
#include "platform/unix/system.h"

#include <stdlib.h>
#include <unistd.h>

const char *th_os_env(const char *name) {
    return getuid() == geteuid() && getgid() == getegid() ? getenv(name) : NULL;
}
