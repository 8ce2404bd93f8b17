/*
 * affinity.c: see affinity.h.
 */
#include "core/basis/affinity.h"

enum { WORDS = TH_OS_CPUS_MAX / 64 };

static bool has(const th_os_cpuset *set, unsigned cpu) {
    return (set->bits[cpu / 64] >> (cpu % 64) & 1) != 0;
}

static void add(th_os_cpuset *set, unsigned cpu) {
    set->bits[cpu / 64] |= (uint64_t)1 << (cpu % 64);
}

unsigned th_affinity_count(const th_os_cpuset *set) {
    unsigned count = 0;
    for (unsigned i = 0; i < WORDS; i++) {
        count += (unsigned)__builtin_popcountll(set->bits[i]);
    }
    return count;
}

int th_affinity_set(const thrum_config *config, th_os_cpuset *out) {
    if (!config->cpus) {
        return th_os_cpuset_granted(out);
    }
    *out = (th_os_cpuset){{0}};
    for (size_t i = 0; i < config->cpus_count; i++) {
        add(out, config->cpus[i]);
    }
    return 0;
}

/* The CPU of the set with this number, counted from 0, modulo the size of the set. */
static unsigned nth(const th_os_cpuset *set, unsigned index) {
    unsigned count = th_affinity_count(set);
    unsigned skip = count ? index % count : 0;
    unsigned cpu = 0;
    while (cpu < TH_OS_CPUS_MAX - 1 && (!has(set, cpu) || skip-- > 0)) {
        cpu++;
    }
    return cpu;
}

void th_affinity_of(unsigned affinity, const th_os_cpuset *set, unsigned index, const char *root,
                    th_os_cpuset *out) {
    if (affinity == THRUM_AFFINITY_ANY) {
        *out = *set;
        return;
    }
    unsigned cpu = nth(set, index);
    if (affinity == THRUM_AFFINITY_ONE) {
        *out = (th_os_cpuset){{0}};
        add(out, cpu);
        return;
    }
    th_os_cpuset_of_cache(root, cpu, out);
    if (!has(out, cpu)) {
        *out = *set; /* nothing is known about caches: as if all CPUs shared one */
        return;
    }
    for (unsigned i = 0; i < WORDS; i++) {
        out->bits[i] &= set->bits[i];
    }
}
