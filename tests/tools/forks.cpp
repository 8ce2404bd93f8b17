/*
 * forks.cpp: a fork of a lambda, and the same in C's words, between two of callgrind's marks each.
 * tests/tools/fork-instructions.py reads what they took.
 */
#include <cstdio>
#include <cstdlib>
#include <thrum/thrum.hpp>
#include <valgrind/callgrind.h>

namespace {

/* fibonacci(n) makes fibonacci(n + 1) - 1 forks. */
enum : long { N = 18, IS = 2584, FORKS = 4180 };

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

long fibonacci_c(long n) {
    fibonacci_call call = {n, 0};
    (void)fibonacci_body(&call);
    return call.result;
}

void count(const char *name, long (*fibonacci)(long)) {
    for (int i = 0; i < 2; i++) { /* the first one warms up */
        CALLGRIND_ZERO_STATS;
        const long result = fibonacci(N);
        if (i == 1) {
            CALLGRIND_DUMP_STATS_AT(name);
        }
        if (result != IS) {
            std::abort();
        }
    }
}

} // namespace

int main() {
    thrum_config config;
    thrum_config_init(&config);
    config.workers = 1;
    thrum::run(&config, [] {
        count("c", fibonacci_c);
        count("c++", fibonacci_cpp);
    });
    std::printf("rounds %ld\n", static_cast<long>(FORKS));
    return 0;
}
