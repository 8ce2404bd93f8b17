/*
 * probe.c: questions to threads: see probe.h. No signal is sent: the asker stops the thread, reads
 * its registers and its stack, and lets it go on. Meanwhile it takes no lock and no memory, since
 * the thread may hold both.
 *
 * A thread waits if it is behind the system call in a function that consists of nothing else
 * (ntdll.dll, win32u.dll): `syscall`, or wine's replacement.
 */
#include "platform/probe.h"
#include "platform/platform.h"
#include "platform/windows/system/nt.h"

#include <errno.h>
#include <string.h>

#include "base/annotate.h"
#include "base/atomic.h"

#define CALL_BYTES 32u /* a function that is one call of the system is no longer */

/* Held while a thread is suspended: two askers could suspend each other. */
static SRWLOCK asking = SRWLOCK_INIT;

/* ---- the position of a suspended thread; none of it takes a lock ---- */

/* Whether an image has that name in its own header, as a library has for its users. */
static bool is_called(const char *base, const char *name) {
    const IMAGE_DOS_HEADER *dos = (const IMAGE_DOS_HEADER *)(const void *)base;
    if (dos->e_magic != IMAGE_DOS_SIGNATURE) {
        return false;
    }
    const IMAGE_NT_HEADERS64 *headers =
        (const IMAGE_NT_HEADERS64 *)(const void *)(base + dos->e_lfanew);
    if (headers->Signature != IMAGE_NT_SIGNATURE) {
        return false;
    }
    const IMAGE_DATA_DIRECTORY *where =
        &headers->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_EXPORT];
    const IMAGE_EXPORT_DIRECTORY *table =
        (const IMAGE_EXPORT_DIRECTORY *)(const void *)(base + where->VirtualAddress);
    return where->Size > 0 && strcmp(base + table->Name, name) == 0;
}

/*
 * Whether the address is in one of the two libraries. The loader is not asked: it may take its
 * lock, which a thread that ends holds while it waits for locks of the asker's
 * (th_external_retire_all). The image stays, since the thread is in it.
 */
static bool is_of_system(uintptr_t at) {
    MEMORY_BASIC_INFORMATION info;
    return VirtualQuery((const void *)at, &info, sizeof info) && info.Type == MEM_IMAGE &&
           (is_called(info.AllocationBase, "ntdll.dll") ||
            is_called(info.AllocationBase, "win32u.dll"));
}

/* Wine's clock is such a call, too, in which a thread that computes is found again and again. */
static bool is_in_clock(uintptr_t at) {
    const uintptr_t clock = (uintptr_t)th_nt()->query_clock;
    return clock && at - clock < CALL_BYTES;
}

static bool is_behind_call(uintptr_t at) {
    static const uint8_t own[] = {0x0f, 0x05};
    static const uint8_t of_wine[] = {0xff, 0x14, 0x25, 0x00, 0x10, 0xfe, 0x7f};
    const uint8_t *end = (const uint8_t *)at;
    return is_of_system(at) && !is_in_clock(at) &&
           (memcmp(end - sizeof own, own, sizeof own) == 0 ||
            memcmp(end - sizeof of_wine, of_wine, sizeof of_wine) == 0);
}

/*
 * The first address from there on that may be read. A function that has made room on its stack, and
 * has not used it yet, may be within the guard page of a stack that grows: a read by another thread
 * would end this program, and the guard.
 */
static uintptr_t readable(uintptr_t from, uintptr_t high) {
    MEMORY_BASIC_INFORMATION info;
    while (from < high && VirtualQuery((const void *)from, &info, sizeof info) &&
           (info.State != MEM_COMMIT || info.Protect & PAGE_GUARD)) {
        from = (uintptr_t)info.BaseAddress + info.RegionSize;
    }
    return from < high ? from : high;
}

/* Copies its stack, if it is still the right thread. */
static bool see(const CONTEXT *context, const th_os_question *question, th_os_answer *out) {
    uintptr_t from = (uintptr_t)context->Rsp & ~(uintptr_t)(sizeof(uintptr_t) - 1);
    /* relaxed: the thread that changes it is suspended */
    if (th_load_relaxed(question->xtick) != question->tick || from < question->low ||
        from >= question->high) {
        return false;
    }
    from = readable(from, question->high);
    const size_t count = (question->high - from) / sizeof(uintptr_t);
    out->count = count < TH_OS_PROBE_WORDS ? count : TH_OS_PROBE_WORDS;
    memcpy(out->words, (const void *)from, out->count * sizeof(uintptr_t));
    out->at = (uintptr_t)context->Rip;
    out->after = 0;
    return true;
}

/* Taken from a suspended thread. */
typedef struct glance {
    uintptr_t pointer; /* its stack pointer */
    bool waits;        /* it was behind a call of the system */
} glance;

/* Looks at a thread of this process, and has the answer if one is wanted. 0, -ESRCH. */
static int look(uint64_t number, glance *at, const th_os_question *question, th_os_answer *out) {
    const DWORD rights =
        THREAD_SUSPEND_RESUME | THREAD_GET_CONTEXT | THREAD_QUERY_LIMITED_INFORMATION;
    HANDLE thread = number <= UINT32_MAX && number != GetCurrentThreadId()
                        ? OpenThread(rights, FALSE, (DWORD)number)
                        : NULL;
    CONTEXT context = {.ContextFlags = CONTEXT_CONTROL};
    (void)th_nt(); /* the first look-up takes the loader's lock */
    bool seen = false;
    if (!thread) {
        return -ESRCH;
    }
    if (GetProcessIdOfThread(thread) == GetCurrentProcessId()) {
        TH_HOLDS(&asking);
        if (SuspendThread(thread) != (DWORD)-1) {
            seen = GetThreadContext(thread, &context) && (!out || see(&context, question, out));
            *at = (glance){(uintptr_t)context.Rsp, seen && is_behind_call((uintptr_t)context.Rip)};
            ResumeThread(thread);
        }
    }
    CloseHandle(thread);
    return seen ? 0 : -ESRCH;
}

/* ---- whether it waits ---- */

bool th_os_thread_waits(uint64_t number) {
    glance at = {0, false};
    return look(number, &at, NULL, NULL) == 0 && at.waits;
}

bool th_os_thread_runs(uint64_t number) {
    glance at = {0, false};
    return number == GetCurrentThreadId() || (look(number, &at, NULL, NULL) == 0 && !at.waits);
}

uintptr_t th_os_thread_pointer(uint64_t number) {
    glance at = {0, false};
    return look(number, &at, NULL, NULL) == 0 && at.waits ? at.pointer : 0;
}

/* ---- questions ---- */

/* Whichever is asked for: none is needed. */
int th_os_probe_open(int number, int but) {
    (void)number, (void)but;
    return 1;
}

void th_os_probe_close(int number) {
    (void)number;
}

void th_os_probe_admit(int number) {
    (void)number;
}

int th_os_probe(int number, const th_os_question *question, int64_t deadline, th_os_answer *out) {
    glance at = {0, false};
    (void)number, (void)deadline;
    return look(question->number, &at, question, out);
}

void th_os_probe_lock(void) {
}

void th_os_probe_unlock(void) {
}

void th_os_probe_forked(void) {
}
