/* marl::Scheduler: binding, its two kinds of workers, fibers, and its life. */
#include "rig.hpp"

#include "marl/conditionvariable.h"
#include "marl/defer.h"
#include "marl/event.h"
#include "marl/waitgroup.h"

#include <atomic>
#include <set>
#include <string>
#include <vector>

TEST(a_task_prints_while_the_bound_thread_waits) {
    /* The document's first example: a waitgroup by value, and a task that is done. */
    with_schedulers([](marl::Allocator *) {
        std::atomic<int> greetings{0};
        marl::WaitGroup wg(1);
        marl::schedule([=, &greetings] {
            greetings++;
            wg.done();
        });
        wg.wait();
        CHECK_EQ(greetings, 1);
    });
}

TEST(without_workers_a_task_runs_only_when_the_thread_blocks) {
    /* The document's example of single-threaded workers. */
    marl::Scheduler::Config config;
    config.setWorkerThreadCount(0);
    marl::Scheduler scheduler(config);
    scheduler.bind();
    defer(scheduler.unbind());

    bool ran = false;
    std::thread::id where;
    marl::Event done;
    marl::schedule([=, &ran, &where] {
        ran = true;
        where = std::this_thread::get_id();
        done.signal();
    });
    pause_ms(20);
    CHECK(!ran);
    done.wait();
    CHECK(ran);
    CHECK(where == std::this_thread::get_id());
}

TEST(without_workers_tasks_run_in_the_order_of_schedule) {
    /* A queue of each bound thread, first in, first out. */
    with_workers(0, [](marl::Allocator *) {
        std::string order;
        marl::WaitGroup wg(3);
        for (char name : {'a', 'b', 'c'}) {
            marl::schedule([=, &order] {
                order += name;
                wg.done();
            });
        }
        wg.wait();
        CHECK(order == "abc");
    });
}

TEST(woken_tasks_go_before_new_ones) {
    /* In the order of their wakes, as marl's workers take them. */
    for (int workers : {0, 1}) {
        with_workers(workers, [](marl::Allocator *) {
            std::string order;
            marl::Event waits(marl::Event::Mode::Manual);
            marl::WaitGroup wg(11);
            for (char name : {'a', 'b', 'c', 'd', 'e'}) {
                marl::schedule([=, &order] {
                    waits.wait();
                    order += name;
                    wg.done();
                });
            }
            marl::schedule([=, &order] {
                for (char name : {'1', '2', '3', '4', '5'}) {
                    marl::schedule([=, &order] {
                        order += name;
                        wg.done();
                    });
                }
                waits.signal();
                wg.done();
            });
            wg.wait();
            CHECK_STR(order.c_str(), "abcde12345");
        });
    }
}

TEST(a_bound_thread_goes_on_before_new_tasks) {
    /* Without workers: when its wait is over, as the document has it of the main fiber. */
    with_workers(0, [](marl::Allocator *) {
        int ran = 0;
        marl::Event event;
        marl::schedule([=] { event.signal(); });
        for (int i = 0; i < 100; i++) {
            marl::schedule([&] { ran++; });
        }
        event.wait();
        CHECK_EQ(ran, 0);
        marl::WaitGroup wg(1);
        marl::schedule([=] { wg.done(); });
        wg.wait();
        CHECK_EQ(ran, 100);
    });
}

TEST(a_scheduler_is_bound_and_unbound) {
    /* get() knows it in between, on this thread alone. */
    marl::Scheduler scheduler{marl::Scheduler::Config()};
    CHECK(!marl::Scheduler::get());
    scheduler.bind();
    CHECK(marl::Scheduler::get() == &scheduler);
    std::thread([] { CHECK(!marl::Scheduler::get()); }).join();
    marl::Scheduler::unbind();
    CHECK(!marl::Scheduler::get());
}

TEST(the_config_is_kept) {
    /* With an affinity policy, which it gets if it has none. */
    marl::TrackedAllocator allocator(marl::Allocator::Default);
    {
        marl::Scheduler::Config config;
        CHECK_EQ(config.workerThread.count, 0);
        CHECK(config.allocator == marl::Allocator::Default);
        CHECK_EQ(config.fiberStackSize, 1024 * 1024);
        config.setAllocator(&allocator).setWorkerThreadCount(3).setFiberStackSize(0x10000);
        marl::Scheduler scheduler(config);
        CHECK(scheduler.config().allocator == &allocator);
        CHECK_EQ(scheduler.config().workerThread.count, 3);
        CHECK_EQ(scheduler.config().fiberStackSize, 0x10000);
        CHECK(scheduler.config().workerThread.affinityPolicy);
        CHECK(!scheduler.config().workerThread.initializer);
    }
    nothing_is_left(&allocator);
    CHECK(marl::Scheduler::Config::allCores().workerThread.count >= 1);
}

TEST(unbind_runs_what_is_scheduled) {
    /* Also tasks that wait, without workers; with them, the scheduler's end runs them. */
    for (int workers : {0, 1, 4}) {
        std::atomic<int> ran{0};
        marl::Scheduler::Config config;
        marl::Scheduler *scheduler = new marl::Scheduler(config.setWorkerThreadCount(workers));
        scheduler->bind();
        marl::WaitGroup wg(1);
        for (int i = 0; i < 500; i++) {
            marl::schedule([&] {
                wg.wait();
                ran++;
            });
        }
        marl::schedule([=] { wg.done(); });
        marl::Scheduler::unbind();
        if (workers == 0) {
            CHECK_EQ(ran, 500);
        }
        delete scheduler;
        CHECK_EQ(ran, 500);
    }
}

TEST(the_end_waits_for_other_threads_to_unbind) {
    /* As the document says of the destructor. */
    marl::Scheduler *scheduler = new marl::Scheduler(marl::Scheduler::Config());
    std::atomic<bool> unbound{false};
    marl::Event bound;
    std::thread other([&] {
        scheduler->bind();
        bound.signal();
        pause_ms(50);
        unbound = true;
        marl::Scheduler::unbind();
    });
    bound.wait();
    delete scheduler;
    CHECK(unbound);
    other.join();
}

TEST(arguments_are_copied_into_the_task) {
    /* schedule(f, args...), as std::bind does it. */
    with_schedulers([](marl::Allocator *) {
        std::string got;
        marl::WaitGroup wg(1);
        marl::schedule(
            [wg, &got](std::string text, int number, bool flag) {
                got = text + std::to_string(number) + (flag ? "y" : "n");
                wg.done();
            },
            "text", 7, true);
        wg.wait();
        CHECK(got == "text7y");
    });
}

TEST(a_task_may_own_what_cannot_be_copied) {
    /* Its captures end on the thread that ran it, when it has returned. */
    with_schedulers([](marl::Allocator *) {
        struct Owner {
            Owner(std::atomic<int> *to, const marl::WaitGroup &group)
                : ended(to), wg(group), value(new int(7)) {
            }
            Owner(Owner &&) = default;
            ~Owner() {
                if (value) {
                    (*ended)++;
                    wg.done();
                }
            }
            void operator()() const {
                CHECK_EQ(*value, 7);
            }
            std::atomic<int> *ended;
            marl::WaitGroup wg;
            std::unique_ptr<int> value;
        };
        std::atomic<int> ended{0};
        marl::WaitGroup wg(1);
        marl::schedule(marl::Task(Owner(&ended, wg)));
        wg.wait();
        CHECK_EQ(ended, 1);
    });
}

TEST(tasks_continue_on_their_thread) {
    /* Thread-locals survive a wait, for tasks and for bound threads. */
    with_schedulers([](marl::Allocator *) {
        marl::WaitGroup fence(1);
        marl::WaitGroup wg(300);
        for (int i = 0; i < 300; i++) {
            marl::schedule([=] {
                const std::thread::id here = std::this_thread::get_id();
                fence.wait();
                CHECK(here == std::this_thread::get_id());
                wg.done();
            });
        }
        pause_ms(5);
        fence.done();
        wg.wait();
    });
}

TEST(many_threads_can_be_bound) {
    /* Each waits on its own thread. */
    with_schedulers([](marl::Allocator *) {
        marl::Scheduler *scheduler = marl::Scheduler::get();
        marl::WaitGroup fence(1);
        marl::WaitGroup wg(50);
        std::vector<std::thread> threads;
        for (int i = 0; i < 50; i++) {
            threads.push_back(std::thread([=] {
                scheduler->bind();
                defer(scheduler->unbind());
                const std::thread::id here = std::this_thread::get_id();
                fence.wait();
                CHECK(here == std::this_thread::get_id());
                CHECK(marl::Scheduler::get() == scheduler);
                wg.done();
            }));
        }
        pause_ms(5);
        fence.done();
        wg.wait();
        for (std::thread &thread : threads) {
            thread.join();
        }
    });
}

TEST(tasks_run_on_worker_threads_only) {
    /* With workers, not on the bound thread that waits. */
    marl::Scheduler::Config config;
    marl::Scheduler scheduler(config.setWorkerThreadCount(8));
    scheduler.bind();
    std::mutex mutex;
    std::set<std::thread::id> threads;
    marl::WaitGroup wg;
    for (int i = 0; i < 2000; i++) {
        wg.add(1);
        marl::schedule([&mutex, &threads, wg] {
            defer(wg.done());
            std::lock_guard<std::mutex> guard(mutex);
            threads.insert(std::this_thread::get_id());
        });
    }
    wg.wait();
    CHECK(threads.size() <= 8);
    CHECK_EQ(threads.count(std::this_thread::get_id()), 0);
    marl::Scheduler::unbind();
}

TEST(an_unbound_thread_may_enqueue_if_there_are_workers) {
    /* It blocks in its waits; the tasks have a bound scheduler. */
    marl::Scheduler::Config config;
    marl::Scheduler scheduler(config.setWorkerThreadCount(4));
    marl::WaitGroup wg;
    for (int i = 0; i < 100; i++) {
        wg.add(1);
        marl::Event event;
        scheduler.enqueue(marl::Task([event, wg] {
            event.wait();
            wg.done();
        }));
        scheduler.enqueue(marl::Task([event, &scheduler] {
            CHECK(marl::Scheduler::get() == &scheduler);
            event.signal();
        }));
    }
    wg.wait();
}

TEST(same_thread_is_the_one_that_schedules) {
    /* For tasks, and for the bound thread, which runs them while it waits. */
    with_schedulers([](marl::Allocator *) {
        std::thread::id where;
        marl::WaitGroup wg(1);
        marl::schedule(marl::Task(
            [=, &where] {
                where = std::this_thread::get_id();
                wg.done();
            },
            marl::Task::Flags::SameThread));
        wg.wait();
        CHECK(where == std::this_thread::get_id());

        marl::WaitGroup both(20);
        for (int i = 0; i < 20; i++) {
            marl::schedule([=] {
                const std::thread::id here = std::this_thread::get_id();
                marl::schedule(marl::Task(
                    [=] {
                        CHECK(here == std::this_thread::get_id());
                        both.done();
                    },
                    marl::Task::Flags::SameThread));
            });
        }
        both.wait();
    });
}

TEST(each_worker_thread_is_initialized) {
    /* With its number, once, before its tasks and before the scheduler is bound there. */
    std::mutex mutex;
    std::multiset<int> numbers;
    {
        marl::Scheduler::Config config;
        config.setWorkerThreadCount(4).setWorkerThreadInitializer([&](int worker) {
            CHECK(!marl::Scheduler::get());
            std::lock_guard<std::mutex> guard(mutex);
            numbers.insert(worker);
        });
        marl::Scheduler scheduler(config);
        scheduler.bind();
        marl::WaitGroup wg(1);
        marl::schedule([wg] { wg.done(); });
        wg.wait();
        marl::Scheduler::unbind();
    }
    CHECK(numbers == (std::multiset<int>{0, 1, 2, 3}));
}

TEST(an_initializer_may_use_primitives) {
    /* Its thread is a plain one then. */
    marl::mutex mutex;
    marl::ConditionVariable cv;
    int ready = 0;
    marl::WaitGroup wg(2);
    marl::Scheduler::Config config;
    config.setWorkerThreadCount(2).setWorkerThreadInitializer([&](int) {
        marl::lock lock(mutex);
        ready++;
        cv.notify_all();
        wg.done();
    });
    marl::Scheduler scheduler(config);
    wg.wait();
    marl::lock lock(mutex);
    cv.wait(lock, [&] { return ready == 2; });
}

TEST(an_affinity_policy_ties_the_workers) {
    /* oneOf the processors of this process: each worker has one. */
    if (!marl::Thread::Affinity::supported) {
        CHECK_SKIP("no affinity on this system");
    }
    marl::Scheduler::Config config;
    config.setWorkerThreadCount(2).setWorkerThreadAffinityPolicy(
        marl::Thread::Affinity::Policy::oneOf(marl::Thread::Affinity::all()));
    marl::Scheduler scheduler(config);
    scheduler.bind();
    std::atomic<int> wide{0};
    marl::WaitGroup wg(20);
    for (int i = 0; i < 20; i++) {
        marl::schedule([=, &wide] {
            wide += marl::Thread::Affinity::all().count() != 1;
            wg.done();
        });
    }
    wg.wait();
    CHECK_EQ(wide, 0);
    marl::Scheduler::unbind();
}

TEST(a_fiber_waits_for_a_predicate_and_its_notify) {
    /* A bound thread has one, too; its number is 0. */
    CHECK(!marl::Scheduler::Fiber::current());
    with_schedulers([](marl::Allocator *) {
        CHECK_EQ(marl::Scheduler::Fiber::current()->id, 0);
        CHECK(marl::Scheduler::Fiber::current() == marl::Scheduler::Fiber::current());
        marl::mutex mutex;
        marl::Scheduler::Fiber *fiber = nullptr;
        marl::Event started;
        bool go = false;
        bool went = false;
        marl::WaitGroup wg(1);
        marl::schedule([&, wg] {
            marl::lock lock(mutex);
            fiber = marl::Scheduler::Fiber::current();
            CHECK(fiber->id != 0);
            started.signal();
            fiber->wait(lock, [&] { return go; });
            CHECK(lock.owns_lock());
            went = true;
            wg.done();
        });
        started.wait();
        fiber->notify(); /* too early: it waits on */
        pause_ms(2);
        {
            marl::lock lock(mutex);
            CHECK(!went);
            go = true;
        }
        fiber->notify();
        wg.wait();
        CHECK(went);
    });
}

TEST(a_fibers_wait_ends_at_its_deadline) {
    /* With a predicate and without one, on any clock. */
    with_schedulers([](marl::Allocator *) {
        marl::WaitGroup wg(1);
        marl::schedule([wg] {
            marl::Scheduler::Fiber *fiber = marl::Scheduler::Fiber::current();
            marl::mutex mutex;
            marl::lock lock(mutex);
            const auto begin = from_now<steady>(0);

            CHECK(!fiber->wait(lock, from_now<wall>(5), [] { return false; }));
            CHECK(!fiber->wait(from_now<steady>(5)));
            CHECK(from_now<steady>(0) - begin >= std::chrono::milliseconds(10));
            CHECK(fiber->wait(lock, from_now<wall>(0), [] { return true; }));
            wg.done();
        });
        wg.wait();
    });
}

TEST(two_tasks_of_one_thread_hand_over_by_notify) {
    /* The form of wait without a lock, which marl has for one thread. */
    with_workers(0, [](marl::Allocator *) {
        std::string order;
        marl::Scheduler::Fiber *first = nullptr;
        marl::WaitGroup wg(2);
        marl::schedule([&, wg] {
            first = marl::Scheduler::Fiber::current();
            order += 'a';
            first->wait();
            order += 'c';
            wg.done();
        });
        marl::schedule([&, wg] {
            order += 'b';
            first->notify();
            wg.done();
        });
        wg.wait();
        CHECK(order == "abc");
    });
}

static void enqueue_unbound(void *) {
    marl::Scheduler scheduler{marl::Scheduler::Config()};
    scheduler.enqueue(marl::Task([] {}));
}

static void schedule_unbound(void *) {
    marl::schedule([] {});
}

static void bind_twice(void *) {
    marl::Scheduler scheduler{marl::Scheduler::Config()};
    scheduler.bind();
    scheduler.bind();
}

static void unbind_nothing(void *) {
    marl::Scheduler::unbind();
}

TEST(mistakes_end_the_program) {
    /* Each with one line. */
    if (MARL_DEBUG_ENABLED) {
        check_dies(enqueue_unbound, nullptr, "Did you forget to call marl::Scheduler::bind");
    }
    check_dies(schedule_unbound, nullptr, "requires a marl::Scheduler to be bound");
    check_dies(bind_twice, nullptr, "marl::Scheduler::bind");
    check_dies(unbind_nothing, nullptr, "marl::Scheduler::unbind");
}
