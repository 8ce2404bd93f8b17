/*
 * host.c: see host.h.
 */
#include "host.h"

#include "system.h"

enum { ADDRESS_SIZE = 46 }; /* of the longest IPv6 address, with the 0 at its end */

enum { PORT_MAX = 65535 };

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_of_name(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c != '\0' && strchr("-._~!$&'()*+,;=", c));
}

/*
 * How many bytes at the beginning are a name or an IPv4 address. "%41" is one character in it; a
 * name with "%00" would end there for a program in C.
 */
static size_t name_length(struct text text) {
    size_t n = 0;
    while (n < text.length) {
        bool is_coded = text.at[n] == '%' && text.length - n > 2 &&
                        text_digit(text.at[n + 1]) >= 0 && text_digit(text.at[n + 2]) >= 0 &&
                        strncmp(text.at + n, "%00", 3) != 0;
        if (!is_coded && !is_of_name(text.at[n])) {
            break;
        }
        n += is_coded ? 3 : 1;
    }
    return n;
}

/* How many bytes at the beginning are an IPv6 address in brackets. */
static size_t address_length(struct text text) {
    char address[ADDRESS_SIZE];
    const char *end = memchr(text.at, ']', text.length);
    size_t length = end ? (size_t)(end - text.at) - 1 : sizeof address;
    if (length >= sizeof address) {
        return 0;
    }
    memcpy(address, text.at + 1, length);
    address[length] = '\0';
    return system_is_ipv6(address) ? length + 2 : 0;
}

/* Whether it is ":" and a port, which may be empty. */
static bool is_port(struct text text) {
    unsigned port = 0;
    size_t n = 1;
    while (n < text.length && is_digit(text.at[n]) && port <= PORT_MAX) {
        port = port * 10 + (unsigned)(text.at[n++] - '0');
    }
    return *text.at == ':' && n == text.length && port <= PORT_MAX;
}

bool host_is_valid(struct text text) {
    size_t n = text.length > 0 && *text.at == '[' ? address_length(text) : name_length(text);
    struct text rest = {.at = text.at + n, .length = text.length - n};
    return n > 0 && (rest.length == 0 || is_port(rest));
}
