/*
 * A queue of pointers for one producer and many consumers. It consists of sub-queues of one size.
 * In a sub-queue an item is taken by one atomic step; a lock is taken when a sub-queue begins or
 * ends. Each consumer is an object of its own, which keeps its sub-queue alive.
 */
#ifndef THRUM_COMPAT_MG_BOX_MULTICONSUMERQUEUE_H
#define THRUM_COMPAT_MG_BOX_MULTICONSUMERQUEUE_H

#include <memory>
#include <vector>

#include "mg/box/Atomic.h"
#include "mg/box/Mutex.h"

namespace mg {
namespace box {

template <typename T> class MultiConsumerQueueConsumer;

template <typename T> class MultiConsumerQueue {
  public:
    explicit MultiConsumerQueue(uint32_t subQueueSize)
        : size_(subQueueSize), count_(0), consumers_(0), pending_(0), unusedCount_(0) {
        MG_BOX_ASSERT(subQueueSize > 0);
        first_ = std::make_shared<SubQueue>(subQueueSize);
        written_ = first_;
    }
    MultiConsumerQueue(const MultiConsumerQueue &) = delete;
    MultiConsumerQueue &operator=(const MultiConsumerQueue &) = delete;
    ~MultiConsumerQueue() {
        MG_DEV_ASSERT(ConsumerCount() == 0);
    }

    /* Each of these returns whether consumers see items where there were none before. */
    bool Push(T *item) {
        bool wasFlushed = PushPending(item);
        return FlushPending() || wasFlushed;
    }
    /* Consumers see the item after the next flush, or when the sub-queue is full. */
    bool PushPending(T *item) {
        SubQueue *sub = written_.get();
        sub->items[sub->written++] = item;
        pending_++;
        if (sub->written < size_) {
            return false;
        }
        bool wasEmpty = FlushPending();
        written_ = Next();
        return wasEmpty;
    }
    bool FlushPending() {
        uint32_t flushed = pending_;
        if (flushed == 0) {
            return false;
        }
        pending_ = 0;
        uint32_t before = count_.FetchAdd(flushed);
        written_->ready.StoreRelease(written_->written);
        return before == 0;
    }

    /* Makes sub-queues for this many items beforehand. */
    void Reserve(uint32_t count) {
        MutexLock lock(mutex_);
        while (uint64_t(unused_.size() + 1) * size_ < count) {
            unused_.push_back(std::make_shared<SubQueue>(size_));
        }
        unusedCount_.StoreRelaxed(static_cast<uint32_t>(unused_.size()));
    }

    uint32_t Count() {
        return count_.LoadRelaxed();
    }
    uint32_t ConsumerCount() {
        return consumers_.LoadRelaxed();
    }
    /* Those that hold items, and those that are kept for later. */
    uint32_t SubQueueCount() {
        MutexLock lock(mutex_);
        uint32_t count = unusedCount_.LoadRelaxed();
        for (SubQueue *sub = first_.get(); sub; sub = sub->next.get()) {
            count++;
        }
        return count;
    }

  private:
    friend class MultiConsumerQueueConsumer<T>;

    struct SubQueue {
        explicit SubQueue(uint32_t size) : items(size), ready(0), taken(0), written(0) {
        }
        std::vector<T *> items;
        AtomicU32 ready;                /* how many of them consumers may take */
        AtomicU32 taken;                /* how many they have taken */
        uint32_t written;               /* how many the producer has written */
        std::shared_ptr<SubQueue> next; /* with the lock */
    };

    /* A new sub-queue behind the last one, by the producer. */
    std::shared_ptr<SubQueue> Next() {
        MutexLock lock(mutex_);
        std::shared_ptr<SubQueue> sub;
        if (unused_.empty()) {
            sub = std::make_shared<SubQueue>(size_);
        } else {
            sub = unused_.back();
            unused_.pop_back();
            unusedCount_.StoreRelaxed(static_cast<uint32_t>(unused_.size()));
        }
        written_->next = sub;
        return sub;
    }
    /* The sub-queue with the first item that is not taken, or an empty one. */
    std::shared_ptr<SubQueue> First() {
        MutexLock lock(mutex_);
        while (first_->next && first_->taken.LoadRelaxed() == size_) {
            first_ = std::shared_ptr<SubQueue>(first_->next);
        }
        return first_;
    }

    const uint32_t size_;
    AtomicU32 count_;
    AtomicU32 consumers_;
    std::shared_ptr<SubQueue> written_; /* the producer's, like the next two */
    uint32_t pending_;
    AtomicU32 unusedCount_;
    Mutex mutex_; /* the list of sub-queues, and the unused ones */
    std::shared_ptr<SubQueue> first_;
    std::vector<std::shared_ptr<SubQueue>> unused_;
};

template <typename T> class MultiConsumerQueueConsumer {
  public:
    MultiConsumerQueueConsumer() = default;
    explicit MultiConsumerQueueConsumer(MultiConsumerQueue<T> *queue) {
        Attach(queue);
    }
    MultiConsumerQueueConsumer(const MultiConsumerQueueConsumer &) = delete;
    MultiConsumerQueueConsumer &operator=(const MultiConsumerQueueConsumer &) = delete;
    ~MultiConsumerQueueConsumer() {
        Detach();
    }

    void Attach(MultiConsumerQueue<T> *queue) {
        MG_DEV_ASSERT(!queue_);
        queue_ = queue;
        queue_->consumers_.Increment();
        sub_ = queue_->First();
    }
    void Detach() {
        if (queue_) {
            queue_->consumers_.Decrement();
            queue_ = nullptr;
            sub_.reset();
        }
    }

    /* The next item, or nullptr. */
    T *Pop() {
        for (;;) {
            uint32_t at = sub_->taken.LoadRelaxed();
            while (at < sub_->ready.LoadAcquire()) {
                if (sub_->taken.CmpExchgWeakAcqRel(at, at + 1)) {
                    queue_->count_.Decrement();
                    return sub_->items[at];
                }
            }
            if (at < queue_->size_) {
                return nullptr;
            }
            auto next = queue_->First();
            if (next == sub_) {
                return nullptr;
            }
            sub_ = next;
        }
    }

  private:
    MultiConsumerQueue<T> *queue_ = nullptr;
    std::shared_ptr<typename MultiConsumerQueue<T>::SubQueue> sub_;
};

} // namespace box
} // namespace mg

#endif
