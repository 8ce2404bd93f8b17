/*
 * race.cpp: kernels as those of orders.c, about the parts of C++ that order accesses: variables
 * that are static in a function, reference counts, virtual functions, locks, exceptions.
 */
#include <atomic>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <string.h>
#include <thrum.h>
#include <thrum/test.h>
#include <vector>

extern "C" {
#include "kernels.h"
}

/* ---- variables that are static in a function ---- */

namespace {

struct table {
    table() : numbers(16, 7) {
        thrum_yield(); /* others come while it is constructed */
    }
    std::vector<int> numbers;
};

table *made_without_guard;

const table &shared_table() {
    if (!fixed) {
        if (made_without_guard == nullptr) {
            made_without_guard = new table;
        }
        return *made_without_guard;
    }
    static const table made;
    return made;
}

int looks_up(void *) {
    THRUM_TEST(shared_table().numbers[3] == 7);
    return 0;
}

} // namespace

KERNEL(cpp_static, "race") {
    for (int i = 0; i < 3; i++) {
        go(looks_up, nullptr);
    }
    join_all();
    return 0;
}

/* ---- the last reference frees the object ---- */

namespace {

struct shape {
    virtual ~shape() = default;
    virtual int corners() const {
        return 0;
    }
};

struct square final : shape {
    int corners() const override {
        return text.size() == 50 ? 4 : 0;
    }
    std::string text = std::string(50, 'x');
};

std::shared_ptr<shape> first;

int drops(void *arg) {
    std::shared_ptr<shape> mine = std::move(*static_cast<std::shared_ptr<shape> *>(arg));
    THRUM_TEST(mine->corners() == 4);
    if (!fixed) {
        static_cast<square &>(*mine).text[0] = 'y';
    }
    return 0;
}

} // namespace

KERNEL(cpp_shared_ptr, "race") {
    std::shared_ptr<shape> references[3];
    first = std::make_shared<square>();
    for (auto &reference : references) {
        reference = first;
    }
    first.reset();
    for (auto &reference : references) {
        go(drops, &reference);
    }
    join_all();
    return 0;
}

/* ---- locks of C++ ---- */

namespace {

std::mutex mutex;
std::shared_mutex shared;
std::once_flag once;
std::vector<std::string> names;
std::vector<std::string> others;

void reserves() {
    names.reserve(8);
}

int adds_name(void *) {
    if (!fixed) {
        names.emplace_back("a");
        return 0;
    }
    std::call_once(once, reserves);
    {
        const std::lock_guard<std::mutex> lock(mutex);
        names.emplace_back("a");
    }
    const std::unique_lock<std::shared_mutex> writes(shared);
    others.emplace_back("b");
    return 0;
}

int counts_names(void *) {
    std::call_once(once, reserves);
    const std::lock_guard<std::mutex> lock(mutex);
    const std::shared_lock<std::shared_mutex> reads(shared);
    THRUM_TEST(names.size() + others.size() <= 6);
    return 0;
}

} // namespace

KERNEL(cpp_mutex, "race") {
    for (int i = 0; i < 3; i++) {
        go(adds_name, nullptr);
    }
    go(counts_names, nullptr);
    join_all();
    return 0;
}

/* ---- an exception that another task has thrown ---- */

namespace {

std::exception_ptr thrown;
std::atomic<bool> there;

int throws(void *) {
    try {
        throw std::runtime_error("broken");
    } catch (...) {
        thrown = std::current_exception();
    }
    there.store(true, fixed ? std::memory_order_release : std::memory_order_relaxed);
    return 0;
}

} // namespace

KERNEL(cpp_exception, "race") {
    go(throws, nullptr);
    while (!there.load(std::memory_order_acquire)) {
        thrum_yield();
    }
    try {
        std::rethrow_exception(thrown);
    } catch (const std::runtime_error &e) {
        THRUM_TEST(std::string(e.what()) == "broken");
    }
    join_all();
    return 0;
}
