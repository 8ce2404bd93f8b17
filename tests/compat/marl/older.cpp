/* What marl deprecated or renamed, and older programs still use. */
#define MARL_WARN_DEPRECATED 0

#include "rig.hpp"

#include "marl/waitgroup.h"

#include <atomic>
#include <functional>
#include <mutex>

TEST(the_number_of_workers_is_set_later) {
    /* The scheduler stays bound to the caller, and its tasks run on as many threads. */
    for (int workers : {0, 1, 2, 4}) {
        marl::TrackedAllocator allocator(marl::Allocator::Default);
        {
            marl::Scheduler scheduler(&allocator);
            CHECK_EQ(scheduler.getWorkerThreadCount(), 0);
            scheduler.bind();
            scheduler.setWorkerThreadCount(workers);
            CHECK_EQ(scheduler.getWorkerThreadCount(), workers);
            CHECK(marl::Scheduler::get() == &scheduler);

            const std::thread::id here = std::this_thread::get_id();
            std::atomic<int> elsewhere{0};
            marl::WaitGroup wg(100);
            for (int i = 0; i < 100; i++) {
                marl::schedule([=, &elsewhere] {
                    elsewhere += std::this_thread::get_id() == here ? 0 : 1;
                    wg.done();
                });
            }
            wg.wait();
            CHECK_EQ(elsewhere, workers > 0 ? 100 : 0);
            marl::Scheduler::unbind();
        }
        nothing_is_left(&allocator);
    }
}

TEST(an_unbound_scheduler_gets_workers) {
    /* Then the thread that made it may enqueue without a bind. */
    marl::Scheduler scheduler;
    scheduler.setWorkerThreadCount(2);
    CHECK(!marl::Scheduler::get());
    marl::WaitGroup wg(1);
    scheduler.enqueue(marl::Task([=] { wg.done(); }));
    wg.wait();
}

TEST(an_initializer_without_arguments) {
    /* It is called on each worker thread that starts afterwards; an empty one is not. */
    std::atomic<int> called{0};
    {
        marl::Scheduler scheduler;
        CHECK(!scheduler.getThreadInitializer());
        scheduler.setThreadInitializer([&] { called++; });
        CHECK(scheduler.getThreadInitializer());
        scheduler.setWorkerThreadCount(3);
    }
    CHECK_EQ(called, 3);

    marl::Scheduler scheduler;
    scheduler.setThreadInitializer(std::function<void()>());
    scheduler.setWorkerThreadCount(1);
}

TEST(a_fiber_waits_with_a_lock_of_the_standard) {
    /* Without a deadline, and with one. */
    with_schedulers([](marl::Allocator *) {
        std::mutex mutex;
        bool ready = false;
        marl::Scheduler::Fiber *waiter = nullptr;
        marl::Event waits;
        marl::WaitGroup wg(1);
        marl::schedule([=, &mutex, &ready, &waiter] {
            marl::Scheduler::Fiber *self = marl::Scheduler::Fiber::current();
            std::unique_lock<std::mutex> lock(mutex);
            CHECK(!self->wait(lock, from_now<wall>(1), [] { return false; }));
            CHECK(lock.owns_lock());
            waiter = self;
            waits.signal();
            self->wait(lock, [&] { return ready; });
            CHECK(lock.owns_lock());
            lock.unlock();
            wg.done();
        });
        waits.wait();
        {
            std::lock_guard<std::mutex> lock(mutex);
            ready = true;
            waiter->notify();
        }
        wg.wait();
    });
}

TEST(guards_have_an_older_name) {
    /* Both name one member. */
    marl::Allocation::Request request;
    CHECK(!request.use_guards);
    request.size = 1;
    request.use_guards = true;
    CHECK(request.useGuards);
    const marl::Allocation allocation = marl::Allocator::Default->allocate(request);
    CHECK(allocation.request.use_guards);
    marl::Allocator::Default->free(allocation);
}
