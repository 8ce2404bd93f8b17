/*
 * cpp_tls.cpp: a server that sends back what comes, encrypted, and a client that trusts it, in one
 * program:
 *
 *     cpp_tls CHAIN KEY CA HOST
 *
 * CHAIN, KEY and CA are PEM files; the certificate is HOST's.
 */
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thrum/cpp/tls.hpp>
#include <thrum/thrum.hpp>

using namespace std::chrono_literals;

static void echo(const thrum::tls_config &own, thrum::io connection) {
    thrum::tls talk(own, std::move(connection), thrum::after(10s));
    char text[4096];
    while (size_t n = talk.read(text, sizeof(text))) {
        talk.write(text, n);
    }
    talk.close(thrum::after(1s));
}

static void ask(const thrum::tls_config &known, const char *address, const char *host) {
    const char word[] = "hello";
    char answer[sizeof(word)];
    size_t n = 0;
    thrum::tls talk(known, thrum::dial(address, thrum::after(10s)), host, thrum::after(10s));
    talk.write(word, sizeof(word));
    while (n < sizeof(answer)) {
        const size_t got = talk.read(answer + n, sizeof(answer) - n);
        if (got == 0) {
            throw std::runtime_error("the server has ended");
        }
        n += got;
    }
    std::printf("%s said %s, by %s\n", host, answer, talk.version());
    talk.close(thrum::after(1s));
}

int main(int argc, char **argv) {
    if (argc != 5) {
        std::fprintf(stderr, "usage: %s CHAIN KEY CA HOST\n", argv[0]);
        return 2;
    }
    return thrum::run([=] {
        thrum_tls_options server = THRUM_TLS_OPTIONS_INIT;
        thrum_tls_options client = THRUM_TLS_OPTIONS_INIT;
        server.chain_file = argv[1];
        server.key_file = argv[2];
        client.ca_file = argv[3];
        try {
            const thrum::tls_config own = thrum::tls_config::server(server);
            const thrum::tls_config known = thrum::tls_config::client(&client);
            thrum::listener listener("tcp:127.0.0.1:0");
            char address[THRUM_ADDRESS_TEXT];
            thrum::check(thrum_io_local(listener.native_handle(), address, sizeof(address)));
            thrum::scope both;
            both.go([&] { echo(own, listener.accept()); });
            both.go([&] { ask(known, address, argv[4]); });
            both.join(); /* throws what one of them threw; the other is cancelled then */
        } catch (const std::exception &failure) {
            std::fprintf(stderr, "cpp_tls: %s\n", failure.what());
            return 1;
        }
        return 0;
    });
}
