/*
 * env.c: environment variables.
 */
#define _GNU_SOURCE
#include <stdlib.h>

#include "platform/platform.h"

const char *th_os_env(const char *name) {
    return secure_getenv(name);
}
