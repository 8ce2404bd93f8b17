/*
 * A thread that runs a callable.
 */
#ifndef THRUM_COMPAT_MG_COMMON_THREADFUNC_H
#define THRUM_COMPAT_MG_COMMON_THREADFUNC_H

#include "mg/box/ThreadFunc.h"
#include "mg/common/Assert.h"

namespace mg {
namespace common {

using box::ThreadCallback;
using box::ThreadFunc;

} // namespace common
} // namespace mg

#endif
