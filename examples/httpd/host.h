/*
 * host.h: the name of who is asked, as in the field Host and in a target in absolute form.
 */
#ifndef HTTPD_HOST_H
#define HTTPD_HOST_H

#include "text.h"

/*
 * Whether it is "name", "1.2.3.4" or "[::1]", which may be followed by ":" and a port, as RFC 3986
 * has them, and not empty. Whether there is such a host is not looked at.
 */
bool host_is_valid(struct text text);

#endif
