/*
 * cpp_datagrams.cpp: datagrams between two sockets, with a deadline for what may be lost, and a
 * watch of a directory.
 */
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thrum/thrum.hpp>

using namespace std::chrono_literals;

/* Answers questions, each to where it came from, until it is cancelled. */
static void answer(thrum::datagrams &here) {
    for (;;) {
        char question[64];
        thrum::address from;
        const size_t n = here.receive(question, sizeof(question), &from);
        const std::string text = "yes, " + std::string(question, n);
        here.send(text.data(), text.size(), from);
    }
}

/* Asks until the answer comes. A late answer is asked for again, and then comes twice. */
static std::string ask(thrum::datagrams &there, const std::string &question) {
    char text[64];
    std::string got;
    while (got != "yes, " + question) {
        there.send(question.data(), question.size());
        const int64_t n = there.receive_for(text, sizeof(text), 1s);
        got.assign(text, n > 0 ? static_cast<size_t>(n) : 0);
    }
    return got;
}

/* What is made in the directory first. */
static std::string first_made(thrum::watch &changes) {
    thrum_watch_event event = changes.next();
    return event.name;
}

int main() {
    return thrum::run([] {
        auto here = thrum::datagrams::listen("udp:127.0.0.1:0");
        auto there = thrum::datagrams::dial(thrum::address::of(here).c_str());
        auto answers = thrum::spawn([&] { answer(here); });
        std::string last;
        for (const char *question : {"one", "two", "three"}) {
            last = ask(there, question);
            std::puts(last.c_str());
        }
        answers.cancel();
        try {
            answers.join();
        } catch (const std::system_error &) { /* it was cancelled */
        }
        char path[] = "/tmp/thrum-cpp-XXXXXX";
        if (!mkdtemp(path)) {
            return 1;
        }
        const std::string name = std::string(path) + "/made";
        thrum::watch changes;
        (void)changes.add(path, THRUM_WATCH_CREATED);
        { thrum::file made(name.c_str(), THRUM_FILE_WRITE | THRUM_FILE_CREATE); }
        const std::string made = first_made(changes);
        thrum::check(thrum_file_unlink(name.c_str(), THRUM_FOREVER));
        thrum::check(thrum_file_rmdir(path, THRUM_FOREVER));
        std::puts(made.c_str());
        return last == "yes, three" && made == "made" ? 0 : 1;
    });
}
