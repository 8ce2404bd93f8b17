/*
 * marl/task.h: a function to be scheduled, with flags. It can be moved, not copied.
 */
#ifndef THRUM_COMPAT_MARL_TASK_H
#define THRUM_COMPAT_MARL_TASK_H

#include "export.h"
#include "move_only_function.h"

#include <functional>
#include <utility>

namespace marl {

class Task {
  public:
    using Function = move_only_function<void()>;

    enum class Flags {
        None = 0,
        SameThread = 1 /* it runs on the thread that schedules it */
    };

    Task() = default;
    Task(Task &&) = default;
    Task(Function &&f, Flags with = Flags::None) : function(std::move(f)), flags(with) {
    }

    Task &operator=(Task &&) = default;
    Task &operator=(Function &&f) {
        function = std::move(f);
        flags = Flags::None;
        return *this;
    }

    /* Whether there is a function. */
    operator bool() const {
        return static_cast<bool>(function);
    }

    void operator()() const {
        function();
    }

    bool is(Flags flag) const {
        return (static_cast<int>(flags) & static_cast<int>(flag)) == static_cast<int>(flag);
    }

  private:
    Function function;
    Flags flags = Flags::None;
};

} // namespace marl

#endif
