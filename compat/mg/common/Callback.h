/*
 * Callback: std::function with Set, Clear and IsEmpty, also of an object and its method.
 */
#ifndef THRUM_COMPAT_MG_COMMON_CALLBACK_H
#define THRUM_COMPAT_MG_COMMON_CALLBACK_H

#include <functional>
#include <type_traits>
#include <utility>

#include "mg/common/Assert.h"

namespace mg {
namespace common {

template <typename Signature> class Callback;

template <typename Result, typename... Args>
class Callback<Result(Args...)> : public std::function<Result(Args...)> {
    using Base = std::function<Result(Args...)>;

  public:
    Callback() = default;
    Callback(const Callback &) = default;
    Callback(Callback &&) = default;
    Callback &operator=(const Callback &) = default;
    Callback &operator=(Callback &&) = default;

    template <typename Functor, typename = typename std::enable_if<!std::is_same<
                                    typename std::decay<Functor>::type, Callback>::value>::type>
    Callback(Functor &&functor) : Base(std::forward<Functor>(functor)) {
    }
    template <typename Object>
    Callback(Object *object, Result (Object::*method)(Args...))
        : Base([object, method](Args... args) -> Result {
              return (object->*method)(std::forward<Args>(args)...);
          }) {
    }
    template <typename Object>
    Callback(const Object *object, Result (Object::*method)(Args...) const)
        : Base([object, method](Args... args) -> Result {
              return (object->*method)(std::forward<Args>(args)...);
          }) {
    }

    template <typename... From> void Set(From &&...from) {
        *this = Callback(std::forward<From>(from)...);
    }
    void Clear() {
        *this = Callback();
    }
    bool IsEmpty() const {
        return !static_cast<bool>(static_cast<const Base &>(*this));
    }
};

} // namespace common
} // namespace mg

#endif
