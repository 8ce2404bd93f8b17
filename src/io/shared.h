/*
 * shared.h: descriptors whose description others share, and which cannot be opened once more: calls
 * on them may wait, so they are made on the blocking pool.
 */
#ifndef TH_SHARED_H
#define TH_SHARED_H

#include "io/record.h"

/*
 * As th_os_io_readv and th_os_io_writev, by a caller that holds the direction of a record that is
 * pooled. -EAGAIN: it is not ready. A write may be short.
 */
int64_t th_shared_readv(const th_record *record, const th_os_part parts[], unsigned n);
int64_t th_shared_writev(const th_record *record, const th_os_part parts[], unsigned n);

#endif
