/*
 * controller.h: what the simulated platform asks of the simulator (tests/sim/), which owns the
 * threads, the clock and every decision that a real system would take by chance.
 *
 * All simulated threads run on one real thread, one at a time, so nothing here is concurrent.
 */
#ifndef TH_SIM_CONTROLLER_H
#define TH_SIM_CONTROLLER_H

#include "base/cc.h"

/* What a decision is about: its own budget, and a word in the trace. */
typedef enum sim_what {
    SIM_THREAD,   /* who goes on */
    SIM_VALUE,    /* which store a load sees; where in the history a store goes */
    SIM_SPURIOUS, /* a futex wait returns for no reason */
    SIM_WAKEE,    /* whom a futex wakes */
    SIM_REFUSAL,  /* memory, threads or barriers are refused */
    SIM_TIMER,    /* a deadline passes although somebody could go on */
    SIM_WORLD     /* the world's own */
} sim_what;

/* 0 .. n-1; 0 is what would happen on a quiet day. */
unsigned sim_choose(sim_what what, unsigned n);

/* Somebody else may go on here. */
void sim_point(void);
/* The caller waits for others in a loop: they go on first, if there are any. */
void sim_yield_point(void);

/* What every thread has of its own. */
typedef struct sim_local {
    void *self;
    int error;
    unsigned char storage[256] __attribute__((aligned(16)));
} sim_local;
sim_local *sim_local_here(void);

/* Why a blocked thread goes on. */
typedef enum sim_reason { SIM_WOKEN, SIM_TIMEOUT } sim_reason;

/* The caller sleeps on a word until woken or until the deadline (INT64_MAX: none). */
sim_reason sim_sleep(const void *word, int64_t deadline);
/* Wakes one thread that sleeps on the word: false if there is none. */
bool sim_wake_one(const void *word);

/* A new thread, runnable; -EAGAIN: there are no more. What the caller did is known to it. */
int sim_thread_start(const char *name, void (*entry)(void *), void *arg, uintptr_t *handle);
/* Waits for its end; what it did is known to the caller. */
void sim_thread_join(uintptr_t handle);

/* The platform's: what happens when a thread ends. */
void sim_thread_ends(void);

int64_t sim_now(void);
void sim_pass(int64_t ns); /* time goes by while the caller computes */

/* The newest value of a word, whatever the caller may know. */
uint32_t sim_newest(const uint32_t *word);
/* A full fence in every thread. */
void sim_fence_everywhere(void);

/* Memory of the run: 16-aligned, or in whole pages and zero. NULL never happens. */
void *sim_memory(size_t size);
void sim_memory_free(void *ptr);
void *sim_pages(size_t size);
void sim_pages_free(void *addr, size_t size);
void sim_pages_fresh(void *addr, size_t size); /* their contents are gone */

/* The system has written what the library reads: an access of the caller's. */
void sim_wrote(const void *addr, size_t size);

/* A line that the library printed, and the end of the program: both end the run. */
void sim_said(const char *text, size_t length);
void sim_aborted(void) __attribute__((noreturn));

#endif
