/*
 * coroutine_20.cpp: thrum/cpp/coroutine.hpp: results, frames and waits of coroutines.
 */
/* compile: -O1 -g1 */
/* matrix: policy workers */
#include "coroutines.hpp"

TEST(an_await_returns_what_only_moves) {
    /* A result that cannot be copied, a reference and void, through two coroutines. */
    int there = 0;
    struct give {
        static thrum::co<std::unique_ptr<int>> moved(int n) {
            co_await thrum::hop();
            co_return std::make_unique<int>(n);
        }
        static thrum::co<int &> referred(int &place) {
            co_return place;
        }
        static thrum::co<> nothing() {
            co_await thrum::hop();
        }
        static thrum::co<std::unique_ptr<int>> all(int &place) {
            co_await nothing();
            int &got = co_await referred(place);
            CHECK(&got == &place);
            co_return co_await moved(7);
        }
    };
    thrum::run([&] {
        CHECK_EQ(*thrum::sync_wait(give::all(there)), 7);
        thrum::co_task<int &> task = thrum::spawn(give::referred(there));
        CHECK(&task.join() == &there);
    });
}

TEST(an_await_throws_what_the_coroutine_threw) {
    /* Before and after a hop, to a coroutine, a fiber and a joiner. */
    struct catching {
        static thrum::co<int> in_coroutine(bool hop) {
            int caught = 0;
            try {
                (void)co_await fails(hop);
            } catch (const std::runtime_error &) {
                caught = 1;
            }
            co_await thrum::hop();
            co_return caught;
        }
    };
    thrum::run([] {
        for (bool hop : {false, true}) {
            CHECK_EQ(thrum::sync_wait(catching::in_coroutine(hop)), 1);
            CHECK_EQ(code_of([&] { thrum::sync_wait(fails(hop)); }), -1);
            auto task = thrum::spawn(fails(hop));
            CHECK_EQ(code_of([&] { task.join(); }), -1);
            CHECK(!task.joinable());
            CHECK_EQ(code_of([&] { task.join(); }), EINVAL);
        }
    });
    CHECK_EQ(counted::alive.load(), 0);
}

TEST(a_frame_is_destroyed_once) {
    /* One that never started, was joined, awaited, detached, dropped, threw, or met an error. */
    {
        auto never = hops(1);
        CHECK_EQ(counted::alive.load(), 1);
        auto moved = std::move(never);
        never = hops(2);
        moved = std::move(never);
        CHECK_EQ(counted::alive.load(), 1);
        CHECK_EQ(code_of([&] { (void)thrum::spawn(std::move(moved)); }), ESRCH);
        CHECK_EQ(counted::alive.load(), 0);
        CHECK_EQ(code_of([&] { (void)thrum::spawn(std::move(moved)); }), EINVAL);
    }
    CHECK_EQ(code_of([] { thrum::sync_wait(hops(1)); }), ESRCH);
    thrum::run([] {
        CHECK_EQ(thrum::spawn(hops(3)).join(), 3);
        thrum::spawn(hops(0)).detach();
        thrum::spawn(hops(20)).detach();
        { auto dropped = thrum::spawn(hops(20)); }
        thrum::spawn(fails(true)).detach();
        auto assigned = thrum::spawn(hops(5));
        assigned = thrum::spawn(hops(6));
        CHECK_EQ(assigned.join(), 6);
    });
    CHECK_EQ(counted::alive.load(), 0);
}

TEST(a_frame_is_one_allocation) {
    /* One for each coroutine, none for hops, and one more for sync_wait and spawn. */
#ifdef NEW_IS_TAKEN
    CHECK_SKIP("the sanitizer counts allocations, not we");
#endif
    thrum::run([] {
        int before = allocations.load();
        CHECK_EQ(thrum::sync_wait(hops(50)), 50);
        CHECK(is_count(allocations.load() - before, 2));
        before = allocations.load();
        CHECK_EQ(thrum::spawn(hops(50)).join(), 50);
        CHECK(is_count(allocations.load() - before, 2));
        before = allocations.load();
        CHECK_EQ(thrum::sync_wait(fibonacci(10)), 55);
        CHECK(is_count(allocations.load() - before, 178)); /* calls of fibonacci(10): 177 */
    });
}

TEST(coroutines_interleave_with_fibers) {
    /* Many of both hand values over two channels, and all of them come. */
    enum { SENDERS = 8, EACH = 50 };
    struct passing {
        static thrum::co<> send(thrum::chan<int> &to) {
            for (int i = 1; i <= EACH; i++) {
                co_await thrum::hop();
                co_await thrum::send(to, i);
            }
        }
        static thrum::co<int> add(thrum::chan<int> &from) {
            int sum = 0;
            while (auto got = co_await thrum::receive(from)) {
                sum += *got;
                co_await thrum::hop();
            }
            co_return sum;
        }
    };
    thrum::run([] {
        thrum::chan<int> first(4);
        thrum::chan<int> second;
        std::vector<thrum::co_task<>> senders;
        for (int i = 0; i < SENDERS; i++) {
            senders.push_back(thrum::spawn(passing::send(first)));
        }
        auto fiber = thrum::spawn([&] {
            for (int got : first) {
                second.send(2 * got);
            }
            second.close();
        });
        auto sum = thrum::spawn(passing::add(second));
        for (auto &sender : senders) {
            sender.join();
        }
        first.close();
        CHECK_EQ(sum.join(), 2 * SENDERS * EACH * (EACH + 1) / 2);
        fiber.join();
    });
}

TEST(a_coroutine_waits_for_event_and_semaphore) {
    /* What a fiber wrote before is seen after the await. */
    struct waiting {
        static thrum::co<int> both(thrum_event &event, thrum_sem &sem, int &written) {
            co_await thrum::hop();
            co_await thrum::wait(event);
            const int first = written;
            co_await thrum::wait(sem);
            co_return 10 * first + written;
        }
    };
    thrum::run([] {
        thrum_event event = THRUM_EVENT_INIT(THRUM_EVENT_AUTO, false);
        thrum_sem sem = THRUM_SEM_INIT(0);
        int written = 1;
        auto task = thrum::spawn(waiting::both(event, sem, written));
        thrum_event_signal(&event);
        thrum_sem_post(&sem);
        CHECK_EQ(task.join(), 11);
    });
}

TEST(a_coroutine_awaits_tasks) {
    /* A hundred children that were spawned, ended already or not; results and an exception. */
    struct parent {
        static thrum::co<int> all(int n) {
            std::vector<thrum::co_task<int>> children;
            for (int i = 0; i < n; i++) {
                children.push_back(thrum::spawn(hops(i % 4)));
            }
            int sum = 0;
            for (auto &child : children) {
                sum += co_await std::move(child);
            }
            auto failing = thrum::spawn(fails(true));
            try {
                (void)co_await std::move(failing);
            } catch (const std::runtime_error &) {
                sum += 1000;
            }
            co_return sum;
        }
    };
    thrum::run([] {
        CHECK_EQ(thrum::sync_wait(parent::all(100)), 1150);
        CHECK_EQ(thrum::spawn(parent::all(100)).join(), 1150);
    });
    CHECK_EQ(counted::alive.load(), 0);
}

TEST(a_stop_ends_sleeps) {
    /* A stop whose deadline has passed: the sleep throws, and the frame is destroyed. */
    static std::atomic<int> code;
    struct sleeping {
        static thrum::co<> long_one(thrum_event *begins, counted = {}) {
            thrum_event_signal(begins);
            try {
                co_await thrum::sleep_for(1h);
            } catch (const std::system_error &error) {
                code = error.code().value();
            }
        }
    };
    thrum_sched *sched;
    CHECK_EQ(thrum_sched_start(&sched, nullptr), 0);
    thrum_event begins = THRUM_EVENT_INIT(THRUM_EVENT_AUTO, false);
    thrum::spawn(sched, sleeping::long_one(&begins)).detach();
    CHECK_EQ(thrum_event_wait(&begins), 0);
    if (thrum_sched_stop_until(sched, past()) == -ETIMEDOUT) {
        CHECK_EQ(thrum_sched_stop(sched), 0);
    }
    CHECK_EQ(code.load(), ECANCELED);
    CHECK_EQ(counted::alive.load(), 0);
}

TEST(a_thread_goes_over_to_a_scheduler) {
    /* A plain thread's coroutine hops to one that it names; the thread joins and waits. */
    struct moving {
        static thrum::co<int> over(thrum_sched *sched) {
            CHECK(!thrum_sched_current());
            co_await thrum::hop(sched);
            CHECK(thrum_sched_current() == sched);
            co_return 5;
        }
    };
    thrum_sched *sched;
    CHECK_EQ(thrum_sched_start(&sched, nullptr), 0);
    CHECK_EQ(thrum::sync_wait(moving::over(sched)), 5);
    CHECK_EQ(thrum::spawn(sched, hops(4)).join(), 4);
    CHECK_EQ(thrum_sched_stop(sched), 0);
}

TEST(a_coroutine_waits_for_a_descriptor) {
    /* In time, too late, and for several messages. */
    struct reading {
        static thrum::co<int> echo(thrum_io io, int times) {
            int got = 0;
            for (int i = 0; i < times; i++) {
                char byte;
                thrum::check((co_await thrum::ready(io, THRUM_IO_READ)).code());
                thrum::check(thrum_read(io, &byte, 1));
                thrum::check(thrum_write(io, &byte, 1));
                got++;
            }
            co_return got;
        }
        static thrum::co<int> late(thrum_io io) {
            co_return (co_await thrum::ready(io, THRUM_IO_READ, by(soon()))).code();
        }
    };
    thrum::run([] {
        thrum::listener listener("tcp:127.0.0.1:0");
        char address[100];
        thrum::check(thrum_io_local(listener.native_handle(), address, sizeof(address)));
        auto dialing = thrum::spawn([&] { return thrum::dial(address); });
        thrum::io here = listener.accept();
        thrum::io there = dialing.join();
        CHECK_EQ(thrum::sync_wait(reading::late(here.native_handle())), -ETIMEDOUT);
        auto echo = thrum::spawn(reading::echo(here.native_handle(), 20));
        for (int i = 0; i < 20; i++) {
            char byte = (char)i;
            there.write(&byte, 1);
            byte = 0;
            CHECK_EQ(there.read(&byte, 1), 1);
            CHECK_EQ(byte, i);
        }
        CHECK_EQ(echo.join(), 20);
    });
}

TEST(a_child_at_the_same_address_hops_at_once) {
    /* A coroutine waits on its fiber for a child whose frame may lie where one ended just now. */
    struct nested {
        static thrum::co<int> outer() {
            int sum = 0;
            for (int i = 0; i < 50; i++) {
                sum += co_await hops(1);
                sum += thrum::sync_wait(hops(1));
            }
            co_return sum;
        }
    };
    thrum::run([] { CHECK_EQ(thrum::spawn(nested::outer()).join(), 100); });
    CHECK_EQ(counted::alive.load(), 0);
}
