/*
 * activation.h: sockets that the program was started with.
 */
#ifndef TH_ACTIVATION_H
#define TH_ACTIVATION_H

#include "platform/platform.h"
#include "thrum/net.h"

/* The name in an address of such a socket, which may be empty, or NULL: it is another address. */
const char *th_activation_name(const char *address);

/*
 * Takes the first one of the name (empty: any) that has not been taken; its options are still to be
 * set: 0, or the codes of thrum_listen for such an address.
 */
int th_activation_take(thrum_io *out, const char *name, th_os_kind *kind);

#endif
