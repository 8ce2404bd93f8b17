/*
 * intrusive.cpp: intrusive tasks whose bodies are lambdas and member functions, and the end of
 * their memory.
 */
/* matrix: policy workers */
#include "check.h"

#include <memory>
#include <stdexcept>

#include <thrum/cpp/intrusive.hpp>
#include <thrum/thrum.hpp>

#include "support/cxx.hpp"

using namespace std::chrono_literals;

namespace {

struct base {
    std::atomic<int> ran{0};
    void once() {
        ran++;
    }
};

struct worker : base {
    void with_task(thrum::intrusive_task &self) noexcept {
        CHECK(&self == &task);
        ran++;
    }
    void looks() const {
        CHECK(ran.load() > 0);
    }
    thrum::intrusive_task task{this, &worker::with_task};
};

std::atomic<int> by_function;

void plain(thrum::intrusive_task &) {
    by_function++;
}

} // namespace

TEST(a_body_is_anything_that_can_be_called) {
    /* A lambda, a function, a member function, also of a base; and nothing is allocated. */
    thrum::scheduler own;
    worker one;
    const worker &same = one;
    std::atomic<int> ran(0);
    const int before = allocations;
    thrum::intrusive_task lambda([&ran](thrum::intrusive_task &) { ran++; });
    thrum::intrusive_task no_task([&ran] { ran++; });
    thrum::intrusive_task function(plain);
    thrum::intrusive_task of_base(&one, &worker::once);
    lambda.post(own);
    no_task.post(own, THRUM_HINT_NEXT);
    function.post(own);
    of_base.post(own);
    one.task.post(own);
    own.wait_done();
    CHECK_EQ(ran.load() + by_function.load() + one.ran.load(), 5);
    of_base.set_body(&same, &worker::looks);
    of_base.post(own);
    own.wait_done();
    CHECK_EQ(allocations.load(), before);
}

TEST(a_body_may_destroy_its_task) {
    /* Or give it another body: what it captured is still there. */
    thrum::scheduler own;
    std::atomic<int> sum(0);
    int one = 1;
    auto *made = new thrum::intrusive_task([&sum, &one](thrum::intrusive_task &self) {
        self.set_body([&sum](thrum::intrusive_task &again) {
            delete &again;
            sum += 10;
        });
        self.post();
        sum += one;
    });
    made->post(own);
    own.wait_done();
    CHECK_EQ(sum.load(), 11);
}

TEST(a_task_tells_why_it_runs) {
    /* Deadlines, wakeups, signals and cancels, also those that come before the post. */
    thrum::scheduler own;
    std::atomic<int> cause(-1);
    thrum::intrusive_task task([&cause](thrum::intrusive_task &self) {
        CHECK_EQ(self.is_cancelled(), self.cause() == THRUM_CAUSE_CANCELLED);
        CHECK_EQ(self.is_signaled(), self.cause() == THRUM_CAUSE_SIGNALED);
        CHECK_EQ(self.receive_signal(), self.cause() == THRUM_CAUSE_SIGNALED);
        CHECK_EQ(self.is_expired(),
                 self.cause() == THRUM_CAUSE_EXPIRED || self.cause() == THRUM_CAUSE_POSTED);
        cause = self.cause();
    });
    const auto ran = [&] {
        own.wait_done();
        return cause.exchange(-1);
    };
    task.post(own);
    CHECK_EQ(ran(), int(THRUM_CAUSE_POSTED));
    CHECK(bool(task.post_until(by(past()), own)));
    CHECK_EQ(ran(), int(THRUM_CAUSE_EXPIRED));
    CHECK(bool(task.post_after(1h, own)));
    CHECK(task.try_post(own).busy());
    task.wakeup();
    CHECK_EQ(ran(), int(THRUM_CAUSE_WOKEN));
    task.signal();
    CHECK(bool(task.post_wait(own)));
    CHECK_EQ(ran(), int(THRUM_CAUSE_SIGNALED));
    CHECK(!task.cancel());
    CHECK(bool(task.post_wait(own)));
    CHECK(task.cancel());
    CHECK_EQ(ran(), int(THRUM_CAUSE_CANCELLED));
}

TEST(a_post_that_is_refused_says_why) {
    /* Without a body, without a scheduler, and in the last run before a stop. */
    std::atomic<int> last(0);
    thrum::intrusive_task waits([&last](thrum::intrusive_task &self) {
        CHECK(self.is_cancelled());
        last = self.post_wait().code();
    });
    {
        thrum::scheduler own;
        thrum::intrusive_task empty;
        CHECK_EQ(code_of([&] { empty.post(own); }), EINVAL);
        CHECK_EQ(code_of([&] { waits.post(); }), EINVAL);
        CHECK(bool(waits.post_wait(own)));
    }
    CHECK_EQ(last.load(), -ESHUTDOWN);
}

TEST(runs_of_a_serial_task_do_not_overlap) {
    /* A post during a run is a run of its own, and a second one is refused. */
    thrum::scheduler own;
    thrum::event inside(THRUM_EVENT_AUTO);
    thrum::event goes_on(THRUM_EVENT_MANUAL);
    std::atomic<int> within(0);
    std::atomic<int> runs(0);
    const auto body = [&] {
        CHECK_EQ(within.fetch_add(1), 0);
        inside.signal();
        goes_on.wait();
        within--;
        runs++;
    };
    thrum::intrusive_task task([&body] { body(); });
    task.set_serial();
    task.post(own);
    inside.wait();
    task.post(own);
    CHECK(task.try_post(own).busy());
    goes_on.signal();
    own.wait_done();
    CHECK_EQ(runs.load(), 2);
}

TEST(a_task_that_is_tied_runs_on_its_worker) {
    /* Each time that it is posted. */
    thrum::scheduler own("tied", 2);
    thrum::intrusive_task task([] { CHECK_EQ(thrum_worker_id(), 1); });
    task.set_worker(1);
    for (int i = 0; i < 10; i++) {
        task.post(own);
        own.wait_done();
    }
}

TEST(a_posted_task_is_not_destroyed) {
    /* Whether it waits, is queued, or was posted by the body that destroys it. */
    check_dies(
        [](void *) {
            thrum::scheduler own;
            thrum::intrusive_task task([] { abort(); });
            (void)task.post_wait(own);
        },
        NULL, "thrum: thrum::~intrusive_task");
    check_dies(
        [](void *) {
            thrum::scheduler own("none", 0);
            thrum::intrusive_task task([] {});
            task.post(own);
        },
        NULL, "thrum: thrum::~intrusive_task");
    check_dies(
        [](void *) {
            thrum::scheduler own;
            auto *made = new thrum::intrusive_task([](thrum::intrusive_task &self) {
                self.post();
                delete &self;
            });
            made->post(own);
            own.wait_done();
        },
        NULL, "thrum: thrum::~intrusive_task");
}

TEST(an_exception_of_a_body_ends_the_program) {
    /* Nobody could catch it. */
    check_dies(
        [](void *) {
            thrum::scheduler own;
            thrum::intrusive_task task([] { throw std::runtime_error("x"); });
            task.post(own);
            own.wait_done();
        },
        NULL, "terminat");
}
