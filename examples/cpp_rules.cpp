/*
 * cpp_rules.cpp: what a task may do that is said to be forbidden elsewhere, and what it must not:
 * waits inside a catch and in a destructor that runs because of an exception are fine; a lock of
 * the standard's must be given back before a wait, and a thread_local is not a task's own.
 */
#include <cstdio>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thrum/thrum.hpp>

using namespace std::chrono_literals;

/* The destructor waits while the exception of its task unwinds, and other tasks throw meanwhile. */
struct leaves {
    explicit leaves(thrum::event &told) : told_(told) {
    }
    ~leaves() {
        told_.wait();
    }
    thrum::event &told_;
};

static std::string task_of(int n, thrum::event &told) {
    try {
        leaves late(told);
        throw std::runtime_error("of task " + std::to_string(n));
    } catch (const std::runtime_error &) {
        try {
            thrum::sleep(1ms); /* inside the catch; perhaps it goes on on another thread */
            throw;             /* still its own */
        } catch (const std::runtime_error &again) {
            return again.what();
        }
    }
}

int main() {
    return thrum::run([] {
        thrum::event told(THRUM_EVENT_MANUAL);
        auto one = thrum::spawn([&] { return task_of(1, told); });
        auto two = thrum::spawn([&] { return task_of(2, told); });
        thrum::yield();
        told.signal();
        const std::string first = one.join();
        const std::string second = two.join();

        /* A std::mutex belongs to the thread: only between waits. Across them, thrum::mutex. */
        std::mutex between;
        thrum::mutex across;
        {
            std::lock_guard<thrum::mutex> held(across);
            thrum::yield();
            std::lock_guard<std::mutex> no_wait_in_here(between);
        }

        /* A value of the task's own, where a thread_local would be the thread's. */
        thrum::local<int> calls;
        calls.value()++;
        auto other = thrum::spawn([&] { return calls.value(); });
        const int its = other.join();
        std::printf("%s, %s; %d and %d\n", first.c_str(), second.c_str(), calls.value(), its);
        return first == "of task 1" && second == "of task 2" && its == 0 ? 0 : 1;
    });
}
