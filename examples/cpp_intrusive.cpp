/*
 * cpp_intrusive.cpp: tasks that lie in the program's own objects, by the C calls: a stage of work
 * that costs no allocation and no stack, and is run again when there is more.
 */
#include <atomic>
#include <cstdio>
#include <thrum/thrum.hpp>

namespace {

class counter {
  public:
    explicit counter(thrum::waitgroup &end) : end_(end) {
        thrum_task_init(&task_, run, this);
    }
    /* Runs it so many times, one after the other. */
    void start(int times) {
        left_ = times;
        thrum::check(thrum_task_post(thrum_sched_current(), &task_));
    }
    int runs() const {
        return runs_;
    }

  private:
    static void run(thrum_task *task, void *arg) {
        auto *self = static_cast<counter *>(arg);
        self->runs_++;
        if (--self->left_ > 0) {
            thrum::check(thrum_task_post(thrum_sched_current(), task));
        } else {
            self->end_.done(); /* the object may be gone from here on */
        }
    }
    thrum_task task_;
    thrum::waitgroup &end_;
    int left_ = 0;
    int runs_ = 0;
};

} // namespace

int main() {
    return thrum::run([] {
        thrum::waitgroup end(2);
        counter first(end);
        counter second(end);
        first.start(3);
        second.start(5);
        end.wait();
        std::printf("%d and %d runs\n", first.runs(), second.runs());
        return first.runs() == 3 && second.runs() == 5 ? 0 : 1;
    });
}
