/* Pools, tickets, graphs, parallelize, blocking_call, defer, tasks, macros. */
#include "rig.hpp"

#include "marl/blockingcall.h"
#include "marl/dag.h"
#include "marl/debug.h"
#include "marl/defer.h"
#include "marl/deprecated.h"
#include "marl/event.h"
#include "marl/finally.h"
#include "marl/move_only_function.h"
#include "marl/parallelize.h"
#include "marl/pool.h"
#include "marl/sanitizers.h"
#include "marl/task.h"
#include "marl/thread_local.h"
#include "marl/ticket.h"
#include "marl/trace.h"
#include "marl/tsa.h"
#include "marl/waitgroup.h"

#include <array>
#include <atomic>
#include <string>
#include <vector>

struct Counted {
    Counted() {
        made++;
    }
    Counted(int n) : value(n) {
        made++;
    }
    ~Counted() {
        ended++;
    }
    int value = 1;
    static int made, ended;
};
int Counted::made;
int Counted::ended;

template <typename Reconstruct, typename Preserve> static void policies() {
    Counted::made = Counted::ended = 0;
    {
        Reconstruct pool;
        CHECK_EQ(Counted::made, 0);
        for (int i = 1; i <= 2; i++) {
            {
                auto loan = pool.borrow();
                CHECK_EQ(Counted::made, i);
                CHECK_EQ(Counted::ended, i - 1);
                loan->value = 7;
            }
            CHECK_EQ(Counted::ended, i);
        }
        CHECK_EQ(pool.borrow()->value, 1);
    }
    Counted::made = Counted::ended = 0;
    {
        Preserve pool;
        pool.borrow()->value = 7;
        const int before = Counted::made;
        CHECK(before > 0);
        CHECK_EQ(pool.borrow()->value, 7);
        CHECK_EQ(Counted::made, before);
        CHECK_EQ(Counted::ended, 0);
    }
    CHECK_EQ(Counted::made, Counted::ended);
}

TEST(pools_make_their_objects_anew_or_keep_them) {
    /* By policy, in both kinds of pool. */
    policies<marl::UnboundedPool<Counted>,
             marl::UnboundedPool<Counted, marl::PoolPolicy::Preserve>>();
    policies<marl::BoundedPool<Counted, 10>,
             marl::BoundedPool<Counted, 10, marl::PoolPolicy::Preserve>>();
}

TEST(loans_are_counted) {
    /* The object goes back with the last copy, also after the pool. */
    Counted::made = Counted::ended = 0;
    marl::Loan<Counted> left;
    CHECK(!left.get());
    {
        marl::BoundedPool<Counted, 1> pool;
        auto loan = pool.borrow();
        CHECK(!pool.tryBorrow().second);
        marl::BoundedPool<Counted, 1>::Loan copy = loan;
        marl::BoundedPool<Counted, 1>::Loan moved(std::move(loan));
        CHECK(!loan.get());
        CHECK(copy.get() == moved.get() && &*copy == copy.get());
        copy.reset();
        copy = moved;
        marl::Loan<Counted> &same = copy;
        copy = same; /* to itself */
        moved = std::move(copy);
        CHECK(!pool.tryBorrow().second);
        moved.reset();
        auto second = pool.tryBorrow();
        CHECK(second.second);
        left = std::move(second.first);
    }
    CHECK_EQ(Counted::ended, 1);
    CHECK_EQ(left->value, 1);
    left.reset();
    CHECK_EQ(Counted::ended, 2);
}

TEST(several_are_borrowed_at_a_time) {
    /* The function gets each loan; arguments make the object. */
    marl::BoundedPool<Counted, 3> bounded;
    marl::UnboundedPool<int> unbounded;
    std::vector<marl::Loan<Counted>> counted;
    bounded.borrow(2, [&](marl::Loan<Counted> &&loan) { counted.push_back(std::move(loan)); });
    CHECK_EQ(counted.size(), 2);
    CHECK_EQ(bounded.borrow(9)->value, 9);
    counted.clear();
    bounded.borrowList(
        2, [&](marl::Loan<Counted> &&loan) { CHECK_EQ(loan->value, 5); }, 5);
    std::vector<marl::Loan<int>> loans;
    unbounded.borrow(100, [&](marl::Loan<int> &&loan) { loans.push_back(std::move(loan)); });
    CHECK_EQ(loans.size(), 100);
}

struct alignas(64) Aligned {
    char data[64];
};

TEST(tasks_share_pools) {
    /* A bounded one makes them wait; the memory is the allocator's, and aligned. */
    with_schedulers([](marl::Allocator *allocator) {
        marl::BoundedPool<Aligned, 4> few(allocator);
        marl::UnboundedPool<Aligned> many(allocator);
        std::atomic<int> borrowed{0};
        std::atomic<int> most{0};
        marl::WaitGroup wg(500);
        for (int i = 0; i < 500; i++) {
            marl::schedule([=, &borrowed, &most] {
                {
                    auto one = few.borrow();
                    auto other = many.borrow();
                    CHECK_EQ(reinterpret_cast<uintptr_t>(one.get()) % 64, 0);
                    CHECK_EQ(reinterpret_cast<uintptr_t>(other.get()) % 64, 0);
                    const int now = ++borrowed;
                    if (now > most) {
                        most = now;
                    }
                    if (i % 50 == 0) {
                        marl::Event().wait_for(std::chrono::milliseconds(1));
                    }
                    borrowed--;
                }
                wg.done();
            });
        }
        wg.wait();
        CHECK(most <= 4);
    });
}

TEST(tickets_are_called_in_order) {
    /* Tasks of any order are serialized by them. */
    with_schedulers([](marl::Allocator *) {
        marl::Ticket::Queue queue;
        std::vector<int> order;
        for (int i = 0; i < 300; i++) {
            marl::Ticket ticket = queue.take();
            marl::schedule([ticket, i, &order] {
                ticket.wait();
                order.push_back(i);
                if (i % 2) {
                    ticket.done(); /* else with the last copy */
                }
            });
        }
        queue.take().wait();
        CHECK_EQ(order.size(), 300);
        for (int i = 0; i < 300; i++) {
            CHECK_EQ(order[static_cast<size_t>(i)], i);
        }
    });
}

TEST(tickets_call_functions) {
    /* At once if they are called, else when they are; several in order. */
    with_schedulers([](marl::Allocator *) {
        marl::Ticket::Queue queue;
        std::vector<marl::Ticket> tickets;
        queue.take(3, [&](marl::Ticket &&ticket) { tickets.push_back(std::move(ticket)); });
        std::string order;
        marl::Event first, second, third;
        tickets[0].onCall([=] { first.signal(); });
        first.wait();
        tickets[1].onCall([=, &order] { order += 'a'; });
        tickets[1].onCall([=, &order] {
            order += 'b';
            second.signal();
        });
        tickets[2].onCall([=] { third.signal(); });
        CHECK(!second.test());
        tickets[2].done(); /* before its turn: it is never called */
        tickets[0].done();
        tickets[0].done(); /* without effect */
        second.wait();
        CHECK(order == "ab");
        CHECK(!third.test());
        tickets.clear();
        queue.take().wait();
    });
}

TEST(a_dropped_ticket_is_done) {
    /* Copies of a queue are one queue. */
    marl::Ticket::Queue queue;
    marl::Ticket::Queue same(queue);
    { marl::Ticket dropped = queue.take(); }
    marl::Ticket next = same.take();
    next.wait();
}

TEST(a_graph_runs_in_the_order_of_its_edges) {
    /* root, a and b, c after both, d; with data, several times, with an allocator. */
    with_schedulers([](marl::Allocator *allocator) {
        struct Log {
            std::mutex mutex;
            std::string order;
            void add(char name) {
                std::lock_guard<std::mutex> guard(mutex);
                order += name;
            }
        };
        marl::DAG<Log &>::Builder builder(allocator);
        auto a = builder.root().then([](Log &log) { log.add('a'); });
        auto b = builder.root().then([](Log &log) { log.add('b'); });
        auto c = builder.node([](Log &log) { log.add('c'); }, {a, b});
        marl::DAG<Log &>::NodeBuilder d = builder.node([](Log &log) { log.add('d'); });
        builder.addDependency(c, d);
        marl::Allocator::unique_ptr<marl::DAG<Log &>> dag = builder.build();
        for (int i = 0; i < 3; i++) {
            Log log;
            dag->run(log, allocator);
            CHECK(log.order == "abcd" || log.order == "bacd");
        }
        Log logs[4];
        marl::WaitGroup wg(4);
        for (Log &log : logs) {
            marl::DAG<Log &> *of = dag.get();
            marl::schedule([of, &log, wg] {
                of->run(log);
                wg.done();
            });
        }
        wg.wait();
        for (Log &log : logs) {
            CHECK_EQ(log.order.size(), 4);
        }
    });
}

TEST(a_graph_without_data) {
    /* And one whose nodes get copies. */
    with_schedulers([](marl::Allocator *) {
        std::string order;
        marl::DAG<>::Builder builder;
        builder.root().then([&] { order += 'a'; }).then([&] { order += 'b'; });
        builder.build()->run();
        CHECK(order == "ab");

        std::atomic<int> sum{0};
        marl::DAG<int>::Builder fan;
        for (int i = 0; i < 20; i++) {
            fan.root().then([&](int n) { sum += n; });
        }
        auto dag = fan.build();
        int two = 2;
        dag->run(two);
        CHECK_EQ(sum, 40);
    });
}

TEST(parallelize_calls_all) {
    /* And returns when all have returned; one function alone needs no task. */
    with_schedulers([](marl::Allocator *) {
        bool a = false, b = false, c = false;
        marl::parallelize([&] { a = true; }, [&] { b = true; }, [&] { c = true; });
        CHECK(a && b && c);
        marl::parallelize([&] { a = false; });
        CHECK(!a);
    });
}

TEST(blocking_calls_let_tasks_run) {
    /* Also more than there are threads, with results of every kind. */
    with_schedulers([](marl::Allocator *) {
        std::mutex mutex;
        mutex.lock();
        marl::WaitGroup wg(60);
        std::atomic<int> sum{0};
        for (int i = 0; i < 60; i++) {
            marl::schedule([=, &mutex, &sum] {
                defer(wg.done());
                marl::blocking_call([&] {
                    mutex.lock();
                    mutex.unlock();
                });
                sum += marl::blocking_call([](int n, int m) { return n * m; }, i, 2);
            });
        }
        mutex.unlock();
        wg.wait();
        CHECK_EQ(sum, 60 * 59);

        std::unique_ptr<int> owned =
            marl::blocking_call([] { return std::unique_ptr<int>(new int(3)); });
        CHECK_EQ(*owned, 3);
        int &same = marl::blocking_call([&]() -> int & { return *owned; });
        CHECK(&same == owned.get());
    });
    CHECK_EQ(marl::blocking_call([] { return 5; }), 5); /* on an unbound thread */
}

TEST(a_blocking_call_schedules) {
    /* The caller's scheduler is bound there. */
    with_schedulers([](marl::Allocator *) {
        marl::WaitGroup wg(1);
        marl::Scheduler *scheduler = marl::Scheduler::get();
        marl::schedule([=] {
            marl::blocking_call([=] {
                CHECK(marl::Scheduler::get() == scheduler);
                marl::schedule([=] { wg.done(); });
            });
        });
        wg.wait();
    });
}

TEST(defer_runs_at_the_end_of_the_block) {
    /* The last one first. */
    int counter = 0, a = 0, b = 0;
    {
        defer(a = ++counter);
        defer(b = ++counter);
        CHECK_EQ(counter, 0);
    }
    CHECK_EQ(a, 2);
    CHECK_EQ(b, 1);
}

TEST(finally_moves_and_is_shared) {
    /* It is called once. */
    int calls = 0;
    {
        auto one = marl::make_finally([&] { calls++; });
        auto other = std::move(one);
        (void)other;
        CHECK_EQ(calls, 0);
    }
    CHECK_EQ(calls, 1);
    {
        std::shared_ptr<marl::Finally> one = marl::make_shared_finally([&] { calls++; });
        std::shared_ptr<marl::Finally> other = one;
        one.reset();
        CHECK_EQ(calls, 1);
    }
    CHECK_EQ(calls, 2);
}

static int minus(int a, int b) {
    return a - b;
}

TEST(functions_of_every_kind_are_called) {
    /* Small and large objects, functions, members; by move. */
    marl::move_only_function<int(int, int)> f;
    CHECK(!f);
    f = minus;
    CHECK(f);
    CHECK_EQ(f(5, 3), 2);
    f = &minus;
    f = [](int a, int b) { return a + b; };
    CHECK_EQ(f(5, 3), 8);
    marl::move_only_function<int(int, int)> g(std::move(f));
    CHECK(!f);
    CHECK_EQ(g(1, 2), 3);
    g = nullptr;
    CHECK(!g);

    std::array<std::string, 50> large;
    large[49] = "end";
    marl::move_only_function<std::string()> last = [large] { return large[49]; };
    marl::move_only_function<std::string()> moved;
    moved = std::move(last);
    CHECK(moved() == "end");

    struct Pair {
        int a, b;
        int sum(int c) const {
            return a + b + c;
        }
    };
    Pair pair = {1, 2};
    marl::move_only_function<int(Pair *, int)> member(&Pair::sum);
    CHECK_EQ(member(&pair, 3), 6);
    CHECK_EQ(marl::invoke(&Pair::sum, pair, 1), 4);
    CHECK_EQ(marl::invoke(minus, 4, 1), 3);
    int calls = 0;
    marl::move_only_function<void()> drops([&] { return ++calls; });
    drops();
    CHECK_EQ(calls, 1);
#if __cplusplus >= 201703L
    marl::move_only_function<int() noexcept> quiet([]() noexcept { return 4; });
    CHECK_EQ(quiet(), 4);
#endif
}

TEST(a_task_has_flags) {
    /* Which an assigned function resets. */
    int calls = 0;
    marl::Task task;
    CHECK(!task);
    task = marl::Task([&] { calls++; }, marl::Task::Flags::SameThread);
    CHECK(task);
    CHECK(task.is(marl::Task::Flags::SameThread));
    CHECK(task.is(marl::Task::Flags::None));
    marl::Task other(std::move(task));
    other();
    CHECK_EQ(calls, 1);
    other = marl::Task::Function([&] { calls += 2; });
    CHECK(!other.is(marl::Task::Flags::SameThread));
    other();
    CHECK_EQ(calls, 3);
}

struct PerThread {
    MARL_DECLARE_THREAD_LOCAL(int, number);
};
MARL_INSTANTIATE_THREAD_LOCAL(int, PerThread::number, 4);

class CAPABILITY("lock") Lock {
  public:
    void take() ACQUIRE() NO_THREAD_SAFETY_ANALYSIS {
    }
    void give() RELEASE() NO_THREAD_SAFETY_ANALYSIS {
    }
};

struct Guarded {
    Lock lock;
    int value GUARDED_BY(lock) = 0;
    void change() REQUIRES(lock) {
        value++;
    }
};

MARL_DEPRECATED(7, "use another") MARL_EXPORT inline void old_call() {
}

static void fatal(void *) {
    marl::fatal("number %d\n", 7);
}

static void asserted(void *) {
    MARL_ASSERT(1 + 1 == 3, "sum of %d", 2);
}

static void unreachable(void *) {
    MARL_UNREACHABLE();
}

static void unbound(void *) {
    MARL_ASSERT_HAS_BOUND_SCHEDULER("the call");
}

TEST(macros_do_what_they_say) {
    /* Assertions, traces (nothing), sanitizers, annotations, thread-locals. */
    check_dies(fatal, nullptr, "number 7");
    if (MARL_DEBUG_ENABLED) {
        check_dies(asserted, nullptr, "ASSERT: sum of 2");
        check_dies(unreachable, nullptr, "UNREACHABLE");
        check_dies(unbound, nullptr, "the call requires a marl::Scheduler to be bound");
    }
    MARL_ASSERT(true, "never");
    MARL_WARN("number %d", 7);
    marl::warn("%s\n", "text");
    MARL_SCOPED_EVENT("event %d", 1);
    MARL_BEGIN_ASYNC_EVENT(1, "event");
    MARL_END_ASYNC_EVENT(1, "event");
    MARL_SCOPED_ASYNC_EVENT(1, "event");
    MARL_NAME_THREAD("name");
    CHECK(ADDRESS_SANITIZER_ENABLED + THREAD_SANITIZER_ENABLED + MEMORY_SANITIZER_ENABLED <= 1);
    int only = 0;
    ADDRESS_SANITIZER_ONLY(only++);
    THREAD_SANITIZER_ONLY(only++);
    MEMORY_SANITIZER_ONLY(only++);
    MSAN_UNPOISON(&only, sizeof only);
    CHECK(only <= 1);
    CHECK_EQ(PerThread::number, 4);
    Guarded guarded;
    guarded.lock.take();
    guarded.change();
    guarded.lock.give();
}
