/*
 * planted.h: small programs with a known fault each. The simulator must find it in the modes named,
 * within its default number of runs, and must not find it where it cannot happen.
 */
#ifndef PLANTED_H
#define PLANTED_H

#include "base/atomic.h"

#include "sim.h"

/* The fault shows with the weakest memory only. */
#define PLANTED_C11(name_, fault_, ...)                                                            \
    SIM_WORLD(planted_##name_, .expect = (fault_), ##__VA_ARGS__)
/* The fault shows with store buffers as well. */
#define PLANTED_TSO(name_, fault_, ...)                                                            \
    SIM_WORLD(planted_##name_, .expect = (fault_), .expect_tso = true, ##__VA_ARGS__)
/* The fault shows with any memory: only the interleaving matters. */
#define PLANTED(name_, fault_, ...)                                                                \
    SIM_WORLD(planted_##name_, .expect = (fault_), .expect_tso = true, .expect_seq = true,         \
              ##__VA_ARGS__)

#define THREAD(name_) static void name_(__attribute__((unused)) void *unused)

#endif
