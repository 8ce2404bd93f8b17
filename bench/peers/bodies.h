/*
 * bodies.h: the work of the forked rows between forks, compiled once, by the compiler that compiles
 * thrum-bench: the systems are compared, not the compilers' loops.
 */
#ifndef BENCH_PEERS_BODIES_H
#define BENCH_PEERS_BODIES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* for-light: a multiplication and an addition each. */
void light_part(float *numbers, size_t begin, size_t end);

/* for-skewed: four steps of a generator, 400 for the first hundredth of n. */
void skewed_part(uint32_t *out, size_t n, size_t begin, size_t end);

/* sort: merges two ordered runs; sorts a few, into the spare room if so asked. */
void merge_serially(const uint32_t *a, size_t a_count, const uint32_t *b, size_t b_count,
                    uint32_t *out);
void sort_few(uint32_t *numbers, uint32_t *spare, size_t count, int into_spare);

#ifdef __cplusplus
}
#endif

#endif
