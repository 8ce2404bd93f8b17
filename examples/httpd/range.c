/*
 * range.c: see range.h. One range: "bytes=A-B", "bytes=A-" or "bytes=-LENGTH".
 */
#include "range.h"

/* Takes digits, if there are any. Numbers that are too large for any file stay so. */
static bool take_number(struct text *text, uint64_t *number) {
    const char *begin = text->at;
    *number = 0;
    while (text->length > 0 && *text->at >= '0' && *text->at <= '9') {
        uint64_t digit = (uint64_t)(*text->at - '0');
        *number = *number > (UINT64_MAX - digit) / 10 ? UINT64_MAX : *number * 10 + digit;
        text->at++;
        text->length--;
    }
    return text->at > begin;
}

enum ranged range_read(struct text field, uint64_t size, uint64_t *offset, uint64_t *length) {
    static const char unit[] = "bytes=";
    size_t skip = sizeof unit - 1;
    if (field.length < skip || strncasecmp(field.at, unit, skip) != 0) {
        return RANGE_WHOLE;
    }
    struct text rest = {.at = field.at + skip, .length = field.length - skip};
    uint64_t first, last;
    bool has_first = take_number(&rest, &first);
    if (rest.length == 0 || *rest.at != '-') {
        return RANGE_WHOLE;
    }
    rest.at++;
    rest.length--;
    bool has_last = take_number(&rest, &last);
    if (rest.length > 0 || !(has_first || has_last) || (has_first && has_last && last < first)) {
        return RANGE_WHOLE;
    }
    if (!has_first) {
        first = last < size ? size - last : 0;
        last = last > 0 ? UINT64_MAX : 0;
        if (last == 0) {
            return RANGE_NONE;
        }
    } else if (!has_last) {
        last = UINT64_MAX;
    }
    if (first >= size) {
        return RANGE_NONE;
    }
    *offset = first;
    *length = last < size ? last - first + 1 : size - first;
    return RANGE_PART;
}
