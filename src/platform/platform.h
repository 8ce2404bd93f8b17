/*
 * platform.h: the whole contract with the operating system and the processor's context switch.
 *
 * linux/ implements it; the simulator implements it again. Nothing above this floor includes a
 * system header for anything named here. Calls that can fail return 0 or a negative errno code;
 * none of them touches the caller's errno, unless it says so.
 */
#ifndef TH_PLATFORM_H
#define TH_PLATFORM_H

#include <stdarg.h>

#include "base/cc.h"
#include "platform/context.h"

/* ---- clock ---- */

#define TH_FOREVER INT64_MAX

/* Nanoseconds on CLOCK_MONOTONIC. */
int64_t th_os_now(void);

/*
 * A cheap counter that runs at a constant rate on every core (the TSC, the virtual counter), for
 * measuring short spans; th_os_ticks_ns converts a difference. Falls back to th_os_now.
 */
uint64_t th_os_ticks(void);
int64_t th_os_ticks_ns(uint64_t ticks);

/* ---- futex (private) ---- */

/*
 * Sleeps while *xword == value, until woken or until the absolute deadline (TH_FOREVER: none).
 * Returns 0 (woken, spuriously too), -EAGAIN (the value differed), -EINTR, -ETIMEDOUT.
 */
int th_os_futex_wait(uint32_t *xword, uint32_t value, int64_t deadline);

/* Wakes up to n sleepers. The word may be gone already: waking nobody, or somebody else, is
 * allowed. */
void th_os_futex_wake(uint32_t *xword, int n);

/* ---- threads ---- */

typedef struct th_os_thread {
    uintptr_t handle;
} th_os_thread;

/* CPUs by the system's numbers, a bit each; no machine has more. */
#define TH_OS_CPUS_MAX 8192u
typedef struct th_os_cpuset {
    uint64_t bits[TH_OS_CPUS_MAX / 64];
} th_os_cpuset;

/*
 * Starts a thread with all signals blocked but the faults (SEGV, BUS, FPE, ILL, TRAP, ABRT), and
 * PIPE, XFSZ and SYS if the caller has those unblocked: so the program's own threads get the
 * program's signals, and a thread those that it causes. In a process that the thread forks, the
 * mask is that of the caller here, unless the thread has changed its own meanwhile. `name` is cut
 * to what the system keeps.
 */
int th_os_thread_start(th_os_thread *thread, const char *name, void (*entry)(void *), void *arg);
/* The same, only on these CPUs (NULL: as the caller). What the system refuses is its code. */
int th_os_thread_start_on(th_os_thread *thread, const char *name, void (*entry)(void *), void *arg,
                          const th_os_cpuset *cpus);
void th_os_thread_join(th_os_thread thread);
void th_os_thread_detach(th_os_thread thread);

/*
 * From now on each fork of the process calls these: before it, and after it in the two processes.
 * Only the first call counts; -ENOMEM.
 */
int th_os_at_fork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void));

/* Lets another thread run. */
void th_os_thread_yield(void);

/* A processor's hint that this is a spin loop. */
void th_os_relax(void);

/*
 * One pointer for each thread, NULL at first. Never inlined: a fiber that moved to another thread
 * must not use an address that the compiler remembered.
 */
void *th_os_self_get(void);
/* -ENOMEM only after many pthread keys were made by others; the old pointer stays then. */
int th_os_self_set(void *self);

/*
 * Calls `on_exit(self)` when a thread ends whose pointer is not NULL; th_os_self_get still answers
 * meanwhile. Asked once, before any pointer is set. -EAGAIN: no more pthread keys.
 */
int th_os_self_on_exit(void (*on_exit)(void *self));

/*
 * The calling thread's own storage: TH_OS_SELF_BYTES, zero at first, at the same address as long as
 * the thread lives. The compiler must not remember it either: a call, or, where it is asked for
 * several times a task, volatile assembly.
 */
#define TH_OS_SELF_BYTES 256
#if defined(__x86_64__) && defined(__LP64__) && !defined(TH_SIM) && !TH_TSAN
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
 * Where the calling thread's own stack lies, which it must be on: from somewhere below what it uses
 * to the first byte above it. 0 and 0: not known.
 */
void th_os_stack(uintptr_t *low, uintptr_t *high);

/* The thread's errno, by calls that are never inlined for the same reason. */
int *th_os_errno_at(void); /* the same address as long as the thread lives */
int th_os_errno_get(void);
void th_os_errno_set(int value);

/*
 * What the C++ run time keeps of the thread: the exceptions that are being handled, a list, and how
 * many were thrown and are not caught yet (__cxa_eh_globals in the C++ ABI that all compilers for
 * Linux share). NULL: the program has no such run time, as far as the dynamic linker knew when it
 * loaded the library. The address is the same as long as the thread lives.
 */
typedef struct th_os_exceptions {
    void *caught;
    unsigned uncaught;
} th_os_exceptions;

th_os_exceptions *th_os_exceptions_at(void);

/*
 * Orders the accesses of every thread of the process that runs at this moment, as if each of them
 * executed a full fence somewhere between the call and its return (a system call, up to 20 us).
 * th_os_barrier_start asks for it once, and says whether the system can (0 or -ENOSYS). False: it
 * could not, this time (no memory) or ever (a sandbox that was entered meanwhile).
 */
int th_os_barrier_start(void);
bool th_os_barrier(void);

/*
 * How much later than asked for the calling thread's sleeps may end, in ns: sets it, and returns
 * what it was; 0: the system says nothing about it.
 */
unsigned long th_os_timer_slack(unsigned long ns);

/* ---- topology ---- */

/*
 * How many workers make sense: the affinity mask's CPUs, limited by the cgroup quotas of this
 * process and of every ancestor group (v1 and v2), rounded up; at least 1.
 */
unsigned th_os_cpus(void);

/* The same, reading /proc and /sys below `root` and taking `affinity` as the mask's count: for
 * tests. */
unsigned th_os_cpus_at(const char *root, unsigned affinity);

/* The CPUs that the calling thread may use. */
int th_os_cpuset_granted(th_os_cpuset *out);

/*
 * Those that share the largest cache with `cpu`, as /sys below `root` tells; none when it does not.
 */
void th_os_cpuset_of_cache(const char *root, unsigned cpu, th_os_cpuset *out);

/* ---- code ---- */

/*
 * What stands at an address of the program's code, for people: "function", "function+0x12", or,
 * where the name is not known, "file+0x1234", the place in that file as debuggers have it. Takes
 * a lock of the system's loader, as do the next; not from signal handlers. size: 16 at least.
 */
void th_os_code_name(uintptr_t address, char *text, size_t size);

/*
 * The call that returns to `after`. False: there is no code, or no call stands before it, or it is
 * not known how calls look on this processor. Names are cut; without a symbol it is "".
 */
typedef struct th_os_place {
    char file[64];    /* the last part of its path */
    uintptr_t offset; /* in there, as debuggers have it */
    char symbol[96];  /* an exported function's name */
    uintptr_t past;   /* how far behind its beginning */
} th_os_place;
bool th_os_code_call(uintptr_t after, th_os_place *place);

/*
 * Where code lies that calls may be in, now, but the library's own as far as that is known. Fills
 * in up to max and returns how many there are; 0: it is not known how calls look.
 */
typedef struct th_os_span {
    uintptr_t low;
    uintptr_t high;
} th_os_span;
unsigned th_os_code_spans(th_os_span spans[], unsigned max);

/*
 * Around a fork of the process: no thread is in one of these three meanwhile, so the loader's lock
 * is not held in the child because of them (th_os_at_fork sees to it).
 */
void th_os_code_lock(void);
void th_os_code_unlock(void);

/* ---- environment and messages ---- */

/* NULL in a program that has more rights than its starter, which may not choose its settings. */
const char *th_os_env(const char *name);

/*
 * The system's words for a positive error number, a constant; NULL: it has none. Any thread; from
 * signal handlers with glibc from 2.32 and with musl.
 */
const char *th_os_error_text(int number);
/* Writes a whole line to stderr with one write; async-signal-safe. */
void th_os_stderr(const char *text, size_t length);
TH_NORETURN void th_os_abort(void);
/* Ends the process as it is: no handler of its end is called, no stream is flushed. */
TH_NORETURN void th_os_exit(int status);

/* ---- memory ---- */

void *th_os_alloc(size_t size); /* 16-byte aligned, or NULL */
void th_os_free(void *ptr);

size_t th_os_page_size(void);

/* Reserves and commits address space lazily: readable, writable, zero, no huge pages. NULL:
 * refused. */
void *th_os_map(size_t size);
void th_os_unmap(void *addr, size_t size);

/*
 * Gives the pages back; they read as zero afterwards. The guards inside stay. Fails (-EINVAL,
 * nothing done) for memory that is locked (mlockall) on kernels before 5.18.
 */
int th_os_discard(void *addr, size_t size);

/* Replaces the pages by fresh ones, as if just mapped (the thread sanitizer forgets what was
 * there). */
int th_os_remap(void *addr, size_t size);

/* Makes pages fault on any access. Fails when the kernel does not know it or refuses it here. */
int th_os_guard_madvise(void *addr, size_t size);
int th_os_guard_mprotect(void *addr, size_t size);
/* Undoes th_os_guard_mprotect. */
int th_os_unguard_mprotect(void *addr, size_t size);

/* vm.max_map_count, or a safe guess. */
size_t th_os_map_count_max(void);

/* How many bytes from `addr` up are not resident before the first page that is: a stack's free
 * depth. */
size_t th_os_untouched(void *addr, size_t size);

/* ---- faults ---- */

/*
 * Asked by the handler of SIGSEGV and SIGBUS, on the alternate stack, with the address that
 * faulted: returns true when it has dealt with the fault for good by printing (the program then
 * aborts).
 */
typedef bool (*th_os_fault_fn)(uintptr_t address);

/*
 * Installs the handler, once for the process however often it is asked; faults that `ask` does not
 * know go on to the handler that was there before, as if ours did not exist.
 */
int th_os_fault_catch(th_os_fault_fn ask);

/* Around a fork of the process: nobody installs it meanwhile (th_os_at_fork sees to it). */
void th_os_fault_lock(void);
void th_os_fault_unlock(void);

/* An alternate signal stack for the calling thread, unless it has one. */
int th_os_fault_thread_enter(void **altstack);
void th_os_fault_thread_leave(void *altstack);

#endif
