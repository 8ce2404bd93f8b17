/*
 * path.c: see path.h.
 */
#include "path.h"

#include "host.h"

enum { BAD_REQUEST = 400, NOT_FOUND = 404, TOO_LONG = 414 };

/* Leaves the path of a target: without scheme, host and query. Empty: it has none. */
static struct text cut(struct text target) {
    static const char scheme[] = "http://";
    size_t length = sizeof scheme - 1;
    if (target.length >= length && strncasecmp(target.at, scheme, length) == 0) {
        struct text host = {.at = target.at + length};
        while (host.length < target.length - length && host.at[host.length] != '/' &&
               host.at[host.length] != '?') {
            host.length++;
        }
        target.at = host.at + host.length;
        target.length -= length + host.length;
        if (!host_is_valid(host)) {
            return (struct text){0};
        }
        if (target.length == 0 || *target.at == '?') {
            return (struct text){.at = "/", .length = 1};
        }
    }
    const char *query = memchr(target.at, '?', target.length);
    target.length = query ? (size_t)(query - target.at) : target.length;
    return target;
}

/* Takes one byte, which may be written as three; negative: it is none. */
static int take(struct text *text) {
    char c = *text->at;
    size_t n = 1;
    int byte = (unsigned char)c;
    if (c == '%') {
        if (text->length < 3 || text_digit(text->at[1]) < 0 || text_digit(text->at[2]) < 0) {
            return -1;
        }
        n = 3;
        byte = text_digit(text->at[1]) * 16 + text_digit(text->at[2]);
    }
    text->at += n;
    text->length -= n;
    return byte;
}

int path_of(struct text target, char path[PATH_SIZE]) {
    struct text text = cut(target);
    size_t size = 0;
    if (text.length == 0 || *text.at != '/' || memchr(target.at, '#', target.length)) {
        return BAD_REQUEST;
    }
    while (text.length > 0) {
        bool begins = size > 0 && path[size - 1] == '/';
        bool is_plain = *text.at != '%';
        int byte = take(&text);
        if (byte <= 0) {
            return BAD_REQUEST;
        }
        if ((begins && (byte == '.' || byte == '/')) || (byte == '/' && !is_plain)) {
            return NOT_FOUND; /* no name has a slash in it, so none is written so */
        }
        if (size == PATH_SIZE - 1) {
            return TOO_LONG;
        }
        path[size++] = (char)byte;
    }
    path[size] = '\0';
    return 0;
}
