/*
 * marl/thread_local.h: a static thread-local member, declared in its class and defined once in a
 * source file. A task stays on its thread, so it always sees the same one.
 */
#ifndef THRUM_COMPAT_MARL_THREAD_LOCAL_H
#define THRUM_COMPAT_MARL_THREAD_LOCAL_H

#define MARL_DECLARE_THREAD_LOCAL(TYPE, NAME) static thread_local TYPE NAME
#define MARL_INSTANTIATE_THREAD_LOCAL(TYPE, NAME, VALUE) thread_local TYPE NAME = VALUE

#endif
