/*
 * answer.c: see answer.h.
 */
#include "answer.h"

#include "route.h"

/* The status lines that are in use, but for the version. */
static const struct {
    int status;
    const char *text;
} statuses[] = {
    {200, "200 OK"},
    {206, "206 Partial Content"},
    {301, "301 Moved Permanently"},
    {304, "304 Not Modified"},
    {400, "400 Bad Request"},
    {403, "403 Forbidden"},
    {404, "404 Not Found"},
    {405, "405 Method Not Allowed"},
    {408, "408 Request Timeout"},
    {413, "413 Content Too Large"},
    {414, "414 URI Too Long"},
    {416, "416 Range Not Satisfiable"},
    {417, "417 Expectation Failed"},
    {431, "431 Request Header Fields Too Large"},
    {501, "501 Not Implemented"},
    {503, "503 Service Unavailable"},
    {505, "505 HTTP Version Not Supported"},
};

static const char *status_text(int status) {
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        if (statuses[i].status == status) {
            return statuses[i].text;
        }
    }
    return "500 Internal Server Error";
}

void answer_begin(struct connection *c, int status) {
    struct output *out = &c->out;
    c->status = status;
    output_text(out, "HTTP/1.1 ");
    output_text(out, status_text(status));
    output_text(out, "\r\nDate: ");
    output_add(out, date_now(&c->now), DATE_SIZE - 1);
    output_text(out, "\r\n");
    if (c->ends) {
        output_text(out, "Connection: close\r\n");
    } else if (c->request.parser.http_minor == 0) {
        output_text(out, "Connection: keep-alive\r\n");
    }
}

void answer_field(struct connection *c, const char *name, const char *value) {
    output_text(&c->out, name);
    output_text(&c->out, ": ");
    output_text(&c->out, value);
    output_text(&c->out, "\r\n");
}

void answer_end(struct connection *c) {
    output_text(&c->out, "\r\n");
}

bool answer_length(struct connection *c, uint64_t length) {
    bool is_head = c->request.has_method && c->request.parser.method == HTTP_HEAD;
    output_text(&c->out, "Content-Length: ");
    output_number(&c->out, length);
    output_text(&c->out, "\r\n\r\n");
    c->length = is_head ? 0 : length;
    return !is_head;
}

void answer_body(struct connection *c, const void *from, size_t size) {
    if (answer_length(c, size)) {
        output_add(&c->out, from, size);
    }
}

void answer_error(struct connection *c, int status) {
    const char *text = status_text(status);
    answer_begin(c, status);
    if (status == HTTP_STATUS_METHOD_NOT_ALLOWED) {
        answer_field(c, "Allow", route_methods(c));
    } else if (status == HTTP_STATUS_SERVICE_UNAVAILABLE) {
        answer_field(c, "Retry-After", "1");
    }
    answer_field(c, "Content-Type", "text/plain");
    if (answer_length(c, strlen(text) + 1)) {
        output_text(&c->out, text);
        output_text(&c->out, "\n");
    }
}
