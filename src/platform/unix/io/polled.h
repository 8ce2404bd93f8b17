/*
 * polled.h: waiting by poll(), as Unix systems have it, or by its replacement on Windows; and
 * wake-ups that can be waited for so.
 */
#ifndef TH_UNIX_POLLED_H
#define TH_UNIX_POLLED_H

#ifndef TH_PLATFORM_WINDOWS

#include "platform/unix/system.h"

#include <poll.h>

typedef struct pollfd th_pollfd;

#else

#include "platform/windows/winsock/polled.h"

#endif

/* ---- wake-ups that poll() can wait for; errno may be changed ---- */

/* Two ends, perhaps the same; the first is ready once the second was sent something. Or a code. */
int th_poll_pair(int ends[2]);
void th_poll_pair_close(const int ends[2]);
/* Sends a byte; if there is no room, it is set already. */
void th_poll_send(int end);
/* Takes all that have come: how many bytes, which may be none. It does not wait. */
unsigned th_poll_take_all(int end);

#endif
