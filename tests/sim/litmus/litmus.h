/*
 * litmus.h: the form of the litmus tests: a few threads, each with two or three accesses to the
 * words x, y and z, which are 0 at first; the values read make the outcome. The sets of outcomes
 * were worked out by hand, from RC11 with the release sequences of C++20, not by looking.
 *
 * In the comments W x 1 is a store, R x 0 a load, F a seq_cst fence; rf (reads from), mo (order of
 * the stores of one word), fr (reads an older store than) and hb are the relations of RC11.
 */
#ifndef LITMUS_H
#define LITMUS_H

#include "base/atomic.h"

#include "sim.h"

/* The bound on preemptions of the search; with more threads fewer are affordable. */
#define LITMUS_OF(bound_, name_, c11_, tso_, seq_)                                                 \
    SIM_WORLD(litmus_##name_, .exhaustive = true, .inserts = true, .preemptions = (bound_),        \
              .outcomes = c11_, .outcomes_tso = tso_, .outcomes_seq = seq_)
#define LITMUS(...) LITMUS_OF(8, __VA_ARGS__)  /* with two threads */
#define LITMUS3(...) LITMUS_OF(4, __VA_ARGS__) /* with three threads */
#define LITMUS4(...) LITMUS_OF(3, __VA_ARGS__)

#define THREAD(name_) static void name_(__attribute__((unused)) void *unused)

#define TOGETHER(...)                                                                              \
    do {                                                                                           \
        void (*const threads_[])(void *) = {__VA_ARGS__};                                          \
        litmus_together((int)(sizeof threads_ / sizeof threads_[0]), threads_);                    \
    } while (0)

/* The last one runs in the world's own thread: fewer threads have fewer orders to search. */
static inline void litmus_together(int n, void (*const threads[])(void *)) {
    int started[8];
    for (int i = 0; i < n - 1; i++) {
        started[i] = sim_spawn(threads[i], NULL);
    }
    threads[n - 1](NULL);
    for (int i = 0; i < n - 1; i++) {
        sim_join(started[i]);
    }
}

#define NOTHING ((void)0)

#endif
