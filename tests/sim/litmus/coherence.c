/*
 * coherence.c: one word. Its stores have one order, mo, that all threads agree on, regardless of
 * the memory orders; read-modify-writes read the store directly before theirs.
 */
#include "litmus.h"

static unsigned x, y, r0, r1, r2, r3;

/* The value at the end: the joins make all stores known. */
static unsigned last(unsigned *p) {
    return th_load_relaxed(p);
}

#define SAME_IN_ALL(name, set) LITMUS(name, set, set, set)
#define SAME_IN_ALL3(name, set) LITMUS3(name, set, set, set)

/* ---- two accesses of one thread ---- */

THREAD(store_1) {
    th_store_relaxed(&x, 1u);
}
THREAD(store_2) {
    th_store_relaxed(&x, 2u);
}
THREAD(read_twice) {
    r0 = th_load_relaxed(&x);
    r1 = th_load_relaxed(&x);
}
/* CoRR: the second load is not older than the first. */
SAME_IN_ALL(co_rr, "00 01 11") {
    TOGETHER(store_1, read_twice);
    sim_outcome("%u%u", r0, r1);
}

THREAD(read_twice_too) {
    r2 = th_load_relaxed(&x);
    r3 = th_load_relaxed(&x);
}
/* Two readers agree on mo: one sees 1 then 2, the other 2 then 1, never both. */
LITMUS4(co_rr_two, "00 01 10", "00 01 10", "00 01 10") {
    TOGETHER(store_1, store_2, read_twice, read_twice_too);
    sim_outcome("%u%u", r0 == 1 && r1 == 2, r2 == 2 && r3 == 1);
}

THREAD(store_1_read) {
    th_store_relaxed(&x, 1u);
    r0 = th_load_relaxed(&x);
}
/*
 * CoWR: it reads 2 only if that is behind its own 1. The outcome is the value read, and the last
 * one.
 */
SAME_IN_ALL(co_wr, "11 12 22") {
    TOGETHER(store_2, store_1_read);
    sim_outcome("%u%u", r0, last(&x));
}

THREAD(read_store_1) {
    r0 = th_load_relaxed(&x);
    th_store_relaxed(&x, 1u);
}
/* CoRW: the store that it reads comes before its own store; it cannot read that. */
SAME_IN_ALL(co_rw, "01 02 21") {
    TOGETHER(store_2, read_store_1);
    sim_outcome("%u%u", r0, last(&x));
}

THREAD(store_1_2) {
    th_store_relaxed(&x, 1u);
    th_store_relaxed(&x, 2u);
}
/* CoWW: the stores of one thread are in their order, for a reader as at the end. */
SAME_IN_ALL(co_ww, "00 01 02 11 12 22") {
    TOGETHER(store_1_2, read_twice);
    sim_check(last(&x) == 2);
    sim_outcome("%u%u", r0, r1);
}

THREAD(store_3) {
    th_store_relaxed(&x, 3u);
}
/* A third store may be anywhere, also between the two. */
SAME_IN_ALL(co_ww_third, "2 3") {
    TOGETHER(store_1_2, store_3);
    sim_outcome("%u", last(&x));
}

/* ---- through hb ---- */

THREAD(read_then_tell) {
    r0 = th_load_relaxed(&x);
    th_store_release(&y, 1u);
}
THREAD(told_then_read) {
    r1 = th_load_acquire(&y);
    r2 = th_load_relaxed(&x);
}
/* CoRR between threads: a thread that knows of a read sees nothing older. Never 110. */
SAME_IN_ALL3(co_rr_hb, "000 001 010 011 100 101 111") {
    TOGETHER(store_1, read_then_tell, told_then_read);
    sim_outcome("%u%u%u", r0, r1, r2);
}

THREAD(told_then_store) {
    r1 = th_load_acquire(&y);
    th_store_relaxed(&x, 2u);
}
/*
 * CoRW between threads: a thread that knows of a read stores behind the store that was read: never
 * 111. (Only a thread that has not published its read yet may read 2.)
 */
SAME_IN_ALL3(co_rw_hb, "001 002 011 012 101 102 112 201 202") {
    TOGETHER(store_1, read_then_tell, told_then_store);
    sim_outcome("%u%u%u", r0, r1, last(&x));
}

/* ---- read-modify-writes ---- */

THREAD(add_first) {
    r0 = th_add_relaxed(&x, 1u);
}
THREAD(add_second) {
    r1 = th_add_relaxed(&x, 1u);
}
/* They are atomic: no two read the same. */
SAME_IN_ALL(rmw_atomic, "01 10") {
    TOGETHER(add_first, add_second);
    sim_check(last(&x) == 2);
    sim_outcome("%u%u", r0, r1);
}

THREAD(store_5) {
    th_store_relaxed(&x, 5u);
}
/* Nothing is between the store that it read and its own: 0 1 5 or 0 5 6. */
SAME_IN_ALL(rmw_and_store, "05 56") {
    TOGETHER(add_first, store_5);
    sim_outcome("%u%u", r0, last(&x));
}

THREAD(add_then_store_5) {
    r0 = th_add_relaxed(&x, 1u);
    th_store_relaxed(&x, 5u);
}
THREAD(add_ten) {
    r1 = th_add_relaxed(&x, 10u);
}
/* The outcomes 0 1 5 15, 0 1 11 5, 0 10 11 5 are the values read, and the last one. */
SAME_IN_ALL(rmw_between, "0.5.15 0.1.5 10.0.5") {
    TOGETHER(add_then_store_5, add_ten);
    sim_outcome("%u.%u.%u", r0, r1, last(&x));
}

THREAD(cas_1) {
    unsigned expected = 0;
    r0 = th_cas_relaxed(&x, &expected, 1u);
    r2 = expected;
}
THREAD(cas_2) {
    unsigned expected = 0;
    r1 = th_cas_relaxed(&x, &expected, 2u);
    r3 = expected;
}
/* One of the two wins; the strong form fails only when it saw the other's value. */
SAME_IN_ALL(cas_one_wins, "10.1 01.2") {
    TOGETHER(cas_1, cas_2);
    sim_check(r0 ? r3 == 1 : r2 == 2);
    sim_outcome("%u%u.%u", r0, r1, last(&x));
}

THREAD(add_read) {
    r0 = th_add_relaxed(&x, 1u);
    r1 = th_load_relaxed(&x);
}
THREAD(add_read_too) {
    r2 = th_add_relaxed(&x, 1u);
    r3 = th_load_relaxed(&x);
}
/* A thread reads its own read-modify-write or a newer one. */
SAME_IN_ALL(rmw_coherence, "0112 0212 1201 1202") {
    TOGETHER(add_read, add_read_too);
    sim_outcome("%u%u%u%u", r0, r1, r2, r3);
}

/* ---- more stores than the simulator remembers of a word ---- */

THREAD(store_9_10) {
    th_store_relaxed(&x, 9u);
    th_store_relaxed(&x, 10u);
    th_store_relaxed(&y, 1u);
}
THREAD(read_x_y_x) {
    r0 = th_load_relaxed(&x);
    r1 = th_load_relaxed(&y);
    r2 = th_load_relaxed(&x);
}
/*
 * The history is full when the threads begin. x goes forward from 8, y implies nothing about it; in
 * one order of stores y comes after x = a.
 */
#define FORWARD "808 809 80a 909 90a a0a"
LITMUS(co_long, FORWARD " 818 819 81a 919 91a a1a", FORWARD " 81a 91a a1a",
       FORWARD " 81a 91a a1a") {
    for (unsigned i = 1; i <= 8; i++) {
        th_add_relaxed(&x, 1u); /* in tso no store is in a buffer when the threads begin */
    }
    TOGETHER(store_9_10, read_x_y_x);
    sim_outcome("%x%x%x", r0, r1, r2);
}
