/*
 * route.h: the route of a request.
 */
#ifndef HTTPD_ROUTE_H
#define HTTPD_ROUTE_H

#include "connection.h"

struct route {
    const char *path;    /* NULL: any other one */
    const char *methods; /* methods that llhttp knows, as the field Allow names them */
    bool wants_body;     /* else a body is read and dropped */
    void (*answer)(struct connection *c);
};

/* The routes of all paths: routes.c. The last one has no path. */
extern const struct route routes[];

/*
 * Finds the route of a request by its path and its method. Returns 0, or the status with which to
 * refuse it: 405 or 501.
 */
int route_find(const struct connection *c, const struct route **route);

/* The methods that there are at the connection's path. */
const char *route_methods(const struct connection *c);

#endif
