/*
 * request.c: see request.h.
 */
#include "request.h"

#include <string.h>

void request_begin(struct request *request) {
    request->at = 0;
    request->count = 0;
    request->wanted = 0;
    request->is_announced = false;
}

/* ---- arrays ---- */

/* Takes a line with a number behind one character: `*2\r\n`. Such lines are short. */
static enum parsed take_number(struct request *request, struct text from, int64_t *number) {
    enum { LINE = 1 + NUMBER_MAX + 2 };
    const char *line = from.at + request->at;
    size_t there = from.size - request->at;
    const char *end = memchr(line, '\n', there < LINE ? there : LINE);
    if (!end) {
        return there < LINE ? PARSED_MORE : PARSED_WRONG;
    }
    size_t size = (size_t)(end - line);
    if (size < 2 || line[size - 1] != '\r' ||
        !number_parse(number, (struct text){line + 1, size - 2})) {
        return PARSED_WRONG;
    }
    request->at += size + 1;
    return PARSED_WHOLE;
}

/* Takes the length of the next argument. */
static enum parsed take_length(struct request *request, struct text from, const char **why) {
    int64_t size;
    if (request->at == from.size) {
        return PARSED_MORE;
    }
    if (from.at[request->at] != '$') {
        *why = "expected '$'";
        return PARSED_WRONG;
    }
    *why = "invalid bulk length";
    enum parsed parsed = take_number(request, from, &size);
    if (parsed != PARSED_WHOLE) {
        return parsed;
    }
    if (size < 0 || (uint64_t)size > request->value_max) {
        return PARSED_WRONG;
    }
    request->arguments[request->count].begin = request->at;
    request->arguments[request->count].size = (size_t)size;
    request->is_announced = true;
    return PARSED_WHOLE;
}

/* Takes the argument itself, and its line end. */
static enum parsed take_argument(struct request *request, struct text from, const char **why) {
    size_t size = request->arguments[request->count].size;
    if (from.size - request->at < size + 2) {
        return PARSED_MORE;
    }
    const char *end = from.at + request->at + size;
    if (end[0] != '\r' || end[1] != '\n') {
        *why = "an argument is longer than announced";
        return PARSED_WRONG;
    }
    request->at += size + 2;
    request->count++;
    request->is_announced = false;
    return PARSED_WHOLE;
}

static enum parsed parse_array(struct request *request, struct text from, const char **why) {
    enum parsed parsed = PARSED_WHOLE;
    if (request->wanted == 0) {
        int64_t wanted = 0;
        *why = "invalid multibulk length";
        parsed = take_number(request, from, &wanted);
        if (parsed != PARSED_WHOLE || wanted <= 0) {
            return parsed;
        }
        if (wanted > ARGUMENTS_MAX) {
            return PARSED_WRONG;
        }
        request->wanted = (unsigned)wanted;
    }
    while (parsed == PARSED_WHOLE && request->count < request->wanted) {
        parsed = request->is_announced ? take_argument(request, from, why)
                                       : take_length(request, from, why);
    }
    return parsed;
}

/* ---- lines ---- */

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

static enum parsed split_line(struct request *request, const char *line, size_t size,
                              const char **why) {
    size_t at = 0;
    for (;;) {
        while (at < size && is_space(line[at])) {
            at++;
        }
        if (at == size) {
            return PARSED_WHOLE;
        }
        if (request->count == ARGUMENTS_MAX) {
            *why = "too many arguments";
            return PARSED_WRONG;
        }
        size_t begin = at;
        while (at < size && !is_space(line[at])) {
            at++;
        }
        request->arguments[request->count].begin = begin;
        request->arguments[request->count].size = at - begin;
        request->count++;
    }
}

static enum parsed parse_line(struct request *request, struct text from, const char **why) {
    const char *end = memchr(from.at + request->at, '\n', from.size - request->at);
    size_t size = end ? (size_t)(end - from.at) : from.size;
    request->at = size;
    if (size > LINE_MAX_SIZE) {
        *why = "too big inline request";
        return PARSED_WRONG;
    }
    if (!end) {
        return PARSED_MORE;
    }
    request->at++;
    return split_line(request, from.at, size, why);
}

enum parsed request_parse(struct request *request, struct text from, const char **why) {
    request->base = from.at;
    if (from.size == 0) {
        return PARSED_MORE;
    }
    return from.at[0] == '*' ? parse_array(request, from, why) : parse_line(request, from, why);
}
