/*
 * routes.c: the routes of a server that is otherwise examples/httpd, for the tests in routes.py.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <thrum.h>

#include "answer.h"
#include "file.h"
#include "route.h"

/* The method and the body of the request. */
static void mine(struct connection *c) {
    const char *method = llhttp_method_name(c->request.parser.method);
    answer_begin(c, HTTP_STATUS_OK);
    if (answer_length(c, strlen(method) + 1 + c->body.size)) {
        output_text(&c->out, method);
        output_text(&c->out, " ");
        output_add(&c->out, c->body.data, c->body.size);
    }
}

/* An answer with the status that is the query: "/status?201". */
static void status(struct connection *c) {
    struct text target = request_target(&c->request);
    const char *query = memchr(target.at, '?', target.length);
    answer_begin(c, query ? atoi(query + 1) : 0);
    answer_body(c, "body", 4);
}

static atomic_uint xwaiting;

/* It answers once the server ends. */
static void wait(struct connection *c) {
    atomic_fetch_add(&xwaiting, 1);
    int err = thrum_event_wait(&c->server->ending);
    answer_error(c, err == 0 ? HTTP_STATUS_OK : HTTP_STATUS_SERVICE_UNAVAILABLE);
}

/* How many are waiting there. */
static void waiting(struct connection *c) {
    answer_begin(c, HTTP_STATUS_OK);
    answer_length(c, 1);
    output_number(&c->out, atomic_load(&xwaiting));
}

const struct route routes[] = {
    {"/wait", "GET", false, wait},
    {"/waiting", "GET", false, waiting},
    {"/status", "GET, HEAD", false, status},
    {"/mine", "GET, HEAD, POST", true, mine},
    {"/changes", "PUT, DELETE, PATCH, OPTIONS", true, mine},
    {"/rare", "PROPFIND, M-SEARCH,UNLOCK", true, mine},
    {NULL, "GET", false, file_answer},
};
