/*
 * thrum/cpp/datagram.hpp: addresses, names of hosts, and datagrams. The rules are those of
 * thrum/net.h.
 *
 *     thrum::datagrams here = thrum::datagrams::listen("udp:127.0.0.1:0");
 *     thrum::address from;
 *     size_t n = here.receive(bytes, sizeof(bytes), &from);
 *     here.send(bytes, n, from);
 */
#ifndef THRUM_CPP_DATAGRAM_HPP
#define THRUM_CPP_DATAGRAM_HPP

#include <string>
#include <utility>

#include "thrum/cpp/io.hpp"

namespace thrum {
inline namespace THRUM_CPP_ABI {

/* An address as the system has it; a value. One that was made without a text is none. */
class address {
  public:
    constexpr address() noexcept : address_{} {
    }
    constexpr explicit address(const thrum_address &from) noexcept : address_(from) {
    }
    /* Reads "127.0.0.1:80", "[::1]:80", "/path", "@name"; throws std::system_error (EINVAL). */
    explicit address(const char *text) {
        check(thrum_address_parse(&address_, text));
    }
    /* The address of the descriptor (thrum_io_local), or of its peer; throws std::system_error. */
    static std::string of(const io &what) {
        char text[THRUM_ADDRESS_TEXT];
        check(thrum_io_local(what.native_handle(), text, sizeof(text)));
        return text;
    }
    /* The same: the address that others dial. */
    static std::string of(const listener &what) {
        char text[THRUM_ADDRESS_TEXT];
        check(thrum_io_local(what.native_handle(), text, sizeof(text)));
        return text;
    }
    static std::string of_peer(const io &what) {
        char text[THRUM_ADDRESS_TEXT];
        check(thrum_io_peer(what.native_handle(), text, sizeof(text)));
        return text;
    }
    std::string text() const {
        char text[THRUM_ADDRESS_TEXT];
        check(thrum_address_text(&address_, text, sizeof(text)));
        return text;
    }
    explicit operator bool() const noexcept {
        return address_.reserved_size != 0;
    }
    const thrum_address *native_handle() const noexcept {
        return &address_;
    }
    thrum_address *native_handle() noexcept {
        return &address_;
    }

  private:
    thrum_address address_;
};

/*
 * Looks up the addresses of a host, in the order in which they are to be tried (thrum_resolve). Its
 * code is how many there are, at most N. It may suspend.
 */
template <size_t N>
status resolve_until(address (&out)[N], const char *host, uint16_t port, deadline when,
                     unsigned family = 0) noexcept {
    thrum_address all[N];
    const int n = thrum_resolve(host, port, family, all, N, when.when());
    for (int i = 0; i < n; i++) {
        out[i] = address(all[i]);
    }
    return status(n);
}
/* The first of them; throws std::system_error: ENOENT for no such name. It may suspend. */
inline address resolve(const char *host, uint16_t port, deadline when = deadline::never(),
                       unsigned family = 0) {
    address out[1];
    check(resolve_until(out, host, port, when, family).code());
    return out[0];
}

/*
 * A socket for datagrams: an `io` that closes itself, and can be moved. Calls without a deadline
 * throw std::system_error. Calls whose names end in `_until` or `_for` return the C call's result,
 * a count or a negative code. All may suspend, but `listen`.
 */
class datagrams : public io {
  public:
    datagrams() noexcept = default;
    /* Takes over the result of a C call. */
    explicit datagrams(thrum_io owned) noexcept : io(owned) {
    }
    /* Receives at an address (thrum_listen). */
    static datagrams listen(const char *at, const thrum_listen_options *options = nullptr) {
        thrum_io out;
        check(thrum_listen(&out, at, options));
        return datagrams(out);
    }
    /* Talks to one address only (thrum_dial). */
    static datagrams dial(const char *to, deadline when = deadline::never()) {
        thrum_io out;
        check(thrum_dial(&out, to, when.when()));
        return datagrams(out);
    }

    /* Sends one to an address, or to the one that was dialed. */
    void send(const void *from, size_t size, const address &to) {
        check(send_until(from, size, to, deadline::never()));
    }
    void send(const void *from, size_t size) {
        check(thrum_send_to(native_handle(), from, size, nullptr, THRUM_FOREVER));
    }
    [[nodiscard]] int64_t send_until(const void *from, size_t size, const address &to,
                                     deadline when) noexcept {
        return thrum_send_to(native_handle(), from, size, to ? to.native_handle() : nullptr,
                             when.when());
    }
    template <typename Rep, typename Period>
    [[nodiscard]] int64_t send_for(const void *from, size_t size, const address &to,
                                   std::chrono::duration<Rep, Period> length) noexcept {
        return send_until(from, size, to, after(length));
    }
    /*
     * Receives one, and returns its length, of which the first `size` bytes are there. `sender`
     * (may be NULL) gets the address of its sender.
     */
    size_t receive(void *to, size_t size, address *sender = nullptr) {
        return static_cast<size_t>(check(receive_until(to, size, deadline::never(), sender)));
    }
    [[nodiscard]] int64_t receive_until(void *to, size_t size, deadline when,
                                        address *sender = nullptr) noexcept {
        return thrum_receive_from(native_handle(), to, size,
                                  sender ? sender->native_handle() : nullptr, when.when());
    }
    template <typename Rep, typename Period>
    [[nodiscard]] int64_t receive_for(void *to, size_t size,
                                      std::chrono::duration<Rep, Period> length,
                                      address *sender = nullptr) noexcept {
        return receive_until(to, size, after(length), sender);
    }
    /* Several in one call (thrum_send_many, thrum_receive_many); the code is how many. */
    status send_many_until(const thrum_datagram *all, unsigned n, deadline when) noexcept {
        return status(thrum_send_many(native_handle(), all, n, when.when()));
    }
    status receive_many_until(thrum_datagram *all, unsigned n, deadline when) noexcept {
        return status(thrum_receive_many(native_handle(), all, n, when.when()));
    }
};

} // namespace THRUM_CPP_ABI
} // namespace thrum

#endif
