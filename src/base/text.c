/*
 * text.c: see text.h.
 */
#include "base/text.h"

#include <string.h>

/* The number of bytes of the UTF-8 character at `at`; 0 when there is none. */
static unsigned length_of(const char *at) {
    const unsigned char *c = (const unsigned char *)at;
    unsigned n = c[0] < 0x80 ? 1 : c[0] < 0xc2 ? 0 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;
    if (c[0] > 0xf4 || (c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f) ||
        (c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] > 0x8f)) {
        return 0;
    }
    for (unsigned i = 1; i < n; i++) {
        if ((c[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    return n;
}

/* The control characters of ASCII, and those of ISO 8859, which are 0xc2 0x80 to 0xc2 0x9f. */
static bool is_control(const unsigned char *c) {
    return c[0] < ' ' || c[0] == 0x7f || (c[0] == 0xc2 && c[1] < 0xa0);
}

unsigned th_text_char(const char **string, bool quoted, char out[TH_TEXT_CHAR]) {
    const char *at = *string;
    unsigned n = length_of(at);
    *string += n ? n : 1;
    if (n == 0 || is_control((const unsigned char *)at)) {
        out[0] = '?';
        return 1;
    }
    if (quoted && (*at == '"' || *at == '\\')) {
        out[0] = '\\';
        out[1] = *at;
        return 2;
    }
    for (unsigned i = 0; i < n; i++) {
        out[i] = at[i];
    }
    return n;
}

size_t th_text_cut(const char *string, size_t most) {
    size_t length = strnlen(string, most);
    if (length < most || ((unsigned char)string[most] & 0xc0) != 0x80) {
        return length; /* the whole string, or a cut in front of a character */
    }
    for (size_t back = 1; back < TH_TEXT_CHAR && back <= most; back++) {
        if (length_of(string + most - back) > back) {
            return most - back;
        }
    }
    return most; /* these bytes are no UTF-8 */
}
