/*
 * cpp_scopes.cpp: three mirrors are asked for the same thing within a time; the first error ends
 * the others' waiting, and so does the end of the time.
 */
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <thrum/thrum.hpp>

using namespace std::chrono_literals;

static void ask(int mirror, bool works) {
    if (mirror == 2 && !works) {
        throw std::runtime_error("mirror 2 is not there");
    }
    thrum::sleep(1h); /* it never answers */
}

/* Returns what ended it. */
static const char *ask_all(bool works) {
    try {
        thrum::scope scope(thrum::after(20ms));
        for (int mirror = 0; mirror < 3; mirror++) {
            scope.go([=] { ask(mirror, works); });
        }
        scope.join();
    } catch (const std::runtime_error &error) {
        std::printf("failed: %s\n", error.what());
        return dynamic_cast<const std::system_error *>(&error) ? "time" : "error";
    }
    return "nothing";
}

int main() {
    return thrum::run([] {
        const bool first = ask_all(false)[0] == 'e';
        const bool second = ask_all(true)[0] == 't';
        /* A deadline of the caller's own: what it waits for itself ends. */
        try {
            thrum::with_deadline(thrum::after(5ms), [] { thrum::sleep(1h); });
        } catch (const std::system_error &error) {
            std::printf("failed: %s\n", error.what());
            return first && second ? 0 : 1;
        }
        return 1;
    });
}
