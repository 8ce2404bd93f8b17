/*
 * thrum/cpp/locked.hpp: coroutines that wait for locks, conditions and barriers, without a stack.
 *
 *     auto lock = co_await thrum::locked(mutex);
 *     while (!ready) {
 *         co_await thrum::wait(changed, lock);
 *     }
 *
 * A lock belongs to the run that has it: give it back before the next co_await that is not such a
 * wait for a condition. An unlock elsewhere ends the program, as that of any caller that does not
 * hold it. To hold something across other waits, use a thrum::semaphore of one unit.
 */
#ifndef THRUM_CPP_LOCKED_HPP
#define THRUM_CPP_LOCKED_HPP

#if defined(__cpp_impl_coroutine)

#include <shared_mutex>

#include "thrum/cpp/await.hpp"
#include "thrum/cpp/mutex.hpp"

namespace thrum {
inline namespace THRUM_CPP_ABI {

namespace detail {

struct mutex_wait {
    using guard = std::unique_lock<mutex>;
    explicit mutex_wait(mutex &what) noexcept : of(&what) {
    }
    int on(thrum_await *await, thrum_task *task, thrum_time when) noexcept {
        return thrum_mutex_on_until(of->native_handle(), await, task, when);
    }
    int here(thrum_time when) noexcept {
        return thrum_mutex_lock_until(of->native_handle(), when);
    }
    mutex *of;
};

struct write_wait {
    using guard = std::unique_lock<shared_mutex>;
    explicit write_wait(shared_mutex &what) noexcept : of(&what) {
    }
    int on(thrum_await *await, thrum_task *task, thrum_time when) noexcept {
        return thrum_rwlock_wrlock_on_until(of->native_handle(), await, task, when);
    }
    int here(thrum_time when) noexcept {
        return thrum_rwlock_wrlock_until(of->native_handle(), when);
    }
    shared_mutex *of;
};

struct read_wait {
    using guard = std::shared_lock<shared_mutex>;
    explicit read_wait(shared_mutex &what) noexcept : of(&what) {
    }
    int on(thrum_await *await, thrum_task *task, thrum_time when) noexcept {
        return thrum_rwlock_rdlock_on_until(of->native_handle(), await, task, when);
    }
    int here(thrum_time when) noexcept {
        return thrum_rwlock_rdlock_until(of->native_handle(), when);
    }
    shared_mutex *of;
};

/* The result of the await of a lock. It owns the lock, unless the await can end early and did. */
template <typename What> struct that_locks : What {
    using What::What;
    void begin() const noexcept {
    }
    typename What::guard result(int code) const {
        check(code);
        return typename What::guard(*this->of, std::adopt_lock);
    }
};

template <typename What> struct that_may_lock : What {
    using What::What;
    void begin() const noexcept {
    }
    typename What::guard result(int code) const noexcept {
        return code == 0 ? typename What::guard(*this->of, std::adopt_lock)
                         : typename What::guard(*this->of, std::defer_lock);
    }
};

/* `last` is written only if the wait did not begin: otherwise it may be gone. */
struct barrier_wait {
    explicit barrier_wait(barrier &what) noexcept : of(what.native_handle()) {
    }
    void begin() const noexcept {
    }
    int on(thrum_await *await, thrum_task *task, thrum_time when) noexcept {
        const int code = thrum_barrier_on_until(of, await, task, when);
        if (code > 0) {
            last = code == 1;
            return 1;
        }
        return code;
    }
    int here(thrum_time when) noexcept {
        const int code = thrum_barrier_wait_until(of, when);
        last = code == 1;
        return code < 0 ? code : 0;
    }
    thrum_barrier *of;
    bool last = false;
};

struct barrier_throws : barrier_wait {
    using barrier_wait::barrier_wait;
    bool result(int code) const {
        check(code);
        return last;
    }
};

struct barrier_tells : barrier_wait {
    using barrier_wait::barrier_wait;
    status result(int code) const noexcept {
        return status(code < 0 ? code : last);
    }
};

/*
 * Two waits, one after the other: for the signal, which can be ended early, and for the mutex. The
 * lock, which reports all the time that it is held, is not touched before it is held again.
 */
class cond_waiting : public resumption {
  public:
    cond_waiting(cond &of, std::unique_lock<mutex> &lock, deadline when) noexcept
        : of_(of.native_handle()), mutex_(lock.mutex()->native_handle()), when_(when) {
    }
    template <typename Promise>
    [[gnu::noinline]] bool await_suspend(std::coroutine_handle<Promise> who) noexcept {
        if (!prepare(who)) {
            return false;
        }
        thrum_task_set_body(task(), is_told, this); /* a cancel may have woken it already */
        const int err = thrum_cond_on_until(of_, mutex_, &await_, task(), when_.when());
        if (err == 0) {
            return true; /* it may be gone */
        }
        return goes_on(err == -ESRCH ? thrum_cond_wait_until(of_, mutex_, when_.when())
                       : err == 1    ? 0
                                     : err);
    }

  private:
    static void is_told(thrum_task *, void *arg) {
        auto *me = static_cast<cond_waiting *>(arg);
        me->leave();
        const int code = thrum_await_end(&me->await_);
        me->told_ = code == -EAGAIN ? -ECANCELED : code; /* only a cancel wakes it */
        thrum_task_init(me->task(), is_locked, me);
        const int err = thrum_mutex_on_until(me->mutex_, &me->await_, me->task(), THRUM_FOREVER);
        if (err != 0) {
            me->has_lock(err == 1);
        }
    }
    static void is_locked(thrum_task *, void *arg) {
        auto *me = static_cast<cond_waiting *>(arg);
        me->has_lock(thrum_await_end(&me->await_) == 0);
    }
    /* A stop may have ended the wait for the mutex: then a fiber waits for it. */
    void has_lock(bool locked) noexcept {
        if (!locked) {
            thrum_mutex_lock(mutex_);
        }
        go_on_with(told_);
    }

    thrum_cond *of_;
    thrum_mutex *mutex_;
    thrum_await await_;
    deadline when_;
    int told_ = 0;
};

class cond_throws : public cond_waiting {
  public:
    using cond_waiting::cond_waiting;
    void await_resume() const {
        check(code());
    }
};

class cond_tells : public cond_waiting {
  public:
    using cond_waiting::cond_waiting;
    status await_resume() const noexcept {
        return status(code());
    }
};

} // namespace detail

/*
 * `auto lock = co_await thrum::locked(mutex)` goes on with the lock. It throws std::system_error
 * (ECANCELED) when the coroutine is cancelled, or a stop cancels it. The mutex must live until the
 * await has returned. A plain thread blocks. For a shared_mutex it is the lock for writing.
 */
[[nodiscard]] inline auto locked(mutex &what) noexcept {
    return detail::waiting<detail::that_locks<detail::mutex_wait>>(deadline::never(), what);
}
[[nodiscard]] inline auto locked(shared_mutex &what) noexcept {
    return detail::waiting<detail::that_locks<detail::write_wait>>(deadline::never(), what);
}
/* The same for reading: the await returns a std::shared_lock. */
[[nodiscard]] inline auto locked_shared(shared_mutex &what) noexcept {
    return detail::waiting<detail::that_locks<detail::read_wait>>(deadline::never(), what);
}
/*
 * The same until the deadline. They throw nothing: the lock that the await returns owns nothing
 * (owns_lock) if the deadline or a cancel came first.
 */
[[nodiscard]] inline auto locked_until(mutex &what, deadline when) noexcept {
    return detail::waiting<detail::that_may_lock<detail::mutex_wait>>(when, what);
}
[[nodiscard]] inline auto locked_until(shared_mutex &what, deadline when) noexcept {
    return detail::waiting<detail::that_may_lock<detail::write_wait>>(when, what);
}
[[nodiscard]] inline auto locked_shared_until(shared_mutex &what, deadline when) noexcept {
    return detail::waiting<detail::that_may_lock<detail::read_wait>>(when, what);
}

/*
 * `co_await thrum::wait(cond, lock)` gives the lock up, goes on when the cond is signaled, and has
 * the lock again, also if it throws std::system_error (ECANCELED). Check the condition again, since
 * another caller may have changed it. Cond and mutex must live until the await has returned.
 */
[[nodiscard]] inline auto wait(cond &what, std::unique_lock<mutex> &lock) noexcept {
    return detail::cond_throws(what, lock, deadline::never());
}
/* The same until the deadline; the await returns a status, and throws nothing. */
[[nodiscard]] inline auto wait_until(cond &what, std::unique_lock<mutex> &lock,
                                     deadline when) noexcept {
    return detail::cond_tells(what, lock, when);
}

/*
 * `co_await thrum::wait(barrier)` waits at the barrier, and returns whether the coroutine was the
 * last to arrive. It throws std::system_error (ECANCELED), and has not arrived then.
 */
[[nodiscard]] inline auto wait(barrier &what) noexcept {
    return detail::waiting<detail::barrier_throws>(deadline::never(), what);
}
/* The same until the deadline; of the status the code is 1 for the last to come. */
[[nodiscard]] inline auto wait_until(barrier &what, deadline when) noexcept {
    return detail::waiting<detail::barrier_tells>(when, what);
}

} // namespace THRUM_CPP_ABI
} // namespace thrum

#endif
#endif
