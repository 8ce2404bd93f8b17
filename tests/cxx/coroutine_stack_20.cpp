/*
 * coroutine_stack_20.cpp: awaits grow no stack, whatever the compiler makes of them. The file is
 * compiled at several levels (cxx.cmake): gcc makes transfers jumps only from -O2 on.
 */
/* matrix: policy workers */
#include "coroutines.hpp"

namespace {

enum { MANY = 50000, DEEP = 10000, THROWN = 5000 };

thrum::co<int> one() {
    co_return 1;
}
thrum::co<> nothing() {
    co_return;
}
thrum::co<int &> same(int &place) {
    co_return place;
}
thrum::co<std::string> longer(std::string text) {
    co_return text + "x";
}
thrum::co<int> throws(int what) {
    if (what >= 0) {
        throw what;
    }
    co_return 0;
}

/* A chain of so many, of which the last hops, or throws, or waits for the event. */
enum end { RETURNS, HOPS, THROWS, WAITS };
thrum::co<int> deep(int n, end how, thrum_event *event = nullptr) {
    if (n > 0) {
        co_return 1 + co_await deep(n - 1, how, event);
    }
    if (how == HOPS) {
        co_await thrum::hop();
    } else if (how == THROWS) {
        throw std::runtime_error("deep");
    } else if (how == WAITS) {
        co_await thrum::wait(*event);
    }
    co_return 0;
}
thrum::co<int> loop(int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) {
        sum += co_await one();
    }
    co_return sum;
}

/* Coroutines of another library, which transfer. */
struct other {
    struct promise_type {
        struct ending {
            bool await_ready() noexcept {
                return false;
            }
            std::coroutine_handle<>
            await_suspend(std::coroutine_handle<promise_type> ended) noexcept {
                return ended.promise().next;
            }
            void await_resume() noexcept {
            }
        };
        other get_return_object() {
            return {std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        std::suspend_always initial_suspend() noexcept {
            return {};
        }
        ending final_suspend() noexcept {
            return {};
        }
        void return_void() {
        }
        void unhandled_exception() {
            std::terminate();
        }
        std::coroutine_handle<> next;
    };
    bool await_ready() {
        return false;
    }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller) {
        frame.promise().next = caller;
        return frame;
    }
    void await_resume() {
        frame.destroy();
    }
    std::coroutine_handle<promise_type> frame;
};
other idle() {
    co_return;
}
other around(thrum::co<int> body, int *sum) {
    *sum += co_await std::move(body);
}

/* Another library's event: whoever waits for `there` resumes the coroutine. */
struct handed_over {
    bool await_ready() {
        return false;
    }
    void await_suspend(std::coroutine_handle<> who) {
        frame = who;
        thrum_event_signal(&there);
    }
    void await_resume() {
    }
    void resume() {
        CHECK_EQ(thrum_event_wait(&there), 0);
        frame.resume();
    }
    std::coroutine_handle<> frame;
    thrum_event there = THRUM_EVENT_INIT(THRUM_EVENT_AUTO, false);
};

/* One that does not suspend in the end, or throws where it would. */
struct in_place {
    bool await_ready() {
        return ready;
    }
    bool await_suspend(std::coroutine_handle<>) {
        if (throws) {
            throw std::runtime_error("its own");
        }
        return false;
    }
    int await_resume() {
        return 1;
    }
    bool ready;
    bool throws;
};

/* What only this file knows how to await. */
struct seen_here {
    in_place inside;
};

} // namespace

namespace elsewhere {
struct waited {};
} // namespace elsewhere
static in_place operator co_await(elsewhere::waited) {
    return {false, false};
}
namespace {
in_place &operator co_await(seen_here &&it) {
    return it.inside;
}
} // namespace

TEST(a_loop_of_awaits_grows_no_stack) {
    /* Each kind of result, and exceptions, many times on a fiber's stack. */
    struct loops {
        static thrum::co<int> values() {
            int there = 1;
            int sum = 0;
            for (int i = 0; i < MANY; i++) {
                sum += co_await one();
                co_await nothing();
                sum += co_await same(there);
            }
            co_return sum;
        }
        static thrum::co<int> strings() {
            int sum = 0;
            for (int i = 0; i < THROWN; i++) {
                sum += static_cast<int>((co_await longer("long enough for the heap")).size());
            }
            co_return sum;
        }
        static thrum::co<int> exceptions() {
            int caught = 0;
            for (int i = 0; i < THROWN; i++) {
                try {
                    (void)co_await throws(i);
                } catch (int what) {
                    caught += what == i;
                }
            }
            co_return caught;
        }
    };
    thrum::run([] {
        CHECK_EQ(thrum::sync_wait(loops::values()), 2 * MANY);
        CHECK_EQ(thrum::sync_wait(loops::strings()), 25 * THROWN);
        CHECK_EQ(thrum::sync_wait(loops::exceptions()), THROWN);
        CHECK_EQ(thrum::spawn(loop(MANY)).join(), MANY);
    });
}

TEST(a_chain_of_awaits_grows_no_stack) {
    /* Many of which each awaits the next; the last returns, hops, throws or is cancelled. */
    thrum::run([] {
        CHECK_EQ(thrum::sync_wait(deep(DEEP, RETURNS)), DEEP);
        CHECK_EQ(thrum::sync_wait(deep(DEEP, HOPS)), DEEP);
        CHECK_EQ(thrum::spawn(deep(DEEP, HOPS)).join(), DEEP);
        CHECK_EQ(code_of([] { thrum::sync_wait(deep(DEEP, THROWS)); }), -1);
        thrum_event event = THRUM_EVENT_INIT(THRUM_EVENT_AUTO, false);
        auto waits = thrum::spawn(deep(DEEP, WAITS, &event));
        waits.cancel();
        CHECK_EQ(code_of([&] { waits.join(); }), ECANCELED);
        auto told = thrum::spawn(deep(DEEP, WAITS, &event));
        thrum_event_signal(&event);
        CHECK_EQ(told.join(), DEEP);
    });
}

TEST(a_loop_goes_on_elsewhere_after_a_wait) {
    /* Children that suspend now and then, in many coroutines at a time; no frame is left. */
    struct mixed {
        static thrum::co<int> loops(int n) {
            int sum = 0;
            for (int i = 0; i < n; i++) {
                sum += co_await one();
                if (i % 100 == 0) {
                    sum += co_await hops(1);
                }
                auto never = one(); /* its frame is destroyed, though it did not begin */
            }
            co_return sum;
        }
    };
    thrum::run([] {
        std::vector<thrum::co_task<int>> tasks;
        for (int i = 0; i < 20; i++) {
            tasks.push_back(thrum::spawn(mixed::loops(3000)));
        }
        for (auto &task : tasks) {
            CHECK_EQ(task.join(), 3030);
        }
    });
    CHECK_EQ(counted::alive.load(), 0);
}

TEST(a_loop_grows_no_stack_behind_what_is_not_ours) {
    /* Another awaiter is resumed by somebody; does not suspend; is ready; or throws. */
    struct strange {
        static thrum::co<int> handed(handed_over &over) {
            co_await over;
            co_return co_await loop(MANY);
        }
        static thrum::co<int> at_once(int n) {
            int sum = 0;
            for (int i = 0; i < n; i++) {
                sum += co_await in_place{i % 2 == 0, false};
                sum += co_await seen_here{{false, false}};
                sum += co_await one();
                try {
                    (void)co_await in_place{false, true};
                } catch (const std::runtime_error &) {
                    sum++;
                }
            }
            co_return sum;
        }
        static thrum::co<int> chain(int n) {
            (void)co_await in_place{n % 2 == 0, false};
            if (n > 0) {
                co_return 1 + co_await chain(n - 1);
            }
            co_return 0;
        }
        static thrum::co<int> ends(handed_over &over) {
            co_await over;
            co_return 1;
        }
        static thrum::co<int> twice(handed_over &over) {
            const int first = co_await ends(over);
            co_return first + co_await loop(MANY);
        }
    };
    thrum::run([] {
        handed_over over;
        auto resumer = thrum::spawn([&] { over.resume(); });
        CHECK_EQ(thrum::sync_wait(strange::handed(over)), MANY);
        resumer.join();
        resumer = thrum::spawn([&] { over.resume(); });
        CHECK_EQ(thrum::spawn(strange::twice(over)).join(), MANY + 1);
        resumer.join();
        CHECK_EQ(thrum::sync_wait(strange::at_once(THROWN)), 4 * THROWN);
        CHECK_EQ(thrum::sync_wait(strange::chain(DEEP)), DEEP);
    });
}

TEST(coroutines_of_others_mix_with_ours) {
    /* Ours await theirs, which transfer back, and theirs ours, with waits and without. */
    struct mixed {
        static thrum::co<int> child(bool waits) {
            co_await idle();
            if (waits) {
                co_await thrum::hop();
            }
            co_return 1;
        }
        static thrum::co<int> both(int n) {
            int sum = 0;
            for (int i = 0; i < n; i++) {
                sum += co_await child(i % 3 == 0);
                co_await around(child(i % 2 == 0), &sum);
                co_await around(one(), &sum);
                sum += co_await elsewhere::waited();
            }
            co_return sum;
        }
    };
    thrum::run([] {
        CHECK_EQ(thrum::sync_wait(mixed::both(100)), 400);
        CHECK_EQ(thrum::spawn(mixed::both(100)).join(), 400);
    });
}
