/*
 * thrum/cpp/pool.hpp: objects that are borrowed and given back. The rules are those of
 * thrum/pool.h.
 *
 *     thrum::pool<connection> connections(8);
 *     auto one = connections.borrow();
 *     one->ask(question);                      // given back at the end of the block
 */
#ifndef THRUM_CPP_POOL_HPP
#define THRUM_CPP_POOL_HPP

#include <new>
#include <utility>

#include "thrum/cpp/error.hpp"
#include "thrum/pool.h"

namespace thrum {
inline namespace THRUM_CPP_ABI {

namespace detail { /* awaited.hpp */
template <typename T> struct that_borrows;
template <typename T> struct that_may_borrow;
} // namespace detail

/*
 * A pool of objects, which are made by their constructor without arguments. With `preserve` they
 * keep their state between two borrows; otherwise each borrow makes one anew. An exception of a
 * constructor becomes a code: that of a std::system_error, ENOMEM for std::bad_alloc, otherwise
 * EIO. The pool neither moves nor is copied; its destructor ends the program (std::terminate) while
 * an object is borrowed or waited for.
 */
template <typename T> class pool {
    static_assert(alignof(T) <= 16, "the pool's objects are aligned to 16 bytes");

  public:
    /* An object that was borrowed, or none. Its end, or an assignment, gives the object back. */
    class item {
      public:
        item() noexcept = default;
        item(item &&other) noexcept
            : pool_(other.pool_), object_(std::exchange(other.object_, nullptr)) {
        }
        item &operator=(item &&other) noexcept {
            item taken(std::move(other)); /* at its end it gives the old one back */
            std::swap(pool_, taken.pool_);
            std::swap(object_, taken.object_);
            return *this;
        }
        ~item() {
            give_back();
        }
        explicit operator bool() const noexcept {
            return object_ != nullptr;
        }
        T &operator*() const noexcept {
            return *object_;
        }
        T *operator->() const noexcept {
            return object_;
        }
        /* It suspends only if the destructor of T does. */
        void give_back() noexcept {
            if (object_) {
                thrum_pool_give_back(pool_, std::exchange(object_, nullptr));
            }
        }

      private:
        friend class pool;
        template <typename> friend struct detail::that_borrows;
        template <typename> friend struct detail::that_may_borrow;
        item(thrum_pool *from, void *object) noexcept
            : pool_(from), object_(std::launder(static_cast<T *>(object))) {
        }
        thrum_pool *pool_ = nullptr;
        T *object_ = nullptr;
    };

    /* Capacity 0: unbounded. Throws std::system_error: ENOMEM, or the code of a constructor. */
    explicit pool(size_t capacity = 0, bool preserve = true) {
        thrum_pool_config config = THRUM_POOL_CONFIG_INIT;
        config.item_size = sizeof(T);
        config.capacity = capacity;
        config.preserve = preserve;
        config.construct = construct;
        config.destruct = [](void *object, void *) noexcept { static_cast<T *>(object)->~T(); };
        check(thrum_pool_create(&pool_, &config));
    }
    pool(const pool &) = delete;
    pool &operator=(const pool &) = delete;
    ~pool() {
        const int err = thrum_pool_destroy(pool_);
        if (err != 0) {
            detail::refused("thrum::~pool", err);
        }
    }

    /* Waits until there is one; throws std::system_error: ECANCELED, ENOMEM. It may suspend. */
    item borrow() {
        void *object;
        check(thrum_pool_borrow(pool_, &object));
        return item(pool_, object);
    }
    /* All of them, at the same moment. It may suspend. */
    template <size_t N> void borrow(item (&out)[N]) {
        void *objects[N];
        check(thrum_pool_borrow_n(pool_, objects, N));
        for (size_t i = 0; i < N; i++) {
            out[i] = item(pool_, objects[i]);
        }
    }
    /* `out` is set if the status is true. They may suspend, but for the last. */
    status borrow_until(item &out, deadline when) noexcept {
        void *object;
        return kept(out, thrum_pool_borrow_until(pool_, &object, when.when()), &object);
    }
    template <typename Rep, typename Period>
    status borrow_for(item &out, std::chrono::duration<Rep, Period> length) noexcept {
        return borrow_until(out, after(length));
    }
    status try_borrow(item &out) noexcept {
        void *object;
        return kept(out, thrum_pool_try_borrow(pool_, &object), &object);
    }
    thrum_pool *native_handle() const noexcept {
        return pool_;
    }

  private:
    status kept(item &out, int err, void **object) noexcept {
        if (err == 0) {
            out = item(pool_, *object);
        }
        return status(err);
    }
    static int construct(void *at, void *) noexcept {
#if THRUM_CPP_EXCEPTIONS
        try {
            ::new (at) T();
        } catch (const std::system_error &error) {
            return error.code().value() > 0 ? -error.code().value() : -EIO;
        } catch (const std::bad_alloc &) {
            return -ENOMEM;
        } catch (...) {
            return -EIO;
        }
#else
        ::new (at) T();
#endif
        return 0;
    }

    thrum_pool *pool_ = nullptr;
};

} // namespace THRUM_CPP_ABI
} // namespace thrum

#endif
