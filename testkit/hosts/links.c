/*
 * links.c: the calls of thrum/test.h about the network and the clocks of hosts.
 */
#include <errno.h>

#include "hosts/hosts.h"

#define CALLER ((uintptr_t)__builtin_return_address(0))

typedef void change(network_link *link, const void *with);

/* Changes the links from one host to another; NULL stands for every host. */
static int each_link(const char *from, const char *to, change *call, const void *with) {
    const int first = from ? hosts_find(from) : 0;
    const int second = to ? hosts_find(to) : 0;
    if (first < 0 || second < 0 || (from && to && first == second)) {
        return first < 0 || second < 0 ? -ENOENT : -EINVAL;
    }
    /* Hosts that start later have links as well. */
    for (unsigned i = from ? (unsigned)first : 0; i < (from ? (unsigned)first + 1 : SIM_HOSTS);
         i++) {
        for (unsigned j = to ? (unsigned)second : 0; j < (to ? (unsigned)second + 1 : SIM_HOSTS);
             j++) {
            if (i != j) {
                call(network_between(i, j), with);
                network_opened(i, j);
            }
        }
    }
    return 0;
}

static int both_ways(const char *a, const char *b, change *call) {
    const int code = each_link(a, b, call, NULL);
    return code ? code : each_link(b, a, call, NULL);
}

/* ---- partitions ---- */

static void cut(network_link *link, const void *with) {
    (void)with;
    link->cut = true;
}

static void heal(network_link *link, const void *with) {
    (void)with;
    link->cut = false;
}

int thrum_test_link_cut(const char *from, const char *to) {
    if (kit_is_outside()) {
        return -EPERM;
    }
    hosts_point("thrum_test_link_cut", from ? from : "all", to ? to : "all", CALLER);
    return each_link(from, to, cut, NULL);
}

int thrum_test_partition(const char *a, const char *b) {
    if (kit_is_outside()) {
        return -EPERM;
    }
    hosts_point("thrum_test_partition", a ? a : "all", b ? b : "all", CALLER);
    return both_ways(a, b, cut);
}

int thrum_test_heal(const char *a, const char *b) {
    if (kit_is_outside()) {
        return -EPERM;
    }
    hosts_point("thrum_test_heal", a ? a : "all", b ? b : "all", CALLER);
    return both_ways(a, b, heal);
}

/* ---- links ---- */

static void hold(network_link *link, const void *with) {
    link->held = *(const bool *)with;
}

int thrum_test_link_hold(const char *from, const char *to, bool held) {
    if (kit_is_outside()) {
        return -EPERM;
    }
    hosts_point("thrum_test_link_hold", from ? from : "all", to ? to : "all", CALLER);
    return each_link(from, to, hold, &held);
}

static void set(network_link *link, const void *with) {
    const thrum_test_link *wanted = with;
    link->latency_min = wanted->latency_min;
    link->latency_max = wanted->latency_max;
    link->bandwidth = wanted->bandwidth;
    link->loss = wanted->loss;
}

int thrum_test_link_set(const char *from, const char *to, const thrum_test_link *link) {
    if (kit_is_outside()) {
        return -EPERM;
    }
    hosts_point("thrum_test_link_set", from ? from : "all", to ? to : "all", CALLER);
    if (!link || link->size < sizeof *link || link->latency_min < 0 ||
        link->latency_max < link->latency_min || link->loss > 1000) {
        return -EINVAL;
    }
    return each_link(from, to, set, link);
}

int thrum_test_link_reset(const char *a, const char *b) {
    if (kit_is_outside()) {
        return -EPERM;
    }
    hosts_point("thrum_test_link_reset", a ? a : "all", b ? b : "all", CALLER);
    const int first = a ? hosts_find(a) : -EINVAL;
    const int second = b ? hosts_find(b) : -EINVAL;
    if (first < 0 || second < 0 || first == second) {
        return first < 0 ? first : second < 0 ? second : -EINVAL;
    }
    network_break((unsigned)first, (unsigned)second);
    return 0;
}

/* ---- clocks ---- */

#define FASTER_MAX 500000

int thrum_test_host_clock(const char *name, thrum_time ahead, int64_t faster) {
    if (kit_is_outside()) {
        return -EPERM;
    }
    hosts_point("thrum_test_host_clock", name, NULL, CALLER);
    const int number = name ? hosts_find(name) : -EINVAL;
    if (number < 0 || ahead < 0 || faster < -FASTER_MAX || faster > FASTER_MAX) {
        return number < 0 ? number : -EINVAL;
    }
    sim_clock *clock = &E->clocks[number];
    const sim_clock before = *clock;
    clock->ahead = clock_shows(&before, E->now) - E->now + ahead;
    clock->since = E->now;
    clock->faster = faster;
    for (unsigned i = 0; i < E->thread_count; i++) {
        sim_thread *t = &E->threads[i];
        if (t->host == (unsigned)number && t->state == T_ASLEEP && t->deadline != INT64_MAX) {
            t->deadline = clock_comes_to(clock, clock_shows(&before, t->deadline));
        }
    }
    sim_advance(0); /* deadlines may have passed */
    return 0;
}
