/*
 * thrum/cpp/error.hpp: errors and deadlines in C++.
 *
 * A call without a deadline throws std::system_error, with the C call's code in the generic
 * category. A call whose name begins with `try_` or ends in `_until` throws no std::system_error.
 * It returns a `thrum::status` (for a lock a bool, for `io` a count or a code). Sends to a channel
 * throw std::bad_alloc if there is no memory for a value, and the exceptions of moving the value.
 * If the compiler has no exceptions, the text of the exception is printed and the program aborts.
 */
#ifndef THRUM_CPP_ERROR_HPP
#define THRUM_CPP_ERROR_HPP

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <system_error>
#include <type_traits>

#include "thrum/base.h"

#if defined(__cpp_exceptions)
#define THRUM_CPP_EXCEPTIONS 1
#else
#define THRUM_CPP_EXCEPTIONS 0
#endif

/*
 * The inline namespace has one name with exceptions and another without: a program may have units
 * of both kinds, in which functions of one name are not the same.
 */
#if THRUM_CPP_EXCEPTIONS
#define THRUM_CPP_ABI with_exceptions
#else
#define THRUM_CPP_ABI without_exceptions
#endif

namespace thrum {
inline namespace THRUM_CPP_ABI {

/*
 * The result of a call that does not throw: 0 or more, or a negative errno code. It is true if the
 * call succeeded.
 */
class [[nodiscard]] status {
  public:
    constexpr explicit status(int code) noexcept : code_(code) {
    }
    constexpr explicit operator bool() const noexcept {
        return code_ >= 0;
    }
    constexpr int code() const noexcept {
        return code_;
    }
    constexpr bool timed_out() const noexcept {
        return code_ == -ETIMEDOUT;
    }
    constexpr bool cancelled() const noexcept {
        return code_ == -ECANCELED;
    }
    /* The channel is closed. */
    constexpr bool closed() const noexcept {
        return code_ == -EPIPE;
    }
    /* The call would have had to wait, or another caller holds the object. */
    constexpr bool busy() const noexcept {
        return code_ == -EAGAIN || code_ == -EBUSY;
    }
    const char *what() const noexcept {
        return thrum_strerror(code_ < 0 ? code_ : 0);
    }
    std::error_code error() const noexcept {
        return std::error_code(code_ < 0 ? -code_ : 0, std::generic_category());
    }

  private:
    int code_;
};

/* Throws std::system_error of a negative code. Its text begins with `words`, if there are any. */
[[noreturn]] inline void raise(int code, const char *words = "") {
#if THRUM_CPP_EXCEPTIONS
    if (*words != '\0') {
        throw std::system_error(-code, std::generic_category(), words);
    }
    throw std::system_error(-code, std::generic_category());
#else
    std::fprintf(stderr, "thrum: %s%s%s\n", words, *words != '\0' ? ": " : "",
                 thrum_strerror(code));
    std::abort();
#endif
}

namespace detail {

/*
 * Ends the program in a destructor whose C call has failed: it prints one line and calls
 * std::terminate.
 */
[[noreturn]] inline void refused(const char *call, int code) noexcept {
    std::fprintf(stderr, "thrum: %s: %s\n", call, thrum_strerror(code));
    std::terminate();
}

} // namespace detail

/* Returns a C call's result, and throws if it is a negative code. */
template <typename Int> Int check(Int result) {
    if (result < 0) {
        raise(static_cast<int>(result));
    }
    return result;
}

/* A duration in nanoseconds, rounded up; THRUM_FOREVER if it is longer than that type can hold. */
template <typename Rep, typename Period>
constexpr thrum_time nanoseconds(std::chrono::duration<Rep, Period> length) noexcept {
    /* Asked in floating point, which has room for each duration. The bound lies 76 us below the
     * largest, since such numbers are 1024 apart there. */
    const auto about = std::chrono::duration<double, std::nano>(length).count();
    if (!(about < 9.2233720368547e18)) {
        return THRUM_FOREVER;
    }
    if (about < -9.2233720368547e18) {
        return -THRUM_FOREVER;
    }
    /* Seconds first: ticks of an odd length, as 1/2999999999 s, overflow when multiplied. */
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(length);
    const auto rest = length - seconds;
    const auto whole = std::chrono::duration_cast<std::chrono::nanoseconds>(rest);
    return static_cast<thrum_time>(seconds.count()) * 1000000000 +
           static_cast<thrum_time>(whole.count()) + (whole < rest ? 1 : 0);
}

/*
 * An instant until which a call waits: made of a time point of any clock, or by `thrum::after` of a
 * duration. The instant of another clock than the steady one is converted once, when it is made.
 */
class deadline {
  public:
    template <typename Clock, typename Duration>
    deadline(std::chrono::time_point<Clock, Duration> when) noexcept : when_(convert<Clock>(when)) {
    }
    /* An instant of thrum_now's clock, THRUM_FOREVER included. */
    static constexpr deadline at(thrum_time when) noexcept {
        return deadline(when, 0);
    }
    static constexpr deadline never() noexcept {
        return deadline(THRUM_FOREVER, 0);
    }
    constexpr thrum_time when() const noexcept {
        return when_;
    }

  private:
    constexpr deadline(thrum_time when, int) noexcept : when_(when) {
    }
    template <typename Clock, typename Point> static thrum_time convert(Point when) noexcept {
        if constexpr (std::is_same_v<Clock, std::chrono::steady_clock>) {
            return nanoseconds(when.time_since_epoch()); /* it is the monotonic clock, too */
        } else {
            /*
             * In nanoseconds first: the two points may be further apart than a duration can hold.
             */
            const thrum_time then = nanoseconds(when.time_since_epoch());
            const thrum_time now = nanoseconds(Clock::now().time_since_epoch());
            if (then <= now) {
                return thrum_now() - 1;
            }
            const bool is_far = then == THRUM_FOREVER || (now < 0 && then > THRUM_FOREVER + now);
            return is_far ? THRUM_FOREVER : thrum_after(then - now);
        }
    }

    thrum_time when_;
};

/* The instant so long from now. */
template <typename Rep, typename Period>
deadline after(std::chrono::duration<Rep, Period> length) noexcept {
    return deadline::at(thrum_after(nanoseconds(length)));
}

} // namespace THRUM_CPP_ABI
} // namespace thrum

#endif
