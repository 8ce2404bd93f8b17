/*
 * affinity.h: the CPUs on which a scheduler's threads run.
 *
 * The *set* is the one in the config, else the CPUs that the caller of thrum_sched_start may use.
 * The config's thrum_affinity selects the part that each worker gets; the threads of the blocking
 * pool get all of it.
 */
#ifndef TH_AFFINITY_H
#define TH_AFFINITY_H

#include "platform/platform.h"
#include "thrum/config.h"

/* The set of a config with an affinity. Returns 0, or the system's code. */
int th_affinity_set(const thrum_config *config, th_os_cpuset *out);

/* The part of the set that worker `index` gets; `root` as in th_os_cpuset_of_cache. */
void th_affinity_of(unsigned affinity, const th_os_cpuset *set, unsigned index, const char *root,
                    th_os_cpuset *out);

unsigned th_affinity_count(const th_os_cpuset *set);

#endif
