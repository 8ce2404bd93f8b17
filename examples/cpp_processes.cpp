/*
 * cpp_processes.cpp: a program is fed and its output collected; another one is ended by a signal.
 */
#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <thrum/thrum.hpp>

using namespace std::chrono_literals;

int main() {
    return thrum::run([] {
        const char *const sort[] = {"sort", nullptr};
        thrum::process_output sorted = thrum::run_process(sort, "b\na\n", thrum::after(60s));
        std::printf("%s", std::string(sorted.out()).c_str());
        const char *const sleeps[] = {"sleep", "1000", nullptr};
        thrum::process sleeper(sleeps);
        thrum_process_status how;
        if (sleeper.wait_for(how, 1ms).timed_out()) {
            sleeper.kill(SIGTERM);
            how = sleeper.wait();
        }
        return sorted.out() == "a\nb\n" && how.signal == SIGTERM ? 0 : 1;
    });
}
