/*
 * A queue for many producers and one consumer, without locks.
 */
#ifndef THRUM_COMPAT_MG_COMMON_MULTIPRODUCERQUEUEINTRUSIVE_H
#define THRUM_COMPAT_MG_COMMON_MULTIPRODUCERQUEUEINTRUSIVE_H

#include "mg/box/MultiProducerQueueIntrusive.h"
#include "mg/common/Assert.h"

namespace mg {
namespace common {

using box::MultiProducerQueueIntrusive;

} // namespace common
} // namespace mg

#endif
