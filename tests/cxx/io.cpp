/*
 * io.cpp: descriptors that close themselves, and connections.
 */
/* matrix: policy workers */
#include "check.h"

#include <thrum/thrum.hpp>

#include "support/cxx.hpp"

using namespace std::chrono_literals;

TEST(a_connection_ends_with_its_value) {
    /* Bytes go there and back; a value that is destroyed or assigned to closes its end. */
    thrum::run([] {
        thrum::listener listener("tcp:127.0.0.1:0");
        char address[100];
        CHECK(thrum_io_local(listener.native_handle(), address, sizeof(address)) >= 0);
        auto server = thrum::spawn([&] {
            thrum::io peer = listener.accept();
            char bytes[8];
            size_t n = peer.read(bytes, sizeof(bytes));
            peer.write(bytes, n);
            return peer.read(bytes, sizeof(bytes));
        });
        thrum::io first = thrum::dial(address);
        thrum::io moved = std::move(first);
        CHECK(!first && moved);
        moved.write("hi", 2);
        char bytes[8];
        CHECK_EQ(moved.read(bytes, sizeof(bytes)), 2);
        moved = thrum::io();
        CHECK_EQ(server.join(), 0);
        CHECK(listener.accept_until(moved, by(soon())).timed_out());
        CHECK(listener.accept_for(moved, 1ms).timed_out());
        CHECK_EQ(listener.try_accept(moved).code(), -EAGAIN);
        CHECK(!moved);
        thrum::io client = thrum::dial(address);
        CHECK(static_cast<bool>(listener.accept_until(moved, by(far_off()))));
        CHECK_EQ(moved.try_read(bytes, sizeof(bytes)), -EAGAIN);
        CHECK_EQ(moved.try_write("hi", 2), 2);
        CHECK_EQ(
            thrum::fd_wait_until(thrum_io_fd(client.native_handle()), THRUM_IO_READ, by(far_off()))
                .code(),
            THRUM_IO_READ);
    });
}

TEST(waits_for_a_duration_say_what_came) {
    /* Nothing for a millisecond; then a connection, and a byte, within the hour. */
    thrum::run([] {
        thrum::listener listener("tcp:127.0.0.1:0");
        char address[100];
        CHECK(thrum_io_local(listener.native_handle(), address, sizeof(address)) >= 0);
        thrum::io ours = thrum::dial(address);
        thrum::io theirs;
        CHECK(bool(listener.accept_for(theirs, 1h)));
        char byte = 0;
        CHECK_EQ(theirs.read_for(&byte, 1, 1ms), -ETIMEDOUT);
        CHECK(theirs.wait_for(THRUM_IO_READ, 1ms).timed_out());
        CHECK_EQ(ours.write_for("x", 1, 1h), 1);
        CHECK(bool(theirs.wait_for(THRUM_IO_READ, 1h)));
        CHECK_EQ(theirs.read_for(&byte, 1, 1h), 1);
        CHECK_EQ(byte, 'x');
    });
}

TEST(errors_are_system_errors) {
    /* An address that makes no sense, and a descriptor that is none. */
    CHECK_EQ(code_of([] { thrum::listener none("nonsense"); }), EINVAL);
    CHECK_EQ(code_of([] { (void)thrum::io::adopt(-1); }), EBADF);
}
