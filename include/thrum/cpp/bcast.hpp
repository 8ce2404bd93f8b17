/*
 * thrum/cpp/bcast.hpp: broadcast and watch channels that carry values of a type.
 * thrum/cpp/select.hpp selects over their receivers.
 *
 *     thrum::bcast<int> temperatures(16);
 *     auto receiver = temperatures.subscribe();
 *     temperatures.send(21);
 *     std::optional<int> now = receiver.recv();
 */
#ifndef THRUM_CPP_BCAST_HPP
#define THRUM_CPP_BCAST_HPP

#include <cstddef>
#include <new>
#include <optional>
#include <type_traits>

#include "thrum/bcast.h"
#include "thrum/cpp/error.hpp"

namespace thrum {
inline namespace THRUM_CPP_ABI {

/*
 * A broadcast channel. It belongs to one owner and does not move; its receivers must not be used
 * after it. Its destructor calls std::terminate if a caller still waits. Every receiver gets a copy
 * of the bytes of a value, so values are trivially copyable. The rules are those of thrum/bcast.h.
 */
template <typename T> class bcast {
    static_assert(std::is_trivially_copyable_v<T>, "each receiver gets a copy of the bytes");

  public:
    /* A position in the channel. A copy of it is another receiver at the same position. */
    class receiver {
      public:
        explicit receiver(bcast &from) noexcept {
            thrum_bcast_subscribe(from.bcast_, &inside_);
        }
        /*
         * Receives the next value, or none when the channel is closed and all were received. It
         * throws std::system_error (EOVERFLOW when values were missed, ECANCELED). It may suspend.
         */
        std::optional<T> recv() {
            return or_none([this](void *to) { return thrum_bcast_recv(&inside_, to); });
        }
        /* If the status is true, the value was assigned to `out`. It may suspend. */
        template <typename Out> [[nodiscard]] status recv_until(Out &out, deadline when) {
            return assigned(
                out, [&](void *to) { return thrum_bcast_recv_until(&inside_, to, when.when()); });
        }
        /* The same, and never suspends. */
        template <typename Out> [[nodiscard]] status try_recv(Out &out) {
            return assigned(out, [this](void *to) { return thrum_bcast_try_recv(&inside_, to); });
        }
        /* How many values were missed at the last EOVERFLOW. */
        uint64_t missed() const noexcept {
            return thrum_bcast_missed(&inside_);
        }
        /*
         * The three receive calls for the newest value, if this receiver has not received it or a
         * newer one. They never report EOVERFLOW.
         */
        std::optional<T> recv_latest() {
            return or_none([this](void *to) { return thrum_bcast_recv_latest(&inside_, to); });
        }
        template <typename Out> [[nodiscard]] status recv_latest_until(Out &out, deadline when) {
            return assigned(out, [&](void *to) {
                return thrum_bcast_recv_latest_until(&inside_, to, when.when());
            });
        }
        template <typename Out> [[nodiscard]] status try_recv_latest(Out &out) {
            return assigned(out,
                            [this](void *to) { return thrum_bcast_try_recv_latest(&inside_, to); });
        }
        thrum_bcast_receiver *native_handle() noexcept {
            return &inside_;
        }

      private:
        template <typename Out, typename Call> static status assigned(Out &out, Call call) {
            alignas(T) unsigned char bytes[sizeof(T)];
            const int err = call(bytes);
            if (err == 0) {
                out = *std::launder(reinterpret_cast<T *>(bytes));
            }
            return status(err);
        }
        template <typename Call> static std::optional<T> or_none(Call call) {
            std::optional<T> out;
            const int err = assigned(out, call).code();
            if (err != -EPIPE) {
                check(err);
            }
            return out;
        }

        thrum_bcast_receiver inside_;
    };

    /* It keeps at least `capacity` values. Throws std::system_error (ENOMEM, EINVAL). */
    explicit bcast(size_t capacity = 1) {
        check(thrum_bcast_create(&bcast_, sizeof(T), capacity));
    }
    bcast(const bcast &) = delete;
    bcast &operator=(const bcast &) = delete;
    ~bcast() {
        const int err = thrum_bcast_destroy(bcast_);
        if (err != 0) {
            detail::refused("thrum::~bcast", err);
        }
    }

    /* A receiver of the values that are sent from now on. */
    receiver subscribe() noexcept {
        return receiver(*this);
    }
    /* Sends to all receivers; throws std::system_error (EPIPE when closed). It never suspends. */
    void send(const T &value) {
        check(thrum_bcast_send(bcast_, &value));
    }
    /* The newest value, or none if nothing was sent yet. It never suspends. */
    std::optional<T> peek() const {
        alignas(T) unsigned char bytes[sizeof(T)];
        if (thrum_bcast_peek(bcast_, bytes) != 0) {
            return std::nullopt;
        }
        return *std::launder(reinterpret_cast<T *>(bytes));
    }
    /* Closes the channel. Returns false if it was closed already. It never suspends. */
    bool close() noexcept {
        return thrum_bcast_close(bcast_) == 0;
    }
    thrum_bcast *native_handle() const noexcept {
        return bcast_;
    }

  private:
    thrum_bcast *bcast_ = nullptr;
};

} // namespace THRUM_CPP_ABI
} // namespace thrum

#endif
