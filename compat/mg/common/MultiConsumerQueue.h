/*
 * A queue of pointers for one producer and many consumers.
 */
#ifndef THRUM_COMPAT_MG_COMMON_MULTICONSUMERQUEUE_H
#define THRUM_COMPAT_MG_COMMON_MULTICONSUMERQUEUE_H

#include "mg/box/MultiConsumerQueue.h"
#include "mg/common/Assert.h"

namespace mg {
namespace common {

using box::MultiConsumerQueue;
using box::MultiConsumerQueueConsumer;

} // namespace common
} // namespace mg

#endif
