/*
 * coroutines.hpp: what the tests of coroutines share: coroutines that hop and throw.
 */
#ifndef COROUTINES_HPP
#define COROUTINES_HPP

#include "check.h"

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <thrum/thrum.hpp>

#include "support/cxx.hpp"

using namespace std::chrono_literals;

namespace {

/* Hops so many times. */
[[maybe_unused]] thrum::co<int> hops(int n, counted = {}) {
    counted local;
    for (int i = 0; i < n; i++) {
        co_await thrum::hop();
    }
    co_return n;
}

[[maybe_unused]] thrum::co<int> fails(bool hop) {
    counted local;
    if (hop) {
        co_await thrum::hop();
    }
    throw std::runtime_error("its own");
}

/* Whether so many frames were allocated. clang may lay one into its caller's instead. */
[[maybe_unused]] bool is_count(int allocated, int frames) {
#if defined(__clang__)
    return allocated > 0 && allocated <= frames;
#else
    return allocated == frames;
#endif
}

[[maybe_unused]] thrum::co<int> fibonacci(int n) {
    if (n < 2) {
        co_return n;
    }
    const int left = co_await fibonacci(n - 1);
    co_return left + co_await fibonacci(n - 2);
}

} // namespace

#endif
