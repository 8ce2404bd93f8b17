/*
 * coroutine_wait_20.cpp: waits of coroutines without a stack (thrum/cpp/await.hpp), cancels, and
 * several coroutines at a time (thrum/cpp/when.hpp).
 */
/* compile: -O1 -g1 */
/* matrix: policy workers */
#include "coroutines.hpp"

TEST(a_coroutine_waits_without_a_stack) {
    /* A hundred of each kind wait, and no task is suspended: event, semaphore, channel, join. */
    enum { EACH = 100 };
    struct waiting {
        static thrum::co<> events(thrum_event &event) {
            co_await thrum::wait(event);
        }
        static thrum::co<> units(thrum_sem &sem) {
            co_await thrum::wait(sem);
        }
        static thrum::co<std::string> strings(thrum::chan<std::string> &from) {
            co_return *(co_await thrum::receive(from));
        }
        static thrum::co<> sends(thrum::chan<int> &to, int n) {
            co_await thrum::send(to, n);
        }
        static thrum::co<int> joins(thrum::task<int> &ends) {
            co_return co_await thrum::joined(ends);
        }
    };
    thrum::run([] {
        thrum_event event = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false);
        thrum_event gate = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false);
        thrum_sem sem = THRUM_SEM_INIT(0);
        thrum::chan<std::string> words;
        thrum::chan<int> numbers;
        auto fiber = thrum::spawn([&] {
            thrum::check(thrum_event_wait(&gate));
            return 9;
        });
        std::vector<thrum::co_task<>> tasks;
        std::vector<thrum::co_task<std::string>> readers;
        for (int i = 0; i < EACH; i++) {
            tasks.push_back(thrum::spawn(waiting::events(event)));
            tasks.push_back(thrum::spawn(waiting::units(sem)));
            tasks.push_back(thrum::spawn(waiting::sends(numbers, i)));
            readers.push_back(thrum::spawn(waiting::strings(words)));
        }
        auto joiner = thrum::spawn(waiting::joins(fiber));
        int sum = 0;
        for (int i = 0; i < EACH; i++) {
            sum += *numbers.recv();
            words.send("a string that does not fit into one");
            thrum_sem_post(&sem);
        }
        CHECK_EQ(sum, EACH * (EACH - 1) / 2);
        thrum_event_signal(&event);
        thrum_event_signal(&gate);
        for (auto &task : tasks) {
            task.join();
        }
        for (auto &reader : readers) {
            CHECK(reader.join() == "a string that does not fit into one");
        }
        CHECK_EQ(joiner.join(), 9);
    });
}

TEST(a_wait_ends_at_its_deadline) {
    /* For an event and a semaphore that nobody touches; nothing is taken afterwards. */
    struct waiting {
        static thrum::co<> both(thrum_event &event, thrum_sem &sem) {
            CHECK((co_await thrum::wait_until(event, by(soon()))).timed_out());
            CHECK((co_await thrum::wait_until(sem, by(soon()))).timed_out());
            thrum_sem_post(&sem);
            CHECK(static_cast<bool>(co_await thrum::wait_until(sem, by(far_off()))));
        }
    };
    thrum::run([] {
        thrum_event event = THRUM_EVENT_INIT(THRUM_EVENT_AUTO, false);
        thrum_sem sem = THRUM_SEM_INIT(0);
        thrum::sync_wait(waiting::both(event, sem));
        CHECK_EQ(thrum_sem_destroy(&sem), 0);
        CHECK_EQ(thrum_event_destroy(&event), 0);
    });
}

TEST(events_and_semaphores_of_the_header_as_well) {
    /* thrum::event and thrum::semaphore, with and without a deadline. */
    struct waiting {
        static thrum::co<> both(thrum::event &event, thrum::semaphore &sem) {
            CHECK((co_await thrum::wait_until(event, by(soon()))).timed_out());
            CHECK((co_await thrum::wait_until(sem, by(soon()))).timed_out());
            event.signal();
            sem.post();
            co_await thrum::wait(event);
            co_await thrum::wait(sem);
        }
    };
    thrum::run([] {
        thrum::event event(THRUM_EVENT_AUTO);
        thrum::semaphore sem(0);
        thrum::sync_wait(waiting::both(event, sem));
        CHECK(!event.is_signaled());
        CHECK(!sem.try_wait());
    });
}

TEST(a_cancel_ends_waits) {
    /* Of each kind, in a coroutine that another one awaits; before, while and after it waits. */
    struct waiting {
        static thrum::co<> one(int kind, thrum_event &event, thrum_sem &sem,
                               thrum::chan<int> &chan) {
            counted local;
            switch (kind) {
            case 0:
                co_await thrum::wait(event);
                break;
            case 1:
                co_await thrum::wait(sem);
                break;
            case 2:
                (void)co_await thrum::receive(chan);
                break;
            case 3:
                co_await thrum::send(chan, 1);
                break;
            case 4:
                co_await thrum::sleep_for(1h);
                break;
            default:
                for (;;) {
                    co_await thrum::hop();
                }
            }
        }
        static thrum::co<int> outer(int kind, thrum_event &event, thrum_sem &sem,
                                    thrum::chan<int> &chan) {
            int code = 0;
            try {
                co_await one(kind, event, sem, chan);
            } catch (const std::system_error &error) {
                code = error.code().value();
            }
            co_return code;
        }
    };
    thrum::run([] {
        for (int kind = 0; kind < 6; kind++) {
            for (int turns = 0; turns < 3; turns++) {
                thrum_event event = THRUM_EVENT_INIT(THRUM_EVENT_AUTO, false);
                thrum_sem sem = THRUM_SEM_INIT(0);
                thrum::chan<int> chan;
                auto task = thrum::spawn(waiting::outer(kind, event, sem, chan));
                for (int i = 0; i < turns; i++) {
                    thrum::yield();
                }
                task.cancel();
                task.cancel();
                CHECK_EQ(task.join(), ECANCELED);
                CHECK_EQ(thrum_sem_destroy(&sem), 0);
                CHECK_EQ(thrum_event_destroy(&event), 0);
            }
        }
    });
    CHECK_EQ(counted::alive.load(), 0);
}

TEST(a_cancel_and_a_post_lose_no_unit) {
    /* Whichever comes first: the unit was taken, or it is still there. */
    struct waiting {
        static thrum::co<bool> taken(thrum_sem &sem) {
            co_return static_cast<bool>(co_await thrum::wait_until(sem, thrum::deadline::never()));
        }
    };
    thrum::run([] {
        for (int i = 0; i < 300; i++) {
            thrum_sem sem = THRUM_SEM_INIT(0);
            auto task = thrum::spawn(waiting::taken(sem));
            auto poster = thrum::spawn([&] { thrum_sem_post(&sem); });
            if (i % 2) {
                thrum::yield();
            }
            task.cancel();
            const bool taken = task.join();
            poster.join();
            CHECK_EQ(thrum_sem_try_wait(&sem) == 0, !taken);
        }
    });
}

TEST(a_cancel_goes_on_to_children) {
    /* To a co_task that it awaits, and what that awaits in turn. */
    struct chain {
        static thrum::co<int> deep(int n, thrum_event &never) {
            if (n > 0) {
                auto child = thrum::spawn(deep(n - 1, never));
                co_return 1 + co_await std::move(child);
            }
            const thrum::status got = co_await thrum::wait_until(never, thrum::deadline::never());
            CHECK_EQ(got.code(), -ECANCELED);
            co_return 0;
        }
    };
    thrum::run([] {
        for (int turns = 0; turns < 8; turns++) {
            thrum_event never = THRUM_EVENT_INIT(THRUM_EVENT_AUTO, false);
            auto task = thrum::spawn(chain::deep(5, never));
            for (int i = 0; i < turns; i++) {
                thrum::yield();
            }
            task.cancel();
            CHECK_EQ(task.join(), 5);
        }
    });
}

TEST(when_all_has_all_results) {
    /* Results that only move, a reference and void; a throw cancels the others, and all end. */
    static int there;
    struct gives {
        static thrum::co<std::unique_ptr<int>> moved() {
            co_await thrum::hop();
            co_return std::make_unique<int>(4);
        }
        static thrum::co<int &> referred() {
            co_return there;
        }
        static thrum::co<> nothing() {
            (void)co_await thrum::pause_until(by(soon()));
        }
        static thrum::co<int> sleeps(counted = {}) {
            co_await thrum::sleep_for(1h);
            co_return 1;
        }
        static thrum::co<int> all() {
            auto [a, b, c] = co_await thrum::when_all(moved(), referred(), nothing());
            CHECK_EQ(*a, 4);
            CHECK(&b.get() == &there);
            (void)c;
            int caught = 0;
            try {
                (void)co_await thrum::when_all(sleeps(), fails(true), sleeps());
            } catch (const std::runtime_error &) {
                caught = 1;
            }
            co_return caught;
        }
    };
    thrum::run([] { CHECK_EQ(thrum::sync_wait(gives::all()), 1); });
    CHECK_EQ(counted::alive.load(), 0);
}

TEST(when_any_has_the_first) {
    /* Its result or exception; the others are cancelled and have ended. */
    struct races {
        static thrum::co<int> sleeps(counted = {}) {
            co_await thrum::sleep_for(1h);
            co_return 1;
        }
        static thrum::co<std::unique_ptr<int>> quick() {
            co_await thrum::hop();
            co_return std::make_unique<int>(8);
        }
        static thrum::co<int> all() {
            auto first = co_await thrum::when_any(sleeps(), quick(), sleeps());
            CHECK_EQ(first.index(), 1);
            CHECK_EQ(counted::alive.load(), 0);
            int caught = 0;
            try {
                (void)co_await thrum::when_any(sleeps(), fails(true));
            } catch (const std::runtime_error &) {
                caught = 1;
            }
            CHECK_EQ(counted::alive.load(), 0);
            co_return *std::get<1>(first) + caught;
        }
        static thrum::co<int> never(thrum_event &begins) {
            thrum_event_signal(&begins);
            (void)co_await thrum::when_any(sleeps(), sleeps());
            co_return 0;
        }
    };
    thrum::run([] {
        CHECK_EQ(thrum::sync_wait(races::all()), 9);
        thrum_event begins = THRUM_EVENT_INIT(THRUM_EVENT_AUTO, false);
        auto task = thrum::spawn(races::never(begins));
        thrum::check(thrum_event_wait(&begins));
        task.cancel();
        CHECK_EQ(code_of([&] { task.join(); }), ECANCELED);
    });
    CHECK_EQ(counted::alive.load(), 0);
}

TEST(waits_allocate_nothing) {
    /* A frame for each coroutine, and none for its waits; when_all and when_any as documented. */
#ifdef NEW_IS_TAKEN
    CHECK_SKIP("the sanitizer counts allocations, not we");
#endif
    struct waiting {
        static thrum::co<> all(thrum_event &event, thrum_sem &sem, thrum::chan<int> &chan) {
            for (int i = 0; i < 20; i++) {
                co_await thrum::wait(event);
                co_await thrum::wait(sem);
                (void)co_await thrum::receive(chan);
            }
        }
        static thrum::co<> two() {
            (void)co_await thrum::when_all(hops(3), hops(4));
        }
    };
    thrum::run([] {
        thrum_event event = THRUM_EVENT_INIT(THRUM_EVENT_AUTO, false);
        thrum_sem sem = THRUM_SEM_INIT(0);
        thrum::chan<int> chan;
        int before = allocations.load();
        auto task = thrum::spawn(waiting::all(event, sem, chan));
        for (int i = 0; i < 20; i++) {
            thrum_event_signal(&event);
            thrum_sem_post(&sem);
            chan.send(i);
        }
        task.join();
        CHECK(is_count(allocations.load() - before, 2));
        before = allocations.load();
        thrum::sync_wait(waiting::two());
        CHECK(is_count(allocations.load() - before, 2 + 2 + 2 * 3));
    });
}
