/*
 * cpp.cc: what the header for C++ costs: a hop and an await of a coroutine, beside what does the
 * same elsewhere; a fork of a lambda beside the C call; what `go` allocates.
 *
 *     thrum-bench-cpp [--runs N] [--only ROW] [--workers N] [--tokio PROGRAM]
 *                                                             (default 5 runs, all rows, 1 worker)
 *
 * Each row is nanoseconds an operation: the median, the least and the most of the runs, which take
 * turns. Peers are in it where their headers were there: Asio's awaitable (<asio.hpp>), oneTBB's
 * resumable tasks; and Tokio's tasks where its program is built (bench/peers/build tokio), which is
 * a process for each sample. The trivial baseline is a coroutine that is resumed by a loop: no
 * scheduler, no other thread, nothing to wait for.
 */
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <utility>
#include <vector>

#include <thrum/thrum.hpp>

#if defined(BENCH_ASIO)
#include <asio.hpp>
#endif
#if defined(BENCH_TBB)
#include <tbb/global_control.h>
#include <tbb/task.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#endif

static bool counting; /* only while one thread runs */
static long allocations;

__attribute__((noinline)) void *operator new(size_t size) {
    allocations += counting;
    void *memory = std::malloc(size ? size : 1);
    if (!memory) {
        std::abort();
    }
    return memory;
}
__attribute__((noinline)) void operator delete(void *memory) noexcept {
    std::free(memory);
}
__attribute__((noinline)) void operator delete(void *memory, size_t) noexcept {
    std::free(memory);
}

namespace {

unsigned workers = 1;

using clock_type = std::chrono::steady_clock;

/* Calls it once; nanoseconds for each of `n` operations. */
template <typename Fn> double time_of(long n, Fn fn) {
    const auto begin = clock_type::now();
    fn();
    const std::chrono::duration<double, std::nano> took = clock_type::now() - begin;
    return took.count() / double(n);
}

void must(bool holds, const char *what) {
    if (!holds) {
        std::fprintf(stderr, "thrum-bench-cpp: %s\n", what);
        std::exit(1);
    }
}

/* Runs it as the first task of a scheduler with so many workers. */
template <typename Fn> double in_task(Fn fn) {
    thrum_config config;
    thrum_config_init(&config);
    config.workers = workers;
    return thrum::run(&config, fn);
}

/* ---- hops ---- */

enum : long { HOPS = 1000000, AWAITS = 5000000, CALLS = 1000000 };

thrum::co<> hops(long n) {
    for (long i = 0; i < n; i++) {
        co_await thrum::hop();
    }
}

double hop() {
    return in_task([] { return time_of(HOPS, [] { thrum::sync_wait(hops(HOPS)); }); });
}

/* A fiber that gives way where there is nothing else: what a hop is in place of. */
double yield() {
    return in_task([] {
        thrum::scope other;
        std::atomic<bool> over(false);
        other.go([&] {
            while (!over) {
                thrum::yield();
            }
        });
        const double took = time_of(2 * HOPS, [] {
            for (long i = 0; i < HOPS; i++) {
                thrum::yield();
            }
        });
        over = true;
        other.join();
        return took;
    });
}

/* The trivial baseline. */
struct bare {
    struct promise_type {
        bare get_return_object() noexcept {
            return {std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        std::suspend_always initial_suspend() const noexcept {
            return {};
        }
        std::suspend_always final_suspend() const noexcept {
            return {};
        }
        void return_void() const noexcept {
        }
        void unhandled_exception() const noexcept {
            std::terminate();
        }
    };
    std::coroutine_handle<promise_type> frame;
};

bare suspends(long n) {
    for (long i = 0; i < n; i++) {
        co_await std::suspend_always();
    }
}

double bare_hop() {
    bare one = suspends(HOPS);
    long resumed = 0;
    const double took = time_of(HOPS, [&] {
        while (!one.frame.done()) {
            one.frame.resume();
            resumed++;
        }
    });
    one.frame.destroy();
    must(resumed == HOPS + 1, "a bare coroutine was not resumed as often as it was suspended");
    return took;
}

#if defined(BENCH_ASIO)
asio::awaitable<void> asio_hops(long n) {
    for (long i = 0; i < n; i++) {
        co_await asio::post(asio::use_awaitable);
    }
}

/* One thread; the context is told so, which spares it its locks. */
double asio_hop() {
    asio::io_context context(1);
    asio::co_spawn(context, asio_hops(HOPS), asio::detached);
    return time_of(HOPS, [&] { context.run(); });
}

asio::awaitable<long> asio_one(long n) {
    co_return n;
}

asio::awaitable<void> asio_awaits(long n, long *sum) {
    for (long i = 0; i < n; i++) {
        *sum += co_await asio_one(i & 1);
    }
}

double asio_await() {
    asio::io_context context(1);
    long sum = 0;
    asio::co_spawn(context, asio_awaits(AWAITS, &sum), asio::detached);
    const double took = time_of(AWAITS, [&] { context.run(); });
    must(sum == AWAITS / 2, "Asio's awaits");
    return took;
}
#endif

#if defined(BENCH_TBB)
/* A task that suspends itself and is made ready at once. */
double tbb_hop() {
    tbb::global_control most(tbb::global_control::max_allowed_parallelism, workers);
    tbb::task_arena arena(static_cast<int>(workers));
    return arena.execute([] {
        return time_of(HOPS / 10, [] {
            tbb::task_group group;
            group.run_and_wait([] {
                for (long i = 0; i < HOPS / 10; i++) {
                    tbb::task::suspend([](tbb::task::suspend_point at) { tbb::task::resume(at); });
                }
            });
        });
    });
}
#endif

/* ---- awaits ---- */

thrum::co<long> one(long n) {
    co_return n;
}

thrum::co<long> awaits(long n) {
    long sum = 0;
    for (long i = 0; i < n; i++) {
        sum += co_await one(i & 1);
    }
    co_return sum;
}

double await() {
    return in_task([] {
        return time_of(
            AWAITS, [] { must(thrum::sync_wait(awaits(AWAITS)) == AWAITS / 2, "thrum's awaits"); });
    });
}

/* Spawned, and awaited by another coroutine: a join without a stack. */
thrum::co<long> joins(long n) {
    long sum = 0;
    for (long i = 0; i < n; i++) {
        sum += co_await thrum::spawn(one(i & 1));
    }
    co_return sum;
}

double spawn_await() {
    return in_task([] {
        return time_of(CALLS,
                       [] { must(thrum::sync_wait(joins(CALLS)) == CALLS / 2, "thrum's joins"); });
    });
}

/* Two coroutines and two semaphores; an operation is one wait that has to wait. */
thrum::co<> plays(thrum_sem &ours, thrum_sem &theirs, long n) {
    for (long i = 0; i < n; i++) {
        co_await thrum::wait(ours);
        thrum_sem_post(&theirs);
    }
}

double pingpong() {
    return in_task([] {
        thrum_sem ping = THRUM_SEM_INIT(1);
        thrum_sem pong = THRUM_SEM_INIT(0);
        return time_of(2 * CALLS, [&] {
            auto one = thrum::spawn(plays(ping, pong, CALLS));
            auto two = thrum::spawn(plays(pong, ping, CALLS));
            one.join();
            two.join();
        });
    });
}

/* ---- forks of lambdas ---- */

long fibonacci_cpp(long n) {
    if (n < 2) {
        return n;
    }
    thrum::fork left([n] { return fibonacci_cpp(n - 1); });
    const long right = fibonacci_cpp(n - 2);
    return left.join() + right;
}

struct fibonacci_call {
    long n;
    long result;
};

int fibonacci_body(void *arg) {
    auto *call = static_cast<fibonacci_call *>(arg);
    if (call->n < 2) {
        call->result = call->n;
        return 0;
    }
    fibonacci_call left = {call->n - 1, 0};
    fibonacci_call right = {call->n - 2, 0};
    thrum_fork fork;
    thrum_fork_start(&fork, fibonacci_body, &left);
    (void)fibonacci_body(&right);
    (void)thrum_fork_join(&fork);
    call->result = left.result + right.result;
    return 0;
}

/* fibonacci(n) makes fibonacci(n + 1) - 1 forks. */
enum : long { FIBONACCI = 30, IS = 832040, FORKS = 1346268 };

double fork_cpp() {
    return in_task([] {
        return time_of(FORKS, [] { must(fibonacci_cpp(FIBONACCI) == IS, "forks of lambdas"); });
    });
}

double fork_c() {
    return in_task([] {
        return time_of(FORKS, [] {
            fibonacci_call call = {FIBONACCI, 0};
            (void)fibonacci_body(&call);
            must(call.result == IS, "forks of C");
        });
    });
}

/* Allocations, not nanoseconds. */
double go_allocations() {
    return in_task([] {
        long count = 0;
        thrum::waitgroup group;
        group.add(1000);
        counting = true;
        for (int i = 0; i < 1000; i++) {
            thrum::go([&group, &count] {
                count++;
                group.done();
            });
        }
        counting = false;
        group.wait();
        return double(std::exchange(allocations, 0)) / 1000;
    });
}

/* ---- Tokio ---- */

const char *tokio =
    "build/peers/peer-tokio"; /* bench/peers/build tokio; without it its rows stay out */

/* One sample of a row of that program's: a process, as the rest of the benchmark has it. */
double tokio_row(const char *name) {
    char command[4096];
    char line[4096];
    double took = -1;
    const int length =
        std::snprintf(command, sizeof command, "'%s' --only %s --workers %u", tokio, name, workers);
    must(length > 0 && length < int(sizeof command), "a long path");
    std::FILE *from = popen(command, "r");
    must(from, "popen");
    while (std::fgets(line, sizeof line, from)) {
        const char *at = std::strstr(line, "\"median\": ");
        took = at ? std::strtod(at + std::strlen("\"median\": "), nullptr) : took;
    }
    must(pclose(from) == 0 && took > 0, command);
    return took;
}

double tokio_hop() {
    return tokio_row("cxx-hop");
}

double tokio_await() {
    return tokio_row("cxx-await");
}

double tokio_spawn_await() {
    return tokio_row("cxx-spawn-await");
}

bool is_tokio(double (*run)()) {
    return run == tokio_hop || run == tokio_await || run == tokio_spawn_await;
}

/* ---- the table ---- */

struct row {
    const char *name;
    const char *system;
    double (*run)();
    std::vector<double> samples = {};
};

row rows[] = {
    {"hop", "thrum: co_await hop()", hop},
    {"hop", "thrum: a fiber's yield", yield},
#if defined(BENCH_ASIO)
    {"hop", "Asio: co_await post(use_awaitable), one thread", asio_hop},
#endif
#if defined(BENCH_TBB)
    {"hop", "oneTBB: task::suspend and resume", tbb_hop},
#endif
    {"hop", "Tokio: yield_now().await", tokio_hop},
    {"hop", "baseline: a bare coroutine, resumed by a loop", bare_hop},
    {"await", "thrum: co_await of a co<long>", await},
#if defined(BENCH_ASIO)
    {"await", "Asio: co_await of an awaitable<long>", asio_await},
#endif
    {"await", "Tokio: await of a boxed future", tokio_await},
    {"spawn-await", "thrum: co_await spawn(co<long>)", spawn_await},
    {"spawn-await", "Tokio: spawn(...).await", tokio_spawn_await},
    {"pingpong", "thrum: co_await wait(semaphore), by turns", pingpong},
    {"fork", "thrum: fork of a lambda (fibonacci)", fork_cpp},
    {"fork", "thrum: thrum_fork_start, in C's words", fork_c},
    {"go-allocations", "thrum: go of a closure (allocations)", go_allocations},
};

void print() {
    struct utsname machine;
    uname(&machine);
    std::printf("%s %s %s, %s, %u worker%s\n", machine.sysname, machine.release, machine.machine,
                __VERSION__, workers, workers == 1 ? "" : "s");
    std::printf("%-15s %-48s %9s %9s %9s\n", "row", "", "median", "least", "most");
    for (row &one : rows) {
        if (!one.samples.empty()) {
            std::sort(one.samples.begin(), one.samples.end());
            std::printf("%-15s %-48s %9.1f %9.1f %9.1f\n", one.name, one.system,
                        one.samples[one.samples.size() / 2], one.samples.front(),
                        one.samples.back());
        }
    }
}

} // namespace

int main(int argc, char **argv) {
    long runs = 5;
    const char *only = nullptr;
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (!std::strcmp(argv[i], "--runs")) {
            runs = std::atol(value);
        } else if (!std::strcmp(argv[i], "--only")) {
            only = value;
        } else if (!std::strcmp(argv[i], "--workers")) {
            workers = static_cast<unsigned>(std::atoi(value));
        } else if (!std::strcmp(argv[i], "--tokio")) {
            tokio = value;
        } else {
            std::fprintf(stderr,
                         "usage: %s [--runs N] [--only ROW] [--workers N] [--tokio PROGRAM]\n",
                         argv[0]);
            return 2;
        }
    }
    const bool has_tokio = access(tokio, X_OK) == 0;
    for (long i = 0; i < runs; i++) {
        for (row &one : rows) {
            if ((!only || !std::strcmp(only, one.name)) && (has_tokio || !is_tokio(one.run))) {
                one.samples.push_back(one.run());
            }
        }
    }
    print();
    return 0;
}
