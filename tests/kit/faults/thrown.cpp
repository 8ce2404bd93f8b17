/*
 * thrown.cpp: exceptions that nobody catches. faults.py has the expected reports.
 *   faults_cpp NAME [OPTION...]
 */
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <stdexcept>
#include <utility>
#include <thrum/cpp/test.hpp>
#include <thrum/thrum.hpp>

namespace {

struct odd_number : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};

struct no_exception {
    int number;
};

void half(int n) {
    if (n % 2 != 0) {
        throw odd_number("3 is odd");
    }
}

int task_throws(void *) {
    thrum_yield();
    half(3);
    return 0;
}

int of_a_task(void *) {
    thrum_handle *h;
    THRUM_TEST(thrum_spawn(&h, task_throws, nullptr) == 0);
    return thrum_join(h, nullptr);
}

void thread_throws(void *) {
    throw no_exception{7};
}

int of_a_thread(void *) {
    thrum_test_thread thread;
    THRUM_TEST(thrum_test_thread_start(&thread, thread_throws, nullptr) == 0);
    thrum_test_thread_join(&thread);
    return 0;
}

int of_the_test(void *) {
    half(5);
    return 0;
}

int forgets_object(void *) {
    static_cast<void>(new odd_number("1 is odd"));
    return 0;
}

/* A number that put passes to take, with the locks of thrum or of C++. put may wake nobody. */
template <typename Mutex, typename Cond> class slot {
  public:
    void put(int value) {
        lock_.lock();
        value_ = value;
        lock_.unlock();
        if (waits_) {
            changed_.notify_one();
        }
    }
    int take() {
        std::unique_lock<Mutex> hold(lock_);
        while (value_ == 0) {
            waits_ = true;
            changed_.wait(hold);
        }
        return std::exchange(value_, 0);
    }

  private:
    Mutex lock_;
    Cond changed_;
    int value_ = 0;
    bool waits_ = false;
};
using thrum_slot = slot<thrum::mutex, thrum::cond>;
using std_slot = slot<std::mutex, std::condition_variable>;

template <typename Slot> void takes_twice(void *arg) {
    Slot &numbers = *static_cast<Slot *>(arg);
    numbers.take();
    numbers.take();
}

/* The second number may replace the first one. */
template <typename Slot> int loses_number(void *) {
    Slot numbers;
    thrum_test_thread thread;
    THRUM_TEST(thrum_test_thread_start(&thread, takes_twice<Slot>, &numbers) == 0);
    numbers.put(1);
    numbers.put(2);
    thrum_test_thread_join(&thread);
    return 0;
}

/* Nothing is lost, and two threads want one mutex. */
int adds_by_threads(void *) {
    static std::mutex lock;
    static int sum;
    const auto add = [](void *) {
        const std::lock_guard<std::mutex> hold(lock);
        const int before = sum;
        thrum_test_point("with the mutex");
        sum = before + 1;
    };
    thrum_test_thread threads[2];
    for (auto &thread : threads) {
        THRUM_TEST(thrum_test_thread_start(&thread, add, nullptr) == 0);
    }
    for (auto &thread : threads) {
        thrum_test_thread_join(&thread);
    }
    THRUM_TEST(sum == 2);
    return 0;
}

int terminates(void *) {
    std::terminate();
}

} // namespace

int main(int argc, char **argv) {
    const struct {
        const char *name;
        thrum_fn fn;
    } cases[] = {{"of_a_task", of_a_task},
                 {"of_a_thread", of_a_thread},
                 {"of_the_test", of_the_test},
                 {"forgets_object", forgets_object},
                 {"loses_number", loses_number<thrum_slot>},
                 {"loses_number_std", loses_number<std_slot>},
                 {"adds_by_threads", adds_by_threads},
                 {"terminates", terminates}};
    for (const auto &one : cases) {
        if (argc > 1 && std::strcmp(argv[1], one.name) == 0) {
            argv[1] = argv[0];
            return thrum_test_main(argc - 1, argv + 1, one.fn, nullptr);
        }
    }
    if (argc > 1 && std::strcmp(argv[1], "of_a_lambda") == 0) {
        argv[1] = argv[0];
        return thrum::test(argc - 1, argv + 1, [] { half(3); });
    }
    return 2;
}
