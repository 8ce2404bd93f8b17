/*
 * thrum/cpp/watch.hpp: changes of files and directories. The rules are those of thrum/file.h.
 *
 *     thrum::watch changes;
 *     changes.add("/etc", THRUM_WATCH_WRITTEN | THRUM_WATCH_MOVED_TO);
 *     std::puts(changes.next().name);
 */
#ifndef THRUM_CPP_WATCH_HPP
#define THRUM_CPP_WATCH_HPP

#include <memory>
#include <utility>

#include "thrum/cpp/io.hpp"
#include "thrum/file.h"

namespace thrum {
inline namespace THRUM_CPP_ABI {

/*
 * A watch, which reports changes to one task at a time. It has one owner, closes itself, and can be
 * moved. Calls throw std::system_error. Calls whose names begin with `try_` or end in `_until` or
 * `_for` return a status instead.
 */
class watch {
  public:
    /* One allocation, for changes that were read and not yet reported. It never suspends. */
    watch() : buffer_(std::make_unique<thrum_watch_buffer>()) {
        thrum_io out;
        check(thrum_watch_open(&out));
        io_ = io(out);
        thrum_watch_buffer_init(buffer_.get());
    }

    /* Watches a path for THRUM_WATCH_...; returns the watch's number. It may suspend. */
    int add(const char *path, unsigned what, deadline when = deadline::never()) {
        return check(thrum_watch_add(io_.native_handle(), path, what, when.when()));
    }
    status try_remove(int number) noexcept {
        return status(thrum_watch_remove(io_.native_handle(), number));
    }
    /* Waits for the next change; its name is there until the next call. They may suspend. */
    thrum_watch_event next() {
        thrum_watch_event out;
        check(next_until(out, deadline::never()).code());
        return out;
    }
    status next_until(thrum_watch_event &out, deadline when) noexcept {
        return status(thrum_watch_next(io_.native_handle(), buffer_.get(), &out, when.when()));
    }
    template <typename Rep, typename Period>
    status next_for(thrum_watch_event &out, std::chrono::duration<Rep, Period> length) noexcept {
        return next_until(out, after(length));
    }
    /* A descriptor for a select (on_ready), once all changes that were read are reported. */
    thrum_io native_handle() const noexcept {
        return io_.native_handle();
    }

  private:
    io io_;
    std::unique_ptr<thrum_watch_buffer> buffer_;
};

} // namespace THRUM_CPP_ABI
} // namespace thrum

#endif
