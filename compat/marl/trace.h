/*
 * marl/trace.h: marl's marks for traces, which do nothing here, as in marl's own builds. thrum
 * records runs, waits and wakes without marks in the code (thrum/trace.h).
 */
#ifndef THRUM_COMPAT_MARL_TRACE_H
#define THRUM_COMPAT_MARL_TRACE_H

#define MARL_TRACE_ENABLED 0

#define MARL_SCOPED_EVENT(...)
#define MARL_BEGIN_ASYNC_EVENT(id, ...)
#define MARL_END_ASYNC_EVENT(id, ...)
#define MARL_SCOPED_ASYNC_EVENT(id, ...)
#define MARL_NAME_THREAD(...)

#endif
