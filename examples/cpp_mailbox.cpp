/*
 * cpp_mailbox.cpp: an object that works in the background as long as the program runs. Any thread
 * adds work and wakes its task; the task takes all that is there and waits for more.
 */
#include <atomic>
#include <cstdio>
#include <thrum/cpp/intrusive.hpp>
#include <thrum/thrum.hpp>

struct letter {
    letter *next;
    int value;
};

class mailbox {
  public:
    explicit mailbox(thrum_sched *on) {
        task_.post(on);
    }
    void send(letter *added) {
        added->next = letters_;
        while (!letters_.compare_exchange_weak(added->next, added)) {
        }
        task_.wakeup(); /* a wakeup during a run is remembered */
    }
    int sum = 0; /* only the task changes it */

  private:
    void read() {
        for (letter *taken = letters_.exchange(nullptr); taken; taken = taken->next) {
            sum += taken->value;
        }
        (void)task_.post_wait(); /* the scheduler refuses it when it stops */
    }
    std::atomic<letter *> letters_{nullptr};
    thrum::intrusive_task task_{this, &mailbox::read};
};

int main() {
    thrum::scheduler background("mailbox", 2);
    mailbox box(background);
    letter first{nullptr, 40}, second{nullptr, 2};
    box.send(&first);
    box.send(&second);
    background.stop(); /* before the end of the box */
    std::printf("the sum is %d\n", box.sum);
    return box.sum == 42 ? 0 : 1;
}
