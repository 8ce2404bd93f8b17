/*
 * wide.h: products that have more than 64 bits.
 */
#ifndef TH_WIDE_H
#define TH_WIDE_H

#include "base/cc.h"

/* a * b / 2^32, without its bits above 64. Processors of 32 bits have no type for the product. */
static inline uint64_t th_times_fixed(uint64_t a, uint64_t b) {
#ifdef __SIZEOF_INT128__
    return (uint64_t)((unsigned __int128)a * b >> 32);
#else
    const uint64_t al = (uint32_t)a, ah = a >> 32;
    const uint64_t bl = (uint32_t)b, bh = b >> 32;
    return (ah * bh << 32) + ah * bl + al * bh + (al * bl >> 32);
#endif
}

#endif
