/*
 * plain.c: see plain.h.
 */
#include "base/plain.h"

#include <stdarg.h>

#include "base/text.h"

void th_plain_flush(th_plain *text) {
    if (text->length) {
        text->take(text->ctx, text->bytes, text->length);
    }
    text->length = 0;
}

void th_plain_bytes(th_plain *text, const char *bytes, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (text->length == text->room) {
            th_plain_flush(text);
        }
        text->bytes[text->length++] = bytes[i];
    }
}

static void put_string(th_plain *text, const char *string) {
    size_t length = 0;
    while (string[length]) {
        length++;
    }
    th_plain_bytes(text, string, length);
}

static void put_number(th_plain *text, unsigned long long value, unsigned base, unsigned width) {
    char digits[24];
    unsigned n = sizeof digits;
    do {
        digits[--n] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value);
    while (sizeof digits - n < width && n > 0) {
        digits[--n] = '0';
    }
    th_plain_bytes(text, digits + n, sizeof digits - n);
}

static void put_signed(th_plain *text, long long value, unsigned width) {
    if (value < 0) {
        th_plain_bytes(text, "-", 1);
    }
    put_number(text, value < 0 ? 0 - (unsigned long long)value : (unsigned long long)value, 10,
               width);
}

void th_plain_put(th_plain *text, const char *format, ...) {
    va_list args;
    va_start(args, format);
    for (const char *at = format; *at; at++) {
        unsigned width = 0;
        unsigned longs = 0;
        if (*at != '%') {
            th_plain_bytes(text, at, 1);
            continue;
        }
        for (at++; *at >= '0' && *at <= '9'; at++) {
            width = 10 * width + (unsigned)(*at - '0');
        }
        for (; *at == 'l'; at++) {
            longs++;
        }
        if (*at == 's') {
            put_string(text, va_arg(args, const char *));
        } else if (*at == 'd') {
            put_signed(text,
                       longs == 0   ? va_arg(args, int)
                       : longs == 1 ? va_arg(args, long)
                                    : va_arg(args, long long),
                       width);
        } else { /* 'u' or 'x' */
            put_number(text,
                       longs == 0   ? va_arg(args, unsigned)
                       : longs == 1 ? va_arg(args, unsigned long)
                                    : va_arg(args, unsigned long long),
                       *at == 'x' ? 16 : 10, width);
        }
    }
    va_end(args);
}

void th_plain_quoted(th_plain *text, const char *string) {
    char c[TH_TEXT_CHAR];
    th_plain_bytes(text, "\"", 1);
    while (*string) {
        th_plain_bytes(text, c, th_text_char(&string, true, c));
    }
    th_plain_bytes(text, "\"", 1);
}
