/*
 * marl_before.cpp: a small program as a user of marl writes it. marl_after.cpp is the same here.
 * Debian has no marl. Each call was compared with how the library's own headers declare it
 * (blockingcall.h, defer.h, event.h, scheduler.h, ticket.h and waitgroup.h of
 * github.com/google/marl), and the program was compiled with declarations of those signatures, by
 * gcc 12 and clang 14; with the library itself it has not been run. Of Config::allCores an excerpt
 * was compared.
 */
#include <atomic>
#include <cstdio>
#include <marl/blockingcall.h>
#include <marl/defer.h>
#include <marl/event.h>
#include <marl/scheduler.h>
#include <marl/ticket.h>
#include <marl/waitgroup.h>
#include <vector>

static bool is_prime(int n) {
    for (int i = 2; i * i <= n; i++) {
        if (n % i == 0) {
            return false;
        }
    }
    return n > 1;
}

int main() {
    marl::Scheduler scheduler(marl::Scheduler::Config::allCores());
    scheduler.bind();
    defer(scheduler.unbind());

    /* Tasks that wait for one event, and are waited for. */
    marl::Event hello(marl::Event::Mode::Manual);
    marl::WaitGroup saying(10);
    std::atomic<int> said(0);
    for (int i = 0; i < 10; i++) {
        marl::schedule([=, &said] {
            defer(saying.done());
            hello.wait();
            said++;
        });
    }
    hello.signal();
    saying.wait();
    std::printf("%d\n", said.load());

    /* Work in parallel, of which what is printed keeps its order. */
    marl::Ticket::Queue queue;
    for (int base = 0; base < 50; base += 10) {
        auto ticket = queue.take();
        marl::schedule([=] {
            std::vector<int> primes;
            for (int n = base; n < base + 10; n++) {
                if (is_prime(n)) {
                    primes.push_back(n);
                }
            }
            ticket.wait();
            for (const int prime : primes) {
                std::printf("%d\n", prime);
            }
            ticket.done();
        });
    }
    queue.take().wait();

    /* A call that would block its worker. */
    std::printf("%d\n", marl::blocking_call([] { return 7; }));
}
