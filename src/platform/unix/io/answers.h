/*
 * answers.h: the calls that wait for sets of descriptors, for the file of a system that has no sets
 * of its own. That file defines the wait, which adds what it finds to the answers.
 */
#ifndef TH_UNIX_ANSWERS_H
#define TH_UNIX_ANSWERS_H

#include "platform/platform.h"

typedef struct answers {
    th_os_event *events; /* NULL: nothing is taken */
    unsigned max;
    unsigned count;
    uint32_t sets; /* bit i: set i has some */
} answers;

static inline void tell(answers *a, unsigned index, uint64_t key, uint32_t bits) {
    if (a->events) {
        a->events[a->count] = (th_os_event){key, bits};
    }
    a->count++;
    a->sets |= 1u << index;
}

/* Until there are answers, or the deadline has passed. 0 or a code. */
static int wait_until(const th_os_pollset *const sets[], unsigned n, int64_t deadline, answers *a);

int th_os_pollset_wait(const th_os_pollset *named, th_os_event events[], unsigned max,
                       int64_t deadline) {
    answers a = {.events = events, .max = max};
    const int code = wait_until(&named, 1, deadline, &a);
    return code ? code : (int)a.count;
}

int th_os_pollset_wait_any(const th_os_pollset *const sets[], unsigned n, int64_t deadline) {
    answers a = {.max = UINT32_MAX};
    const int code = wait_until(sets, n, deadline, &a);
    return code ? code : (int)a.sets;
}

bool th_os_pollset_is_ready(const th_os_pollset *named) {
    answers a = {.max = 1};
    return !wait_until(&named, 1, 0, &a) && a.count;
}

#endif
