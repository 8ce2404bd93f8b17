/*
 * lock.c: locks on whole files.
 *
 * The system waits for a lock only in a call that nothing ends. So the lock is tried without
 * waiting, in an operation, since another machine may have the answer, and tried again after
 * pauses. If the caller of an operation has gone, the operation's end restores the previous lock.
 * Until then the record is `locking`, and no other caller uses the lock.
 */
#include <errno.h>

#include "core/state/fiber_state.h"
#include "file/operation.h"
#include "io/call.h"
#include "thrum/file.h"
#include "thrum/spawn.h"

#define PAUSE_FIRST THRUM_MS(1)
#define PAUSE_LONGEST THRUM_MS(50)
#define OTHERS 1 /* others have the lock, or are at it */

/* With the record's lock: begins to lock, and stores the present lock. */
static int begin(void *ctx, th_record *record) {
    uint32_t *before = ctx;
    if (record->locking) {
        return OTHERS;
    }
    record->locking = true;
    *before = record->locked;
    return 0;
}

static void end(th_operation *operation) {
    th_record *record = operation->record[0];
    bool locked = operation->made && !operation->result;
    if (locked && !operation->had) {
        th_os_file_request back = {
            .call = TH_OS_FILE_LOCK, .fd = operation->request.fd, .flags = operation->kept};
        back.mode = operation->request.flags;
        locked = th_os_file_do(&back) != 0; /* others share the lock, which was exclusive */
    }
    TH_LOCKED(&record->lock);
    record->locked = (uint8_t)(locked ? operation->request.flags : operation->kept);
    record->locking = false;
}

/* 0, OTHERS, or a code. */
static int try_once(thrum_io io, uint32_t kind, thrum_time deadline) {
    const th_os_file_request request = {.call = TH_OS_FILE_LOCK, .flags = kind};
    th_operation *operation;
    int code = th_operation_new_on(&operation, io, &request, 0, false);
    if (code) {
        return code;
    }
    code = th_quick_on(io, begin, &operation->kept);
    if (!code) {
        operation->finish = end;
        operation->request.mode = operation->kept;
        code = (int)th_operation_ask(operation, deadline);
        /* Without the call there was no thread to make it. */
        code = code == -EAGAIN && operation->had ? OTHERS : code;
    }
    th_operation_drop(operation);
    return code;
}

static int lock(thrum_io io, uint32_t kind, thrum_time deadline) {
    thrum_time pause = PAUSE_FIRST;
    int code;
    while ((code = try_once(io, kind, deadline)) == OTHERS) {
        const thrum_time until = thrum_after(pause);
        code = thrum_sleep_until(until < deadline ? until : deadline);
        if (code) {
            return code;
        }
        pause = pause < PAUSE_LONGEST / 2 ? 2 * pause : PAUSE_LONGEST;
    }
    return code;
}

static uint32_t kind_of(unsigned kind) {
    return kind == THRUM_FILE_READ    ? TH_OS_FILE_LOCK_SHARED
           : kind == THRUM_FILE_WRITE ? TH_OS_FILE_LOCK_EXCLUSIVE
                                      : TH_OS_FILE_LOCK_NONE;
}

int thrum_file_lock(thrum_io io, unsigned kind, thrum_time deadline) {
    const uint32_t wanted = kind_of(kind);
    return wanted ? lock(io, wanted, deadline) : -EINVAL;
}

int thrum_file_try_lock(thrum_io io, unsigned kind) {
    const uint32_t wanted = kind_of(kind);
    const int code = wanted ? try_once(io, wanted, THRUM_FOREVER) : -EINVAL;
    return code == OTHERS ? -EBUSY : code;
}

int thrum_file_unlock(thrum_io io) {
    const bool shield = th_fiber_self() != NULL;
    if (shield) {
        thrum_shield_begin();
    }
    const int code = lock(io, TH_OS_FILE_LOCK_NONE, THRUM_FOREVER);
    if (shield) {
        thrum_shield_end();
    }
    return code;
}
