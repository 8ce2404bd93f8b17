/*
 * senders_20.cpp: a scheduler in the shape of std::execution, its senders, and the ends of their
 * operations: a value, an error or a stop, exactly once.
 */
/* matrix: policy workers */
#include "check.h"

#include <stdexcept>
#include <type_traits>
#include <vector>

#include "senders.hpp"
#include "support/cxx.hpp"

#if defined(__cpp_lib_jthread)
#include <thread>
#endif

using namespace std::chrono_literals;

namespace {

namespace ex = thrum::execution;

/* Another implementation's names, which a scheduler takes instead of thrum's. */
struct other_words {
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

/* A token that is stopped, and that counts its callbacks. */
struct stopped_token {
    std::atomic<int> *callbacks;
    template <typename Fn> struct callback_type {
        std::atomic<int> *callbacks;
        callback_type(stopped_token token, Fn fn) noexcept : callbacks(token.callbacks) {
            ++*callbacks;
            fn();
        }
        callback_type(const callback_type &) = delete;
        ~callback_type() {
            --*callbacks;
        }
    };
    bool stop_requested() const noexcept {
        return callbacks;
    }
};

/* A receiver that knows the names of the other implementation. It only moves. */
struct other_receiver {
    result *to;
    std::atomic<int> *callbacks;

    other_receiver(result *ended, std::atomic<int> *counted) : to(ended), callbacks(counted) {
    }
    other_receiver(other_receiver &&) = default;
    void set_value() noexcept {
        to->ends(ending::value);
    }
    void set_stopped() noexcept {
        CHECK_EQ(callbacks->load(), 0);
        to->ends(ending::stopped);
    }
    struct env {
        std::atomic<int> *callbacks;
        stopped_token query(other_words::get_stop_token_t) const noexcept {
            return {callbacks};
        }
    };
    env get_env() const noexcept {
        return {callbacks};
    }
};

} // namespace

TEST(a_schedule_ends_in_a_task_of_the_scheduler) {
    /* Through an adaptor, from a plain thread and from a task, and without an allocation. */
    thrum::scheduler own;
    const ex::scheduler on(own);
    thrum_sched *seen = nullptr;
    const int before = allocations;
    CHECK(sync_wait(then(on.schedule(), [&] { seen = thrum_sched_current(); })) == ending::value);
    CHECK(seen == own.native_handle());
    CHECK_EQ(allocations.load(), before);
    CHECK(thrum::run([&] { return sync_wait(on.schedule()); }) == ending::value);
    CHECK(sync_wait(on.schedule_at(by(past()))) == ending::value);
    CHECK(sync_wait(on.schedule_after(0s)) == ending::value);
}

TEST(a_scheduler_has_the_shape) {
    /* Of its own names, and of those of another implementation. */
    thrum::scheduler own;
    using other = ex::basic_scheduler<other_words>;
    const ex::scheduler on(own);
    CHECK(on == ex::scheduler(own) && on != ex::scheduler(nullptr));
    CHECK(on.schedule().get_env().query(
              ex::words::get_completion_scheduler_t<ex::words::set_value_t>()) == on);
    using sender = decltype(other(own).schedule());
    using bulk = decltype(other(own).bulk(1, [](size_t) {}));
    static_assert(std::is_same_v<other::scheduler_concept, other_words::scheduler_t>);
    static_assert(std::is_same_v<sender::sender_concept, other_words::sender_t>);
    static_assert(std::is_same_v<sender::completion_signatures,
                                 other_words::completion_signatures<other_words::set_value_t(),
                                                                    other_words::set_stopped_t()>>);
    static_assert(
        std::is_same_v<bulk::completion_signatures,
                       other_words::completion_signatures<
                           other_words::set_value_t(), other_words::set_error_t(std::exception_ptr),
                           other_words::set_stopped_t()>>);
    static_assert(std::is_copy_constructible_v<other> &&
                  std::is_nothrow_move_constructible_v<other>);
    static_assert(ex::receiver<into<>> && ex::receiver_of_errors<into<>>);
    static_assert(ex::receiver<other_receiver> && !ex::receiver_of_errors<other_receiver>);
    static_assert(!ex::receiver<result>);
}

TEST(a_callback_is_gone_before_the_end) {
    /* Also if the scheduler refuses the post: the token may not live longer than the receiver. */
    thrum::scheduler own;
    const ex::basic_scheduler<other_words> on(own);
    for (int i = 0; i < 2; i++) {
        result ended;
        std::atomic<int> callbacks(0);
        auto waits = i ? on.schedule_after(1h) : on.schedule_at(thrum::deadline::never());
        auto operation = waits.connect(other_receiver(&ended, &callbacks));
        operation.start();
        CHECK(ended.wait() == ending::stopped);
    }
    result ended;
    std::atomic<int> callbacks(0);
    auto refused = on.schedule_after(1h).connect(other_receiver(&ended, &callbacks));
    own.stop();
    refused.start();
    CHECK(ended.wait() == ending::stopped);
}

TEST(bulk_calls_each_number_once) {
    /* Then comes the value; an exception becomes the error. */
    thrum::scheduler own;
    const ex::scheduler on(own);
    std::vector<std::atomic<int>> calls(1000);
    CHECK(sync_wait(on.bulk(calls.size(), [&](size_t i) { calls[i]++; })) == ending::value);
    for (auto &n : calls) {
        CHECK_EQ(n.load(), 1);
    }
    CHECK(sync_wait(on.bulk(0, [](size_t) { abort(); })) == ending::value);
    result ended;
    auto throws = on.bulk(1000, [](size_t i) {
        if (i == 7) {
            throw std::runtime_error("the seventh");
        }
    });
    auto operation = throws.connect(into<>{&ended});
    operation.start();
    CHECK(ended.wait() == ending::error);
    std::string said;
    try {
        std::rethrow_exception(ended.error);
    } catch (const std::runtime_error &error) {
        said = error.what();
    }
    CHECK_STR(said.c_str(), "the seventh");
}

TEST(a_stop_of_the_scheduler_stops_operations) {
    /* Those that wait without a deadline; with one, those past the deadline of the stop. */
    thrum::scheduler own;
    const ex::scheduler on(own);
    result never;
    result hour;
    auto first = on.schedule_at(thrum::deadline::never()).connect(into<>{&never});
    auto second = on.schedule_after(1h).connect(into<>{&hour});
    first.start();
    second.start();
    (void)own.stop_until(by(past()));
    CHECK(never.wait() == ending::stopped);
    CHECK(hour.wait() == ending::stopped);
}

TEST(a_queued_operation_is_not_destroyed) {
    /* One line names it. */
    check_dies(
        [](void *) {
            thrum::scheduler own;
            result ended;
            auto waits = ex::scheduler(own).schedule_after(1h).connect(into<>{&ended});
            waits.start();
        },
        NULL, "thrum: thrum::~intrusive_task");
}

#if defined(__cpp_lib_jthread)
namespace {

/* Ends by destroying its operation, as an operation on the heap does. */
struct heap_operation {
    result *ended;
    std::stop_token token;
    struct receiver {
        heap_operation *whole;
        void set_value() noexcept {
            whole->ends(ending::value);
        }
        void set_stopped() noexcept {
            whole->ends(ending::stopped);
        }
        token_env<std::stop_token> get_env() const noexcept {
            return {whole->token};
        }
    };
    using sender = decltype(std::declval<ex::scheduler>().schedule_after(1s));
    decltype(std::declval<sender>().connect(std::declval<receiver>())) operation;

    heap_operation(sender from, result *to, std::stop_token stops)
        : ended(to), token(std::move(stops)), operation(from.connect(receiver{this})) {
    }
    void ends(ending how) noexcept {
        result *to = ended;
        delete this;
        to->ends(how);
    }
};

} // namespace
#endif

TEST(a_stop_ends_an_operation_at_once) {
    /* Before its start, while it waits, and in the middle of a bulk. */
#if defined(__cpp_lib_jthread)
    thrum::scheduler own;
    const ex::scheduler on(own);
    std::stop_source source;
    result waits;
    auto hour = on.schedule_after(1h).connect(into<std::stop_token>{&waits, source.get_token()});
    hour.start();
    source.request_stop();
    CHECK(waits.wait() == ending::stopped);
    result stopped[2];
    auto at_once = on.schedule().connect(into<std::stop_token>{&stopped[0], source.get_token()});
    auto later =
        on.schedule_after(1h).connect(into<std::stop_token>{&stopped[1], source.get_token()});
    at_once.start();
    later.start();
    CHECK(stopped[0].wait() == ending::stopped && stopped[1].wait() == ending::stopped);
    std::stop_source middle;
    std::atomic<int> calls(0);
    result bulk;
    auto many = on.bulk(100000, [&](size_t) {
        calls++;
        middle.request_stop();
    });
    auto operation = many.connect(into<std::stop_token>{&bulk, middle.get_token()});
    operation.start();
    CHECK(bulk.wait() == ending::stopped);
    CHECK(calls.load() > 0 && calls.load() < 100000);
#else
    CHECK_SKIP("this library of C++ has no std::stop_token");
#endif
}

TEST(a_stop_may_come_while_an_operation_ends) {
    /* From a plain thread: before the deadline, with it or after it; the operation then is gone. */
#if defined(__cpp_lib_jthread)
    thrum::scheduler own;
    const ex::scheduler on(own);
    for (int i = 0; i < check_scaled(300); i++) {
        std::stop_source source;
        result ended;
        std::jthread stopper([&source] { source.request_stop(); });
        auto *made = new heap_operation(on.schedule_after(std::chrono::microseconds(i % 50)),
                                        &ended, source.get_token());
        made->operation.start();
        const ending how = ended.wait();
        CHECK(how == ending::value || how == ending::stopped);
    }
#else
    CHECK_SKIP("this library of C++ has no std::stop_token");
#endif
}
