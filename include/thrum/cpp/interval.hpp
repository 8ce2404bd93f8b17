/*
 * thrum/cpp/interval.hpp: intervals, which tick once in each period. The rules are those of
 * thrum/interval.h.
 *
 *     thrum::interval second(1s);
 *     for (;;) {
 *         second.wait();
 *         print_figures();
 *     }
 */
#ifndef THRUM_CPP_INTERVAL_HPP
#define THRUM_CPP_INTERVAL_HPP

#include "thrum/cpp/error.hpp"
#include "thrum/interval.h"

namespace thrum {
inline namespace THRUM_CPP_ABI {

/* An interval, which one task or thread waits for. It is a value: a copy ticks by itself. */
class interval {
  public:
    /* The first tick is due after a period, or at `first`. A period below 1 ns is misuse. */
    template <typename Rep, typename Period>
    explicit interval(std::chrono::duration<Rep, Period> period,
                      thrum_missed missed = THRUM_MISSED_BURST) noexcept
        : interval(after(period), period, missed) {
    }
    template <typename Rep, typename Period>
    interval(deadline first, std::chrono::duration<Rep, Period> period,
             thrum_missed missed = THRUM_MISSED_BURST) noexcept {
        thrum_interval_init(&interval_, first.when(), nanoseconds(period), missed);
    }

    /* Throws std::system_error (ECANCELED). The next two return a status. All may suspend. */
    void wait() {
        check(thrum_interval_wait(&interval_));
    }
    status wait_until(deadline when) noexcept {
        return status(thrum_interval_wait_until(&interval_, when.when()));
    }
    template <typename Rep, typename Period>
    status wait_for(std::chrono::duration<Rep, Period> length) noexcept {
        return wait_until(after(length));
    }
    /* Takes a tick if one is due. It never suspends. */
    bool try_wait() noexcept {
        return thrum_interval_test(&interval_);
    }
    /* When the next tick is due: a coroutine awaits thrum::pause_until(next()), then try_wait(). */
    deadline next() const noexcept {
        return deadline::at(interval_.next);
    }
    /* How many ticks were left out so far, with THRUM_MISSED_SKIP. */
    uint64_t skipped() const noexcept {
        return interval_.skipped;
    }
    thrum_interval *native_handle() noexcept {
        return &interval_;
    }

  private:
    thrum_interval interval_;
};

} // namespace THRUM_CPP_ABI
} // namespace thrum

#endif
