/*
 * cpp_echo.cpp: a server that sends lines back, and a client of it. SIGTERM ends it as the client
 * does: connections that are idle are told, the others go on.
 */
#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <thrum/thrum.hpp>

using namespace std::chrono_literals;

static void echo(thrum::io connection) {
    thrum::stream lines(std::move(connection));
    std::string line;
    while (lines.read_line(line)) {
        lines.write(line + "\n");
        lines.flush();
    }
}

int main() {
    return thrum::run([] {
        thrum::listener listener("tcp:127.0.0.1:0");
        char address[THRUM_ADDRESS_TEXT];
        thrum::check(thrum_io_local(listener.native_handle(), address, sizeof(address)));
        thrum::event stop(THRUM_EVENT_MANUAL);
        const int ends[] = {SIGTERM, SIGINT, 0};
        thrum_serve_options options = THRUM_SERVE_OPTIONS_INIT;
        options.stop = stop.native_handle();
        options.stop_signals = ends;
        auto server = thrum::spawn([&] { thrum::serve(listener, echo, &options); });
        std::string line;
        {
            thrum::stream talk(thrum::dial(address, thrum::after(10s)));
            talk.write("hello\n");
            talk.flush();
            talk.read_line(line);
        }
        stop.signal();
        server.join();
        std::puts(line.c_str());
        return line == "hello" ? 0 : 1;
    });
}
