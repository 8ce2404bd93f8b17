/*
 * A binary heap, with the least or the greatest item at its top: of values, of pointers, or of
 * pointers to items that store their index, by which any item can be updated or removed.
 * A removed item has the index -1.
 */
#ifndef THRUM_COMPAT_MG_BOX_BINARYHEAP_H
#define THRUM_COMPAT_MG_BOX_BINARYHEAP_H

#include <utility>
#include <vector>

#include "mg/box/Assert.h"
#include "mg/box/TypeTraits.h"

namespace mg {
namespace box {

/* `Methods` has IsLeftAbove, SetIndex, and, for Update and Remove, GetIndex. */
template <typename T, typename Methods> class BinaryHeap {
  public:
    void Push(const T &value) {
        items_.push_back(value);
        Methods::SetIndex(items_.back(), static_cast<int32_t>(items_.size() - 1));
        Rise(items_.size() - 1);
    }
    bool Pop(T &outValue) {
        if (items_.empty()) {
            return false;
        }
        T top = items_[0];
        RemoveTop();
        outValue = std::move(top);
        return true;
    }
    bool RemoveTop() {
        if (items_.empty()) {
            return false;
        }
        RemoveAt(0);
        return true;
    }
    void Remove(const T &value) {
        RemoveAt(IndexOf(value));
    }
    /* After an item's value was changed. */
    void Update(const T &value) {
        UpdateAt(IndexOf(value));
    }
    void UpdateTop() {
        Sink(0);
    }

    T &GetTop() {
        return items_[0];
    }
    const T &GetTop() const {
        return items_[0];
    }
    uint32_t Count() const {
        return static_cast<uint32_t>(items_.size());
    }
    uint32_t GetCapacity() const {
        return static_cast<uint32_t>(items_.capacity());
    }
    void Reserve(uint32_t count) {
        items_.reserve(count);
    }

  private:
    static size_t IndexOf(const T &value) {
        int32_t index = Methods::GetIndex(value);
        MG_DEV_ASSERT(index >= 0);
        return static_cast<size_t>(index);
    }
    void RemoveAt(size_t at) {
        Methods::SetIndex(items_[at], -1);
        T last = std::move(items_.back());
        items_.pop_back();
        if (at < items_.size()) {
            Put(at, std::move(last));
            UpdateAt(at);
        }
    }
    void UpdateAt(size_t at) {
        if (!Rise(at)) {
            Sink(at);
        }
    }
    void Put(size_t at, T &&value) {
        items_[at] = std::move(value);
        Methods::SetIndex(items_[at], static_cast<int32_t>(at));
    }
    void Swap(size_t a, size_t b) {
        T value = std::move(items_[a]);
        Put(a, std::move(items_[b]));
        Put(b, std::move(value));
    }
    bool IsAbove(size_t a, size_t b) const {
        return Methods::IsLeftAbove(items_[a], items_[b]);
    }
    bool Rise(size_t at) {
        bool hasMoved = false;
        while (at > 0 && !IsAbove((at - 1) / 2, at)) {
            Swap((at - 1) / 2, at);
            at = (at - 1) / 2;
            hasMoved = true;
        }
        return hasMoved;
    }
    void Sink(size_t at) {
        for (;;) {
            size_t child = 2 * at + 1;
            if (child >= items_.size()) {
                return;
            }
            if (child + 1 < items_.size() && !IsAbove(child, child + 1)) {
                child++;
            }
            if (IsAbove(at, child)) {
                return;
            }
            Swap(at, child);
            at = child;
        }
    }

    std::vector<T> items_;
};

namespace detail {

struct HeapLess {
    template <typename T> static bool IsAbove(const T &left, const T &right) {
        return left <= right;
    }
};
struct HeapGreater {
    template <typename T> static bool IsAbove(const T &left, const T &right) {
        return left >= right;
    }
};

template <typename T, typename Order> struct HeapValues {
    static bool IsLeftAbove(const T &left, const T &right) {
        return Order::IsAbove(left, right);
    }
    static void SetIndex(const T &, int32_t) {
    }
};
template <typename T, typename Order> struct HeapPointers {
    static bool IsLeftAbove(const T *left, const T *right) {
        return Order::IsAbove(*left, *right);
    }
    static void SetIndex(const T *, int32_t) {
    }
};
template <typename T, typename Order, int32_t T::*myIndex> struct HeapIntrusive {
    static bool IsLeftAbove(const T *left, const T *right) {
        return Order::IsAbove(*left, *right);
    }
    static void SetIndex(T *item, int32_t index) {
        item->*myIndex = index;
    }
    static int32_t GetIndex(const T *item) {
        return item->*myIndex;
    }
};

} // namespace detail

template <typename T> using BinaryHeapMin = BinaryHeap<T, detail::HeapValues<T, detail::HeapLess>>;
template <typename T>
using BinaryHeapMax = BinaryHeap<T, detail::HeapValues<T, detail::HeapGreater>>;
template <typename T>
using BinaryHeapMinPtr = BinaryHeap<T *, detail::HeapPointers<T, detail::HeapLess>>;
template <typename T>
using BinaryHeapMaxPtr = BinaryHeap<T *, detail::HeapPointers<T, detail::HeapGreater>>;
template <typename T, int32_t T::*myIndex = &T::myIndex>
using BinaryHeapMinIntrusive = BinaryHeap<T *, detail::HeapIntrusive<T, detail::HeapLess, myIndex>>;
template <typename T, int32_t T::*myIndex = &T::myIndex>
using BinaryHeapMaxIntrusive =
    BinaryHeap<T *, detail::HeapIntrusive<T, detail::HeapGreater, myIndex>>;

} // namespace box
} // namespace mg

#endif
