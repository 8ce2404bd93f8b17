/*
 * routes.c: the routes of all paths. To add your own route, add a function and a line in the table.
 */
#include "route.h"

#include "answer.h"
#include "file.h"
#include "stats.h"

/* A constant: nothing is allocated, nothing is waited for. */
static void hello(struct connection *c) {
    static const char text[] = "Hello, world!\n";
    answer_begin(c, HTTP_STATUS_OK);
    answer_field(c, "Content-Type", "text/plain");
    answer_body(c, text, sizeof text - 1);
}

/* The body of the request. */
static void echo(struct connection *c) {
    answer_begin(c, HTTP_STATUS_OK);
    answer_field(c, "Content-Type", "application/octet-stream");
    answer_body(c, c->body.data, c->body.size);
}

const struct route routes[] = {
    {"/hello", "GET, HEAD", false, hello},
    {"/echo", "POST", true, echo},
    {"/metrics", "GET, HEAD", false, stats_answer},
    {NULL, "GET, HEAD", false, file_answer},
};
