/*
 * A list of items with links of their own, in both directions.
 */
#ifndef THRUM_COMPAT_MG_BOX_DOUBLYLIST_H
#define THRUM_COMPAT_MG_BOX_DOUBLYLIST_H

#include <utility>

#include "mg/box/Assert.h"
#include "mg/box/ForwardList.h"

namespace mg {
namespace box {

template <typename T, T *T::*myPrev = &T::myPrev, T *T::*myNext = &T::myNext> struct DoublyList {
    DoublyList() = default;
    DoublyList(T *first, T *last) {
        Append(first, last);
    }
    DoublyList(DoublyList &&other) {
        *this = std::move(other);
    }
    DoublyList &operator=(DoublyList &&other) {
        T *last;
        T *first = other.PopAll(last);
        first_ = first;
        last_ = last;
        return *this;
    }

    bool IsEmpty() const {
        return !first_;
    }
    T *GetFirst() {
        return first_;
    }
    const T *GetFirst() const {
        return first_;
    }
    T *GetLast() {
        return last_;
    }
    const T *GetLast() const {
        return last_;
    }

    void Append(T *item) {
        Append(item, item);
    }
    void Append(T *first, T *last) {
        if (first) {
            Link(last_, first, last, nullptr);
        }
    }
    void Append(DoublyList &&other) {
        T *last;
        T *first = other.PopAll(last);
        Append(first, last);
    }
    void Prepend(T *item) {
        Prepend(item, item);
    }
    void Prepend(T *first, T *last) {
        if (first) {
            Link(nullptr, first, last, first_);
        }
    }
    void Prepend(DoublyList &&other) {
        T *last;
        T *first = other.PopAll(last);
        Prepend(first, last);
    }
    /* Behind an item, or, without one, at the beginning. */
    void Insert(T *behind, T *item) {
        Link(behind, item, item, behind ? behind->*myNext : first_);
    }

    void Remove(T *item) {
        T *prev = item->*myPrev;
        T *next = item->*myNext;
        item->*myPrev = nullptr;
        item->*myNext = nullptr;
        (prev ? prev->*myNext : first_) = next;
        (next ? next->*myPrev : last_) = prev;
    }
    T *PopFirst() {
        T *item = first_;
        Remove(item);
        return item;
    }
    T *PopLast() {
        T *item = last_;
        Remove(item);
        return item;
    }
    T *PopAll() {
        T *last;
        return PopAll(last);
    }
    T *PopAll(T *&outLast) {
        T *first = first_;
        outLast = last_;
        Clear();
        return first;
    }
    void Clear() {
        first_ = nullptr;
        last_ = nullptr;
    }
    void Reverse() {
        T *item = PopAll();
        while (item) {
            T *next = item->*myNext;
            Prepend(item);
            item = next;
        }
    }

    /* Drops all items on one side of an item, with it or without. */
    void CutLeftExcluding(T *item) {
        if (item->*myPrev) {
            (item->*myPrev)->*myNext = nullptr;
        }
        item->*myPrev = nullptr;
        first_ = item;
    }
    void CutLeftIncluding(T *item) {
        first_ = item->*myNext;
        (first_ ? first_->*myPrev : last_) = nullptr;
        item->*myNext = nullptr;
    }
    void CutRightExcluding(T *item) {
        if (item->*myNext) {
            (item->*myNext)->*myPrev = nullptr;
        }
        item->*myNext = nullptr;
        last_ = item;
    }
    void CutRightIncluding(T *item) {
        last_ = item->*myPrev;
        (last_ ? last_->*myNext : first_) = nullptr;
        item->*myPrev = nullptr;
    }

    ForwardListIterator<T, myNext> begin() {
        return ForwardListIterator<T, myNext>(first_);
    }
    ForwardListIterator<T, myNext> end() {
        return ForwardListIterator<T, myNext>(nullptr);
    }
    ForwardListConstIterator<T, myNext> begin() const {
        return ForwardListConstIterator<T, myNext>(first_);
    }
    ForwardListConstIterator<T, myNext> end() const {
        return ForwardListConstIterator<T, myNext>(nullptr);
    }

  private:
    /* Puts linked items between two neighbors, either of which may be missing. */
    void Link(T *prev, T *first, T *last, T *next) {
        first->*myPrev = prev;
        last->*myNext = next;
        (prev ? prev->*myNext : first_) = first;
        (next ? next->*myPrev : last_) = last;
    }

    T *first_ = nullptr;
    T *last_ = nullptr;
};

} // namespace box
} // namespace mg

#endif
