/*
 * marl/pool.h: pools that lend objects. A Loan is a counted reference: when the last copy of it
 * ends, the object goes back to the pool. Copies of a pool are one and the same pool, which lives
 * as long as the last of them and of its loans.
 */
#ifndef THRUM_COMPAT_MARL_POOL_H
#define THRUM_COMPAT_MARL_POOL_H

#include "conditionvariable.h"
#include "containers.h"
#include "memory.h"
#include "mutex.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace marl {

enum class PoolPolicy {
    Reconstruct, /* each loan is of a new object, which ends with it */
    Preserve     /* objects live as long as the pool, and keep their state between loans */
};

/* What BoundedPool and UnboundedPool have in common. */
template <typename T> class Pool {
  protected:
    struct Item {
        template <typename... Args> void construct(Args &&...args) {
            new (&data) T(std::forward<Args>(args)...);
        }
        void destruct() {
            get()->~T();
        }
        T *get() {
            return static_cast<T *>(static_cast<void *>(&data));
        }

        typename aligned_storage<sizeof(T), alignof(T)>::type data;
        std::atomic<int> loans{0};
        Item *next = nullptr; /* of those in the pool */
    };

    class Storage {
      public:
        virtual ~Storage() = default;
        virtual void give(Item *item) = 0;
    };

  public:
    class Loan {
      public:
        Loan() = default;
        Loan(Item *of, const std::shared_ptr<Storage> &from) : item(of), storage(from) {
            item->loans++;
        }
        Loan(const Loan &other) : item(other.item), storage(other.storage) {
            if (item) {
                item->loans++;
            }
        }
        Loan(Loan &&other) : item(other.item), storage(std::move(other.storage)) {
            other.item = nullptr;
        }
        ~Loan() {
            reset();
        }

        Loan &operator=(const Loan &other) {
            Loan copy(other);
            swap(copy);
            return *this;
        }
        Loan &operator=(Loan &&other) {
            Loan moved(std::move(other));
            swap(moved);
            return *this;
        }

        T &operator*() const {
            return *item->get();
        }
        T *operator->() const {
            return item->get();
        }
        /* nullptr if nothing is on loan. */
        T *get() const {
            return item ? item->get() : nullptr;
        }

        void reset() {
            if (item && --item->loans == 0) {
                storage->give(item);
            }
            item = nullptr;
            storage.reset();
        }

      private:
        void swap(Loan &other) {
            std::swap(item, other.item);
            storage.swap(other.storage);
        }

        Item *item = nullptr;
        std::shared_ptr<Storage> storage;
    };

  protected:
    Pool() = default;
};

template <typename T> using Loan = typename Pool<T>::Loan;

namespace detail {

/* Whether the arguments of borrow are a number and a function that takes loans. */
template <typename L, typename... Args> struct is_count_and_function : std::false_type {};
template <typename L, typename N, typename F> struct is_count_and_function<L, N, F> {
    template <typename G>
    static auto test(int)
        -> decltype(std::declval<const G &>()(std::declval<L>()), std::true_type());
    template <typename> static std::false_type test(...);
    static constexpr bool value = std::is_integral<typename std::decay<N>::type>::value &&
                                  decltype(test<typename std::decay<F>::type>(0))::value;
};

} // namespace detail

/* A pool of N objects. A borrow waits while all of them are on loan. */
template <typename T, int N, PoolPolicy POLICY = PoolPolicy::Reconstruct>
class BoundedPool : public Pool<T> {
  public:
    using Item = typename Pool<T>::Item;
    using Loan = typename Pool<T>::Loan;

    BoundedPool(Allocator *allocator = Allocator::Default)
        : storage(allocator->make_shared<Storage>(allocator)) {
    }

    /* Borrows an object; with PoolPolicy::Reconstruct it is made of the arguments. */
    template <typename... Args, typename = typename std::enable_if<
                                    !detail::is_count_and_function<Loan, Args...>::value>::type>
    Loan borrow(Args &&...args) const {
        return storage->lend(storage->take(), storage, std::forward<Args>(args)...);
    }

    /* Borrows that many, one after the other, and calls f with each of the loans. */
    template <typename F, typename = typename std::enable_if<
                              detail::is_count_and_function<Loan, std::size_t, F>::value>::type>
    void borrow(std::size_t count, const F &f) const {
        borrowList(count, f);
    }

    template <typename F, typename... Args>
    void borrowList(std::size_t count, const F &f, const Args &...args) const {
        for (std::size_t i = 0; i < count; i++) {
            f(borrow(args...));
        }
    }

    /* Borrows one without waiting. The second of the pair is false if all are on loan. */
    template <typename... Args> std::pair<Loan, bool> tryBorrow(Args &&...args) const {
        Item *item = storage->try_take();
        if (!item) {
            return std::make_pair(Loan(), false);
        }
        return std::make_pair(storage->lend(item, storage, std::forward<Args>(args)...), true);
    }

  private:
    template <typename... Args> static void construct(std::true_type, Item *item, Args &&...args) {
        item->construct(std::forward<Args>(args)...);
    }
    template <typename... Args> static void construct(std::false_type, Item *, Args &&...) {
    }

    class Storage : public Pool<T>::Storage {
      public:
        Storage(Allocator *allocator) : returned(allocator) {
            for (Item &item : items) {
                if (POLICY == PoolPolicy::Preserve) {
                    construct_anew(&item);
                }
                item.next = unused;
                unused = &item;
            }
        }

        ~Storage() override {
            if (POLICY == PoolPolicy::Preserve) {
                for (Item &item : items) {
                    item.destruct();
                }
            }
        }

        void give(Item *item) override {
            if (POLICY == PoolPolicy::Reconstruct) {
                item->destruct();
            }
            marl::lock held(mutex);
            item->next = unused;
            unused = item;
            returned.notify_one();
        }

        Item *take() {
            marl::lock held(mutex);
            returned.wait(held, [this] { return unused != nullptr; });
            return pop();
        }

        Item *try_take() {
            marl::lock held(mutex);
            return unused ? pop() : nullptr;
        }

        template <typename... Args>
        static Loan lend(Item *item, const std::shared_ptr<Storage> &from, Args &&...args) {
            construct(std::integral_constant<bool, POLICY == PoolPolicy::Reconstruct>(), item,
                      std::forward<Args>(args)...);
            return Loan(item, from);
        }

      private:
        static void construct_anew(Item *item) {
            construct(std::integral_constant<bool, POLICY == PoolPolicy::Preserve>(), item);
        }

        Item *pop() {
            Item *item = unused;
            unused = item->next;
            return item;
        }

        Item items[N];
        marl::mutex mutex;
        ConditionVariable returned;
        Item *unused = nullptr; /* protected by the mutex */
    };

    std::shared_ptr<Storage> storage;
};

/* A pool that grows as needed, so a borrow never waits. */
template <typename T, PoolPolicy POLICY = PoolPolicy::Reconstruct>
class UnboundedPool : public Pool<T> {
  public:
    using Item = typename Pool<T>::Item;
    using Loan = typename Pool<T>::Loan;

    UnboundedPool(Allocator *allocator = Allocator::Default)
        : storage(allocator->make_shared<Storage>(allocator)) {
    }

    Loan borrow() const {
        Item *item = storage->take();
        if (POLICY == PoolPolicy::Reconstruct) {
            item->construct();
        }
        return Loan(item, storage);
    }

    /* Borrows that many, and calls f with each of the loans. */
    template <typename F> void borrow(std::size_t count, const F &f) const {
        for (std::size_t i = 0; i < count; i++) {
            f(borrow());
        }
    }

  private:
    class Storage : public Pool<T>::Storage {
      public:
        Storage(Allocator *from) : allocator(from), items(from) {
        }

        ~Storage() override {
            for (Item *item : items) {
                if (POLICY == PoolPolicy::Preserve) {
                    item->destruct();
                }
                allocator->destroy(item);
            }
        }

        void give(Item *item) override {
            if (POLICY == PoolPolicy::Reconstruct) {
                item->destruct();
            }
            marl::lock held(mutex);
            put(item);
        }

        Item *take() {
            marl::lock held(mutex);
            if (!unused) {
                grow();
            }
            Item *item = unused;
            unused = item->next;
            return item;
        }

      private:
        void put(Item *item) {
            item->next = unused;
            unused = item;
        }

        /* Doubles the pool. */
        void grow() {
            const std::size_t count = (std::max)(items.size(), std::size_t(32));
            for (std::size_t i = 0; i < count; i++) {
                Item *item = allocator->create<Item>();
                if (POLICY == PoolPolicy::Preserve) {
                    item->construct();
                }
                items.push_back(item);
                put(item);
            }
        }

        Allocator *const allocator;
        marl::mutex mutex;
        containers::vector<Item *, 4> items; /* all of them; protected by the mutex */
        Item *unused = nullptr;              /* protected by the mutex */
    };

    std::shared_ptr<Storage> storage;
};

} // namespace marl

#endif
