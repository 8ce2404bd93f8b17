/*
 * senders.hpp: for the tests of senders: receivers, an adaptor and a wait, as an implementation of
 * std::execution has them.
 */
#ifndef SENDERS_HPP
#define SENDERS_HPP

#include <atomic>
#include <exception>
#include <utility>

#include <thrum/cpp/execution.hpp>
#include <thrum/thrum.hpp>

#if __cplusplus >= 202002L

namespace {

enum class ending { none, value, error, stopped };

/* How an operation has ended; a second end is a failure. */
struct result {
    std::atomic<ending> how{ending::none};
    std::exception_ptr error;
    thrum::event over{THRUM_EVENT_MANUAL};

    void ends(ending as) noexcept {
        CHECK(how.exchange(as) == ending::none);
        over.signal(); /* from here on all of it may be gone */
    }
    ending wait() {
        over.wait();
        return how;
    }
};

/* A token that never stops, as C++26 has it. */
struct no_token {
    template <typename Fn> struct callback_type {
        callback_type(no_token, Fn) noexcept {
        }
    };
    static constexpr bool stop_requested() noexcept {
        return false;
    }
};

template <typename Token> struct token_env {
    Token token;
    Token query(thrum::execution::words::get_stop_token_t) const noexcept {
        return token;
    }
};

template <typename Token = no_token> struct into {
    result *to;
    Token token = {};

    void set_value() noexcept {
        to->ends(ending::value);
    }
    void set_stopped() noexcept {
        to->ends(ending::stopped);
    }
    void set_error(std::exception_ptr error) noexcept {
        to->error = std::move(error);
        to->ends(ending::error);
    }
    token_env<Token> get_env() const noexcept {
        return {token};
    }
};

/* An adaptor: calls a function at the value. */
template <typename Sender, typename Fn> struct then_sender {
    Sender from;
    Fn fn;

    template <typename R> struct receiver {
        R to;
        Fn fn;
        void set_value() noexcept {
            fn();
            std::move(to).set_value();
        }
        void set_stopped() noexcept {
            std::move(to).set_stopped();
        }
        auto get_env() const noexcept {
            return to.get_env();
        }
    };
    template <typename R> auto connect(R to) && {
        return std::move(from).connect(receiver<R>{std::move(to), std::move(fn)});
    }
};
template <typename Sender, typename Fn> then_sender<Sender, Fn> then(Sender from, Fn fn) {
    return {std::move(from), std::move(fn)};
}

template <typename Sender> ending sync_wait(Sender from) {
    result ended;
    auto operation = std::move(from).connect(into<>{&ended});
    operation.start();
    return ended.wait();
}

} // namespace

#endif
#endif
