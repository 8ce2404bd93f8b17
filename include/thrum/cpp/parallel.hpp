/*
 * thrum/cpp/parallel.hpp: loops, reductions and several calls on as many workers as are free.
 *
 *     thrum::parallel_for(size_t(0), v.size(), [&](size_t i) { v[i] = f(v[i]); });
 *     long sum = thrum::parallel_reduce(size_t(0), v.size(), 0L, [&](size_t i) { return v[i]; },
 *                                       std::plus<>());
 *
 * They are built on forks and allocate nothing. An exception of a call is thrown to the caller,
 * when all calls that had begun have ended.
 */
#ifndef THRUM_CPP_PARALLEL_HPP
#define THRUM_CPP_PARALLEL_HPP

#include <atomic>

#include "thrum/cpp/fork.hpp"
#include "thrum/cpp/outcome.hpp"
#include "thrum/parallel.h"
#include "thrum/sched.h"

namespace thrum {
inline namespace THRUM_CPP_ABI {

/*
 * Calls fn(i) for each of begin .. end - 1, in pieces of at most `grain` (0: chosen). After an
 * exception no further piece is begun. The rules are those of thrum_parallel_for; it throws
 * std::system_error (EINVAL) when end lies before begin.
 */
template <typename Fn> void parallel_for(size_t begin, size_t end, size_t grain, Fn &&fn) {
    struct loop {
        std::remove_reference_t<Fn> *fn;
        detail::caught failure;
        std::atomic<bool> failed;
    } all{std::addressof(fn), {}, {false}};
    check(thrum_parallel_for(
        begin, end, grain,
        [](size_t from, size_t to, void *arg) {
            auto *l = static_cast<loop *>(arg);
            /* Relaxed: a piece more or less does no harm, and the end of the loop orders. */
            if (l->failed.load(std::memory_order_relaxed)) {
                return;
            }
            detail::caught thrown;
            thrown.around([&] {
                for (size_t i = from; i < to; i++) {
                    (void)(*l->fn)(i);
                }
            });
            if (thrown.is_set() && !l->failed.exchange(true, std::memory_order_relaxed)) {
                l->failure = std::move(thrown);
            }
        },
        &all));
    all.failure.raise_any();
}
template <typename Fn> void parallel_for(size_t begin, size_t end, Fn &&fn) {
    thrum::parallel_for(begin, end, 0, std::forward<Fn>(fn));
}

namespace detail {

template <typename T, typename Map, typename Combine>
T reduce(size_t begin, size_t end, size_t grain, const T &identity, Map &map, Combine &combine) {
    if (end - begin <= grain) {
        T sum = identity;
        for (size_t i = begin; i < end; i++) {
            sum = combine(std::move(sum), map(i));
        }
        return sum;
    }
    const size_t middle = begin + (end - begin) / 2;
    fork right([&] { return detail::reduce<T>(middle, end, grain, identity, map, combine); });
    T left = detail::reduce<T>(begin, middle, grain, identity, map, combine);
    return combine(std::move(left), right.join());
}

} // namespace detail

/*
 * Returns combine over map(begin), ..., map(end - 1), in their order, with `identity` at the
 * beginning of each piece. `combine` is associative; how the range is divided depends on `grain`
 * alone, or with 0 on the number of workers. It may suspend. It throws an exception of the calls,
 * and std::system_error (EINVAL) if end is before begin.
 */
template <typename T, typename Map, typename Combine>
T parallel_reduce(size_t begin, size_t end, size_t grain, T identity, Map map, Combine combine) {
    if (end < begin) {
        raise(-EINVAL);
    }
    if (grain == 0) {
        thrum_sched *sched = thrum_sched_current();
        const size_t pieces = sched ? 8 * size_t(thrum_sched_parallelism(sched)) : 1;
        grain = (end - begin) / (pieces ? pieces : 1) + 1;
    }
    return detail::reduce<T>(begin, end, grain, identity, map, combine);
}
template <typename T, typename Map, typename Combine>
T parallel_reduce(size_t begin, size_t end, T identity, Map map, Combine combine) {
    return thrum::parallel_reduce(begin, end, 0, std::move(identity), std::move(map),
                                  std::move(combine));
}

/*
 * Calls all of them, the first one itself and at once, and returns when all have returned. All are
 * called, also when some throw; of several exceptions the first in the arguments' order is thrown.
 */
template <typename Fn> void invoke(Fn &&fn) {
    (void)std::forward<Fn>(fn)();
}
template <typename First, typename... Rest> void invoke(First &&first, Rest &&...rest) {
    fork others([&] { thrum::invoke(std::forward<Rest>(rest)...); });
    (void)std::forward<First>(first)();
    others.join();
}

} // namespace THRUM_CPP_ABI
} // namespace thrum

#endif
