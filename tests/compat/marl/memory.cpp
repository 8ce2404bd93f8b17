/* Allocators, containers, threads. */
#include "rig.hpp"

#include "marl/containers.h"
#include "marl/defer.h"
#include "marl/memory.h"
#include "marl/thread.h"

#include <atomic>
#include <cstring>
#include <string>
#include <sys/wait.h>
#include <vector>

using marl::Allocation;

TEST(memory_is_aligned_and_guarded) {
    /* What is asked for comes back in the result. */
    for (bool guards : {false, true}) {
        for (size_t alignment : {1, 2, 8, 16, 32, 128, 1024}) {
            for (size_t size : {1, 7, 64, 100, 513, 5000}) {
                Allocation::Request request;
                request.size = size;
                request.alignment = alignment;
                request.useGuards = guards;
                const Allocation got = marl::Allocator::Default->allocate(request);
                CHECK_EQ(reinterpret_cast<uintptr_t>(got.ptr) % alignment, 0);
                CHECK_EQ(got.request.size, size);
                CHECK_EQ(got.request.alignment, alignment);
                CHECK_EQ(got.request.useGuards, guards);
                CHECK(got.request.usage == Allocation::Usage::Undefined);
                std::memset(got.ptr, 1, size);
                marl::Allocator::Default->free(got);
            }
        }
    }
    CHECK_EQ(marl::alignUp(5, 4), 8);
    CHECK_EQ(marl::alignUp(size_t(8), size_t(4)), 8);
    CHECK_EQ(sizeof(marl::aligned_storage<3, 8>::type), 8);
}

/* Whether a write there ends a process. */
static bool faults(char *at) {
    const pid_t child = fork();
    if (child == 0) {
        *static_cast<volatile char *>(at) = 1;
        _exit(0);
    }
    int status = 0;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    return status != 0;
}

TEST(pages_beside_guarded_memory_fault) {
    /* Before it, and behind its last page. */
    Allocation::Request request;
    request.size = 16;
    request.alignment = 16;
    request.useGuards = true;
    const Allocation got = marl::Allocator::Default->allocate(request);
    char *at = static_cast<char *>(got.ptr);
    CHECK(!faults(at));
    CHECK(faults(at - 1));
    CHECK(faults(at + marl::pageSize()));
    marl::Allocator::Default->free(got);
}

struct Noted {
    Noted(int n) : value(n) {
        alive++;
    }
    Noted(const Noted &other) : value(other.value) {
        alive++;
    }
    ~Noted() {
        alive--;
    }
    int value;
    static int alive;
};
int Noted::alive;

struct alignas(64) Wide {
    char data[64];
};

TEST(allocators_make_objects) {
    /* By create, and by smart pointers, which know their allocator; arrays have n objects. */
    marl::TrackedAllocator allocator(marl::Allocator::Default);
    Noted *one = allocator.create<Noted>(3);
    CHECK_EQ(one->value, 3);
    allocator.destroy(one);
    {
        marl::Allocator::unique_ptr<Noted> unique = allocator.make_unique<Noted>(4);
        std::shared_ptr<Noted> shared = allocator.make_shared<Noted>(5);
        auto many = allocator.make_unique_n<Noted>(6, 7);
        auto none = allocator.make_unique_n<Noted>(0, 7);
        CHECK(!none);
        CHECK_EQ(many.get()[5].value, 7);
        CHECK_EQ(Noted::alive, 8);
        CHECK_EQ(allocator.stats().numAllocations(), 3);
        CHECK_EQ(allocator.stats().bytesAllocated(), 8 * sizeof(Noted));
        const size_t create = static_cast<size_t>(Allocation::Usage::Create);
        CHECK_EQ(allocator.stats().byUsage[create].count, 3);
        auto owner = allocator.make_unique<std::unique_ptr<int>>(new int(1));
        CHECK_EQ(**owner, 1);
    }
    CHECK_EQ(Noted::alive, 0);
    nothing_is_left(&allocator);
    auto wide = allocator.make_unique<Wide>();
    CHECK_EQ(reinterpret_cast<uintptr_t>(wide.get()) % 64, 0);
}

TEST(the_default_allocator_can_be_replaced) {
    /* Whatever is made from then on uses it. */
    marl::Allocator *const before = marl::Allocator::Default;
    marl::TrackedAllocator allocator(before);
    marl::Allocator::Default = &allocator;
    {
        marl::containers::vector<int, 1> vector;
        vector.resize(100);
        CHECK_EQ(allocator.stats().numAllocations(), 1);
    }
    marl::Allocator::Default = before;
    nothing_is_left(&allocator);
}

TEST(the_schedulers_memory_is_the_allocators) {
    /* That of its workers and tasks; the rig checks that it is freed. */
    with_workers(2, [](marl::TrackedAllocator *allocator) {
        const size_t before = allocator->stats().numAllocations();
        CHECK(before > 0);
        for (int i = 0; i < 100; i++) {
            marl::schedule([] {});
        }
    });
}

TEST(standard_containers_use_an_allocator) {
    /* All five, and take. */
    marl::TrackedAllocator allocator(marl::Allocator::Default);
    {
        marl::containers::deque<int> deque(&allocator);
        marl::containers::map<int, std::string> map(&allocator);
        marl::containers::set<int> set(&allocator);
        marl::containers::unordered_map<int, int> unordered_map(&allocator);
        marl::containers::unordered_set<int> unordered_set(&allocator);
        for (int i = 0; i < 10; i++) {
            deque.push_back(i);
            map[i] = "text";
            set.insert(i);
            unordered_map[i] = i;
            unordered_set.insert(i);
        }
        CHECK_EQ(marl::containers::take(deque), 0);
        CHECK_EQ(deque.size(), 9);
        const int one = marl::containers::take(unordered_set);
        CHECK_EQ(unordered_set.count(one), 0);
        marl::containers::deque<int> copy(deque);
        copy = std::move(deque);
        CHECK_EQ(copy.size(), 9);
        const size_t stl = static_cast<size_t>(Allocation::Usage::Stl);
        CHECK(allocator.stats().byUsage[stl].count > 5);
    }
    nothing_is_left(&allocator);
    marl::StlAllocator<int> ints(&allocator);
    marl::StlAllocator<char> chars(ints);
    CHECK(ints == chars && !(ints != chars));
    CHECK(ints.max_size() > 1000);
    int n = 0;
    CHECK(ints.address(n) == &n);
}

typedef marl::containers::vector<std::string, 4> Four;
typedef marl::containers::vector<std::string, 2> Two;

TEST(a_vector_grows_beyond_its_inside) {
    /* Push, pop, index, resize; elements of its own are pushed safely. */
    marl::TrackedAllocator allocator(marl::Allocator::Default);
    {
        Two vector(&allocator);
        CHECK_EQ(vector.size(), 0);
        CHECK_EQ(vector.cap(), 2);
        vector.push_back("A");
        vector.emplace_back("B");
        CHECK_EQ(allocator.stats().numAllocations(), 0);
        vector.push_back(vector[0]);
        CHECK_EQ(allocator.stats().numAllocations(), 1);
        CHECK(vector.cap() >= 3);
        CHECK_EQ(vector.end() - vector.begin(), 3);
        CHECK(vector.front() == "A" && vector.back() == "A" && vector[1] == "B");
        vector.pop_back();
        CHECK(vector.back() == "B");
        vector.resize(10);
        CHECK(vector[9] == "");
        vector.resize(1);
        const Two &same = vector;
        CHECK(same.front() == "A" && same.back() == "A" && same[0] == "A");
        CHECK(same.end() - same.begin() == 1 && same.data() == vector.data());
        CHECK(vector.allocator == &allocator);
    }
    nothing_is_left(&allocator);
}

TEST(vectors_are_copied_and_moved) {
    /* Also between different insides and allocators. */
    marl::TrackedAllocator allocator(marl::Allocator::Default);
    {
        Four four(&allocator);
        for (const char *text : {"A", "B", "C"}) {
            four.push_back(text);
        }
        Two two(four, &allocator);
        CHECK(two.size() == 3 && two[2] == "C");
        Four copy(four, &allocator);
        CHECK(copy.size() == 3 && copy[2] == "C");
        Two moved(std::move(copy), &allocator);
        CHECK(moved.size() == 3 && copy.size() == 0);
        Four again(std::move(four), &allocator);
        CHECK(again.size() == 3 && four.size() == 0);
        four = again;
        four = two;
        CHECK(four.size() == 3 && four[0] == "A");
        two.resize(1);
        two = std::move(four);
        CHECK(two.size() == 3 && four.size() == 0);
        moved = std::move(two);
        CHECK(moved[1] == "B" && two.size() == 0);
        moved = *&moved;
        CHECK_EQ(moved.size(), 3);
    }
    nothing_is_left(&allocator);
}

TEST(a_list_keeps_its_elements_in_place) {
    /* Erased from either end and the middle; memory is kept for new ones. */
    marl::TrackedAllocator allocator(marl::Allocator::Default);
    {
        marl::containers::list<std::string> list(&allocator);
        CHECK_EQ(list.size(), 0);
        CHECK(list.begin() == list.end());
        auto a = list.emplace_front("a");
        auto b = list.emplace_front("b");
        auto c = list.emplace_front("c");
        CHECK(*a == "a" && b->size() == 1 && *c == "c");
        list.erase(b);
        auto it = list.begin();
        CHECK(it == c);
        CHECK(++it == a);
        CHECK(++it == list.end());
        list.erase(a);
        list.erase(c);
        CHECK(list.begin() == list.end());
        const size_t before = allocator.stats().numAllocations();
        for (int i = 0; i < 8; i++) {
            list.emplace_front(std::to_string(i));
        }
        CHECK_EQ(allocator.stats().numAllocations(), before);
        for (int i = 0; i < 300; i++) {
            list.emplace_front(std::to_string(i));
        }
        CHECK_EQ(list.size(), 308);
        CHECK(*list.begin() == "299");
        int sum = 0;
        for (const std::string &text : list) {
            sum += !text.empty();
        }
        CHECK_EQ(sum, 308);
    }
    nothing_is_left(&allocator);
}

static marl::Thread::Core core(int index) {
    marl::Thread::Core out;
    out.pthread.index = static_cast<uint16_t>(index);
    return out;
}

TEST(an_affinity_is_a_set_of_cores) {
    /* Which add and remove keep in order. */
    marl::TrackedAllocator allocator(marl::Allocator::Default);
    {
        typedef marl::Thread::Affinity Affinity;
        Affinity set({core(10), core(20), core(30)}, &allocator);
        CHECK_EQ(set.count(), 3);
        set.add(Affinity({core(25), core(10), core(5)}, &allocator))
            .remove(Affinity({core(30), core(7)}, &allocator));
        CHECK_EQ(set.count(), 4);
        CHECK(set[0] == core(5) && set[1] == core(10) && set[2] == core(20) && set[3] == core(25));
        CHECK(core(1) < core(2) && !(core(2) < core(1)));
        Affinity copy(set, &allocator);
        Affinity moved(std::move(copy));
        CHECK_EQ(moved.count(), 4);
        marl::containers::vector<marl::Thread::Core, 32> cores(&allocator);
        cores.push_back(core(3));
        CHECK_EQ(Affinity(cores, &allocator).count(), 1);
        CHECK_EQ(Affinity(&allocator).count(), 0);
        CHECK_EQ(Affinity::all(&allocator).count() != 0, Affinity::supported);

        auto one = Affinity::Policy::oneOf(Affinity(set, &allocator), &allocator);
        for (uint32_t i = 0; i < 8; i++) {
            CHECK_EQ(one->get(i, &allocator).count(), 1);
            CHECK(one->get(i, &allocator)[0] == set[i % 4]);
        }
        auto any = Affinity::Policy::anyOf(std::move(set), &allocator);
        CHECK(any->get(1, &allocator).count() >= 1);
    }
    nothing_is_left(&allocator);
}

TEST(a_thread_runs_a_function) {
    /* On its processors; it can be moved and named. */
    std::atomic<int> ran{0};
    marl::Thread thread(marl::Thread::Affinity::all(), [&] {
        marl::Thread::setName("Thread<%.2d> with a long name", 7);
        ran++;
    });
    marl::Thread other(std::move(thread));
    marl::Thread last;
    last = std::move(other);
    last.join();
    CHECK_EQ(ran, 1);
    CHECK(marl::Thread::numLogicalCPUs() >= 1);
    marl::Thread narrow(
        marl::Thread::Affinity({marl::Thread::Affinity::all()[0]}, marl::Allocator::Default),
        [&] { ran += static_cast<int>(marl::Thread::Affinity::all().count()); });
    narrow.join();
    CHECK_EQ(ran, 2);
}
