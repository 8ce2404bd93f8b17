// boost_timers.hh: Boost.Asio's timers, by themselves: an io_context of one thread, without locks.
// What is cancelled calls its handler with an error; that is part of setting a timer anew.
#ifndef BENCH_PEERS_BOOST_TIMERS_HH
#define BENCH_PEERS_BOOST_TIMERS_HH

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <vector>

#include "peer.h"

namespace asio = boost::asio;

struct asio_timers {
    asio::io_context context{BOOST_ASIO_CONCURRENCY_HINT_UNSAFE};
    // They come due a minute later than in thrum-bench, so that none does while it is measured.
    std::chrono::steady_clock::time_point begin =
        std::chrono::steady_clock::now() + std::chrono::minutes(1);
    std::vector<asio::steady_timer> each;
    uint64_t dice = 88172645463325252u;
    uint64_t pending = 0;   // timers that were pending when set anew or cancelled
    uint64_t cancelled = 0; // handlers that were told so
    unsigned renewed = 0;
    bool cold;
    peer_span span;

    explicit asio_timers(bool cold) : cold(cold) {
    }

    uint64_t any_number() {
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        return dice >> 11;
    }

    std::chrono::steady_clock::time_point any_deadline() {
        return begin + std::chrono::nanoseconds(any_number() % 10000000000u);
    }

    void wait_for(asio::steady_timer &timer) {
        timer.async_wait([this](const boost::system::error_code &error) {
            peer_check(error == asio::error::operation_aborted, "a timer came");
            cancelled++;
        });
    }

    // Sets some of them, then runs the handlers of those that were cancelled: as the context's own
    // work, so that it takes the handlers' memory from what it keeps.
    void renew(unsigned end) {
        const unsigned n = (unsigned)each.size();
        for (unsigned i = 0; i < 64 && renewed < end; i++, renewed++) {
            if (renewed == n / 10) {
                span = peer_begin();
            }
            asio::steady_timer &timer = each[cold ? any_number() % n : renewed % n];
            pending += timer.expires_at(any_deadline());
            wait_for(timer);
        }
        if (renewed < end) {
            asio::post(context, [this, end] { renew(end); });
        }
    }

    void run(const char *name) {
        const unsigned n = peer_scale(1000000, 10000), end = n + n / 10;
        each.reserve(n);
        for (unsigned i = 0; i < n; i++) {
            each.emplace_back(context, any_deadline());
            wait_for(each[i]);
        }
        asio::post(context, [this, end] { renew(end); });
        context.poll();
        peer_end(&span);
        peer_check(pending == end && cancelled == end, "a timer was not pending");
        for (asio::steady_timer &timer : each) {
            peer_check(timer.cancel() == 1, "a timer is not pending");
        }
        context.poll();
        peer_check(cancelled == end + n, "a handler was not called");
        peer_row_per_op(name, &span, n);
    }
};

static void timers() {
    asio_timers(false).run("timers");
}
static void timers_cold() {
    asio_timers(true).run("timers-cold");
}

#endif
