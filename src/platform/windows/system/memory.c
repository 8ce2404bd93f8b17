/*
 * memory.c: the heap, and whole pages: mapping, guards, giving back, counting touched ones.
 *
 * Mappings are committed at once: they count against the system's limit, while memory is taken only
 * for pages that are touched. Stacks are committed as they grow, as the system does it for its own:
 * a page that is PAGE_GUARD is below the used ones. When it is touched by a thread that is on that
 * stack by its block (TEB), the system makes it a page as any, the one below it a guard, and notes
 * the new limit in the block. Near the end it raises STATUS_STACK_OVERFLOW instead, and leaves the
 * pages that the thread has reserved for that (th_os_fault_thread_enter).
 */
#include "platform/platform.h"
#include "platform/windows/system/nt.h"

#include <errno.h>
#include <psapi.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "platform/faults.h"

void *th_os_alloc(size_t size) {
    TH_OS_MAY_FAIL(TH_OS_FAULT_ALLOC, NULL);
    TH_KEEPS_ERRNO;
    void *ptr = malloc(size); /* 16-aligned on every 64-bit Windows */
    return ptr;
}

size_t th_os_page_size(void) {
    static size_t xsize;
    size_t size = th_load_relaxed(&xsize); /* relaxed: all threads write the same value */
    if (size == 0) {
        SYSTEM_INFO info;
        GetSystemInfo(&info);
        size = info.dwPageSize;
        th_store_relaxed(&xsize, size); /* relaxed: likewise */
    }
    return size;
}

void *th_os_map(size_t size) {
    TH_OS_MAY_FAIL(TH_OS_FAULT_MAP, NULL);
    return VirtualAlloc(NULL, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

void th_os_unmap(void *addr, size_t size) {
    (void)size;
    VirtualFree(addr, 0, MEM_RELEASE);
}

/*
 * Giving pages up (MEM_DECOMMIT) and asking for them again would be two calls, and a thread that
 * reads the stack between them would fault. So touched pages are zeroed, and then marked as
 * unimportant: whether the system drops it or not, it reads as zero. A page below the first one
 * that is in memory, which the system has taken away meanwhile, may come back as it was.
 */
int th_os_discard(void *addr, size_t size) {
    size_t untouched = th_os_untouched(addr, size);
    char *from = (char *)addr + untouched;
    if (untouched < size) {
        memset(from, 0, size - untouched);
    }
    if (!VirtualAlloc(addr, size, MEM_RESET, PAGE_READWRITE)) {
        return -th_nt_errno(GetLastError());
    }
    VirtualUnlock(addr, size); /* it is not locked: that takes it out of memory */
    return 0;
}

int th_os_remap(void *addr, size_t size) {
    return th_os_discard(addr, size);
}

int th_os_guard_madvise(void *addr, size_t size) {
    (void)addr, (void)size;
    return th_os_fails(TH_OS_FAULT_GUARD_MADVISE) ? -EINVAL : -ENOSYS;
}

int th_os_guards_madvise(char *low, size_t size, size_t stride, unsigned count) {
    (void)low, (void)size, (void)stride, (void)count;
    return th_os_fails(TH_OS_FAULT_GUARD_MADVISE) ? -EINVAL : -ENOSYS;
}

/* Returns 0 or a code. */
static int protect(void *addr, size_t size, DWORD protection) {
    DWORD before;
    return VirtualProtect(addr, size, protection, &before) ? 0 : -th_nt_errno(GetLastError());
}

int th_os_guard_mprotect(void *addr, size_t size) {
    return th_os_fails(TH_OS_FAULT_GUARD_MPROTECT) ? -ENOMEM : protect(addr, size, PAGE_NOACCESS);
}

/* ---- stacks ---- */

/* The pages that a stack begins with: the fiber's own part, and a few calls. */
static size_t first_bytes(void) {
    return 2 * th_os_page_size();
}

void *th_os_stacks_map(size_t size) {
    return th_os_fails(TH_OS_FAULT_MAP) ? NULL
                                        : VirtualAlloc(NULL, size, MEM_RESERVE, PAGE_READWRITE);
}

static int commit(void *from, size_t size, DWORD protection) {
    return VirtualAlloc(from, size, MEM_COMMIT, protection) ? 0 : -th_nt_errno(GetLastError());
}

int th_os_stack_commit(void *low, void *top) {
    return commit(low, (size_t)((char *)top - (char *)low), PAGE_READWRITE);
}

void *th_os_stack_limit(void *top) {
    return (char *)top - first_bytes();
}

int th_os_stack_guard(void *low, void *bottom, void *top) {
    size_t page = th_os_page_size();
    char *limit = th_os_stack_limit(top);
    (void)low, (void)bottom;
    TH_OS_MAY_FAIL(TH_OS_FAULT_GUARD_MPROTECT, -ENOMEM);
    int code = commit(limit, first_bytes(), PAGE_READWRITE);
    code = code ? code : commit(limit - page, page, PAGE_READWRITE | PAGE_GUARD);
    if (code) {
        VirtualFree(limit, first_bytes(), MEM_DECOMMIT);
    }
    return code;
}

/* Whether the page may be used as it is. */
static bool is_usable(void *addr) {
    MEMORY_BASIC_INFORMATION info;
    return VirtualQuery(addr, &info, sizeof info) && info.State == MEM_COMMIT &&
           !(info.Protect & PAGE_GUARD);
}

/*
 * The page that becomes the guard stays committed all the time: else the system might refuse to
 * give it back, and the stack had none.
 */
void *th_os_stack_trim(void *low, void *top, size_t keep) {
    size_t page = th_os_page_size();
    size_t kept = (keep + page - 1) & ~(page - 1);
    char *end = (char *)top - kept;
    char *limit = kept < first_bytes() ? th_os_stack_limit(top) : end;
    char *guard = limit - page;
    if (limit < end) {
        th_os_discard(limit, (size_t)(end - limit));
    }
    if (guard <= (char *)low || !is_usable(guard)) {
        return NULL;
    }
    th_os_discard(guard, page);
    if (protect(guard, page, PAGE_READWRITE | PAGE_GUARD)) {
        return NULL;
    }
    VirtualFree(low, (size_t)(guard - (char *)low), MEM_DECOMMIT);
    return limit;
}

/* Windows has no such limit. Under wine each guard costs mappings of the system below. */
size_t th_os_map_count_max(void) {
    return th_nt()->is_wine ? 32768 : (size_t)1 << 40;
}

size_t th_os_untouched(void *addr, size_t size) {
    PSAPI_WORKING_SET_EX_INFORMATION pages[64];
    size_t page = th_os_page_size();
    size_t done = 0;
    while (done < size) {
        size_t count = (size - done + page - 1) / page;
        if (count > sizeof pages / sizeof pages[0]) {
            count = sizeof pages / sizeof pages[0];
        }
        for (size_t i = 0; i < count; i++) {
            pages[i].VirtualAddress = (char *)addr + done + i * page;
        }
        if (!K32QueryWorkingSetEx(GetCurrentProcess(), pages, (DWORD)(count * sizeof pages[0]))) {
            break;
        }
        size_t i = 0;
        while (i < count && !pages[i].VirtualAttributes.Valid) {
            i++;
        }
        done += i * page;
        if (i < count) {
            break;
        }
    }
    return done < size ? done : size;
}
