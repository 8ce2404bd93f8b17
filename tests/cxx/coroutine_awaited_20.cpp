/*
 * coroutine_awaited_20.cpp: coroutines that wait for counts, turns, objects, what is done once,
 * streams, and calls in tasks (thrum/cpp/awaited.hpp).
 */
/* compile: -O1 -g1 */
/* matrix: policy workers */
#include "coroutines.hpp"

#include <optional>

#include <sys/socket.h>
#include <unistd.h>

namespace {

/* What each of them is told by its await: 0, or the code of what it throws. */
template <typename Await> thrum::co<int> ends_with(Await make) {
    try {
        (void)co_await make();
    } catch (const std::system_error &error) {
        co_return -error.code().value();
    }
    co_return 0;
}

/* The same for awaits that return a status. */
template <typename Await> thrum::co<int> status_of(Await make) {
    thrum::status got = co_await make();
    co_return got.code();
}

/* One of each to wait for, at which a coroutine would wait; `give` ends those waits. */
struct things {
    thrum::semaphore sem{1};
    thrum::waitgroup parts{1};
    thrum::tickets order;
    std::optional<thrum::ticket> first{std::in_place, order};
    thrum::ticket second{order};
    thrum::pool<int> pool{1};
    thrum::pool<int>::item lent{pool.borrow()};

    void give() {
        sem.post();
        parts.done();
        first.reset();
        lent.give_back();
    }
};

} // namespace

TEST(a_coroutine_waits_for_counts_turns_and_objects) {
    /* Without a stack, as many as there are; each goes on with what it waited for. */
    thrum::run([] {
        things all;
        auto units = thrum::spawn(ends_with([&] { return thrum::wait(all.sem, 2); }));
        auto parts = thrum::spawn(ends_with([&] { return thrum::wait(all.parts); }));
        auto turn = thrum::spawn(ends_with([&] { return thrum::wait(all.second); }));
        struct lending {
            static thrum::co<int> of(thrum::pool<int> &from) {
                auto item = co_await thrum::borrowed(from);
                co_return ++*item;
            }
        };
        auto one = thrum::spawn(lending::of(all.pool));
        auto two = thrum::spawn(lending::of(all.pool));
        while (all.sem.try_wait()) { /* until the first of them stands there, and has the unit */
            all.sem.post();
            thrum::yield();
        }
        all.give();
        CHECK_EQ(units.join(), 0);
        CHECK_EQ(parts.join(), 0);
        CHECK_EQ(turn.join(), 0);
        CHECK_EQ(one.join() + two.join(), 3);
        CHECK(!all.sem.try_wait());
        /* now they are there at once */
        CHECK_EQ(thrum::sync_wait(ends_with([&] { return thrum::wait(all.parts); })), 0);
        CHECK_EQ(thrum::sync_wait(ends_with([&] { return thrum::wait(all.second); })), 0);
        all.second.done();
        CHECK_EQ(thrum::sync_wait(ends_with([&] { return thrum::wait(all.second); })), -EINVAL);
    });
}

TEST(a_deadline_ends_waits_for_counts_turns_and_objects) {
    /* The status says so, the item is empty, and what comes later is still there. */
    thrum::run([] {
        things all;
        CHECK_EQ(
            thrum::sync_wait(status_of([&] { return thrum::wait_until(all.sem, 2, by(soon())); })),
            -ETIMEDOUT);
        CHECK_EQ(
            thrum::sync_wait(status_of([&] { return thrum::wait_until(all.parts, by(soon())); })),
            -ETIMEDOUT);
        CHECK_EQ(
            thrum::sync_wait(status_of([&] { return thrum::wait_until(all.second, by(soon())); })),
            -ETIMEDOUT);
        struct lending {
            static thrum::co<bool> of(thrum::pool<int> &from, thrum::deadline when) {
                auto item = co_await thrum::borrowed_until(from, when);
                co_return static_cast<bool>(item);
            }
        };
        CHECK(!thrum::sync_wait(lending::of(all.pool, by(soon()))));
        all.give();
        CHECK(all.sem.try_wait() && all.sem.try_wait());
        CHECK(all.second.is_called());
        CHECK(thrum::sync_wait(lending::of(all.pool, by(far_off()))));
        CHECK_EQ(thrum::sync_wait(
                     status_of([&] { return thrum::wait_until(all.parts, by(far_off())); })),
                 0);
    });
}

TEST(a_cancel_ends_waits_for_counts_turns_and_objects) {
    /* ECANCELED, and nothing is taken. */
    thrum::run([] {
        things all;
        thrum::once never;
        thrum::event begun(THRUM_EVENT_MANUAL);
        thrum::event gate(THRUM_EVENT_MANUAL);
        auto turn = thrum::spawn([&] {
            never.call([&] {
                begun.signal();
                gate.wait();
            });
        });
        begun.wait();
        std::vector<thrum::co_task<int>> tasks;
        tasks.push_back(thrum::spawn(ends_with([&] { return thrum::wait(all.sem, 2); })));
        tasks.push_back(thrum::spawn(ends_with([&] { return thrum::wait(all.parts); })));
        tasks.push_back(thrum::spawn(ends_with([&] { return thrum::wait(all.second); })));
        tasks.push_back(thrum::spawn(ends_with([&] { return thrum::borrowed(all.pool); })));
        tasks.push_back(thrum::spawn(ends_with([&] { return thrum::called(never, [] {}); })));
        tasks.push_back(
            thrum::spawn(ends_with([] { return thrum::in_task([] { thrum::sleep(1h); }); })));
        for (auto &task : tasks) {
            thrum::yield();
            task.cancel();
            CHECK_EQ(task.join(), -ECANCELED);
        }
        gate.signal();
        turn.join();
        all.give();
        CHECK(all.sem.try_wait() && all.sem.try_wait());
    });
}

TEST(what_a_constructor_throws_is_told) {
    /* Also the codes that mean a cancel, or no scheduler, elsewhere; after a wait, and at once. */
    static int refuses;
    refuses = 0;
    struct picky {
        picky() {
            if (refuses) {
                throw std::system_error(refuses, std::generic_category());
            }
        }
    };
    thrum::run([] {
        thrum::pool<picky> pool(1, false);
        for (int code : {EAGAIN, ESRCH, ECANCELED, ENOMEM}) {
            auto lent = pool.borrow();
            auto waits = thrum::spawn(ends_with([&] { return thrum::borrowed(pool); }));
            thrum::yield();
            refuses = code;
            lent.give_back();
            CHECK_EQ(waits.join(), -code);
            CHECK_EQ(thrum::sync_wait(ends_with([&] { return thrum::borrowed(pool); })), -code);
            refuses = 0;
        }
    });
}

/* ---- once ---- */

TEST(one_of_many_does_it_once) {
    /* Coroutines and fibers, a function that hops between its runs: all go on when it is done. */
    thrum::run([] {
        thrum::once opened;
        int table = 0;
        struct opening {
            static thrum::co<> slowly(int &table) {
                (void)co_await thrum::pause_until(by(soon()));
                co_await thrum::hop();
                table++;
            }
            static thrum::co<int> of(thrum::once &opened, int &table) {
                co_await thrum::called(opened, [&] { return slowly(table); });
                co_return table;
            }
        };
        std::vector<thrum::co_task<int>> tasks;
        std::vector<thrum::task<int>> fibers;
        for (int i = 0; i < 20; i++) {
            tasks.push_back(thrum::spawn(opening::of(opened, table)));
            fibers.push_back(thrum::spawn([&] {
                opened.call([&] { table++; });
                return table;
            }));
        }
        for (int i = 0; i < 20; i++) {
            CHECK_EQ(tasks[size_t(i)].join(), 1);
            CHECK_EQ(fibers[size_t(i)].join(), 1);
        }
        CHECK(opened.is_done());
    });
}

TEST(what_fails_once_is_tried_by_the_next) {
    /* The exception is the caller's, and so is a negative int; the turn goes on to who waits. */
    thrum::run([] {
        thrum::once opened;
        int tries = 0;
        auto attempt = [&](int fails) {
            return ends_with([&tries, &opened, fails] {
                return thrum::called(opened, [&tries, fails]() -> thrum::co<> {
                    tries++;
                    (void)co_await thrum::pause_until(by(soon()));
                    if (fails) {
                        throw std::system_error(EIO, std::generic_category());
                    }
                });
            });
        };
        auto one = thrum::spawn(attempt(1));
        auto two = thrum::spawn(attempt(1));
        CHECK_EQ(one.join(), -EIO);
        CHECK_EQ(two.join(), -EIO);
        CHECK_EQ(tries, 2);
        CHECK(!opened.is_done());
        CHECK_EQ(thrum::sync_wait(
                     ends_with([&] { return thrum::called(opened, [] { return -EBADF; }); })),
                 -EBADF);
        CHECK_EQ(thrum::sync_wait(ends_with([&] {
                     return thrum::called(opened, []() -> thrum::co<int> { co_return -ENOSPC; });
                 })),
                 -ENOSPC);
        CHECK_EQ(thrum::sync_wait(attempt(0)), 0);
        CHECK_EQ(thrum::sync_wait(attempt(1)), 0); /* it is done: not called */
        CHECK_EQ(tries, 3);
        CHECK(opened.is_done());
    });
}

TEST(a_plain_thread_does_it_once) {
    /* In a coroutine that a thread runs; its function may be one, too. */
    thrum::once opened;
    int calls = 0;
    struct body {
        static thrum::co<> counts(int &calls) {
            calls++;
            co_return;
        }
        static thrum::co<int> refused() {
            co_return -EBADF;
        }
        static thrum::co<> of(thrum::once &opened, int &calls) {
            const int code =
                co_await ends_with([&] { return thrum::called(opened, [] { return refused(); }); });
            CHECK_EQ(code, -EBADF);
            co_await thrum::called(opened, [&] { return counts(calls); });
            co_await thrum::called(opened, [&] { calls++; });
        }
    };
    thrum::sync_wait(body::of(opened, calls));
    CHECK_EQ(calls, 1);
}

/* ---- streams ---- */

TEST(a_coroutine_waits_for_a_line_without_a_stack) {
    /* With nothing there, at a deadline, a cancel, with bytes that are buffered, and at the end. */
    thrum::run([] {
        int ends[2];
        CHECK_EQ(pipe(ends), 0);
        thrum::stream reader{thrum::io::adopt(ends[0])};
        std::optional<thrum::io> writer{thrum::io::adopt(ends[1])};
        CHECK_EQ(thrum::sync_wait(status_of([&] { return thrum::ready(reader, by(soon())); })),
                 -ETIMEDOUT);
        auto waits = thrum::spawn(status_of([&] { return thrum::ready(reader); }));
        writer->write("one\ntwo\n", 8);
        CHECK_EQ(waits.join(), 0);
        std::string line;
        CHECK(reader.read_line(line) && line == "one");
        CHECK_EQ(thrum::sync_wait(
                     status_of([&] { return thrum::ready(reader, thrum::deadline::at(1)); })),
                 0); /* a line is buffered */
        CHECK(reader.read_line(line) && line == "two");
        auto cancelled = thrum::spawn(status_of([&] { return thrum::ready(reader); }));
        thrum::yield();
        cancelled.cancel();
        CHECK_EQ(cancelled.join(), -ECANCELED);
        auto last = thrum::spawn(status_of([&] { return thrum::ready(reader); }));
        thrum::yield();
        writer.reset();
        CHECK_EQ(last.join(), 0);
        CHECK(!reader.read_line(line));
    });
}

/* ---- calls in tasks ---- */

TEST(a_call_in_a_task_comes_back_with_what_it_ended_with) {
    /* Results that only move, none, and exceptions; what it waits for holds up no coroutine. */
    thrum::run([] {
        struct body {
            static thrum::co<int> of() {
                auto moved = co_await thrum::in_task([] {
                    nap();
                    return std::make_unique<int>(5);
                });
                co_await thrum::in_task([] { thrum::yield(); });
                try {
                    co_await thrum::in_task([]() -> int { throw std::runtime_error("its own"); });
                } catch (const std::runtime_error &error) {
                    CHECK_STR(error.what(), "its own");
                }
                long sum = co_await thrum::in_task([] {
                    return thrum::parallel_reduce(
                        0, 100, 0L, [](size_t i) { return long(i); },
                        [](long a, long b) { return a + b; });
                });
                co_return *moved + int(sum);
            }
        };
        CHECK_EQ(thrum::sync_wait(body::of()), 4955);
        auto beside = thrum::spawn(body::of());
        CHECK_EQ(beside.join(), 4955);
    });
}

TEST(a_cancelled_coroutine_waits_for_the_end_of_its_task) {
    /* The task is cancelled, and has ended, with what it made of that, when the await returns. */
    thrum::run([] {
        static bool ended;
        ended = false;
        thrum::event begun(THRUM_EVENT_MANUAL);
        struct body {
            static thrum::co<int> of(thrum::event &begun) {
                const int got = co_await thrum::in_task([&begun] {
                    begun.signal();
                    const int slept = sleep_until_cancelled();
                    thrum::shield cleaning;
                    nap();
                    ended = true;
                    return slept;
                });
                CHECK(ended);
                co_return got;
            }
        };
        auto task = thrum::spawn(body::of(begun));
        begun.wait();
        task.cancel();
        CHECK_EQ(task.join(), -ECANCELED);
    });
}
