/*
 * ranges_20.cpp: channels and directories as ranges of C++20.
 */
#include "check.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <version>

#include <thrum/thrum.hpp>

#include "support/cxx.hpp"

#if defined(__cpp_lib_ranges)
template <typename Range>
constexpr bool is_input =
    std::input_iterator<typename Range::iterator> &&std::ranges::input_range<Range> &&
    !std::forward_iterator<typename Range::iterator>;

static_assert(is_input<thrum::chan<std::string>>);
static_assert(is_input<thrum::chan<std::unique_ptr<int>>>);
static_assert(is_input<thrum::dir>);
static_assert(std::ranges::common_range<thrum::chan<std::string>>);
static_assert(std::ranges::common_range<thrum::dir>);
#endif

TEST(ranges_of_a_channel_receive_its_values) {
    /* Copied ones, and what only moves. */
#if defined(__cpp_lib_ranges)
    thrum::run([] {
        thrum::chan<int> numbers(3);
        for (int i = 1; i <= 3; i++) {
            numbers.send(i);
        }
        numbers.close();
        int sum = 0;
        std::ranges::for_each(numbers, [&](int i) { sum += i; });
        CHECK_EQ(sum, 6);
        thrum::chan<std::unique_ptr<int>> owned(1);
        owned.send(std::make_unique<int>(4));
        owned.close();
        CHECK_EQ(std::ranges::count_if(owned, [](auto &one) { return *one == 4; }), 1);
    });
#else
    CHECK_SKIP("the standard library has no ranges");
#endif
}
