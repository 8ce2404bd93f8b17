/*
 * json.h: demands that a text is one JSON value, by the rules of RFC 8259.
 */
#ifndef JSON_H
#define JSON_H

#include "support/support.h"

enum { JSON_DEEP = 64 };

static const char *json_value(const char *at, int depth);

static inline const char *json_space(const char *at) {
    return at + strspn(at, " \t\r\n");
}

__attribute__((noreturn)) static inline void json_wrong(const char *at, const char *what) {
    check_failed(__FILE__, __LINE__, "no JSON: %s at: %.300s", what, at);
}

static inline const char *json_word(const char *at, const char *word) {
    if (strncmp(at, word, strlen(word)) != 0) {
        json_wrong(at, word);
    }
    return at + strlen(word);
}

/* Bytes of a string: no control, and a backslash only before an allowed character. */
static inline const char *json_string(const char *at) {
    at = json_word(at, "\"");
    for (; *at != '"'; at++) {
        if ((unsigned char)*at < ' ') {
            json_wrong(at, "a control in a string, or its end is missing");
        }
        if (*at != '\\') {
            continue;
        }
        at++;
        if (*at == 'u' && strspn(at + 1, "0123456789abcdefABCDEF") >= 4) {
            at += 4;
        } else if (*at == '\0' || !strchr("\"\\/bfnrt", *at)) {
            json_wrong(at, "what a backslash stands before");
        }
    }
    return at + 1;
}

static inline const char *json_number(const char *at) {
    at += *at == '-';
    const size_t digits = strspn(at, "0123456789");
    if (digits == 0 || (digits > 1 && *at == '0')) {
        json_wrong(at, "a number");
    }
    return at + digits; /* the library writes whole ones */
}

/* The contents of braces or brackets, from the opening one on. */
static inline const char *json_list(const char *at, bool named, int depth) {
    const char end = named ? '}' : ']';
    at = json_space(at + 1);
    if (*at == end) {
        return at + 1;
    }
    for (;;) {
        if (named) {
            at = json_space(json_string(json_space(at)));
            at = json_word(at, ":");
        }
        at = json_space(json_value(at, depth + 1));
        if (*at == end) {
            return at + 1;
        }
        at = json_word(at, ",");
    }
}

static inline const char *json_value(const char *at, int depth) {
    at = json_space(at);
    CHECK(depth < JSON_DEEP);
    switch (*at) {
    case '{':
    case '[':
        return json_list(at, *at == '{', depth);
    case '"':
        return json_string(at);
    case 't':
        return json_word(at, "true");
    case 'f':
        return json_word(at, "false");
    case 'n':
        return json_word(at, "null");
    default:
        return json_number(at);
    }
}

/* Demands that it is one, and nothing after it. */
static inline void check_json(const char *text) {
    const char *end = json_space(json_value(text, 0));
    if (*end != '\0') {
        json_wrong(end, "something behind the value");
    }
}

#endif
