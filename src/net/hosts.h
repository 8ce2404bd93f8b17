/*
 * hosts.h: the system's file of hosts, which is on this machine: so a name that stands there need
 * not wait for others that are asked for elsewhere.
 */
#ifndef TH_HOSTS_H
#define TH_HOSTS_H

#include "platform/platform.h"

/*
 * The addresses that the file has for a host, with port 0, those of IPv6 first; of "localhost",
 * which every system has, the loopback addresses if it has none. How many; -ENOENT: none. It reads
 * the file, so it blocks the thread for a moment.
 */
int th_hosts_find(const char *host, th_os_family family, th_os_address out[], unsigned max);

#endif
