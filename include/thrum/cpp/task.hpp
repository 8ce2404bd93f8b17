/*
 * thrum/cpp/task.hpp: tasks that run a callable.
 *
 *     thrum::go([] { tick(); });
 *     thrum::task<std::string> page = thrum::spawn([url] { return fetch(url); });
 *     std::cout << page.join();
 *
 * A callable and the rest of its task are one allocation. The callable is moved there and called
 * once, also in a task that was cancelled before it began. When it has returned, it is destroyed on
 * the task's own stack, before a join returns.
 */
#ifndef THRUM_CPP_TASK_HPP
#define THRUM_CPP_TASK_HPP

#include <atomic>
#include <memory>

#include "thrum/cpp/outcome.hpp"
#include "thrum/sched.h"
#include "thrum/spawn.h"

namespace thrum {
inline namespace THRUM_CPP_ABI {

/* How a task is started: the C attr, whose fields are set by name, one after the other. */
class attr {
  public:
    attr() noexcept {
        thrum_attr_init(&attr_);
    }
    /* The name is copied when the task starts. */
    attr &name(const char *text) noexcept {
        attr_.name = text;
        return *this;
    }
    attr &sched(thrum_sched *where) noexcept {
        attr_.sched = where;
        return *this;
    }
    attr &stack_size(size_t bytes) noexcept {
        attr_.stack_size = bytes;
        return *this;
    }
    /* The task never leaves the worker, or with -1 the one that it comes to. */
    attr &pinned(int worker = -1) noexcept {
        attr_.flags |= THRUM_PINNED;
        attr_.worker = worker;
        return *this;
    }
    attr &next() noexcept {
        attr_.flags |= THRUM_NEXT;
        return *this;
    }
    /* THRUM_HIGH, THRUM_NORMAL or THRUM_LOW. Without it, the task inherits the caller's. */
    attr &priority(unsigned level) noexcept {
        attr_.flags &= ~(THRUM_HIGH | THRUM_NORMAL | THRUM_LOW);
        attr_.flags |= level;
        return *this;
    }
    const thrum_attr *get() const noexcept {
        return &attr_;
    }

  private:
    thrum_attr attr_;
};

namespace detail {

template <typename Fn> using result_of = std::invoke_result_t<std::decay_t<Fn>>;

/* Exceptions end here: an exception of a detached task ends the program (std::terminate). */
template <typename Fn> int detached_main(void *arg) noexcept {
    std::unique_ptr<Fn> fn(static_cast<Fn *>(arg));
    if constexpr (std::is_integral_v<std::invoke_result_t<Fn>>) {
        return static_cast<int>(std::move(*fn)()); /* for the child of a fork, as main's */
    } else {
        static_cast<void>(std::move(*fn)());
        return 0;
    }
}

template <typename Fn> void go_with(const thrum_attr *how, Fn &&fn) {
    using kept = std::decay_t<Fn>;
    static_assert(!is_co<std::invoke_result_t<kept>>::value,
                  "thrum::go: the co that fn returns would not begin; thrum::spawn(fn()).detach()");
    auto closure = std::make_unique<kept>(std::forward<Fn>(fn));
    check(thrum_go_with(how, detached_main<kept>, closure.get()));
    (void)closure.release(); /* it is the task's */
}

/* The state that a task and its owner share; the last of the two to let go frees it. */
template <typename T> class shared_state {
  public:
    shared_state() = default;
    shared_state(const shared_state &) = delete;
    shared_state &operator=(const shared_state &) = delete;
    virtual void free_self() noexcept = 0;
    void let_go() noexcept {
        /* Acquire and release: the last one sees the writes of the other. */
        if (holders_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
            free_self();
        }
    }
    outcome<T> ended;

  protected:
    ~shared_state() = default;

  private:
    std::atomic<int> holders_{2};
};

template <typename T, typename Fn> class task_state final : public shared_state<T> {
  public:
    template <typename From> explicit task_state(From &&from) : fn_(std::forward<From>(from)) {
    }
    void free_self() noexcept override {
        delete this;
    }
    static int main(void *arg) noexcept {
        auto *self = static_cast<task_state *>(arg);
        self->ended.run([self]() -> T { return std::move(*self->fn_)(); });
        self->fn_.reset();
        const int code = self->ended.status();
        self->let_go();
        return code;
    }

  private:
    std::optional<Fn> fn_;
};

} // namespace detail

/*
 * Starts a detached task that calls `fn`; its result is dropped, and an exception that leaves it
 * ends the program by std::terminate. The callers and the codes of std::system_error, with nothing
 * started, are those of thrum_go. It also throws std::bad_alloc, and the exceptions of moving `fn`.
 * It never suspends.
 */
template <typename Fn> void go(Fn &&fn) {
    detail::go_with(nullptr, std::forward<Fn>(fn));
}
template <typename Fn> void go(const attr &how, Fn &&fn) {
    detail::go_with(how.get(), std::forward<Fn>(fn));
}

/*
 * A task that was spawned, and its result. It can be moved, and belongs to one owner. As with
 * std::jthread, its destructor (and an assignment) cancels and joins a task that was neither joined
 * nor detached, which may suspend. The result or the exception is dropped.
 */
template <typename T = void> class [[nodiscard]] task {
  public:
    task() noexcept = default;
    task(task &&other) noexcept
        : handle_(std::exchange(other.handle_, nullptr)),
          state_(std::exchange(other.state_, nullptr)) {
    }
    task &operator=(task &&other) noexcept {
        task taken(std::move(other)); /* first: the task that ends here may own the other one */
        std::swap(handle_, taken.handle_);
        std::swap(state_, taken.state_);
        return *this;
    }
    ~task() {
        drop();
    }

    /* Whether there is a task to be joined. */
    bool joinable() const noexcept {
        return handle_ != nullptr;
    }

    /*
     * Waits for the task, and returns its result or throws its exception. Any thread may call it.
     * It may suspend. It throws std::system_error with the task still to be joined: ECANCELED when
     * the caller is cancelled, EDEADLK if the task joins itself. It throws EINVAL if there is no
     * task.
     */
    T join() {
        check(thrum_join(handle_, nullptr));
        return taken();
    }

    /*
     * Waits for the task until the deadline, and leaves its result in place. Returns true if it has
     * ended: `get` then returns the result. Otherwise the task is still to be joined.
     */
    status join_until(deadline when) noexcept {
        const int err = ended() ? 0 : thrum_join_until(handle_, nullptr, when.when());
        if (err == 0) {
            handle_ = nullptr;
        }
        return status(err);
    }
    template <typename Rep, typename Period>
    status join_for(std::chrono::duration<Rep, Period> length) noexcept {
        return join_until(after(length));
    }
    /* After a join_until that was true: the result, once, or the task's exception. */
    T get() {
        if (!ended()) {
            raise(-EINVAL);
        }
        return taken();
    }

    /* Cancels its waits, as thrum_cancel does; it is still to be joined. It may suspend. */
    void cancel() noexcept {
        if (handle_) {
            (void)thrum_cancel(handle_);
        }
    }
    /* Gives it up: it goes on, and its result or exception is dropped. */
    void detach() noexcept {
        if (handle_) {
            (void)thrum_detach(std::exchange(handle_, nullptr));
        }
        let_go();
    }
    thrum_handle *native_handle() const noexcept {
        return handle_;
    }

  private:
    template <typename Fn> friend auto spawn(const attr &, Fn &&) -> task<detail::result_of<Fn>>;

    task(thrum_handle *handle, detail::shared_state<T> *state) noexcept
        : handle_(handle), state_(state) {
    }
    bool ended() const noexcept {
        return !handle_ && state_;
    }
    void let_go() noexcept {
        if (state_) {
            std::exchange(state_, nullptr)->let_go();
        }
    }
    T taken() {
        handle_ = nullptr;
        struct letting_go {
            task *self;
            ~letting_go() {
                self->let_go();
            }
        } at_end{this};
        return state_->ended.take();
    }
    void drop() noexcept {
        if (handle_) {
            (void)thrum_cancel(handle_);
            detail::shielded until_joined;
            const int err = thrum_join(handle_, nullptr);
            if (err != 0 && err != -ESHUTDOWN) { /* the child of a fork leaves it to its parent */
                detail::refused("thrum::~task", err); /* the task owns itself */
            }
            handle_ = nullptr;
        }
        let_go();
    }

    thrum_handle *handle_ = nullptr;
    detail::shared_state<T> *state_ = nullptr;
};

/*
 * Starts a task that calls `fn`, whose result or exception its join gets. Callers and errors are
 * those of `go`, with thrum_spawn in place of thrum_go. It never suspends.
 */
template <typename Fn> auto spawn(const attr &how, Fn &&fn) -> task<detail::result_of<Fn>> {
    using result = detail::result_of<Fn>;
    static_assert(!detail::is_co<result>::value,
                  "thrum::spawn: the co that fn returns would not begin; thrum::spawn(fn())");
    using state = detail::task_state<result, std::decay_t<Fn>>;
    auto shared = std::make_unique<state>(std::forward<Fn>(fn));
    thrum_handle *handle = nullptr;
    check(thrum_spawn_with(&handle, how.get(), state::main, shared.get()));
    return task<result>(handle, shared.release());
}
template <typename Fn> auto spawn(Fn &&fn) -> task<detail::result_of<Fn>> {
    return thrum::spawn(attr(), std::forward<Fn>(fn));
}

/*
 * Starts a scheduler with its defaults, or `config`, runs `fn` as its first task, waits for all
 * tasks, and stops. Returns the result of `fn` or throws its exception, or std::system_error if the
 * scheduler cannot start (thrum_run). A plain thread may call it.
 */
template <typename Fn> auto run(const thrum_config *config, Fn &&fn) -> std::invoke_result_t<Fn> {
    static_assert(!detail::is_co<std::invoke_result_t<Fn>>::value,
                  "thrum::run: the co that fn returns would not begin; thrum::sync_wait in fn");
    struct call {
        std::remove_reference_t<Fn> *fn;
        detail::outcome<std::invoke_result_t<Fn>> ended;
        bool began = false;
        static int main(void *arg) noexcept {
            auto *self = static_cast<call *>(arg);
            self->began = true;
            self->ended.run(
                [self]() -> std::invoke_result_t<Fn> { return std::forward<Fn>(*self->fn)(); });
            return self->ended.status();
        }
    } entry{std::addressof(fn), {}};
    const int err = thrum_run(config, call::main, &entry);
    if (!entry.began) {
        raise(err);
    }
    return entry.ended.take();
}
template <typename Fn> auto run(Fn &&fn) -> std::invoke_result_t<Fn> {
    return thrum::run(nullptr, std::forward<Fn>(fn));
}

/* ---- the running task ---- */

/* Lets others run (thrum_yield). It may suspend. */
inline void yield() noexcept {
    thrum_yield();
}
/* Whether the running task is cancelled (thrum_cancelled). */
inline bool cancelled() noexcept {
    return thrum_cancelled();
}
/* Throws std::system_error with ECANCELED in a task that is cancelled. */
inline void throw_if_cancelled() {
    if (thrum_cancelled()) {
        raise(-ECANCELED);
    }
}
/* Sleeps so long; throws std::system_error (ECANCELED) when the task is cancelled meanwhile. */
template <typename Rep, typename Period> void sleep(std::chrono::duration<Rep, Period> length) {
    check(thrum_sleep(nanoseconds(length)));
}
/* Sleeps until then; the status is false, with ECANCELED, when the task is cancelled. It may
 * suspend. */
inline status sleep_until(deadline when) noexcept {
    return status(thrum_sleep_until(when.when()));
}

/* While one is there, the running task's waits are not cancelled (thrum_shield_begin). */
using shield = detail::shielded;

} // namespace THRUM_CPP_ABI
} // namespace thrum

#endif
