/*
 * cpp_hangs.cpp: a C++ program that hangs, and what tells why: tasks with names, and a dump, which
 * says what each of them waits for. (With THRUM_DUMP=QUIT in the environment SIGQUIT prints it.)
 */
#include <cstdio>
#include <string>
#include <thrum/thrum.hpp>

/* The same text as on stderr, kept: a server may send it to whoever asks. */
static std::string dump_of(thrum_sched *sched) {
    std::FILE *into = std::tmpfile();
    if (into == nullptr) {
        return "";
    }
    thrum::check(thrum_dump(sched, into, THRUM_TEXT));
    std::rewind(into);
    std::string text;
    char bytes[512];
    size_t n;
    while ((n = std::fread(bytes, 1, sizeof(bytes), into)) > 0) {
        text.append(bytes, n);
    }
    std::fclose(into);
    return text;
}

int main() {
    return thrum::run([] {
        thrum::chan<int> orders(1);
        thrum::semaphore seats(0);
        auto cook =
            thrum::spawn(thrum::attr().name("cook"), [&] { return orders.recv().has_value(); });
        auto guest = thrum::spawn(thrum::attr().name("guest"), [&] {
            seats.wait(); /* nobody posts: so there is no order, and the cook waits, too */
            orders.send(1);
        });
        std::string text;
        while (text.find("\"guest\" waits for semaphore") == std::string::npos ||
               text.find("\"cook\" waits for") == std::string::npos) {
            thrum::yield();
            text = dump_of(thrum_sched_current());
        }
        std::fputs(text.c_str(), stdout);
        seats.post(); /* what was missing */
        guest.join();
        return cook.join() ? 0 : 1;
    });
}
