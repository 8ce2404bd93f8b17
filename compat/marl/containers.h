/*
 * marl/containers.h: the standard's containers over an Allocator; vector, which has room for a few
 * elements inside itself; and list, which keeps the memory of erased elements for new ones.
 */
#ifndef THRUM_COMPAT_MARL_CONTAINERS_H
#define THRUM_COMPAT_MARL_CONTAINERS_H

#include "debug.h"
#include "memory.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace marl {
namespace containers {

template <typename T> using deque = std::deque<T, StlAllocator<T>>;

template <typename K, typename V, typename C = std::less<K>>
using map = std::map<K, V, C, StlAllocator<std::pair<const K, V>>>;

template <typename K, typename C = std::less<K>> using set = std::set<K, C, StlAllocator<K>>;

template <typename K, typename V, typename H = std::hash<K>, typename E = std::equal_to<K>>
using unordered_map = std::unordered_map<K, V, H, E, StlAllocator<std::pair<const K, V>>>;

template <typename K, typename H = std::hash<K>, typename E = std::equal_to<K>>
using unordered_set = std::unordered_set<K, H, E, StlAllocator<K>>;

/* Takes the first element out. */
template <typename T> inline T take(deque<T> &from) {
    T out = std::move(from.front());
    from.pop_front();
    return out;
}

template <typename T, typename H, typename E> inline T take(unordered_set<T, H, E> &from) {
    auto it = from.begin();
    T out = *it;
    from.erase(it);
    return out;
}

/* The first BASE_CAPACITY elements are inside the vector; more of them are allocated. */
template <typename T, int BASE_CAPACITY> class vector {
  public:
    vector(Allocator *from = Allocator::Default) : allocator(from) {
    }

    vector(const vector &other, Allocator *from = Allocator::Default) : allocator(from) {
        append(other.begin(), other.end());
    }
    vector(vector &&other, Allocator *from = Allocator::Default) : allocator(from) {
        move_from(other);
    }
    template <int OTHER>
    vector(const vector<T, OTHER> &other, Allocator *from = Allocator::Default) : allocator(from) {
        append(other.begin(), other.end());
    }
    template <int OTHER>
    vector(vector<T, OTHER> &&other, Allocator *from = Allocator::Default) : allocator(from) {
        move_from(other);
    }

    ~vector() {
        resize_down(0);
        give_back();
    }

    vector &operator=(const vector &other) {
        return assign(other);
    }
    vector &operator=(vector &&other) {
        if (this != &other) {
            resize_down(0);
            move_from(other);
        }
        return *this;
    }
    template <int OTHER> vector &operator=(const vector<T, OTHER> &other) {
        return assign(other);
    }
    template <int OTHER> vector &operator=(vector<T, OTHER> &&other) {
        resize_down(0);
        move_from(other);
        return *this;
    }

    void push_back(const T &element) {
        if (count == capacity) {
            T copy(element); /* it may be an element of this vector */
            reserve(count + 1);
            new (data() + count) T(std::move(copy));
        } else {
            new (data() + count) T(element);
        }
        count++;
    }

    void emplace_back(T &&element) {
        if (count == capacity) {
            T moved(std::move(element));
            reserve(count + 1);
            new (data() + count) T(std::move(moved));
        } else {
            new (data() + count) T(std::move(element));
        }
        count++;
    }

    void pop_back() {
        MARL_ASSERT(count > 0, "pop_back() of an empty vector")
        resize_down(count - 1);
    }

    T &front() {
        return at(0);
    }
    const T &front() const {
        return at(0);
    }
    T &back() {
        return at(count - 1);
    }
    const T &back() const {
        return at(count - 1);
    }

    T *begin() {
        return data();
    }
    T *end() {
        return data() + count;
    }
    const T *begin() const {
        return data();
    }
    const T *end() const {
        return data() + count;
    }

    T &operator[](std::size_t i) {
        return at(i);
    }
    const T &operator[](std::size_t i) const {
        return at(i);
    }

    std::size_t size() const {
        return count;
    }
    /* How many elements there is room for. */
    std::size_t cap() const {
        return capacity;
    }

    void resize(std::size_t n) {
        reserve(n);
        while (count < n) {
            new (data() + count) T();
            count++;
        }
        resize_down(n);
    }

    void reserve(std::size_t n) {
        if (n <= capacity) {
            return;
        }
        Allocation::Request request;
        const std::size_t room = (std::max)(2 * n, std::size_t(8));
        request.size = sizeof(T) * room;
        request.alignment = alignof(T);
        request.usage = Allocation::Usage::Vector;
        const Allocation grown = allocator->allocate(request);
        T *to = static_cast<T *>(grown.ptr);
        const std::size_t n_before = count;
        for (std::size_t i = 0; i < n_before; i++) {
            new (to + i) T(std::move(data()[i]));
        }
        resize_down(0);
        give_back();
        allocation = grown;
        count = n_before;
        capacity = room;
    }

    T *data() {
        return static_cast<T *>(allocation.ptr ? allocation.ptr : static_cast<void *>(inside));
    }
    const T *data() const {
        return const_cast<vector *>(this)->data();
    }

    Allocator *const allocator;

  private:
    template <typename U, int OTHER> friend class vector;

    T &at(std::size_t i) {
        MARL_ASSERT(i < count, "index %lu of a vector with %lu elements",
                    static_cast<unsigned long>(i), static_cast<unsigned long>(count))
        return data()[i];
    }
    const T &at(std::size_t i) const {
        return const_cast<vector *>(this)->at(i);
    }

    template <int OTHER> vector &assign(const vector<T, OTHER> &other) {
        if (static_cast<const void *>(this) != static_cast<const void *>(&other)) {
            resize_down(0);
            append(other.begin(), other.end());
        }
        return *this;
    }

    void append(const T *first, const T *last) {
        reserve(count + static_cast<std::size_t>(last - first));
        for (; first != last; first++) {
            new (data() + count) T(*first);
            count++;
        }
    }

    /* The other one may have another allocator, so the elements move, not the memory. */
    template <int OTHER> void move_from(vector<T, OTHER> &other) {
        reserve(other.count);
        for (T &element : other) {
            new (data() + count) T(std::move(element));
            count++;
        }
        other.resize_down(0);
    }

    void resize_down(std::size_t n) {
        while (n < count) {
            count--;
            data()[count].~T();
        }
    }

    void give_back() {
        if (allocation.ptr) {
            allocator->free(allocation);
            allocation = Allocation();
            capacity = BASE_CAPACITY;
        }
    }

    std::size_t count = 0;
    std::size_t capacity = BASE_CAPACITY;
    typename aligned_storage<sizeof(T), alignof(T)>::type inside[BASE_CAPACITY];
    Allocation allocation; /* of the elements, once they are too many for the inside */
};

/* Elements that stay where they are until they are erased. */
template <typename T> class list {
    struct Entry {
        typename aligned_storage<sizeof(T), alignof(T)>::type data;
        Entry *next;
        Entry *prev;

        T &value() {
            return *static_cast<T *>(static_cast<void *>(&data));
        }
    };

  public:
    class iterator {
      public:
        iterator(Entry *at) : entry(at) {
        }
        T *operator->() {
            return &entry->value();
        }
        T &operator*() {
            return entry->value();
        }
        iterator &operator++() {
            entry = entry->next;
            return *this;
        }
        bool operator==(const iterator &other) const {
            return entry == other.entry;
        }
        bool operator!=(const iterator &other) const {
            return entry != other.entry;
        }

      private:
        friend list;
        Entry *entry;
    };

    list(Allocator *from = Allocator::Default) : allocator(from) {
    }
    list(const list &) = delete;
    list &operator=(const list &) = delete;

    ~list() {
        for (Entry *entry = first; entry; entry = entry->next) {
            entry->value().~T();
        }
        while (chunks) {
            Chunk *chunk = chunks;
            chunks = chunk->next;
            allocator->free(Allocation(chunk->allocation));
        }
    }

    iterator begin() {
        return iterator(first);
    }
    iterator end() {
        return iterator(nullptr);
    }
    std::size_t size() const {
        return count;
    }

    template <typename... Args> iterator emplace_front(Args &&...args) {
        if (!unused) {
            grow();
        }
        Entry *entry = unused;
        new (&entry->data) T(std::forward<Args>(args)...);
        unused = entry->next;
        entry->next = first;
        entry->prev = nullptr;
        if (first) {
            first->prev = entry;
        }
        first = entry;
        count++;
        return iterator(entry);
    }

    void erase(iterator it) {
        Entry *entry = it.entry;
        (entry->prev ? entry->prev->next : first) = entry->next;
        if (entry->next) {
            entry->next->prev = entry->prev;
        }
        entry->value().~T();
        entry->next = unused;
        unused = entry;
        count--;
    }

  private:
    /* The entries of one allocation follow it. */
    struct Chunk {
        Allocation allocation;
        Chunk *next;
    };

    void grow() {
        const std::size_t n = (std::max)(capacity, std::size_t(8));
        const std::size_t begin = alignUp(sizeof(Chunk), alignof(Entry));
        Allocation::Request request;
        request.size = begin + sizeof(Entry) * n;
        request.alignment = (std::max)(alignof(Chunk), alignof(Entry));
        request.usage = Allocation::Usage::List;
        const Allocation allocation = allocator->allocate(request);
        Chunk *chunk = new (allocation.ptr) Chunk();
        chunk->allocation = allocation;
        chunk->next = chunks;
        chunks = chunk;
        void *at = static_cast<char *>(allocation.ptr) + begin;
        Entry *entries = static_cast<Entry *>(at);
        for (std::size_t i = n; i-- > 0;) {
            Entry *entry = new (entries + i) Entry;
            entry->next = unused;
            unused = entry;
        }
        capacity += n;
    }

    Allocator *const allocator;
    std::size_t count = 0;
    std::size_t capacity = 0;
    Chunk *chunks = nullptr;
    Entry *unused = nullptr;
    Entry *first = nullptr;
};

} // namespace containers
} // namespace marl

#endif
