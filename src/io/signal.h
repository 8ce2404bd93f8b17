/*
 * signal.h: catching signals, for other layers, in addition to thrum/signal.h.
 */
#ifndef TH_IO_SIGNAL_H
#define TH_IO_SIGNAL_H

#include <stdint.h>

/*
 * As thrum_signal_release; but if the signal has no user any longer, it is ignored until that time,
 * and only then acts as before. The handler stays, until the signal is caught again. A signal that
 * ended a program's work may be followed by another that means the same: timeout(1) sends one to
 * the program, and then one to its process group.
 */
int th_signal_release_lingering(int signal, int64_t until);

#endif
