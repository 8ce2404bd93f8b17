/*
 * marl/wait_list.h: the waiters of a condition. marl has no such header; the others here use it.
 *
 * A waiter enters the list before it unlocks the caller's lock, so a notify after the unlock finds
 * it. It waits for a thrum_event: a task suspends, a bound thread runs its tasks, and another
 * thread blocks. The list's own mutex is held for a few instructions, and never across a wait.
 */
#ifndef THRUM_COMPAT_MARL_WAIT_LIST_H
#define THRUM_COMPAT_MARL_WAIT_LIST_H

#include "debug.h"
#include "mutex.h"

#include <atomic>
#include <chrono>
#include <mutex>

namespace marl {
namespace detail {

/* marl has no cancels: a cancelled caller waits all the same. */
template <typename Wait> inline int wait_uncancelled(const char *call, Wait wait) {
    int err = wait();
    if (err == -ECANCELED) {
        thrum_shield_begin();
        err = wait();
        thrum_shield_end();
    }
    if (err != -ETIMEDOUT) {
        must(call, err);
    }
    return err;
}

/* The instant on thrum's clock that is this far ahead. */
template <typename Rep, typename Period>
inline thrum_time deadline_after(const std::chrono::duration<Rep, Period> &distance) {
    const double seconds =
        std::chrono::duration_cast<std::chrono::duration<double>>(distance).count();
    if (seconds > 9e9) {
        return THRUM_FOREVER;
    }
    if (seconds < 0) {
        return thrum_now();
    }
    using Fine = std::chrono::nanoseconds;
    const Fine fine = std::chrono::duration_cast<Fine>(distance);
    return thrum_after(fine.count() + (fine < distance ? 1 : 0)); /* never early */
}

template <typename Clock, typename Duration>
inline thrum_time deadline_at(const std::chrono::time_point<Clock, Duration> &when) {
    using Seconds = std::chrono::duration<double>;
    const Seconds at = std::chrono::duration_cast<Seconds>(when.time_since_epoch());
    const Seconds now = std::chrono::duration_cast<Seconds>(Clock::now().time_since_epoch());
    if ((at - now).count() > 9e9) { /* the difference below might overflow */
        return THRUM_FOREVER;
    }
    return at < now - Seconds(1) ? thrum_now() : deadline_after(when - Clock::now());
}

inline void lock_again(marl::lock &held) {
    held.lock_no_tsa();
}
inline void unlock_for_now(marl::lock &held) {
    held.unlock_no_tsa();
}
template <typename Lock> inline void lock_again(Lock &held) {
    held.lock();
}
template <typename Lock> inline void unlock_for_now(Lock &held) {
    held.unlock();
}

class WaitList {
  public:
    WaitList() = default;
    WaitList(const WaitList &) = delete;
    WaitList &operator=(const WaitList &) = delete;

    /*
     * Waits until the predicate, which is called with the lock held, is true, or the deadline has
     * passed. Returns what the predicate returned last.
     */
    template <typename Lock, typename Predicate>
    bool wait(Lock &held, thrum_time deadline, Predicate &&met) {
        while (!met()) {
            Waiter self;
            enter(&self);
            unlock_for_now(held);
            const bool late = sleep(&self, deadline);
            const bool notified = leave(&self);
            lock_again(held);
            if (late) {
                const bool out = met();
                if (notified && !out) {
                    notify_one(); /* it came too late for this waiter, and is another's */
                }
                return out;
            }
        }
        return true;
    }

    /* Waits for the next notify. Returns false if the deadline passed first. */
    bool wait_once(thrum_time deadline) {
        Waiter self;
        enter(&self);
        const bool late = sleep(&self, deadline);
        return leave(&self) || !late;
    }

    /* Wakes the waiter that came first. */
    void notify_one() {
        if (waiting.load() == 0) {
            return;
        }
        std::lock_guard<std::mutex> guard(mutex);
        if (first) {
            wake(first);
        }
    }

    void notify_all() {
        if (waiting.load() == 0) {
            return;
        }
        std::lock_guard<std::mutex> guard(mutex);
        while (first) {
            wake(first);
        }
    }

  private:
    struct Waiter {
        thrum_event event = THRUM_EVENT_INIT(THRUM_EVENT_AUTO, false);
        Waiter *next = nullptr;
        Waiter *prev = nullptr;
        bool listed = true;
    };

    void enter(Waiter *self) {
        std::lock_guard<std::mutex> guard(mutex);
        waiting++;
        self->prev = last;
        (last ? last->next : first) = self;
        last = self;
    }

    void remove(Waiter *one) {
        (one->prev ? one->prev->next : first) = one->next;
        (one->next ? one->next->prev : last) = one->prev;
        one->listed = false;
        waiting--;
    }

    void wake(Waiter *one) {
        remove(one);
        thrum_event_signal(&one->event);
    }

    /* Returns whether the deadline passed. */
    static bool sleep(Waiter *self, thrum_time deadline) {
        return wait_uncancelled("a wait", [self, deadline] {
                   return thrum_event_wait_until(&self->event, deadline);
               }) != 0;
    }

    /* Returns whether a notify was meant for it. The mutex tells that the notifier is done. */
    bool leave(Waiter *self) {
        std::lock_guard<std::mutex> guard(mutex);
        if (!self->listed) {
            return true;
        }
        remove(self);
        return false;
    }

    std::mutex mutex;
    Waiter *first = nullptr;
    Waiter *last = nullptr;
    std::atomic<int> waiting{0}; /* without the mutex: whether a notify need look */
};

} // namespace detail
} // namespace marl

#endif
