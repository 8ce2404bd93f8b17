/*
 * address.h: the public name of an address.
 */
#ifndef TH_ADDRESS_H
#define TH_ADDRESS_H

#include "platform/platform.h"
#include "thrum/net.h"

_Static_assert(sizeof(thrum_address) == sizeof(th_os_address) &&
                   offsetof(thrum_address, reserved_size) == offsetof(th_os_address, size) &&
                   offsetof(thrum_address, reserved_words) == offsetof(th_os_address, words),
               "one layout");
_Static_assert(sizeof(thrum_datagram) == sizeof(th_os_message) &&
                   offsetof(thrum_datagram, data) == offsetof(th_os_message, data) &&
                   offsetof(thrum_datagram, size) == offsetof(th_os_message, size) &&
                   offsetof(thrum_datagram, length) == offsetof(th_os_message, length) &&
                   offsetof(thrum_datagram, address) == offsetof(th_os_message, address),
               "one layout");
_Static_assert(THRUM_FDS_MAX == TH_OS_FDS_MAX, "one limit");
_Static_assert(THRUM_ADDRESS_TEXT >= TH_OS_ADDRESS_TEXT + sizeof "seqpacket:", "any text fits");

static inline th_os_address th_address_inside(const thrum_address *address) {
    th_os_address inside = {.size = address->reserved_size};
    for (unsigned i = 0; i < TH_OS_ADDRESS_WORDS; i++) {
        inside.words[i] = address->reserved_words[i];
    }
    return inside;
}

static inline thrum_address th_address_outside(const th_os_address *address) {
    thrum_address outside = {.reserved_size = address->size};
    for (unsigned i = 0; i < TH_OS_ADDRESS_WORDS; i++) {
        outside.reserved_words[i] = address->words[i];
    }
    return outside;
}

#endif
