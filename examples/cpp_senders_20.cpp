/*
 * cpp_senders_20.cpp: senders in the shape of std::execution: work that begins later, that a stop
 * token ends early, and a loop on all workers. A library of std::execution would bring the
 * receiver, and adaptors such as then; here the program writes its own.
 */
#include <atomic>
#include <cstdio>
#include <thrum/cpp/execution.hpp>
#include <thrum/thrum.hpp>

#if defined(__cpp_lib_jthread)
using namespace std::chrono_literals;
namespace execution = thrum::execution;

/* Remembers how an operation ended; main waits for that. */
struct receiver {
    const char **ended;
    thrum::event *over;
    std::stop_token token{};

    void set_value() noexcept {
        end("value");
    }
    void set_stopped() noexcept {
        end("stopped");
    }
    void set_error(std::exception_ptr) noexcept {
        end("error");
    }
    void end(const char *how) noexcept {
        *ended = how;
        over->signal();
    }
    /* A receiver that can be stopped has an environment, which knows the token. */
    struct env {
        std::stop_token token;
        std::stop_token query(execution::words::get_stop_token_t) const noexcept {
            return token;
        }
    };
    env get_env() const noexcept {
        return {token};
    }
};

int main() {
    thrum::scheduler background("senders", 2);
    const execution::scheduler on(background);
    const char *ended[3];
    thrum::event over(THRUM_EVENT_AUTO);

    auto soon = on.schedule_after(1ms).connect(receiver{&ended[0], &over});
    soon.start();
    over.wait();

    std::stop_source source;
    auto never = on.schedule_after(24h).connect(receiver{&ended[1], &over, source.get_token()});
    never.start();
    source.request_stop(); /* at any time, from any thread */
    over.wait();

    std::atomic<int> calls{0};
    auto loop = on.bulk(1000, [&](size_t) { calls++; }).connect(receiver{&ended[2], &over});
    loop.start();
    over.wait();

    std::printf("%s, %s, %s of %d calls\n", ended[0], ended[1], ended[2], calls.load());
    return calls == 1000 ? 0 : 1;
}
#else
int main() {
}
#endif
