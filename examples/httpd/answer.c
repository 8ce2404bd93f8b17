/*
 * answer.c: see answer.h.
 */
#include "answer.h"

#include <stdio.h>

#include "route.h"

/* Statuses with their reasons; any other one has no reason. */
static const struct {
    int status;
    const char *text;
} statuses[] = {
    {200, "200 OK"},
    {201, "201 Created"},
    {202, "202 Accepted"},
    {204, "204 No Content"},
    {206, "206 Partial Content"},
    {301, "301 Moved Permanently"},
    {302, "302 Found"},
    {303, "303 See Other"},
    {304, "304 Not Modified"},
    {307, "307 Temporary Redirect"},
    {308, "308 Permanent Redirect"},
    {400, "400 Bad Request"},
    {401, "401 Unauthorized"},
    {403, "403 Forbidden"},
    {404, "404 Not Found"},
    {405, "405 Method Not Allowed"},
    {408, "408 Request Timeout"},
    {409, "409 Conflict"},
    {410, "410 Gone"},
    {413, "413 Content Too Large"},
    {414, "414 URI Too Long"},
    {415, "415 Unsupported Media Type"},
    {416, "416 Range Not Satisfiable"},
    {417, "417 Expectation Failed"},
    {422, "422 Unprocessable Content"},
    {429, "429 Too Many Requests"},
    {431, "431 Request Header Fields Too Large"},
    {500, "500 Internal Server Error"},
    {501, "501 Not Implemented"},
    {503, "503 Service Unavailable"},
    {505, "505 HTTP Version Not Supported"},
};

enum { STATUS_MIN = 100, STATUS_MAX = 999, STATUS_SIZE = 5 };

/* A status with its reason: a text that stays, or `room`, with "299 ". */
static const char *status_text(int status, char room[STATUS_SIZE]) {
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        if (statuses[i].status == status) {
            return statuses[i].text;
        }
    }
    snprintf(room, STATUS_SIZE, "%03u ", (unsigned)status % (STATUS_MAX + 1));
    return room;
}

void answer_begin(struct connection *c, int status) {
    struct output *out = &c->out;
    char room[STATUS_SIZE];
    c->status =
        status >= STATUS_MIN && status <= STATUS_MAX ? status : HTTP_STATUS_INTERNAL_SERVER_ERROR;
    output_text(out, "HTTP/1.1 ");
    output_text(out, status_text(c->status, room));
    output_text(out, "\r\nDate: ");
    output_add(out, date_now(&c->now), DATE_SIZE - 1);
    output_text(out, "\r\n");
    c->ends = connection_is_last(c); /* not before: the server may end while a route waits */
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
    if (c->status < HTTP_STATUS_OK || c->status == HTTP_STATUS_NO_CONTENT) {
        answer_end(c); /* these have neither (RFC 9110, 8.6) */
        return false;
    }
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
    char room[STATUS_SIZE];
    answer_begin(c, status);
    const char *text = status_text(c->status, room);
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
