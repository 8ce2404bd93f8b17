/*
 * signal.h: what other floors need of the catching of signals, beside thrum/signal.h.
 */
#ifndef TH_IO_SIGNAL_H
#define TH_IO_SIGNAL_H

#include <stdint.h>

/*
 * As thrum_signal_release; but if nobody wants the signal caught any more, it is let pass until
 * that time, and does only then what it did before. The handler stays, until the signal is
 * caught again. One that ended a program's work may be followed by another that means the same:
 * timeout(1) sends one to the program, and then one to its process group.
 */
int th_signal_release_lingering(int signal, int64_t until);

#endif
