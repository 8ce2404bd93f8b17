/*
 * thrum/cpp/select.hpp: one of several sends, receives, closes, events, descriptors, ticks and ends
 * of tasks: the first that can be done (thrum_select).
 *
 *     thrum::select(thrum::on_recv(lines, [&](auto line) { ... }),
 *                   thrum::on_event(end, [&] { ... }));
 */
#ifndef THRUM_CPP_SELECT_HPP
#define THRUM_CPP_SELECT_HPP

#include <tuple>

#include "thrum/cpp/bcast.hpp"
#include "thrum/cpp/chan.hpp"
#include "thrum/cpp/event.hpp"
#include "thrum/cpp/interval.hpp"
#include "thrum/cpp/io.hpp"
#include "thrum/cpp/join_set.hpp"
#include "thrum/cpp/outcome.hpp"

namespace thrum {
inline namespace THRUM_CPP_ABI {

namespace detail {

template <typename T, typename Fn> class recv_case {
  public:
    recv_case(chan<T> &from, Fn fn) : chan_(from.native_handle()), fn_(std::move(fn)) {
    }
    thrum_case begin() noexcept {
        return THRUM_RECV_CASE(chan_, inside_.bytes());
    }
    void happened(int err) {
        std::optional<T> value;
        if (err == 0) {
            inside_.take(value);
        }
        (void)fn_(std::move(value));
    }
    void did_not() noexcept {
    }
    static constexpr const void *moves() noexcept {
        return nullptr;
    }

  private:
    thrum_chan *chan_;
    slot<T> inside_;
    Fn fn_;
};

template <typename T, typename Fn> class send_case {
  public:
    send_case(chan<T> &to, T &value, Fn fn)
        : chan_(to.native_handle()), value_(&value), fn_(std::move(fn)) {
    }
    thrum_case begin() {
        inside_.put(std::move(*value_));
        return THRUM_SEND_CASE(chan_, inside_.bytes());
    }
    void happened(int err) {
        if (err != 0) {
            did_not();
        }
        (void)fn_(status(err));
    }
    void did_not() {
        inside_.take(*value_);
    }
    /* The object that `begin` moves from, and can move only once. */
    const void *moves() const noexcept {
        return std::is_trivially_copyable_v<T> ? nullptr : value_;
    }

  private:
    thrum_chan *chan_;
    T *value_;
    slot<T> inside_;
    Fn fn_;
};

/* The next value of a broadcast channel, or the newest one. */
template <typename Receiver, typename T, typename Fn> class bcast_case {
  public:
    bcast_case(Receiver &from, uint32_t kind, Fn fn)
        : from_(from.native_handle()), kind_(kind), fn_(std::move(fn)) {
    }
    thrum_case begin() noexcept {
        return THRUM_CASE_OF(from_, bytes_, kind_);
    }
    void happened(int err) {
        std::optional<T> value;
        if (err == 0) {
            value = *std::launder(reinterpret_cast<T *>(bytes_));
        }
        (void)fn_(status(err), std::move(value));
    }
    void did_not() noexcept {
    }
    static constexpr const void *moves() noexcept {
        return nullptr;
    }

  private:
    thrum_bcast_receiver *from_;
    uint32_t kind_;
    alignas(T) unsigned char bytes_[sizeof(T)];
    Fn fn_;
};

/*
 * A case whose function has no arguments: an event, a tick, the end of a task, or the next result
 * of a set.
 */
template <typename Fn> class plain_case {
  public:
    plain_case(const thrum_case &what, Fn fn) : case_(what), fn_(std::move(fn)) {
    }
    thrum_case begin() noexcept {
        return case_;
    }
    void happened(int) {
        (void)fn_();
    }
    void did_not() noexcept {
    }
    static constexpr const void *moves() noexcept {
        return nullptr;
    }

  private:
    thrum_case case_;
    Fn fn_;
};

template <typename Fn> class closed_case {
  public:
    closed_case(thrum_chan *of, Fn fn) : chan_(of), fn_(std::move(fn)) {
    }
    thrum_case begin() noexcept {
        return THRUM_CLOSED_CASE(chan_);
    }
    void happened(int) {
        (void)fn_();
    }
    void did_not() noexcept {
    }
    static constexpr const void *moves() noexcept {
        return nullptr;
    }

  private:
    thrum_chan *chan_;
    Fn fn_;
};

template <typename Fn> class ready_case {
  public:
    ready_case(thrum_io io, unsigned bit, Fn fn) : io_(io), bit_(bit), fn_(std::move(fn)) {
    }
    thrum_case begin() noexcept {
        return thrum_io_case(io_, bit_);
    }
    void happened(int err) {
        (void)fn_(status(err));
    }
    void did_not() noexcept {
    }
    static constexpr const void *moves() noexcept {
        return nullptr;
    }

  private:
    thrum_io io_;
    unsigned bit_;
    Fn fn_;
};

/* Whether two cases would move from one object. */
template <typename... Cases> bool move_twice(const Cases &...cases) noexcept {
    const void *const all[] = {cases.moves()...};
    for (size_t i = 1; i < sizeof...(cases); i++) {
        for (size_t k = 0; k < i; k++) {
            if (all[i] && all[i] == all[k]) {
                return true;
            }
        }
    }
    return false;
}

/* The cases that have begun. If a later one throws when it begins, they take back their values. */
template <typename... Cases> class begun_cases {
  public:
    explicit begun_cases(Cases &...cases) noexcept : cases_(cases...) {
    }
    begun_cases(const begun_cases &) = delete;
    begun_cases &operator=(const begun_cases &) = delete;
    ~begun_cases() {
        if (count_ < sizeof...(Cases)) {
            (void)take_back(-1); /* an exception here matters less than the one on its way */
        }
    }
    void begin(thrum_case *out) {
        std::apply([&](Cases &...one) { (((void)(out[count_] = one.begin()), count_++), ...); },
                   cases_);
    }
    /* All but `index`, also past one that throws; keeps the first exception. */
    caught take_back(int index) noexcept {
        caught first;
        int number = 0;
        std::apply(
            [&](Cases &...one) {
                ((take_back_one(one, number != index && number < static_cast<int>(count_), first),
                  number++),
                 ...);
            },
            cases_);
        return first;
    }

  private:
    template <typename Case>
    static void take_back_one(Case &one, bool has_begun, caught &first) noexcept {
        if (has_begun) {
            caught thrown;
            thrown.around([&] { one.did_not(); });
            if (thrown.is_set() && !first.is_set()) {
                first = std::move(thrown);
            }
        }
    }

    std::tuple<Cases &...> cases_;
    size_t count_ = 0;
};

/* thrum_select or thrum_select_ordered over cases. */
template <typename Call, typename... Cases>
status select_by(Call call, deadline when, Cases &...cases) {
    if (move_twice(cases...)) {
        return status(-EINVAL);
    }
    begun_cases<Cases...> begun(cases...);
    thrum_case all[sizeof...(cases)];
    begun.begin(all);
    const int index = call(all, sizeof...(cases), when.when());
    caught lost = begun.take_back(index);
    int number = 0;
    (((void)(number == index ? cases.happened(all[number].status) : (void)0), number++), ...);
    lost.raise_any();
    return status(index);
}

} // namespace detail

/* A case that receives: `fn` gets a std::optional<T>, which is empty if the channel is closed. */
template <typename T, typename Fn> auto on_recv(chan<T> &from, Fn fn) {
    return detail::recv_case<T, Fn>(from, std::move(fn));
}
/* A case that sends `value`, which is unchanged if another case happens; `fn` gets a status. */
template <typename T, typename Fn> auto on_send(chan<T> &to, T &value, Fn fn) {
    return detail::send_case<T, Fn>(to, value, std::move(fn));
}
/*
 * A case that receives the next value of a broadcast channel; on_recv_latest, the newest one. `fn`
 * gets a status (EPIPE: closed, EOVERFLOW: values were missed) and a std::optional<T>.
 */
template <typename Receiver, typename Fn> auto on_recv_next(Receiver &from, Fn fn) {
    using T = typename decltype(from.recv())::value_type;
    return detail::bcast_case<Receiver, T, Fn>(from, THRUM_CASE_BCAST, std::move(fn));
}
template <typename Receiver, typename Fn> auto on_recv_latest(Receiver &from, Fn fn) {
    using T = typename decltype(from.recv())::value_type;
    return detail::bcast_case<Receiver, T, Fn>(from, THRUM_CASE_BCAST_LATEST, std::move(fn));
}
/* A case that happens when the event is signaled, which takes an auto event's signal; `fn()`. */
template <typename Fn> auto on_event(event &when, Fn fn) {
    return detail::plain_case<Fn>(THRUM_EVENT_CASE(when.native_handle()), std::move(fn));
}
template <typename Fn> auto on_event(thrum_event &when, Fn fn) {
    return detail::plain_case<Fn>(THRUM_EVENT_CASE(&when), std::move(fn));
}
/*
 * A case that happens when the task has ended; `fn()` may then join it, which does not wait. If the
 * task was joined or detached, the case never happens. No other call may wait for the task
 * meanwhile.
 */
template <typename T, typename Fn> auto on_end(const task<T> &what, Fn fn) {
    return detail::plain_case<Fn>(THRUM_JOIN_CASE(what.native_handle()), std::move(fn));
}
/* A case that happens when the set has a result; `fn()` may then take it (next) without a wait. */
template <typename T, typename Fn> auto on_next(join_set<T> &from, Fn fn) {
    return detail::plain_case<Fn>(THRUM_NEXT_CASE(from.native_handle()), std::move(fn));
}
/* A case that happens when a tick of the interval is due, and takes it; `fn()`. */
template <typename Fn> auto on_tick(interval &when, Fn fn) {
    return detail::plain_case<Fn>(THRUM_TICK_CASE(when.native_handle()), std::move(fn));
}
/* A case that happens when the channel is closed; `fn()`. Values may still be in it. */
template <typename T, typename Fn> auto on_closed(const chan<T> &what, Fn fn) {
    return detail::closed_case<Fn>(what.native_handle(), std::move(fn));
}
/*
 * A case that happens when the descriptor is ready in that direction, THRUM_IO_READ or
 * THRUM_IO_WRITE; `fn` gets a status, which is false if the descriptor is closed. It takes nothing:
 * give the next call in `fn` a deadline, as for thrum_io_case.
 */
template <typename Fn> auto on_ready(thrum_io what, unsigned bit, Fn fn) {
    return detail::ready_case<Fn>(what, bit, std::move(fn));
}
template <typename Fn> auto on_ready(const io &what, unsigned bit, Fn fn) {
    return thrum::on_ready(what.native_handle(), bit, std::move(fn));
}
/* A case that happens when a connection waits at the listener to be accepted. */
template <typename Fn> auto on_ready(const listener &what, Fn fn) {
    return thrum::on_ready(what.native_handle(), THRUM_IO_READ, std::move(fn));
}

/*
 * Does one of the cases and calls its `fn`, as thrum_select does. The code of the status is the
 * case's number, or the reason for which none happened (timed out, cancelled). It may suspend.
 * Cases that send one and the same object are EINVAL, unless it is trivially copyable. If the move
 * of a value that was not sent throws on its way back, that value is lost. Before the exception
 * leaves, the other values are back, and the case that happened is done.
 */
template <typename... Cases> status select_until(deadline when, Cases &&...cases) {
    return detail::select_by(thrum_select, when, cases...);
}
/* The same, but the first case that can be done is preferred (thrum_select_ordered). */
template <typename... Cases> status select_ordered_until(deadline when, Cases &&...cases) {
    return detail::select_by(thrum_select_ordered, when, cases...);
}
template <typename Rep, typename Period, typename... Cases>
status select_for(std::chrono::duration<Rep, Period> length, Cases &&...cases) {
    return thrum::select_until(after(length), std::forward<Cases>(cases)...);
}
/* Does the same without a deadline; throws std::system_error (ECANCELED). */
template <typename... Cases> int select(Cases &&...cases) {
    return check(thrum::select_until(deadline::never(), std::forward<Cases>(cases)...).code());
}
template <typename... Cases> int select_ordered(Cases &&...cases) {
    return check(
        thrum::select_ordered_until(deadline::never(), std::forward<Cases>(cases)...).code());
}

} // namespace THRUM_CPP_ABI
} // namespace thrum

#endif
