/*
 * cpp_errors.cpp: how a call says that it has failed. Those without a deadline throw. Those whose
 * names begin with try_, or end in _until or _for, return a status: where that is false the call
 * has taken nothing.
 */
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thrum/thrum.hpp>

using namespace std::chrono_literals;

/* Deeper calls throw; what they throw is the C call's code, in the generic category. */
static std::string first_line(const char *path) {
    thrum::file file(path);
    thrum::stream lines(std::move(file));
    std::string line;
    lines.read_line(line);
    return line;
}

static int failures;

static void expect(bool right, const char *what) {
    if (!right) {
        std::fprintf(stderr, "cpp_errors: %s\n", what);
        failures++;
    }
}

int main() {
    return thrum::run([] {
        try {
            first_line("/nowhere/at/all");
            expect(false, "a file that is not there was read");
        } catch (const std::system_error &error) {
            expect(error.code() == std::errc::no_such_file_or_directory, "not ENOENT");
            std::printf("a file: %s\n", error.code().message().c_str());
        }

        /* A status is true when the call has done what it says. */
        thrum::semaphore seats(1);
        thrum::status first = seats.try_wait();
        thrum::status second = seats.try_wait();
        thrum::status third = seats.wait_for(1ms);
        expect(first && second.busy() && third.timed_out(), "seats");
        std::printf("seats: %s, %s, %s\n", first.what(), second.what(), third.what());

        /* What could not be sent is still the caller's. */
        thrum::chan<std::string> closed(1);
        closed.close();
        std::string letter = "dear reader";
        expect(closed.try_send(letter).closed() && letter == "dear reader", "the letter is gone");

        /* A task's exception comes out of its join; a cancel ends its waits by ECANCELED. */
        auto fails = thrum::spawn([]() -> int { throw std::out_of_range("no such page"); });
        try {
            fails.join();
            expect(false, "the task's exception is gone");
        } catch (const std::out_of_range &error) {
            std::printf("a task: %s\n", error.what());
        }
        auto sleeps = thrum::spawn([] { thrum::sleep(1h); });
        sleeps.cancel();
        try {
            sleeps.join();
            expect(false, "it slept an hour");
        } catch (const std::system_error &error) {
            expect(error.code() == std::errc::operation_canceled, "not ECANCELED");
        }
        return failures;
    });
}
