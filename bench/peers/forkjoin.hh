// forkjoin.hh: the rows of forked work for any system that has
//   S::start(), S::stop()             before and after; the calls below come from inside
//   S::inside(f)                      calls f where tasks may be started, and waits
//   S::both(f, g)                     f() and g(), in parallel
//   S::all(n, f)                      f(0) ... f(n - 1), a task each but the last
//   S::range(n, f)                    f(begin, end) over parts of [0, n), cut as the system likes
//   S::fib_size                       which Fibonacci number; less than 35 where calls are slow
// The work is cut and checked as in thrum-bench.
#ifndef BENCH_PEERS_FORKJOIN_HH
#define BENCH_PEERS_FORKJOIN_HH

#include <algorithm>
#include <vector>

#include "bodies.h"
#include "peer.h"

template <class S> struct forkjoin {
    // ---- fib ----

    __attribute__((noinline)) static uint64_t fib_call(unsigned n) {
        if (n < 2) {
            return n;
        }
        uint64_t first, second;
        S::both([&] { first = fib_call(n - 1); }, [&] { second = fib_call(n - 2); });
        return first + second;
    }

    static uint64_t fib_value(unsigned n) {
        uint64_t a = 0, b = 1;
        for (; n > 0; n--) {
            uint64_t next = a + b;
            a = b;
            b = next;
        }
        return a;
    }

    // Less than fib(35): the figure is per call.
    static void fib() {
        const unsigned n = peer.quick ? S::fib_size - 4 : S::fib_size;
        S::start();
        peer_span span;
        uint64_t value = 0;
        S::inside([&] {
            fib_call(n);
            span = peer_begin();
            value = fib_call(n);
            peer_end(&span);
        });
        peer_check(value == fib_value(n), "fib is wrong");
        peer_row_per_op("fib", &span, 2 * fib_value(n + 1) - 1);
        S::stop();
    }

    // ---- skynet ----

    __attribute__((noinline)) static uint64_t sky_call(uint64_t number, uint64_t leaves) {
        if (leaves == 1) {
            return number;
        }
        uint64_t sums[10];
        S::all(10,
               [&](unsigned i) { sums[i] = sky_call(number + i * (leaves / 10), leaves / 10); });
        uint64_t sum = 0;
        for (uint64_t part : sums) {
            sum += part;
        }
        return sum;
    }

    static void skynet() {
        uint64_t leaves = peer.quick ? 100000 : 1000000, sum = 0;
        S::start();
        peer_span span;
        S::inside([&] {
            for (unsigned i = 0; i < 3; i++) {
                span = peer_begin();
                sum = sky_call(0, leaves);
                peer_end(&span);
            }
        });
        peer_check(sum == leaves * (leaves - 1) / 2, "the sum is wrong");
        peer_row_ms("skynet-join", &span, leaves);
        S::stop();
    }

    // ---- queens ----

    static int place(unsigned queens, unsigned row, unsigned columns, unsigned left,
                     unsigned right) {
        if (row == queens) {
            return 1;
        }
        unsigned bits[12], n = 0;
        int found[12];
        for (unsigned free = ~(columns | left | right) & ((1u << queens) - 1); free;
             free &= free - 1) {
            bits[n++] = free & -free;
        }
        if (n == 0) {
            return 0;
        }
        S::all(n, [&](unsigned i) {
            found[i] = place(queens, row + 1, columns | bits[i], (left | bits[i]) << 1,
                             (right | bits[i]) >> 1);
        });
        int sum = 0;
        for (unsigned i = 0; i < n; i++) {
            sum += found[i];
        }
        return sum;
    }

    static void nqueens() {
        unsigned queens = peer.quick ? 10 : 12;
        int found = 0;
        S::start();
        peer_span span;
        S::inside([&] {
            place(queens, 0, 0, 0, 0);
            span = peer_begin();
            found = place(queens, 0, 0, 0, 0);
            peer_end(&span);
        });
        peer_check(found == (peer.quick ? 724 : 14200), "%d solutions", found);
        peer_row_ms("nqueens", &span, 1);
        S::stop();
    }

    // ---- merge sort ----

    static void merge(const uint32_t *a, size_t an, const uint32_t *b, size_t bn, uint32_t *out) {
        if (an + bn <= 4096) {
            return merge_serially(a, an, b, bn, out);
        }
        if (an < bn) {
            std::swap(a, b);
            std::swap(an, bn);
        }
        size_t a_cut = an / 2;
        size_t b_cut = (size_t)(std::lower_bound(b, b + bn, a[a_cut]) - b);
        S::both([=] { merge(a + a_cut, an - a_cut, b + b_cut, bn - b_cut, out + a_cut + b_cut); },
                [=] { merge(a, a_cut, b, b_cut, out); });
    }

    static void sort_call(uint32_t *numbers, uint32_t *spare, size_t n, bool into_spare) {
        if (n <= 32) {
            return sort_few(numbers, spare, n, into_spare);
        }
        size_t half = n / 2;
        S::both([=] { sort_call(numbers + half, spare + half, n - half, !into_spare); },
                [=] { sort_call(numbers, spare, half, !into_spare); });
        const uint32_t *from = into_spare ? numbers : spare;
        merge(from, half, from + half, n - half, into_spare ? spare : numbers);
    }

    static void sort() {
        size_t n = peer_scale(10000000, 1000);
        std::vector<uint32_t> numbers(n), spare(n, 0);
        uint64_t state = 88172645463325252u, before = 0, after = 0;
        for (uint32_t &x : numbers) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            x = (uint32_t)state;
            before += x;
        }
        S::start();
        peer_span span;
        S::inside([&] {
            span = peer_begin();
            sort_call(numbers.data(), spare.data(), n, false);
            peer_end(&span);
        });
        S::stop();
        for (uint32_t x : numbers) {
            after += x;
        }
        peer_check(std::is_sorted(numbers.begin(), numbers.end()) && before == after, "not sorted");
        peer_row_ms("sort", &span, 1);
    }

    // ---- loops ----

    static void light() {
        size_t n = peer_scale(10000000, 1000);
        std::vector<float> numbers(n, 4.0f);
        S::start();
        peer_span span;
        S::inside([&] {
            for (unsigned i = 0; i < 2; i++) {
                span = peer_begin();
                S::range(n, [&](size_t b, size_t e) { light_part(numbers.data(), b, e); });
                peer_end(&span);
            }
        });
        S::stop();
        for (float x : numbers) {
            peer_check(x == 2.5f, "an element was not done twice");
        }
        peer_row_ms("for-light", &span, 1);
    }

    static void skewed() {
        size_t n = peer_scale(10000000, 1000);
        std::vector<uint32_t> out(n, 1), expected(n, 2);
        S::start();
        peer_span span;
        S::inside([&] {
            span = peer_begin();
            S::range(n, [&](size_t b, size_t e) { skewed_part(out.data(), n, b, e); });
            peer_end(&span);
        });
        S::stop();
        skewed_part(expected.data(), n, 0, n);
        peer_check(out == expected, "an element is wrong");
        peer_row_ms("for-skewed", &span, 1);
    }

    // ---- starting tasks ----

    static void spawn_round(uint32_t *slots, unsigned n) {
        S::tasks(n, [=](unsigned i) { ++slots[i]; });
    }

    static void spawn() {
        S::start();
        S::inside([] { peer_rounds("spawn", 1000, peer_scale(1000, 20), spawn_round); });
        S::stop();
    }

    static void burst() {
        S::start();
        S::inside([] { peer_burst(spawn_round); });
        S::stop();
    }
};

#define FORKJOIN_WORKS(S)                                                                          \
    {"spawn", forkjoin<S>::spawn}, {"spawn-burst spawn-burst-cold", forkjoin<S>::burst},           \
        {"fib", forkjoin<S>::fib}, {"skynet-join", forkjoin<S>::skynet},                           \
        {"nqueens", forkjoin<S>::nqueens}, {"sort", forkjoin<S>::sort},                            \
        {"for-light", forkjoin<S>::light}, {                                                       \
        "for-skewed", forkjoin<S>::skewed                                                          \
    }

#endif
