/*
 * topology.c: how many CPUs this process may use, and which ones share a cache.
 *
 * A CPU's number is its group's times 64 and its place in the group. A job may limit the time of
 * the processors like a cgroup's quota: in 1/10000 of all of them together.
 */
#include "platform/platform.h"
#include "platform/windows/system/nt.h"

#include <errno.h>
#include <stdlib.h>

#define GROUPS (TH_OS_CPUS_MAX / 64)

static KAFFINITY all_of(WORD group) {
    DWORD count = GetActiveProcessorCount(group);
    return count >= 64 ? ~(KAFFINITY)0 : ((KAFFINITY)1 << count) - 1;
}

/*
 * A process begins in one group. Where its thread may use all of that, it may be given to the
 * others, too; where it was tied to some, only to these.
 */
int th_os_cpuset_granted(th_os_cpuset *out) {
    GROUP_AFFINITY mine;
    WORD groups = GetActiveProcessorGroupCount();
    *out = (th_os_cpuset){{0}};
    if (!GetThreadGroupAffinity(GetCurrentThread(), &mine) || mine.Group >= GROUPS) {
        return -th_nt_errno(GetLastError());
    }
    out->bits[mine.Group] = mine.Mask;
    if (mine.Mask == all_of(mine.Group)) {
        for (WORD group = 0; group < groups && group < GROUPS; group++) {
            out->bits[group] = all_of(group);
        }
    }
    return 0;
}

/* The CPUs granted by the job of the process, rounded up; or all. */
static unsigned granted_by_job(unsigned cpus) {
    JOBOBJECT_CPU_RATE_CONTROL_INFORMATION rate = {0};
    const DWORD wanted = JOB_OBJECT_CPU_RATE_CONTROL_ENABLE | JOB_OBJECT_CPU_RATE_CONTROL_HARD_CAP;
    DWORD total = GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
    if (!QueryInformationJobObject(NULL, JobObjectCpuRateControlInformation, &rate, sizeof rate,
                                   NULL) ||
        (rate.ControlFlags & wanted) != wanted || rate.CpuRate == 0) {
        return cpus;
    }
    uint64_t share = ((uint64_t)rate.CpuRate * total + 9999) / 10000;
    return share < cpus ? (unsigned)share : cpus;
}

unsigned th_os_cpus(void) {
    th_os_cpuset set;
    unsigned count = 0;
    if (th_os_cpuset_granted(&set) == 0) {
        for (unsigned i = 0; i < GROUPS; i++) {
            count += (unsigned)__builtin_popcountll(set.bits[i]);
        }
    }
    count = granted_by_job(count);
    return count == 0 ? 1 : count;
}

/* There are no such files here, and so no limit. */
unsigned th_os_cpus_at(const char *root, unsigned affinity) {
    (void)root;
    return affinity == 0 ? 1 : affinity;
}

typedef SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX one_relation;

/* All caches, in memory that the caller frees, or NULL. */
static one_relation *caches(DWORD *size) {
    *size = 0;
    GetLogicalProcessorInformationEx(RelationCache, NULL, size);
    one_relation *all = *size ? malloc(*size) : NULL;
    if (all && !GetLogicalProcessorInformationEx(RelationCache, all, size)) {
        free(all);
        all = NULL;
    }
    return all;
}

void th_os_cpuset_of_cache(const char *root, unsigned cpu, th_os_cpuset *out) {
    DWORD size;
    TH_KEEPS_ERRNO;
    one_relation *all = caches(&size);
    BYTE level = 1; /* one of the first level is no core's neighbour's */
    (void)root;
    *out = (th_os_cpuset){{0}};
    for (DWORD at = 0; all && at < size;) {
        const one_relation *one = (const one_relation *)(void *)((char *)all + at);
        const CACHE_RELATIONSHIP *cache = &one->Cache;
        const GROUP_AFFINITY *cpus = &cache->GroupMask;
        if (cache->Level > level && cpus->Group == cpu / 64 && (cpus->Mask >> (cpu % 64) & 1)) {
            level = cache->Level;
            *out = (th_os_cpuset){{0}};
            out->bits[cpus->Group] = cpus->Mask;
        }
        at += one->Size;
    }
    free(all);
}
