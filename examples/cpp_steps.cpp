/*
 * cpp_steps.cpp: an object that makes several requests, one after the other. It is an intrusive
 * task whose body changes from step to step; while it waits for an answer it has no stack.
 */
#include <cstdio>
#include <thrum/cpp/intrusive.hpp>
#include <thrum/thrum.hpp>

/* A stand-in for a network client, which calls `done` on its own thread. */
template <typename Done> static void request(const char *what, Done done) {
    std::puts(what);
    thrum::go(done);
}

class crawler {
  public:
    explicit crawler(thrum_sched *on) {
        task_.post(on);
    }

  private:
    void first() {
        task_.set_body(this, &crawler::second);
        request("GET /", [this] { task_.post(); }); /* from here on another run may have begun */
    }
    void second() {
        task_.set_body(this, &crawler::last);
        request("HEAD /news", [this] { task_.post(); });
    }
    void last() {
        std::puts("done");
        delete this;
    }

    thrum::intrusive_task task_{this, &crawler::first};
};

int main() {
    thrum::scheduler background("crawler", 2); /* at its end it waits for its tasks */
    new crawler(background);
}
