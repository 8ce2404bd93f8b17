/*
 * escape.c: see escape.h.
 */
#include "escape.h"

#include <string.h>

bool escape_needed(const char *name, size_t size) {
    return memchr(name, '\\', size) || memchr(name, '\n', size) || memchr(name, '\r', size);
}

size_t escape_write(char *to, const char *name, size_t size) {
    char *start = to;
    for (size_t i = 0; i < size; i++) {
        char c = name[i];
        if (c == '\\' || c == '\n' || c == '\r') {
            *to++ = '\\';
            c = c == '\n' ? 'n' : c == '\r' ? 'r' : '\\';
        }
        *to++ = c;
    }
    return (size_t)(to - start);
}
