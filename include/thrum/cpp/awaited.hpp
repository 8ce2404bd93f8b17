/*
 * thrum/cpp/awaited.hpp: coroutines that wait without a stack: for counts, tickets, objects of a
 * pool, a function called once, bytes of a stream, and for a call in a task.
 *
 *     co_await thrum::wait(parts);                       // a waitgroup
 *     auto one = co_await thrum::borrowed(connections);  // of a pool
 *     co_await thrum::called(opened, [] { return open_table(); });
 *     int code = co_await thrum::in_task([&] { return program.wait().code; });
 */
#ifndef THRUM_CPP_AWAITED_HPP
#define THRUM_CPP_AWAITED_HPP

#if defined(__cpp_impl_coroutine)

#include "thrum/cpp/await.hpp"
#include "thrum/cpp/coroutine.hpp"
#include "thrum/cpp/once.hpp"
#include "thrum/cpp/pool.hpp"
#include "thrum/cpp/stream.hpp"
#include "thrum/cpp/tickets.hpp"

namespace thrum {
inline namespace THRUM_CPP_ABI {

/* ---- counts and turns ---- */

namespace detail {

struct units_wait {
    units_wait(thrum_sem &sem, unsigned n) noexcept : of(&sem), count(n) {
    }
    void begin() const noexcept {
    }
    int on(thrum_await *await, thrum_task *task, thrum_time when) noexcept {
        return thrum_sem_on_n_until(of, count, await, task, when);
    }
    int here(thrum_time when) noexcept {
        return thrum_sem_wait_n_until(of, count, when);
    }
    thrum_sem *of;
    unsigned count;
};

struct waitgroup_wait {
    explicit waitgroup_wait(thrum_waitgroup &wg) noexcept : of(&wg) {
    }
    void begin() const noexcept {
    }
    int on(thrum_await *await, thrum_task *task, thrum_time when) noexcept {
        return thrum_waitgroup_on_until(of, await, task, when);
    }
    int here(thrum_time when) noexcept {
        return thrum_waitgroup_wait_until(of, when);
    }
    thrum_waitgroup *of;
};

struct ticket_wait {
    explicit ticket_wait(ticket &what) noexcept : of(&what) {
    }
    void begin() const noexcept {
    }
    int on(thrum_await *await, thrum_task *task, thrum_time when) noexcept {
        return thrum_ticket_on_until(of->native_handle(), await, task, when);
    }
    int here(thrum_time when) noexcept {
        return of->wait_until(when == THRUM_FOREVER ? deadline::never() : deadline::at(when))
            .code();
    }
    ticket *of;
};

} // namespace detail

/*
 * `co_await thrum::wait(sem, n)` takes n units at the same moment; `wait(waitgroup)` goes on when
 * the count is 0, `wait(ticket)` when the ticket is served. They throw std::system_error
 * (ECANCELED), EINVAL for too many units and a ticket that is done. The object must live until the
 * await has returned. A plain thread blocks.
 */
[[nodiscard]] inline auto wait(semaphore &sem, unsigned n) noexcept {
    using what = detail::that_throws<detail::units_wait>;
    return detail::waiting<what>(deadline::never(), *sem.native_handle(), n);
}
[[nodiscard]] inline auto wait(waitgroup &parts) noexcept {
    using what = detail::that_throws<detail::waitgroup_wait>;
    return detail::waiting<what>(deadline::never(), *parts.native_handle());
}
[[nodiscard]] inline auto wait(ticket &turn) noexcept {
    return detail::waiting<detail::that_throws<detail::ticket_wait>>(deadline::never(), turn);
}
/* The same until the deadline; the await returns a status, and throws nothing. */
[[nodiscard]] inline auto wait_until(semaphore &sem, unsigned n, deadline when) noexcept {
    using what = detail::that_tells<detail::units_wait>;
    return detail::waiting<what>(when, *sem.native_handle(), n);
}
[[nodiscard]] inline auto wait_until(waitgroup &parts, deadline when) noexcept {
    using what = detail::that_tells<detail::waitgroup_wait>;
    return detail::waiting<what>(when, *parts.native_handle());
}
[[nodiscard]] inline auto wait_until(ticket &turn, deadline when) noexcept {
    return detail::waiting<detail::that_tells<detail::ticket_wait>>(when, turn);
}

/* ---- objects of a pool ---- */

namespace detail {

template <typename T> struct borrowing {
    explicit borrowing(pool<T> &from) noexcept : of(from.native_handle()) {
    }
    void begin() const noexcept {
    }
    int on(thrum_await *await, thrum_task *task, thrum_time when) noexcept {
        return thrum_pool_borrow_on_until(of, &object, 1, await, task, when);
    }
    int here(thrum_time when) noexcept {
        return came() ? -ESRCH : thrum_pool_borrow_until(of, &object, when);
    }
    /* Whether an object was handed out: then a code, whichever it is, is that of a constructor. */
    bool came() const noexcept {
        return object != nullptr;
    }
    thrum_pool *of;
    void *object = nullptr;
};

template <typename T> struct that_borrows : borrowing<T> {
    using borrowing<T>::borrowing;
    typename pool<T>::item result(int code) const {
        check(code);
        return typename pool<T>::item(this->of, this->object);
    }
};

template <typename T> struct that_may_borrow : borrowing<T> {
    using borrowing<T>::borrowing;
    typename pool<T>::item result(int code) const noexcept {
        return code == 0 ? typename pool<T>::item(this->of, this->object)
                         : typename pool<T>::item();
    }
};

} // namespace detail

/*
 * Goes on with an object, which is given back as that of pool::borrow, whose errors it throws. The
 * pool must live until the item has been given back. A plain thread blocks.
 */
template <typename T> [[nodiscard]] auto borrowed(pool<T> &from) noexcept {
    return detail::waiting<detail::that_borrows<T>>(deadline::never(), from);
}
/*
 * The same until the deadline. It throws nothing: the item is empty if the deadline or a cancel
 * came first, or a constructor failed.
 */
template <typename T> [[nodiscard]] auto borrowed_until(pool<T> &from, deadline when) noexcept {
    return detail::waiting<detail::that_may_borrow<T>>(when, from);
}

/* ---- functions called once ---- */

namespace detail {

/* The await returns whether it is the coroutine's turn; else it is done. */
struct once_wait {
    explicit once_wait(once &what) noexcept : of(what.native_handle()) {
    }
    void begin() const noexcept {
    }
    int on(thrum_await *await, thrum_task *task, thrum_time when) noexcept {
        return thrum_once_on_until(of, await, task, when);
    }
    int here(thrum_time) const noexcept {
        return -ESRCH;
    }
    bool result(int code) const {
        return check(code) == 2;
    }
    thrum_once *of;
};

/* The turn, which the first waiter gets next unless it was `done`. */
struct once_turn {
    ~once_turn() {
        thrum_once_finish(of, result);
    }
    thrum_once *of;
    int result = -EIO;
};

} // namespace detail

/*
 * `co_await thrum::called(once, fn)` has `fn` called unless that was done, by the rules of
 * `once::call`; `fn` may be a coroutine (a co), which is awaited. Unlike that call it is cancelled
 * while it waits for another's turn, and throws ECANCELED. `fn` that waits for this once waits for
 * ever: it gets no EDEADLK. It costs a frame, and throws std::bad_alloc. A plain thread blocks.
 */
template <typename Fn> co<> called(once &what, Fn fn) {
    using result = std::invoke_result_t<Fn &>;
    static_assert(!detail::is_co_task<result>::value,
                  "thrum::called: what a co_task ends with would be dropped; let fn return the co");
    if (!thrum_sched_current()) {
        what.call([&] {
            if constexpr (std::is_same_v<result, co<int>>) {
                return thrum::sync_wait(fn()); /* it returns whether it has failed */
            } else if constexpr (detail::is_co<result>::value) {
                (void)thrum::sync_wait(fn());
            } else {
                return fn();
            }
        });
    } else if (co_await detail::waiting<detail::once_wait>(deadline::never(), what)) {
        detail::once_turn turn{what.native_handle()};
        if constexpr (std::is_same_v<result, co<int>>) {
            check(co_await fn());
        } else if constexpr (detail::is_co<result>::value) {
            (void)co_await fn();
        } else if constexpr (std::is_same_v<result, int>) {
            check(fn());
        } else {
            (void)fn();
        }
        turn.result = 0;
    }
}

/* ---- streams ---- */

namespace detail {

class stream_ready : public resumption {
  public:
    stream_ready(thrum_stream *of, deadline when) noexcept : of_(of), when_(when) {
    }
    bool await_ready() const noexcept {
        return thrum_stream_buffered(of_) > 0;
    }
    template <typename Promise>
    [[gnu::noinline]] bool await_suspend(std::coroutine_handle<Promise> who) noexcept {
        return prepare(who) && posted(thrum_stream_on_until(of_, task(), when_.when()));
    }
    status await_resume() const noexcept {
        return status(code() == 0 && expired() ? -ETIMEDOUT : code());
    }

  private:
    thrum_stream *of_;
    deadline when_;
};

} // namespace detail

/*
 * `co_await thrum::ready(stream, deadline)` goes on when there is something to read, or the end;
 * with bytes in the buffer at once, also for one that is cancelled. The status is that of
 * thrum_stream_on_until, timed out or cancelled included: ESRCH on a plain thread, EBUSY while
 * another reads from a shared stream. It may be true although nothing is there, and a line may not
 * be there as a whole: the call that reads it waits on the fiber for the rest.
 */
[[nodiscard]] inline auto ready(stream &from, deadline when = deadline::never()) noexcept {
    return detail::stream_ready(from.native_handle(), when);
}

/* ---- calls in a task ---- */

namespace detail {

template <typename Fn> class in_task_wait : public resumption {
  public:
    explicit in_task_wait(Fn &&fn) : fn_(std::move(fn)) {
    }
    /* A cancel goes on to the task, for whose end it waits all the same. */
    void interrupt() noexcept override {
        runs_.cancel();
    }
    bool await_ready() {
        runs_ = thrum::spawn(std::move(fn_));
        return false;
    }
    template <typename Promise>
    [[gnu::noinline]] bool await_suspend(std::coroutine_handle<Promise> who) noexcept {
        set_task(who);
        if (!enter(chain_of(who))) {
            runs_.cancel();
        }
        return thrum_join_on_until(runs_.native_handle(), &await_, task(), THRUM_FOREVER) == 0 ||
               goes_on(0); /* it has ended, or the join below waits */
    }
    result_of<Fn> await_resume() {
        shielded until_ended;
        return runs_.join();
    }

  private:
    int over() noexcept override {
        (void)!thrum_await_end(&await_); /* a stop that ends this wait ends the task's, too */
        return 0;
    }
    Fn fn_;
    thrum::task<result_of<Fn>> runs_;
    thrum_await await_;
};

} // namespace detail

/*
 * `co_await thrum::in_task(fn)` calls `fn` in a task with a stack of its own, and returns its
 * result or throws its exception. It is for calls that have no await: scopes, parallel_for, select,
 * processes, files, streams. The coroutine waits without a stack and goes on when the task has
 * ended. So `fn` may refer to the coroutine's frame. A cancel of the coroutine cancels the task,
 * whose waits then fail with ECANCELED. It is for `fn` to end by that: if it does not wait, it
 * returns as usual. In a coroutine that is cancelled already `fn` is called all the same, in a task
 * that is cancelled. It costs a task and an allocation. It throws as thrum::spawn does:
 * std::bad_alloc, ESRCH on a plain thread.
 */
template <typename Fn> [[nodiscard]] auto in_task(Fn fn) {
    static_assert(!detail::is_co<std::invoke_result_t<Fn>>::value,
                  "thrum::in_task: the co that fn returns would not begin; co_await fn()");
    return detail::in_task_wait<Fn>(std::move(fn));
}

} // namespace THRUM_CPP_ABI
} // namespace thrum

#endif
#endif
