/*
 * thrum: tasks that get a stack only when they block, on a work-stealing scheduler.
 *
 * This header includes all the others. Each concept has one of its own, and thrum/base.h describes
 * the rules that hold for every call.
 */
#ifndef THRUM_H
#define THRUM_H

#include "thrum/base.h"
#include "thrum/await.h"
#include "thrum/barrier.h"
#include "thrum/bcast.h"
#include "thrum/blocking.h"
#include "thrum/chan.h"
#include "thrum/cond.h"
#include "thrum/config.h"
#include "thrum/dag.h"
#include "thrum/dump.h"
#include "thrum/event.h"
#include "thrum/file.h"
#include "thrum/fork.h"
#include "thrum/interval.h"
#include "thrum/io.h"
#include "thrum/metrics.h"
#include "thrum/mutex.h"
#include "thrum/net.h"
#include "thrum/once.h"
#include "thrum/parallel.h"
#include "thrum/poll.h"
#include "thrum/pool.h"
#include "thrum/process.h"
#include "thrum/rwlock.h"
#include "thrum/sched.h"
#include "thrum/scope.h"
#include "thrum/sem.h"
#include "thrum/serve.h"
#include "thrum/signal.h"
#include "thrum/spawn.h"
#include "thrum/stream.h"
#include "thrum/task.h"
#include "thrum/tickets.h"
#include "thrum/trace.h"
#include "thrum/waitgroup.h"

#endif
