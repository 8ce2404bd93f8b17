/*
 * The scheduler of mg/sch/TaskScheduler.h under its older names. The constructor starts its
 * threads.
 */
#ifndef THRUM_COMPAT_MG_SERVERBOX_TASKSCHEDULER_H
#define THRUM_COMPAT_MG_SERVERBOX_TASKSCHEDULER_H

#include "mg/common/BinaryHeap.h"
#include "mg/common/ForwardList.h"
#include "mg/common/MultiConsumerQueue.h"
#include "mg/common/MultiProducerQueueIntrusive.h"
#include "mg/common/Signal.h"
#include "mg/common/Thread.h"
#include "mg/common/Time.h"
#include "mg/sch/TaskScheduler.h"
#include "mg/serverbox/Task.h"

namespace mg {
namespace serverbox {

using sch::TaskScheduler;
using sch::TaskSchedulerThread;
using TaskCallbackOneShot = common::Callback<void(void)>;

} // namespace serverbox
} // namespace mg

#endif
