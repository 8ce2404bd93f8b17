/*
 * optional.h: calls of the system that may be missing: the kernel is older, or a sandbox refuses
 * them. Each can be replaced by a plainer one. A sandbox may refuse a call with any code, even one
 * that the call returns itself, such as EAGAIN. So the system is probed once, apart from real
 * calls.
 */
#ifndef TH_LINUX_OPTIONAL_H
#define TH_LINUX_OPTIONAL_H

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomic.h"
#include "platform/platform.h"

enum { TH_CALL_UNKNOWN, TH_CALL_TAKEN, TH_CALL_REFUSED };

/*
 * Whether the system takes a call whose first argument is a descriptor: if the descriptor is -1, it
 * returns EBADF, regardless of the other arguments. *xanswer, 0 at first, keeps the answer.
 */
static inline bool th_call_is_taken(uint32_t *xanswer, long number) {
    uint32_t answer = th_load_relaxed(xanswer); /* relaxed: each thread may ask for itself */
    if (th_unlikely(answer == TH_CALL_UNKNOWN)) {
        TH_KEEPS_ERRNO;
        const bool taken =
            syscall(number, -1L, 0L, -1L, 0L, 1L, 0L) < 0 && th_os_errno_get() == EBADF;
        answer = taken ? TH_CALL_TAKEN : TH_CALL_REFUSED;
        th_store_relaxed(xanswer, answer); /* relaxed: as above */
    }
    return answer == TH_CALL_TAKEN;
}

#endif
