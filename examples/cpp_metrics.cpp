/*
 * cpp_metrics.cpp: looking inside from C++: what the scheduler counts, and a dump of what waits.
 */
#include <cstdio>
#include <thrum/thrum.hpp>

int main() {
    return thrum::run([] {
        thrum::event gate(THRUM_EVENT_MANUAL);
        auto waiter = thrum::spawn(thrum::attr().name("the one that waits"), [&] { gate.wait(); });
        thrum::yield();
        thrum_sched *here = thrum_sched_current();
        thrum::check(thrum_dump(here, stdout, THRUM_TEXT)); /* it names the waiter */
        gate.signal();
        waiter.join();
        thrum::check(thrum_metrics_print(here, stdout, THRUM_TEXT));
        return 0;
    });
}
