/*
 * thrum/cpp/poll.hpp: other things to wait for than descriptors, and loops of others. The rules are
 * those of thrum/poll.h.
 *
 *     thrum::source card([&] {
 *         while (device.finished()) {
 *             done.post(); // card may be closed from here on, which waits for this call of `ask`
 *             card.end();
 *         }
 *     });
 *     card.begin();
 *     device.start();
 *     done.wait();
 */
#ifndef THRUM_CPP_POLL_HPP
#define THRUM_CPP_POLL_HPP

#include <memory>
#include <type_traits>
#include <utility>

#include "thrum/cpp/error.hpp"
#include "thrum/poll.h"

namespace thrum {
inline namespace THRUM_CPP_ABI {

/*
 * A poll source and its function, with one owner; it can be moved. The destructor closes it, waits
 * for a call that is under way, and ends the program (std::terminate) while operations are, or in
 * that call.
 */
class source {
  public:
    source() noexcept = default;
    /*
     * `ask` is called in a task as long as operations are under way. An exception of it ends the
     * program. One allocation. Throws std::bad_alloc, and std::system_error: EINVAL without a
     * scheduler, ENOMEM.
     */
    template <typename Fn, typename = std::enable_if_t<std::is_invocable_v<Fn &>>>
    explicit source(Fn ask, thrum_sched *sched = nullptr) {
        auto made = std::make_unique<asking<Fn>>(std::move(ask));
        check(thrum_source_open(&source_, sched, asking<Fn>::main, made.get()));
        ask_ = std::move(made);
    }
    source(source &&other) noexcept
        : source_(std::exchange(other.source_, nullptr)), ask_(std::move(other.ask_)) {
    }
    source &operator=(source &&other) noexcept {
        source taken(std::move(other)); /* at its end it closes the old one */
        std::swap(source_, taken.source_);
        std::swap(ask_, taken.ask_);
        return *this;
    }
    ~source() {
        const int err = source_ ? thrum_source_close(source_) : 0;
        if (err != 0) {
            detail::refused("thrum::~source", err);
        }
    }

    explicit operator bool() const noexcept {
        return source_ != nullptr;
    }
    /* One more operation is under way; throws std::system_error (ESHUTDOWN). They never suspend. */
    void begin() {
        check(thrum_source_begin(source_));
    }
    status try_begin() noexcept {
        return status(thrum_source_begin(source_));
    }
    /*
     * One operation has ended. `ask` may call it before or after it wakes a waiter that closes or
     * destroys the source: both wait for that call of `ask`. If it is called elsewhere, the source
     * must live until it has returned.
     */
    void end() noexcept {
        thrum_source_end(source_);
    }
    /* Closes it; throws std::system_error: EBUSY while operations are under way. It may suspend. */
    void close() {
        check(thrum_source_close(source_));
        source_ = nullptr;
        ask_.reset();
    }
    thrum_source *native_handle() const noexcept {
        return source_;
    }

  private:
    struct asked {
        virtual ~asked() = default;
    };
    template <typename Fn> struct asking final : asked {
        explicit asking(Fn &&from) : fn(std::move(from)) {
        }
        static void main(void *arg) noexcept {
            (void)static_cast<asking *>(arg)->fn();
        }
        Fn fn;
    };

    thrum_source *source_ = nullptr;
    std::unique_ptr<asked> ask_;
};

/* The descriptor that a loop of others waits for (thrum_poll_fd); throws std::system_error. */
inline int poll_fd() {
    return check(thrum_poll_fd());
}
/*
 * Runs everything that can run on this thread, and returns until when the loop may wait
 * (thrum_poll_run).
 */
inline deadline poll_run() {
    thrum_time next;
    check(thrum_poll_run(&next));
    return deadline::at(next);
}

} // namespace THRUM_CPP_ABI
} // namespace thrum

#endif
