/*
 * A stopwatch.
 */
#ifndef THRUM_COMPAT_MG_COMMON_QPTIMER_H
#define THRUM_COMPAT_MG_COMMON_QPTIMER_H

#include "mg/box/QPTimer.h"
#include "mg/common/Types.h"

namespace mg {
namespace common {

using box::QPTimer;

} // namespace common
} // namespace mg

#endif
