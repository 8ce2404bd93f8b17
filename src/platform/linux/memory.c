/*
 * memory.c: whole pages: mapping them, giving them back, guards, counting resident ones.
 */
#define _GNU_SOURCE
#include "platform/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/annotate.h"
#include "base/atomic.h"
#include "platform/faults.h"
#include "platform/unix/interrupted.h"

/* These are newer than the headers that the library may be built with. */
#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102 /* Linux 6.13 */
#endif
#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24 /* Linux 5.18 */
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif
#ifndef SYS_process_madvise
#define SYS_process_madvise 440 /* on all processors but alpha and MIPS; Linux 5.10 */
#endif
#ifndef PIDFD_SELF_THREAD
#define PIDFD_SELF_THREAD (-10000) /* Linux 6.15 */
#endif
#define MADV_NONSENSE 0x7abc /* an advice that no kernel knows */

/* The kernel's own default, for when /proc cannot be read. */
#define MAP_COUNT_DEFAULT 65530

static void *map_at(void *addr, size_t size, int flags) {
    TH_KEEPS_ERRNO;
    th_tsan_fresh_begin();
    void *ptr = mmap(addr, size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
    th_tsan_fresh_end();
    if (ptr == MAP_FAILED) {
        ptr = NULL;
    } else {
        madvise(ptr, size,
                MADV_NOHUGEPAGE); /* EINVAL on a kernel without huge pages, which is as good */
    }
    return ptr;
}

void *th_os_map(size_t size) {
    return th_os_fails(TH_OS_FAULT_MAP) ? NULL : map_at(NULL, size, 0);
}

int th_os_remap(void *addr, size_t size) {
    return !map_at(addr, size, MAP_FIXED) ? -ENOMEM : 0;
}

/* Returns 0 or a negative errno code, and leaves errno alone. */
static int advise(void *addr, size_t size, int advice) {
    return (int)RETRY(madvise(addr, size, advice));
}

int th_os_discard(void *addr, size_t size) {
    int code = advise(addr, size, MADV_DONTNEED);
    if (code == -EINVAL) { /* the memory is locked (mlockall) */
        code = advise(addr, size, MADV_DONTNEED_LOCKED);
    }
    return code;
}

/*
 * Emulators (qemu-user, some sandboxes) accept any advice as a hint and report success, so a guard
 * that they grant is none. They are recognised by accepting an advice that does not exist.
 */
static bool believes_nonsense(void *addr, size_t size) {
    static int xanswer;                     /* 0: not asked yet, 1: yes, 2: no */
    int answer = th_load_relaxed(&xanswer); /* relaxed: all threads write the same value */
    if (answer == 0) {
        answer = advise(addr, size, MADV_NONSENSE) == 0 ? 1 : 2;
        th_store_relaxed(&xanswer, answer); /* relaxed: likewise */
    }
    return answer == 1;
}

int th_os_guard_madvise(void *addr, size_t size) {
    TH_OS_MAY_FAIL(TH_OS_FAULT_GUARD_MADVISE, -EINVAL);
    if (th_unlikely(believes_nonsense(addr, size))) {
        return -ENOSYS;
    }
    return advise(addr, size, MADV_GUARD_INSTALL);
}

/* As madvise of `count` pieces, `stride` bytes apart. */
static int advise_each(char *addr, size_t size, size_t stride, unsigned count, int advice) {
    struct iovec pieces[TH_OS_GUARDS_MAX];
    for (unsigned i = 0; i < count; i++) {
        pieces[i] = (struct iovec){addr + i * stride, size};
    }
    int64_t done =
        RETRY(syscall(SYS_process_madvise, PIDFD_SELF_THREAD, pieces, (size_t)count, advice, 0u));
    return done == (int64_t)(count * size) ? 0 : done < 0 ? (int)done : -EAGAIN;
}

/*
 * A kernel may know the single calls and not these (before 6.15), and a sandbox may forbid them. So
 * a call that was refused once is not tried again.
 */
int th_os_guards_madvise(char *low, size_t size, size_t stride, unsigned count) {
    static bool xrefused;
    size_t page = th_os_page_size();
    TH_OS_MAY_FAIL(TH_OS_FAULT_GUARD_MADVISE, -EINVAL);
    if (th_load_relaxed(&xrefused) || believes_nonsense(low, size)) { /* relaxed: a hint */
        return -ENOSYS;
    }
    int code = advise_each(low, size, stride, count, MADV_GUARD_INSTALL);
    if (code != 0) {
        th_store_relaxed(&xrefused, true); /* relaxed: as above */
    } else {                               /* pages not touched now are touched by their user */
        (void)advise_each(low + stride - page, page, stride, count, MADV_POPULATE_WRITE);
    }
    return code;
}

size_t th_os_map_count_max(void) {
    TH_KEEPS_ERRNO;
    size_t count = 0;
    int fd = open("/proc/sys/vm/max_map_count", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        char text[32];
        ssize_t n = read(fd, text, sizeof text - 1);
        close(fd);
        for (ssize_t i = 0; i < n && text[i] >= '0' && text[i] <= '9' && count < SIZE_MAX / 20;
             i++) {
            count = count * 10 + (size_t)(text[i] - '0');
        }
    }
    return count == 0 ? MAP_COUNT_DEFAULT : count;
}

size_t th_os_untouched(void *addr, size_t size) {
    unsigned char resident[256];
    size_t page = th_os_page_size();
    size_t done = 0;
    TH_KEEPS_ERRNO;
    while (done < size) {
        size_t pages = (size - done + page - 1) / page;
        if (pages > sizeof resident) {
            pages = sizeof resident;
        }
        if (mincore((char *)addr + done, pages * page, resident) != 0) {
            break;
        }
        size_t i = 0;
        while (i < pages && (resident[i] & 1) == 0) {
            i++;
        }
        done += i * page;
        if (i < pages) {
            break;
        }
    }
    return done < size ? done : size;
}
