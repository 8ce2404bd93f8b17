/*
 * thrum/cpp/join_set.hpp: tasks with results of one type, taken in the order in which they end.
 *
 *     thrum::join_set<page> pages;
 *     pages.spawn([&] { return fetch(a); });
 *     pages.spawn([&] { return fetch(b); });
 *     while (std::optional<page> first = pages.next()) { ... }
 */
#ifndef THRUM_CPP_JOIN_SET_HPP
#define THRUM_CPP_JOIN_SET_HPP

#include <memory>
#include <optional>

#include "thrum/cpp/outcome.hpp"
#include "thrum/cpp/task.hpp"
#include "thrum/scope.h"

namespace thrum {
inline namespace THRUM_CPP_ABI {

/*
 * A scope (thrum/scope.h) whose children return T, which may be void or a move-only type. Each
 * child is one allocation, which is freed when its result is taken. The task that made the set
 * takes the results. A set can be neither copied nor moved. A child that throws cancels nothing:
 * when its turn comes, `next` throws its exception.
 */
template <typename T> class [[nodiscard]] join_set {
    static_assert(!std::is_reference_v<T>, "thrum::join_set: results are values");

  public:
    /* A result, or none. A bool if the children return void: true for a result. */
    using result = std::conditional_t<std::is_void_v<T>, bool, std::optional<T>>;

    /*
     * Past the deadline its children are cancelled. Throws std::system_error (ESRCH) on a plain
     * thread.
     */
    [[nodiscard]] explicit join_set(deadline when = deadline::never()) {
        check(thrum_scope_open(&scope_, when.when()));
    }
    join_set(const join_set &) = delete;
    join_set &operator=(const join_set &) = delete;

    /* Cancels the children and waits for them. Their results and exceptions are dropped. */
    ~join_set() {
        thrum_scope_cancel(&scope_);
        detail::shielded until_joined;
        int err = 0;
        while (err == 0) {
            const auto dropped = take(THRUM_FOREVER, err);
        }
        err = thrum_scope_join(&scope_); /* cancelled, unless the parent of a fork has it */
        (void)err;
    }

    /*
     * Starts a child that calls `fn`, which is destroyed when it has returned. The set's task and
     * its children may call it. It never suspends. It throws std::system_error with nothing started
     * (thrum_scope_spawn), std::bad_alloc, and the exceptions of moving `fn`.
     */
    template <typename Fn> void spawn(Fn &&fn) {
        spawn_with(nullptr, std::forward<Fn>(fn));
    }
    template <typename Fn> void spawn(const attr &how, Fn &&fn) {
        spawn_with(how.get(), std::forward<Fn>(fn));
    }

    /*
     * Waits for the next child to end, and returns its result or throws its exception. Returns none
     * if no child is left. It may suspend. It throws std::system_error (ECANCELED) with nothing
     * taken if the caller is cancelled.
     */
    result next() {
        int err;
        const auto one = take(THRUM_FOREVER, err);
        if (err == -ECHILD) {
            return result();
        }
        check(err);
        return taken(*one);
    }
    /*
     * Waits until the deadline. If the status is true, `out` has the result, or is none if no child
     * is left. Throws a child's exception. It may suspend.
     */
    [[nodiscard]] status next_until(result &out, deadline when) {
        int err;
        const auto one = take(when.when(), err);
        if (err == 0) {
            out = taken(*one);
        } else if (err == -ECHILD) {
            out = result();
            err = 0;
        }
        return status(err);
    }
    template <typename Rep, typename Period>
    [[nodiscard]] status next_for(result &out, std::chrono::duration<Rep, Period> length) {
        return next_until(out, after(length));
    }

    /* Cancels the present and future children, whose results still come. It may suspend. */
    void cancel() noexcept {
        thrum_scope_cancel(&scope_);
    }
    thrum_scope *native_handle() noexcept {
        return &scope_;
    }

  private:
    struct child {
        virtual ~child() = default;
        detail::outcome<T> ended;
    };
    template <typename Fn> struct child_of final : child {
        template <typename From> explicit child_of(From &&from) : fn(std::forward<From>(from)) {
        }
        static int main(void *arg) noexcept {
            auto *self = static_cast<child_of *>(static_cast<child *>(arg));
            self->ended.run([self]() -> T { return std::move(*self->fn)(); });
            self->fn.reset();
            return self->ended.status();
        }
        std::optional<Fn> fn;
    };

    template <typename Fn> void spawn_with(const thrum_attr *how, Fn &&fn) {
        static_assert(!detail::is_co<std::invoke_result_t<std::decay_t<Fn>>>::value,
                      "thrum::join_set: the co that fn returns would not begin; thrum::when_all, "
                      "or thrum::sync_wait in fn");
        using made = child_of<std::decay_t<Fn>>;
        std::unique_ptr<child> one = std::make_unique<made>(std::forward<Fn>(fn));
        check(thrum_scope_spawn(&scope_, how, made::main, one.get()));
        (void)one.release(); /* it is the scope's */
    }
    std::unique_ptr<child> take(thrum_time when, int &err) noexcept {
        void *arg = nullptr;
        err = thrum_scope_next_until(&scope_, &arg, nullptr, when);
        return std::unique_ptr<child>(static_cast<child *>(arg));
    }
    static result taken(child &one) {
        if constexpr (std::is_void_v<T>) {
            one.ended.take();
            return true;
        } else {
            return one.ended.take();
        }
    }

    thrum_scope scope_;
};

} // namespace THRUM_CPP_ABI
} // namespace thrum

#endif
