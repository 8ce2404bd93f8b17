/*
 * marl/parallelize.h: calls several functions at a time. The caller runs the first one itself, so
 * let that be the longest.
 */
#ifndef THRUM_COMPAT_MARL_PARALLELIZE_H
#define THRUM_COMPAT_MARL_PARALLELIZE_H

#include "scheduler.h"
#include "waitgroup.h"

#include <utility>

namespace marl {
namespace detail {

inline void schedule_each(const WaitGroup &) {
}

template <typename F, typename... More>
inline void schedule_each(const WaitGroup &wg, F &f, More &...more) {
    schedule([wg, &f] {
        f();
        wg.done();
    });
    schedule_each(wg, more...);
}

} // namespace detail

/* Calls all of the functions, which take no arguments, and returns when all have returned. */
template <typename F0, typename... FN> inline void parallelize(F0 &&f0, FN &&...fn) {
    WaitGroup wg(sizeof...(FN));
    detail::schedule_each(wg, fn...);
    f0();
    wg.wait();
}

} // namespace marl

#endif
