/*
 * cpp_request.cpp: requests with a deadline. Each waits for its answer, which signals the task, or
 * for its deadline. A late request is cancelled, and waits until the client no longer uses it.
 */
#include <atomic>
#include <cstdio>
#include <thrum/cpp/intrusive.hpp>
#include <thrum/thrum.hpp>

using namespace std::chrono_literals;

static std::atomic<int> answered, late;

class request {
  public:
    request(thrum_sched *on, bool answers) : answers_(answers) {
        task_.post(on);
    }

  private:
    void begin() {
        task_.set_body(this, &request::look);
        if (answers_) { /* a client of a network would do this later, on a thread of its own */
            task_.signal();
        }
        (void)task_.post_after(5ms); /* it is refused only in a cancelled run */
    }
    void look() {
        if (task_.receive_signal()) { /* the client no longer uses the task */
            (late_ ? late : answered)++;
            delete this;
            return;
        }
        late_ = true;
        thrum::go([this] { task_.signal(); }); /* cancels it; the client then signals its end */
        (void)task_.post_wait();
    }

    const bool answers_;
    bool late_ = false;
    thrum::intrusive_task task_{this, &request::begin};
};

int main() {
    {
        thrum::scheduler background("requests", 2);
        new request(background, true);
        new request(background, false);
        background.wait_done(); /* a stop would cancel a task that waits for its client */
    }
    std::printf("%d answered, %d late\n", answered.load(), late.load());
    return answered == 1 && late == 1 ? 0 : 1;
}
