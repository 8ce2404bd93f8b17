/*
 * graphs.cpp: graphs of calls, values of each task's own, and poll sources.
 */
/* matrix: policy workers */
#include "check.h"

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <thrum/thrum.hpp>

#include "support/cxx.hpp"

using namespace std::chrono_literals;

/* ---- graphs ---- */

TEST(a_graph_calls_its_nodes_in_order) {
    /* Again and again, with a callable that only moves; a plain thread may run it, too. */
    std::vector<int> order;
    thrum::dag made;
    auto owned = std::make_unique<int>(2);
    const int last = made.node([&order, owned = std::move(owned)] { order.push_back(*owned); });
    const int first = made.node([&] { order.push_back(1); });
    made.edge(first, last);
    thrum::dag graph = std::move(made);
    thrum::run([&] {
        graph.run();
        graph.run();
    });
    graph.run();
    CHECK(order == (std::vector<int>{1, 2, 1, 2, 1, 2}));
    graph = thrum::dag();
    graph.run();
    CHECK_EQ(order.size(), 6u);
}

TEST(a_node_that_throws_holds_up_what_comes_after_it) {
    /* What the lower number threw is thrown, whichever came first; what is free of both is run. */
    thrum::run([] {
        thrum::dag graph;
        int calls = 0;
        const int low = graph.node([] { throw std::runtime_error("low"); });
        const int high = graph.node([] { throw std::logic_error("high"); });
        const int after = graph.node([&] { calls += 100; });
        graph.node([&] { calls++; });
        graph.edge(low, after);
        graph.edge(high, after);
        CHECK_EQ(code_of([&] { graph.run(); }), -1);
        CHECK_EQ(calls, 1);
    });
}

TEST(a_node_says_by_a_number_that_it_fails) {
    /* A code is thrown as one, and returned where it was asked for. */
    thrum::run([] {
        thrum::dag graph;
        int code = -ENOENT;
        graph.node([&] { return code; });
        CHECK_EQ(code_of([&] { graph.run(); }), ENOENT);
        CHECK_EQ(graph.try_run().code(), -ENOENT);
        code = 3;
        CHECK_EQ(code_of([&] { graph.run(); }), EIO);
        CHECK_EQ(graph.try_run().code(), 3);
        code = 0;
        CHECK_EQ(graph.try_run().code(), 0);
        CHECK_EQ(code_of([&] { graph.edge(0, 7); }), EINVAL);
        graph.edge(0, 0);
        CHECK_EQ(code_of([&] { graph.run(); }), ELOOP);
    });
}

TEST(runs_of_a_graph_have_arguments_of_their_own) {
    /* Two at a time, of which one throws: the other hears nothing of that. */
    thrum::run([] {
        thrum::dag graph;
        const int adds = graph.node([](void *arg) { *static_cast<int *>(arg) += 1; });
        const int checks = graph.node([](void *arg) {
            thrum::yield();
            if (*static_cast<int *>(arg) > 10) {
                throw std::runtime_error("too much");
            }
        });
        graph.edge(adds, checks);
        int few = 1;
        int many = 10;
        auto other = thrum::spawn([&] { return code_of([&] { graph.run(&many); }); });
        CHECK_EQ(code_of([&] { graph.run(&few); }), 0);
        CHECK_EQ(other.join(), -1);
        CHECK_EQ(few + many, 2 + 11);
    });
}

TEST(a_long_graph_is_freed) {
    /* A hundred thousand nodes: their callables go one by one. */
    thrum::dag graph;
    auto shared = std::make_shared<int>(0);
    for (int i = 0; i < 100000; i++) {
        graph.node([shared] { ++*shared; });
    }
    CHECK_EQ(shared.use_count(), 100001);
    graph = thrum::dag();
    CHECK_EQ(shared.use_count(), 1);
}

/* ---- values of each task's own ---- */

TEST(each_task_has_its_own_value) {
    /* Made when it is asked for, and destroyed with the task, on another worker as well. */
    thrum::run([] {
        thrum::local<std::string> name;
        thrum::local<counted> count;
        CHECK(name.get() == nullptr);
        name.value() = "outer";
        auto inner = thrum::spawn([&] {
            CHECK(name.get() == nullptr);
            name.value() = "inner";
            (void)count.value();
            for (int i = 0; i < 10; i++) {
                thrum::yield();
            }
            CHECK_STR(name.value().c_str(), "inner");
            return counted::alive.load();
        });
        CHECK_EQ(inner.join(), 1);
        CHECK_EQ(counted::alive.load(), 0);
        CHECK_STR(name.get()->c_str(), "outer");
        (void)count.set(std::make_unique<counted>());
        (void)count.set(std::make_unique<counted>());
        CHECK_EQ(counted::alive.load(), 1);
        count.reset();
        CHECK_EQ(counted::alive.load(), 0);
        (void)count.value();
    });
    CHECK_EQ(counted::alive.load(), 0);
}

TEST(there_are_only_so_many_keys) {
    /* The next one says so; a thread has values as well. */
    thrum::local<int> number;
    number.value() = 4;
    CHECK_EQ(*number.get(), 4);
    std::vector<std::unique_ptr<thrum::local<int>>> all;
    CHECK_EQ(code_of([&] {
                 for (int i = 0; i <= THRUM_KEYS_MAX; i++) {
                     all.push_back(std::make_unique<thrum::local<int>>());
                 }
             }),
             EAGAIN);
}

/* ---- poll sources ---- */

TEST(a_source_is_asked_while_something_is_under_way) {
    /* Until it ends it; a source that was assigned to is closed. */
    thrum::run([] {
        thrum::semaphore done(0);
        std::atomic<bool> happened(false);
        std::atomic<int> asked(0);
        thrum::source source;
        CHECK(!source);
        source = thrum::source([&, owned = std::make_unique<int>(1)] {
            asked += *owned;
            if (happened.exchange(false)) {
                done.post();
                source.end();
            }
        });
        CHECK_EQ(asked.load(), 0);
        source.begin();
        CHECK_EQ(code_of([&] { source.close(); }), EBUSY);
        happened = true;
        done.wait();
        CHECK(asked.load() > 0);
        CHECK(bool(source.try_begin()));
        happened = true;
        done.wait();
        source.close(); /* waits for the call that has posted, which ends the operation */
        CHECK(!source);
    });
    CHECK_EQ(code_of([] { thrum::source none([] {}); }), EINVAL);
}

TEST(a_loop_of_others_runs_tasks) {
    /* On a thread that is bound to a scheduler without workers. */
    CHECK_EQ(code_of([] { (void)thrum::poll_fd(); }), ESRCH);
    thrum_config config;
    thrum_config_init(&config);
    config.workers = 0;
    thrum::scheduler own(&config);
    thrum::bound_thread here(own);
    CHECK(thrum::poll_fd() >= 0);
    bool ran = false;
    thrum::go([&] { ran = true; });
    CHECK_EQ(thrum::poll_run().when(), THRUM_FOREVER);
    CHECK(ran);
}
