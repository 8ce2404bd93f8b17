/*
 * cpp_blocking_call.cpp: a call that blocks its thread is made on a thread that may block; its
 * result and its exceptions come back to the task, whose worker has gone on meanwhile.
 */
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thrum/thrum.hpp>
#include <unistd.h>

/* Reads a word from a pipe as a library would that knows nothing of tasks. */
static std::string read_word(int fd) {
    char bytes[16];
    const ssize_t n = read(fd, bytes, sizeof(bytes));
    if (n <= 0) {
        throw std::runtime_error("the pipe has ended");
    }
    return std::string(bytes, static_cast<size_t>(n));
}

int main() {
    int ends[2];
    if (pipe(ends) != 0) {
        return 1;
    }
    return thrum::run([&] {
        auto reader =
            thrum::spawn([&] { return thrum::blocking([&] { return read_word(ends[0]); }); });
        thrum::yield(); /* the reader blocks, and nothing else does */
        const ssize_t n = write(ends[1], "word", 4);
        close(ends[1]);
        const std::string word = reader.join();
        try {
            thrum::blocking([&] { return read_word(ends[0]); });
        } catch (const std::runtime_error &error) {
            std::printf("%s; %s\n", word.c_str(), error.what());
            return n == 4 && word == "word" ? 0 : 1;
        }
        return 1;
    });
}
