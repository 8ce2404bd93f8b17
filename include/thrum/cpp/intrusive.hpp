/*
 * thrum/cpp/intrusive.hpp: intrusive tasks, whose bodies are lambdas or member functions. The rules
 * are those of thrum/task.h. <thrum/thrum.hpp> does not include it.
 *
 *     class session {
 *         void read();
 *         thrum::intrusive_task task_{this, &session::read};
 *     };
 *
 * Neither the task nor a post allocates. The program owns the memory of the task. It may destroy
 * the task while it is neither posted nor running. A body may destroy its own task, unless it has
 * posted it or the task is serial.
 */
#ifndef THRUM_CPP_INTRUSIVE_HPP
#define THRUM_CPP_INTRUSIVE_HPP

#include <cstring>
#include <new>
#include <type_traits>

#include "thrum/cpp/error.hpp"
#include "thrum/sched.h"
#include "thrum/task.h"

namespace thrum {
inline namespace THRUM_CPP_ABI {

/*
 * A task that the program may post again and again. It can be neither copied nor moved.
 *
 * The body is called with the task, or without arguments, and returns nothing. It has the size of
 * three pointers at most and is trivially copyable, since each run calls a copy of it. So a lambda
 * captures pointers and references, while values belong in the object that contains the task. An
 * exception that leaves a body ends the program (std::terminate).
 *
 * The destructor of a task that is posted prints one line and calls std::terminate.
 */
class intrusive_task {
  public:
    /* Without a body; a post throws EINVAL until set_body gives it one. */
    intrusive_task() noexcept {
        thrum_task_init(&task_, nullptr, nullptr);
    }
    template <typename Body> explicit intrusive_task(Body body) noexcept {
        thrum_task_init(&task_, main<Body>, this);
        keep(body);
    }
    /* The body is a member function of the object. */
    template <typename Object, typename Owner, typename Member>
    intrusive_task(Object *object, Member Owner::*body) noexcept
        : intrusive_task(bound<Object, Member Owner::*>{object, body}) {
    }
    intrusive_task(const intrusive_task &) = delete;
    intrusive_task &operator=(const intrusive_task &) = delete;
    ~intrusive_task() {
        /* The cancel succeeds only if it is posted. The run that follows must not use the body. */
        thrum_task_set_body(
            &task_, [](thrum_task *, void *) {}, nullptr);
        if (thrum_task_cancel(&task_) == 0) {
            detail::refused("thrum::~intrusive_task", -EBUSY);
        }
    }

    /* ---- by the owner: the program while it is neither posted nor running, else the body ---- */

    /* The body of later runs; the present run goes on with its own. */
    template <typename Body> void set_body(Body body) noexcept {
        thrum_task_set_body(&task_, main<Body>, this);
        keep(body);
    }
    template <typename Object, typename Owner, typename Member>
    void set_body(Object *object, Member Owner::*body) noexcept {
        set_body(bound<Object, Member Owner::*>{object, body});
    }
    void set_worker(int worker) noexcept {
        thrum_task_set_worker(&task_, worker);
    }
    void set_serial() noexcept {
        thrum_task_set_serial(&task_);
    }

    /*
     * Queues it to run at once, on the caller's scheduler unless another is named. `post` throws
     * std::system_error (thrum_task_post; EINVAL if a plain thread names no scheduler).
     */
    void post(thrum_sched *to = thrum_sched_current(), thrum_hint hint = THRUM_HINT_NONE) {
        check(try_post(to, hint).code());
    }
    status try_post(thrum_sched *to = thrum_sched_current(),
                    thrum_hint hint = THRUM_HINT_NONE) noexcept {
        return status(thrum_task_post_hint(to, &task_, hint));
    }
    /*
     * Posts it to run at the deadline or when it is woken, signaled or cancelled, whichever comes
     * first; post_wait has no deadline. They do not throw, because a scheduler that stops refuses
     * them in the task's last run: the status is then -ESHUTDOWN.
     */
    status post_until(deadline when, thrum_sched *to = thrum_sched_current()) noexcept {
        return status(thrum_task_post_until(to, &task_, when.when()));
    }
    template <typename Rep, typename Period>
    status post_after(std::chrono::duration<Rep, Period> length,
                      thrum_sched *to = thrum_sched_current()) noexcept {
        return post_until(after(length), to);
    }
    status post_wait(thrum_sched *to = thrum_sched_current()) noexcept {
        return post_until(deadline::never(), to);
    }

    /* ---- by any thread, as long as the task exists ---- */

    /* Runs a waiting task at once. Otherwise the wakeup is remembered until the next post. */
    void wakeup() noexcept {
        thrum_task_wakeup(&task_);
    }
    /*
     * Likewise, and sets its signal. Once the body can see the signal, this call no longer uses the
     * task.
     */
    void signal() noexcept {
        thrum_task_signal(&task_);
    }
    /* Cancels a run that has not begun. Returns false if there is none. */
    bool cancel() noexcept {
        return thrum_task_cancel(&task_) == 0;
    }

    /* ---- by the body ---- */

    bool receive_signal() noexcept {
        return thrum_task_receive_signal(&task_);
    }
    bool is_signaled() const noexcept {
        return thrum_task_is_signaled(&task_);
    }
    bool is_expired() const noexcept {
        return thrum_task_is_expired(&task_);
    }
    bool is_cancelled() const noexcept {
        return thrum_task_is_cancelled(&task_);
    }
    thrum_cause cause() const noexcept {
        return thrum_task_cause(&task_);
    }
    thrum_task *native_handle() noexcept {
        return &task_;
    }

  private:
    static constexpr size_t room = 3 * sizeof(void *);

    template <typename Object, typename Member> struct bound {
        Object *object;
        Member body;
        template <typename... Args>
        auto operator()(Args &...args) const -> decltype((object->*body)(args...)) {
            return (object->*body)(args...);
        }
    };

    template <typename Body> void keep(const Body &body) noexcept {
        static_assert(std::is_trivially_copyable_v<Body> && std::is_trivially_destructible_v<Body>,
                      "thrum::intrusive_task: the body is copied for each run: capture pointers or "
                      "references only");
        static_assert(sizeof(Body) <= room && alignof(Body) <= alignof(void *),
                      "thrum::intrusive_task: the body is larger than three pointers: capture the "
                      "object that contains the task");
        std::memcpy(body_, &body, sizeof(Body));
    }

    /* The body may destroy the task, or give it another body, while its copy here runs. */
    template <typename Body> static void main(thrum_task *, void *arg) noexcept {
        auto *self = static_cast<intrusive_task *>(arg);
        constexpr bool takes_task = std::is_invocable_v<const Body &, intrusive_task &>;
        static_assert(takes_task || std::is_invocable_v<const Body &>,
                      "thrum::intrusive_task: the body takes nothing or a thrum::intrusive_task &, "
                      "and is not mutable");
        const Body body = *std::launder(reinterpret_cast<const Body *>(self->body_));
        if constexpr (takes_task) {
            static_assert(std::is_void_v<std::invoke_result_t<const Body &, intrusive_task &>>,
                          "thrum::intrusive_task: nobody gets what the body returns");
            body(*self);
        } else if constexpr (std::is_invocable_v<const Body &>) {
            static_assert(std::is_void_v<std::invoke_result_t<const Body &>>,
                          "thrum::intrusive_task: nobody gets what the body returns");
            body();
        }
    }

    thrum_task task_;
    alignas(void *) unsigned char body_[room];
};

} // namespace THRUM_CPP_ABI
} // namespace thrum

#endif
