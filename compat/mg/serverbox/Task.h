/*
 * The tasks of mg/sch/Task.h under their older names: SetCallback and the constructor also take an
 * object and its method.
 */
#ifndef THRUM_COMPAT_MG_SERVERBOX_TASK_H
#define THRUM_COMPAT_MG_SERVERBOX_TASK_H

#include "mg/common/Atomic.h"
#include "mg/common/Callback.h"
#include "mg/sch/Task.h"

namespace mg {
namespace serverbox {

using sch::Task;
using TaskCallback = common::Callback<void(Task *)>;

} // namespace serverbox
} // namespace mg

#endif
