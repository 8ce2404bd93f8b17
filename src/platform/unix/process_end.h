/*
 * process_end.h: parts shared by starting processes and waiting for their end.
 */
#ifndef TH_UNIX_PROCESS_END_H
#define TH_UNIX_PROCESS_END_H

#include "platform/platform.h"

/* Whether a started process ignores the signal, because this process was started that way. */
bool th_process_keeps_ignoring(int number);

/*
 * Whether the system lets us wait for programs, before one is started: 0, or the code with which a
 * sandbox refuses the call, and *failed is its name.
 */
int th_process_can_be_awaited(const char **failed);

/* Sends a signal by the number of the process, or of its group; 0 or a code. */
int th_process_signal_by_number(const th_os_process *process, int number, bool group);

#endif
