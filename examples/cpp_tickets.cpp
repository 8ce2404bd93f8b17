/*
 * cpp_tickets.cpp: pieces are worked on in any order, with one of two buffers, and given out in the
 * order in which they began.
 */
#include <cstdio>
#include <deque>
#include <string>
#include <thrum/thrum.hpp>
#include <vector>

int main() {
    return thrum::run([] {
        thrum::pool<std::vector<char>> buffers(2);
        thrum::tickets order;
        std::string result;
        std::deque<thrum::ticket> taken; /* where they stay */
        {
            thrum::scope scope;
            for (char piece = 'a'; piece <= 'h'; piece++) {
                thrum::ticket &ticket = taken.emplace_back(order);
                scope.go([&, piece] {
                    thrum::defer end([&] { ticket.done(); });
                    auto buffer = buffers.borrow();
                    buffer->assign(3, piece);
                    const std::string done(buffer->begin(), buffer->end());
                    buffer.give_back();
                    ticket.wait();
                    result += done;
                });
            }
            scope.join();
        }
        order.go([&] { result += '.'; });
        thrum::ticket last(order);
        last.wait();
        std::puts(result.c_str());
        return result == "aaabbbcccdddeeefffggghhh." ? 0 : 1;
    });
}
