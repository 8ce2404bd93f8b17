/*
 * thrum/cpp/tls.hpp: TLS over connections. The rules are those of thrum/tls.h. It is no part of
 * <thrum/thrum.hpp>, as that is none of <thrum.h>: include it, and link libthrum-tls.
 *
 *     thrum::tls_config known = thrum::tls_config::client();
 *     thrum::tls talk(known, thrum::dial("tcp:example.org:443"), "example.org");
 *     talk.write(request.data(), request.size());
 *     size_t n = talk.read(answer, sizeof(answer));
 */
#ifndef THRUM_CPP_TLS_HPP
#define THRUM_CPP_TLS_HPP

#include <string>
#include <utility>

#include "thrum/cpp/io.hpp"
#include "thrum/cpp/stream.hpp"
#include "thrum/tls.h"

namespace thrum {
inline namespace THRUM_CPP_ABI {

/* A config: certificates, and the authorities to trust. It has one owner, and can be moved. */
class tls_config {
  public:
    /*
     * Throw std::system_error (thrum_tls_config_server), whose text begins with the reason, for
     * instance "key.pem: not the key of the certificate". They read files, and never suspend.
     */
    static tls_config server(const thrum_tls_options &options) {
        tls_config made;
        explained(options, thrum_tls_config_server, &made.config_);
        return made;
    }
    static tls_config client(const thrum_tls_options *options = nullptr) {
        tls_config made;
        const thrum_tls_options defaults = THRUM_TLS_OPTIONS_INIT;
        explained(options != nullptr ? *options : defaults, thrum_tls_config_client, &made.config_);
        return made;
    }
    tls_config(tls_config &&other) noexcept : config_(std::exchange(other.config_, nullptr)) {
    }
    tls_config &operator=(tls_config &&other) noexcept {
        tls_config taken(std::move(other)); /* at its end it frees the old one */
        std::swap(config_, taken.config_);
        return *this;
    }
    ~tls_config() {
        thrum_tls_config_free(config_);
    }

    /* For connections that begin later; throws as `server` does, with nothing changed. */
    void reload(const thrum_tls_options &options) {
        explained(options, thrum_tls_config_reload, config_);
    }
    thrum_tls_config *native_handle() const noexcept {
        return config_;
    }

  private:
    tls_config() noexcept = default;
    /* Calls with memory for the reason, unless the options have it; throws with that reason. */
    template <typename Config>
    static void explained(thrum_tls_options options, int (*call)(Config, const thrum_tls_options *),
                          Config config) {
        char reason[256] = "";
        if (options.error == nullptr) {
            options.error = reason;
            options.error_size = sizeof(reason);
        }
        const int err = call(config, &options);
        if (err != 0) {
            raise(err, reason);
        }
    }
    thrum_tls_config *config_ = nullptr;
};

/*
 * A connection, with one owner, which can be moved. Calls without a deadline throw
 * std::system_error, whose text begins with that of `error`, for instance "hostname mismatch".
 * Calls whose names end in `_until` return the C call's result, a count or a negative code. All may
 * suspend. The destructor notifies the peer of the end only if that needs no wait: call `close` to
 * be sure.
 */
class tls {
  public:
    tls() noexcept = default;
    /*
     * The client's handshake, over a connection that this one owns from now on, also when it
     * throws. It throws EACCES for a server that is not trusted, EPROTO, and ETIMEDOUT past the
     * deadline.
     */
    tls(const tls_config &config, io &&over, const char *host, deadline when = deadline::never()) {
        begun(thrum_tls_client(&tls_, config.native_handle(), over.release(), host, when.when()));
    }
    /* The server's. */
    tls(const tls_config &config, io &&over, deadline when = deadline::never()) {
        begun(thrum_tls_server(&tls_, config.native_handle(), over.release(), when.when()));
    }
    tls(tls &&other) noexcept : tls_(std::exchange(other.tls_, nullptr)) {
    }
    tls &operator=(tls &&other) noexcept {
        tls taken(std::move(other)); /* at its end it closes the old one */
        std::swap(tls_, taken.tls_);
        return *this;
    }
    ~tls() {
        (void)thrum_tls_close(tls_, 0);
    }

    explicit operator bool() const noexcept {
        return tls_ != nullptr;
    }
    /* Some bytes, 0 at the end; ECONNRESET for one that may be cut off. */
    size_t read(void *to, size_t size) {
        return done(thrum_tls_read(tls_, to, size));
    }
    /* All of it, or it throws. */
    void write(const void *from, size_t size) {
        const char *at = static_cast<const char *>(from);
        while (size > 0) { /* after a short write the next one has the reason */
            const size_t n = done(thrum_tls_write(tls_, at, size));
            at += n;
            size -= n;
        }
    }
    [[nodiscard]] int64_t read_until(void *to, size_t size, deadline when) noexcept {
        return thrum_tls_read_until(tls_, to, size, when.when());
    }
    [[nodiscard]] int64_t write_until(const void *from, size_t size, deadline when) noexcept {
        return thrum_tls_write_until(tls_, from, size, when.when());
    }
    bool is_readable() noexcept {
        return thrum_tls_is_readable(tls_);
    }
    /* Nothing more will be written; reads go on. */
    status shutdown_until(deadline when) noexcept {
        return status(thrum_tls_shutdown(tls_, when.when()));
    }
    /* Notifies the peer of the end, and closes. The connection is closed even if it throws. */
    void close(deadline when = deadline::never()) {
        check(close_until(when).code());
    }
    status close_until(deadline when) noexcept {
        return status(thrum_tls_close(std::exchange(tls_, nullptr), when.when()));
    }

    /* The results of the handshake: texts that live as long as the connection. */
    const char *protocol() const noexcept {
        return thrum_tls_protocol(tls_);
    }
    const char *version() const noexcept {
        return thrum_tls_version(tls_);
    }
    const char *cipher() const noexcept {
        return thrum_tls_cipher(tls_);
    }
    const char *subject() const noexcept {
        return thrum_tls_subject(tls_);
    }
    bool is_resumed() const noexcept {
        return thrum_tls_is_resumed(tls_);
    }
    /* A text that describes its failure; exceptions begin with it, too. */
    std::string error() {
        return reason(tls_).text;
    }
    /* The descriptor, for on_ready for example. The connection keeps it. */
    thrum_io descriptor() const noexcept {
        return thrum_tls_io(tls_);
    }
    thrum_tls *native_handle() const noexcept {
        return tls_;
    }
    /* Gives the C value up: the caller closes it, or a stream over it does. */
    thrum_tls *release() noexcept {
        return std::exchange(tls_, nullptr);
    }

  private:
    /* Why a connection has failed; empty if there is none. */
    struct reason {
        explicit reason(thrum_tls *of) {
            if (of != nullptr) {
                thrum_tls_error(of, text, sizeof(text));
            }
        }
        char text[256] = "";
    };

    void begun(int err) {
        if (err != 0) {
            const reason why(tls_);
            (void)thrum_tls_close(std::exchange(tls_, nullptr), 0);
            raise(err, why.text);
        }
    }
    size_t done(int64_t n) {
        if (n < 0) {
            raise(static_cast<int>(n), reason(tls_).text);
        }
        return static_cast<size_t>(n);
    }
    thrum_tls *tls_ = nullptr;
};

} // namespace THRUM_CPP_ABI
} // namespace thrum

#endif
