/*
 * thrum/cpp/process.hpp: processes that are started, waited for and ended. The rules are those of
 * thrum/process.h.
 *
 *     const char *const argv[] = {"sort", "-n", nullptr};
 *     thrum::process_output sorted = thrum::run_process(argv, text, thrum::after(5s));
 *
 * Calls throw std::system_error. Calls whose names end in `_until` or begin with `try_` return a
 * status instead. All may suspend, unless their comments state otherwise.
 */
#ifndef THRUM_CPP_PROCESS_HPP
#define THRUM_CPP_PROCESS_HPP

#include <string_view>

#include "thrum/cpp/io.hpp"
#include "thrum/process.h"

namespace thrum {
inline namespace THRUM_CPP_ABI {

/*
 * A process that was started, and its handle with one owner, which can be moved. The destructor
 * gives the handle up: the process lives on, unless it was started with THRUM_PROCESS_KILL.
 */
class process {
  public:
    process() noexcept = default;
    /* Starts it (thrum_process_start). Pipes of the options are the caller's to close. */
    explicit process(const char *const argv[], const thrum_process_options *options = nullptr) {
        check(thrum_process_start(&process_, argv, options));
    }
    process(process &&other) noexcept : process_(std::exchange(other.process_, nullptr)) {
    }
    process &operator=(process &&other) noexcept {
        if (this != &other) {
            close();
            process_ = std::exchange(other.process_, nullptr);
        }
        return *this;
    }
    ~process() {
        close();
    }

    explicit operator bool() const noexcept {
        return process_ != nullptr;
    }
    /* Waits for its end, and returns how it ended. It may be called more than once. */
    thrum_process_status wait() {
        thrum_process_status how;
        check(thrum_process_wait(process_, &how, THRUM_FOREVER));
        return how;
    }
    /* `out` is set if the status is true. */
    status wait_until(thrum_process_status &out, deadline when) noexcept {
        return status(thrum_process_wait(process_, &out, when.when()));
    }
    template <typename Rep, typename Period>
    status wait_for(thrum_process_status &out, std::chrono::duration<Rep, Period> length) noexcept {
        return wait_until(out, after(length));
    }
    /* Sends a signal to it, or to its group. They never suspend. */
    void kill(int signal) {
        check(thrum_process_kill(process_, signal));
    }
    status try_kill(int signal) noexcept {
        return status(thrum_process_kill(process_, signal));
    }
    void kill_group(int signal) {
        check(thrum_process_kill_group(process_, signal));
    }
    int pid() const {
        return check(thrum_process_pid(process_));
    }
    /*
     * A descriptor for `on_ready`, which is ready to be read once the process has ended. The
     * process keeps it.
     */
    thrum_io ended() const noexcept {
        return thrum_process_io(process_);
    }
    void close() noexcept {
        if (process_) {
            (void)thrum_process_close(std::exchange(process_, nullptr));
        }
    }
    thrum_process *native_handle() const noexcept {
        return process_;
    }

  private:
    thrum_process *process_ = nullptr;
};

/* The output and the end of a process that was run. It can be moved, and owns the texts. */
class process_output {
  public:
    process_output() noexcept = default;
    process_output(process_output &&other) noexcept
        : output_(std::exchange(other.output_, thrum_process_output{})) {
    }
    process_output &operator=(process_output &&other) noexcept {
        if (this != &other) {
            thrum_process_output_free(&output_);
            output_ = std::exchange(other.output_, thrum_process_output{});
        }
        return *this;
    }
    ~process_output() {
        thrum_process_output_free(&output_);
    }

    /* How it ended: its exit status, or -1 and the signal. */
    int code() const noexcept {
        return output_.status.code;
    }
    int signal() const noexcept {
        return output_.status.signal;
    }
    /* The part of its output and of its errors that is kept; the rest is that of the C struct. */
    std::string_view out() const noexcept {
        return std::string_view(output_.out ? output_.out : "", output_.out_size);
    }
    std::string_view error() const noexcept {
        return std::string_view(output_.error ? output_.error : "", output_.error_size);
    }
    thrum_process_output *native_handle() noexcept {
        return &output_;
    }

  private:
    thrum_process_output output_ = {};
};

/*
 * Runs a process to its end (thrum_process_run), with `input` as its standard input. `output` gets
 * the bytes that it wrote and how it ended. It gets these also if the status is an error because
 * the process was killed: at the deadline, or when the caller was cancelled.
 */
inline status run_process_until(process_output &output, const char *const argv[],
                                std::string_view input, deadline when,
                                const thrum_process_options *options = nullptr) noexcept {
    output = process_output();
    return status(thrum_process_run(argv, options, input.data(), input.size(),
                                    output.native_handle(), when.when()));
}
/* Does the same, and throws std::system_error: past the deadline with ETIMEDOUT. */
inline process_output run_process(const char *const argv[], std::string_view input = {},
                                  deadline when = deadline::never(),
                                  const thrum_process_options *options = nullptr) {
    process_output output;
    check(run_process_until(output, argv, input, when, options).code());
    return output;
}

} // namespace THRUM_CPP_ABI
} // namespace thrum

#endif
