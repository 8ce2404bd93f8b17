/*
 * controller.h: the functions of the simulator (tests/sim/) that the simulated platform calls. The
 * simulator owns the threads, the clock and every decision that a real system takes by chance.
 *
 * All simulated threads run on one real thread, one at a time, so nothing here is concurrent.
 */
#ifndef TH_SIM_CONTROLLER_H
#define TH_SIM_CONTROLLER_H

#include "base/cc.h"

/* What a decision is about. Each kind has a budget of its own, and a word in the trace. */
typedef enum sim_what {
    SIM_THREAD,   /* which thread goes on */
    SIM_VALUE,    /* which store a load sees; where in the history a store goes */
    SIM_SPURIOUS, /* whether a futex wait returns without a wake */
    SIM_WAKEE,    /* which thread a futex wakes */
    SIM_REFUSAL,  /* whether memory, a thread or a barrier is refused */
    SIM_TIMER,    /* whether a deadline passes although a thread could go on */
    SIM_WORLD     /* a decision of the world's own */
} sim_what;

/* Decides between 0 and n-1; 0 is what happens without contention or failures. */
unsigned sim_choose(sim_what what, unsigned n);

/* A point at which another thread may go on. */
void sim_point(void);
/* The same in a loop in which the caller waits for other threads: they go on first. */
void sim_yield_point(void);

/* The platform's data of each thread. */
typedef struct sim_local {
    void *self;
    int error;
    unsigned char storage[256] __attribute__((aligned(16)));
} sim_local;
sim_local *sim_local_here(void);

/* Why a blocked thread goes on. */
typedef enum sim_reason { SIM_WOKEN, SIM_TIMEOUT } sim_reason;

/* Has the caller sleep on a word until woken or until the deadline (INT64_MAX: none). */
sim_reason sim_sleep(const void *word, int64_t deadline);
/* Wakes one thread that sleeps on the word: false if there is none. */
bool sim_wake_one(const void *word);

/* Starts a thread, which sees what the caller did; -EAGAIN when there are too many. */
int sim_thread_start(const char *name, void (*entry)(void *), void *arg, uintptr_t *handle);
/* Waits for a thread's end; the caller then sees what the thread did. */
void sim_thread_join(uintptr_t handle);

/* Implemented by the platform (thread.c): called when a thread ends. */
void sim_thread_ends(void);

int64_t sim_now(void);
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

/* Records that the system has written what the library reads: an access by the caller. */
void sim_wrote(const void *addr, size_t size);

/* Called with a line that the library prints, and at the program's end: both end the run. */
void sim_said(const char *text, size_t length);
void sim_aborted(void) __attribute__((noreturn));

#endif
