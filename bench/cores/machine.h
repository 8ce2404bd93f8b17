/*
 * machine.h: a simulated machine with up to 256 processors (README.md).
 *
 * Each simulated thread has its own processor, with its own clock in picoseconds. All of them run
 * on one real thread, one at a time: the thread whose clock is the least goes on, and the others
 * may go on at each atomic access and each call of the system. Values are those of one memory
 * (nothing is weakly ordered here: that is tests/sim's); only time is simulated.
 */
#ifndef CORES_MACHINE_H
#define CORES_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { THREADS = 320, NEAR = 8, PACKAGE = 64 };

typedef int64_t ps; /* picoseconds */
#define NS(n) ((ps)((n)*1000))

/* The costs. Each is scaled by its own factor, to see whether a verdict depends on it. */
typedef struct costs {
    double block;   /* ns: of the code of a basic block; fitted to one real worker */
    double hit;     /* a plain access that hits */
    double rmw;     /* a locked instruction on a line that is owned */
    double fence;   /* a full fence, beside waiting for the store buffer */
    double near;    /* a line from a processor that shares the last cache (8 do) */
    double package; /* from one of the same package (64 are in it) */
    double far;     /* from another package */
    double cold;    /* a line that no processor has */
    double overlap; /* how many plain loads that miss overlap */
    double fault;   /* the first touch of a page */
    double heap;    /* malloc or free */
    double clock;   /* reading the clock */
    double ticks;   /* reading the counter */
    double syscall; /* entering and leaving the system */
    double sleep;   /* falling asleep, until the processor could do something else */
    double wake;    /* the cost of a wake for the waker: the median */
    double latency; /* from the wake until the woken thread runs: the median */
    double spread;  /* 99th percentile over median, of both */
    double barrier; /* membarrier, for each other thread that runs */
    double pause;   /* a turn of a spinning loop */
    double start;   /* starting a thread */
} costs;

extern costs the_costs;

/* One line of memory, by its place. */
typedef struct line {
    ps busy;         /* until when it is being moved */
    uint64_t has[4]; /* the processors that have it */
    int16_t owner;   /* the processor that may write it; -1: none */
    bool touched;
} line;

typedef enum { WOKEN, TIMEOUT } reason;

/* ---- machine.c ---- */

void machine_begin(uint64_t seed);
/* Runs `entry` as the first thread, and returns when it has returned. */
void machine_run(void (*entry)(void *), void *arg);

typedef enum { READ, WRITE, READ_ATOMIC, WRITE_ATOMIC, RMW } access_kind;
void machine_access(uintptr_t addr, size_t size, access_kind kind, const void *site);
void machine_fence(void);
void machine_block(void);
void machine_point(void); /* another thread may go on */
void machine_charge(double ns);
void machine_charge_spread(double median_ns);
ps machine_now(void);     /* the caller's clock */
void machine_align(void); /* the clocks of all that run become the latest */
unsigned machine_running(void);

typedef struct site_count {
    const void *site;
    uint64_t misses;
    ps stalled, queued; /* waiting for the line; of that for others that came before */
} site_count;
/* Counting of misses begins anew. */
void machine_count_begin(void);
/* The sites that have waited longest, most first; returns how many. */
unsigned machine_sites(site_count out[], unsigned max);

/* ---- memory.c ---- */

#define ARENA ((uintptr_t)0x100000000000)
#define ARENA_BYTES ((uintptr_t)16 << 30)

/* Fresh pages, there or (0) anywhere. */
void *machine_mapping(uintptr_t at, size_t size);

typedef struct totals {
    uint64_t blocks, accesses, misses, rmws, fences, wakes, sleeps, faults, switches;
    ps stalled, queued;
} totals;
extern totals the_totals;

#endif
