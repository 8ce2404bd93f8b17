/*
 * route.c: see route.h.
 */
#include "route.h"

static const struct route *at_path(const char *path) {
    const struct route *route = routes;
    while (route->path && strcmp(route->path, path) != 0) {
        route++;
    }
    return route;
}

/* Whether a list such as "GET, HEAD" names a method. */
static bool names(const char *methods, const char *method) {
    const size_t length = strlen(method);
    size_t n = 0;
    for (; *(methods += strspn(methods, ", ")) != '\0'; methods += n) {
        n = strcspn(methods, ", ");
        if (n == length && memcmp(methods, method, n) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether a method is a usual one, or that of a route. */
static bool is_known(const char *method) {
    const struct route *route = routes;
    while (route->path && !names(route->methods, method)) {
        route++;
    }
    return names(route->methods, method) ||
           names("GET, HEAD, POST, PUT, DELETE, PATCH, OPTIONS", method);
}

int route_find(const struct connection *c, const struct route **route) {
    const char *method = llhttp_method_name(c->request.parser.method);
    *route = at_path(c->path);
    return names((*route)->methods, method) ? 0
           : is_known(method)               ? HTTP_STATUS_METHOD_NOT_ALLOWED
                                            : HTTP_STATUS_NOT_IMPLEMENTED;
}

const char *route_methods(const struct connection *c) {
    return at_path(c->path)->methods;
}
