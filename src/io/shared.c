/*
 * shared.c: see shared.h; and thrum_io_adopt_shared.
 */
#include "io/shared.h"

#include <errno.h>

#include "thrum/blocking.h"
#include "thrum/io.h"
#include "thrum/spawn.h"

int thrum_io_adopt_shared(thrum_io *out, int fd) {
    if (!out) {
        return -EINVAL;
    }
    th_os_kind kind;
    th_os_identity identity;
    int code = th_os_io_kind(fd, &kind, &identity);
    if (code && code != -EPERM) {
        return code;
    }
    int own = th_os_is_socket(kind) ? -EOPNOTSUPP : th_os_io_reopen(fd);
    const bool alone = own >= 0;
    if (!alone && (own = th_os_io_duplicate(fd)) < 0) {
        return own;
    }
    code = alone ? th_record_adopt(out, own, kind, true)
                 : th_record_adopt_duplicate(out, own, kind, !th_os_is_socket(kind));
    if (code) {
        (void)th_os_io_close(own);
    }
    return code;
}

typedef struct transfer {
    const th_record *record;
    const th_os_part *parts;
    unsigned n;
    bool write;
    int64_t result;
} transfer;

static int make_call(void *arg) {
    transfer *t = arg;
    const int fd = t->record->fd;
    const th_os_kind kind = t->record->kind;
    t->result = t->write ? th_os_io_writev_shared(fd, kind, t->parts, t->n)
                         : th_os_io_readv_shared(fd, kind, t->parts, t->n);
    return 0;
}

/* It is over soon, so no cancel ends it: a caller that has to wait does so for readiness. */
static int64_t on_pool(transfer t) {
    thrum_shield_begin();
    int code = thrum_blocking(make_call, &t, NULL);
    thrum_shield_end();
    return !code ? t.result : code == -EAGAIN ? -ENOMEM : code; /* -EAGAIN: no thread */
}

int64_t th_shared_readv(const th_record *record, const th_os_part parts[], unsigned n) {
    if (record->kind == TH_OS_FILE) {
        int64_t cached = th_os_io_readv_cached(record->fd, parts, n);
        if (cached >= 0) {
            return cached;
        }
    }
    return on_pool((transfer){record, parts, n, false, 0});
}

int64_t th_shared_writev(const th_record *record, const th_os_part parts[], unsigned n) {
    return on_pool((transfer){record, parts, n, true, 0});
}
