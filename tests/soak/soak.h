/*
 * soak.h: the frame of a long run (README.md).
 *
 *   load     one kind of work, done round after round at a pace, each round checked
 *   lane     one fiber, or one plain thread, that does the rounds of a load
 *   second   the watch takes a sample of everything, writes a line of the log, and holds it to the
 *            limits
 *   rest     twice a minute all lanes stop between two rounds, so that what is held can be compared
 *            exactly with what was held at an earlier rest
 */
#ifndef SOAK_H
#define SOAK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>

enum { LANES_MAX = 160 };

/* What is measured in nanoseconds; each has a limit of its own (watch.c). */
typedef enum {
    LATE_REQUEST,  /* a request to the server and its answer */
    LATE_TIMER,    /* how much later than asked for a sleep, or a task with a deadline, goes on */
    LATE_POST,     /* from the post by a plain thread until the task runs */
    LATE_CANCEL,   /* from the cancel of a scope until its join returns, all children ended */
    LATE_BLOCKING, /* a call on the pool's threads, less the time that it sleeps */
    LATE_FILE,     /* a file written, read and removed */
    LATE_KINDS
} late_kind;

struct lane;

typedef struct load {
    const char *name;
    void (*round)(struct lane *l);
    int lanes;
    int pause_us;  /* on the average, between two rounds */
    bool external; /* its lanes are plain threads */
} load;

typedef struct lane {
    const load *load;
    int number; /* among all lanes */
    uint32_t seed;
    atomic_long rounds;
    _Atomic int64_t since; /* when its round began; 0: it is between two */
} lane;

extern const load soak_loads[];
extern const int soak_loads_count;
extern lane soak_lanes[LANES_MAX];
extern int soak_lanes_count;

/* What the options said. */
typedef struct soak_options {
    double seconds;
    double limit; /* all limits of latencies times this */
    const char *log, *folder, *plant;
    const char *quiet; /* while this file is there, all lanes rest; NULL: none */
    uint32_t seed;
    unsigned rest_s; /* from one rest to the next */
} soak_options;
extern soak_options soak_want;

extern thrum_sched *soak_sched;
extern char soak_address[THRUM_ADDRESS_TEXT];
extern atomic_bool soak_over;

/* An invariant is broken: prints the line, everything about the scheduler, and aborts. */
__attribute__((noreturn, cold, format(printf, 3, 4))) void soak_fails(const char *file, int line,
                                                                      const char *format, ...);

#define REQUIRE(cond) ((cond) ? (void)0 : soak_fails(__FILE__, __LINE__, "%s", #cond))
#define REQUIRE_EQ(a, b) soak_equal(__FILE__, __LINE__, #a " == " #b, (long)(a), (long)(b))

static inline void soak_equal(const char *file, int line, const char *text, long a, long b) {
    if (a != b) {
        soak_fails(file, line, "%s (%ld and %ld)", text, a, b);
    }
}

static inline uint32_t soak_random(uint32_t *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* A deadline that only what hangs passes: a virtual machine may stand still for a minute. */
static inline thrum_time soak_much_later(void) {
    return thrum_after_s(900);
}

/* Counts one latency. Any thread. */
void soak_late(late_kind kind, int64_t ns);

/* ---- the allocator of the scheduler ---- */

extern atomic_long soak_blocks, soak_bytes; /* handed out at present */
void *soak_alloc(void *ctx, size_t size);
void soak_free(void *ctx, void *ptr);

/* ---- rests (main.c) ---- */

bool soak_rest_begin(int64_t deadline); /* false: some lane did not come */
void soak_rest_end(void);

/* ---- watch.c ---- */

/* Samples until the time is over; returns how many limits were passed. */
int soak_watch(void);

/* ---- the rounds ---- */

void round_requests(lane *l);
void round_timers(lane *l);
void round_deadlines(lane *l);
void round_forks(lane *l);
void round_trees(lane *l);
void round_cancels(lane *l);
void round_stalls(lane *l);
void round_channels(lane *l);
void round_locks(lane *l);
void round_blocking(lane *l);
void round_files(lane *l);
void round_posts(lane *l);
void round_programs(lane *l);
void round_second(lane *l);

#endif
