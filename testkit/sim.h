/*
 * sim.h: the interface for a world: a small program over the library that the simulator runs again
 * and again, each time with other decisions. tests/sim/README.md explains how to write one.
 */
#ifndef SIM_H
#define SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- a world ---- */

typedef struct sim_world {
    const char *name;
    const char *file;
    void (*body)(void); /* the first thread's function */

    /* Zero is the default of all that follows. */
    unsigned steps_max;   /* a run with more steps is a livelock (20,000) */
    unsigned refusals;    /* how many allocations, threads, descriptors may fail in a run (0) */
    unsigned timers_max;  /* how many deadlines may pass early in a run (2) */
    unsigned spurious;    /* how many waits may end, or events come, for no reason in a run (2) */
    bool inserts;         /* the exhaustive search also tries orders of unordered stores */
    bool exhaustive;      /* small enough for a complete search */
    bool keeps_memory;    /* memory that is left at the end is no leak */
    bool heavy;           /* a whole scheduler: fewer runs by default */
    unsigned runs;        /* runs of each strategy, in mode c11 */
    unsigned preemptions; /* the exhaustive search's bound (2) */

    /*
     * Called when all threads sleep and the clock must jump; it fails the run if there is work to
     * do.
     */
    void (*asleep)(void);

    /*
     * A program of the simulator's own tests: the faults that the simulator must find in it, or
     * must not.
     */
    const char *expect;          /* faults of which it must find one, in mode c11 at least */
    bool expect_tso, expect_seq; /* it must be found in these, too, or must not show there */
    const char *outcomes; /* all outcomes that C11 allows, as "00 01 11"; each must be reached */
    const char *outcomes_tso;
    const char *outcomes_seq;

    struct sim_world *next;
} sim_world;

/*
 * SIM_WORLD(name, .field = value, ...) { the first thread's body }
 */
#define SIM_WORLD(name_, ...)                                                                      \
    static void sim_body_##name_(void);                                                            \
    static sim_world sim_world_##name_ = {                                                         \
        .name = #name_, .file = __FILE__, .body = sim_body_##name_, __VA_ARGS__};                  \
    __attribute__((constructor)) static void sim_register_##name_(void) {                          \
        sim_register(&sim_world_##name_);                                                          \
    }                                                                                              \
    static void sim_body_##name_(void)

void sim_register(sim_world *world);

/* ---- calls for its body ---- */

/* Up to seven more threads, which sim_join joins. */
int sim_spawn(void (*entry)(void *), void *arg);
void sim_join(int thread);
/* Starts them all, and waits for all. */
void sim_together(unsigned n, void (*const entries[])(void *), void *arg);

/* A decision of the world's own, from 0 to n - 1. */
unsigned sim_pick(unsigned n);

/* Says that the run is wrong. */
#define sim_check(cond) ((cond) ? (void)0 : sim_failed("check", __FILE__, __LINE__, #cond))
void sim_failed(const char *fault, const char *file, int line, const char *what)
    __attribute__((noreturn));

/*
 * sim_moment_now is called in one thread, sim_moment_before later in another one: whether that
 * moment happens before the caller's next access. The memory modes have no load buffering, which
 * processors have: a read never sees a store after it in the run. A world that uses this shows that
 * the orders forbid it, too.
 */
typedef struct sim_moment {
    unsigned thread;
    uint32_t time;
} sim_moment;
sim_moment sim_moment_now(void);
bool sim_moment_before(sim_moment moment);

/* Says how a litmus test ended: one word, as in `outcomes`. */
void sim_outcome(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Says whether memory and threads may be refused from now on, in a world that has `.refusals`; they
 * may at first.
 */
void sim_may_refuse(bool may);

/* Memory that the simulator watches: freed memory may not be touched. */
void *sim_alloc(size_t size);
void sim_free(void *ptr);

/* Writes a line into the trace. */
void sim_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The number of the running thread; 0 is the world's body. */
unsigned sim_thread_number(void);

/* For `asleep`: until when a thread sleeps on the word (INT64_MAX: for ever, or none does). */
int64_t sim_sleeps_until(const void *word);

/* Whether a load may see an old value, so that a thread acts late on a store (mode c11). */
bool sim_sees_late(void);

/*
 * For `asleep`: a function whose accesses the simulator does not see. It looks at the newest values
 * and takes no step. It must not call a function that is seen.
 */
#define SIM_UNSEEN __attribute__((noinline, no_sanitize_thread))

#endif
