/*
 * cpus.c: how many CPUs there are. POSIX has no set of CPUs for a thread, no caches and no quotas.
 */
#include "platform/unix/system.h"

#include <errno.h>
#include <unistd.h>

unsigned th_os_cpus(void) {
    TH_KEEPS_ERRNO;
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > (long)TH_OS_CPUS_MAX ? TH_OS_CPUS_MAX : (unsigned)n;
}

unsigned th_os_cpus_at(const char *root, unsigned affinity) {
    (void)root;
    return affinity ? affinity : 1;
}

int th_os_cpuset_granted(th_os_cpuset *out) {
    *out = (th_os_cpuset){{0}};
    return -ENOSYS;
}

void th_os_cpuset_of_cache(const char *root, unsigned cpu, th_os_cpuset *out) {
    (void)root, (void)cpu;
    *out = (th_os_cpuset){{0}};
}
