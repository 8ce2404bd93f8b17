/*
 * process_end.h: what starting programs shares with what becomes of them.
 */
#ifndef TH_UNIX_PROCESS_END_H
#define TH_UNIX_PROCESS_END_H

#include "platform/platform.h"

/* Whether a program that is started ignores the signal, as this one has been told to. */
bool th_process_keeps_ignoring(int number);

/* Sends a signal by the number of the process, or of its group; 0 or a code. */
int th_process_signal_by_number(const th_os_process *process, int number, bool group);

#endif
