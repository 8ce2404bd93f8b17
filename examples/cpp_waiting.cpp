/*
 * cpp_waiting.cpp: a bounded buffer by a mutex and conditions of thrum's with the standard's locks;
 * a waitgroup for its users, a semaphore for how many work at a time, and a once for what all need.
 */
#include <cstdio>
#include <deque>
#include <mutex>
#include <thrum/thrum.hpp>

namespace {

class buffer {
  public:
    void put(int value) {
        std::unique_lock<thrum::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return values_.size() < 4; });
        values_.push_back(value);
        changed_.notify_all();
    }
    int take() {
        std::unique_lock<thrum::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return !values_.empty(); });
        const int value = values_.front();
        values_.pop_front();
        changed_.notify_all();
        return value;
    }

  private:
    thrum::mutex mutex_;
    thrum::cond changed_;
    std::deque<int> values_;
};

} // namespace

int main() {
    return thrum::run([] {
        buffer values;
        thrum::waitgroup users(3);
        thrum::semaphore at_a_time(2);
        thrum::once greeting;
        thrum::mutex lock;
        int sum = 0;
        for (int i = 0; i < 3; i++) {
            thrum::go([&] {
                thrum::defer end([&] { users.done(); });
                at_a_time.wait();
                greeting.call([] { std::puts("the first one has begun"); });
                for (int n = 0; n < 10; n++) {
                    const int value = values.take();
                    std::lock_guard<thrum::mutex> guard(lock);
                    sum += value;
                }
                at_a_time.post();
            });
        }
        for (int n = 1; n <= 30; n++) {
            values.put(n);
        }
        users.wait();
        std::printf("%d\n", sum);
        return sum == 465 ? 0 : 1;
    });
}
