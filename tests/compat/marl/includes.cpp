/* The headers of the standard library that come with marl's: programs rely on them. */
#include "check.h"

#include "marl/scheduler.h"

TEST(the_scheduler_brings_headers_of_the_standard_library) {
    /* marl's own example of primes includes neither <vector> nor <cstdio>. */
    std::vector<int> list{1};
    std::array<int, 1> row{{2}};
    std::map<int, int> tree{{3, 4}};
    std::unordered_map<int, int> table{{5, 6}};
    std::set<int> sorted{7};
    std::unordered_set<int> hashed{8};
    std::deque<int> both{9};
    CHECK(list[0] + row[0] + tree[3] + table[5] == 13);
    CHECK(sorted.count(7) && hashed.count(8) && both.size() == 1);

    std::mutex mutex;
    std::condition_variable cond;
    std::atomic<bool> set{false};
    const std::function<void()> call = [&] {
        std::lock_guard<std::mutex> guard(mutex);
        set = true;
        cond.notify_one();
    };
    std::thread thread(call);
    {
        std::unique_lock<std::mutex> lock(mutex);
        cond.wait(lock, [&] { return set.load(); });
    }
    thread.join();
    CHECK(std::chrono::seconds(1) > std::chrono::milliseconds(1));
}
