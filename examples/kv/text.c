/*
 * text.c: see text.h.
 */
#include "text.h"

#include <string.h>
#include <strings.h>

bool number_parse(int64_t *out, struct text from) {
    bool negative = from.size > 0 && from.at[0] == '-';
    size_t i = negative ? 1 : 0;
    int64_t number = 0;
    if (i == from.size || from.size > NUMBER_MAX || (from.at[i] == '0' && from.size > 1)) {
        return false;
    }
    /* Counted downwards, since the least number has no counterpart. */
    for (; i < from.size; i++) {
        unsigned digit = (unsigned char)from.at[i] - (unsigned)'0';
        if (digit > 9 || __builtin_mul_overflow(number, 10, &number) ||
            __builtin_sub_overflow(number, (int64_t)digit, &number)) {
            return false;
        }
    }
    if (!negative && number == INT64_MIN) {
        return false;
    }
    *out = negative ? number : -number;
    return true;
}

size_t number_write(char *to, int64_t number) {
    char digits[NUMBER_MAX];
    uint64_t left = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    if (number < 0) {
        digits[--at] = '-';
    }
    memcpy(to, digits + at, sizeof digits - at);
    return sizeof digits - at;
}

bool text_is(struct text text, const char *word) {
    return text.size == strlen(word) && strncasecmp(text.at, word, text.size) == 0;
}
