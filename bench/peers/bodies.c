/* bodies.c: the same loops as in thrum-bench's rows_loops.c and rows_parallel.c. */
#include "bodies.h"

#include <string.h>

void light_part(float *numbers, size_t begin, size_t end) {
    for (size_t i = begin; i < end; i++) {
        numbers[i] = numbers[i] * 0.5f + 1.0f;
    }
}

void skewed_part(uint32_t *out, size_t n, size_t begin, size_t end) {
    for (size_t i = begin; i < end; i++) {
        uint32_t x = (uint32_t)i | 1;
        unsigned rounds = i < n / 100 ? 400 : 4;
        for (unsigned j = 0; j < rounds; j++) {
            x = x * 1664525u + 1013904223u;
        }
        out[i] = x;
    }
}

void merge_serially(const uint32_t *a, size_t a_count, const uint32_t *b, size_t b_count,
                    uint32_t *out) {
    const uint32_t *a_end = a + a_count;
    const uint32_t *b_end = b + b_count;
    while (a < a_end && b < b_end) {
        int second = *b < *a;
        *out++ = second ? *b : *a;
        b += second;
        a += !second;
    }
    memcpy(out, a, (size_t)(a_end - a) * sizeof(*a));
    memcpy(out + (a_end - a), b, (size_t)(b_end - b) * sizeof(*b));
}

void sort_few(uint32_t *numbers, uint32_t *spare, size_t count, int into_spare) {
    for (size_t i = 1; i < count; i++) {
        uint32_t moving = numbers[i];
        size_t at = i;
        for (; at > 0 && moving < numbers[at - 1]; at--) {
            numbers[at] = numbers[at - 1];
        }
        numbers[at] = moving;
    }
    if (into_spare) {
        memcpy(spare, numbers, count * sizeof(*numbers));
    }
}
