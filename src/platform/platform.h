/*
 * platform.h: the whole contract with the operating system and the processor's context switch.
 *
 * linux/ implements it, and sim/ implements it for the simulator. Nothing above this layer includes
 * a system header for anything named here. Calls that can fail return 0 or a negative errno code;
 * none of them touches the caller's errno, unless its comment states that.
 */
#ifndef TH_PLATFORM_H
#define TH_PLATFORM_H

#include <stdarg.h>

#include "base/cc.h"
#include "platform/context/context.h"
#include "platform/descriptor.h"
#include "platform/file.h"
#include "platform/probe.h"
#include "platform/ring.h"
#include "platform/process.h"
#include "platform/signal.h"
#include "platform/socket.h"

/* ---- clock ---- */

#define TH_FOREVER INT64_MAX

/* The time on CLOCK_MONOTONIC, in nanoseconds. */
int64_t th_os_now(void);

/*
 * A cheap counter for short spans, which runs at a constant rate on every core (the TSC, the
 * virtual counter); th_os_ticks_ns converts a difference. Without such a counter it is th_os_now.
 */
uint64_t th_os_ticks(void);
int64_t th_os_ticks_ns(uint64_t ticks);

/* ---- futex (private) ---- */

/*
 * Sleeps while *xword == value, until woken or until the absolute deadline (TH_FOREVER: none).
 * Returns 0 (woken, spuriously too), -EAGAIN (the value differed), -EINTR, -ETIMEDOUT.
 */
int th_os_futex_wait(uint32_t *xword, uint32_t value, int64_t deadline);

/*
 * Wakes up to n sleepers. The word may be gone already: it is allowed to wake none of them, or
 * other threads.
 */
void th_os_futex_wake(uint32_t *xword, int n);

/* ---- threads ---- */

typedef struct th_os_thread {
    uintptr_t handle;
} th_os_thread;

/* A set of CPUs, one bit for each of the system's numbers; no machine has more. */
#define TH_OS_CPUS_MAX 8192u
typedef struct th_os_cpuset {
    uint64_t bits[TH_OS_CPUS_MAX / 64];
} th_os_cpuset;

/*
 * Starts a thread with all signals blocked except the faults (SEGV, BUS, FPE, ILL, TRAP, ABRT), and
 * PIPE, XFSZ and SYS if the caller has those unblocked: so the program's own threads get the
 * program's signals, and each thread gets the signals that it causes. In a process that the thread
 * forks, the mask is the caller's at this moment, unless the thread has changed its own meanwhile.
 * `name` is cut to the length that the system keeps. The thread may run on these CPUs only (NULL:
 * as its starter). If the system refuses, returns its code.
 */
int th_os_thread_start_on(th_os_thread *thread, const char *name, void (*entry)(void *), void *arg,
                          const th_os_cpuset *cpus);
static inline int th_os_thread_start(th_os_thread *thread, const char *name, void (*entry)(void *),
                                     void *arg) {
    return th_os_thread_start_on(thread, name, entry, arg, NULL);
}

/*
 * By a thread of the library's that runs no task, only writes reports: where nobody reads them any
 * longer, or the file must not grow, that ends no program (PIPE, XFSZ).
 */
void th_os_thread_reports(void);
void th_os_thread_join(th_os_thread thread);

/* The system's number of the calling thread. */
uint64_t th_os_thread_number(void);
/* The processor time that a thread has used, in ns; -1: the system does not report it. */
int64_t th_os_thread_ran(th_os_thread thread);
/*
 * Whether the thread with this number waits for something, and not only for a processor; false if
 * the system does not report it. Reads a file below /proc.
 */
bool th_os_thread_waits(uint64_t number);
/*
 * Whether it runs, or waits for a processor; false if the system does not report it. The same
 * file.
 */
bool th_os_thread_runs(uint64_t number);
/* The stack pointer of a thread that is in a system call, or 0. Reads a file below /proc. */
uintptr_t th_os_thread_pointer(uint64_t number);
void th_os_thread_detach(th_os_thread thread);

/*
 * From now on each fork of the process calls these: before it, and after it in the two processes.
 * Only the first call has an effect. Returns 0 or -ENOMEM.
 */
int th_os_at_fork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void));

/* Lets another thread run. */
void th_os_thread_yield(void);

/* Hints to the processor that this is a spin loop. */
void th_os_relax(void);

/*
 * One pointer for each thread, NULL at first. Never inlined: a fiber that moved to another thread
 * must not use an address that the compiler remembered.
 */
void *th_os_self_get(void);
/* -ENOMEM only after the program has made many pthread keys; the old pointer stays then. */
int th_os_self_set(void *self);

/*
 * Has `on_exit(self)` called when a thread ends whose pointer is not NULL; th_os_self_get still
 * works meanwhile. To be called once, before any pointer is set. -EAGAIN: no pthread key is left.
 */
int th_os_self_on_exit(void (*on_exit)(void *self));

/*
 * The calling thread's own storage: TH_OS_SELF_BYTES, zero at first, at the same address as long as
 * the thread lives. The compiler must not remember the address either, so this is a call, or, on
 * x86_64, volatile assembly, since it is needed several times a task.
 */
#define TH_OS_SELF_BYTES 256
#if defined(__x86_64__) && defined(__LP64__) && !defined(TH_SIM) && !defined(TH_CORES) && !TH_TSAN
#define TH_OS_SELF_INLINE 1
extern __thread char th_os_self_bytes[TH_OS_SELF_BYTES]
    __attribute__((aligned(16), tls_model("initial-exec"), visibility("hidden")));
static TH_ALWAYS_INLINE void *th_os_self_storage(void) {
    void *at;
    __asm__ volatile("movq th_os_self_bytes@gottpoff(%%rip), %0\n\t"
                     "addq %%fs:0, %0"
                     : "=r"(at)
                     :
                     : "cc");
    return at;
}
#else
#define TH_OS_SELF_INLINE 0
void *th_os_self_storage(void);
#endif

/*
 * The bounds of the calling thread's own stack, which it must be on: `low` is at or below all that
 * it uses, `high` is the first byte above it. Both are 0 when they are not known.
 */
void th_os_stack(uintptr_t *low, uintptr_t *high);

/* The thread's errno, by calls that are never inlined for the same reason. */
int *th_os_errno_at(void); /* the same address as long as the thread lives */
int th_os_errno_get(void);
void th_os_errno_set(int value);

/* errno is after the rest of the block as it is here. */
#define TH_KEEPS_ERRNO                                                                             \
    const int errno_kept_ __attribute__((unused, cleanup(th_os_errno_put_back))) = th_os_errno_get()
static inline void th_os_errno_put_back(const int *kept) {
    th_os_errno_set(*kept);
}

/*
 * The C++ run time's state of each thread: the list of exceptions that are being handled, and how
 * many were thrown and are not caught yet (__cxa_eh_globals in the C++ ABI that all compilers for
 * Linux share, and mingw's). NULL: the program had no such run time when the dynamic linker loaded
 * the library; on Windows, at the first thread's query. It is NULL for all threads or for none. The
 * address is the same as long as the thread lives.
 */
typedef struct th_os_exceptions {
    void *caught;
    unsigned uncaught;
} th_os_exceptions;

th_os_exceptions *th_os_exceptions_at(void);

/*
 * th_os_barrier orders the accesses of every thread of the process that runs at this moment, as if
 * each of them executed a full fence somewhere between the call and its return (a system call, up
 * to 20 us). False: the system could not do it, this time (no memory) or ever (a sandbox that was
 * entered meanwhile). th_os_barrier_start is called once before, and returns whether the system has
 * such a call (0 or -ENOSYS).
 */
int th_os_barrier_start(void);
bool th_os_barrier(void);

/*
 * Sets how much later than asked for the calling thread's sleeps may end, in ns. Returns the value
 * before, or 0 if the system does not report it.
 */
unsigned long th_os_timer_slack(unsigned long ns);

/* ---- topology ---- */

/*
 * How many workers make sense: the number of CPUs in the affinity mask, limited by the cgroup
 * quotas of this process and of every ancestor group (v1 and v2), rounded up; at least 1.
 */
unsigned th_os_cpus(void);

/* The same for tests: reads /proc and /sys below `root`, and takes `affinity` as the mask's count.
 */
unsigned th_os_cpus_at(const char *root, unsigned affinity);

/* The CPUs that the calling thread may use. */
int th_os_cpuset_granted(th_os_cpuset *out);

/*
 * The CPUs that share the largest cache with `cpu`, as in /sys below `root`; an empty set if it is
 * not there.
 */
void th_os_cpuset_of_cache(const char *root, unsigned cpu, th_os_cpuset *out);

/* ---- code ---- */

/*
 * With this the next two read names that are not in memory: names of functions that are not
 * exported. They are in the file that the code was loaded from, which is opened, read and closed at
 * each question; it is refused when it is not the one in memory. The caller gives the memory for
 * it, since the stack may be small; it is the caller's alone meanwhile. Nothing in it has to be set
 * but `left`, which each question lessens.
 */
typedef struct th_os_symbols {
    uint64_t left; /* bytes that may still be read of files */
    uint64_t memory[2144];
} th_os_symbols;

/*
 * Writes the name of an address in the program's code, for people: "function", "function+0x12", or,
 * if the name is not known, "file+0x1234", the place in that file as debuggers write it. Without
 * `symbols` no file is read. Like the next two it takes a lock of the system's loader, so it must
 * not be called from signal handlers. `size` is at least 16.
 */
void th_os_code_name(uintptr_t address, char *text, size_t size, th_os_symbols *symbols);

/*
 * Finds the call that returns to `after`. False: there is no code, or no call before it, or the
 * library does not know how calls look on this processor. Names are cut. Without `symbols` no file
 * is read.
 */
typedef struct th_os_place {
    char file[64];    /* the last part of the file's path */
    uintptr_t offset; /* the place in that file, as debuggers write it */
    char symbol[96];  /* the function's name, or "" */
    uintptr_t past;   /* the bytes from the function's beginning */
    uintptr_t at;     /* the place in memory */
    uintptr_t leads;  /* of a direct call: where it leads, otherwise 0 */
} th_os_place;
bool th_os_code_call(uintptr_t after, th_os_place *place, th_os_symbols *symbols);

/* The same of any place in the code, which need not be behind a call. False: there is no code. */
bool th_os_code_place(uintptr_t address, th_os_place *place, th_os_symbols *symbols);

/*
 * The spans of memory that hold code at present, without the library's own as far as that is known.
 * Fills in up to `max`, and returns how many there are; 0 when the library does not know how calls
 * look on this processor.
 */
typedef struct th_os_span {
    uintptr_t low;
    uintptr_t high;
} th_os_span;
unsigned th_os_code_spans(th_os_span spans[], unsigned max);

/* The files that have code at present: fills in up to `max`, and returns how many there are. */
typedef struct th_os_module {
    uintptr_t low; /* where it lies in memory */
    uintptr_t high;
    uintptr_t base; /* less this, an address is a place in the file */
    char file[64];  /* the last part of the file's path */
} th_os_module;
unsigned th_os_modules(th_os_module modules[], unsigned max);

/*
 * Called around a fork of the process (by th_os_at_fork): no thread is in one of these three
 * meanwhile, so the loader's lock is not held in the child because of them.
 */
void th_os_code_lock(void);
void th_os_code_unlock(void);

/* ---- environment and messages ---- */

/*
 * An environment variable. NULL in a program that has more rights than its starter, which must not
 * choose its settings.
 */
const char *th_os_env(const char *name);
/* The number of the process. */
int th_os_pid(void);

/*
 * The system's text for a positive error number, a constant; NULL when it has none. Any thread may
 * call it; signal handlers with glibc from 2.32 and with musl.
 */
const char *th_os_error_text(int number);
/* Writes a whole line to stderr with one write; async-signal-safe. */
void th_os_stderr(const char *text, size_t length);
/* Waits, so many ms at most, until stderr takes 4096 bytes, or fails. False: not yet. */
bool th_os_stderr_waits(int ms);
TH_NORETURN void th_os_abort(void);
/* Ends the process at once: no exit handler is called, no stream is flushed. */
TH_NORETURN void th_os_exit(int status);
/* Has this called when the process ends by exit. Returns 0 or -ENOMEM. */
int th_os_at_exit(void (*call)(void));

/* ---- memory ---- */

void *th_os_alloc(size_t size); /* memory that is 16-byte aligned, or NULL */
void th_os_free(void *ptr);

size_t th_os_page_size(void);

/* Maps pages that are readable, writable, zero, not huge, and committed lazily. NULL: refused. */
void *th_os_map(size_t size);
void th_os_unmap(void *addr, size_t size);

/*
 * Gives the pages back to the system; they read as zero afterwards. Guards inside stay. Fails with
 * -EINVAL, without any effect, for memory that is locked (mlockall) on kernels before 5.18.
 */
int th_os_discard(void *addr, size_t size);

/* Replaces the pages by fresh ones, as if just mapped; the thread sanitizer forgets their history.
 */
int th_os_remap(void *addr, size_t size);

/*
 * How many bytes lie below a stack as its guard, in whole pages and an odd number of them. A frame
 * that is no larger cannot step over it. It takes address space, of which 32 bits have too little.
 * On Windows the compilers' frames touch each page; but it has no other stack for the report of an
 * overflow: the lowest page is never touched, some above it are left for the report, and the system
 * signals an overflow one page or two above those.
 */
#if defined(_WIN32)
#define TH_OS_GUARD_BYTES ((size_t)28 << 10)
#elif UINTPTR_MAX > 0xffffffff
#define TH_OS_GUARD_BYTES TH_LIMIT((size_t)64 << 10, (size_t)0)
#else
#define TH_OS_GUARD_BYTES ((size_t)0)
#endif
static inline size_t th_os_guard_size(void) {
    return (TH_OS_GUARD_BYTES / th_os_page_size() | 1) * th_os_page_size();
}

/* Make pages fault on any access. They fail when the kernel lacks the call or refuses it here. */
int th_os_guard_madvise(void *addr, size_t size);
int th_os_guard_mprotect(void *addr, size_t size);
/*
 * Like th_os_guard_madvise, for `count` guards that are `stride` bytes apart, the first at `low`,
 * and touches the page that ends `stride` bytes above each one's low end: the top of its stack. A
 * few calls for all guards, which are 16 at most. Fails as that one does; then none of them counts
 * as made.
 */
#define TH_OS_GUARDS_MAX 16u
int th_os_guards_madvise(char *low, size_t size, size_t stride, unsigned count);

/*
 * Stacks that grow: Windows commits the pages of a stack as they are touched, from the top down,
 * and only for the thread that is on the stack. Elsewhere all of a mapping may be used at once, and
 * these are defined accordingly.
 */
#if defined(_WIN32)
#define TH_OS_STACKS_GROW 1
/* Address space for stacks, nothing of which can be used yet; for th_os_unmap. NULL: refused. */
void *th_os_stacks_map(size_t size);
/*
 * Makes a stack of the pages from `low` to `top` that grows, with its guard at its low end. 0 or a
 * code. And the lowest byte of a stack that was just made, or given back as a whole.
 */
int th_os_stack_guard(void *low, void *bottom, void *top);
void *th_os_stack_limit(void *top);
/* Makes one of which all may be used, without a guard. 0 or a code. */
int th_os_stack_commit(void *low, void *top);
/*
 * Gives back the part deeper than `keep` bytes in a stack that grows; any part that stays readable
 * is zero. Meanwhile only its highest page may be read. Returns the lowest byte that may be used
 * from now on, or NULL: that is as it was.
 */
void *th_os_stack_trim(void *low, void *top, size_t keep);
#else
#define TH_OS_STACKS_GROW 0
static inline void *th_os_stacks_map(size_t size) {
    return th_os_map(size);
}
static inline int th_os_stack_guard(void *low, void *bottom, void *top) {
    (void)top;
    return th_os_guard_mprotect(low, (size_t)((char *)bottom - (char *)low));
}
static inline void *th_os_stack_limit(void *top) {
    (void)top;
    return NULL;
}
static inline int th_os_stack_commit(void *low, void *top) {
    (void)low;
    (void)top;
    return 0;
}
static inline void *th_os_stack_trim(void *low, void *top, size_t keep) {
    (void)low;
    (void)top;
    (void)keep;
    return NULL;
}
#endif

/* vm.max_map_count, or a safe guess. */
size_t th_os_map_count_max(void);

/* The bytes from `addr` up to the first resident page: how much of a stack was never used. */
size_t th_os_untouched(void *addr, size_t size);

/* ---- faults ---- */

/*
 * Called by the handler of SIGSEGV and SIGBUS, on the alternate stack, with the address that
 * faulted. Returns true when it has reported the fault; then the program aborts.
 */
typedef bool (*th_os_fault_fn)(uintptr_t address);

/*
 * Installs the handler, once for the process however often it is called. Faults that `ask` does not
 * know go on to the handler that was there before, as if this one did not exist.
 */
int th_os_fault_catch(th_os_fault_fn ask);

/*
 * Called in the handler of a signal that is about to end the process: a fault, or an abort; once in
 * a process. `signal` is its name; `address` is NULL if it has none. The process then ends by the
 * same signal, as if nothing had been called.
 */
typedef void (*th_os_crash_fn)(const char *signal, const uintptr_t *address);

/*
 * Installs the handler of SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT if the program has none, once
 * for the process. A handler of the program's, from before or later, stays, and its signals are no
 * crashes.
 */
void th_os_crash_catch(th_os_crash_fn tell);
/* In the child of a fork, whose crashes are its own. */
void th_os_crash_in_child(void);

/*
 * A file that is written for later: made anew, for its owner alone, regardless of any file at
 * `path`. Signal handlers may call these. The open returns a descriptor or a negative errno code.
 * The close gives the file the name `to`, where nothing but a regular file may be; or removes it
 * when that is NULL. False: the system refused.
 */
int th_os_record_open(const char *path);
bool th_os_record_write(int fd, const char *bytes, size_t length);
bool th_os_record_close(int fd, const char *path, const char *to);

/* Called around a fork of the process (by th_os_at_fork): no thread installs it meanwhile. */
void th_os_fault_lock(void);
void th_os_fault_unlock(void);

/* Gives the calling thread an alternate signal stack, unless it has one. */
int th_os_fault_thread_enter(void **altstack);
void th_os_fault_thread_leave(void *altstack);

#endif
