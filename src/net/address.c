/*
 * address.c: addresses as values, and the addresses of a name.
 */
#include "net/address.h"

#include <errno.h>
#include <string.h>

#include "net/resolver.h"
#include "net/target.h"

int thrum_address_parse(thrum_address *out, const char *text) {
    th_target target = {0};
    if (!out || !text) {
        return -EINVAL;
    }
    int code = th_target_parse(&target, text);
    if (code == -EINVAL) { /* it has no scheme */
        bool local = text[0] == '/' || text[0] == '.' || text[0] == '@';
        code = local ? th_target_parse_local(&target, text) : th_target_parse_host(&target, text);
    }
    if (!code && target.where != TH_AT_ADDRESS) {
        code = -EINVAL;
    }
    if (!code) {
        *out = th_address_outside(&target.address);
    }
    return code;
}

int thrum_address_text(const thrum_address *address, char *text, size_t size) {
    const th_os_address inside = th_address_inside(address);
    return th_os_address_text(&inside, text, size);
}

/* Parses a numeric host: 1, or -ENOENT when it is of another family. */
static int take_number(th_os_address *number, th_os_family family, thrum_address *out) {
    if (family != TH_OS_UNNAMED && th_os_address_family(number) != family) {
        return -ENOENT;
    }
    *out = th_address_outside(number);
    return 1;
}

int thrum_resolve(const char *host, uint16_t port, unsigned family, thrum_address *out,
                  unsigned max, thrum_time deadline) {
    if (!host || !*host || !out || !max ||
        (family && family != THRUM_IPV4 && family != THRUM_IPV6)) {
        return -EINVAL;
    }
    if (strlen(host) > TH_HOST_MAX) {
        return -ENAMETOOLONG;
    }
    const th_os_family inside = family == THRUM_IPV4   ? TH_OS_IPV4
                                : family == THRUM_IPV6 ? TH_OS_IPV6
                                                       : TH_OS_UNNAMED;
    th_os_address number;
    const int code = th_os_address_numeric(&number, host, port);
    if (code != -EINVAL) {
        return code ? code : take_number(&number, inside, out);
    }
    th_os_address *found = th_os_alloc(TH_RESOLVED_MAX * sizeof *found);
    int n = found ? th_resolve(host, inside, found, TH_RESOLVED_MAX, deadline) : -ENOMEM;
    n = n > 0 && (unsigned)n > max ? (int)max : n;
    for (int i = 0; i < n; i++) {
        th_os_address_set_port(&found[i], port);
        out[i] = th_address_outside(&found[i]);
    }
    th_os_free(found);
    return n;
}
