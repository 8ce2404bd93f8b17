/*
 * resolver.h: looking names of hosts up, which the C library does by blocking a thread, for as long
 * as it likes.
 *
 *   lookup   one name and family that is asked for: a job (pools/jobs.h), which a caller whose time
 *            is out leaves alone
 *   asker    a thread that makes the calls; each is started when a lookup is queued and ends when
 *            none is left. Nothing joins it, so lookups outlive every scheduler. There are at most
 *            TH_ASKERS_MAX in the process, and TH_ASKERS_HANGING more while lookups hang, or are
 *            given up
 *
 * A name for which no asker is free is first looked for in the system's hosts file (hosts.h), on a
 * thread that does nothing else. So the names in it, and localhost, do not wait for askers.
 *
 * A caller that needs a name that is being looked up waits for the same answer; nothing is cached.
 * A lookup that nobody waits for any longer is not begun.
 */
#ifndef TH_RESOLVER_H
#define TH_RESOLVER_H

#include "pools/jobs.h"
#include "platform/platform.h"
#include "thrum/base.h"

#define TH_ASKERS_MAX 16u
#define TH_ASKERS_HANGING 1008u
#define TH_RESOLVED_MAX 32u /* addresses of a name that are kept */

/*
 * The addresses of a name, with port 0: how many, or a code: as th_os_resolve, or -ETIMEDOUT,
 * -ECANCELED, -EAGAIN (no thread could be had).
 */
int th_resolve(const char *host, th_os_family family, th_os_address out[], unsigned max,
               thrum_time deadline);

extern th_jobs th_resolver_jobs;

#endif
