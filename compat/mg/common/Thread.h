/*
 * Threads of the program, and sleeps of the calling one.
 */
#ifndef THRUM_COMPAT_MG_COMMON_THREAD_H
#define THRUM_COMPAT_MG_COMMON_THREAD_H

#include "mg/box/Thread.h"
#include "mg/common/ConditionVariable.h"
#include "mg/common/Mutex.h"

namespace mg {
namespace common {

using box::GetCurrentThreadId;
using box::Sleep;
using box::Thread;
using box::ThreadId;

} // namespace common
} // namespace mg

#endif
