/*
 * cpp_config.cpp: how a scheduler is set up. The config begins with the defaults and what the
 * environment says; what the program sets afterwards wins, and each field is checked at the start.
 */
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thrum/thrum.hpp>

/* The defaults, the environment, then what this program wants. */
static thrum_config bakery(std::atomic<int> &workers) {
    thrum_config config;
    thrum_config_init(&config);
    config.name = "bakery"; /* names the threads: see `top -H` */
    config.stack_size = 64 * 1024;
    config.hook_ctx = &workers;
    config.workers_spare = 0; /* worker_start would also be called for a spare */
    config.worker_start = [](void *ctx, int) {
        static_cast<std::atomic<int> *>(ctx)->fetch_add(1);
    };
    return config;
}

int main() {
#if !defined(_WIN32)
    setenv("THRUM_WORKERS", "2", 1); /* the user usually sets it */
#endif
    std::atomic<int> started{0};
    thrum_config config = bakery(started);

    /* thrum::run takes one; so does a scheduler, which stops at the end of its block. */
    const int loaves = thrum::run(&config, [] { return 12; });
    const int first = started.exchange(0);
    int workers = 0;
    {
        thrum::scheduler background(&config);
        workers = static_cast<int>(background.parallelism());
        thrum::spawn(thrum::attr().sched(background).stack_size(256 * 1024), [] {}).join();
    }
    std::printf("%d loaves; %d workers came, then %d\n", loaves, first, started.load());

    /* What makes no sense is refused, and thrum_config_check says which field it is. */
    config.workers = THRUM_WORKERS_MAX + 1;
    char why[100];
    try {
        thrum::scheduler refused(&config);
        return 1;
    } catch (const std::system_error &error) {
        if (error.code() != std::errc::invalid_argument ||
            thrum_config_check(&config, why, sizeof(why)) != -EINVAL) {
            return 1;
        }
    }
    std::printf("refused: %s\n", why);
    return loaves == 12 && first == workers && started == workers ? 0 : 1;
}
