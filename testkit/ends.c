/*
 * ends.c: things that a test must not leave behind or do: locks that are held, threads that nobody
 * has joined, writes to freed memory, an exit. It also restores the program's thread-locals, which
 * are not part of its static data, and switches its output off and on.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/state/worker.h"
#include "hosts/hosts.h"
#include "kit.h"

/* ---- locks ---- */

#define MUTEX_HELD 4u /* src/sync/mutex.c */
#define RWLOCK_WRITER 4u
#define RWLOCK_READERS (((uint64_t)1 << 40) - 8)
#define HAS_WAITERS 2u

static bool in_use(const sim_lock *l) {
    return l->is_mutex ? ((const thrum_mutex *)l->lock)->reserved_word & (MUTEX_HELD | HAS_WAITERS)
                       : (((const thrum_rwlock *)l->lock)->reserved_word &
                          (RWLOCK_WRITER | RWLOCK_READERS | HAS_WAITERS)) != 0;
}

static uint64_t owner_of(const sim_lock *l) {
    return l->is_mutex ? ((const thrum_mutex *)l->lock)->reserved_owner
                       : ((const thrum_rwlock *)l->lock)->reserved_owner;
}

static const char *kind_of(const sim_lock *l) {
    return l->is_mutex ? "mutex" : "rwlock";
}

void kit_check_locks_in(const char *from, size_t size, uintptr_t after) {
    for (unsigned i = 0; i < E->locks_used; i++) {
        const sim_lock *l = &E->locks[i];
        const char *at = l->lock;
        if (at >= from && at < from + size && in_use(l)) {
            spot(after, "freed");
            E->held_by = owner_of(l);
            E->held = l->lock;
            fail("held", "the freed memory contains a %s in use", kind_of(l));
        }
    }
}

/* A lock on a stack is gone with it. */
static void check_locks(void) {
    for (unsigned i = 0; i < E->locks_used; i++) {
        const sim_lock *l = &E->locks[i];
        arena_block block;
        const char *at = l->lock;
        const bool in_arena = at >= E->arena && at < E->arena + ARENA_BYTES;
        if (l->host == sim_host_here() &&
            !(in_arena && (arena_is_stack(at) || arena_freed(at, &block))) && in_use(l)) {
            E->held_by = owner_of(l);
            E->held = l->lock;
            fail("held", "a %s is still held at the end of the test", kind_of(l));
        }
    }
}

/* ---- mistakes that the library finds ---- */

/* A task that ends with locked mutexes is reported like a lock that is held at the end. */
void kit_mistake(const char *text) {
    const th_fiber *fiber = th_fiber_self();
    if (strncmp(text, "thrum_sleep(", 12) == 0) {
        return; /* in a test, a short sleep may be meant, as one of a random length */
    }
    if (fiber && strncmp(text, "a task ends with ", 17) == 0) {
        E->held_by = fiber->run_id;
        E->held = fiber->held_count == 1 ? (const void *)fiber->held : NULL;
        fail("held", "a task ends with a mutex locked, which nobody else can unlock");
    }
    spot(E->current->after, "in %s", E->current->what ? E->current->what : "?");
    fail("mistake", "%s", text);
}

/* ---- threads ---- */

static void check_threads(void) {
    for (unsigned i = 0; i < E->thread_count; i++) {
        const sim_thread *t = &E->threads[i];
        if (t->host == sim_host_here() && t->started && !t->joined) {
            spot(t->started, "started");
            fail("leak", "a thread of thrum_test_thread_start was never joined");
        }
    }
}

void kit_check_end(void) {
    check_threads();
    check_locks();
}

/* ---- memory ---- */

/* A write behind the end of a block that is still there. */
static void find_overflow(void) {
    const struct block *b = NULL;
    arena_block block;
    while ((b = arena_next_user(b, &block))) {
        if (arena_end_written(block.at)) {
            E->failed = true;
            E->spots_count = 0;
            snprintf(E->fault, sizeof E->fault, "overflow");
            snprintf(E->message, sizeof E->message,
                     "memory behind the end of a block of %zu bytes was written", block.size);
            spot(block.after, "allocated in %s", block.what);
        }
    }
}

/* A write to freed memory may also be the cause of a run that hangs or crashes. */
void kit_run_ended(void) {
    kit_check_child();
    H->failed = H->placed;
    image_place(0);
    static const char *const unclear[] = {"deadlock", "livelock", "crash", "hang", "abort", "leak"};
    bool look = !E->failed;
    for (unsigned i = 0; i < sizeof unclear / sizeof *unclear; i++) {
        look = look || strcmp(E->fault, unclear[i]) == 0;
    }
    arena_block block;
    const char *at = look ? arena_overwritten(&block) : NULL;
    if (at) {
        E->failed = true;
        E->spots_count = 0;
        snprintf(E->fault, sizeof E->fault, "use-after-free");
        snprintf(E->message, sizeof E->message, "memory was written after it was freed");
        kit_spots_of(&block);
        return;
    }
    if (look) {
        find_overflow();
    }
    if (!E->failed && !kit_options()->ignore_leaks) {
        kit_find_leaks();
    }
}

/* ---- exits ---- */

/* Weak: a program that is linked statically may have those of the C library as well. */
#pragma GCC visibility push(default)
void exit(int status) __attribute__((noreturn, weak));
void _exit(int status) __attribute__((noreturn, weak));
void _Exit(int status) __attribute__((noreturn, weak));
void quick_exit(int status) __attribute__((noreturn, weak));
void pthread_exit(void *result) __attribute__((noreturn, weak));
void __assert_fail(const char *condition, const char *file, unsigned line, const char *function)
    __attribute__((noreturn, weak));
int __cxa_atexit(void (*fn)(void *), void *arg, void *object) __attribute__((weak));
int __cxa_thread_atexit_impl(void (*fn)(void *), void *arg, void *object) __attribute__((weak));
#pragma GCC visibility pop

/* The child of a fork may leave. */
static void left(const char *call, int status, uintptr_t after) {
    kit_check_jump();
    if (!kit_is_outside() && getpid() == E->process) {
        spot(after, "called");
        fail("exit", "the test called %s(%d)", call, status);
    }
}

/* For programs that have the C library's exit. */
static void exits(void) {
    left("exit", EXIT_SUCCESS, 0);
    kit_wait_for_report();
}

void kit_watch_exit(void) {
    atexit(exits);
}

void exit(int status) {
    left("exit", status, (uintptr_t)__builtin_return_address(0));
    void (*real)(int) = (void (*)(int))dlsym(RTLD_NEXT, "exit");
    if (real) {
        real(status);
    }
    fflush(NULL);
    _exit(status);
}

void _exit(int status) {
    left("_exit", status, (uintptr_t)__builtin_return_address(0));
    for (;;) {
        syscall(SYS_exit_group, status);
    }
}

void _Exit(int status) {
    left("_Exit", status, (uintptr_t)__builtin_return_address(0));
    _exit(status);
}

void quick_exit(int status) {
    left("quick_exit", status, (uintptr_t)__builtin_return_address(0));
    void (*real)(int) = (void (*)(int))dlsym(RTLD_NEXT, "quick_exit");
    if (real) {
        real(status);
    }
    _exit(status);
}

void pthread_exit(void *result) {
    left("pthread_exit", 0, (uintptr_t)__builtin_return_address(0));
    void (*real)(void *) = (void (*)(void *))dlsym(RTLD_NEXT, "pthread_exit");
    if (real) {
        real(result);
    }
    for (;;) {
        syscall(SYS_exit, 0);
    }
}

/*
 * Of atexit, and of objects of C++ whose destructors run at the end of the program or a thread. In
 * a run they are gone with it: their memory is the run's, and the next one constructs them again.
 */
typedef int register_end(void (*fn)(void *), void *arg, void *object);

static int at_end(const char *call, void (*fn)(void *), void *arg, void *object) {
    if (!kit_is_outside()) {
        return 0;
    }
    register_end *real = (register_end *)dlsym(RTLD_NEXT, call);
    return real ? real(fn, arg, object) : -1;
}

int __cxa_atexit(void (*fn)(void *), void *arg, void *object) {
    return at_end("__cxa_atexit", fn, arg, object);
}

int __cxa_thread_atexit_impl(void (*fn)(void *), void *arg, void *object) {
    return at_end("__cxa_thread_atexit_impl", fn, arg, object);
}

/* A failed assert calls it. */
void __assert_fail(const char *condition, const char *file, unsigned line, const char *function) {
    const char *base = strrchr(file, '/');
    (void)function;
    if (kit_is_outside()) {
        fprintf(stderr, "%s:%u: assert(%s) failed\n", file, line, condition);
        abort();
    }
    fail("check", "%s:%u: assert(%s)", base ? base + 1 : file, line, condition);
}

/* ---- thread-locals ---- */

typedef struct locals {
    char *at; /* of the executable, in the one real thread */
    size_t size;
} locals;

/* The first object is the executable. */
static int find_locals(struct dl_phdr_info *info, size_t size, void *arg) {
    locals *l = arg;
    (void)size;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_TLS) {
            *l = (locals){info->dlpi_tls_data, info->dlpi_phdr[i].p_memsz};
        }
    }
    return 1;
}

void kit_locals_copy(void) {
    locals l = {0};
    dl_iterate_phdr(find_locals, &l);
    free(E->locals_copy);
    E->locals = l.at;
    E->locals_size = l.at ? l.size : 0;
    E->locals_copy = malloc(E->locals_size);
    memcpy(E->locals_copy, E->locals, E->locals_size);
}

void kit_locals_put_back(void) {
    memcpy(E->locals, E->locals_copy, E->locals_size);
}

/* ---- output ---- */

void kit_mute(bool mute) {
    fflush(NULL);
    for (int fd = 1; fd <= 2; fd++) {
        if (mute == E->is_mute) {
            continue;
        }
        if (mute) {
            const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
            E->outputs[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 3);
            dup2(nowhere, fd);
            close(nowhere);
        } else if (E->outputs[fd] >= 0) {
            dup2(E->outputs[fd], fd);
            close(E->outputs[fd]);
        }
    }
    E->is_mute = mute;
}
