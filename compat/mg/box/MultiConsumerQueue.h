/*
 * A queue of pointers for one producer and many consumers. It consists of sub-queues of one size.
 * In a sub-queue an item is taken by one atomic step; a lock is taken when a sub-queue begins or
 * ends. Each consumer is an object of its own. A sub-queue is used again when its items are taken,
 * no consumer is in it or in one before it, and the producer has left it.
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
        : size_(subQueueSize), count_(0), consumers_(0), pending_(0) {
        MG_BOX_ASSERT(subQueueSize > 0);
        first_ = Make();
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
    /* Consumers see the item after the next flush, or when the sub-queue after its own begins. */
    bool PushPending(T *item) {
        bool wasFlushed = false;
        if (written_->written == size_) {
            wasFlushed = FlushPending();
            Next();
        }
        written_->items[written_->written++] = item;
        pending_++;
        return wasFlushed;
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
            unused_.push_back(Make());
        }
    }

    uint32_t Count() {
        return count_.LoadRelaxed();
    }
    uint32_t ConsumerCount() {
        return consumers_.LoadRelaxed();
    }
    /* Those that are in use, and those that are kept for later. */
    uint32_t SubQueueCount() {
        MutexLock lock(mutex_);
        return static_cast<uint32_t>(all_.size());
    }

  private:
    friend class MultiConsumerQueueConsumer<T>;

    struct SubQueue {
        explicit SubQueue(uint32_t size) : items(size) {
            Reset();
        }
        void Reset() {
            ready.StoreRelaxed(0);
            taken.StoreRelaxed(0);
            written = 0;
            users = 0;
            next = nullptr;
        }
        std::vector<T *> items;
        AtomicU32 ready;  /* how many of them consumers may take */
        AtomicU32 taken;  /* how many they have taken */
        uint32_t written; /* how many the producer has written */
        uint32_t users;   /* how many consumers are in it: with the lock, as the next */
        SubQueue *next;
    };

    SubQueue *Make() {
        all_.emplace_back(new SubQueue(size_));
        return all_.back().get();
    }
    /* The producer goes on to a new sub-queue, or to one that is used again. */
    void Next() {
        MutexLock lock(mutex_);
        SubQueue *sub;
        if (unused_.empty()) {
            sub = Make();
        } else {
            sub = unused_.back();
            unused_.pop_back();
        }
        written_->next = sub;
        written_ = sub;
    }
    /* A consumer enters the first sub-queue that has items left, or is the last. */
    SubQueue *Enter() {
        MutexLock lock(mutex_);
        SubQueue *sub = first_;
        while (sub->next && sub->taken.LoadRelaxed() == size_) {
            sub = sub->next;
        }
        sub->users++;
        return sub;
    }
    void Leave(SubQueue *sub) {
        MutexLock lock(mutex_);
        sub->users--;
        while (first_->next && first_->users == 0 && first_->taken.LoadRelaxed() == size_) {
            SubQueue *ended = first_;
            first_ = ended->next;
            ended->Reset();
            unused_.push_back(ended);
        }
    }

    const uint32_t size_;
    AtomicU32 count_;
    AtomicU32 consumers_;
    SubQueue *written_; /* the producer's, like the next one */
    uint32_t pending_;
    Mutex mutex_; /* the following ones, and the list of sub-queues */
    SubQueue *first_;
    std::vector<SubQueue *> unused_;
    std::vector<std::unique_ptr<SubQueue>> all_;
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
        sub_ = queue_->Enter();
    }
    void Detach() {
        if (queue_) {
            queue_->Leave(sub_);
            queue_->consumers_.Decrement();
            queue_ = nullptr;
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
            auto left = sub_;
            sub_ = queue_->Enter();
            queue_->Leave(left);
            if (sub_ == left) {
                return nullptr;
            }
        }
    }

  private:
    MultiConsumerQueue<T> *queue_ = nullptr;
    typename MultiConsumerQueue<T>::SubQueue *sub_ = nullptr;
};

} // namespace box
} // namespace mg

#endif
