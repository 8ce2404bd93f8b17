/*
 * threads.h: the name of the calling thread, as the system shows it to others; the number of times
 * that a test may start threads.
 */
#ifndef THREADS_H
#define THREADS_H

#include "support/support.h"

/* The parts that differ between systems: own_thread_name, STARTS. */
#if defined(_WIN32)
#include "windows/threads.h"
#else
#define STARTS 10000 /* of schedulers, in a storm of them */

CHECK_UNUSED static void own_thread_name(char *to, size_t size) {
    CHECK_EQ(pthread_getname_np(pthread_self(), to, size), 0);
}
#endif

#endif
