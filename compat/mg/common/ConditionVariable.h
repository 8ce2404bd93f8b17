/*
 * A condition variable.
 */
#ifndef THRUM_COMPAT_MG_COMMON_CONDITIONVARIABLE_H
#define THRUM_COMPAT_MG_COMMON_CONDITIONVARIABLE_H

#include "mg/box/ConditionVariable.h"
#include "mg/common/Mutex.h"

namespace mg {
namespace common {

using box::ConditionVariable;

} // namespace common
} // namespace mg

#endif
