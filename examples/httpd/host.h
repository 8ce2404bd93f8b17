/*
 * host.h: the name of a host, as in the field Host and in a target in absolute form.
 */
#ifndef HTTPD_HOST_H
#define HTTPD_HOST_H

#include "text.h"

/*
 * Whether it is "name", "1.2.3.4" or "[::1]", which may be followed by ":" and a port up to 65535,
 * in the forms of RFC 3986, and not empty. It does not check that there is such a host.
 */
bool host_is_valid(struct text text);

#endif
