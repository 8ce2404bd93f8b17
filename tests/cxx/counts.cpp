/*
 * counts.cpp: what is allocated, and copied, beyond what the C library does: nothing, where the
 * header does not say so.
 */
/* matrix: policy workers */
#include "check.h"

#include <stdlib.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <thrum/thrum.hpp>

#include "support/cxx.hpp"
#include "support/programs.hpp"

using namespace std::chrono_literals;

namespace {

/* A callable, or a value, that could be copied, and says when it is. */
struct copyable : counted {
    static std::atomic<int> copies;
    copyable() = default;
    copyable(const copyable &) : counted() {
        copies++;
    }
    copyable(copyable &&) = default;
    template <typename... Arg> int operator()(Arg &&...) const {
        return 0;
    }
};
std::atomic<int> copyable::copies;

/* As often as operator new was called in `fn`. */
template <typename Fn> int allocated(Fn fn) {
    const int before = allocations.load();
    fn();
    return allocations.load() - before;
}

} // namespace

#ifdef NEW_IS_TAKEN
#define COUNTS() CHECK_SKIP("the sanitizer counts allocations, not we")
#else
#define COUNTS() (void)0
#endif

TEST(a_graph_allocates_its_nodes) {
    /* One for each, none for an edge or a run, also one in which a node fails by a number. */
    COUNTS();
    thrum::run([] {
        thrum::dag graph;
        int first = 0;
        int second = 0;
        CHECK_EQ(allocated([&] { first = graph.node([kept = copyable()] {}); }), 1);
        CHECK_EQ(allocated([&] { second = graph.node([](void *) { return -EDOM; }); }), 1);
        CHECK_EQ(allocated([&] {
                     graph.edge(first, second);
                     CHECK_EQ(graph.try_run().code(), -EDOM);
                     thrum::dag moved = std::move(graph);
                 }),
                 0);
    });
    CHECK_EQ(counted::alive.load(), 0);
}

TEST(a_local_allocates_a_value_for_each_task) {
    /* At its first use in the task, and not again. */
    COUNTS();
    thrum::run([] {
        thrum::local<copyable> values;
        CHECK_EQ(allocated([&] {
                     CHECK(values.get() == nullptr);
                     values.value();
                     values.value();
                     CHECK(values.get() != nullptr);
                 }),
                 1);
        auto made = std::make_unique<copyable>();
        CHECK_EQ(allocated([&] {
                     values.set(std::move(made));
                     values.reset();
                 }),
                 0);
        thrum::spawn([&] { CHECK_EQ(allocated([&] { values.value(); }), 1); }).join();
    });
    CHECK_EQ(counted::alive.load(), 0);
}

TEST(a_source_allocates_what_asks_it) {
    /* Once; no operation allocates. */
    COUNTS();
    thrum::run([] {
        thrum::semaphore done(0);
        thrum::source source;
        CHECK_EQ(allocated([&] {
                     source = thrum::source([&, kept = copyable()] {
                         done.post();
                         source.end();
                     });
                 }),
                 1);
        CHECK_EQ(allocated([&] {
                     for (int i = 0; i < 3; i++) {
                         source.begin();
                         done.wait();
                     }
                     source.close();
                 }),
                 0);
    });
    CHECK_EQ(counted::alive.load(), 0);
}

TEST(datagrams_allocate_nothing) {
    /* Neither do addresses, but as texts. */
    COUNTS();
    thrum::run([] {
        CHECK_EQ(allocated([] {
                     thrum::datagrams here = thrum::datagrams::listen("udp:127.0.0.1:0");
                     char at[THRUM_ADDRESS_TEXT];
                     thrum::check(thrum_io_local(here.native_handle(), at, sizeof(at)));
                     thrum::datagrams there = thrum::datagrams::dial(at);
                     char bytes[8];
                     thrum::address from;
                     there.send("hello", 5);
                     CHECK_EQ(here.receive(bytes, sizeof(bytes), &from), 5u);
                     here.send(bytes, 5, from);
                     CHECK_EQ(there.receive_for(bytes, sizeof(bytes), 1h), 5);
                     thrum::address found = thrum::resolve("127.0.0.1", 53);
                     from = found;
                     CHECK(bool(from));
                     here = std::move(there);
                 }),
                 0);
    });
}

TEST(a_watch_allocates_what_it_has_read) {
    /* Once; neither a path that is added nor a change. */
    NOT_BY_POSIX("changes of files");
    COUNTS();
    thrum::run([] {
        char path[] = "/tmp/thrum-counts-XXXXXX";
        CHECK(mkdtemp(path) != nullptr);
        const std::string name = std::string(path) + "/made";
        CHECK_EQ(allocated([] { thrum::watch none; }), 1);
        thrum::watch changes;
        CHECK_EQ(allocated([&] {
                     changes.add(path, THRUM_WATCH_CREATED);
                     { thrum::file made(name.c_str(), THRUM_FILE_WRITE | THRUM_FILE_CREATE); }
                     CHECK_STR(changes.next().name, "made");
                     thrum_watch_event event;
                     CHECK(changes.next_for(event, 1ms).timed_out());
                     thrum::watch moved = std::move(changes);
                 }),
                 0);
        CHECK_EQ(unlink(name.c_str()), 0);
        CHECK_EQ(rmdir(path), 0);
    });
}

TEST(processes_allocate_nothing) {
    /* What a program wrote is where C has put it. */
    COUNTS();
    thrum::run([] {
        CHECK_EQ(allocated([] {
                     const script cat("exec cat");
                     thrum::process_output output = thrum::run_process(cat.argv, "some words");
                     thrum::process_output moved = std::move(output);
                     CHECK(moved.out() == "some words");
                     const script sleeps("exec sleep 1000");
                     thrum::process started(sleeps.argv);
                     thrum::process owner = std::move(started);
                     owner.kill(SIGKILL);
                     CHECK_EQ(owner.wait().signal, SIGKILL);
                 }),
                 0);
    });
}

TEST(channels_and_selects_allocate_nothing) {
    /* Of values that are bytes, and of what owns a pointer; others are one each. */
    COUNTS();
    struct large {
        std::unique_ptr<int> owned;
        char bytes[200];
    };
    thrum::run([] {
        thrum::chan<int> numbers(4);
        thrum::chan<std::unique_ptr<int>> pointers(4);
        thrum::chan<large> larges(4);
        auto owned = std::make_unique<int>(1);
        CHECK_EQ(allocated([&] {
                     numbers.send(1);
                     CHECK_EQ(numbers.recv().value(), 1);
                     pointers.send(std::move(owned));
                     CHECK_EQ(*pointers.recv().value(), 1);
                 }),
                 0);
        large one = {};
        CHECK_EQ(allocated([&] {
                     larges.send(std::move(one));
                     (void)larges.recv();
                 }),
                 1);
    });
}

TEST(no_callable_is_copied) {
    /* It is moved to where it is called, whoever calls it. */
    thrum::run([] {
        {
            thrum::go(copyable());
            CHECK_EQ(thrum::spawn(copyable()).join(), 0);
            thrum::fork forked((copyable()));
            CHECK_EQ(forked.join(), 0);
            thrum::scope scope;
            for (int i = 0; i < 20; i++) {
                scope.go(copyable());
            }
            scope.join();
            thrum::dag graph;
            graph.node(copyable());
            graph.run();
            thrum::source source((copyable()));
            thrum::tickets order;
            order.go(copyable());
            thrum::ticket(order).wait();
            CHECK_EQ(thrum::blocking(copyable()), 0);
            CHECK_EQ(thrum::with_deadline(by(far_off()), copyable()), 0);
            thrum::parallel_for(0, 100, copyable());
        }
    });
    CHECK_EQ(thrum::run(copyable()), 0);
    CHECK_EQ(copyable::copies.load(), 0);
    CHECK_EQ(counted::alive.load(), 0);
}
