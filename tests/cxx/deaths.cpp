/*
 * deaths.cpp: what ends the program: exceptions that nobody would hear of, and primitives that are
 * destroyed while somebody waits at them.
 */
#include "check.h"

#include <stdexcept>

#include <thrum/thrum.hpp>

#include "support/cxx.hpp"

using namespace std::chrono_literals;

namespace {

/*
 * Runs it as a first task, on one worker, in a process that has to end by std::terminate, and to
 * say so, or what the exception says.
 */
template <typename Fn> void terminates(Fn fn, const char *said = "terminat") {
    check_dies(
        [](void *arg) {
            thrum_config config;
            thrum_config_init(&config);
            config.workers = 1;
            config.workers_spare = 0;
            thrum::run(&config, *static_cast<Fn *>(arg));
        },
        &fn, said);
}

/* Calls fn while a task is in `wait`. */
template <typename Wait, typename Fn> void beside(Wait wait, Fn fn) {
    std::atomic<bool> begun(false);
    auto waiter = thrum::spawn([&] {
        begun = true;
        wait();
    });
    while (!begun) {
        thrum::yield();
    }
    fn(); /* there is one worker: the task has let it go by waiting */
    waiter.detach();
}

/* A primitive of type T is destroyed while a task waits at it. */
template <typename T, typename... Args> void dies_waited_for(Args... args) {
    terminates(
        [=] {
            auto *waited = new T(args...);
            beside([=] { waited->wait(); }, [=] { delete waited; });
        },
        "thrum: thrum::~");
}

} // namespace

TEST(an_exception_of_a_detached_task_ends_the_program) {
    /* Nobody would hear of it; so for one that runs when its turn comes. */
    terminates([] {
        thrum::go([] { throw std::runtime_error("x"); });
        thrum::sleep(1h);
    });
    terminates([] {
        thrum::tickets order;
        order.go([] { throw std::runtime_error("x"); });
        thrum::sleep(1h);
    });
}

TEST(a_scope_that_is_not_joined_hides_no_exception) {
    /* Its end without a join, after a child threw, is that exception's. */
    terminates(
        [] {
            thrum::scope scope;
            scope.go([] { throw std::runtime_error("what the child said"); });
        },
        "what the child said");
}

TEST(a_block_s_end_does_not_throw) {
    /* What a deferred call throws. */
    terminates([] { thrum::defer end([] { throw std::runtime_error("x"); }); });
}

TEST(what_is_waited_for_is_not_destroyed) {
    /* Events, semaphores, waitgroups and barriers. */
    dies_waited_for<thrum::event>(THRUM_EVENT_MANUAL);
    dies_waited_for<thrum::semaphore>(0);
    dies_waited_for<thrum::waitgroup>(1);
    dies_waited_for<thrum::barrier>(2);
}

TEST(a_channel_that_is_waited_for_is_not_destroyed) {
    /* By a receiver. */
    terminates(
        [] {
            auto *numbers = new thrum::chan<int>;
            beside([=] { numbers->recv(); }, [=] { delete numbers; });
        },
        "thrum: thrum::~chan: in use");
}

TEST(an_order_with_tickets_is_not_destroyed) {
    /* With one that is not done. */
    terminates(
        [] {
            auto *order = new thrum::tickets;
            thrum::ticket one(*order);
            delete order;
        },
        "thrum: thrum::~tickets: in use");
}

TEST(a_once_is_not_destroyed_while_its_function_runs) {
    /* By that function. */
    terminates(
        [] {
            auto *flag = new thrum::once;
            flag->call([=] { delete flag; });
        },
        "thrum: thrum::~once: in use");
}

TEST(a_scheduler_is_not_destroyed_by_its_own_task) {
    /* It would wait for itself. */
    terminates(
        [] {
            static thrum::scheduler *own = new thrum::scheduler;
            thrum::spawn(thrum::attr().sched(*own), [] { delete own; }).join();
        },
        "thrum: thrum::~scheduler: the caller would wait for itself");
}

TEST(a_server_s_connection_throws_no_other_exception) {
    /* Than a std::system_error. */
    terminates([] {
        thrum::listener listener(own_address().c_str());
        auto server = thrum::spawn(
            [&] { thrum::serve(listener, [](thrum::io) { throw std::runtime_error("x"); }); });
        thrum::io ours = thrum::dial(own_address().c_str());
        server.join();
    });
}
