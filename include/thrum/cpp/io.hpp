/*
 * thrum/cpp/io.hpp: descriptors, connections and listeners that close themselves.
 */
#ifndef THRUM_CPP_IO_HPP
#define THRUM_CPP_IO_HPP

#include <utility>

#include "thrum/cpp/error.hpp"
#include "thrum/io.h"
#include "thrum/net.h"

namespace thrum {
inline namespace THRUM_CPP_ABI {

/*
 * A descriptor of the library's with one owner, which closes it when it is destroyed or assigned
 * to: both may suspend.
 */
class io {
  public:
    io() noexcept = default;
    /* Takes over the result of a C call. */
    explicit io(thrum_io owned) noexcept : io_(owned) {
    }
    /* Takes over a descriptor (thrum_io_adopt); throws std::system_error. */
    static io adopt(int fd) {
        thrum_io out;
        check(thrum_io_adopt(&out, fd));
        return io(out);
    }
    io(io &&other) noexcept : io_(other.release()) {
    }
    io &operator=(io &&other) noexcept {
        if (this != &other) {
            close();
            io_ = other.release();
        }
        return *this;
    }
    ~io() {
        close();
    }

    explicit operator bool() const noexcept {
        return io_.turn != 0;
    }
    thrum_io native_handle() const noexcept {
        return io_;
    }
    /* Gives the C value up: the caller closes it. */
    thrum_io release() noexcept {
        return std::exchange(io_, thrum_io{-1, 0});
    }
    /* Closes it, if there is one; the system's code for the close is dropped. It may suspend. */
    void close() noexcept {
        if (*this) {
            (void)thrum_io_close(release());
        }
    }

    /* Reads some bytes, 0 at the end; throws std::system_error (thrum_read). It may suspend. */
    size_t read(void *to, size_t size) {
        return static_cast<size_t>(check(thrum_read(io_, to, size)));
    }
    /*
     * Writes all of it, or throws std::system_error (thrum_write): then the other side may have the
     * beginning. It may suspend.
     */
    void write(const void *from, size_t size) {
        const char *at = static_cast<const char *>(from);
        while (size > 0) { /* after a short write the next one has the reason */
            const size_t n = static_cast<size_t>(check(thrum_write(io_, at, size)));
            at += n;
            size -= n;
        }
    }
    /*
     * The C call's result: a count of bytes, or a negative code (thrum_read_until). These six may
     * suspend.
     */
    [[nodiscard]] int64_t read_until(void *to, size_t size, deadline when) noexcept {
        return thrum_read_until(io_, to, size, when.when());
    }
    [[nodiscard]] int64_t write_until(const void *from, size_t size, deadline when) noexcept {
        return thrum_write_until(io_, from, size, when.when());
    }
    /* The C calls of the same names (thrum_try_read). They return -EAGAIN instead of waiting. */
    [[nodiscard]] int64_t try_read(void *to, size_t size) noexcept {
        return thrum_try_read(io_, to, size);
    }
    [[nodiscard]] int64_t try_write(const void *from, size_t size) noexcept {
        return thrum_try_write(io_, from, size);
    }
    status wait_until(unsigned bits, deadline when) noexcept {
        return status(thrum_io_wait(io_, bits, when.when()));
    }
    template <typename Rep, typename Period>
    [[nodiscard]] int64_t read_for(void *to, size_t size,
                                   std::chrono::duration<Rep, Period> length) noexcept {
        return read_until(to, size, after(length));
    }
    template <typename Rep, typename Period>
    [[nodiscard]] int64_t write_for(const void *from, size_t size,
                                    std::chrono::duration<Rep, Period> length) noexcept {
        return write_until(from, size, after(length));
    }
    template <typename Rep, typename Period>
    status wait_for(unsigned bits, std::chrono::duration<Rep, Period> length) noexcept {
        return wait_until(bits, after(length));
    }
    /* Ends one or both directions (thrum_io_shutdown); throws std::system_error. */
    void shutdown(unsigned bits) {
        check(thrum_io_shutdown(io_, bits));
    }

  private:
    thrum_io io_{-1, 0};
};

/*
 * Waits once for a descriptor that the library has not taken over (thrum_fd_wait). The code of the
 * status is the directions in which it is ready. It may suspend.
 */
inline status fd_wait_until(int fd, unsigned bits, deadline when) noexcept {
    return status(thrum_fd_wait(fd, bits, when.when()));
}

/*
 * Connects (thrum_dial); throws std::system_error, past the deadline with ETIMEDOUT. It may
 * suspend.
 */
inline io dial(const char *address, deadline when = deadline::never()) {
    thrum_io out;
    check(thrum_dial(&out, address, when.when()));
    return io(out);
}

/* A listener. It accepts connections, and stops when it is destroyed, which may suspend. */
class listener {
  public:
    /* Listens (thrum_listen); throws std::system_error. */
    explicit listener(const char *address, const thrum_listen_options *options = nullptr) {
        thrum_io out;
        check(thrum_listen(&out, address, options));
        io_ = io(out);
    }
    /* Waits for a connection; throws std::system_error (thrum_accept). It may suspend. */
    io accept() {
        thrum_io out;
        check(thrum_accept(io_.native_handle(), &out));
        return io(out);
    }
    /*
     * If the status is true, the old `out` was closed, and the connection is in `out`. It may
     * suspend.
     */
    status accept_until(io &out, deadline when) noexcept {
        thrum_io got;
        const int err = thrum_accept_until(io_.native_handle(), &got, when.when());
        if (err == 0) {
            out = io(got);
        }
        return status(err);
    }
    /* The same for a connection that is there already; else EAGAIN. It never suspends. */
    status try_accept(io &out) noexcept {
        thrum_io got;
        const int err = thrum_try_accept(io_.native_handle(), &got);
        if (err == 0) {
            out = io(got);
        }
        return status(err);
    }
    template <typename Rep, typename Period>
    status accept_for(io &out, std::chrono::duration<Rep, Period> length) noexcept {
        return accept_until(out, after(length));
    }
    /* It may suspend. */
    void close() noexcept {
        io_.close();
    }
    thrum_io native_handle() const noexcept {
        return io_.native_handle();
    }

  private:
    io io_;
};

} // namespace THRUM_CPP_ABI
} // namespace thrum

#endif
