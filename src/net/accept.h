/*
 * accept.h: accepting, for a caller that something else than a deadline may end.
 */
#ifndef TH_ACCEPT_H
#define TH_ACCEPT_H

#include "thrum/io.h"

/*
 * The same as thrum_accept_until; with a flag, until *xflag is set and the listener's reading
 * direction was notified (th_direction_tell): then -ESHUTDOWN.
 */
int th_accept_unless(thrum_io listener, thrum_io *out, thrum_time deadline, const uint32_t *xflag);

#endif
