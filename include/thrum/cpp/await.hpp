/*
 * thrum/cpp/await.hpp: the awaits of coroutines: hops, sleeps, descriptors, events, semaphores and
 * channels. thrum/cpp/locked.hpp has locks. thrum/cpp/coroutine.hpp describes which awaits need no
 * stack.
 */
#ifndef THRUM_CPP_AWAIT_HPP
#define THRUM_CPP_AWAIT_HPP

#if defined(__cpp_impl_coroutine)

#include <coroutine>
#include <optional>
#include <type_traits>
#include <utility>

#include "thrum/await.h"
#include "thrum/cpp/chain.hpp"
#include "thrum/cpp/chan.hpp"
#include "thrum/cpp/count.hpp"
#include "thrum/cpp/event.hpp"
#include "thrum/cpp/task.hpp"
#include "thrum/event.h"
#include "thrum/io.h"
#include "thrum/sched.h"
#include "thrum/sem.h"
#include "thrum/task.h"

namespace thrum {
inline namespace THRUM_CPP_ABI {

namespace detail {

/*
 * A coroutine that goes on as a run of an intrusive task, which lies in its frame. Once the task is
 * posted, the coroutine may go on, end and be freed before the post returns. So the function that
 * posts touches nothing afterwards, and the compiler does not merge it into the coroutine.
 */
class resumption : public interruptible, public ours {
  public:
    resumption() = default;
    resumption(const resumption &) = delete;
    resumption &operator=(const resumption &) = delete;
    bool await_ready() const noexcept {
        return false;
    }
    void interrupt() noexcept override {
        thrum_task_wakeup(&task_); /* remembered if it is not posted yet */
    }

  protected:
    ~resumption() = default;
    /* False: the coroutine is cancelled, and does not wait. */
    template <typename Promise> bool prepare(std::coroutine_handle<Promise> who) noexcept {
        set_task(who);
        code_ = -ECANCELED;
        return enter(chain_of(who));
    }
    void set_task(std::coroutine_handle<> who) noexcept {
        who_ = who;
        thrum_task_init(&task_, run, this);
    }
    /* False: the coroutine is cancelled. It may wait all the same. */
    bool enter(chain *in) noexcept {
        chain_ = in;
        return !in || in->enter(this);
    }
    void leave() noexcept {
        if (chain_) {
            chain_->leave(this);
        }
    }
    /* The task may be gone afterwards. */
    void resume() noexcept {
        const std::coroutine_handle<> who = who_;
        if (chain_) {
            chain_->run(who);
        } else {
            who.resume();
        }
    }
    thrum_task *task() noexcept {
        return &task_;
    }
    /* Whether it is suspended; if not, the task is ours, and the wait ends with the code. */
    bool posted(int err) noexcept {
        return err == 0 || goes_on(err);
    }
    bool goes_on(int code) noexcept {
        leave();
        code_ = code;
        return false;
    }
    /* 0, or the code with which the wait ended early. */
    int code() const noexcept {
        return code_;
    }
    bool expired() const noexcept {
        return expired_;
    }
    /* In a run of its own, behind `leave`: the wait ends with the code. */
    void go_on_with(int code) noexcept {
        code_ = code;
        resume();
    }
    /* In the run: the result of the wait. */
    virtual int over() noexcept {
        const bool early = !expired_ && chain_ && chain_->is_cancelled();
        return early || thrum_task_is_cancelled(&task_) ? -ECANCELED : 0;
    }

  private:
    static void run(thrum_task *self, void *arg) {
        auto *me = static_cast<resumption *>(arg);
        me->leave();
        me->expired_ = thrum_task_is_expired(self);
        me->go_on_with(me->over());
    }

    thrum_task task_;
    std::coroutine_handle<> who_;
    chain *chain_ = nullptr;
    int code_ = 0;
    bool expired_ = false;
};

class hopping : public resumption {
  public:
    explicit hopping(thrum_sched *to) noexcept : to_(to) {
    }
    template <typename Promise>
    [[gnu::noinline]] bool await_suspend(std::coroutine_handle<Promise> who) noexcept {
        thrum_sched *to = to_ ? to_ : thrum_sched_current();
        return prepare(who) && posted(to ? thrum_task_post(to, task()) : -ESRCH);
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
    template <typename Promise>
    [[gnu::noinline]] bool await_suspend(std::coroutine_handle<Promise> who) noexcept {
        thrum_sched *here = thrum_sched_current();
        return prepare(who) &&
               posted(here ? thrum_task_post_until(here, task(), when_.when()) : -ESRCH);
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
    template <typename Promise>
    [[gnu::noinline]] bool await_suspend(std::coroutine_handle<Promise> who) noexcept {
        return prepare(who) && posted(thrum_io_on_until(io_, bit_, task(), when_.when()));
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
 * `co_await thrum::hop()` goes on as a fresh run of the scheduler, and queued work may come before
 * it. With a scheduler as its argument, it goes over to that. If it throws std::system_error, it
 * goes on in the same place: ESRCH without a scheduler, ECANCELED (thrum_task_cancel), and the
 * codes of thrum_task_post.
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
 * it may be true although nothing is there: begin with a call whose deadline is soon. For a file it
 * is true at once.
 */
[[nodiscard]] inline auto ready(thrum_io io, unsigned bit,
                                deadline when = deadline::never()) noexcept {
    return detail::io_ready(io, bit, when);
}

/* ---- waiting for primitives ---- */

namespace detail {

/*
 * A wait of thrum/await.h. `What` begins it (`on`), makes it in place if there is no scheduler
 * (`here`), and has its result (`result`).
 */
template <typename What> class waiting : public resumption, private What {
  public:
    template <typename... Args>
    explicit waiting(deadline when, Args &&...args)
        : What(std::forward<Args>(args)...), when_(when) {
    }
    bool await_ready() {
        What::begin();
        return false;
    }
    template <typename Promise>
    [[gnu::noinline]] bool await_suspend(std::coroutine_handle<Promise> who) noexcept {
        if (!this->prepare(who)) {
            return false;
        }
        const int err = What::on(&await_, this->task(), when_.when());
        if (err == 0) {
            return true; /* it may be gone */
        }
        return this->goes_on(err == -ESRCH ? What::here(when_.when()) : err == 1 ? 0 : err);
    }
    decltype(auto) await_resume() {
        return What::result(this->code());
    }

  private:
    int over() noexcept override {
        const int code = thrum_await_end(&await_);
        if constexpr (requires { this->came(); }) {
            if (this->came()) {
                return code; /* the code of a constructor */
            }
        }
        return code == -EAGAIN ? -ECANCELED : code; /* only a cancel wakes it */
    }
    thrum_await await_;
    deadline when_;
};

struct event_wait {
    explicit event_wait(thrum_event &event) noexcept : of(&event) {
    }
    void begin() const noexcept {
    }
    int on(thrum_await *await, thrum_task *task, thrum_time when) noexcept {
        return thrum_event_on_until(of, await, task, when);
    }
    int here(thrum_time when) noexcept {
        return thrum_event_wait_until(of, when);
    }
    thrum_event *of;
};

struct sem_wait {
    explicit sem_wait(thrum_sem &sem) noexcept : of(&sem) {
    }
    void begin() const noexcept {
    }
    int on(thrum_await *await, thrum_task *task, thrum_time when) noexcept {
        return thrum_sem_on_until(of, await, task, when);
    }
    int here(thrum_time when) noexcept {
        return thrum_sem_wait_until(of, when);
    }
    thrum_sem *of;
};

template <typename What> struct that_throws : What {
    using What::What;
    void result(int code) const {
        check(code);
    }
};

template <typename What> struct that_tells : What {
    using What::What;
    status result(int code) const noexcept {
        return status(code);
    }
};

template <typename T> struct receiving {
    explicit receiving(chan<T> &from) noexcept : of(from.native_handle()) {
    }
    void begin() const noexcept {
    }
    int on(thrum_await *await, thrum_task *task, thrum_time when) noexcept {
        return thrum_chan_recv_on_until(of, inside.bytes(), await, task, when);
    }
    int here(thrum_time when) noexcept {
        return thrum_chan_recv_until(of, inside.bytes(), when);
    }
    std::optional<T> result(int code) {
        std::optional<T> out;
        if (code == 0) {
            inside.take(out);
        } else if (code != -EPIPE) {
            check(code);
        }
        return out;
    }
    thrum_chan *of;
    slot<T> inside;
};

template <typename T> struct sending {
    sending(chan<T> &to, T &&what) : of(to.native_handle()), value(std::move(what)) {
    }
    void begin() {
        inside.put(std::move(value));
    }
    int on(thrum_await *await, thrum_task *task, thrum_time when) noexcept {
        return thrum_chan_send_on_until(of, inside.bytes(), await, task, when);
    }
    int here(thrum_time when) noexcept {
        return thrum_chan_send_until(of, inside.bytes(), when);
    }
    void result(int code) {
        if (code != 0) {
            inside.take(value);
        }
        check(code);
    }
    thrum_chan *of;
    T value;
    slot<T> inside;
};

template <typename T> struct joining {
    explicit joining(task<T> &ends) noexcept : of(&ends) {
    }
    void begin() const noexcept {
    }
    int on(thrum_await *await, thrum_task *by, thrum_time when) noexcept {
        return thrum_join_on_until(of->native_handle(), await, by, when);
    }
    int here(thrum_time) const noexcept {
        return 0; /* the join waits */
    }
    T result(int code) {
        check(code);
        return of->join();
    }
    task<T> *of;
};

} // namespace detail

/*
 * `co_await thrum::wait(event)`, or of a semaphore, goes on when the event is signaled, or when it
 * has taken a unit. It throws std::system_error (ECANCELED) when the coroutine is cancelled, or a
 * stop cancels it. The object must live until the await has returned. A plain thread blocks.
 */
[[nodiscard]] inline auto wait(thrum_event &event) noexcept {
    return detail::waiting<detail::that_throws<detail::event_wait>>(deadline::never(), event);
}
[[nodiscard]] inline auto wait(thrum_sem &sem) noexcept {
    return detail::waiting<detail::that_throws<detail::sem_wait>>(deadline::never(), sem);
}
/* The same until the deadline; the await returns a status, and throws nothing. */
[[nodiscard]] inline auto wait_until(thrum_event &event, deadline when) noexcept {
    return detail::waiting<detail::that_tells<detail::event_wait>>(when, event);
}
[[nodiscard]] inline auto wait_until(thrum_sem &sem, deadline when) noexcept {
    return detail::waiting<detail::that_tells<detail::sem_wait>>(when, sem);
}
/* The same for an event and a semaphore of thrum.hpp's. */
[[nodiscard]] inline auto wait(event &event) noexcept {
    return thrum::wait(*event.native_handle());
}
[[nodiscard]] inline auto wait(semaphore &sem) noexcept {
    return thrum::wait(*sem.native_handle());
}
[[nodiscard]] inline auto wait_until(event &event, deadline when) noexcept {
    return thrum::wait_until(*event.native_handle(), when);
}
[[nodiscard]] inline auto wait_until(semaphore &sem, deadline when) noexcept {
    return thrum::wait_until(*sem.native_handle(), when);
}
/* The oldest value, or none when the channel is closed and empty, as chan::recv. */
template <typename T> [[nodiscard]] auto receive(chan<T> &from) {
    return detail::waiting<detail::receiving<T>>(deadline::never(), from);
}
/* Throws as chan::send does; then the value is gone. */
template <typename T> [[nodiscard]] auto send(chan<T> &to, std::type_identity_t<T> value) {
    return detail::waiting<detail::sending<T>>(deadline::never(), to, std::move(value));
}
/*
 * Waits for the end of a fiber's task, with the result of its join. If the await throws ECANCELED,
 * the task is still to be joined.
 */
template <typename T> [[nodiscard]] auto joined(task<T> &ends) noexcept {
    return detail::waiting<detail::joining<T>>(deadline::never(), ends);
}

} // namespace THRUM_CPP_ABI
} // namespace thrum

#endif
#endif
