/*
 * datagrams.cpp: datagrams, addresses, and changes of files.
 */
/* matrix: policy workers */
#include "check.h"

#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include <thrum/thrum.hpp>

#include "support/cxx.hpp"

using namespace std::chrono_literals;

TEST(addresses_are_values) {
    /* Read from a text, and written as one; none is the empty one. */
    const thrum::address one("127.0.0.1:80");
    const thrum::address copy = one;
    CHECK_STR(copy.text().c_str(), "127.0.0.1:80");
    CHECK(bool(copy));
    const thrum::address none;
    CHECK(!none);
    CHECK_STR(none.text().c_str(), "");
    CHECK_EQ(code_of([] { thrum::address wrong("nonsense"); }), EINVAL);
    thrum::address all[4];
    CHECK_EQ(thrum::resolve_until(all, "127.0.0.1", 53, by(far_off())).code(), 1);
    CHECK_STR(all[0].text().c_str(), "127.0.0.1:53");
    CHECK_STR(thrum::resolve("::1", 53).text().c_str(), "[::1]:53");
    CHECK_EQ(code_of([] { (void)thrum::resolve("", 53); }), EINVAL);
}

TEST(a_listener_says_where_it_is_dialled) {
    /* The port that the system has chosen is in it. */
    thrum::run([] {
        thrum::listener listener("tcp:127.0.0.1:0");
        const std::string where = thrum::address::of(listener);
        auto server = thrum::spawn([&] { listener.accept().write("x", 1); });
        char byte = 0;
        CHECK_EQ(thrum::dial(where.c_str()).read(&byte, 1), 1u);
        server.join();
    });
}

TEST(datagrams_go_there_and_back) {
    /* To the address that they came from, one by one and several at a time; none comes in time. */
    thrum::run([] {
        thrum::datagrams here = thrum::datagrams::listen("udp:127.0.0.1:0");
        thrum::datagrams there = thrum::datagrams::dial(thrum::address::of(here).c_str());
        char bytes[8] = "";
        auto echo = thrum::spawn([&] {
            char got[8];
            thrum::address from;
            const size_t n = here.receive(got, sizeof(got), &from);
            here.send(got, n, from);
            return from.text();
        });
        there.send("hello", 5);
        CHECK_EQ(there.receive(bytes, sizeof(bytes)), 5u);
        CHECK_STR(bytes, "hello");
        CHECK(thrum::address::of(there).find(echo.join()) != std::string::npos);
        CHECK_EQ(there.receive_for(bytes, sizeof(bytes), 1ms), -ETIMEDOUT);
        CHECK_EQ(there.send_for("x", 1, thrum::address(), 1h), 1);
        char first[4];
        char second[4];
        CHECK_EQ(here.receive_until(first, sizeof(first), thrum::deadline::never()), 1);
        thrum_datagram out[2] = {{bytes, 1, 0, {}}, {bytes, 2, 0, {}}};
        CHECK_EQ(there.send_many_until(out, 2, by(far_off())).code(), 2);
        thrum_datagram in[2] = {{first, sizeof(first), 0, {}}, {second, sizeof(second), 0, {}}};
        int n = here.receive_many_until(in, 2, by(far_off())).code();
        CHECK(n > 0);
        CHECK_EQ(in[0].length, 1u);
        thrum::datagrams moved = std::move(here);
        CHECK(!here && moved);
        CHECK_EQ(code_of([&] { moved.send("x", 1); }), EDESTADDRREQ);
    });
}

TEST(a_watch_tells_of_changes) {
    /* Of a file that is made, in time; a watch that was taken away tells that it has ended. */
    NOT_BY_POSIX("changes of files");
    thrum::run([] {
        char path[] = "/tmp/thrum-watch-XXXXXX";
        CHECK(mkdtemp(path) != nullptr);
        const std::string name = std::string(path) + "/made";
        {
            thrum::watch opened;
            thrum::watch changes = std::move(opened);
            const int number = changes.add(path, THRUM_WATCH_CREATED | THRUM_WATCH_DELETED);
            thrum_watch_event event;
            CHECK(changes.next_for(event, 1ms).timed_out());
            { thrum::file made(name.c_str(), THRUM_FILE_WRITE | THRUM_FILE_CREATE); }
            event = changes.next();
            CHECK_EQ(event.watch, number);
            CHECK_EQ(event.what, THRUM_WATCH_CREATED);
            CHECK_STR(event.name, "made");
            CHECK_EQ(unlink(name.c_str()), 0);
            CHECK_EQ(changes.next().what, THRUM_WATCH_DELETED);
            CHECK(bool(changes.try_remove(number)));
            CHECK_EQ(changes.next().what & THRUM_WATCH_ENDED, THRUM_WATCH_ENDED);
            CHECK_EQ(changes.try_remove(number).code(), -EINVAL);
            CHECK_EQ(code_of([&] { changes.add("/none/such", THRUM_WATCH_CREATED); }), ENOENT);
        }
        CHECK_EQ(rmdir(path), 0);
    });
}
