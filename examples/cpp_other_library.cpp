/*
 * cpp_other_library.cpp: libraries that know nothing of tasks, and what a task does instead of
 * blocking its thread. One tells for which descriptor it waits; one calls back on a thread of its
 * own; one can only be asked whether something is over.
 */
#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <functional>
#include <thread>
#include <thrum/thrum.hpp>
#include <unistd.h>

/* ---- the libraries ---- */

namespace library {

/* Answers come through its descriptor, which it keeps: read() says -1 while there is none. */
class connection {
  public:
    connection() {
        open_ = pipe(ends_) == 0;
        (void)fcntl(ends_[0], F_SETFL, O_NONBLOCK);
    }
    ~connection() {
        close(ends_[0]);
        close(ends_[1]);
    }
    int socket() const {
        return open_ ? ends_[0] : -1;
    }
    /* Also while another thread reads. Here the other side is at once done. */
    bool ask(char what) const {
        return ::write(ends_[1], &what, 1) == 1;
    }
    int read() {
        char byte;
        return ::read(ends_[0], &byte, 1) == 1 ? byte : -1;
    }

  private:
    int ends_[2] = {-1, -1};
    bool open_; /* constant */
};

/* Calls back on a thread of its own. */
static std::thread compute(int n, std::function<void(int)> done) {
    return std::thread([n, done] { done(n * n); });
}

/* Begins something that is over after a while, and can be asked. */
class transfer {
  public:
    bool is_over() const {
        return std::chrono::steady_clock::now() >= end_;
    }

  private:
    std::chrono::steady_clock::time_point end_ =
        std::chrono::steady_clock::now() + std::chrono::milliseconds(3);
};

} // namespace library

/* ---- in tasks ---- */

/* It is borrowed for one wait, and given back before the library is called again. */
static int answer_of(library::connection &from, thrum::deadline until) {
    int answer;
    while ((answer = from.read()) < 0) {
        thrum::io borrowed = thrum::io::adopt(from.socket());
        const thrum::status ready = borrowed.wait_until(THRUM_IO_READ, until);
        thrum::check(thrum_io_release(borrowed.release()));
        thrum::check(ready.code());
    }
    return answer;
}

/* Any thread may signal an event, or post a semaphore: the task waits for that. */
static int square_of(int n) {
    thrum::event over(THRUM_EVENT_MANUAL);
    int result = 0;
    std::thread theirs = library::compute(n, [&](int square) {
        result = square;
        over.signal();
    });
    over.wait();
    theirs.join(); /* it has ended, or is about to */
    return result;
}

/* The scheduler asks, as long as operations are under way. */
static void whole_transfer() {
    thrum::semaphore over(0);
    library::transfer what;
    thrum::source asks([&] {
        if (what.is_over()) {
            asks.end();
            over.post();
        }
    });
    asks.begin();
    over.wait();
}

int main() {
    return thrum::run([] {
        library::connection talk;
        auto asked =
            thrum::spawn([&] { return answer_of(talk, thrum::after(std::chrono::seconds(10))); });
        thrum::yield(); /* the task waits, and holds up no thread */
        const bool has_asked = talk.ask('!');
        const int answer = has_asked ? asked.join() : -1;
        const int square = square_of(12);
        whole_transfer();
        std::printf("answer %c, square %d, a transfer\n", answer, square);
        return answer == '!' && square == 144 ? 0 : 1;
    });
}
