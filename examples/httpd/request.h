/*
 * request.h: one request, as llhttp reads it.
 *
 * The head of a request (its first line with its fields) stays where it arrived, and the request
 * only notes the position of each part. Fields that nothing here needs are skipped. The body is
 * handed on piece by piece (body.h). Trailers, which may follow a chunked body, stay behind the
 * head and are read like it. A connection has one of these, for one request after the other, and
 * nothing is allocated.
 *
 * llhttp is strict about everything that decides where a request ends. Requests that it accepts,
 * but that two programs could read in two ways, are refused by request_check.
 */
#ifndef HTTPD_REQUEST_H
#define HTTPD_REQUEST_H

#include <llhttp.h>
#include <stdbool.h>
#include <stdint.h>

#include "body.h"
#include "text.h"

#if LLHTTP_VERSION_MAJOR < 9 && !LLHTTP_STRICT_MODE
#error "define LLHTTP_STRICT_MODE=1 for this and for the sources of llhttp: else it is not strict"
#endif

/* The position of a text, from the request's first byte. */
struct span {
    uint32_t at;
    uint32_t length;
};

/* The fields that are kept. Each may be there once. */
enum field { HOST, RANGE, EXPECT, IF_RANGE, IF_MODIFIED_SINCE, TRANSFER_ENCODING, FIELDS };

struct request {
    llhttp_t parser;
    const char *head; /* the request's first byte, where it is now */
    size_t head_size; /* once it is there; with the trailers, once they are there */
    size_t framing;   /* bytes of a body that are not data: the sizes and extensions of chunks */

    struct span target;
    struct span name; /* of the field that is being read */
    struct span fields[FIELDS];
    int field;     /* the field being read; FIELDS: none that is kept */
    unsigned seen; /* a bit a field */

    bool has_method; /* else the parser has that of the last request */
    bool has_head;
    bool has_chunks; /* all of them: trailers follow */
    bool keep_alive; /* the other side can have another answer after this one */
    bool has_body;
    bool twice;  /* a field was there twice */
    bool is_odd; /* a line was folded, or a field has no name or may not be a trailer */
    int refusal; /* the status with which its body was refused, or 0 */
    struct body *body;
};

/* Sets up the reader of a connection's requests. The bodies go to `body`. */
void request_open(struct request *request, struct body *body);

/* Begins the next request. */
void request_begin(struct request *request);

/* How far it is. */
enum parsed {
    PARSED_MORE,     /* there is more to come */
    PARSED_HEAD,     /* the head is there, and its body follows */
    PARSED_TRAILERS, /* all chunks of the body are there, and trailers follow, or an empty line */
    PARSED_WHOLE,    /* all of it is there */
    PARSED_BAD       /* it is none, and nothing that follows can be read: request_refusal */
};

/*
 * Goes on with a request whose first byte is at `head` now, by the `size` bytes at `from`. `*used`
 * is how many of them it has used up.
 */
enum parsed request_parse(struct request *request, const char *head, const char *from, size_t size,
                          size_t *used);

/* The status with which to refuse a request that was PARSED_BAD. */
int request_refusal(const struct request *request);

/*
 * Checks a head that is there, and later, if trailers have come, both. Returns 0, or the status
 * with which to refuse the request.
 */
int request_check(const struct request *request);

/* Parts of the head; without bytes if a part is not there. */
struct text request_target(const struct request *request);
struct text request_field(const struct request *request, enum field field);

/* Whether its sender waits for "100 Continue" before it sends the body. */
bool request_expects(const struct request *request);

#endif
