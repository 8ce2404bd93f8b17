/*
 * marl/move_only_function.h: a function object that need not be copyable. Small ones are kept
 * inside, larger ones are allocated by new.
 */
#ifndef THRUM_COMPAT_MARL_MOVE_ONLY_FUNCTION_H
#define THRUM_COMPAT_MARL_MOVE_ONLY_FUNCTION_H

#include "memory.h"

#include <cstddef>
#include <functional>
#include <new>
#include <type_traits>
#include <utility>

namespace marl {

#if __cplusplus >= 201703L
using std::invoke;
#else
/* std::invoke for C++11 and C++14. */
template <typename F, typename... Args,
          typename std::enable_if<std::is_member_pointer<typename std::decay<F>::type>::value,
                                  int>::type = 0>
auto invoke(F &&f, Args &&...args) -> decltype(std::mem_fn(f)(std::forward<Args>(args)...)) {
    return std::mem_fn(f)(std::forward<Args>(args)...);
}

template <typename F, typename... Args,
          typename std::enable_if<!std::is_member_pointer<typename std::decay<F>::type>::value,
                                  int>::type = 0>
auto invoke(F &&f, Args &&...args) -> decltype(std::forward<F>(f)(std::forward<Args>(args)...)) {
    return std::forward<F>(f)(std::forward<Args>(args)...);
}
#endif

template <class Signature> class move_only_function;

namespace detail {

/* All but the call: Self is the class itself, for its constructors. */
template <class Self, bool Noexcept, class R, class... Args> class Function {
  public:
    Function() = default;
    Function(std::nullptr_t) {
    }

    template <class F, class = typename std::enable_if<
                           !std::is_base_of<Function, typename std::decay<F>::type>::value>::type>
    Function(F &&f) {
        put<typename std::decay<F>::type>(std::forward<F>(f));
    }

    Function(Function &&other) noexcept {
        take(other);
    }

    Function &operator=(Function &&other) noexcept {
        if (this != &other) {
            clear();
            take(other);
        }
        return *this;
    }

    ~Function() {
        clear();
    }

    /* There must be a function. */
    R operator()(Args... args) const noexcept(Noexcept) {
        return kind->call(&object, std::forward<Args>(args)...);
    }

    explicit operator bool() const {
        return kind != nullptr;
    }

  private:
    using Storage = typename aligned_storage<3 * sizeof(void *), alignof(void *)>::type;

    struct Kind {
        R (*call)(void *object, Args &&...args);
        void (*move)(void *to, void *from); /* and ends `from` */
        void (*end)(void *object);
    };

    template <class F> struct Inside {
        static F &of(void *object) {
            return *static_cast<F *>(object);
        }
        template <class G> static void make(void *at, G &&f) {
            new (at) F(std::forward<G>(f));
        }
        static void move(void *to, void *from) {
            new (to) F(std::move(of(from)));
            of(from).~F();
        }
        static void end(void *object) {
            of(object).~F();
        }
    };

    template <class F> struct Outside {
        static F &of(void *object) {
            return **static_cast<F **>(object);
        }
        template <class G> static void make(void *at, G &&f) {
            new (at) F *(new F(std::forward<G>(f)));
        }
        static void move(void *to, void *from) {
            new (to) F *(&of(from));
        }
        static void end(void *object) {
            delete &of(object);
        }
    };

    template <class Where> static R call_at(void *object, Args &&...args) {
        return static_cast<R>(::marl::invoke(Where::of(object), std::forward<Args>(args)...));
    }

    template <class F, class G> void put(G &&f) {
        using Where = typename std::conditional<sizeof(F) <= sizeof(Storage) &&
                                                    alignof(F) <= alignof(Storage),
                                                Inside<F>, Outside<F>>::type;
        static const Kind of_this = {&Function::template call_at<Where>, &Where::move, &Where::end};
        Where::make(&object, std::forward<G>(f));
        kind = &of_this;
    }

    void take(Function &other) {
        if (other.kind) {
            other.kind->move(&object, &other.object);
            kind = other.kind;
            other.kind = nullptr;
        }
    }

    void clear() {
        if (kind) {
            kind->end(&object);
            kind = nullptr;
        }
    }

    mutable Storage object;
    const Kind *kind = nullptr;
};

} // namespace detail

template <class R, class... Args>
class move_only_function<R(Args...)>
    : public detail::Function<move_only_function<R(Args...)>, false, R, Args...> {
  public:
    using detail::Function<move_only_function<R(Args...)>, false, R, Args...>::Function;
    move_only_function() = default;
    move_only_function(move_only_function &&) = default;
    move_only_function &operator=(move_only_function &&) = default;
};

#if __cplusplus >= 201703L
template <class R, class... Args>
class move_only_function<R(Args...) noexcept>
    : public detail::Function<move_only_function<R(Args...) noexcept>, true, R, Args...> {
  public:
    using detail::Function<move_only_function<R(Args...) noexcept>, true, R, Args...>::Function;
    move_only_function() = default;
    move_only_function(move_only_function &&) = default;
    move_only_function &operator=(move_only_function &&) = default;
};
#endif

} // namespace marl

#endif
