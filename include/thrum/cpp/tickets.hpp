/*
 * thrum/cpp/tickets.hpp: tickets, which are served in the order in which they were taken. The rules
 * are those of thrum/tickets.h.
 *
 *     thrum::tickets order;
 *     for (block &one : blocks) {
 *         order.go([&] { write(one); });       // one after the other, in this order
 *     }
 *     thrum::ticket last(order);
 *     last.wait();
 */
#ifndef THRUM_CPP_TICKETS_HPP
#define THRUM_CPP_TICKETS_HPP

#include <memory>
#include <optional>
#include <utility>

#include "thrum/cpp/error.hpp"
#include "thrum/tickets.h"

namespace thrum {
inline namespace THRUM_CPP_ABI {

/*
 * An order. It neither moves nor is copied. Its destructor calls std::terminate if a ticket is not
 * done.
 */
class tickets {
  public:
    constexpr tickets() noexcept : tickets_(THRUM_TICKETS_INIT) {
    }
    tickets(const tickets &) = delete;
    tickets &operator=(const tickets &) = delete;
    ~tickets() {
        const int err = thrum_tickets_destroy(&tickets_);
        if (err != 0) {
            detail::refused("thrum::~tickets", err);
        }
    }

    /*
     * Takes a ticket now, and has a task call `fn` when the ticket is served. The ticket is done
     * when `fn` has returned and is destroyed. Callable and ticket are one allocation. An exception
     * that leaves `fn` ends the program, as that of a detached task. The callers and the codes of
     * std::system_error are those of thrum_ticket_on_call. It never suspends.
     */
    template <typename Fn> void go(Fn &&fn) {
        using state = turn<std::decay_t<Fn>>;
        auto one = std::make_unique<state>(std::forward<Fn>(fn));
        thrum_tickets_take(&tickets_, &one->ticket);
        const int err = thrum_ticket_on_call(&one->ticket, state::main, one.get());
        if (err != 0) {
            thrum_ticket_done(&one->ticket);
            raise(err);
        }
        (void)one.release(); /* it is the task's */
    }
    thrum_tickets *native_handle() noexcept {
        return &tickets_;
    }

  private:
    template <typename Fn> struct turn {
        template <typename From> explicit turn(From &&from) : fn(std::forward<From>(from)) {
        }
        static int main(void *arg) noexcept {
            std::unique_ptr<turn> self(static_cast<turn *>(arg));
            (void)std::move (*self->fn)();
            self->fn.reset(); /* the next ticket may use its captures */
            thrum_ticket_done(&self->ticket);
            return 0;
        }
        thrum_ticket ticket;
        std::optional<Fn> fn;
    };

    thrum_tickets tickets_;
};

/*
 * A ticket, from its constructor, which takes it, to its destructor or `done`: one that is done
 * before its turn is dropped. It is part of the caller's frame and does not move.
 */
class [[nodiscard]] ticket {
  public:
    [[nodiscard]] explicit ticket(tickets &of) noexcept {
        thrum_tickets_take(of.native_handle(), &ticket_);
    }
    ticket(const ticket &) = delete;
    ticket &operator=(const ticket &) = delete;
    ~ticket() {
        done();
    }

    /* Throws std::system_error: ECANCELED; EINVAL after `done`. It may suspend. */
    void wait() {
        check(taken_ ? thrum_ticket_wait(&ticket_) : -EINVAL);
    }
    /* These two may suspend. */
    status wait_until(deadline when) noexcept {
        return status(taken_ ? thrum_ticket_wait_until(&ticket_, when.when()) : -EINVAL);
    }
    template <typename Rep, typename Period>
    status wait_for(std::chrono::duration<Rep, Period> length) noexcept {
        return wait_until(after(length));
    }
    /* Whether its turn has come. */
    bool is_called() const noexcept {
        return taken_ && thrum_ticket_is_called(&ticket_);
    }
    /* Ends it; a second call does nothing. It never suspends. */
    void done() noexcept {
        if (taken_) {
            taken_ = false;
            thrum_ticket_done(&ticket_);
        }
    }
    thrum_ticket *native_handle() noexcept {
        return &ticket_;
    }

  private:
    thrum_ticket ticket_;
    bool taken_ = true;
};

} // namespace THRUM_CPP_ABI
} // namespace thrum

#endif
