/*
 * thrum/cpp/local.hpp: values of which each task and each thread has its own. The rules are those
 * of the keys of thrum/spawn.h.
 *
 *     thrum::local<std::string> path;
 *     path.value() = "/tmp";                   // this task's; others have an empty one
 */
#ifndef THRUM_CPP_LOCAL_HPP
#define THRUM_CPP_LOCAL_HPP

#include <memory>

#include "thrum/cpp/error.hpp"
#include "thrum/spawn.h"

namespace thrum {
inline namespace THRUM_CPP_ABI {

/*
 * A key, and under it a T for each task that uses one. It is one allocation, made at its first use,
 * and destroyed at the task's end, on its fiber. Its destructor must not throw. A plain thread's is
 * not destroyed at the thread's end: `reset` does it. It neither moves nor is copied. Its own
 * destructor forgets the values of the tasks that are still there, and destroys the caller's.
 */
template <typename T> class local {
  public:
    /* Throws std::system_error: EAGAIN when THRUM_KEYS_MAX keys exist. */
    local() {
        check(thrum_key_create(&key_, [](void *value) { delete static_cast<T *>(value); }));
    }
    local(const local &) = delete;
    local &operator=(const local &) = delete;
    ~local() {
        reset();
        (void)thrum_key_delete(key_);
    }

    /* The caller's value, or NULL if it has none yet. It never suspends. */
    T *get() const noexcept {
        return static_cast<T *>(thrum_key_get(key_));
    }
    /*
     * The caller's value, made by T's constructor without arguments if there is none yet. It throws
     * the exceptions of that call, std::bad_alloc, and std::system_error (ENOMEM).
     */
    T &value() {
        if (T *there = get()) {
            return *there;
        }
        return set(std::make_unique<T>());
    }
    /* Gives the caller another value, and destroys the one before. Throws std::system_error. */
    T &set(std::unique_ptr<T> value) {
        std::unique_ptr<T> before(get());
        const int err = thrum_key_set(key_, value.get());
        if (err != 0) {
            (void)before.release(); /* it is still there */
            raise(err);
        }
        return *value.release();
    }
    /* Destroys the caller's value. It suspends only if the destructor of T does. */
    void reset() noexcept {
        std::unique_ptr<T> before(get());
        if (before) {
            (void)!thrum_key_set(key_, nullptr); /* there is a place for it: it cannot fail */
        }
    }
    thrum_key native_handle() const noexcept {
        return key_;
    }

  private:
    thrum_key key_;
};

} // namespace THRUM_CPP_ABI
} // namespace thrum

#endif
