/*
 * thrum/cpp/chan.hpp: channels that carry values of a type. thrum/cpp/select.hpp selects over them.
 *
 *     thrum::chan<std::string> lines(16);
 *     thrum::go([&] { lines.send("one"); lines.close(); });
 *     for (std::string &line : lines) { ... }
 *
 * The C channel copies bytes. A value whose bytes may be copied in place of a move is in the
 * channel itself, and sending it allocates nothing. For other values the channel carries a pointer,
 * and each value is allocated once. `thrum::is_relocatable` distinguishes the two.
 */
#ifndef THRUM_CPP_CHAN_HPP
#define THRUM_CPP_CHAN_HPP

#include <cstddef>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "thrum/chan.h"
#include "thrum/cpp/error.hpp"

namespace thrum {
inline namespace THRUM_CPP_ABI {

/*
 * Whether a copy of the bytes, after which the original is forgotten, replaces a move and the
 * destruction of the original. A program may specialize it for types of its own.
 */
template <typename T> struct is_relocatable : std::is_trivially_copyable<T> {};
template <typename T> struct is_relocatable<std::unique_ptr<T>> : std::true_type {};
template <typename T> struct is_relocatable<std::shared_ptr<T>> : std::true_type {};

namespace detail {

/* The element of the channel for a value: its bytes, or a pointer to it. */
template <typename T, bool Inline = is_relocatable<T>::value> class slot {
  public:
    void put(T &&value) {
        ::new (static_cast<void *>(bytes_)) T(std::move(value));
    }
    /* Takes the value out; it is no longer in the slot. */
    template <typename Out> void take(Out &out) {
        struct destroyed {
            T *value;
            ~destroyed() {
                value->~T();
            }
        } inside{std::launder(reinterpret_cast<T *>(bytes_))};
        out = std::move(*inside.value);
    }
    void *bytes() noexcept {
        return bytes_;
    }
    static constexpr size_t size = sizeof(T);

  private:
    alignas(T) unsigned char bytes_[sizeof(T)];
};

template <typename T> class slot<T, false> {
  public:
    void put(T &&value) {
        at_ = new T(std::move(value));
    }
    template <typename Out> void take(Out &out) {
        std::unique_ptr<T> inside(at_);
        out = std::move(*inside);
    }
    void *bytes() noexcept {
        return &at_;
    }
    static constexpr size_t size = sizeof(T *);

  private:
    T *at_ = nullptr;
};

} // namespace detail

/*
 * A channel of values. It belongs to one owner and does not move. Its destructor destroys the
 * values that were not received, and calls std::terminate if a caller still waits. The rules are
 * those of thrum/chan.h. Values are movable, and an assignment takes them out.
 */
template <typename T> class chan {
    using slot = detail::slot<T>;

  public:
    static constexpr size_t unbounded = THRUM_UNBOUNDED;

    /* With capacity 0 a send waits for its receiver. Throws std::system_error (ENOMEM, EINVAL). */
    explicit chan(size_t capacity = 0) {
        check(thrum_chan_create(&chan_, slot::size, capacity));
    }
    chan(const chan &) = delete;
    chan &operator=(const chan &) = delete;
    ~chan() {
        std::optional<T> left;
        while (try_recv(left)) {
        }
        const int err = thrum_chan_destroy(chan_);
        if (err != 0) {
            detail::refused("thrum::~chan", err);
        }
    }

    /*
     * Sends the value. It throws std::system_error (EPIPE when closed, ECANCELED, ENOMEM), and
     * std::bad_alloc if there is no memory for the value. It may suspend.
     */
    void send(T value) {
        check(sent(value, [this](const void *bytes) { return thrum_chan_send(chan_, bytes); }));
    }
    /* If the status is true, `value` was moved from; otherwise it is unchanged. It may suspend. */
    [[nodiscard]] status send_until(T &value, deadline when) {
        return status(sent(value, [&](const void *bytes) {
            return thrum_chan_send_until(chan_, bytes, when.when());
        }));
    }
    template <typename Rep, typename Period>
    [[nodiscard]] status send_for(T &value, std::chrono::duration<Rep, Period> length) {
        return send_until(value, after(length));
    }
    /* The same, and never suspends. */
    [[nodiscard]] status try_send(T &value) {
        return status(
            sent(value, [this](const void *bytes) { return thrum_chan_try_send(chan_, bytes); }));
    }

    /*
     * Receives the oldest value, or none when the channel is closed and empty. It throws
     * std::system_error (ECANCELED). It may suspend.
     */
    std::optional<T> recv() {
        std::optional<T> out;
        const int err =
            received(out, [this](void *bytes) { return thrum_chan_recv(chan_, bytes); });
        if (err != -EPIPE) {
            check(err);
        }
        return out;
    }
    /*
     * If the status is true, the value was assigned to `out`, a T or a std::optional<T>. It may
     * suspend.
     */
    template <typename Out> [[nodiscard]] status recv_until(Out &out, deadline when) {
        return status(received(
            out, [&](void *bytes) { return thrum_chan_recv_until(chan_, bytes, when.when()); }));
    }
    template <typename Out, typename Rep, typename Period>
    [[nodiscard]] status recv_for(Out &out, std::chrono::duration<Rep, Period> length) {
        return recv_until(out, after(length));
    }
    /* The same, and never suspends. */
    template <typename Out> [[nodiscard]] status try_recv(Out &out) {
        return status(
            received(out, [this](void *bytes) { return thrum_chan_try_recv(chan_, bytes); }));
    }

    /* Closes the channel for senders. Returns false if it was closed already. It never suspends. */
    bool close() noexcept {
        return thrum_chan_close(chan_) == 0;
    }
    /* Whether it is closed; values may still be in it. */
    bool is_closed() const noexcept {
        return thrum_chan_is_closed(chan_);
    }
    size_t size() const noexcept {
        return thrum_chan_len(chan_);
    }
    thrum_chan *native_handle() const noexcept {
        return chan_;
    }

    /*
     * Receives until the channel is closed and empty: an input iterator, which has the last value
     * in it. It can be copied only if values can. Then a copy has a value of its own, and receives
     * the next one for itself. `++` throws as recv does, and may suspend.
     */
    class iterator {
        /* The result of `it++`: the previous value. */
        struct previous {
            std::optional<T> value;
            T operator*() {
                return std::move(*value);
            }
        };

      public:
        using iterator_category = std::input_iterator_tag;
        using value_type = T;
        using difference_type = std::ptrdiff_t;
        using pointer = T *;
        using reference = T &;

        iterator() = default;
        explicit iterator(chan *from) : from_(from) {
            ++*this;
        }
        T &operator*() const noexcept {
            return *value_;
        }
        T *operator->() const noexcept {
            return std::addressof(*value_);
        }
        iterator &operator++() {
            value_ = from_->recv();
            if (!value_) {
                from_ = nullptr;
            }
            return *this;
        }
        previous operator++(int) {
            previous before{std::move(value_)};
            ++*this;
            return before;
        }
        /* Both are the end, or both receive from one channel. */
        friend bool operator==(const iterator &one, const iterator &other) noexcept {
            return one.from_ == other.from_;
        }
        friend bool operator!=(const iterator &one, const iterator &other) noexcept {
            return one.from_ != other.from_;
        }

      private:
        chan *from_ = nullptr;
        mutable std::optional<T> value_; /* an iterator that is constant leads to it, too */
    };
    /* The end, if values, and so iterators, only move. */
    class end_mark {
        friend bool operator==(const iterator &at, end_mark) noexcept {
            return at == iterator();
        }
        friend bool operator!=(const iterator &at, end_mark) noexcept {
            return at != iterator();
        }
        friend bool operator==(end_mark, const iterator &at) noexcept {
            return at == iterator();
        }
        friend bool operator!=(end_mark, const iterator &at) noexcept {
            return at != iterator();
        }
    };
    iterator begin() {
        return iterator(this);
    }
    /* An iterator, which algorithms of C++17 ask for, if it can be copied. */
    auto end() {
        if constexpr (std::is_copy_constructible_v<T> && std::is_copy_assignable_v<T>) {
            return iterator();
        } else {
            return end_mark();
        }
    }

  private:
    template <typename Call> static int sent(T &value, Call call) {
        slot inside;
        inside.put(std::move(value));
        const int err = call(inside.bytes());
        if (err != 0) {
            inside.take(value);
        }
        return err;
    }
    template <typename Out, typename Call> static int received(Out &out, Call call) {
        slot inside;
        const int err = call(inside.bytes());
        if (err == 0) {
            inside.take(out);
        }
        return err;
    }

    thrum_chan *chan_ = nullptr;
};

} // namespace THRUM_CPP_ABI
} // namespace thrum

#endif
