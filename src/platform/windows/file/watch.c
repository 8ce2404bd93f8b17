/*
 * watch.c: making and closing watchers: descriptors that report changes of files (watch.h).
 */
#include "platform/windows/file/watch.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "platform/faults.h"
#include "platform/unix/io/polled.h"
#include "platform/windows/pollset/calls.h"

static int watcher_new(void) {
    int code = th_file_watch_begin();
    if (code) {
        return code;
    }
    th_file_watcher *r = th_os_alloc(sizeof *r);
    if (!r) {
        return -ENOMEM;
    }
    memset(r, 0, offsetof(th_file_watcher, bytes));
    code = th_poll_pair(r->own.signal);
    if (code) {
        th_os_free(r);
        return code;
    }
    InitializeSRWLock(&r->lock);
    InitializeSRWLock(&r->adding);
    r->own.kind = TH_OWN_WATCHER;
    r->own.fd = th_fd_of_fresh(th_socket_of(r->own.signal[0]));
    r->users = 1;
    r->newest = SIZE_MAX;
    th_own_add(&r->own);
    return r->own.fd;
}

int th_os_watch_open(void) {
    TH_OS_MAY_FAIL(TH_OS_FAULT_WATCH_OPEN, -EMFILE);
    TH_KEEPS_ERRNO;
    return watcher_new();
}

bool th_file_watch_close(int fd) {
    th_file_watcher *r = (th_file_watcher *)th_own_take(fd, true);
    if (!r) {
        return false;
    }
    AcquireSRWLockExclusive(&r->lock);
    r->closed = true;
    while (r->watches) {
        th_file_watch_drop(r->watches);
    }
    th_poll_pair_close(r->own.signal);
    th_file_watcher_leave(r);
    return true;
}
