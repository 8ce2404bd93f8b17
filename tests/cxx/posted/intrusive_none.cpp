/*
 * intrusive_none.cpp: intrusive tasks in a program without exceptions and without RTTI.
 */
/* matrix: policy workers */
#include "check.h"

#include <thrum/cpp/intrusive.hpp>
#include <thrum/thrum.hpp>

#if defined(__cpp_exceptions) || defined(__cpp_rtti)
#error "tests/cxx/cxx.cmake compiles files that end in _none without both"
#endif

TEST(tasks_run_without_exceptions) {
    /* A refused post returns its code, or prints it and aborts. */
    thrum::scheduler own;
    int ran = 0;
    thrum::intrusive_task task([&ran] { ran++; });
    CHECK(bool(task.try_post(own)));
    own.wait_done();
    CHECK_EQ(ran, 1);
    thrum::intrusive_task empty;
    CHECK_EQ(empty.try_post(own).code(), -EINVAL);
    check_dies(
        [](void *) {
            thrum::intrusive_task none;
            none.post();
        },
        NULL, thrum_strerror(-EINVAL));
}
