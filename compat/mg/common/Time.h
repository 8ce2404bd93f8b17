/*
 * The monotonic clock in milliseconds.
 */
#ifndef THRUM_COMPAT_MG_COMMON_TIME_H
#define THRUM_COMPAT_MG_COMMON_TIME_H

#include "mg/box/Time.h"
#include "mg/common/Assert.h"

namespace mg {
namespace common {

using box::GetMilliseconds;

} // namespace common
} // namespace mg

#endif
