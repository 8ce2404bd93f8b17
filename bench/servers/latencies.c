/*
 * latencies.c: see latencies.h. A class is the highest bit of the time and the five bits below it.
 */
#include "latencies.h"

#include <stdio.h>

static unsigned class_of(int64_t ns) {
    uint64_t time = ns > 0 ? (uint64_t)ns : 0;
    unsigned shift = 0;
    while (time >> shift >= 64) {
        shift++;
    }
    return shift * 32 + (unsigned)(time >> shift);
}

/* The middle of a class. */
static int64_t time_of(unsigned class) {
    if (class < 64) {
        return class;
    }
    const unsigned shift = class / 32 - 1;
    const int64_t first = (int64_t)(class % 32 + 32) << shift;
    return first + ((INT64_C(1) << shift) - 1) / 2;
}

void latencies_add(latencies *l, int64_t ns) {
    l->counts[class_of(ns)]++;
    l->total++;
    l->max_ns = ns > l->max_ns ? ns : l->max_ns;
}

int64_t latencies_quantile(const latencies *l, double share) {
    uint64_t seen = 0;
    for (unsigned class = 0; class < LATENCIES_CLASSES; class ++) {
        seen += l->counts[class];
        if (seen > 0 && (double)seen >= share * (double)l->total) {
            const int64_t time = time_of(class);
            return time < l->max_ns ? time : l->max_ns;
        }
    }
    return 0;
}

void latencies_print(const latencies *l) {
    static const double shares[] = {0.5, 0.9, 0.99, 0.999};
    static const char *const names[] = {"p50", "p90", "p99", "p99.9"};
    for (unsigned i = 0; i < 4; i++) {
        printf("\"%s\": %.3f, ", names[i], (double)latencies_quantile(l, shares[i]) / 1e3);
    }
    printf("\"max\": %.3f", (double)l->max_ns / 1e3);
}
