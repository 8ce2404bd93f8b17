/*
 * cpp_channels.cpp: a channel of strings, and a select over it, an event and a deadline.
 */
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <thrum/thrum.hpp>

using namespace std::chrono_literals;

int main() {
    return thrum::run([] {
        thrum::chan<std::string> lines(4);
        thrum::event end(THRUM_EVENT_MANUAL);
        thrum::chan<bool> heard;
        auto sender = thrum::spawn([&] {
            lines.send("one");
            lines.send("two");
            heard.recv(); /* both have come: now the other end is to stop */
            end.signal();
        });
        int count = 0;
        bool goes_on = true;
        while (goes_on) {
            thrum::status which =
                thrum::select_for(10s,
                                  thrum::on_recv(lines,
                                                 [&](std::optional<std::string> line) {
                                                     std::puts(line->c_str());
                                                     if (++count == 2) {
                                                         heard.send(true);
                                                     }
                                                 }),
                                  thrum::on_event(end, [&] { goes_on = false; }));
            if (!which) {
                std::puts(which.what()); /* timed out */
                return 1;
            }
        }
        sender.join();
        return count == 2 ? 0 : 1;
    });
}
