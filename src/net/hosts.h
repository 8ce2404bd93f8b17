/*
 * hosts.h: the system's hosts file. It is on this machine, so a name in it need not wait for names
 * that are looked up over a network.
 */
#ifndef TH_HOSTS_H
#define TH_HOSTS_H

#include "platform/platform.h"

/*
 * Writes the addresses that the file has for a host, with port 0, those of IPv6 first. If it has
 * none for "localhost", these are the loopback addresses. Returns how many; -ENOENT: none. It reads
 * the file, so it blocks the thread for a moment.
 */
int th_hosts_find(const char *host, th_os_family family, th_os_address out[], unsigned max);

#endif
