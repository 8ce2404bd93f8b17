/*
 * file_lock.c: locks of a whole file, which keep nobody from its bytes.
 *
 * Windows' locks do keep others from the locked bytes. So these lock bytes that no file has: one
 * for each handle of the system. A shared owner holds its own byte, an exclusive owner all the
 * others as well. The exclusive owner lets the others go first and then its own: so nobody comes
 * between when a lock of one kind becomes one of the other. A caller that takes all the others
 * holds the gate, so if two want all of them, one gets them.
 *
 * A try of shared kind may be refused beside one of the other kind that then is refused itself.
 */
#include "platform/windows/file/file.h"

#include <errno.h>

#define MEMBERS (INT64_C(1) << 62) /* the first of them */
#define MEMBERS_COUNT (INT64_C(1) << 60)
#define GATE (MEMBERS - 1)

/* The processes' numbers and those of handles have 30 bits that differ. */
static int64_t own_of(int fd) {
    const uint64_t process = GetCurrentProcessId() >> 2;
    return MEMBERS + (int64_t)(process << 30 | (unsigned)fd >> 2);
}

static OVERLAPPED place_of(int64_t at) {
    OVERLAPPED place = {.hEvent = NULL};
    place.Offset = (DWORD)at;
    place.OffsetHigh = (DWORD)((uint64_t)at >> 32);
    return place;
}

static bool take(HANDLE file, int64_t begin, int64_t end) {
    OVERLAPPED place = place_of(begin);
    const uint64_t n = (uint64_t)(end - begin);
    return !n || LockFileEx(file, LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, (DWORD)n,
                            (DWORD)(n >> 32), &place);
}

static void let_go(HANDLE file, int64_t begin, int64_t end) {
    OVERLAPPED place = place_of(begin);
    const uint64_t n = (uint64_t)(end - begin);
    if (n) {
        (void)UnlockFileEx(file, 0, (DWORD)n, (DWORD)(n >> 32), &place);
    }
}

static int64_t code_of_refusal(void) {
    const DWORD error = GetLastError();
    return error == ERROR_LOCK_VIOLATION || error == ERROR_IO_PENDING ? -EAGAIN
           : error == ERROR_ACCESS_DENIED                             ? -EBADF
                                                                      : -th_nt_errno(error);
}

static int64_t take_others(HANDLE file, int64_t own) {
    if (!take(file, MEMBERS, own)) {
        return code_of_refusal();
    }
    if (!take(file, own + 1, MEMBERS + MEMBERS_COUNT)) {
        const int64_t code = code_of_refusal();
        let_go(file, MEMBERS, own);
        return code;
    }
    return 0;
}

/*
 * Behind the gate, so a caller that is refused there holds nothing that keeps another one from
 * all.
 */
static int64_t take_all(HANDLE file, int64_t own, bool has_own) {
    if (!take(file, GATE, GATE + 1)) {
        return code_of_refusal();
    }
    int64_t code = has_own || take(file, own, own + 1) ? 0 : code_of_refusal();
    if (!code) {
        code = take_others(file, own);
        if (code && !has_own) {
            let_go(file, own, own + 1);
        }
    }
    let_go(file, GATE, GATE + 1);
    return code;
}

static void let_others_go(HANDLE file, int64_t own) {
    let_go(file, MEMBERS, own);
    let_go(file, own + 1, MEMBERS + MEMBERS_COUNT);
}

int64_t th_file_lock(th_file_request *r) {
    HANDLE file = th_nt_handle(r->fd);
    const int64_t own = own_of(r->fd);
    const uint32_t held = r->mode;
    const uint32_t wanted = r->flags;
    if (wanted == held) {
        return 0;
    }
    if (wanted == TH_OS_FILE_LOCK_EXCLUSIVE) {
        return take_all(file, own, held == TH_OS_FILE_LOCK_SHARED);
    }
    if (held == TH_OS_FILE_LOCK_EXCLUSIVE) {
        let_others_go(file, own);
    }
    if (wanted == TH_OS_FILE_LOCK_NONE) {
        let_go(file, own, own + 1);
    } else if (held == TH_OS_FILE_LOCK_NONE && !take(file, own, own + 1)) {
        return code_of_refusal();
    }
    return 0;
}
