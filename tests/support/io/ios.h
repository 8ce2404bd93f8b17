/*
 * ios.h: the basis of tests of descriptors.
 */
#ifndef IOS_H
#define IOS_H

#include "support/support.h"

#include "io/record.h"

/* Whether a caller waits until the direction (0 reading, 1 writing) is ready. Any thread. */
static inline bool io_is_waited_for(thrum_io io, unsigned index) {
    th_direction *direction = &th_record_at(io.fd)->directions[index];
    uint32_t word = th_word32_lock_list(&direction->xword);
    bool waits = direction->ready != NULL;
    th_word32_publish(&direction->xword, word);
    return waits;
}

#endif
