/*
 * asio.cc: an echo server on Asio's loop, without Boost: one thread, no locks, callbacks, which are
 * its fastest way.
 *
 *     peer-server-asio echo PORT
 */
#include <array>
#include <asio.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

using asio::ip::tcp;
using Socket = asio::basic_stream_socket<tcp, asio::io_context::executor_type>;
using Acceptor = asio::basic_socket_acceptor<tcp, asio::io_context::executor_type>;

class Connection : public std::enable_shared_from_this<Connection> {
  public:
    explicit Connection(Socket socket) : socket_(std::move(socket)) {
        socket_.set_option(tcp::no_delay(true));
    }

    void read() {
        socket_.async_read_some(asio::buffer(text_),
                                [self = shared_from_this()](auto error, std::size_t n) {
                                    if (!error) {
                                        self->write(n);
                                    }
                                });
    }

  private:
    void write(std::size_t n) {
        asio::async_write(socket_, asio::buffer(text_, n),
                          [self = shared_from_this()](auto error, std::size_t) {
                              if (!error) {
                                  self->read();
                              }
                          });
    }

    Socket socket_;
    std::array<char, 4096> text_;
};

static void accept_next(Acceptor &acceptor) {
    acceptor.async_accept([&acceptor](auto error, Socket socket) {
        if (!error) {
            std::make_shared<Connection>(std::move(socket))->read();
        }
        accept_next(acceptor);
    });
}

int main(int argc, char **argv) {
    if (argc != 3 || std::strcmp(argv[1], "echo") != 0) {
        std::fprintf(stderr, "usage: %s echo PORT\n", argv[0]);
        return 2;
    }
    asio::io_context context(ASIO_CONCURRENCY_HINT_UNSAFE);
    const auto port = static_cast<unsigned short>(std::atoi(argv[2]));
    Acceptor acceptor(context.get_executor(),
                      tcp::endpoint(asio::ip::address_v4::loopback(), port));
    accept_next(acceptor);
    context.run();
    return 0;
}
