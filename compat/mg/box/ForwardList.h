/*
 * A list of items with links of their own, in one direction: it appends and prepends in constant
 * time, and PopFirst needs an item.
 */
#ifndef THRUM_COMPAT_MG_BOX_FORWARDLIST_H
#define THRUM_COMPAT_MG_BOX_FORWARDLIST_H

#include <utility>

#include "mg/box/TypeTraits.h"

namespace mg {
namespace box {

/* The loop's body may take the current item out of the list, or delete it. */
template <typename T, T *T::*myLink> struct ForwardListIterator {
    explicit ForwardListIterator(T *first) : myPos(first), myNext(first ? first->*myLink : first) {
    }
    ForwardListIterator &operator++() {
        return *this = ForwardListIterator(myNext);
    }
    T *operator*() const {
        return myPos;
    }
    bool operator!=(const ForwardListIterator &other) const {
        return myPos != other.myPos;
    }

    T *myPos;
    T *myNext;
};

template <typename T, T *T::*myLink> struct ForwardListConstIterator {
    explicit ForwardListConstIterator(const T *first) : myPos(first) {
    }
    ForwardListConstIterator &operator++() {
        myPos = myPos->*myLink;
        return *this;
    }
    const T *operator*() const {
        return myPos;
    }
    bool operator!=(const ForwardListConstIterator &other) const {
        return myPos != other.myPos;
    }

    const T *myPos;
};

template <typename T, T *T::*myLink = &T::myNext> struct ForwardList {
    ForwardList() = default;
    ForwardList(T *first, T *last) {
        Append(first, last);
    }
    ForwardList(ForwardList &&other) {
        *this = std::move(other);
    }
    ForwardList &operator=(ForwardList &&other) {
        T *last;
        T *first = other.PopAll(last);
        Clear();
        Append(first, last);
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
        if (!first) {
            return;
        }
        last->*myLink = nullptr;
        (last_ ? last_->*myLink : first_) = first;
        last_ = last;
    }
    void Append(ForwardList &&other) {
        T *last;
        T *first = other.PopAll(last);
        Append(first, last);
    }
    void Prepend(T *item) {
        Prepend(item, item);
    }
    void Prepend(T *first, T *last) {
        if (!first) {
            return;
        }
        last->*myLink = first_;
        first_ = first;
        last_ = last_ ? last_ : last;
    }
    void Prepend(ForwardList &&other) {
        T *last;
        T *first = other.PopAll(last);
        Prepend(first, last);
    }
    /* Behind an item, or, without one, at the beginning. */
    void Insert(T *behind, T *item) {
        if (!behind) {
            return Prepend(item);
        }
        if (behind == last_) {
            return Append(item);
        }
        item->*myLink = behind->*myLink;
        behind->*myLink = item;
    }

    T *PopFirst() {
        T *item = first_;
        first_ = item->*myLink;
        last_ = first_ ? last_ : nullptr;
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
            T *next = item->*myLink;
            Prepend(item);
            item = next;
        }
    }

    ForwardListIterator<T, myLink> begin() {
        return ForwardListIterator<T, myLink>(first_);
    }
    ForwardListIterator<T, myLink> end() {
        return ForwardListIterator<T, myLink>(nullptr);
    }
    ForwardListConstIterator<T, myLink> begin() const {
        return ForwardListConstIterator<T, myLink>(first_);
    }
    ForwardListConstIterator<T, myLink> end() const {
        return ForwardListConstIterator<T, myLink>(nullptr);
    }

  private:
    T *first_ = nullptr;
    T *last_ = nullptr;
};

} // namespace box
} // namespace mg

#endif
