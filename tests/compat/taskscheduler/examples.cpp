/*
 * examples.cpp: the four examples of TaskScheduler's document: a one-shot task, a task of several
 * steps, work with a timeout, and a worker that lives long. A thread takes the part of the network.
 */
#include "check.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>

#include "mg/box/MultiProducerQueueIntrusive.h"
#include "mg/sch/TaskScheduler.h"

#include "compat/taskscheduler/common.hpp"

using mg::box::AtomicU32;
using mg::sch::Task;
using mg::sch::TaskScheduler;

namespace {

/* Answers requests on a thread: each at once, or, if it is slow, when it is cancelled. */
class Network {
  public:
    Network() : isEnding_(false), thread_([this] { Serve(); }) {
    }
    ~Network() {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            isEnding_ = true;
        }
        cond_.notify_all();
        thread_.join();
    }
    void Get(std::function<void()> answered) {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            waiting_.push_back(std::move(answered));
        }
        cond_.notify_all();
    }
    void GetSlowly(std::function<void()> answered) {
        std::lock_guard<std::mutex> lock(mutex_);
        slow_ = std::move(answered);
    }
    void Cancel() {
        std::function<void()> cancelled;
        {
            std::lock_guard<std::mutex> lock(mutex_);
            cancelled.swap(slow_);
        }
        Get(std::move(cancelled));
    }

  private:
    void Serve() {
        std::unique_lock<std::mutex> lock(mutex_);
        for (;;) {
            cond_.wait(lock, [this] { return isEnding_ || !waiting_.empty(); });
            if (waiting_.empty()) {
                return;
            }
            std::function<void()> answered = std::move(waiting_.front());
            waiting_.pop_front();
            lock.unlock();
            answered();
            lock.lock();
        }
    }

    std::mutex mutex_;
    std::condition_variable cond_;
    std::deque<std::function<void()>> waiting_;
    std::function<void()> slow_;
    bool isEnding_;
    std::thread thread_;
};

/* Sends two requests, one after the other, and ends. */
class Steps {
  public:
    Steps(TaskScheduler &sched, Network &network, std::string &log)
        : sched_(sched), network_(network), log_(log), task_(this, &Steps::First) {
        sched_.Post(&task_);
    }

  private:
    void First(Task *task) {
        CHECK(task == &task_);
        log_ += "first ";
        task_.SetCallback(this, &Steps::Second);
        network_.Get([this, task] { sched_.Post(task); });
    }
    void Second(Task *task) {
        log_ += "second ";
        task_.SetCallback(this, &Steps::Third);
        network_.Get([this, task] { sched_.Post(task); });
    }
    void Third(Task *task) {
        CHECK(task == &task_);
        log_ += "third";
        delete this;
    }

    TaskScheduler &sched_;
    Network &network_;
    std::string &log_;
    Task task_;
};

/* Waits for an answer, but not for ever; ends when it has been answered or cancelled. */
class Timeout {
  public:
    Timeout(TaskScheduler &sched, Network &network, bool isSlow, uint32_t delay, std::string &log)
        : sched_(sched), network_(network), isSlow_(isSlow), isCancelled_(false), delay_(delay),
          log_(log), task_(this, &Timeout::Send) {
        sched_.Post(&task_);
    }

  private:
    void Send(Task *) {
        task_.SetCallback(this, &Timeout::Await);
        task_.SetDelay(delay_);
        if (isSlow_) {
            network_.GetSlowly([this] { task_.PostSignal(); });
        } else {
            network_.Get([this] { sched_.Signal(&task_); });
        }
        sched_.Post(&task_);
    }
    void Await(Task *task) {
        if (task->ReceiveSignal()) {
            log_ += isCancelled_ ? " cancelled" : "answered";
            delete this;
            return;
        }
        CHECK(task->IsExpired());
        log_ += "expired";
        isCancelled_ = true;
        sched_.PostWait(&task_);
        network_.Cancel();
    }

    TaskScheduler &sched_;
    Network &network_;
    const bool isSlow_;
    bool isCancelled_;
    const uint32_t delay_;
    std::string &log_;
    Task task_;
};

struct Request {
    explicit Request(uint32_t number) : myNext(nullptr), value(number) {
    }
    Request *myNext;
    uint32_t value;
};

/* Sends what is queued whenever it is woken. */
class Connection {
  public:
    explicit Connection(TaskScheduler &sched)
        : sum_(0), sched_(sched), task_(this, &Connection::Execute) {
        sched_.Post(&task_);
    }
    void Send(Request *request) {
        queue_.Push(request);
        sched_.Wakeup(&task_);
    }
    uint32_t Sum() const {
        return sum_.Load();
    }

  private:
    void Execute(Task *) {
        Request *request = queue_.PopAll();
        while (request) {
            Request *next = request->myNext;
            sum_.Add(request->value);
            delete request;
            request = next;
        }
        sched_.PostWait(&task_);
    }

    mg::box::MultiProducerQueueIntrusive<Request> queue_;
    AtomicU32 sum_;
    TaskScheduler &sched_;
    Task task_;
};

} // namespace

TEST(a_one_shot_task) {
    /* A task that does its work and deletes itself. */
    AtomicU32 work(0);
    {
        TaskScheduler sched("tst", 2, 100);
        sched.Post(new Task([&work](Task *self) {
            work.Increment();
            delete self;
        }));
    }
    CHECK_EQ(work.Load(), 1);
}

TEST(a_task_of_several_steps) {
    /* The answer of each request posts the next step, perhaps before the present one ends. */
    std::string log;
    TaskScheduler sched("tst", 1, 100);
    Network network;
    new Steps(sched, network, log);
    until([&] {
        CHECK(sched.WaitEmpty()); /* the last run has returned, or it is between two steps */
        return log == "first second third";
    });
}

TEST(work_that_is_answered_in_time) {
    /* The answer's signal ends the wait; the destructor waits for it, and cancels nothing. */
    std::string log;
    Network network;
    {
        TaskScheduler sched("tst", 1, 100);
        new Timeout(sched, network, false, 1000000, log);
    }
    CHECK_STR(log.c_str(), "answered");
}

TEST(work_that_is_cancelled_by_its_deadline) {
    /* The deadline's run cancels the request, and the task lives until the signal of its end. */
    std::string log;
    AtomicU32 done(0);
    Network network;
    TaskScheduler sched("tst", 1, 100);
    new Timeout(sched, network, true, 10, log);
    Task last([&](Task *) { done.Store(log == "expired cancelled"); });
    until([&] {
        sched.Post(&last);
        CHECK(sched.WaitEmpty());
        return done.Load() != 0;
    });
}

TEST(a_worker_that_lives_long) {
    /* A task that waits for ever is woken for each request, and forgotten at the end. */
    const uint32_t count = 500;
    std::unique_ptr<Connection> connection;
    TaskScheduler sched("tst", 2, 100);
    connection.reset(new Connection(sched));
    std::thread sender([&] {
        for (uint32_t i = 1; i <= count; i++) {
            connection->Send(new Request(i));
        }
    });
    sender.join();
    until([&] { return connection->Sum() == count * (count + 1) / 2; });
}
