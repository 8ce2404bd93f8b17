/*
 * fault.c: calls of the simulated system that fail because the test has asked for it. Each kind of
 * call is counted where it would otherwise succeed, so a try that finds nothing to do is no call.
 */
#include <string.h>

#include "disk/disk.h"

_Static_assert((int)SIM_FAULT_READ == (int)THRUM_TEST_READ &&
                   (int)SIM_FAULT_ACCEPT == (int)THRUM_TEST_ACCEPT &&
                   (int)SIM_FAULT_SYNC == (int)THRUM_TEST_SYNC &&
                   (int)SIM_FAULT_THREAD == (int)THRUM_TEST_THREAD,
               "the public names of calls that fail");

#define CODES_END 4096 /* no error code is as large */
#define CHANCE_MAX 255u

static const char *const names[] = {"read", "write", "open",   "accept", "connect",
                                    "sync", "name",  "memory", "thread"};
#define CALLS (sizeof names / sizeof *names)

/* ---- in a call ---- */

static sim_plan *plans(void) {
    if (unlikely(E->plans_run != E->started)) {
        E->plans_run = E->started;
        E->plans_count = 0;
        E->spared = NULL;
    }
    return E->plans;
}

static bool is_for(const sim_plan *p, sim_fault_kind kind) {
    return p->kind == kind && p->host == sim_host_here();
}

static bool by_chance(unsigned one_in) {
    return one_in == 1 || sim_choose(SIM_WORLD, E->strategy == S_EXHAUSTIVE ? 2 : one_in) == 1;
}

bool sim_faults(sim_fault_kind kind) {
    const sim_plan *all = plans();
    for (unsigned i = 0; i < E->plans_count; i++) {
        if (is_for(&all[i], kind)) {
            return true;
        }
    }
    return false;
}

/* Counts the call: whether it is the one that fails. */
static bool is_due(sim_plan *p) {
    return p->one_in ? by_chance(p->one_in) : --p->left == 0;
}

int sim_fault(sim_fault_kind kind) {
    sim_plan *all = plans();
    unsigned kept = 0;
    int fault = 0;
    if (likely(!E->plans_count) || E->spared == E->current) {
        return 0;
    }
    for (unsigned i = 0; i < E->plans_count; i++) {
        const bool due = is_for(&all[i], kind) && (!fault || !all[i].one_in) && is_due(&all[i]);
        if (due && !fault) {
            fault = all[i].code ? all[i].code : SIM_FAULT_SHORT;
        }
        if (!due || all[i].one_in) {
            all[kept++] = all[i];
        }
    }
    E->plans_count = kept;
    if (fault) {
        disk_tell("  fault: %s: %s", names[kind], fault < 0 ? strerror(-fault) : "short");
    }
    return fault;
}

size_t sim_fault_size(size_t size) {
    const size_t ways = size - 1 < 255 ? size - 1 : 255;
    return size <= 1 ? size : 1 + sim_choose(SIM_WORLD, (unsigned)ways) * (size - 1) / ways;
}

void kit_faults_end(void) {
    (void)plans();
    E->plans_count = 0;
}

/* ---- plans ---- */

static int add(const char *host, unsigned call, unsigned left, unsigned one_in, int code) {
    const bool is_short = !code && (call == THRUM_TEST_READ || call == THRUM_TEST_WRITE);
    const int number = kit_is_outside() ? -EPERM : kit_host_named(host);
    if (number < 0 || call >= CALLS || (!is_short && (code >= 0 || code <= -CODES_END)) ||
        (call == THRUM_TEST_MEMORY && code != -ENOMEM)) {
        return number < 0 ? number : -EINVAL;
    }
    sim_plan *all = plans();
    if (E->plans_count == SIM_PLANS) {
        return -ENOSPC;
    }
    all[E->plans_count++] = (sim_plan){.kind = (uint8_t)call,
                                       .host = (uint8_t)number,
                                       .left = left,
                                       .one_in = one_in,
                                       .code = code};
    return 0;
}

int thrum_test_fault(const char *host, thrum_test_call call, unsigned nth, int code) {
    return nth ? add(host, call, nth, 0, code) : -EINVAL;
}

int thrum_test_fault_chance(const char *host, thrum_test_call call, unsigned one_in, int code) {
    return one_in && one_in <= CHANCE_MAX ? add(host, call, 0, one_in, code) : -EINVAL;
}

int thrum_test_fault_end(const char *host) {
    const int number = kit_is_outside() ? -EPERM : kit_host_named(host);
    if (number < 0) {
        return number;
    }
    sim_plan *all = plans();
    unsigned kept = 0;
    for (unsigned i = 0; i < E->plans_count; i++) {
        if (all[i].host != number) {
            all[kept++] = all[i];
        }
    }
    E->plans_count = kept;
    return 0;
}
