/*
 * routes.c: see routes.h. A route of your own is a function and a line in the table.
 */
#include "routes.h"

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

static const struct route routes[] = {
    {"/hello", "GET, HEAD", false, hello},
    {"/echo", "POST", true, echo},
    {"/metrics", "GET, HEAD", false, stats_answer},
    {NULL, "GET, HEAD", false, file_answer},
};

static const struct route *at_path(const char *path) {
    const struct route *route = routes;
    while (route->path != NULL && strcmp(route->path, path) != 0) {
        route++;
    }
    return route;
}

int route_find(const struct connection *c, const struct route **route) {
    *route = at_path(c->path);
    bool is_post = strcmp((*route)->methods, "POST") == 0;
    switch (c->request.parser.method) {
    case HTTP_GET:
    case HTTP_HEAD:
        return is_post ? HTTP_STATUS_METHOD_NOT_ALLOWED : 0;
    case HTTP_POST:
        return is_post ? 0 : HTTP_STATUS_METHOD_NOT_ALLOWED;
    case HTTP_PUT:
    case HTTP_DELETE:
    case HTTP_PATCH:
    case HTTP_OPTIONS:
        return HTTP_STATUS_METHOD_NOT_ALLOWED;
    default:
        return HTTP_STATUS_NOT_IMPLEMENTED;
    }
}

const char *route_methods(const struct connection *c) {
    return at_path(c->path)->methods;
}
