/*
 * system.c: the system's own calls refuse: what the platform makes of it. Each is intercepted by
 * the linker (--wrap), so that our code is the real one up to the call.
 */
/* POSIX: wrap: malloc */
/* wrap: malloc pthread_create pthread_key_create pthread_setspecific sigaction sigaltstack */
/* wrap: madvise mmap sched_getaffinity write open */
#include "support/support.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "platform/platform.h"

/* After `after` more calls, `times` calls fail with `code`. */
typedef struct refusal {
    int after, times, code;
} refusal;

static refusal of_malloc, of_create, of_key, of_setspecific, of_sigaction, of_altstack, of_mmap;
static refusal of_affinity, of_write, of_open;
static bool believes_all; /* madvise says yes to everything, as emulators do */

static bool refuse(refusal *r) {
    if (r->times == 0) {
        return false;
    }
    if (r->after > 0) {
        r->after--;
        return false;
    }
    r->times--;
    errno = r->code;
    return true;
}

#define WRAP(result, name, args, call, r, failed)                                                  \
    result __real_##name args;                                                                     \
    result __wrap_##name args;                                                                     \
    result __wrap_##name args {                                                                    \
        return refuse(&(r)) ? (failed) : __real_##name call;                                       \
    }

WRAP(void *, malloc, (size_t size), (size), of_malloc, NULL)
WRAP(int, pthread_create,
     (pthread_t * thread, const pthread_attr_t *attr, void *(*fn)(void *), void *arg),
     (thread, attr, fn, arg), of_create, errno)
WRAP(int, pthread_key_create, (pthread_key_t * key, void (*end)(void *)), (key, end), of_key, errno)
WRAP(int, pthread_setspecific, (pthread_key_t key, const void *value), (key, value), of_setspecific,
     errno)
WRAP(int, sigaction, (int signal, const struct sigaction *now, struct sigaction *old),
     (signal, now, old), of_sigaction, -1)
WRAP(int, sigaltstack, (const stack_t *now, stack_t *old), (now, old), of_altstack, -1)
WRAP(void *, mmap, (void *at, size_t size, int access, int flags, int fd, off_t offset),
     (at, size, access, flags, fd, offset), of_mmap, MAP_FAILED)
WRAP(int, sched_getaffinity, (pid_t pid, size_t size, cpu_set_t *set), (pid, size, set),
     of_affinity, -1)
WRAP(ssize_t, write, (int fd, const void *from, size_t size), (fd, from, size), of_write, -1)
WRAP(int, open, (const char *path, int flags, int mode), (path, flags, mode), of_open, -1)

int __real_madvise(void *at, size_t size, int advice);
int __wrap_madvise(void *at, size_t size, int advice);
int __wrap_madvise(void *at, size_t size, int advice) {
    return believes_all ? 0 : __real_madvise(at, size, advice);
}

/* A call that fails with its code leaves errno alone. */
#define CHECK_CODE(call, code)                                                                     \
    do {                                                                                           \
        errno = 4711;                                                                              \
        CHECK_EQ(call, code);                                                                      \
        CHECK_EQ(errno, 4711);                                                                     \
    } while (0)

static void post(void *arg) {
    thrum_sem_post(arg);
}

TEST(thread_is_refused) {
    /*
     * Without memory for its arguments, or without a thread, it is an error; the next one starts.
     */
    th_os_thread thread;
    thrum_sem ran;
    thrum_sem_init(&ran, 0);
    of_malloc = (refusal){0, 1, ENOMEM};
    CHECK_CODE(th_os_thread_start(&thread, "t", post, &ran), -ENOMEM);
    of_create = (refusal){0, 1, EAGAIN};
    CHECK_CODE(th_os_thread_start(&thread, "t", post, &ran), -EAGAIN);
    CHECK_CODE(th_os_thread_start(&thread, "t", post, &ran), 0);
    th_os_thread_detach(thread);
    CHECK_EQ(thrum_sem_wait(&ran), 0);
}

TEST(heap_is_exhausted) {
    /* The result is NULL, and errno stays the program's. */
    of_malloc = (refusal){0, 1, ENOMEM};
    CHECK_CODE(th_os_alloc(100) == NULL, true);
}

static void ends(void *self) {
    (void)self;
}

TEST(thread_pointer_without_a_key) {
    /*
     * The system has no key left: this is an error, and the pointer works without being told at
     * exit.
     */
    int value = 0;
    of_key = (refusal){0, 1, EAGAIN};
    CHECK_EQ(th_os_self_on_exit(ends), -EAGAIN);
    CHECK_EQ(th_os_self_on_exit(ends), -EAGAIN); /* it is not tried again */
    CHECK_EQ(th_os_self_set(&value), 0);
    CHECK(th_os_self_get() == &value);
}

TEST(thread_pointer_without_memory) {
    /* The key's value cannot be kept: this is an error, and the pointer is what it was. */
    int value = 0;
    CHECK_EQ(th_os_self_on_exit(ends), 0);
    of_setspecific = (refusal){0, 1, ENOMEM};
    CHECK_EQ(th_os_self_set(&value), -ENOMEM);
    CHECK(th_os_self_get() == NULL);
    CHECK_EQ(th_os_self_set(&value), 0);
    CHECK(th_os_self_get() == &value);
    CHECK_EQ(th_os_self_set(NULL), 0);
}

static bool nothing_of_ours(uintptr_t address) {
    (void)address;
    return false;
}

TEST(handler_is_refused) {
    /* Asking for the old handler or setting ours fails: this is an error, and what is not installed
     * yet is tried anew. The third time the first signal is done. */
    static const int after[] = {0, 1, 2, 1};
    for (int i = 0; i < 4; i++) {
        of_sigaction = (refusal){after[i], 1, EINVAL};
        CHECK_CODE(th_os_fault_catch(nothing_of_ours), -EINVAL);
    }
    CHECK_CODE(th_os_fault_catch(nothing_of_ours), 0);
}

TEST(alternate_stack_is_refused) {
    /*
     * It is an error, and nothing is mapped; when the system does not say what there is, none is
     * set.
     */
    if (UNDER_ASAN) {
        CHECK_SKIP("the sanitizer has given the thread one already");
    }
    void *altstack = &altstack;
    stack_t now;
    of_altstack = (refusal){1, 1, ENOMEM};
    CHECK_CODE(th_os_fault_thread_enter(&altstack), -ENOMEM);
    CHECK(altstack == NULL);
    of_altstack = (refusal){0, 1, EPERM};
    CHECK_CODE(th_os_fault_thread_enter(&altstack), 0);
    CHECK(altstack == NULL);
    th_os_fault_thread_leave(altstack);
    CHECK_EQ(sigaltstack(NULL, &now), 0);
    CHECK((now.ss_flags & SS_DISABLE) != 0 || UNDER_ASAN || UNDER_TSAN);
}

TEST(pages_are_refused) {
    /* Mapping fails, and mapping anew in place. */
    const size_t size = th_os_page_size();
    of_mmap = (refusal){0, 1, ENOMEM};
    CHECK_CODE(th_os_map(size) == NULL, true);
    void *page = th_os_map(size);
    CHECK(page != NULL);
    of_mmap = (refusal){0, 1, ENOMEM};
    CHECK_CODE(th_os_remap(page, size), -ENOMEM);
    CHECK_CODE(th_os_remap(page, size), 0);
    th_os_unmap(page, size);
}

TEST(guard_that_is_only_said_to_be_there) {
    /* A system that says yes to any advice gives no guards by advice. */
    const size_t size = th_os_page_size();
    void *page = th_os_map(size);
    believes_all = true;
    CHECK_CODE(th_os_guard_madvise(page, size), -ENOSYS);
    CHECK_CODE(th_os_guard_madvise(page, size), -ENOSYS);
    believes_all = false;
    th_os_unmap(page, size);
}

TEST(affinity_is_not_told) {
    /* Masks grow as long as the kernel's is longer, up to a bound; without one there is one CPU. */
    NOT_BY_POSIX("sets of CPUs");
    const unsigned cpus = th_os_cpus();
    th_os_cpuset set;
    of_affinity = (refusal){0, 3, EINVAL};
    CHECK_CODE(th_os_cpus(), cpus);
    CHECK_EQ(of_affinity.times, 0);
    of_affinity = (refusal){0, 1, EPERM};
    CHECK_CODE(th_os_cpus(), 1);
    of_affinity = (refusal){0, 100, EINVAL};
    CHECK_CODE(th_os_cpus(), 1);
    of_affinity = (refusal){0, 1, EPERM};
    CHECK_CODE(th_os_cpuset_granted(&set), -EPERM);
    of_affinity = (refusal){0, 0, 0};
    CHECK_CODE(th_os_cpuset_granted(&set), 0);
}

TEST(quota_without_memory) {
    /* What cannot be read for want of memory is no limit. */
    for (int after = 0; after < 3; after++) {
        of_malloc = (refusal){after, 100, ENOMEM};
        CHECK_EQ(th_os_cpus_at("/nowhere", 7), 7);
    }
    of_malloc = (refusal){0, 0, 0};
}

TEST(limits_are_not_told) {
    /* Without /proc the mapping limit is the kernel's own default. */
    of_open = (refusal){0, 1, ENOENT};
    CHECK_CODE(th_os_map_count_max(), 65530);
}

TEST(line_is_written_in_spite_of_signals) {
    /* An interrupted write is repeated; where nothing can be written, it gives up. */
    int ends_of_pipe[2];
    char text[16] = "";
    const int before = dup(STDERR_FILENO);
    CHECK_EQ(pipe(ends_of_pipe), 0);
    CHECK_EQ(dup2(ends_of_pipe[1], STDERR_FILENO), STDERR_FILENO);
    of_write = (refusal){0, 3, EINTR};
    errno = 4711;
    th_os_stderr("line\n", 5);
    of_write = (refusal){0, 1, EIO};
    th_os_stderr("gone\n", 5);
    CHECK_EQ(errno, 4711);
    CHECK_EQ(dup2(before, STDERR_FILENO), STDERR_FILENO);
    close(ends_of_pipe[1]);
    CHECK_EQ(read(ends_of_pipe[0], text, sizeof(text)), 5);
    CHECK_STR(text, "line\n");
}
