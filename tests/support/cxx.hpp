/*
 * cxx.hpp: for the tests in C++: the code that a call throws, how much it allocates, and deadlines.
 */
#ifndef SUPPORT_CXX_HPP
#define SUPPORT_CXX_HPP

#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

#include <thrum/thrum.hpp>

#include "times.h"

namespace {

/* A deadline of times.h: thrum::sleep_until(by(soon())). */
[[maybe_unused]] constexpr thrum::deadline by(thrum_time when) noexcept {
    return thrum::deadline::at(when);
}

/* The calls of operator new so far: of the program's own code, and of the headers in it. */
[[maybe_unused]] std::atomic<int> allocations;

/* An address of this process's own: cells of a test run beside each other. */
inline std::string own_address() {
    return "unix:@thrum-cxx-" + std::to_string(getpid());
}

/* Calls it: 0, the code of the std::system_error that it throws, or -1 for a std::runtime_error. */
template <typename Fn> int code_of(Fn fn) {
    try {
        fn();
    } catch (const std::system_error &error) {
        return error.code().value();
    } catch (const std::runtime_error &) {
        return -1;
    }
    return 0;
}

/* Counts how many of it there are. */
struct counted {
    static std::atomic<int> alive;
    counted() {
        alive++;
    }
    counted(counted &&) noexcept {
        alive++;
    }
    ~counted() {
        alive--;
    }
};
std::atomic<int> counted::alive;

} // namespace

/* The sanitizers bring an operator new of their own. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define NEW_IS_TAKEN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define NEW_IS_TAKEN 1
#endif

#ifndef NEW_IS_TAKEN
__attribute__((noinline)) void *operator new(size_t size) {
    allocations++;
    void *memory = malloc(size ? size : 1);
    if (!memory) {
        abort();
    }
    return memory;
}
__attribute__((noinline)) void operator delete(void *memory) noexcept {
    free(memory);
}
__attribute__((noinline)) void operator delete(void *memory, size_t) noexcept {
    free(memory);
}
#endif

#endif
