// boost.cc: Boost.Fiber's rows of starting, forking and waiting, and the program.
#include <malloc.h>

#include "boost_timers.hh"
#include "boost_turns.hh"

// ---- starting ----

static void spawn_round(uint32_t *slots, unsigned n) {
    round_done.reset(n);
    for (unsigned i = 0; i < n; i++) {
        go([slot = &slots[i]] {
            ++*slot;
            round_done.done();
        });
    }
    round_done.wait();
}

static void spawn() {
    inside([] { peer_rounds("spawn", 1000, peer_scale(1000, 20), spawn_round); });
}

static void joined_round(uint32_t *slots, unsigned n) {
    static std::vector<fibers::fiber> all;
    for (unsigned i = 0; i < n; i++) {
        all.emplace_back(fibers::launch::post, std::allocator_arg, *stack_of(),
                         [slot = &slots[i]] { ++*slot; });
    }
    for (fibers::fiber &f : all) {
        f.join();
    }
    all.clear();
}

static void joined() {
    inside([] { peer_rounds("spawn-joined", 1000, peer_scale(1000, 20), joined_round); });
}

// Each fiber runs when it is started (dispatch, depth first): a million that wait to run have
// stacks of 8 GB, and take five times as long. Nothing can be stolen, so the other threads sleep.
static void burst_round(uint32_t *slots, unsigned n) {
    round_done.reset(n);
    for (unsigned i = 0; i < n; i++) {
        fibers::fiber(fibers::launch::dispatch, std::allocator_arg, *stack_of(),
                      [slot = &slots[i]] {
                          ++*slot;
                          round_done.done();
                      })
            .detach();
    }
    round_done.wait();
}

static void burst() {
    inside([] { peer_burst(burst_round); }, true);
}

static void spawn_many() {
    inside([] { peer_rounds("spawn_many_local", 10000, peer_scale(100, 7), spawn_round); });
}

// Each fan-out finds the other threads asleep: it begins 2 ms after the last one ended.
static void fanout() {
    const unsigned n = 10000, repeats = peer_scale(50, 5);
    uint32_t *slots = peer_slots(n);
    peer_span all = {0, 0, 0};
    inside(
        [&] {
            for (unsigned i = 0; i < repeats; i++) {
                boost::this_fiber::sleep_for(std::chrono::milliseconds(2));
                peer_span span = peer_begin();
                spawn_round(slots, n);
                peer_end(&span);
                all.ns += span.ns;
                all.context_switches += span.context_switches;
            }
        },
        true);
    peer_row_per_op("fanout", &all, (uint64_t)n * repeats);
    peer_check_slots(slots, n, repeats);
}

static void link(uint32_t *slots, unsigned i, unsigned n) {
    ++slots[i];
    if (i + 1 < n) {
        go([=] { link(slots, i + 1, n); });
    } else {
        round_done.done();
    }
}

static void chain_round(uint32_t *slots, unsigned n) {
    round_done.reset(1);
    go([=] { link(slots, 0, n); });
    round_done.wait();
}

static void chained() {
    inside([] { peer_rounds("chained_spawn", 1000, peer_scale(1000, 20), chain_round); });
}

// ---- forked work ----

struct forked {
    static const unsigned fib_size = 25;

    static void start() {
    }
    static void stop() {
    }
    template <class F> static void inside(F f) {
        ::inside(f);
    }

    // The new fiber runs at once: depth first.
    template <class F, class G> static void both(F f, G g) {
        fibers::fiber first(fibers::launch::dispatch, std::allocator_arg, *stack_of(), f);
        g();
        first.join();
    }

    template <class F> static void all(unsigned n, F f) {
        fibers::fiber forks[12];
        for (unsigned i = 0; i + 1 < n; i++) {
            forks[i] = fibers::fiber(fibers::launch::dispatch, std::allocator_arg, *stack_of(),
                                     [&f, i] { f(i); });
        }
        f(n - 1);
        for (unsigned i = 0; i + 1 < n; i++) {
            forks[i].join();
        }
    }

    // Boost has no loops: a range is divided over 64 fibers a worker.
    template <class F> static void range(size_t n, F f) {
        const size_t parts = 64 * peer.workers;
        waitgroup left((unsigned)parts);
        for (size_t i = 0; i < parts; i++) {
            go([&, i] {
                f(n * i / parts, n * (i + 1) / parts);
                left.done();
            });
        }
        left.wait();
    }
};

// ---- waiting ----

static void wake() {
    static buffered requests(2), answers(2);
    std::thread pool([] {
        inside(
            [] {
                uint64_t sent;
                while (requests.pop(sent) == fibers::channel_op_status::success) {
                    answers.push((uint64_t)peer_now() - sent);
                }
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
    while (status && fgets(line, sizeof(line), status)) {
        if (sscanf(line, "VmRSS: %lf", &kb) == 1 || sscanf(line, "VmSwap: %lf", &kb) == 1 ||
            sscanf(line, "VmPTE: %lf", &kb) == 1) {
            bytes += kb * 1024;
        }
    }
    fclose(status);
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof(line), maps)) {
        bytes += 256;
    }
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
        for (unsigned i = 0; i < n; i++) {
            go([&, i] {
                waiting.done();
                gate.wait();
                slots[i]++;
                running.done();
            });
        }
        waiting.wait();
        peer_end(&span);
        boost::this_fiber::sleep_for(std::chrono::milliseconds(100));
        peer_row("blocked-memory", "bytes", (file_bytes() - before) / n, n, &span);
        peer_row_per_op("blocked-time", &span, n);
        gate.done();
        running.wait();
        for (unsigned i = 0; i < 100; i++) {
            boost::this_fiber::yield();
        }
    });
    peer_check_slots(slots, n, 1);
}

// How late sleeps end, in classes a 32nd apart, as in thrum-bench; a table a thread.
static peer_histogram lateness[64];

static void sleep_all(const peer_crowd &crowd) {
    const unsigned n = crowd.sleepers, rounds = crowd.rounds;
    std::atomic<unsigned> threads(0);
    double cpu = peer_process_cpu_us();
    peer_span span = peer_begin();
    inside(
        [&] {
            waitgroup left(n);
            for (unsigned i = 0; i < n; i++) {
                go([&, i] {
                    uint32_t random = i * 2654435761u + 1;
                    for (unsigned j = 0; j < rounds; j++) {
                        random ^= random << 13;
                        random ^= random >> 17;
                        random ^= random << 5;
                        auto until = std::chrono::steady_clock::now() +
                                     std::chrono::microseconds(1000 + random % 99001);
                        boost::this_fiber::sleep_until(until);
                        auto late = std::chrono::steady_clock::now() - until;
                        static thread_local unsigned mine = threads++;
                        if (j >= crowd.unnoted) {
                            peer_histogram_add(&lateness[mine % 64],
                                               std::chrono::nanoseconds(late).count());
                        }
                    }
                    left.done();
                });
            }
            left.wait();
            for (unsigned i = 0; i < 100; i++) {
                boost::this_fiber::yield();
            }
        },
        true);
    peer_end(&span);
    cpu = peer_process_cpu_us() - cpu;
    peer_sleeps(&crowd, lateness, 64, cpu, &span);
}

static void sleeps() {
    sleep_all(peer_crowd_full());
}

static void sleeps_half() {
    sleep_all(peer_crowd_half());
}

int main(int argc, char **argv) {
    // Stacks come from malloc; when it keeps what was freed, that spares a fault for each.
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_TOP_PAD, 64 << 20);
    static const peer_work works[] = {
        {"spawn", spawn},
        {"spawn-joined", joined},
        {"spawn-burst spawn-burst-cold", burst},
        {"fanout", fanout},
        {"spawn_many_local", spawn_many},
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
        {"chan_contended", contended},
        {"skynet-chan", skynet_chan},
        {"many-to-many", many_to_many},
        {"event-chain", event_chain},
        {"event-baton", event_baton},
        {"tickets", tickets},
        {"pool-alone", pool_alone},
        {"pool-100", pool_100},
        {"yield_many", yield_many},
        {"ping_pong", ping_pong},
        {"fib", forkjoin<forked>::fib},
        {"skynet-join", forkjoin<forked>::skynet},
        {"nqueens", forkjoin<forked>::nqueens},
        {"sort", forkjoin<forked>::sort},
        {"for-light", forkjoin<forked>::light},
        {"for-skewed", forkjoin<forked>::skewed},
        {"wake-p50 wake-p99", wake},
        {"idle", idle},
        {"blocked-memory blocked-time", blocked},
        {"sleeps sleeps-late-p50 sleeps-late-p99 sleeps-late-max", sleeps},
        {"sleeps-half sleeps-half-late-p50 sleeps-half-late-p99 sleeps-half-late-max", sleeps_half},
        {"timers", timers},
        {"timers-cold", timers_cold},
    };
    return peer_main("boost", BOOST_LIB_VERSION, works, sizeof(works) / sizeof(works[0]), argc,
                     argv);
}
