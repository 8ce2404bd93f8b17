/*
 * thrum/cpp/stream.hpp: buffered streams: lines, an exact number of bytes, a look ahead. The rules
 * are those of thrum/stream.h.
 *
 *     thrum::stream talk(thrum::dial("tcp:localhost:25"));
 *     std::string line;
 *     while (talk.read_line(line)) {
 *         talk.write("ok\n");
 *     }
 *
 * Calls without a deadline throw std::system_error. Calls whose names end in `_until` return the C
 * call's result, a count or a negative code. All may suspend, unless their comments state
 * otherwise.
 */
#ifndef THRUM_CPP_STREAM_HPP
#define THRUM_CPP_STREAM_HPP

#include <string>
#include <string_view>

#include "thrum/cpp/io.hpp"
#include "thrum/stream.h"

namespace thrum {
inline namespace THRUM_CPP_ABI {

/* A stream. It is part of its owner's frame and does not move. */
class stream {
  public:
    /*
     * Takes over the descriptor, unless the options have `keep_io`: then it stays the caller's, and
     * must be open until the close. Throws std::system_error (EINVAL, ENOMEM). It never suspends.
     */
    explicit stream(io &&over, const thrum_stream_options *options = nullptr) {
        check(thrum_stream_open(&stream_, over.native_handle(), options));
        if (!options || !options->keep_io) {
            (void)over.release(); /* it is the stream's */
        }
    }
    /*
     * Opens a stream over calls. They and their `ctx` must live until the close
     * (thrum_stream_open_over).
     */
    stream(const thrum_stream_calls &calls, void *ctx,
           const thrum_stream_options *options = nullptr) {
        check(thrum_stream_open_over(&stream_, &calls, ctx, options));
    }
    stream(const stream &) = delete;
    stream &operator=(const stream &) = delete;
    /* Flushes and closes. Errors are dropped: to get them, call `close`. */
    ~stream() {
        (void)thrum_stream_close(&stream_);
    }

    /* Flushes and closes; throws std::system_error if something could not be written. */
    void close() {
        check(close_until(deadline::never()).code());
    }
    status close_until(deadline when) noexcept {
        return status(thrum_stream_close_until(&stream_, when.when()));
    }

    /* Reads the bytes that have come, at least one; 0 at the end. */
    size_t read(void *to, size_t size) {
        return count(thrum_stream_read(&stream_, to, size));
    }
    [[nodiscard]] int64_t read_until(void *to, size_t size, deadline when) noexcept {
        return thrum_stream_read_until(&stream_, to, size, when.when());
    }
    /* Reads exactly so many bytes; fewer only if the end comes after them. */
    size_t read_full(void *to, size_t size) {
        return count(thrum_stream_read_full(&stream_, to, size));
    }
    [[nodiscard]] int64_t read_full_until(void *to, size_t size, deadline when) noexcept {
        return thrum_stream_read_full_until(&stream_, to, size, when.when());
    }
    /*
     * Reads a line into the text, without the end of line, and returns whether there was one. A
     * line longer than `most` bytes throws EMSGSIZE, and is not taken.
     */
    bool read_line(std::string &line, size_t most = 1 << 20) {
        const int64_t n = read_line_until(line, deadline::never(), most);
        return n != -ENODATA && check(n) >= 0;
    }
    /* The line's length, -ENODATA at the end, -EMSGSIZE, or another code; std::bad_alloc. */
    [[nodiscard]] int64_t read_line_until(std::string &line, deadline when, size_t most = 1 << 20) {
        /* As long as the line before: all of the room is written, so it is not the capacity. */
        size_t room = line.size() < 80 ? 80 : line.size();
        for (;;) {
            room = room < most ? room : most;
            line.resize(room + 1);
            const int64_t n =
                thrum_stream_read_line_until(&stream_, &line[0], room + 1, when.when());
            line.resize(n > 0 ? static_cast<size_t>(n) : 0);
            if (n != -EMSGSIZE || room == most) {
                return n;
            }
            room = room > most / 2 ? most : 2 * room;
        }
    }
    /* Reads up to the byte, and that too, as thrum_stream_read_delim; 0 at the end. */
    size_t read_delim(int delimiter, void *to, size_t size) {
        return count(thrum_stream_read_delim(&stream_, delimiter, to, size));
    }
    /* The next bytes, at least n unless the end comes; valid until the next read. */
    std::string_view peek(size_t n) {
        const void *at = nullptr;
        const size_t there = count(thrum_stream_peek(&stream_, n, &at));
        return std::string_view(static_cast<const char *>(at), there);
    }
    /* Drops n bytes; fewer only if the end comes. */
    uint64_t skip(uint64_t n) {
        return static_cast<uint64_t>(check(thrum_stream_skip(&stream_, n)));
    }
    /* Puts bytes back. They are read next. */
    void unread(std::string_view bytes) {
        check(thrum_stream_unread(&stream_, bytes.data(), bytes.size()));
    }

    /* Writes all of it to the buffer. If it throws, some of it may be there. */
    void write(std::string_view bytes) {
        while (!bytes.empty()) { /* after a short write the next one has the reason */
            bytes.remove_prefix(count(thrum_stream_write(&stream_, bytes.data(), bytes.size())));
        }
    }
    [[nodiscard]] int64_t write_until(std::string_view bytes, deadline when) noexcept {
        return thrum_stream_write_until(&stream_, bytes.data(), bytes.size(), when.when());
    }
    void flush() {
        check(thrum_stream_flush(&stream_));
    }
    status flush_until(deadline when) noexcept {
        return status(thrum_stream_flush_until(&stream_, when.when()));
    }
    /* The error of writing that sticks, or success. It never suspends. */
    status error() const noexcept {
        return status(thrum_stream_error(&stream_));
    }
    thrum_stream *native_handle() noexcept {
        return &stream_;
    }

  private:
    static size_t count(int64_t n) {
        return static_cast<size_t>(check(n));
    }

    thrum_stream stream_;
};

} // namespace THRUM_CPP_ABI
} // namespace thrum

#endif
