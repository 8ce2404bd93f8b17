/*
 * request.c: see request.h.
 */
#include "request.h"

#include "host.h"

/* ---- callbacks of llhttp ---- */

/* Notes a piece of a text; its pieces follow each other. */
static void extend(struct request *request, struct span *span, const char *at, size_t length) {
    uint32_t begin = (uint32_t)(at - request->head);
    if (span->length == 0) {
        span->at = begin;
    } else if (begin != span->at + span->length) {
        request->is_odd = true;
    }
    span->length += (uint32_t)length;
}

static struct text text_of(const struct request *request, struct span span) {
    return (struct text){.at = request->head + span.at, .length = span.length};
}

static int on_method_complete(llhttp_t *parser) {
    struct request *request = parser->data;
    request->has_method = true;
    return 0;
}

static int on_url(llhttp_t *parser, const char *at, size_t length) {
    struct request *request = parser->data;
    extend(request, &request->target, at, length);
    return 0;
}

static int on_field(llhttp_t *parser, const char *at, size_t length) {
    struct request *request = parser->data;
    extend(request, &request->name, at, length);
    return 0;
}

/*
 * Whether a field that is not kept may be in a head only: in a trailer it could make a program find
 * another end of the request, or take its body for something else (RFC 9110, 6.5.1). llhttp heeds
 * Connection and Proxy-Connection wherever they are.
 */
static bool is_for_heads(struct text name) {
    static const char *const names[] = {"Authorization",
                                        "Cache-Control",
                                        "Connection",
                                        "Content-Encoding",
                                        "Content-Language",
                                        "Content-Length",
                                        "Content-Location",
                                        "Content-Range",
                                        "Content-Type",
                                        "Cookie",
                                        "Forwarded",
                                        "HTTP2-Settings",
                                        "If-Match",
                                        "If-None-Match",
                                        "If-Unmodified-Since",
                                        "Keep-Alive",
                                        "Max-Forwards",
                                        "Pragma",
                                        "Proxy-Authorization",
                                        "Proxy-Connection",
                                        "Set-Cookie",
                                        "TE",
                                        "Trailer",
                                        "Upgrade"};
    size_t i = 0;
    while (i < sizeof names / sizeof names[0] && !text_is(name, names[i])) {
        i++;
    }
    return i < sizeof names / sizeof names[0];
}

static int on_field_complete(llhttp_t *parser) {
    static const char *const names[FIELDS] = {[HOST] = "Host",
                                              [RANGE] = "Range",
                                              [EXPECT] = "Expect",
                                              [IF_RANGE] = "If-Range",
                                              [IF_MODIFIED_SINCE] = "If-Modified-Since",
                                              [TRANSFER_ENCODING] = "Transfer-Encoding"};
    struct request *request = parser->data;
    struct text name = text_of(request, request->name);
    request->name.length = 0;
    request->is_odd = request->is_odd || name.length == 0;
    request->field = 0;
    while (request->field < FIELDS && !text_is(name, names[request->field])) {
        request->field++;
    }
    if (request->has_chunks) { /* no trailer is kept */
        request->is_odd = request->is_odd || request->field < FIELDS || is_for_heads(name);
        request->field = FIELDS;
    }
    unsigned bit = request->field < FIELDS ? 1u << request->field : 0;
    request->twice = request->twice || (request->seen & bit) != 0;
    request->seen |= bit;
    return 0;
}

static int on_value(llhttp_t *parser, const char *at, size_t length) {
    struct request *request = parser->data;
    if (request->field < FIELDS) {
        extend(request, &request->fields[request->field], at, length);
    }
    return 0;
}

static int on_head_complete(llhttp_t *parser) {
    struct request *request = parser->data;
    parser->upgrade = 0; /* to no other protocol: the rest is HTTP as well */
    request->has_head = true;
    request->keep_alive = llhttp_should_keep_alive(parser) != 0;
    request->has_body = (parser->flags & F_CHUNKED) != 0 || parser->content_length > 0;
    return request->has_body ? HPE_PAUSED : 0;
}

static int on_body(llhttp_t *parser, const char *at, size_t length) {
    struct request *request = parser->data;
    request->refusal = body_add(request->body, at, length);
    return request->refusal != 0 ? HPE_USER : 0;
}

static int on_chunk_header(llhttp_t *parser) {
    struct request *request = parser->data;
    request->has_chunks = parser->content_length == 0;
    return request->has_chunks ? HPE_PAUSED : 0;
}

/* The following bytes are the next request. */
static int on_complete(llhttp_t *parser) {
    (void)parser;
    return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
    .on_method_complete = on_method_complete,
    .on_url = on_url,
    .on_header_field = on_field,
    .on_header_field_complete = on_field_complete,
    .on_header_value = on_value,
    .on_headers_complete = on_head_complete,
    .on_body = on_body,
    .on_chunk_header = on_chunk_header,
    .on_message_complete = on_complete,
};

/* ---- one request after the other ---- */

void request_open(struct request *request, struct body *body) {
    *request = (struct request){.body = body};
    llhttp_init(&request->parser, HTTP_REQUEST, &settings);
    request->parser.data = request;
}

void request_begin(struct request *request) {
    request->head_size = request->framing = 0;
    request->target = request->name = (struct span){0};
    memset(request->fields, 0, sizeof request->fields);
    request->field = FIELDS;
    request->seen = 0;
    request->has_method = request->has_head = request->has_chunks = false;
    request->keep_alive = request->has_body = request->twice = request->is_odd = false;
    request->refusal = 0;
}

enum parsed request_parse(struct request *request, const char *head, const char *from, size_t size,
                          size_t *used) {
    llhttp_t *parser = &request->parser;
    const bool had_head = request->has_head, had_chunks = request->has_chunks;
    const size_t come = request->body->come;
    request->head = head;
    if (llhttp_get_errno(parser) == HPE_PAUSED) {
        llhttp_resume(parser);
    }
    llhttp_errno_t error = llhttp_execute(parser, from, size);
    const char *stop = error == HPE_PAUSED ? llhttp_get_error_pos(parser) : from + size;
    *used = (size_t)(stop - from);
    if (error != HPE_OK && error != HPE_PAUSED) {
        /* llhttp takes the beginning of HEADX for HEAD. */
        const char *at = llhttp_get_error_pos(parser);
        if (error == HPE_INVALID_METHOD && at < from + size && (unsigned char)*at > ' ') {
            request->has_method = false;
        }
        return PARSED_BAD;
    }
    if (had_head && !had_chunks) {
        request->framing += *used - (request->body->come - come);
    }
    if (error == HPE_OK) {
        return PARSED_MORE;
    }
    if (!had_head || had_chunks) {
        request->head_size = (size_t)(stop - head);
    }
    return !had_head && request->has_body       ? PARSED_HEAD
           : !had_chunks && request->has_chunks ? PARSED_TRAILERS
                                                : PARSED_WHOLE;
}

int request_refusal(const struct request *request) {
    switch (llhttp_get_errno(&request->parser)) {
    case HPE_USER:
        return request->refusal;
    case HPE_INVALID_VERSION:
    case HPE_PAUSED_H2_UPGRADE:
        return HTTP_STATUS_HTTP_VERSION_NOT_SUPPORTED;
    default:
        return HTTP_STATUS_BAD_REQUEST;
    }
}

/* ---- the contents of a request ---- */

/* Whether each line ends as it must, and none is folded, so that all read the same lines. */
static bool has_plain_lines(const char *at, size_t size) {
    const char *end = at + size;
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const char *back = memchr(at, '\r', (size_t)(end - at));
        if (!stop || back != stop - 1) {
            return false;
        }
        at = stop + 1;
        if (at < end && (*at == ' ' || *at == '\t')) {
            return false;
        }
    }
    return true;
}

/*
 * Whether exactly one space is before the target, and one after it, and then HTTP. llhttp accepts
 * several spaces, and RTSP.
 */
static bool has_plain_line(const struct request *request) {
    static const char after[] = " HTTP/";
    struct text target = request_target(request);
    const char *end = target.at + target.length;
    return target.at[-1] == ' ' && target.at[-2] != ' ' &&
           strncmp(end, after, sizeof after - 1) == 0;
}

int request_check(const struct request *request) {
    const llhttp_t *parser = &request->parser;
    bool is_1_0 = parser->http_minor == 0;
    if (parser->http_major != 1) {
        return HTTP_STATUS_HTTP_VERSION_NOT_SUPPORTED;
    }
    if (request->twice || request->is_odd || !has_plain_line(request) ||
        !has_plain_lines(request->head, request->head_size)) {
        return HTTP_STATUS_BAD_REQUEST;
    }
    bool has_host = (request->seen & 1u << HOST) != 0;
    if (has_host ? !host_is_valid(request_field(request, HOST)) : !is_1_0) {
        return HTTP_STATUS_BAD_REQUEST;
    }
    if ((request->seen & 1u << TRANSFER_ENCODING) != 0) {
        if (is_1_0) {
            return HTTP_STATUS_BAD_REQUEST;
        }
        if (!text_is(request_field(request, TRANSFER_ENCODING), "chunked")) {
            return HTTP_STATUS_NOT_IMPLEMENTED;
        }
    }
    if ((request->seen & 1u << EXPECT) != 0 && !is_1_0 && !request_expects(request)) {
        return HTTP_STATUS_EXPECTATION_FAILED;
    }
    return 0;
}

struct text request_target(const struct request *request) {
    return text_of(request, request->target);
}

struct text request_field(const struct request *request, enum field field) {
    struct text text = text_of(request, request->fields[field]);
    while (text.length > 0 &&
           (text.at[text.length - 1] == ' ' || text.at[text.length - 1] == '\t')) {
        text.length--;
    }
    return text;
}

bool request_expects(const struct request *request) {
    return request->parser.http_minor > 0 &&
           text_is(request_field(request, EXPECT), "100-continue");
}
