/*
 * cpp_coroutines_20.cpp: coroutines of C++20 beside fibers: ten thousand clients sleep without a
 * stack, each in a frame of its own; a fiber adds up what they send.
 */
#include <cstdio>
#include <vector>
#include <thrum/thrum.hpp>

#if defined(__cpp_impl_coroutine)
using namespace std::chrono_literals;

enum { CLIENTS = 10000 };

static thrum::co<int> think(int number) {
    co_await thrum::sleep_for(1ms * (number % 10));
    co_return number % 3;
}

static thrum::co<int> client(int number, thrum::chan<int> &answers) {
    int answer = co_await think(number); /* a jump, without scheduling */
    co_await thrum::hop();
    co_await thrum::send(answers, answer); /* if the channel is full, it waits on its fiber */
    co_return answer;
}

int main() {
    return thrum::run([] {
        thrum::chan<int> answers(thrum::chan<int>::unbounded);
        thrum::task<long> sum = thrum::spawn([&] {
            long total = 0;
            for (int answer : answers) {
                total += answer;
            }
            return total;
        });
        std::vector<thrum::co_task<int>> clients;
        for (int i = 0; i < CLIENTS; i++) {
            clients.push_back(thrum::spawn(client(i, answers)));
        }
        long joined = 0;
        for (auto &one : clients) {
            joined += one.join();
        }
        answers.close();
        const long sent = sum.join();
        std::printf("%d clients: %ld sent, %ld returned\n", CLIENTS, sent, joined);
        return sent == joined && sent == 9999 ? 0 : 1;
    });
}
#else
int main() {
    std::puts("this compiler has no coroutines");
}
#endif
