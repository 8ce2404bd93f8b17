/*
 * marl/waitgroup.h: a count of things to be done. Copies are one and the same waitgroup, so tasks
 * take it by value.
 */
#ifndef THRUM_COMPAT_MARL_WAITGROUP_H
#define THRUM_COMPAT_MARL_WAITGROUP_H

#include "conditionvariable.h"
#include "debug.h"

#include <atomic>
#include <memory>

namespace marl {

class WaitGroup {
  public:
    WaitGroup(unsigned int initialCount = 0, Allocator *allocator = Allocator::Default)
        : data(allocator->make_shared<Data>(initialCount)) {
    }

    void add(unsigned int count = 1) const {
        data->count += count;
        thrum_waitgroup_add(&data->group, static_cast<int>(count));
    }

    /* Returns whether the count is 0 now. */
    bool done() const {
        MARL_ASSERT(data->count > 0, "marl::WaitGroup::done() called too many times")
        const bool last = --data->count == 0;
        thrum_waitgroup_done(&data->group);
        return last;
    }

    /* Waits until the count is 0. */
    void wait() const {
        thrum_waitgroup *group = &data->group;
        (void)detail::wait_uncancelled("marl::WaitGroup::wait",
                                       [group] { return thrum_waitgroup_wait(group); });
    }

  private:
    struct Data {
        Data(unsigned int n) : count(n) {
            thrum_waitgroup_init(&group, n);
        }
        std::atomic<unsigned int> count; /* of the group, for the result of done() */
        thrum_waitgroup group;
    };

    const std::shared_ptr<Data> data;
};

} // namespace marl

#endif
