// tbb.cc: oneTBB. Its tasks cannot block. One slot of the arena is the calling thread's. So that as
// many threads work as elsewhere, the rows from inside use an arena of that many, caller included.
#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_invoke.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#include <tbb/version.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "forkjoin.hh"

static std::unique_ptr<tbb::global_control> limit;
static std::unique_ptr<tbb::task_arena> arena;

struct onetbb {
    static const unsigned fib_size = 31;

    static void start() {
        limit.reset(
            new tbb::global_control(tbb::global_control::max_allowed_parallelism, peer.workers));
        arena.reset(new tbb::task_arena((int)peer.workers));
        arena->initialize();
    }
    static void stop() {
        arena.reset();
        limit.reset();
    }

    template <class F> static void inside(F f) {
        arena->execute(f);
    }

    template <class F, class G> static void both(F f, G g) {
        tbb::task_group group;
        group.run(f);
        g();
        group.wait();
    }

    template <class F> static void all(unsigned n, F f) {
        tbb::task_group group;
        for (unsigned i = 0; i + 1 < n; i++) {
            group.run([&f, i] { f(i); });
        }
        f(n - 1);
        group.wait();
    }

    template <class F> static void tasks(unsigned n, F f) {
        tbb::task_group group;
        for (unsigned i = 0; i < n; i++) {
            group.run([f, i] { f(i); });
        }
        group.wait();
    }

    template <class F> static void range(size_t n, F f) {
        tbb::parallel_for(tbb::blocked_range<size_t>(0, n),
                          [&](const tbb::blocked_range<size_t> &r) { f(r.begin(), r.end()); });
    }
};

// ---- started by an external thread: an arena of workers only ----

static void start_external() {
    limit.reset(
        new tbb::global_control(tbb::global_control::max_allowed_parallelism, peer.workers + 1));
    arena.reset(new tbb::task_arena((int)peer.workers, 0));
    arena->initialize();
}

static struct {
    std::mutex lock;
    std::condition_variable all;
    alignas(64) std::atomic<unsigned> left;
} done;

static void one_done() {
    if (done.left.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        std::lock_guard<std::mutex> guard(done.lock);
        done.all.notify_all();
    }
}

static void wait_done() {
    std::unique_lock<std::mutex> guard(done.lock);
    done.all.wait(guard, [] { return done.left.load(std::memory_order_acquire) == 0; });
}

static void external_round(uint32_t *slots, unsigned n) {
    done.left = n;
    for (unsigned i = 0; i < n; i++) {
        uint32_t *slot = &slots[i];
        arena->enqueue([slot] {
            ++*slot;
            one_done();
        });
    }
    wait_done();
}

static void spawn_external() {
    start_external();
    peer_rounds("spawn-external", peer_scale(1000000, 10000), 1, external_round);
    onetbb::stop();
}

// ---- Tokio's rows: an external thread starts the tasks and waits for them ----

static void spawn_many_round(uint32_t *slots, unsigned n) {
    done.left = 1;
    arena->enqueue([=] {
        onetbb::tasks(n, [=](unsigned i) { ++slots[i]; });
        one_done();
    });
    wait_done();
}

static void fanout() {
    start_external();
    peer_fanout(spawn_many_round);
    onetbb::stop();
}

static void spawn_many_local() {
    start_external();
    peer_rounds("spawn_many_local", 10000, peer_scale(100, 7), spawn_many_round);
    onetbb::stop();
}

static void spawn_many_remote() {
    start_external();
    peer_rounds("spawn_many_remote_idle", 10000, peer_scale(100, 7), external_round);
    onetbb::stop();
}

static void threads_round(uint32_t *slots, unsigned n) {
    const unsigned threads = 8;
    std::vector<std::thread> all;
    done.left = n;
    for (unsigned t = 0; t < threads; t++) {
        all.emplace_back([=] {
            for (uint32_t *slot = slots + n / threads * t; slot < slots + n / threads * (t + 1);
                 slot++) {
                arena->enqueue([slot] {
                    ++*slot;
                    one_done();
                });
            }
            wait_done();
        });
    }
    for (std::thread &t : all) {
        t.join();
    }
}

static void remote_spawn() {
    start_external();
    peer_rounds("remote_spawn", 12800, peer_scale(40, 4), threads_round);
    onetbb::stop();
}

static void link(tbb::task_group *group, uint32_t *slots, unsigned i, unsigned n) {
    ++slots[i];
    if (i + 1 < n) {
        group->run([=] { link(group, slots, i + 1, n); });
    }
}

static void chain_round(uint32_t *slots, unsigned n) {
    done.left = 1;
    arena->enqueue([=] {
        tbb::task_group group;
        link(&group, slots, 0, n);
        group.wait();
        one_done();
    });
    wait_done();
}

static void chained() {
    start_external();
    peer_rounds("chained_spawn", 1000, peer_scale(1000, 20), chain_round);
    onetbb::stop();
}

// ---- waiting ----

static int64_t woken_ns;

static int64_t wake_once() {
    done.left = 1;
    int64_t sent = peer_now();
    arena->enqueue([] {
        woken_ns = peer_now();
        one_done();
    });
    wait_done();
    return woken_ns - sent;
}

static void wake() {
    start_external();
    peer_wake(wake_once);
    onetbb::stop();
}

static void idle() {
    start_external();
    wake_once();
    peer_idle();
    onetbb::stop();
}

int main(int argc, char **argv) {
    static const peer_work works[] = {FORKJOIN_WORKS(onetbb),
                                      {"spawn-external", spawn_external},
                                      {"fanout", fanout},
                                      {"spawn_many_local", spawn_many_local},
                                      {"spawn_many_remote_idle", spawn_many_remote},
                                      {"remote_spawn", remote_spawn},
                                      {"chained_spawn", chained},
                                      {"wake-p50 wake-p99", wake},
                                      {"idle", idle}};
    return peer_main("onetbb", TBB_runtime_version(), works, sizeof(works) / sizeof(works[0]), argc,
                     argv);
}
