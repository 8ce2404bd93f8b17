// boost.hh: what all of Boost.Fiber's rows use: its work stealing, stacks of 64 KiB without guards.
//
// Its workers either look for work all the time or sleep until work of their own comes, and then
// steal nothing. The rows of throughput use the former, which suits them; those of what waiting
// costs (wake, idle, sleeps) the latter.
#ifndef BENCH_PEERS_BOOST_HH
#define BENCH_PEERS_BOOST_HH

#include <boost/fiber/all.hpp>
#include <boost/version.hpp>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "forkjoin.hh"

namespace fibers = boost::fibers;

static std::shared_ptr<fibers::fixedsize_stack> stack_of() {
    static auto stack = std::make_shared<fibers::fixedsize_stack>(64 * 1024);
    return stack;
}

template <class F> static void go(F f) {
    fibers::fiber(fibers::launch::post, std::allocator_arg, *stack_of(), f).detach();
}

// Counts down. The last one wakes the waiter, which returns when that one has let go of it.
class waitgroup {
    std::atomic<unsigned> left;
    std::atomic<bool> free{false};
    fibers::mutex lock;
    fibers::condition_variable all;

  public:
    explicit waitgroup(unsigned n) : left(n) {
    }
    void reset(unsigned n) {
        free.store(false, std::memory_order_relaxed);
        left.store(n, std::memory_order_relaxed);
    }
    void done() {
        if (left.fetch_sub(1, std::memory_order_acq_rel) == 1) {
            {
                std::unique_lock<fibers::mutex> guard(lock);
                all.notify_all();
            }
            free.store(true, std::memory_order_release);
        }
    }
    void wait() {
        {
            std::unique_lock<fibers::mutex> guard(lock);
            all.wait(guard, [&] { return left.load(std::memory_order_acquire) == 0; });
        }
        while (!free.load(std::memory_order_acquire)) {
            boost::this_fiber::yield();
        }
    }
};

// Runs f as a fiber of the first of so many threads, and waits for its end. Once in a process: the
// algorithm counts its threads and does not begin anew.
template <class F> static void inside(F f, bool asleep = false) {
    fibers::mutex lock;
    fibers::condition_variable more;
    bool ended = false;
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < peer.workers; i++) {
        threads.emplace_back([&, i] {
            // The algorithm waits for all of its threads, and cannot do with one.
            if (peer.workers > 1) {
                fibers::use_scheduling_algorithm<fibers::algo::work_stealing>(peer.workers, asleep);
            }
            if (i == 0) {
                fibers::fiber(std::allocator_arg, *stack_of(), f).join();
                std::unique_lock<fibers::mutex> guard(lock);
                ended = true;
                more.notify_all();
            } else {
                std::unique_lock<fibers::mutex> guard(lock);
                more.wait(guard, [&] { return ended; });
            }
        });
    }
    for (std::thread &t : threads) {
        t.join();
    }
}

static waitgroup round_done(0);

// Runs so many fibers, which begin when all of them are there.
template <class F> static peer_span crowd(unsigned n, F body) {
    peer_span span;
    inside([&] {
        waitgroup waiting(n), running(n), gate(1);
        for (unsigned i = 0; i < n; i++) {
            go([&, i] {
                waiting.done();
                gate.wait();
                body(i);
                running.done();
            });
        }
        waiting.wait();
        span = peer_begin();
        gate.done();
        running.wait();
        peer_end(&span);
        for (unsigned i = 0; i < 100; i++) { // the last ones may still be on their way out
            boost::this_fiber::yield();
        }
    });
    return span;
}

#endif
