/*
 * usdt.h: places in the code that bpftrace, perf and systemtap can watch while the program runs
 * (USDT: user statically-defined tracing), if systemtap's sys/sdt.h was there at the build.
 *
 * Each is one instruction that does nothing, and a note in the file with its address and the
 * registers of its arguments. So an argument is a value that the code there has at hand: the
 * compiler must not load anything for it. docs/profiling.md has the list, for users.
 */
#ifndef TH_USDT_H
#define TH_USDT_H

#ifdef TH_USDT
#include <sys/sdt.h>
#define TH_USDT1(name, a) STAP_PROBE1(thrum, name, a)
#define TH_USDT2(name, a, b) STAP_PROBE2(thrum, name, a, b)
#else
#define TH_USDT1(name, a) ((void)(a))
#define TH_USDT2(name, a, b) ((void)(a), (void)(b))
#endif

#endif
