/*
 * world.cpp: streams, files, directories, processes and servers in C++.
 */
/* matrix: policy workers */
#include "support/programs.hpp"

#include <sys/socket.h>

#include <set>
#include <string>

#include <thrum/thrum.hpp>

#include "support/cxx.hpp"

using namespace std::chrono_literals;

namespace {

/* Two ends of a connection. */
struct ends {
    thrum::io ours;
    thrum::io theirs;
    ends() {
        int pair[2];
        CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        ours = thrum::io::adopt(pair[0]);
        theirs = thrum::io::adopt(pair[1]);
    }
};

/* A folder of its own, which is empty again at its end. */
struct folder {
    char path[40] = "/tmp/thrum-cxx-XXXXXX";
    folder() {
        CHECK(mkdtemp(path) != NULL);
    }
    ~folder() {
        CHECK_EQ(rmdir(path), 0);
    }
    std::string file(const char *name) const {
        return std::string(path) + "/" + name;
    }
};

/* A connection that says so when it begins, and never ends by itself. */
void waits(thrum::io connection) {
    connection.write("x", 1);
    thrum::sleep(1h);
}

} // namespace

TEST(a_stream_reads_lines_and_writes) {
    /* Lines of any length up to a limit, a look ahead, and bytes that are put back. */
    thrum::run([] {
        ends both;
        auto writer = thrum::spawn([&] {
            thrum::stream out(std::move(both.theirs));
            out.write("one\r\n\n");
            out.write(std::string(5000, 'x') + "\nlast");
            out.flush();
        });
        thrum::stream in(std::move(both.ours));
        CHECK(!both.ours);
        std::string line;
        CHECK(in.peek(3).substr(0, 3) == "one");
        CHECK(in.read_line(line));
        CHECK_STR(line.c_str(), "one");
        CHECK(in.read_line(line) && line.empty());
        CHECK_EQ(code_of([&] { in.read_line(line, 100); }), EMSGSIZE);
        CHECK(in.read_line(line) && line == std::string(5000, 'x'));
        in.unread("the ");
        CHECK(in.read_line(line));
        CHECK_STR(line.c_str(), "the last");
        CHECK(!in.read_line(line));
        writer.join();
    });
}

TEST(a_stream_says_what_could_not_be_written) {
    /* By its close, after its other end is gone; a descriptor that is kept stays open. */
    thrum::run([] {
        ends both;
        thrum_stream_options keeps = THRUM_STREAM_OPTIONS_INIT;
        keeps.keep_io = true;
        {
            thrum::stream over(std::move(both.ours), &keeps);
            CHECK_EQ(over.read_until(nullptr, 0, by(soon())), 0);
        }
        CHECK(bool(both.ours));
        thrum::stream out(std::move(both.ours));
        both.theirs.close();
        out.write("nobody reads this");
        CHECK_EQ(code_of([&] { out.close(); }), EPIPE);
        CHECK_EQ(code_of([&] { out.write("x"); }), EBADF);
    });
}

TEST(a_file_has_places) {
    /* It is written and read where one says, moves, is locked by a block, and closes itself. */
    NOT_BY_POSIX("locks of an open file");
    folder in;
    const std::string path = in.file("data");
    thrum::run([&] {
        thrum::file made(path.c_str(), THRUM_FILE_READ | THRUM_FILE_WRITE | THRUM_FILE_CREATE);
        made.pwrite("hello", 5, 0);
        CHECK_EQ(made.append(" there", 6), 6);
        thrum::file moved = std::move(made);
        CHECK(!made && moved);
        made = thrum::file(path.c_str());
        char text[20] = "";
        CHECK_EQ(made.pread(text, sizeof(text), 6), 5);
        CHECK_STR(text, "there");
        moved.truncate(3);
        CHECK_EQ(made.info().size, 3);
        moved.sync();
        moved.sync_data();
        {
            thrum::file_lock lock(moved, THRUM_FILE_WRITE);
            CHECK_EQ(thrum_file_try_lock(made.native_handle(), THRUM_FILE_READ), -EBUSY);
        }
        CHECK_EQ(thrum_file_try_lock(made.native_handle(), THRUM_FILE_READ), 0);
        CHECK_EQ(code_of([&] { thrum::file none(in.file("none").c_str()); }), ENOENT);
        CHECK_EQ(thrum_file_unlink(path.c_str(), THRUM_FOREVER), 0);
    });
}

TEST(a_directory_is_gone_through) {
    /* Each name once; an empty one has none. */
    folder in;
    thrum::run([&] {
        for (const thrum_dir_entry &entry : thrum::dir(in.path)) {
            CHECK_STR(entry.name, "none");
        }
        std::set<std::string> left = {"a", "b", "c"};
        for (const std::string &name : left) {
            thrum::file(in.file(name.c_str()).c_str(), THRUM_FILE_WRITE | THRUM_FILE_CREATE);
        }
        thrum::dir opened(in.path);
        thrum::dir moved = std::move(opened);
        for (const thrum_dir_entry &entry : moved) {
            CHECK_EQ(left.erase(entry.name), 1);
            CHECK_EQ(thrum_file_unlink(in.file(entry.name).c_str(), THRUM_FOREVER), 0);
        }
        CHECK(left.empty());
        CHECK_EQ(code_of([&] { thrum::dir none(in.file("none").c_str()); }), ENOENT);
    });
}

TEST(a_program_is_run_and_says_what_it_wrote) {
    /* Its output and its status; at a deadline it is killed, and that is told. */
    thrum::run([] {
        const script cat("exec cat");
        thrum::process_output copied = thrum::run_process(cat.argv, "some words");
        CHECK(copied.out() == "some words");
        CHECK(copied.error().empty());
        CHECK_EQ(copied.code(), 0);
        const script sleeps("exec sleep 1000");
        CHECK(bool(thrum::run_process_until(copied, cat.argv, "x", thrum::deadline::never())));
        do { /* until one has begun by then */
            CHECK(thrum::run_process_until(copied, sleeps.argv, {}, by(soon())).timed_out());
        } while (copied.signal() == 0);
        CHECK_EQ(copied.signal(), SIGKILL);
        const char *const none[] = {"/nonexistent/program", nullptr};
        CHECK_EQ(code_of([&] { thrum::run_process(none); }), ENOENT);
    });
}

TEST(a_process_has_an_owner) {
    /* It moves, is waited for with a limit, and selected over; a signal ends it. */
    thrum::run([] {
        const script sleeps("exec sleep 1000");
        thrum::process started(sleeps.argv);
        thrum::process moved = std::move(started);
        CHECK(!started && moved);
        CHECK(moved.pid() > 0);
        thrum_process_status how;
        CHECK(moved.wait_for(how, 1ms).timed_out());
        moved.kill(SIGTERM);
        int ready = 1;
        CHECK_EQ(thrum::select(thrum::on_ready(moved.ended(), THRUM_IO_READ,
                                               [&](thrum::status is) { ready = is.code(); })),
                 0);
        CHECK_EQ(ready, 0);
        CHECK_EQ(moved.wait().signal, SIGTERM);
        CHECK_EQ(code_of([&] { moved.kill_group(SIGTERM); }), EINVAL);
        CHECK(!moved.try_kill(-1));
    });
}

TEST(a_server_serves_until_it_is_told) {
    /* An error in one connection is the end of that one only. */
    thrum::run([] {
        thrum::listener listener("tcp:127.0.0.1:0");
        char address[100];
        CHECK(thrum_io_local(listener.native_handle(), address, sizeof(address)) >= 0);
        thrum::event stop(THRUM_EVENT_MANUAL);
        thrum_serve_options options = THRUM_SERVE_OPTIONS_INIT;
        options.stop = stop.native_handle();
        std::atomic<int> ended(0);
        auto echoes = [&](thrum::io connection) {
            thrum::defer end([&] { ended++; });
            char bytes[16];
            while (size_t n = thrum::serve_read(connection, bytes, sizeof(bytes))) {
                if (bytes[0] == '!') {
                    throw std::system_error(EIO, std::generic_category());
                }
                connection.write(bytes, n);
            }
        };
        auto server = thrum::spawn([&] { thrum::serve(listener, echoes, &options); });
        char bytes[8] = "";
        thrum::io bad = thrum::dial(address);
        bad.write("!", 1);
        CHECK_EQ(bad.read(bytes, sizeof(bytes)), 0);
        thrum::io good = thrum::dial(address);
        good.write("hi", 2);
        CHECK_EQ(good.read(bytes, sizeof(bytes)), 2);
        stop.signal();
        CHECK_EQ(good.read(bytes, sizeof(bytes)), 0);
        server.join();
        CHECK_EQ(ended.load(), 2);
        thrum::io none;
        CHECK_EQ(code_of([&] { (void)thrum::serve_read(none, bytes, 1); }), EBADF);
    });
}

TEST(a_server_takes_a_function) {
    /* A plain one; past its time the connections are cancelled, and that is told. */
    thrum::run([] {
        thrum::listener listener("tcp:127.0.0.1:0");
        char address[100];
        CHECK(thrum_io_local(listener.native_handle(), address, sizeof(address)) >= 0);
        thrum::event stop(THRUM_EVENT_MANUAL);
        thrum_serve_options options = THRUM_SERVE_OPTIONS_INIT;
        options.stop = stop.native_handle();
        options.drain = 0;
        auto server = thrum::spawn([&] { return thrum::try_serve(listener, waits, &options); });
        thrum::io idle = thrum::dial(address);
        char byte;
        CHECK_EQ(idle.read(&byte, 1), 1); /* it is being served */
        stop.signal();
        CHECK(server.join().timed_out());
    });
}

TEST(a_lines_string_is_not_larger_than_the_lines_ask_for) {
    /* Many short lines, and a long one between them, go into one string. */
    thrum::run([] {
        ends two;
        thrum::stream in(std::move(two.ours));
        thrum::stream out(std::move(two.theirs));
        std::string line;
        for (int i = 0; i < 100; i++) {
            const std::string sent(i == 50 ? 1000 : size_t(i % 7), 'x');
            out.write(sent + "\n");
            out.flush();
            CHECK(in.read_line(line));
            CHECK(line == sent);
        }
        CHECK(line.capacity() < 3000);
    });
}
