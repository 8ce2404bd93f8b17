/*
 * thrum/cpp/when.hpp: several coroutines at a time.
 *
 *     auto [page, size] = co_await thrum::when_all(fetch(url), measure(url));
 *     std::variant<reply, reply> first = co_await thrum::when_any(ask(one), ask(two));
 *
 * Each runs by itself (spawn), and all have ended when the await returns or throws; so they may
 * refer to the caller's frame. A cancel of the caller cancels them.
 */
#ifndef THRUM_CPP_WHEN_HPP
#define THRUM_CPP_WHEN_HPP

#if defined(__cpp_impl_coroutine)

#include <array>
#include <atomic>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

/* For std::reference_wrapper: libstdc++ has it in <stop_token> too, <functional> is 0.1 s more. */
#if defined(__GLIBCXX__) && __has_include(<stop_token>)
#include <stop_token>
#else
#include <functional>
#endif

#include "thrum/cpp/coroutine.hpp"

namespace thrum {
inline namespace THRUM_CPP_ABI {
namespace detail {

/* A result as a tuple or a variant can have it. */
template <typename T> struct kept {
    using type = T;
    static T take(outcome<T> &ended) {
        return ended.take();
    }
};
template <typename T> struct kept<T &> {
    using type = std::reference_wrapper<T>;
    static type take(outcome<T &> &ended) {
        return ended.take();
    }
};
template <> struct kept<void> {
    using type = std::monostate;
    static type take(outcome<void> &ended) {
        ended.take();
        return {};
    }
};

/* Several coroutines: which of them ended first, and which threw first. */
class gathering {
  public:
    void ends(int number, bool failed) noexcept {
        int none = -1;
        if (failed) {
            xfailed_.compare_exchange_strong(none, number, std::memory_order_acq_rel);
            none = -1;
        }
        xfirst_.compare_exchange_strong(none, number, std::memory_order_acq_rel);
        thrum_sem_post(&ended_); /* the caller waits for its end besides */
    }
    int first() const noexcept {
        return xfirst_.load(std::memory_order_acquire);
    }
    int failed() const noexcept {
        return xfailed_.load(std::memory_order_acquire);
    }
    thrum_sem &ended() noexcept {
        return ended_;
    }

  private:
    thrum_sem ended_ = THRUM_SEM_INIT(0);
    std::atomic<int> xfirst_{-1};
    std::atomic<int> xfailed_{-1};
};

/* Runs one of them. Its result stays in it. */
template <typename Promise>
co<> gathered(std::coroutine_handle<Promise> body, gathering &all, int number) {
    co_await co_run<Promise>(body);
    all.ends(number, body.promise().ended.has_failed());
}

/* Waits for the end of all; cancels the rest once one threw, or `any` has ended. */
template <typename Gathering>
co<> gather(Gathering &all, co_task<> *running, size_t count, bool any) {
    bool enough = false;
    for (size_t ended = 0; ended < count && !enough; ended++) {
        const status came = co_await wait_until(all.ended(), deadline::never());
        enough = !came || any || all.failed() >= 0;
    }
    if (enough) {
        for (size_t i = 0; i < count; i++) {
            running[i].cancel();
        }
    }
    for (size_t i = 0; i < count; i++) {
        co_await std::move(running[i]);
    }
}

template <size_t... I, typename... Ts>
std::array<co_task<>, sizeof...(Ts)> start(gathering &all, std::index_sequence<I...>,
                                           co<Ts> &...each) {
    return {spawn(gathered(each.native_handle(), all, static_cast<int>(I)))...};
}

template <typename T> outcome<T> &outcome_of(co<T> &ended) noexcept {
    return ended.native_handle().promise().ended;
}

/* Throws the exception of the coroutine of that number. */
template <size_t... I, typename... Ts>
void raise_of(int number, std::index_sequence<I...>, co<Ts> &...each) {
    ((static_cast<int>(I) == number ? (void)outcome_of(each).take() : void()), ...);
}

template <typename Result, size_t... I, typename... Ts>
void take_of(int number, std::optional<Result> &into, std::index_sequence<I...>, co<Ts> &...each) {
    ((static_cast<int>(I) == number
          ? (void)into.emplace(std::in_place_index<I>, kept<Ts>::take(outcome_of(each)))
          : void()),
     ...);
}

} // namespace detail

/*
 * Runs the coroutines at the same time, and returns their results as a tuple: for void
 * std::monostate, for a reference std::reference_wrapper. If one throws, the others are cancelled,
 * and the exception that came first is thrown once all have ended. Errors of spawn are thrown, too.
 */
template <typename... Ts>
co<std::tuple<typename detail::kept<Ts>::type...>> when_all(co<Ts>... each) {
    static_assert(sizeof...(Ts) > 0);
    detail::gathering all;
    constexpr auto numbers = std::index_sequence_for<Ts...>();
    auto running = detail::start(all, numbers, each...);
    co_await detail::gather(all, running.data(), running.size(), false);
    detail::raise_of(all.failed(), numbers, each...);
    co_return std::tuple<typename detail::kept<Ts>::type...>{
        detail::kept<Ts>::take(detail::outcome_of(each))...};
}

/*
 * Runs the coroutines at the same time, and returns the result of the one that ended first, or
 * throws its exception. Its number is the index() of the variant. The others are cancelled, and
 * have ended; their results and exceptions are dropped.
 */
template <typename... Ts>
co<std::variant<typename detail::kept<Ts>::type...>> when_any(co<Ts>... each) {
    static_assert(sizeof...(Ts) > 0);
    detail::gathering all;
    constexpr auto numbers = std::index_sequence_for<Ts...>();
    auto running = detail::start(all, numbers, each...);
    co_await detail::gather(all, running.data(), running.size(), true);
    std::optional<std::variant<typename detail::kept<Ts>::type...>> first;
    detail::take_of(all.first(), first, numbers, each...);
    co_return std::move(*first);
}

} // namespace THRUM_CPP_ABI
} // namespace thrum

#endif
#endif
