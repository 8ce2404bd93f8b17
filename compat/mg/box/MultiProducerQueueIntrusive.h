/*
 * A queue of items with links of their own, for many producers and one consumer, without locks. It
 * is a stack inside. Pops without Reversed in their name restore the order of the pushes.
 */
#ifndef THRUM_COMPAT_MG_BOX_MULTIPRODUCERQUEUEINTRUSIVE_H
#define THRUM_COMPAT_MG_BOX_MULTIPRODUCERQUEUEINTRUSIVE_H

#include "mg/box/Atomic.h"

namespace mg {
namespace box {

template <typename T, T *T::*myNext = &T::myNext> class MultiProducerQueueIntrusive {
  public:
    MultiProducerQueueIntrusive() : newest_(nullptr) {
    }

    bool IsEmpty() {
        return !newest_.LoadAcquire();
    }

    /* Each push returns whether the queue was empty before it. */
    bool Push(T *item) {
        return PushChain(item, item);
    }
    /* A list: its first item is popped first, or, in the reversed form, its last one. */
    bool PushMany(T *first) {
        T *newest = Reverse(first);
        return newest ? PushChain(newest, first) : IsEmpty();
    }
    bool PushManyFastReversed(T *first) {
        T *last = first;
        while (last && last->*myNext) {
            last = last->*myNext;
        }
        return PushManyFastReversed(first, last);
    }
    bool PushManyFastReversed(T *first, T *last) {
        return first ? PushChain(first, last) : IsEmpty();
    }

    T *PopAllFastReversed() {
        return newest_.ExchangeAcqRel(nullptr);
    }
    T *PopAll() {
        return Reverse(PopAllFastReversed());
    }
    T *PopAll(T *&outLast) {
        outLast = PopAllFastReversed();
        return Reverse(outLast);
    }

  private:
    bool PushChain(T *first, T *last) {
        T *before = newest_.LoadRelaxed();
        do {
            last->*myNext = before;
        } while (!newest_.CmpExchgWeakAcqRel(before, first));
        return !before;
    }
    static T *Reverse(T *list) {
        T *done = nullptr;
        while (list) {
            T *rest = list->*myNext;
            list->*myNext = done;
            done = list;
            list = rest;
        }
        return done;
    }

    Atomic<T *> newest_;
};

} // namespace box
} // namespace mg

#endif
