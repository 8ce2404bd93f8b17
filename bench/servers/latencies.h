/*
 * latencies.h: how long the answers took: how many in each class, the classes a 32nd apart.
 */
#ifndef BENCH_SERVERS_LATENCIES_H
#define BENCH_SERVERS_LATENCIES_H

#include <stdint.h>

enum { LATENCIES_CLASSES = 64 * 32 };

typedef struct latencies {
    uint64_t counts[LATENCIES_CLASSES];
    uint64_t total;
    int64_t max_ns;
} latencies;

/* Counts one answer, which took `ns`. */
void latencies_add(latencies *l, int64_t ns);

/* Returns the time, in ns, within which this share (0 to 1) of the answers came; 0 without any. */
int64_t latencies_quantile(const latencies *l, double share);

/* Prints the fields p50, p90, p99, p99.9 and max of a JSON object, in microseconds. */
void latencies_print(const latencies *l);

#endif
