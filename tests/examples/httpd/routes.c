/*
 * routes.c: the routes of a server that is otherwise examples/httpd, for the tests in routes.py.
 */
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

const struct route routes[] = {
    {"/mine", "GET, HEAD, POST", true, mine},
    {"/changes", "PUT, DELETE, PATCH, OPTIONS", true, mine},
    {"/rare", "PROPFIND, M-SEARCH,UNLOCK", true, mine},
    {NULL, "GET", false, file_answer},
};
