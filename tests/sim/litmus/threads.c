/*
 * threads.c: starting and joining a thread order accesses, as if by release and acquire; the
 * starter's accesses after the start are not ordered. Plain accesses are among them.
 */
#include "litmus.h"
#include "platform/platform.h"

static unsigned x, y, plain, r0, r1;

#define ALL "00 01 10 11"

THREAD(read_y_x) {
    sim_check(plain == 1); /* a plain access: it does not race with the store before the start */
    r0 = th_load_relaxed(&y);
    r1 = th_load_relaxed(&x);
}
/* Writes before the start are known; "10" is not possible, "x0" neither. */
LITMUS(start_orders, "01 11", "01 11", "01 11") {
    plain = 1;
    th_store_relaxed(&x, 1u);
    int t = sim_spawn(read_y_x, NULL);
    th_store_relaxed(&y, 1u);
    sim_join(t);
    sim_outcome("%u%u", r0, r1);
}

THREAD(read_y_x_late) {
    r0 = th_load_relaxed(&y);
    r1 = th_load_relaxed(&x);
}
/* Writes after the start are not known: it is as mp_relaxed, with the starter as the writer. */
LITMUS(start_orders_no_more, ALL, "00 01 11", "00 01 11") {
    int t = sim_spawn(read_y_x_late, NULL);
    th_store_relaxed(&x, 1u);
    th_store_relaxed(&y, 1u);
    sim_join(t);
    sim_outcome("%u%u", r0, r1);
}

THREAD(write_all) {
    plain = 1;
    th_store_relaxed(&x, 1u);
    th_store_relaxed(&x, 2u);
    th_store_relaxed(&y, 1u);
}
/* After the join no old value is seen. */
LITMUS(join_orders, "21", "21", "21") {
    int t = sim_spawn(write_all, NULL);
    sim_join(t);
    sim_check(plain == 1);
    sim_outcome("%u%u", th_load_relaxed(&x), th_load_relaxed(&y));
}

THREAD(middle) {
    th_store_relaxed(&x, 1u);
    int t = sim_spawn(read_y_x, NULL);
    sim_join(t);
}
/* Start and join are transitive. */
LITMUS(start_and_join, "11", "11", "11") {
    plain = 1;
    th_store_relaxed(&y, 1u);
    int t = sim_spawn(middle, NULL);
    sim_join(t);
    sim_outcome("%u%u", r0, r1);
}

/* ---- the barrier, against two threads that have none ---- */

static unsigned z, r2;

#define ANNOUNCE(name, own, result)                                                                \
    THREAD(name) {                                                                                 \
        th_store_relaxed(&(own), 1u);                                                              \
        th_fence_compiler();                                                                       \
        (result) = th_load_relaxed(&z);                                                            \
    }
ANNOUNCE(announce_x, x, r0)
ANNOUNCE(announce_y, y, r1)
THREAD(close) {
    th_store_relaxed(&z, 1u);
    sim_check(th_os_barrier());
    r2 = th_load_relaxed(&x) + 2 * th_load_relaxed(&y);
}
/*
 * Each of the two is seen by the closer, or sees that it is closed: if r0 = 0 then x is in r2 (as
 * 1), if r1 = 0 then y (as 2).
 */
#define CLOSED "003 011 013 102 103 110 111 112 113"
LITMUS3(barrier_closes, CLOSED, CLOSED, CLOSED) {
    TOGETHER(announce_x, announce_y, close);
    sim_outcome("%u%u%u", r0, r1, r2);
}

THREAD(close_by_fence) {
    th_store_relaxed(&z, 1u);
    th_fence_seq();
    r2 = th_load_relaxed(&x) + 2 * th_load_relaxed(&y);
}
/* A fence of the closer alone does not suffice. */
#define OPEN "000 001 002 003 010 011 012 013 100 101 102 103 110 111 112 113"
LITMUS3(barrier_is_needed, OPEN, OPEN, CLOSED) {
    TOGETHER(announce_x, announce_y, close_by_fence);
    sim_outcome("%u%u%u", r0, r1, r2);
}

THREAD(mp_writer) {
    th_store_relaxed(&x, 1u);
    th_fence_compiler();
    th_store_relaxed(&y, 1u);
}
THREAD(mp_reader) {
    r0 = th_load_relaxed(&y);
    sim_check(th_os_barrier());
    r1 = th_load_relaxed(&x);
}
/* The barrier is also a fence in the writer: after W y it has published x; before, y is new. */
LITMUS(barrier_mp, "00 01 11", "00 01 11", "00 01 11") {
    TOGETHER(mp_writer, mp_reader);
    sim_outcome("%u%u", r0, r1);
}
