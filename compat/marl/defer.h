/*
 * marl/defer.h: defer(statement) runs the statement at the end of the block, the last one first.
 */
#ifndef THRUM_COMPAT_MARL_DEFER_H
#define THRUM_COMPAT_MARL_DEFER_H

#include "finally.h"

#ifndef MARL_CONCAT
#define MARL_CONCAT_(a, b) a##b
#define MARL_CONCAT(a, b) MARL_CONCAT_(a, b)
#endif

#define defer(x) auto MARL_CONCAT(defer_, __LINE__) = ::marl::make_finally([&] { x; })

#endif
