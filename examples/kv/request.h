/*
 * request.h: the protocol as clients speak it. A request is an array of texts,
 *
 *     *2\r\n$3\r\nGET\r\n$4\r\nname\r\n
 *
 * or a line of words between spaces, for people: `GET name`. It may come in pieces: the parsed part
 * is kept, so that each byte is read once. Nothing is copied: the arguments are in the received
 * bytes.
 */
#ifndef KV_REQUEST_H
#define KV_REQUEST_H

#include "text.h"

/* How many arguments a request has at most, and how many bytes as a line. */
enum { ARGUMENTS_MAX = 1024, LINE_MAX_SIZE = 4096 };

struct request {
    const char *base;  /* where it lies, once it is whole */
    size_t at;         /* how much of it has been understood */
    size_t value_max;  /* how long an argument may be */
    unsigned count;    /* the arguments so far */
    unsigned wanted;   /* the announced number; 0: not known yet */
    bool is_announced; /* the length of the next one is known */
    struct {
        size_t begin, size;
    } arguments[ARGUMENTS_MAX];
};

enum parsed {
    PARSED_MORE,  /* its end has not come */
    PARSED_WHOLE, /* it has so many arguments, and `at` bytes; one of none is to be ignored */
    PARSED_WRONG  /* it is no request, and the rest cannot be parsed */
};

/* Begins a new request. */
void request_begin(struct request *request);

/*
 * Goes on with a request that begins with these bytes; they may lie elsewhere than the last time,
 * with more of them behind. *why has the error.
 */
enum parsed request_parse(struct request *request, struct text from, const char **why);

/* Returns an argument of a whole request. */
static inline struct text request_argument(const struct request *request, unsigned i) {
    return (struct text){request->base + request->arguments[i].begin, request->arguments[i].size};
}

#endif
