// boost.cc: Boost.Fiber with its work stealing, on stacks of 64 KiB without guards.
//
// Its workers either look for work all the time or sleep until work of their own comes, and then steal
// nothing. The rows that ask for throughput use the former, which suits them; those that ask what
// waiting costs (wake, idle, sleeps) the latter.
#include <boost/fiber/all.hpp>
#include <boost/version.hpp>

#include <malloc.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "peer.h"

namespace fibers = boost::fibers;

static std::shared_ptr<fibers::fixedsize_stack> stack_of() {
    static auto stack = std::make_shared<fibers::fixedsize_stack>(64 * 1024);
    return stack;
}

template <class F> static void go(F f) {
    fibers::fiber(fibers::launch::post, std::allocator_arg, *stack_of(), f).detach();
}

// Counts down; who waits is woken by the last one.
class waitgroup {
    std::atomic<unsigned> left;
    fibers::mutex lock;
    fibers::condition_variable all;

  public:
    explicit waitgroup(unsigned n) : left(n) {}
    void reset(unsigned n) { left.store(n, std::memory_order_relaxed); }
    void done() {
        if (left.fetch_sub(1, std::memory_order_acq_rel) == 1) {
            std::unique_lock<fibers::mutex> guard(lock);
            all.notify_all();
        }
    }
    void wait() {
        std::unique_lock<fibers::mutex> guard(lock);
        all.wait(guard, [&] { return left.load(std::memory_order_acquire) == 0; });
    }
};

// Runs f as a fiber of the first of so many threads, and waits for its end.
template <class F> static void inside(F f, bool asleep = false) {
    fibers::mutex lock;
    fibers::condition_variable more;
    bool ended = false;
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < peer.workers; i++)
        threads.emplace_back([&, i] {
            // The algorithm waits for all of its threads, and cannot do with one.
            if (peer.workers > 1)
                fibers::use_scheduling_algorithm<fibers::algo::work_stealing>(peer.workers, asleep);
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
    for (std::thread &t : threads)
        t.join();
}

// ---- starting ----

static waitgroup round_done(0);

static void spawn_round(uint32_t *slots, unsigned n) {
    round_done.reset(n);
    for (unsigned i = 0; i < n; i++)
        go([slot = &slots[i]] {
            ++*slot;
            round_done.done();
        });
    round_done.wait();
}

static void spawn() {
    inside([] { peer_rounds("spawn", 1000, peer_scale(1000, 20), spawn_round); });
}

static void link(uint32_t *slots, unsigned i, unsigned n) {
    ++slots[i];
    if (i + 1 < n)
        go([=] { link(slots, i + 1, n); });
    else
        round_done.done();
}

static void chain_round(uint32_t *slots, unsigned n) {
    round_done.reset(1);
    go([=] { link(slots, 0, n); });
    round_done.wait();
}

static void chained() {
    inside([] { peer_rounds("chained_spawn", 1000, peer_scale(1000, 20), chain_round); });
}

// ---- crowds ----

template <class F> static peer_span crowd(unsigned n, F body) {
    peer_span span;
    inside([&] {
        waitgroup waiting(n), running(n), gate(1);
        for (unsigned i = 0; i < n; i++)
            go([&, i] {
                waiting.done();
                gate.wait();
                body(i);
                running.done();
            });
        waiting.wait();
        span = peer_begin();
        gate.done();
        running.wait();
        peer_end(&span);
        for (unsigned i = 0; i < 100; i++) // the last ones may still be on their way out
            boost::this_fiber::yield();
    });
    return span;
}

static void yields() {
    unsigned steps = peer_scale(1000, 50);
    uint32_t *slots = peer_slots(1000);
    peer_span span = crowd(1000, [&](unsigned index) {
        for (unsigned i = 0; i < steps; i++) {
            boost::this_fiber::yield();
            slots[index]++;
        }
    });
    peer_row_per_op("yield", &span, 1000 * (uint64_t)steps);
    peer_check_slots(slots, 1000, steps);
}

static void lock_by(const char *name, unsigned n) {
    unsigned steps = peer_scale(5000000, 200000) / n;
    fibers::mutex lock;
    uint64_t count = 0;
    peer_span span = crowd(n, [&](unsigned) {
        for (unsigned i = 0; i < steps; i++) {
            lock.lock();
            count++;
            lock.unlock();
        }
    });
    peer_check(count == (uint64_t)n * steps, "locks were lost");
    peer_row_per_op(name, &span, count);
}

static void mutex_alone() { lock_by("mutex-alone", 1); }
static void mutex_2() { lock_by("mutex-2", 2); }
static void mutex_100() { lock_by("mutex-100", 100); }
static void mutex_1000() { lock_by("mutex-1000", 1000); }

// ---- channels ----

typedef fibers::buffered_channel<uint64_t> buffered;
typedef fibers::unbuffered_channel<uint64_t> rendezvous;

// With several workers the players steal each other all the time, and a tenth of the balls will do.
template <class C> static void play(const char *name, C &there, C &back, unsigned rounds) {
    if (peer.workers > 1)
        rounds = rounds / 10 + 1000;
    inside([&] {
        uint64_t ball = 0;
        waitgroup ended(1);
        go([&] {
            uint64_t mine;
            while (there.pop(mine) == fibers::channel_op_status::success)
                back.push(mine + 1);
            ended.done();
        });
        peer_span span;
        for (unsigned i = 0; i < rounds + rounds / 10; i++) {
            if (i == rounds / 10)
                span = peer_begin();
            there.push(ball);
            back.pop(ball);
            ball++;
        }
        peer_end(&span);
        peer_check(ball == 2 * (uint64_t)(rounds + rounds / 10), "the ball was lost");
        peer_row_per_op(name, &span, rounds);
        there.close();
        ended.wait();
    });
}

static void pingpong() { // channels with room for one are its semaphores
    buffered there(2), back(2);
    play("pingpong", there, back, peer_scale(1000000, 50000));
}

static void chan_pingpong() {
    rendezvous there, back;
    play("chan-pingpong", there, back, peer_scale(1000000, 10000));
}

static void chan_pingpong_buffered() {
    buffered there(64), back(64);
    play("chan-pingpong-buffered", there, back, peer_scale(1000000, 10000));
}

static void stream(const char *name, unsigned sides, unsigned full) {
    uint64_t elems = peer_scale(full, 1000), n = 0, sum = 0;
    peer_span span;
    inside([&] {
        buffered c(64);
        waitgroup sending(sides), receiving(sides);
        std::vector<std::vector<uint64_t>> tallies(sides, std::vector<uint64_t>(16));
        span = peer_begin();
        for (unsigned i = 0; i < sides; i++)
            go([&, i] {
                uint64_t elem, mine = 0, total = 0;
                while (c.pop(elem) == fibers::channel_op_status::success) {
                    mine++;
                    total += elem;
                }
                tallies[i][0] = mine;
                tallies[i][1] = total;
                receiving.done();
            });
        for (unsigned i = 0; i < sides; i++)
            go([&] {
                for (uint64_t elem = 1; elem <= elems; elem++)
                    c.push(elem);
                sending.done();
            });
        sending.wait();
        c.close();
        receiving.wait();
        peer_end(&span);
        for (auto &t : tallies) {
            n += t[0];
            sum += t[1];
        }
    });
    peer_check(n == sides * elems && sum == sides * (elems * (elems + 1) / 2), "elements were lost");
    peer_row_per_op(name, &span, n);
}

static void chan_1_1() { stream("chan-1-1", 1, 4000000); }
static void chan_4_4() { stream("chan-4-4", 4, 1000000); }

// ---- waiting ----

static void wake() {
    static buffered requests(2), answers(2);
    std::thread pool([] {
        inside(
            [] {
                uint64_t sent;
                while (requests.pop(sent) == fibers::channel_op_status::success)
                    answers.push((uint64_t)peer_now() - sent);
            },
            true);
    });
    peer_wake([]() -> int64_t {
        uint64_t ns = 0;
        requests.push((uint64_t)peer_now());
        answers.pop(ns);
        return (int64_t)ns;
    });
    requests.close();
    pool.join();
}

static void idle() {
    static buffered requests(2);
    std::thread pool([] {
        inside(
            [] {
                uint64_t elem;
                requests.pop(elem);
            },
            true);
    });
    peer_idle();
    requests.close();
    pool.join();
}

static double file_bytes() {
    double bytes = 0, kb;
    char line[256];
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof(line), status))
        if (sscanf(line, "VmRSS: %lf", &kb) == 1 || sscanf(line, "VmSwap: %lf", &kb) == 1 ||
            sscanf(line, "VmPTE: %lf", &kb) == 1)
            bytes += kb * 1024;
    fclose(status);
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof(line), maps))
        bytes += 256;
    fclose(maps);
    return bytes;
}

static void blocked() {
    unsigned n = peer_scale(100000, 10000);
    uint32_t *slots = peer_slots(n);
    double before = file_bytes();
    inside([&] {
        waitgroup waiting(n), running(n), gate(1);
        peer_span span = peer_begin();
        for (unsigned i = 0; i < n; i++)
            go([&, i] {
                waiting.done();
                gate.wait();
                slots[i]++;
                running.done();
            });
        waiting.wait();
        peer_end(&span);
        boost::this_fiber::sleep_for(std::chrono::milliseconds(100));
        peer_row("blocked-memory", "bytes", (file_bytes() - before) / n, n, &span);
        peer_row_per_op("blocked-time", &span, n);
        gate.done();
        running.wait();
        for (unsigned i = 0; i < 100; i++)
            boost::this_fiber::yield();
    });
    peer_check_slots(slots, n, 1);
}

int main(int argc, char **argv) {
    // Stacks come from malloc: that it keeps what was freed spares a fault for each.
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_TOP_PAD, 64 << 20);
    static const peer_work works[] = {
        {"spawn", spawn},
        {"chained_spawn", chained},
        {"yield", yields},
        {"pingpong", pingpong},
        {"mutex-alone", mutex_alone},
        {"mutex-2", mutex_2},
        {"mutex-100", mutex_100},
        {"mutex-1000", mutex_1000},
        {"chan-1-1", chan_1_1},
        {"chan-4-4", chan_4_4},
        {"chan-pingpong", chan_pingpong},
        {"chan-pingpong-buffered", chan_pingpong_buffered},
        {"wake-p50 wake-p99", wake},
        {"idle", idle},
        {"blocked-memory blocked-time", blocked},
    };
    return peer_main("boost", BOOST_LIB_VERSION, works, sizeof(works) / sizeof(works[0]), argc, argv);
}
