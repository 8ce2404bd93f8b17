/*
 * peer.h: shared by the peers' programs in C and C++: options, time, counts, writing rows.
 * ../README.md defines the rows, README.md here the requirements for a peer.
 *
 * A program is a table of `peer_work` and a call of peer_main. One process takes one sample of each
 * requested row; median, min and max are that sample.
 */
#ifndef BENCH_PEERS_PEER_H
#define BENCH_PEERS_PEER_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

typedef struct peer_work {
    const char *names; /* the rows that it gives, separated by spaces */
    void (*run)(void); /* calls peer_row for each */
} peer_work;

/* How the program was called. */
static struct {
    const char *system;
    unsigned workers;
    bool quick;
    bool some; /* a row has been written */
} peer;

#define peer_check(cond, ...)                                                                      \
    ((cond) ? (void)0 : (fprintf(stderr, __VA_ARGS__), fprintf(stderr, " (%s)\n", #cond), exit(1)))

/* The work of the row's definition, or a twentieth of it with --quick. */
static inline unsigned peer_scale(unsigned full, unsigned least) {
    unsigned part = peer.quick ? full / 20 : full;
    return part < least ? least : part;
}

static inline int64_t peer_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline void peer_sleep_us(int64_t us) {
    struct timespec left = {us / 1000000, us % 1000000 * 1000};
    while (nanosleep(&left, &left) != 0) {
        continue;
    }
}

static inline uint64_t peer_context_switches(void) {
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (uint64_t)use.ru_nvcsw + (uint64_t)use.ru_nivcsw;
}

/* A stretch of time, and the context switches in it. */
typedef struct peer_span {
    uint64_t context_switches;
    int64_t begin_ns;
    double ns;
} peer_span;

static inline peer_span peer_begin(void) {
    peer_span span = {peer_context_switches(), 0, 0};
    span.begin_ns = peer_now();
    return span;
}

static inline void peer_end(peer_span *span) {
    span->ns = (double)(peer_now() - span->begin_ns);
    span->context_switches = peer_context_switches() - span->context_switches;
}

static inline void peer_write_histogram(void);

static inline void peer_row(const char *name, const char *unit, double value, uint64_t ops,
                            const peer_span *span) {
    printf("%s\n  {\"name\": \"%s\", \"system\": \"%s\", \"workers\": %u, \"policy\": \"none\", "
           "\"unit\": \"%s\", \"median\": %.6g, \"min\": %.6g, \"max\": %.6g, \"ops\": %llu, "
           "\"context_switches\": %llu, \"futex_calls\": null",
           peer.some ? "," : "", name, peer.system, peer.workers, unit, value, value, value,
           (unsigned long long)ops, (unsigned long long)span->context_switches);
    peer_write_histogram();
    putchar('}');
    peer.some = true;
}

static inline void peer_row_per_op(const char *name, const peer_span *span, uint64_t ops) {
    peer_row(name, "ns/op", span->ns / (double)ops, ops, span);
}

static inline void peer_row_ms(const char *name, const peer_span *span, uint64_t ops) {
    peer_row(name, "ms", span->ns / 1e6, ops, span);
}

/* ---- slots that tasks count themselves in ---- */

static inline uint32_t *peer_slots(unsigned n) {
    uint32_t *slots = (uint32_t *)malloc(n * sizeof(*slots));
    peer_check(slots != NULL, "no memory");
    memset(slots, 0, n * sizeof(*slots));
    return slots;
}

static inline void peer_check_slots(uint32_t *slots, unsigned n, unsigned runs) {
    for (unsigned i = 0; i < n; i++) {
        peer_check(slots[i] == runs, "task %u ran %u times, not %u", i, slots[i], runs);
    }
    free(slots);
}

/*
 * The rows made of rounds, each of which starts a task for each of n slots and waits for all: a
 * tenth of the rounds warms up.
 */
static inline void peer_rounds(const char *name, unsigned n, unsigned rounds,
                               void (*round)(uint32_t *slots, unsigned n)) {
    uint32_t *slots = peer_slots(n);
    unsigned warm = rounds / 10 + 1;
    for (unsigned i = 0; i < warm; i++) {
        round(slots, n);
    }
    peer_span span = peer_begin();
    for (unsigned i = 0; i < rounds; i++) {
        round(slots, n);
    }
    peer_end(&span);
    peer_row_per_op(name, &span, (uint64_t)n * rounds);
    peer_check_slots(slots, n, warm + rounds);
}

/* A burst of a million, three times: the first one is cold, the third one warm. */
static inline void peer_burst(void (*round)(uint32_t *slots, unsigned n)) {
    unsigned n = peer_scale(1000000, 10000);
    uint32_t *slots = peer_slots(n);
    for (unsigned i = 0; i < 3; i++) {
        peer_span span = peer_begin();
        round(slots, n);
        peer_end(&span);
        if (i != 1) {
            peer_row_per_op(i == 0 ? "spawn-burst-cold" : "spawn-burst", &span, n);
        }
    }
    peer_check_slots(slots, n, 3);
}

/* Each fan-out finds the other workers asleep: it begins 2 ms after the last one ended. */
static inline void peer_fanout(void (*round)(uint32_t *slots, unsigned n)) {
    const unsigned n = 10000, repeats = peer_scale(50, 5);
    uint32_t *slots = peer_slots(n);
    peer_span all = {0, 0, 0};
    for (unsigned i = 0; i < repeats; i++) {
        peer_sleep_us(2000);
        peer_span span = peer_begin();
        round(slots, n);
        peer_end(&span);
        all.ns += span.ns;
        all.context_switches += span.context_switches;
    }
    peer_row_per_op("fanout", &all, (uint64_t)n * repeats);
    peer_check_slots(slots, n, repeats);
}

/* ---- distributions ---- */

/* How many samples fell into each class of nanoseconds; classes are a 32nd apart, as in
 * thrum-bench. */
#define PEER_CLASSES (64 * 32)
typedef struct peer_histogram {
    uint32_t counts[PEER_CLASSES];
} peer_histogram;

static inline void peer_histogram_add(peer_histogram *h, int64_t ns) {
    peer_check(ns >= 0, "a sleep was short");
    unsigned shift = ns < 32 ? 0 : 59u - (unsigned)__builtin_clzll((uint64_t)ns);
    h->counts[ns < 32 ? (unsigned)ns : shift * 32 + (unsigned)(ns >> (shift - 1)) % 32]++;
}

/* The least of a class, in us. */
static inline double peer_class_us(unsigned c) {
    return (c < 32 ? (double)c : (double)((uint64_t)(32 + c % 32) << (c / 32 - 1))) / 1000;
}

static inline uint64_t peer_histogram_count(const peer_histogram *h) {
    uint64_t n = 0;
    for (unsigned c = 0; c < PEER_CLASSES; c++) {
        n += h->counts[c];
    }
    return n;
}

static inline double peer_quantile(const peer_histogram *h, double share) {
    uint64_t seen = 0, all = peer_histogram_count(h);
    unsigned last = 0;
    for (unsigned c = 0; c < PEER_CLASSES && (double)seen < share * (double)all; c++) {
        seen += h->counts[c];
        last = h->counts[c] ? c : last;
    }
    return peer_class_us(last);
}

/* Data for the next row: pairs of microseconds and counts. */
static const peer_histogram *peer_next_histogram;

static inline void peer_write_histogram(void) {
    const peer_histogram *h = peer_next_histogram;
    peer_next_histogram = NULL;
    if (!h) {
        return;
    }
    const char *comma = "";
    printf(", \"histogram\": [");
    for (unsigned c = 0; c < PEER_CLASSES; c++) {
        if (h->counts[c] == 0) {
            continue;
        }
        printf("%s[%.6g, %u]", comma, peer_class_us(c), h->counts[c]);
        comma = ", ";
    }
    putchar(']');
}

/* ---- wakes and idleness ---- */

static int peer_compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* once() wakes the idle pool, waits for its answer, and returns the time until it ran, in ns. */
static inline void peer_wake(int64_t (*once)(void)) {
    unsigned rounds = peer_scale(1000, 200);
    double *us = (double *)calloc(rounds, sizeof(double));
    peer_check(us != NULL, "no memory");
    peer_span span = peer_begin();
    for (unsigned i = 0; i < rounds; i++) {
        peer_sleep_us(500);
        us[i] = (double)once() / 1000;
    }
    peer_end(&span);
    static peer_histogram all;
    for (unsigned i = 0; i < rounds; i++) {
        peer_histogram_add(&all, (int64_t)(us[i] * 1000));
    }
    qsort(us, rounds, sizeof(double), peer_compare);
    peer_next_histogram = &all;
    peer_row("wake-p50", "us", us[rounds / 2], rounds, &span);
    peer_row("wake-p99", "us", us[rounds - rounds / 100], rounds, &span);
    free(us);
}

/*
 * A row of sleeps: the number of sleepers and of their sleeps; the first few times of each, while
 * others start, are not noted.
 */
typedef struct peer_crowd {
    const char *name;
    unsigned sleepers, rounds, unnoted;
} peer_crowd;

static inline peer_crowd peer_crowd_full(void) {
    peer_crowd all = {"sleeps", peer_scale(100000, 5000), 20, 0};
    return all;
}

static inline peer_crowd peer_crowd_half(void) {
    peer_crowd some = {"sleeps-half", 14000, peer_scale(60, 6), 3};
    return some;
}

/* The rows of sleeps, from the lateness of all that are noted and the CPU time that they took. */
static inline void peer_sleeps(const peer_crowd *crowd, peer_histogram *tables, unsigned count,
                               double cpu_us, const peer_span *span) {
    uint64_t ops = (uint64_t)crowd->sleepers * crowd->rounds;
    char name[64];
    for (unsigned i = 1; i < count; i++) {
        for (unsigned c = 0; c < PEER_CLASSES; c++) {
            tables[0].counts[c] += tables[i].counts[c];
        }
    }
    peer_check(peer_histogram_count(tables) == ops - (uint64_t)crowd->sleepers * crowd->unnoted,
               "sleeps were lost");
    peer_row(crowd->name, "us", cpu_us / (double)ops, ops, span);
    peer_next_histogram = tables;
    snprintf(name, sizeof(name), "%s-late-p50", crowd->name);
    peer_row(name, "us", peer_quantile(tables, 0.5), ops, span);
    snprintf(name, sizeof(name), "%s-late-p99", crowd->name);
    peer_row(name, "us", peer_quantile(tables, 0.99), ops, span);
    snprintf(name, sizeof(name), "%s-late-max", crowd->name);
    peer_row(name, "us", peer_quantile(tables, 1), ops, span);
}

static inline double peer_process_cpu_us(void) {
    struct timespec all;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &all);
    return (double)all.tv_sec * 1e6 + (double)all.tv_nsec / 1e3;
}

static inline double peer_cpu_us(void) {
    struct timespec all, mine;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &all);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &mine);
    return (double)(all.tv_sec - mine.tv_sec) * 1e6 + (double)(all.tv_nsec - mine.tv_nsec) / 1e3;
}

/*
 * Measures the processor time of the pool's threads in two seconds without work, after it has just
 * worked.
 */
static inline void peer_idle(void) {
    peer_sleep_us(200000);
    peer_span span = peer_begin();
    double cpu = peer_cpu_us();
    peer_sleep_us(peer_scale(2000000, 500000));
    cpu = peer_cpu_us() - cpu;
    peer_end(&span);
    peer_row("idle", "us/s", (cpu > 0 ? cpu : 0) * 1e9 / span.ns, 1, &span);
}

/* ---- the program ---- */

static inline bool peer_listed(const char *list, const char *separators, const char *name,
                               size_t length) {
    while (*list != '\0') {
        size_t n = strcspn(list, separators);
        if (n == length && strncmp(list, name, n) == 0) {
            return true;
        }
        list += n;
        list += strspn(list, separators);
    }
    return false;
}

static inline bool peer_wanted(const peer_work *work, const char *only) {
    for (const char *name = work->names; only && *name != '\0';) {
        size_t n = strcspn(name, " ");
        if (peer_listed(only, ",", name, n)) {
            return true;
        }
        name += n;
        name += strspn(name, " ");
    }
    return only == NULL;
}

static inline int peer_main(const char *system, const char *version, const peer_work *works,
                            size_t count, int argc, char **argv) {
    const char *only = NULL;
    bool list = false;
    peer.system = system;
    peer.workers = 1;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--list") == 0) {
            list = true;
        } else if (strcmp(argv[i], "--quick") == 0) {
            peer.quick = true;
        } else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
            only = argv[++i];
        } else if (strcmp(argv[i], "--workers") == 0 && i + 1 < argc) {
            peer.workers = (unsigned)atoi(argv[++i]);
        } else {
            peer_check(false, "not an option: %s", argv[i]);
        }
    }
    peer_check(peer.workers > 0, "not a number of workers");
    if (list) {
        for (size_t i = 0; i < count; i++) {
            for (const char *c = works[i].names; *c != '\0'; c += *c == ' ') {
                size_t n = strcspn(c, " ");
                printf("%.*s\n", (int)n, c);
                c += n;
            }
        }
        return 0;
    }
    printf("{\"machine\": {\"system\": \"%s\", \"version\": \"%s\", \"command\": \"", system,
           version);
    for (int i = 0; i < argc; i++) {
        printf("%s%s", i == 0 ? "" : " ", argv[i]);
    }
    printf("\"},\n \"rows\": [");
    for (size_t i = 0; i < count; i++) {
        if (peer_wanted(&works[i], only)) {
            works[i].run();
        }
    }
    printf("\n ]}\n");
    return 0;
}

#endif
