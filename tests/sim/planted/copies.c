/*
 * copies.c: races of accesses that are no single loads and stores: structures, copies, fills.
 */
#include <string.h>

#include "planted.h"

typedef struct big {
    uint64_t words[3];
} big;

static big shared, other;
static char text[32];
static volatile size_t some = 24;

/* Counts as a use: otherwise the compilers omit the writes. */
#define USED(object) __asm__ volatile("" : : "r"(&(object)) : "memory")

THREAD(writes_last) {
    shared.words[2] = 1;
    USED(shared);
}

/* A structure is assigned while another thread writes its last word. */
PLANTED(race_assignment, "race") {
    int t = sim_spawn(writes_last, NULL);
    other = shared;
    USED(shared);
    USED(other);
    sim_join(t);
}

/* A copy of a known size, which the compiler may make itself, meets a write. */
PLANTED(race_copy_known, "race") {
    int t = sim_spawn(writes_last, NULL);
    memcpy(&other, &shared, sizeof shared);
    USED(shared);
    USED(other);
    sim_join(t);
}

/* A copy by the C library meets a write. */
PLANTED(race_copy, "race") {
    int t = sim_spawn(writes_last, NULL);
    memcpy(&other, &shared, some);
    USED(shared);
    USED(other);
    sim_join(t);
}

/* A copy between places that may overlap meets a write. */
PLANTED(race_move, "race") {
    int t = sim_spawn(writes_last, NULL);
    memmove(&other, &shared, some);
    USED(shared);
    USED(other);
    sim_join(t);
}

/* A fill meets a write. */
PLANTED(race_fill, "race") {
    int t = sim_spawn(writes_last, NULL);
    memset(&shared, 0, some);
    USED(shared);
    USED(other);
    sim_join(t);
}

/* A fill of a known size meets a write. */
PLANTED(race_fill_known, "race") {
    int t = sim_spawn(writes_last, NULL);
    memset(&shared, 0, sizeof shared);
    USED(shared);
    USED(other);
    sim_join(t);
}

/* An initialiser is a fill, too. */
PLANTED(race_initialiser, "race") {
    int t = sim_spawn(writes_last, NULL);
    shared = (big){{0}};
    USED(shared);
    USED(other);
    sim_join(t);
}

THREAD(writes_byte) {
    text[13] = 1;
}
/* One byte inside of a word is accessed against the whole word, not aligned. */
PLANTED(race_unaligned, "race") {
    int t = sim_spawn(writes_byte, NULL);
    uint32_t four;
    memcpy(&four, text + 11, sizeof four);
    sim_check(four != 7);
    USED(shared);
    USED(other);
    sim_join(t);
}

#ifdef __clang__ /* gcc shows no accesses to bit fields; the library has none */
static struct {
    unsigned low : 3;
    unsigned high : 5;
} bits;

THREAD(writes_high) {
    bits.high = 1;
}
/* Two bit fields in one byte are one object. */
PLANTED(race_bits, "race") {
    int t = sim_spawn(writes_high, NULL);
    bits.low = 1;
    USED(shared);
    USED(other);
    sim_join(t);
}
#endif

THREAD(writes_neighbour) {
    text[1] = 1;
}
/* Two bytes of one word are two objects: no race. */
SIM_WORLD(sound_neighbours) {
    int t = sim_spawn(writes_neighbour, NULL);
    text[0] = 1;
    text[2] = 1;
    USED(shared);
    USED(other);
    sim_join(t);
}
