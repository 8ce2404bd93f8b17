/*
 * option.c: setting and reading a socket's options after it was made.
 */
#include <errno.h>

#include "io/call.h"
#include "platform/platform.h"
#include "thrum/net.h"

static const th_os_option options[THRUM_IO_OPTIONS] = {
    [THRUM_IO_NO_DELAY] = TH_OS_NO_DELAY,
    [THRUM_IO_KEEPALIVE] = TH_OS_KEEP_ALIVE,
    [THRUM_IO_RECEIVE_BUFFER] = TH_OS_RECEIVE_BUFFER,
    [THRUM_IO_SEND_BUFFER] = TH_OS_SEND_BUFFER,
    [THRUM_IO_BROADCAST] = TH_OS_BROADCAST,
    [THRUM_IO_RESET] = TH_OS_RESET,
};

typedef struct request {
    th_os_option option;
    int64_t value;
} request;

static int set(void *ctx, th_record *record) {
    const request *r = ctx;
    return th_os_socket_set(record->fd, r->option, r->value);
}

static int get(void *ctx, th_record *record) {
    request *r = ctx;
    int64_t value = th_os_socket_get(record->fd, r->option);
    if (value < 0) {
        return (int)value;
    }
    r->value = value;
    return 0;
}

int thrum_io_set_option(thrum_io io, thrum_io_option option, int64_t value) {
    if ((unsigned)option >= THRUM_IO_OPTIONS || value < 0) {
        return -EINVAL;
    }
    return th_quick_on(io, set, &(request){options[option], value});
}

int thrum_io_get_option(thrum_io io, thrum_io_option option, int64_t *value) {
    if ((unsigned)option >= THRUM_IO_OPTIONS || !value) {
        return -EINVAL;
    }
    request r = {options[option], 0};
    int code = th_quick_on(io, get, &r);
    if (!code) {
        *value = r.value;
    }
    return code;
}
