/*
 * nt.h: declarations shared by this folder's files: Windows' headers, its error codes as errno
 * codes, and calls that not every Windows, or not every import library, has.
 */
#ifndef TH_WINDOWS_NT_H
#define TH_WINDOWS_NT_H

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <errno.h>

#include "base/cc.h"

#ifndef ESHUTDOWN
#define ESHUTDOWN 10058 /* as in thrum/base.h */
#endif

struct th_nt_completion;

/* Calls of ntdll and kernelbase that are found by name; the ones that may be NULL are marked. */
typedef struct th_nt_calls {
    LONG(NTAPI *wait_on_address)
    (const void *address, const void *value, size_t size, const LARGE_INTEGER *timeout);
    void(NTAPI *wake_one)(const void *address);
    void(NTAPI *wake_all)(const void *address);
    LONG(NTAPI *set_timer_resolution)(ULONG wanted, BOOLEAN set, ULONG *now); /* or NULL */
    LONG(NTAPI *query_file)
    (HANDLE file, void *status, void *out, ULONG size, int what);
    LONG(NTAPI *create_file)
    (HANDLE *out, ACCESS_MASK access, void *attributes, void *status, LARGE_INTEGER *size,
     ULONG file, ULONG share, ULONG how, ULONG options, void *more, ULONG more_size);
    LONG(NTAPI *device_control) /* or NULL, as the next two */
    (HANDLE device, HANDLE event, void *apc, void *context, void *status, ULONG code, void *in,
     ULONG in_size, void *out, ULONG out_size);
    LONG(NTAPI *cancel_io)(HANDLE file, void *of, void *status);
    LONG(NTAPI *take_completions)
    (HANDLE port, struct th_nt_completion *out, ULONG max, ULONG *n, LARGE_INTEGER *timeout,
     BOOLEAN alertable);
    HRESULT(WINAPI *set_thread_name)(HANDLE thread, const wchar_t *name); /* or NULL: Windows 8 */
    const uint8_t *query_clock; /* NtQueryPerformanceCounter: its code; or NULL */
    bool is_wine;               /* this is not Windows, but wine on another system */
} th_nt_calls;

/* They are looked up at the first call. Any thread. */
const th_nt_calls *th_nt(void);

/* The files' state for each thread. All zero at first. */
typedef struct th_nt_own_words {
    unsigned long slack; /* the last value for th_os_timer_slack; 0: none */
} th_nt_own_words;

/* The calling thread's; the address must not be kept where the task may move. */
th_nt_own_words *th_nt_own(void);

/* The errno number, positive, that is nearest to a code of GetLastError. */
int th_nt_errno(DWORD error);

/* The number that a table has for an error of the system's, or EIO. */
typedef struct th_nt_pair {
    DWORD theirs;
    int ours;
} th_nt_pair;
int th_nt_find(const th_nt_pair known[], size_t n, DWORD error);

/* The text in UTF-16 in `out` of `room` words; false: it does not fit, or is no UTF-8. */
bool th_nt_wide(const char *text, wchar_t out[], int room);

/* Holds a lock until the end of the block. */
#define TH_HOLDS(lock_)                                                                            \
    SRWLOCK *const held_ __attribute__((unused, cleanup(th_nt_release))) = th_nt_acquire(lock_)
static inline SRWLOCK *th_nt_acquire(SRWLOCK *lock) {
    AcquireSRWLockExclusive(lock);
    return lock;
}
static inline void th_nt_release(SRWLOCK *const *held) {
    ReleaseSRWLockExclusive(*held);
}

#endif
