/*
 * cpuset.c: sets of CPUs: the granted ones, and the ones that share a cache.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platform/platform.h"
#include "platform/unix/interrupted.h"

_Static_assert(sizeof(unsigned long) == sizeof(uint64_t) ||
                   __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "the system's masks are laid out alike");

static void add(th_os_cpuset *set, unsigned long cpu) {
    if (cpu < TH_OS_CPUS_MAX) {
        set->bits[cpu / 64] |= (uint64_t)1 << (cpu % 64);
    }
}

int th_os_cpuset_granted(th_os_cpuset *out) {
    *out = (th_os_cpuset){{0}};
    return (int)RETRY(sched_getaffinity(0, sizeof *out, (cpu_set_t *)(void *)out));
}

/* Adds a list such as "0-3,8,10-11". False at an error; the part before it has been added. */
static bool add_list(th_os_cpuset *set, const char *text) {
    while (*text >= '0' && *text <= '9') {
        char *end;
        unsigned long first = strtoul(text, &end, 10);
        unsigned long last = first;
        if (*end == '-' && end[1] >= '0' && end[1] <= '9') {
            last = strtoul(end + 1, &end, 10);
        }
        for (unsigned long cpu = first; cpu <= last && cpu < TH_OS_CPUS_MAX; cpu++) {
            add(set, cpu);
        }
        if (*end != ',') {
            return *end == '\n' || *end == '\0';
        }
        text = end + 1;
    }
    return false;
}

static bool read_list(const char *root, unsigned cpu, unsigned index, th_os_cpuset *set) {
    char path[4352];
    char text[4096];
    int length =
        snprintf(path, sizeof path, "%s/sys/devices/system/cpu/cpu%u/cache/index%u/shared_cpu_list",
                 root, cpu, index);
    FILE *f = length < 0 || (size_t)length >= sizeof path ? NULL : fopen(path, "re");
    if (!f) {
        return false;
    }
    bool ok = fgets(text, sizeof text, f) && add_list(set, text);
    fclose(f);
    return ok;
}

void th_os_cpuset_of_cache(const char *root, unsigned cpu, th_os_cpuset *out) {
    TH_KEEPS_ERRNO;
    /* index3 is the third level; where there is none, the second may be shared */
    for (unsigned index = 3; index >= 2; index--) {
        *out = (th_os_cpuset){{0}};
        if (read_list(root, cpu, index, out)) {
            break;
        }
        *out = (th_os_cpuset){{0}};
    }
}
