/*
 * thrum/cpp/execution.hpp: a scheduler and its senders, in the shape of std::execution of C++26. It
 * needs no implementation of std::execution, and <thrum/thrum.hpp> does not include it. Before
 * C++20 it is empty.
 *
 *     thrum::execution::scheduler on(background);
 *     auto operation = on.schedule_after(5ms).connect(receiver);
 *     operation.start();
 *
 * A receiver has set_value() and set_stopped(), and for bulk also set_error(std::exception_ptr),
 * all of them noexcept. It may have get_env(), whose query(get_stop_token_t()) returns a token: a
 * std::stop_token, or a type that has a `callback_type`, as the tokens of C++26 do.
 *
 * Exactly one of these functions is called, in a task of the scheduler, which may block. If the
 * scheduler refuses the post, because it is stopping or belongs to the parent of a fork, start()
 * itself calls set_stopped. The function may destroy the operation. An operation allocates nothing.
 * It may be destroyed before it is started and after its end; a destructor that finds it queued
 * ends the program (thrum::intrusive_task).
 */
#ifndef THRUM_CPP_EXECUTION_HPP
#define THRUM_CPP_EXECUTION_HPP

#if __cplusplus >= 202002L

#include <version>

#include <atomic>
#include <concepts>
#include <exception>
#include <optional>
#include <utility>
#if defined(__cpp_lib_jthread)
#include <stop_token>
#endif

#include "thrum/cpp/intrusive.hpp"
#include "thrum/cpp/outcome.hpp"
#include "thrum/cpp/parallel.hpp"

namespace thrum {
inline namespace THRUM_CPP_ABI {
namespace execution {

/*
 * The names of an implementation of std::execution that its concepts and queries need. This struct
 * has thrum's names. For an implementation, write a struct that has its names, and use
 * basic_scheduler with it.
 */
struct words {
    struct sender_t {};
    struct operation_state_t {};
    struct scheduler_t {};
    struct set_value_t {};
    struct set_error_t {};
    struct set_stopped_t {};
    struct get_stop_token_t {};
    template <typename Signal> struct get_completion_scheduler_t {};
    template <typename... Signatures> struct completion_signatures {};
};

/* Receivers for schedule, schedule_at and schedule_after; and for bulk. */
template <typename R>
concept receiver = std::move_constructible<R> && requires(R &&to) {
    { std::move(to).set_value() }
    noexcept;
    { std::move(to).set_stopped() }
    noexcept;
};
template <typename R>
concept receiver_of_errors = receiver<R> && requires(R &&to, std::exception_ptr error) {
    { std::move(to).set_error(std::move(error)) }
    noexcept;
};

namespace detail {

/* The token of a receiver that has none. */
struct never_stops {
    template <typename Fn> struct callback_type {
        callback_type(never_stops, Fn) noexcept {
        }
    };
    static constexpr bool stop_requested() noexcept {
        return false;
    }
};

template <typename Words, typename R> auto token_of(const R &to) noexcept {
    if constexpr (requires { to.get_env().query(typename Words::get_stop_token_t{}); }) {
        return to.get_env().query(typename Words::get_stop_token_t{});
    } else {
        return never_stops();
    }
}

/* The callback of a token: of C++26, or of C++20. */
template <typename Token, typename Fn> struct callback_of {
    using type = typename Token::template callback_type<Fn>;
};
#if defined(__cpp_lib_jthread)
template <typename Fn> struct callback_of<std::stop_token, Fn> {
    using type = std::stop_callback<Fn>;
};
#endif

/* The kinds of work: how the task is posted, and how its run ends if nothing has stopped it. */

struct run_now {
    template <typename Words>
    using signatures =
        typename Words::template completion_signatures<typename Words::set_value_t(),
                                                       typename Words::set_stopped_t()>;
    static constexpr bool waits = false; /* a stop of the token ends a wait */
    static constexpr bool fails = false; /* it may end with an error */

    status post(intrusive_task &task, thrum_sched *to) const noexcept {
        return task.try_post(to);
    }
    template <typename R, typename Token> void finish(R &&to, const Token &) noexcept {
        std::move(to).set_value();
    }
};

struct run_later : run_now {
    static constexpr bool waits = true;
    thrum_time time;
    bool is_length; /* the time is a duration, counted from start() */

    run_later(thrum_time when, bool from_start) noexcept : time(when), is_length(from_start) {
    }
    status post(intrusive_task &task, thrum_sched *to) const noexcept {
        return task.post_until(deadline::at(is_length ? thrum_after(time) : time), to);
    }
};

template <typename Fn> struct run_bulk : run_now {
    template <typename Words>
    using signatures = typename Words::template completion_signatures<
        typename Words::set_value_t(), typename Words::set_error_t(std::exception_ptr),
        typename Words::set_stopped_t()>;
    static constexpr bool fails = true;
    size_t n;
    Fn fn;

    run_bulk(size_t count, Fn call) : n(count), fn(std::move(call)) {
    }
    template <typename R, typename Token> void finish(R &&to, const Token &token) noexcept {
        std::atomic<bool> skipped(false);
        thrum::detail::caught failure;
        failure.around([&] {
            thrum::parallel_for(0, n, [&](size_t i) {
                if (token.stop_requested()) {
                    /* Relaxed: the end of the loop orders. */
                    skipped.store(true, std::memory_order_relaxed);
                } else {
                    (void)fn(i);
                }
            });
        });
        if (failure.is_set()) {
            std::move(to).set_error(failure.take());
        } else if (skipped.load(std::memory_order_relaxed)) {
            std::move(to).set_stopped();
        } else {
            std::move(to).set_value();
        }
    }
};

template <typename Words, typename Work, typename R> class operation {
    static_assert(receiver<R> && (!Work::fails || receiver_of_errors<R>),
                  "thrum::execution: the receiver needs set_value() and set_stopped(), for bulk "
                  "also set_error(std::exception_ptr), all noexcept");

  public:
    using operation_state_concept = typename Words::operation_state_t;

    operation(thrum_sched *sched, Work work, R to)
        : sched_(sched), work_(std::move(work)), to_(std::move(to)) {
    }
    operation(operation &&) = delete;

    void start() &noexcept {
        if constexpr (Work::waits) {
            /* Before the post, after which all of this may be gone. A wakeup that comes before the
             * post is remembered. */
            stop_.emplace(detail::token_of<Words>(to_), wake{&task_});
        }
        if (!work_.post(task_, sched_)) {
            stop_.reset();
            std::move(to_).set_stopped();
        }
    }

  private:
    struct wake {
        intrusive_task *task;
        void operator()() const noexcept {
            task->wakeup();
        }
    };
    using token = decltype(detail::token_of<Words>(std::declval<const R &>()));

    void run() noexcept {
        stop_.reset(); /* waits for a stop that is waking the task on another thread */
        const auto stop = detail::token_of<Words>(to_);
        if (stop.stop_requested() || task_.is_cancelled()) {
            std::move(to_).set_stopped();
        } else {
            work_.finish(std::move(to_), stop);
        }
    }

    thrum_sched *sched_;
    Work work_;
    R to_;
    intrusive_task task_{this, &operation::run};
    std::optional<typename callback_of<token, wake>::type> stop_;
};

} // namespace detail

template <typename Words> class basic_scheduler;

/* A sender of a scheduler: it may be copied and connected as often as its work can be copied. */
template <typename Words, typename Work> class [[nodiscard]] sender {
  public:
    using sender_concept = typename Words::sender_t;
    using completion_signatures = typename Work::template signatures<Words>;

    class env {
      public:
        basic_scheduler<Words>
        query(typename Words::template get_completion_scheduler_t<typename Words::set_value_t>)
            const noexcept {
            return basic_scheduler<Words>(sched_);
        }

      private:
        friend class sender;
        explicit env(thrum_sched *sched) noexcept : sched_(sched) {
        }
        thrum_sched *sched_;
    };
    env get_env() const noexcept {
        return env(sched_);
    }

    /* Returns an operation. Its start() begins it, and it must live until one of the receiver's
     * functions is called. */
    template <typename R> detail::operation<Words, Work, R> connect(R to) const & {
        return {sched_, work_, std::move(to)};
    }
    template <typename R> detail::operation<Words, Work, R> connect(R to) && {
        return {sched_, std::move(work_), std::move(to)};
    }

  private:
    friend class basic_scheduler<Words>;
    sender(thrum_sched *sched, Work work) : sched_(sched), work_(std::move(work)) {
    }
    thrum_sched *sched_;
    Work work_;
};

/*
 * A scheduler of thrum, which must live until all operations of its senders have ended. A stop of
 * the receiver's token ends a wait of schedule_at and schedule_after at once, and may come at any
 * time, also while the operation ends.
 */
template <typename Words> class basic_scheduler {
  public:
    using scheduler_concept = typename Words::scheduler_t;

    /* `background` may be a thrum::scheduler. */
    explicit basic_scheduler(thrum_sched *background) noexcept : sched_(background) {
    }
    bool operator==(const basic_scheduler &) const noexcept = default;

    /* A task of the scheduler calls set_value, or set_stopped if the token was stopped before. */
    auto schedule() const noexcept {
        return sender<Words, detail::run_now>(sched_, {});
    }
    /* Likewise at the deadline, or `length` after start(). */
    auto schedule_at(deadline when) const noexcept {
        return sender<Words, detail::run_later>(sched_, {when.when(), false});
    }
    template <typename Rep, typename Period>
    auto schedule_after(std::chrono::duration<Rep, Period> length) const noexcept {
        return sender<Words, detail::run_later>(sched_, {nanoseconds(length), true});
    }
    /*
     * Calls fn(i) for each i below n on the workers (thrum::parallel_for), and then set_value. If a
     * call throws, no further piece of the loop begins, and set_error gets the exception. If the
     * token is stopped, calls that have not begun are skipped; if any were, set_stopped is called.
     */
    template <typename Fn> auto bulk(size_t n, Fn fn) const {
        return sender<Words, detail::run_bulk<Fn>>(sched_, {n, std::move(fn)});
    }
    /* The clock of schedule_at. */
    static std::chrono::steady_clock::time_point now() noexcept {
        return std::chrono::steady_clock::now();
    }

  private:
    thrum_sched *sched_;
};

using scheduler = basic_scheduler<words>;

} // namespace execution
} // namespace THRUM_CPP_ABI
} // namespace thrum

#endif
#endif
