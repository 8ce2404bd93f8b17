/* marl_after.cpp: the program of marl_before.cpp with thrum. */
#include <atomic>
#include <cstdio>
#include <deque>
#include <thrum/thrum.hpp>
#include <vector>

static bool is_prime(int n) {
    for (int i = 2; i * i <= n; i++) {
        if (n % i == 0) {
            return false;
        }
    }
    return n > 1;
}

static void all() {
    /* Tasks that wait for one event, and are waited for. */
    thrum::event hello(THRUM_EVENT_MANUAL);
    thrum::waitgroup saying;
    saying.add(10);
    std::atomic<int> said(0);
    for (int i = 0; i < 10; i++) {
        thrum::go([&] {
            thrum::defer end([&] { saying.done(); });
            hello.wait();
            said++;
        });
    }
    hello.signal();
    saying.wait();
    std::printf("%d\n", said.load());

    /* Work in parallel, of which what is printed keeps its order. */
    thrum::tickets queue;
    std::deque<thrum::ticket> tickets; /* they do not move: here they lie until the scope ends */
    thrum::scope searching;
    for (int base = 0; base < 50; base += 10) {
        thrum::ticket &ticket = tickets.emplace_back(queue);
        searching.go([base, &ticket] {
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
    searching.join();

    /* A call that would block its worker. */
    std::printf("%d\n", thrum::blocking([] { return 7; }));
}

int main() {
    thrum::run(all);
}
