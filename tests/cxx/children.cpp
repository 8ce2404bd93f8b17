/*
 * children.cpp: the child of a fork: what is the parent's is left to it, and what a body returns or
 * throws is what the child ends with.
 */
/* POSIX: fork */
#include "check.h"

#include <stdexcept>

#include <sys/wait.h>
#include <unistd.h>

#include <thrum/thrum.hpp>

#include "support/cxx.hpp"

namespace {

/* How the child has ended: its status, or -1 for a signal. */
int end_of(pid_t child) {
    int status = 0;
    CHECK_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

} // namespace

TEST(a_scheduler_is_left_to_the_parent) {
    /* Its destructor stops nothing in the child, which ends as it would. */
    thrum::scheduler background;
    const pid_t child = fork();
    if (child == 0) {
        { const thrum::scheduler taken(std::move(background)); }
        _exit(5);
    }
    CHECK_EQ(end_of(child), 5);
}

TEST(a_bound_thread_s_is_too) {
    /* And a stop by the bound thread is no reason to end the program. */
    thrum_config config;
    thrum_config_init(&config);
    config.workers = 0;
    thrum::scheduler own(&config);
    {
        const thrum::bound_thread here(own);
        const pid_t child = fork();
        if (child != 0) {
            CHECK_EQ(end_of(child), 6);
        }
        if (child == 0) {
            here.~bound_thread();
            _exit(6);
        }
        own.stop();
    }
}

TEST(tasks_and_scopes_are_too) {
    /* The body ends, and with it the child. */
    thrum::run([] {
        thrum_event forked = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false);
        auto task = thrum::spawn([&] { thrum::check(thrum_event_wait(&forked)); });
        thrum::scope scope;
        scope.go([&] { thrum::check(thrum_event_wait(&forked)); });
        const pid_t child = fork();
        if (child == 0) {
            return;
        }
        CHECK_EQ(end_of(child), 0);
        thrum_event_signal(&forked);
        scope.join();
        task.join();
    });
}

TEST(what_a_body_returns_is_the_status) {
    /* Of run, spawn and go; and 1 where it throws. */
    const int ended = thrum::run([] {
        pid_t child = fork();
        if (child == 0) {
            return 3;
        }
        CHECK_EQ(end_of(child), 3);
        CHECK_EQ(thrum::spawn([] {
                     const pid_t of_task = fork();
                     return of_task == 0 ? 4 : end_of(of_task);
                 }).join(),
                 4);
        thrum::waitgroup parts(1);
        thrum::go([&] {
            const pid_t of_task = fork();
            if (of_task == 0) {
                return 5;
            }
            CHECK_EQ(end_of(of_task), 5);
            parts.done();
            return 0;
        });
        parts.wait();
        thrum::spawn([] {
            const pid_t of_task = fork();
            if (of_task == 0) {
                throw std::runtime_error("the child");
            }
            CHECK_EQ(end_of(of_task), 1);
        }).join();
        return 0;
    });
    CHECK_EQ(ended, 0);
}
