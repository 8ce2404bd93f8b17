/*
 * host.c: see host.h.
 */
#include "host.h"

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_of_name(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c != '\0' && strchr("-._~!$&'()*+,;=", c) != NULL);
}

/* How many bytes at the beginning are a name or an IPv4 address. "%41" is one character in it. */
static size_t name_length(struct text text) {
    size_t n = 0;
    while (n < text.length) {
        bool is_coded = text.at[n] == '%' && text.length - n > 2 &&
                        text_digit(text.at[n + 1]) >= 0 && text_digit(text.at[n + 2]) >= 0;
        if (!is_coded && !is_of_name(text.at[n])) {
            break;
        }
        n += is_coded ? 3 : 1;
    }
    return n;
}

/* How many bytes at the beginning are an IPv6 address in brackets. */
static size_t address_length(struct text text) {
    size_t n = 1;
    while (n < text.length &&
           (text_digit(text.at[n]) >= 0 || text.at[n] == ':' || text.at[n] == '.')) {
        n++;
    }
    return n > 1 && n < text.length && text.at[n] == ']' ? n + 1 : 0;
}

bool host_is_valid(struct text text) {
    size_t n = text.length > 0 && *text.at == '[' ? address_length(text) : name_length(text);
    if (n > 0 && n < text.length && text.at[n] == ':') {
        n++;
        while (n < text.length && is_digit(text.at[n])) {
            n++;
        }
    }
    return n > 0 && n == text.length;
}
