/*
 * connection.c: see connection.h.
 *
 * A connection is a fiber, so this reads as it happens: wait for a request, read its head, look
 * whose it is, read its body, answer, and again. Each wait has a deadline.
 */
#include "connection.h"

#include <errno.h>
#include <stdlib.h>
#include <thrum/net.h>
#include <thrum/serve.h>

#include "answer.h"
#include "log.h"
#include "route.h"
#include "stats.h"
#include "system.h"

enum { BODY_ROOM = 4096 }; /* behind the longest head, for the following bytes */

enum { LINGER_MAX = 32 << 20 }; /* bytes to drop that are not a body's data */

#define CROWDED_IDLE_NS THRUM_MS(300)
#define ENDING_LINGER_NS THRUM_S(1)

enum { NOBODY = -1 }; /* in place of a status: there is nobody to answer */

static bool serve_next(struct connection *c);
static void linger(const struct connection *c);

int connection_serve(thrum_io io, void *arg) {
    struct server *server = arg;
    const struct options *options = server->options;
    const size_t in_size = options->head + BODY_ROOM;
    struct wire wire;
    if (wire_open(&wire, io, server->secret, thrum_after(options->head_time)) != 0) {
        return 0;
    }
    char *memory = malloc(in_size + OUTPUT_SIZE);
    if (!memory) {
        wire_close(&wire, true);
        return -ENOMEM;
    }
    struct connection c = {
        .server = server,
        .in = {.wire = &wire, .data = memory, .size = in_size},
        .out = {.wire = &wire, .timeout = options->write_time, .data = memory + in_size},
        .body = {.max = options->body, .all_max = options->bodies, .xall = &server->xbodies},
    };
    request_open(&c.request, &c.body);
    if (!server->log || thrum_io_peer(io, c.peer, sizeof c.peer) != 0) {
        c.peer[0] = '\0';
    }
    atomic_fetch_add(&server->xconnections, 1);
    while (serve_next(&c)) {
    }
    if (output_flush(&c.out) == 0 && c.lingers) {
        linger(&c);
    }
    wire_close(&wire, c.out.error != 0);
    atomic_fetch_sub(&server->xconnections, 1);
    free(memory);
    return 0;
}

/* How long a connection may be idle: only briefly when few are left, as others need them. */
static thrum_time idle_time(const struct connection *c, thrum_time wanted) {
    const struct server *server = c->server;
    unsigned there = atomic_load_explicit(&server->xconnections, memory_order_relaxed);
    return there > server->connections_max / 4 * 3 && wanted > CROWDED_IDLE_NS ? CROWDED_IDLE_NS
                                                                               : wanted;
}

/* Whether a body's chunk sizes and extensions are longer than a body and a head may be together. */
static bool is_padded(const struct connection *c) {
    return c->request.framing > c->body.max + c->server->options->head;
}

static thrum_time sooner(thrum_time a, thrum_time b) {
    return a < b ? a : b;
}

/*
 * A close while bytes come in that nobody reads makes the system send a reset, which may overtake
 * the last answer. So this announces the end first and then drops incoming bytes, as nginx does,
 * until the peer ends, nothing has come for linger_idle_time, or linger_time has passed. Once the
 * server ends, one second is left. Many clients read an answer only when they have sent their whole
 * body, so a body is dropped to its end; all else only up to LINGER_MAX.
 */
static void linger(const struct connection *c) {
    const bool is_upload = c->request.has_body && !c->request.has_chunks && !is_padded(c);
    const struct options *options = c->server->options;
    const struct input *in = &c->in;
    thrum_time end = thrum_after(options->linger_time);
    bool is_ending = false;
    uint64_t dropped = 0;
    int64_t n = wire_announce_end(in->wire, thrum_after(options->linger_idle_time)) == 0;
    while ((n > 0 || n == -ESHUTDOWN) && (is_upload || dropped <= LINGER_MAX)) {
        if (!is_ending && (n == -ESHUTDOWN || thrum_event_is_signaled(&c->server->ending))) {
            is_ending = true;
            end = sooner(end, thrum_after(ENDING_LINGER_NS));
        }
        const thrum_time next = sooner(end, thrum_after(idle_time(c, options->linger_idle_time)));
        n = is_ending ? thrum_read_until(in->wire->io, in->data, in->size, next)
                      : thrum_serve_read(in->wire->io, in->data, in->size, next);
        dropped += n > 0 ? (uint64_t)n : 0;
    }
}

/* ---- reading ---- */

/* The meaning of the end of the data: a status, or NOBODY. */
static int status_of(int64_t n, bool began) {
    return !began            ? NOBODY
           : n == -ETIMEDOUT ? HTTP_STATUS_REQUEST_TIMEOUT
           : n == 0          ? HTTP_STATUS_BAD_REQUEST /* it ended in the middle */
                             : NOBODY;
}

/* Reads more. First all answers that are ready go out: the other side may wait for them. */
static int64_t read_more(struct connection *c, thrum_time deadline) {
    int64_t n = output_flush(&c->out);
    n = n != 0 ? n : input_read(&c->in, deadline);
    c->request.head = c->in.data + c->in.begin; /* the received bytes may have moved */
    return n;
}

/* The part that makes the head too large: its target, or the rest. */
static int too_large(const struct connection *c) {
    struct span target = c->request.target;
    return target.at + target.length >= c->server->options->head
               ? HTTP_STATUS_URI_TOO_LONG
               : HTTP_STATUS_REQUEST_HEADER_FIELDS_TOO_LARGE;
}

/*
 * Reads lines, which stay where they are: a request's head, with its end if no body follows, or its
 * trailers. `parsed` bytes of them have been parsed. Returns 0, a status, or NOBODY.
 */
static int read_lines(struct connection *c, size_t parsed, thrum_time deadline) {
    const size_t max = c->server->options->head;
    enum parsed now = PARSED_MORE;
    while (now == PARSED_MORE) {
        const char *head = c->in.data + c->in.begin;
        size_t left = input_left(&c->in), used;
        if (left == parsed) {
            int64_t n = left > max ? -ENOBUFS : read_more(c, deadline);
            if (n <= 0) {
                return n == -ENOBUFS ? too_large(c) : status_of(n, left > 0);
            }
            continue;
        }
        now = request_parse(&c->request, head, head + parsed, left - parsed, &used);
        parsed += used;
    }
    if (now != PARSED_BAD && c->request.head_size > max) {
        return too_large(c);
    }
    return now == PARSED_BAD ? request_refusal(&c->request) : request_check(&c->request);
}

static int read_head(struct connection *c) {
    request_begin(&c->request);
    return read_lines(c, 0, thrum_after(c->server->options->head_time));
}

/*
 * Reads the body of a request, and its trailers: 0, a status, or NOBODY. Bytes of the body are used
 * up at once, so its place behind the head is free again.
 */
static int read_body(struct connection *c) {
    const thrum_time deadline = thrum_after(c->server->options->body_time);
    struct input *in = &c->in;
    const size_t head = c->request.head_size;
    enum parsed now = PARSED_MORE;
    while (now == PARSED_MORE) {
        if (input_left(in) == head) {
            int64_t n = read_more(c, deadline);
            if (n <= 0) {
                return status_of(n, true);
            }
        }
        char *from = in->data + in->begin + head;
        size_t size = input_left(in) - head, used;
        now = request_parse(&c->request, in->data + in->begin, from, size, &used);
        memmove(from, from + used, size - used);
        in->end -= used;
        if (is_padded(c)) {
            return HTTP_STATUS_PAYLOAD_TOO_LARGE;
        }
    }
    return now == PARSED_TRAILERS ? read_lines(c, head, deadline)
           : now == PARSED_BAD    ? request_refusal(&c->request)
                                  : 0;
}

/* ---- answering ---- */

/* Whether more requests have already arrived, in the buffer or in the system. */
static bool is_more_there(const struct connection *c) {
    return input_left(&c->in) > c->request.head_size || wire_is_more_there(c->in.wire);
}

/* Whether all places are taken, and somebody waits for one. */
static bool is_crowded(const struct server *server) {
    if (atomic_load_explicit(&server->xconnections, memory_order_relaxed) <
        server->connections_max) {
        return false;
    }
    return system_is_readable(thrum_io_fd(server->listener));
}

bool connection_is_last(const struct connection *c) {
    const struct server *server = c->server;
    return c->ends || !c->request.keep_alive ||
           ((thrum_event_is_signaled(&server->ending) || is_crowded(server)) && !is_more_there(c));
}

/* Answers with an error. The end of the request is not known, or not waited for. */
static void refuse(struct connection *c, int status) {
    c->ends = c->lingers = true;
    answer_error(c, status);
}

/*
 * Reads the body of a request that a route would take; allows it to be sent if it has not come
 * yet.
 */
static int take_body(struct connection *c, const struct route *route) {
    if (!c->request.has_body) {
        return 0;
    }
    if (c->request.parser.content_length > c->body.max &&
        (c->request.parser.flags & F_CHUNKED) == 0) {
        return HTTP_STATUS_PAYLOAD_TOO_LARGE;
    }
    if (request_expects(&c->request) && input_left(&c->in) == c->request.head_size) {
        output_text(&c->out, "HTTP/1.1 100 Continue\r\n\r\n");
    }
    c->body.keeps = route->wants_body;
    return read_body(c);
}

/*
 * Answers a request whose head is there. Returns false when there is nobody to answer any
 * longer.
 */
static bool respond(struct connection *c) {
    const struct route *route = NULL;
    int status = path_of(request_target(&c->request), c->path);
    status = status != 0 ? status : route_find(c, &route);
    if (status != 0 && !c->request.has_body) {
        answer_error(c, status);
        return true;
    }
    /* the body of a refused request is not taken */
    status = status != 0 ? status : take_body(c, route);
    if (status == 0) {
        route->answer(c);
    } else if (status != NOBODY) {
        refuse(c, status);
    }
    return status != NOBODY;
}

/* How long to wait for a request. A new connection has as long as for a head. */
static thrum_time patience(const struct connection *c) {
    const struct options *options = c->server->options;
    return c->served ? idle_time(c, options->idle_time) : options->head_time;
}

/* Waits for a request and answers it. Returns whether another one may follow. */
static bool serve_next(struct connection *c) {
    struct server *server = c->server;
    if (input_left(&c->in) == 0 &&
        (output_flush(&c->out) != 0 || input_begin(&c->in, thrum_after(patience(c))) <= 0)) {
        return false;
    }
    c->path[0] = '\0';
    c->ends = false;
    c->status = 0;
    c->length = 0;
    int status = read_head(c);
    bool is_answered = status != NOBODY;
    if (status > 0) {
        refuse(c, status);
    } else if (status == 0) {
        is_answered = respond(c);
    }
    if (is_answered) {
        stats_count(server->stats, c->status);
        log_request(server->log, c);
    }
    body_end(&c->body);
    input_take(&c->in, c->request.head_size);
    c->served = true;
    return is_answered && !c->ends && c->out.error == 0;
}
