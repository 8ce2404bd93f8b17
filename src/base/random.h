/*
 * random.h: small fast random numbers for scheduling decisions (not for anything secret).
 */
#ifndef TH_RANDOM_H
#define TH_RANDOM_H

#include "base/cc.h"

typedef struct th_random {
    uint64_t state; /* one owner; never 0 */
} th_random;

static inline void th_random_seed(th_random *r, uint64_t seed) {
    /* splitmix64's finalizer: neighbouring seeds give unrelated streams */
    seed += 0x9e3779b97f4a7c15u;
    seed = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9u;
    seed = (seed ^ (seed >> 27)) * 0x94d049bb133111ebu;
    r->state = (seed ^ (seed >> 31)) | 1;
}

static inline uint32_t th_random_next(th_random *r) {
    uint64_t x = r->state; /* xorshift64* */
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    r->state = x;
    return (uint32_t)((x * 0x2545f4914f6cdd1du) >> 32);
}

/* Below n (> 0), by multiplication: the bias is under n / 2^32. */
static inline uint32_t th_random_below(th_random *r, uint32_t n) {
    return (uint32_t)(((uint64_t)th_random_next(r) * n) >> 32);
}

#endif
