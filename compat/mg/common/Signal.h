/*
 * A flag that one thread sets and another takes.
 */
#ifndef THRUM_COMPAT_MG_COMMON_SIGNAL_H
#define THRUM_COMPAT_MG_COMMON_SIGNAL_H

#include "mg/box/Signal.h"
#include "mg/common/Assert.h"

namespace mg {
namespace common {

using box::Signal;

} // namespace common
} // namespace mg

#endif
