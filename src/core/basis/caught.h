/*
 * caught.h: catching signals of the process, for all parts of the library that do (th_os_catcher),
 * one call at a time.
 */
#ifndef TH_CAUGHT_H
#define TH_CAUGHT_H

#include "core/basis/lock.h"
#include "platform/platform.h"

/* Held for each call. It is taken before a fork and given back after it (core/control/atfork.c). */
extern th_lock th_caught_lock;

/* As th_os_signal_catch and th_os_signal_release. Not with th_caught_lock. */
int th_caught_begin(int number, th_os_catcher catcher, void (*caught)(int number));
void th_caught_end(int number, th_os_catcher catcher);

#endif
