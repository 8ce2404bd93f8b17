/*
 * text.h: some bytes of a request, which belong to somebody else and have no 0 at their end.
 */
#ifndef HTTPD_TEXT_H
#define HTTPD_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

struct text {
    const char *at;
    size_t length;
};

/* Whether it is this word, in upper or lower case. */
static inline bool text_is(struct text text, const char *word) {
    return strlen(word) == text.length && strncasecmp(text.at, word, text.length) == 0;
}

/* The value of a hexadecimal digit; negative: it is none. */
static inline int text_digit(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

#endif
