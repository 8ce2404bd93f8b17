/*
 * thrum/cpp/coroutine.hpp: coroutines of C++20 that run on the scheduler, beside fibers.
 *
 *     thrum::co<int> half(int n) { co_await thrum::hop(); co_return n / 2; }
 *     thrum::co<int> sum() { co_return co_await half(4) + co_await half(6); }
 *     int five = thrum::sync_wait(sum());            // a fiber runs it and waits for its end
 *     thrum::co_task<int> task = thrum::spawn(sum()); // or it runs by itself, to be joined
 *
 * A coroutine always runs on some fiber: that of a run of the scheduler, or the one that called
 * sync_wait. So it may call everything that fibers call. There are two ways to wait:
 *   - Without a stack: each co_await. There are awaits of hop, sleep_for, pause_until, ready,
 *     locked and its variants, receive, send, joined, borrowed, called, in_task (awaited.hpp),
 *     when_all, when_any, another co and a co_task. wait and wait_until are for events and
 *     semaphores (of C and of C++), waitgroups, tickets, conditions and barriers. The coroutine
 *     gives its fiber back, and goes on as a run of its own, perhaps on another worker. Waiting
 *     allocates nothing, except in called, in_task, when_all and when_any. The coroutine queues
 *     with the fibers that wait for the same object.
 *   - On the fiber: each call that may suspend (chan::recv, thrum::sleep, a lock). The coroutine
 *     occupies a fiber meanwhile, as a task that calls it does.
 *
 * The belongings of a fiber do not follow a coroutine across a wait of the first kind. So a
 * coroutine must not hold a thrum::mutex there (except in the wait for a condition), nor a
 * thrum::shared_mutex for writing. No fork, scope or shield may be open in it, and fiber-local
 * values differ afterwards. Cancelling a fiber does not cancel coroutines; co_task::cancel does.
 *
 * Awaits of a co grow no stack, in a loop or a chain, in any build. They do if a coroutine of
 * another library awaits a co, or has transferred to it since its last wait. Some compilers make
 * jumps of these, too (clang; gcc from -O2 on, without the address sanitizer).
 *
 * A frame is one allocation. It is destroyed by its owner: the co, which never started or has
 * ended; while it runs it must not be destroyed.
 */
#ifndef THRUM_CPP_COROUTINE_HPP
#define THRUM_CPP_COROUTINE_HPP

#if defined(__cpp_impl_coroutine)

#include <atomic>
#include <coroutine>
#include <exception>
#include <utility>

#include "thrum/cpp/await.hpp"
#include "thrum/cpp/outcome.hpp"
#include "thrum/sched.h"
#include "thrum/sem.h"
#include "thrum/task.h"

namespace thrum {
inline namespace THRUM_CPP_ABI {
namespace detail {

/*
 * The place at which another coroutine goes on when one has ended: no scheduling, and no stack
 * grows.
 */
struct to_continuation {
    bool await_ready() const noexcept {
        return false;
    }
    template <typename Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> ended) const noexcept {
        return go_over(ended.promise().own_chain, ended.promise().next);
    }
    void await_resume() const noexcept {
    }
};

/* The result of a coroutine, and the coroutine that goes on then. */
template <typename T> class co_result {
  public:
    std::suspend_always initial_suspend() const noexcept {
        return {};
    }
    to_continuation final_suspend() const noexcept {
        return {};
    }
    void unhandled_exception() noexcept {
#if THRUM_CPP_EXCEPTIONS
        ended.run([]() -> T { throw; });
#else
        std::terminate();
#endif
    }
    /* An await of something that is not ours leaves the loop that runs the coroutine. */
    template <typename What> decltype(auto) await_transform(What &&what) {
        using awaiter = decltype(awaiter_of(std::forward<What>(what)));
        using plain = std::remove_cvref_t<awaiter>;
        if constexpr (std::is_base_of_v<ours, plain>) {
            return passed<awaiter>{awaiter_of(std::forward<What>(what))};
        } else if constexpr (requires(plain & one) { one.await_ready(); }) {
            return others<awaiter>{{awaiter_of(std::forward<What>(what))}};
        } else { /* only the caller sees its operator */
            loop_left(own_chain, true).for_good();
            return std::forward<What>(what);
        }
    }
    outcome<T> ended;
    std::coroutine_handle<> next;
    chain *own_chain = nullptr; /* that of the coroutine at the bottom */
};

/* return_value or return_void: a promise may have only one. */
template <typename T> class co_promise : public co_result<T> {
  public:
    template <typename From = T> void return_value(From &&value) noexcept {
        this->ended.run([&]() -> T { return std::forward<From>(value); });
    }
};
template <> class co_promise<void> : public co_result<void> {
  public:
    void return_void() const noexcept {
    }
};

/* Runs the coroutine, and goes on in the place at which it ended. Its result stays in it. */
template <typename Promise> class co_run : public ours {
  public:
    explicit co_run(std::coroutine_handle<Promise> callee) noexcept : callee_(callee) {
    }
    bool await_ready() const noexcept {
        return false;
    }
    template <typename Caller>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Caller> caller) const noexcept {
        callee_.promise().next = caller;
        callee_.promise().own_chain = chain_of(caller);
        return go_over(chain_of(caller), callee_);
    }
    void await_resume() const noexcept {
    }

  protected:
    std::coroutine_handle<Promise> callee_;
};

} // namespace detail

/*
 * A coroutine that has not begun, and its owner. It begins when it is awaited (once, as an rvalue),
 * or given to sync_wait or to spawn. The await returns its result, which may be a reference or a
 * type that only moves, or throws its exception. It moves. Its destructor destroys the frame with
 * the coroutine's parameters, which live until then. Those of a spawned coroutine live until it is
 * joined.
 */
template <typename T = void> class [[nodiscard]] co {
  public:
    struct promise_type : detail::co_promise<T> {
        co get_return_object() noexcept {
            return co(std::coroutine_handle<promise_type>::from_promise(*this));
        }
    };
    using handle = std::coroutine_handle<promise_type>;

    co() noexcept = default;
    co(co &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {
    }
    co &operator=(co &&other) noexcept {
        if (this != &other) {
            drop();
            handle_ = std::exchange(other.handle_, nullptr);
        }
        return *this;
    }
    ~co() {
        drop();
    }

    auto operator co_await() &&noexcept {
        struct awaiter : detail::co_run<promise_type> {
            using detail::co_run<promise_type>::co_run;
            T await_resume() const {
                return this->callee_.promise().ended.take();
            }
        };
        return awaiter(handle_);
    }
    handle native_handle() const noexcept {
        return handle_;
    }

  private:
    explicit co(handle frame) noexcept : handle_(frame) {
    }
    void drop() noexcept {
        if (handle_) {
            handle_.destroy();
        }
    }

    handle handle_;
};

/* ---- from fibers ---- */

namespace detail {

template <typename T> struct is_co<co<T>> : std::true_type {}; /* outcome.hpp */

/*
 * The coroutine at the bottom of each that was spawned: a frame that begins as a task, and notifies
 * its owner of its end. `xstate` is
 *     NULL           it has not ended, and nobody but a fiber or thread may wait
 *     a co_waiter    it has not ended, and that coroutine goes on then
 *     DETACHED       it has not ended, and destroys itself then
 *     ENDED          it has ended; `done` is about to be posted
 * It is the ending coroutine that looks at the word last, so only one of the two sides destroys.
 */
class co_waiter : public resumption {
  public:
    explicit co_waiter(stopping *child) noexcept : child_(child) {
    }
    /* A cancel goes on to the child, for whose end it waits all the same. */
    void interrupt() noexcept final {
        child_->cancel();
    }
    void go_on(thrum_sched *sched) noexcept {
        leave();
        if (!sched || thrum_task_post_hint(sched, task(), THRUM_HINT_NEXT) != 0) {
            resume();
        }
    }

  protected:
    template <typename Promise> void begin(std::coroutine_handle<Promise> who) noexcept {
        set_task(who);
        if (!enter(chain_of(who))) {
            child_->cancel();
        }
    }
    stopping *child_;
};

/* The part of a bottom frame that does not depend on the result's type. */
class root_state {
  public:
    struct ending {
        bool await_ready() const noexcept {
            return false;
        }
        template <typename Promise>
        [[gnu::noinline]] void await_suspend(std::coroutine_handle<Promise> root) const noexcept {
            root_state &self = root.promise();
            if (self.end()) {
                root.destroy();
            }
        }
        void await_resume() const noexcept {
        }
    };

    std::suspend_always initial_suspend() const noexcept {
        return {};
    }
    ending final_suspend() const noexcept {
        return {};
    }
    void unhandled_exception() const noexcept {
        std::terminate(); /* the coroutine has kept its own */
    }
    void return_void() const noexcept {
    }

    /* Posts the run in which it begins. */
    int post(thrum_sched *sched, std::coroutine_handle<> root) noexcept {
        frame_ = root;
        thrum_task_init(&task_, begin, this);
        return thrum_task_post(sched, &task_);
    }
    /* Lets it destroy itself at its end. False: it has ended, and the caller destroys it. */
    bool detach() noexcept {
        void *none = nullptr;
        if (xstate_.compare_exchange_strong(none, &detached_, std::memory_order_acq_rel)) {
            return true;
        }
        shielded until_posted;
        (void)!thrum_sem_wait(&done_);
        return false;
    }
    /* Whether the waiter goes on at its end. False: it has ended, once `done` is taken. */
    bool await(co_waiter *waiter) noexcept {
        void *none = nullptr;
        return xstate_.compare_exchange_strong(none, waiter, std::memory_order_acq_rel);
    }
    thrum_sem *done() noexcept {
        return &done_;
    }
    chain *own_chain = &chain_; /* for the coroutines above */

  private:
    static void begin(thrum_task *, void *arg) {
        auto *self = static_cast<root_state *>(arg);
        self->chain_.run(self->frame_);
    }
    /* True: it is detached, and the caller destroys it. Else it may be gone already. */
    bool end() noexcept {
        void *before = xstate_.exchange(&ended_, std::memory_order_acq_rel);
        if (before == &detached_) {
            return true;
        }
        if (before) {
            static_cast<co_waiter *>(before)->go_on(thrum_sched_current());
        } else {
            thrum_sem_post(&done_); /* who takes it may free the semaphore */
        }
        return false;
    }

    static inline char detached_;
    static inline char ended_;

    thrum_task task_;
    std::coroutine_handle<> frame_;
    thrum_sem done_ = THRUM_SEM_INIT(0);
    std::atomic<void *> xstate_{nullptr};
    chain chain_;
};

/* Owns a coroutine from the bottom on: both frames. */
template <typename T> class root {
  public:
    struct promise_type : root_state {
        explicit promise_type(co<T> &body) noexcept
            : result(&body.native_handle().promise().ended) {
        }
        root get_return_object() noexcept {
            return root(std::coroutine_handle<promise_type>::from_promise(*this));
        }
        outcome<T> *result;
    };

    static root of(co<T> body) {
        co_await co_run<typename co<T>::promise_type>(body.native_handle());
    }
    root() noexcept = default;
    root(root &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {
    }
    root &operator=(root &&other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~root() {
        if (handle_) {
            handle_.destroy();
        }
    }
    explicit operator bool() const noexcept {
        return static_cast<bool>(handle_);
    }
    std::coroutine_handle<promise_type> frame() const noexcept {
        return handle_;
    }
    promise_type *operator->() const noexcept {
        return &handle_.promise();
    }
    void release() noexcept {
        handle_ = nullptr;
    }

  private:
    explicit root(std::coroutine_handle<promise_type> frame) noexcept : handle_(frame) {
    }
    std::coroutine_handle<promise_type> handle_;
};

} // namespace detail

/*
 * A coroutine that was spawned, and its result. It moves, and has one owner, who joins it, awaits
 * it in a coroutine, or detaches it. Its destructor waits for the end, shielded from cancels, and
 * drops the result. Unlike that of a task it does not cancel.
 */
template <typename T = void> class [[nodiscard]] co_task {
  public:
    co_task() noexcept = default;
    co_task(co_task &&) noexcept = default;
    co_task &operator=(co_task &&other) noexcept {
        if (this != &other) {
            drop();
            root_ = std::move(other.root_);
        }
        return *this;
    }
    ~co_task() {
        drop();
    }
    bool joinable() const noexcept {
        return static_cast<bool>(root_);
    }

    /*
     * Waits for its end, and returns its result or throws its exception. Any thread may call it. It
     * may suspend. It throws std::system_error: ECANCELED when the caller is cancelled, with the
     * task still to be joined, and EINVAL if there is no task.
     */
    T join() {
        check(root_ ? thrum_sem_wait(root_->done()) : -EINVAL);
        return taken();
    }
    /*
     * Cancels the coroutine: its await, and each later await, throws std::system_error (ECANCELED)
     * or returns such a status. An await of a co_task, or of in_task, cancels that, and waits for
     * its end. A wait on the fiber goes on. Only the owner may call it, also more than once. It
     * suspends only if thrum_cancel does, for a task with many children (in_task).
     */
    void cancel() noexcept {
        if (root_) {
            root_->own_chain->cancel();
        }
    }
    /* Gives it up: it goes on, and its result or exception is dropped. */
    void detach() noexcept {
        if (root_ && root_->detach()) {
            root_.release();
        }
        root_ = detail::root<T>(); /* has ended: destroyed here */
    }
    /*
     * In a coroutine `co_await std::move(task)` joins it without a stack: the coroutine goes on as
     * a run of its own, of the scheduler on which the task ended.
     */
    auto operator co_await() &&noexcept {
        return awaiter(this);
    }

  private:
    template <typename U> friend co_task<U> spawn(thrum_sched *, co<U>);

    class awaiter : public detail::co_waiter {
      public:
        explicit awaiter(co_task *task) noexcept
            : co_waiter(task->root_ ? task->root_->own_chain : nullptr), of_(task) {
        }
        bool await_ready() const noexcept {
            return !of_->root_ || thrum_sem_try_wait(of_->root_->done()) == 0;
        }
        template <typename Promise>
        [[gnu::noinline]] bool await_suspend(std::coroutine_handle<Promise> who) noexcept {
            begin(who);
            auto &state = *of_->root_.operator->();
            if (state.await(this)) {
                return true;
            }
            leave();
            detail::shielded until_posted; /* it has ended: the post is on its way */
            (void)!thrum_sem_wait(state.done());
            return false;
        }
        T await_resume() {
            check(of_->root_ ? 0 : -EINVAL);
            return of_->taken();
        }

      private:
        co_task *of_;
    };

    explicit co_task(detail::root<T> started) noexcept : root_(std::move(started)) {
    }
    T taken() {
        detail::root<T> ended(std::move(root_));
        return ended->result->take();
    }
    void drop() noexcept {
        if (root_) {
            detail::shielded until_ended;
            (void)!thrum_sem_wait(root_->done());
            root_ = detail::root<T>();
        }
    }

    detail::root<T> root_;
};

namespace detail {
template <typename T> struct is_co_task<co_task<T>> : std::true_type {};
} // namespace detail

/*
 * Runs the coroutine on the scheduler, or the caller's, from a run of its own. It costs a second,
 * small frame. Any thread that names the scheduler may call it. It never suspends. It throws
 * std::bad_alloc, and std::system_error with nothing begun: ESRCH without a scheduler, EINVAL for a
 * co that was moved from, and the codes of thrum_task_post.
 */
template <typename T> co_task<T> spawn(thrum_sched *sched, co<T> body) {
    check(!body.native_handle() ? -EINVAL : sched ? 0 : -ESRCH);
    auto started = detail::root<T>::of(std::move(body));
    check(started->post(sched, started.frame()));
    return co_task<T>(std::move(started));
}
template <typename T> co_task<T> spawn(co<T> body) {
    return spawn(thrum_sched_current(), std::move(body));
}

/*
 * Begins the coroutine on the calling fiber, waits for its end, and returns its result or throws
 * its exception. A plain thread may call it, too, for a coroutine that hops to a named scheduler
 * first or waits for nothing. It may suspend. The wait is shielded: a cancel of the caller does not
 * end it. It costs a second, small frame.
 */
template <typename T> T sync_wait(co<T> body) {
    check(body.native_handle() ? 0 : -EINVAL);
    auto started = detail::root<T>::of(std::move(body));
    started->own_chain->run(started.frame());
    {
        detail::shielded until_ended;
        (void)!thrum_sem_wait(started->done());
    }
    return started->result->take();
}

} // namespace THRUM_CPP_ABI
} // namespace thrum

#endif
#endif
