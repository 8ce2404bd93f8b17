/*
 * thrum/cpp/scope.hpp: tasks that end before the block in which they began.
 *
 *     thrum::scope scope;
 *     scope.go([&] { left = fetch(a); });
 *     scope.go([&] { right = fetch(b); });
 *     scope.join();
 *
 * The first child that throws, or returns a negative int, cancels the others.
 */
#ifndef THRUM_CPP_SCOPE_HPP
#define THRUM_CPP_SCOPE_HPP

#include <atomic>
#include <cstddef>
#include <new>

#include "thrum/cpp/outcome.hpp"
#include "thrum/scope.h"

namespace thrum {
inline namespace THRUM_CPP_ABI {

/*
 * A scope with room for the callables of its first children: `Bytes` in all, which are not reused
 * before the join. Other callables are allocated. The rules are those of thrum/scope.h.
 */
template <size_t Bytes = 256> class [[nodiscard]] basic_scope {
  public:
    /* Throws std::system_error (ESRCH) on a plain thread. */
    [[nodiscard]] explicit basic_scope(deadline when = deadline::never())
        : uncaught_(std::uncaught_exceptions()) {
        check(thrum_scope_open(&scope_, when.when()));
    }
    basic_scope(const basic_scope &) = delete;
    basic_scope &operator=(const basic_scope &) = delete;

    /*
     * Joins, if nobody has. While an exception unwinds, it cancels the children first, and drops
     * their results. Otherwise an exception of a child ends the program (std::terminate, which
     * prints it), since no one could catch it: call `join`. A negative code alone is dropped. It
     * may suspend.
     */
    ~basic_scope() {
        if (open_) {
            const bool unwinds = std::uncaught_exceptions() > uncaught_;
            if (unwinds) {
                cancel();
            }
            const int err = thrum_scope_join(&scope_);
            (void)err; /* a code is dropped: the child's failure has already cancelled the others */
            if (failed_.load(std::memory_order_relaxed) && !unwinds) { /* the join has ordered it */
                failure_.terminate();
            }
        }
    }

    /*
     * Starts a child that calls `fn`, which is destroyed when it has returned. The scope's task and
     * its children may call it. It never suspends. If no child could be started, it throws
     * std::system_error (thrum_scope_go), and the scope's join fails with the same code. It also
     * throws std::bad_alloc, and the exceptions of moving `fn`.
     */
    template <typename Fn> void go(Fn &&fn) {
        static_assert(!detail::is_co<std::invoke_result_t<std::decay_t<Fn>>>::value,
                      "thrum::scope: the co that fn returns would not begin; thrum::when_all, or "
                      "thrum::sync_wait in fn");
        using child = child_of<std::decay_t<Fn>>;
        void *room = alignof(child) <= alignof(std::max_align_t) ? take(sizeof(child)) : nullptr;
        child *made;
        if (room) {
            made = ::new (room) child(this, true, std::forward<Fn>(fn));
        } else {
            made = new child(this, false, std::forward<Fn>(fn));
        }
        const int err = thrum_scope_go(&scope_, child::main, made);
        if (err < 0) {
            made->end();
            raise(err);
        }
    }

    /*
     * Cancels the children, those to come as well. Any thread may call it while it is open. It may
     * suspend, after every 256 children.
     */
    void cancel() noexcept {
        thrum_scope_cancel(&scope_);
    }

    /*
     * Waits for all children and closes the scope. It throws the first exception of a child, else
     * std::system_error of the first reason (thrum_scope_join). The scope's task calls it. It may
     * suspend.
     */
    void join() {
        open_ = false;
        const int err = thrum_scope_join(&scope_);
        failure_.raise_any();
        check(err);
    }
    thrum_scope *native_handle() noexcept {
        return &scope_;
    }

  private:
    template <typename Fn> struct child_of {
        template <typename From>
        child_of(basic_scope *of, bool is_inside, From &&from)
            : scope(of), inside(is_inside), fn(std::forward<From>(from)) {
        }
        void end() noexcept {
            if (inside) {
                this->~child_of();
            } else {
                delete this;
            }
        }
        static int main(void *arg) noexcept {
            auto *self = static_cast<child_of *>(arg);
            basic_scope *of = self->scope;
            int result = 0;
            detail::caught thrown;
            thrown.around([&] {
                using type = std::invoke_result_t<Fn>;
                if constexpr (std::is_same_v<type, int>) {
                    result = std::move(self->fn)();
                } else {
                    (void)std::move(self->fn)();
                }
            });
            self->end();
            return thrown.is_set() ? of->failed(thrown) : result;
        }
        basic_scope *scope;
        bool inside;
        Fn fn;
    };

    /*
     * Room in the scope, or NULL. A piece that does not fit leaves the rest unused; later children
     * are allocated.
     */
    void *take(size_t size) noexcept {
        const size_t step = alignof(std::max_align_t);
        size = (size + step - 1) / step * step;
        if (size > Bytes || used_.load(std::memory_order_relaxed) > Bytes) {
            return nullptr;
        }
        /* Relaxed: it only distinguishes pieces. */
        const size_t at = used_.fetch_add(size, std::memory_order_relaxed);
        return at + size <= Bytes ? room_ + at : nullptr;
    }

    /* Keeps the first exception; a wait that was cancelled is no failure of its own. */
    int failed(detail::caught &thrown) noexcept {
#if THRUM_CPP_EXCEPTIONS
        try {
            detail::caught looked_at = thrown;
            looked_at.raise_any();
        } catch (const std::system_error &error) {
            if (error.code() == std::error_code(ECANCELED, std::generic_category())) {
                return -ECANCELED;
            }
        } catch (...) {
        }
#endif
        /* Relaxed: it elects the one that writes; the join orders the reading. */
        if (!failed_.exchange(true, std::memory_order_relaxed)) {
            failure_ = std::move(thrown);
        }
        return -EIO;
    }

    thrum_scope scope_;
    int uncaught_;
    bool open_ = true;
    std::atomic<bool> failed_{false};
    std::atomic<size_t> used_{0};
    detail::caught failure_;
    alignas(std::max_align_t) unsigned char room_[Bytes ? Bytes : 1];
};

/* The scope of everyday use. */
using scope = basic_scope<>;

} // namespace THRUM_CPP_ABI
} // namespace thrum

#endif
