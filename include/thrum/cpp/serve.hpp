/*
 * thrum/cpp/serve.hpp: a server: a task for each connection, until the server is stopped. The rules
 * are those of thrum/serve.h.
 *
 *     thrum::serve(listener, [](thrum::io peer) {
 *         char bytes[4096];
 *         while (size_t n = thrum::serve_read(peer, bytes, sizeof bytes, thrum::after(60s))) {
 *             peer.write(bytes, n);
 *         }
 *     });
 */
#ifndef THRUM_CPP_SERVE_HPP
#define THRUM_CPP_SERVE_HPP

#include "thrum/cpp/io.hpp"
#include "thrum/cpp/outcome.hpp"
#include "thrum/serve.h"

namespace thrum {
inline namespace THRUM_CPP_ABI {

/*
 * Accepts connections and calls `connection(io)` for each, in a task of its own, which closes it at
 * its end; several tasks call it at the same time. A std::system_error that leaves it ends that
 * connection only, as an error of its peer does; any other exception ends the program
 * (std::terminate). The status is that of thrum_serve: true when all connections have ended by
 * themselves. It may suspend, and allocates nothing of its own.
 */
template <typename Fn>
status try_serve(const listener &on, Fn &&connection,
                 const thrum_serve_options *options = nullptr) noexcept {
    static_assert(!detail::is_co<std::invoke_result_t<Fn &, io>>::value,
                  "thrum::serve: the co that connection returns would not begin; "
                  "thrum::sync_wait in it, or a spawn");
    struct serving {
        std::remove_reference_t<Fn> *fn;
        static int connected(thrum_io accepted, void *arg) noexcept {
            auto &fn = *static_cast<serving *>(arg)->fn;
#if THRUM_CPP_EXCEPTIONS
            try {
                (void)fn(io(accepted));
            } catch (const std::system_error &) {
            }
#else
            (void)fn(io(accepted));
#endif
            return 0;
        }
    } all{std::addressof(connection)};
    return status(thrum_serve(on.native_handle(), serving::connected, &all, options));
}
/* Does the same, and throws std::system_error: ETIMEDOUT if some had to be cancelled. */
template <typename Fn>
void serve(const listener &on, Fn &&connection, const thrum_serve_options *options = nullptr) {
    check(thrum::try_serve(on, std::forward<Fn>(connection), options).code());
}

/*
 * Waits until the next request of a connection begins, and reads the bytes that have come
 * (thrum_serve_read). It returns 0 at the end, and when the server drains, and throws
 * std::system_error. It may suspend.
 */
inline size_t serve_read(io &connection, void *to, size_t size, deadline when = deadline::never()) {
    const int64_t n = thrum_serve_read(connection.native_handle(), to, size, when.when());
    return n == -ESHUTDOWN ? 0 : static_cast<size_t>(check(n));
}
/* Waits for the next request only; the code is ESHUTDOWN when the server drains. It may suspend. */
inline status serve_idle(const io &connection, deadline when = deadline::never()) noexcept {
    return status(thrum_serve_idle(connection.native_handle(), when.when()));
}

} // namespace THRUM_CPP_ABI
} // namespace thrum

#endif
