/*
 * thrum/cpp/await.hpp: what coroutines wait for: hops, sleeps, descriptors, events, semaphores and
 * channels. thrum/cpp/coroutine.hpp says which of these need no stack.
 */
#ifndef THRUM_CPP_AWAIT_HPP
#define THRUM_CPP_AWAIT_HPP

#if defined(__cpp_impl_coroutine)

#include <coroutine>
#include <type_traits>
#include <utility>

#include "thrum/cpp/chan.hpp"
#include "thrum/event.h"
#include "thrum/io.h"
#include "thrum/sched.h"
#include "thrum/sem.h"
#include "thrum/task.h"

namespace thrum {
inline namespace THRUM_CPP_ABI {

/* ---- waiting without a stack ---- */

namespace detail {

/*
 * A coroutine that goes on as a run of an intrusive task, which lies in its frame. Once the task is
 * posted the coroutine may go on, end and be freed, before the post returns: so whoever posts
 * touches nothing afterwards, in a function that the compiler does not merge into the coroutine.
 */
class resumption {
  public:
    resumption() = default;
    resumption(const resumption &) = delete;
    resumption &operator=(const resumption &) = delete;
    bool await_ready() const noexcept {
        return false;
    }

  protected:
    thrum_task *prepare(std::coroutine_handle<> who) noexcept {
        who_ = who;
        thrum_task_init(&task_, run, this);
        return &task_;
    }
    /* Whether it is suspended; if not, the task is ours, and the wait ends with the code. */
    bool posted(int err) noexcept {
        if (err == 0) {
            return true;
        }
        code_ = err;
        return false;
    }
    /* 0, or the code of what ended the wait early. */
    int code() const noexcept {
        return code_;
    }
    bool expired() const noexcept {
        return expired_;
    }

  private:
    static void run(thrum_task *self, void *arg) {
        auto *me = static_cast<resumption *>(arg);
        me->expired_ = thrum_task_is_expired(self);
        me->code_ = thrum_task_is_cancelled(self) ? -ECANCELED : 0;
        me->who_.resume(); /* the task may be gone */
    }

    thrum_task task_;
    std::coroutine_handle<> who_;
    int code_ = 0;
    bool expired_ = false;
};

class hopping : public resumption {
  public:
    explicit hopping(thrum_sched *to) noexcept : to_(to) {
    }
    [[gnu::noinline]] bool await_suspend(std::coroutine_handle<> who) noexcept {
        thrum_sched *to = to_ ? to_ : thrum_sched_current();
        return to ? posted(thrum_task_post(to, prepare(who))) : posted(-ESRCH);
    }
    void await_resume() const {
        check(code());
    }

  private:
    thrum_sched *to_;
};

class pausing : public resumption {
  public:
    explicit pausing(deadline when) noexcept : when_(when) {
    }
    [[gnu::noinline]] bool await_suspend(std::coroutine_handle<> who) noexcept {
        thrum_sched *here = thrum_sched_current();
        return here ? posted(thrum_task_post_until(here, prepare(who), when_.when()))
                    : posted(-ESRCH);
    }

  protected:
    deadline when_;
};

class pausing_status : public pausing {
  public:
    using pausing::pausing;
    status await_resume() const noexcept {
        return status(code());
    }
};

class pausing_throws : public pausing {
  public:
    using pausing::pausing;
    void await_resume() const {
        check(code());
    }
};

class io_ready : public resumption {
  public:
    io_ready(thrum_io io, unsigned bit, deadline when) noexcept : io_(io), bit_(bit), when_(when) {
    }
    [[gnu::noinline]] bool await_suspend(std::coroutine_handle<> who) noexcept {
        const int err = thrum_io_on_until(io_, bit_, prepare(who), when_.when());
        return posted(err);
    }
    status await_resume() const noexcept {
        if (code() == -EPERM) {
            return status(0); /* a file, which is always ready */
        }
        return status(code() == 0 && expired() ? -ETIMEDOUT : code());
    }

  private:
    thrum_io io_;
    unsigned bit_;
    deadline when_;
};

} // namespace detail

/*
 * `co_await thrum::hop()` goes on as a fresh run of the scheduler: what is queued may come before
 * it. With a scheduler it goes over to that. It throws std::system_error, and goes on where it was:
 * ESRCH where there is no scheduler, those of thrum_task_post; or ECANCELED (thrum_task_cancel).
 */
[[nodiscard]] inline auto hop(thrum_sched *to = nullptr) noexcept {
    return detail::hopping(to);
}

/*
 * `co_await thrum::sleep_for(5ms)` goes on so much later. A stop that cancels makes it throw
 * std::system_error (ECANCELED); ESRCH and errors of a post as for hop.
 */
template <typename Rep, typename Period>
[[nodiscard]] auto sleep_for(std::chrono::duration<Rep, Period> length) noexcept {
    return detail::pausing_throws(after(length));
}
/*
 * `co_await thrum::pause_until(deadline)` returns a status instead, which is true once the instant
 * has come. (thrum::sleep_until is the fibers'.)
 */
[[nodiscard]] inline auto pause_until(deadline when) noexcept {
    return detail::pausing_status(when);
}

/*
 * `co_await thrum::ready(io, THRUM_IO_READ, deadline)` goes on when the descriptor is ready in that
 * one direction: the status is that of thrum_io_on_until, timed out or cancelled included. As there
 * it may be true although nothing is there: begin with a call whose deadline is soon. Of a file it
 * is true at once.
 */
[[nodiscard]] inline auto ready(thrum_io io, unsigned bit,
                                deadline when = deadline::never()) noexcept {
    return detail::io_ready(io, bit, when);
}

/* ---- waiting on the fiber ---- */

namespace detail {

/* An await that makes the call in place: it may suspend the fiber, and never the coroutine. */
template <typename Fn> class in_place {
  public:
    explicit in_place(Fn fn) : fn_(std::move(fn)) {
    }
    bool await_ready() const noexcept {
        return true;
    }
    void await_suspend(std::coroutine_handle<>) const noexcept {
    }
    decltype(auto) await_resume() {
        return fn_();
    }

  private:
    Fn fn_;
};

} // namespace detail

/*
 * `co_await` of these waits on the fiber that runs the coroutine, which nothing else uses
 * meanwhile. They throw std::system_error (ECANCELED) when that fiber is cancelled. The object must
 * live until the await has returned.
 */
[[nodiscard]] inline auto wait(thrum_event &event) {
    return detail::in_place([&event] { check(thrum_event_wait(&event)); });
}
[[nodiscard]] inline auto wait(thrum_sem &sem) {
    return detail::in_place([&sem] { check(thrum_sem_wait(&sem)); });
}
/* The oldest value, or none when the channel is closed and empty, as chan::recv. */
template <typename T> [[nodiscard]] auto receive(chan<T> &from) {
    return detail::in_place([&from] { return from.recv(); });
}
/* Throws what chan::send throws. */
template <typename T> [[nodiscard]] auto send(chan<T> &to, std::type_identity_t<T> value) {
    return detail::in_place([&to, kept = std::move(value)]() mutable { to.send(std::move(kept)); });
}

} // namespace THRUM_CPP_ABI
} // namespace thrum

#endif
#endif
