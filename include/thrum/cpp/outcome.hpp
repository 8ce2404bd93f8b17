/*
 * thrum/cpp/outcome.hpp: the result or the exception of a call, kept for the caller that joins it.
 */
#ifndef THRUM_CPP_OUTCOME_HPP
#define THRUM_CPP_OUTCOME_HPP

#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "thrum/cpp/error.hpp"
#include "thrum/spawn.h"

namespace thrum {
inline namespace THRUM_CPP_ABI {
namespace detail {

/* Whether it is a co, which begins when it is awaited or spawned, and not by a call. */
template <typename T> struct is_co : std::false_type {};
/* Whether it is a co_task. */
template <typename T> struct is_co_task : std::false_type {};

/* The exception that a call ended with, if it did. */
class caught {
  public:
    /* Calls `fn` and keeps its exception. */
    template <typename Fn> void around(Fn &&fn) noexcept {
#if THRUM_CPP_EXCEPTIONS
        try {
            std::forward<Fn>(fn)();
        } catch (...) {
            exception_ = std::current_exception();
        }
#else
        std::forward<Fn>(fn)();
#endif
    }
    bool is_set() const noexcept {
        return exception_ != nullptr;
    }
    /* Ends the program by it, in a handler: there std::terminate prints it. */
    [[noreturn]] void terminate() noexcept {
#if THRUM_CPP_EXCEPTIONS
        try {
            raise_any();
        } catch (...) {
            std::terminate();
        }
#endif
        std::terminate();
    }
    /* Returns it, and no longer keeps it. */
    std::exception_ptr take() noexcept {
        return std::exchange(exception_, nullptr);
    }
    /* Throws it, and no longer keeps it. */
    void raise_any() {
#if THRUM_CPP_EXCEPTIONS
        if (exception_) {
            std::rethrow_exception(std::exchange(exception_, nullptr));
        }
#endif
    }

  private:
    std::exception_ptr exception_;
};

/* A result or an exception. The result may be void, a reference, or a type that only moves. */
template <typename T> class outcome {
  public:
    template <typename Fn> void run(Fn &&fn) noexcept {
        failure_.around([&] { value_.emplace(std::forward<Fn>(fn)()); });
    }
    T take() {
        failure_.raise_any();
        return std::move(*value_);
    }

    bool has_failed() const noexcept {
        return failure_.is_set();
    }
    /* The exit status of the child of a fork, in which this was the end of a task's body. */
    int status() const noexcept {
        if constexpr (std::is_integral_v<T>) {
            return has_failed() ? 1 : static_cast<int>(*value_);
        }
        return has_failed();
    }

  private:
    caught failure_;
    std::optional<T> value_;
};

template <typename T> class outcome<T &> {
  public:
    template <typename Fn> void run(Fn &&fn) noexcept {
        failure_.around([&] { value_ = std::addressof(std::forward<Fn>(fn)()); });
    }
    T &take() {
        failure_.raise_any();
        return *value_;
    }

    bool has_failed() const noexcept {
        return failure_.is_set();
    }
    int status() const noexcept {
        return has_failed();
    }

  private:
    caught failure_;
    T *value_ = nullptr;
};

template <> class outcome<void> {
  public:
    template <typename Fn> void run(Fn &&fn) noexcept {
        failure_.around([&] { (void)std::forward<Fn>(fn)(); });
    }
    void take() {
        failure_.raise_any();
    }

    bool has_failed() const noexcept {
        return failure_.is_set();
    }
    int status() const noexcept {
        return has_failed();
    }

  private:
    caught failure_;
};

/* Waits in a frame that must not be left before: a cancel does not end them. */
class [[nodiscard]] shielded {
  public:
    [[nodiscard]] shielded() noexcept {
        thrum_shield_begin();
    }
    ~shielded() {
        thrum_shield_end();
    }
    shielded(const shielded &) = delete;
    shielded &operator=(const shielded &) = delete;
};

} // namespace detail
} // namespace THRUM_CPP_ABI
} // namespace thrum

#endif
