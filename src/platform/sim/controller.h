/*
 * controller.h: the functions of the simulator (tests/sim/) that the simulated platform calls. The
 * simulator owns the threads, the clock and every decision that a real system takes by chance.
 *
 * All simulated threads run on one real thread, one at a time, so nothing here is concurrent.
 */
#ifndef TH_SIM_CONTROLLER_H
#define TH_SIM_CONTROLLER_H

#include "base/cc.h"

#ifndef TH_KIT
#define TH_KIT 0 /* whether this is the test kit (testkit), which has more threads */
#endif

/* The subject of a decision. Each kind has its own budget, and a word in the trace. */
typedef enum sim_what {
    SIM_THREAD,   /* which thread goes on */
    SIM_VALUE,    /* which store a load sees; where in the history a store goes */
    SIM_SPURIOUS, /* whether a futex wait returns without a wake */
    SIM_WAKEE,    /* which thread a futex wakes */
    SIM_REFUSAL,  /* whether memory, a thread, a barrier or a descriptor is refused */
    SIM_TIMER,    /* whether a deadline passes although a thread could go on */
    SIM_EVENT,    /* which descriptor of a set has an event for no reason */
    SIM_TASK,     /* whether a task lets others of its worker run */
    SIM_PICK,     /* which of the tasks that are ready runs next */
    SIM_WORLD     /* a decision of the world's own */
} sim_what;

/* Decides between 0 and n-1; 0 is the choice without contention or failures. */
unsigned sim_choose(sim_what what, unsigned n);

/* A point at which another thread may go on. */
void sim_point(void);
/* The same in a loop in which the caller waits for other threads: they go on first. */
void sim_yield_point(void);

/* The platform's data of each thread. */
typedef struct sim_local {
    void *self;
    int error;
} sim_local;
sim_local *sim_local_here(void);

#define SIM_STORAGE_BYTES 256
/* The calling thread's storage: program data, so reads by others are watched. */
void *sim_storage_here(void);

/* The C++ run time's state of the calling thread; NULL: there is no such run time. */
void *sim_exceptions_here(void);

/* Why a blocked thread goes on. */
typedef enum sim_reason { SIM_WOKEN, SIM_TIMEOUT } sim_reason;

/* Has the caller sleep on a word until woken or until the deadline (INT64_MAX: none). */
sim_reason sim_sleep(const void *word, int64_t deadline);
/* Wakes one thread that sleeps on the word: false if there is none. */
bool sim_wake_one(const void *word);

/* Starts a thread, which sees the caller's writes; -EAGAIN when there are too many. */
int sim_thread_start(const char *name, void (*entry)(void *), void *arg, uintptr_t *handle);
/* Waits for a thread's end; the caller then sees the thread's writes. */
void sim_thread_join(uintptr_t handle);
/* Nobody joins the thread: when it has ended, another one may take its place. */
void sim_thread_detach(uintptr_t handle);

/* Implemented by the platform (thread.c): called when a thread ends. */
void sim_thread_ends(void);

/* The simulated hosts: a test has several, a world one. The caller's number, from 0. */
#define SIM_HOSTS (TH_KIT ? 8u : 1u)
unsigned sim_host_here(void);

int64_t sim_now(void);     /* by the clock of the caller's host */
void sim_pass(int64_t ns); /* has time pass while the caller computes */

/* The newest value of a word, which the caller need not be able to see. */
uint32_t sim_newest(const uint32_t *word);
/* A full fence in every thread. */
void sim_fence_everywhere(void);

/* Memory of the run: 16-aligned, or in whole pages and zero; never NULL. */
void *sim_memory(size_t size);
void sim_memory_free(void *ptr);
void *sim_pages(size_t size);
void sim_pages_free(void *addr, size_t size);
void sim_pages_fresh(void *addr, size_t size); /* their contents are gone */

/*
 * Records that the system has written memory that the library reads, or reads memory that the
 * library wrote: an access by the caller.
 */
void sim_wrote(const void *addr, size_t size);
void sim_reads(const void *addr, size_t size);

/* The memory of a system that has a state: zero when a run begins; none of it is watched. */
#define SIM_KERNEL_BYTES ((size_t)(TH_KIT ? 16384 : 256) << 10)
void *sim_kernel(size_t size);

/*
 * A point at which a call begins that takes the system's locks: the caller's stores are in memory
 * then, as it is on every processor with store buffers. That orders nothing in mode c11.
 */
void sim_call(void);

/*
 * The order that goes along with an object of the system: a thread that releases into it adds its
 * history so far, and a thread that acquires from it sees all that was added. Zero: nothing.
 */
#ifndef SIM_ORDERS
#define SIM_ORDERS (!TH_KIT) /* whether anybody looks for races: the test kit does by test_race */
#endif
typedef struct sim_order {
#if SIM_ORDERS
    _Alignas(TH_KIT ? 128 : 32) unsigned char view[TH_KIT ? 384 : 96];
#else
    unsigned char none;
#endif
} sim_order;
void sim_order_release(sim_order *order);
void sim_order_acquire(const sim_order *order);
/* The caller sees it at its next fence that acquires. */
void sim_order_see(const sim_order *order);
void sim_order_add(sim_order *order, const sim_order *more);

/*
 * Whether a call of the system fails because a test asks for it (thrum_test_fault): 0, a negative
 * code, or SIM_FAULT_SHORT: it transfers fewer bytes, sim_fault_size of so many. Each question is a
 * call that counts; sim_faults only asks whether one of that kind may fail.
 */
typedef enum sim_fault_kind {
    SIM_FAULT_READ,
    SIM_FAULT_WRITE,
    SIM_FAULT_OPEN,
    SIM_FAULT_ACCEPT,
    SIM_FAULT_CONNECT,
    SIM_FAULT_SYNC,
    SIM_FAULT_NAME,
    SIM_FAULT_MEMORY,
    SIM_FAULT_THREAD
} sim_fault_kind;
#define SIM_FAULT_SHORT 1
#if TH_KIT
int sim_fault(sim_fault_kind kind);
bool sim_faults(sim_fault_kind kind);
size_t sim_fault_size(size_t size);
#else
static inline int sim_fault(sim_fault_kind kind) {
    (void)kind;
    return 0;
}
static inline size_t sim_fault_size(size_t size) {
    return size;
}
#endif

/* Writes a line into the trace. */
void sim_trace(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Ends the run: the library has used the system wrongly. */
void sim_misused(const char *fault, const char *text) __attribute__((noreturn));

/* Called with a line that the library prints, and at the program's end: both end the run. */
const char *sim_env(const char *name); /* NULL: the variable is not set */
void sim_said(const char *text, size_t length);
void sim_aborted(void) __attribute__((noreturn));

#endif
