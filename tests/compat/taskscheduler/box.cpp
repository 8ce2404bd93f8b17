/*
 * box.cpp: the parts of mg/box beside the scheduler: lists, heaps, queues, threads and times.
 */
#include "check.h"

#include <memory>
#include <vector>

#include "mg/box/BinaryHeap.h"
#include "mg/box/DoublyList.h"
#include "mg/box/ForwardList.h"
#include "mg/box/MultiConsumerQueue.h"
#include "mg/box/MultiProducerQueueIntrusive.h"
#include "mg/box/QPTimer.h"
#include "mg/box/Signal.h"
#include "mg/box/ThreadFunc.h"
#include "mg/test/Random.h"

#include "compat/taskscheduler/common.hpp"

namespace {

struct Item {
    explicit Item(int number = 0) : value(number), myNext(nullptr), myPrev(nullptr), myIndex(-1) {
    }
    bool operator<=(const Item &other) const {
        return value <= other.value;
    }
    bool operator>=(const Item &other) const {
        return value >= other.value;
    }
    int value;
    Item *myNext;
    Item *myPrev;
    int32_t myIndex;
};

template <typename List> int digits(List &list) {
    int number = 0;
    for (Item *item : list) {
        number = number * 10 + item->value;
    }
    return number;
}

} // namespace

TEST(forward_lists) {
    /* Items at both ends and in between, moves, and what is taken out. */
    Item items[6];
    for (int i = 0; i < 6; i++) {
        items[i].value = i;
    }
    mg::box::ForwardList<Item> list;
    CHECK(list.IsEmpty() && !list.GetLast());
    list.Append(&items[2]);
    list.Prepend(&items[1]);
    list.Insert(&items[2], &items[4]);
    list.Insert(&items[2], &items[3]);
    list.Insert(nullptr, &items[5]);
    CHECK_EQ(digits(list), 51234);
    list.Reverse();
    CHECK_EQ(digits(list), 43215);
    CHECK(list.GetFirst() == &items[4] && list.GetLast() == &items[5]);
    mg::box::ForwardList<Item> other(std::move(list));
    CHECK(list.IsEmpty());
    CHECK(other.PopFirst() == &items[4]);
    list.Append(&items[4]);
    list.Append(std::move(other));
    CHECK_EQ(digits(list), 43215);
    Item *last;
    CHECK(list.PopAll(last) == &items[4] && last == &items[5] && list.IsEmpty());
    list = mg::box::ForwardList<Item>(&items[0], &items[0]);
    CHECK(list.PopFirst() == &items[0] && list.IsEmpty() && !list.GetLast());
}

TEST(doubly_linked_lists) {
    /* Removal anywhere, and cuts at an item. */
    Item items[6];
    for (int i = 0; i < 6; i++) {
        items[i].value = i;
    }
    mg::box::DoublyList<Item> list;
    for (int i = 1; i < 6; i++) {
        list.Append(&items[i]);
    }
    list.Remove(&items[3]);
    list.Insert(&items[1], &items[3]);
    CHECK_EQ(digits(list), 13245);
    CHECK(list.PopFirst() == &items[1] && list.PopLast() == &items[5]);
    list.Prepend(&items[5]);
    list.Reverse();
    CHECK_EQ(digits(list), 4235);
    list.CutLeftExcluding(&items[2]);
    CHECK_EQ(digits(list), 235);
    list.CutRightExcluding(&items[3]);
    list.CutLeftIncluding(&items[2]);
    CHECK(list.GetFirst() == &items[3] && list.GetLast() == &items[3]);
    list.CutRightIncluding(&items[3]);
    CHECK(list.IsEmpty() && !list.GetLast());
}

TEST(heaps) {
    /* The top is the least or the greatest; intrusive heaps update and remove any item. */
    mg::box::BinaryHeapMin<int> least;
    mg::box::BinaryHeapMax<int> greatest;
    std::vector<int> numbers;
    for (int i = 0; i < 100; i++) {
        numbers.push_back(static_cast<int>(mg::tst::RandomUniformUInt32(0, 50)));
        least.Push(numbers.back());
        greatest.Push(numbers.back());
    }
    int before = -1, value = 0;
    while (least.Pop(value)) {
        CHECK(before <= value);
        before = value;
    }
    while (greatest.Pop(value)) {
        CHECK(before >= value);
        before = value;
    }
    Item items[20];
    mg::box::BinaryHeapMinIntrusive<Item> heap;
    for (int i = 0; i < 20; i++) {
        items[i].value = i;
        heap.Push(&items[i]);
    }
    items[0].value = 100;
    heap.UpdateTop();
    items[7].value = -1;
    heap.Update(&items[7]);
    CHECK(heap.GetTop() == &items[7]);
    heap.Remove(&items[1]);
    CHECK(items[1].myIndex == -1 && heap.Count() == 19);
    Item *top = nullptr;
    int last = -2;
    while (heap.Pop(top)) {
        CHECK(top->value > last && top->myIndex == -1);
        last = top->value;
    }
    CHECK_EQ(last, 100);
}

TEST(a_queue_of_many_producers) {
    /* One consumer gets all items of each producer in their order. */
    const int producers = 3, each = 2000;
    std::vector<Item> items(producers * each);
    mg::box::MultiProducerQueueIntrusive<Item> queue;
    CHECK(queue.IsEmpty());
    std::vector<std::unique_ptr<mg::box::ThreadFunc>> threads;
    for (int p = 0; p < producers; p++) {
        threads.emplace_back(new mg::box::ThreadFunc([&, p] {
            for (int i = 0; i < each; i++) {
                items[static_cast<size_t>(p * each + i)].value = p * each + i;
                queue.Push(&items[static_cast<size_t>(p * each + i)]);
            }
        }));
        threads.back()->Start();
    }
    std::vector<int> next(producers);
    for (int left = producers * each; left > 0;) {
        for (Item *item = queue.PopAll(); item; item = item->myNext) {
            int p = item->value / each;
            CHECK_EQ(item->value % each, next[static_cast<size_t>(p)]++);
            left--;
        }
    }
    items[0].myNext = &items[1];
    items[1].myNext = nullptr;
    CHECK(queue.PushMany(&items[0]) && !queue.Push(&items[2]));
    Item *last;
    CHECK(queue.PopAll(last) == &items[0] && last == &items[2] && items[1].myNext == &items[2]);
}

TEST(a_queue_of_many_consumers) {
    /* Each item goes to one consumer, in the order of the queue, over sub-queues of few items. */
    const int count = 5000;
    std::vector<Item> items(count);
    mg::box::MultiConsumerQueue<Item> queue(7);
    queue.Reserve(20);
    CHECK_EQ(queue.SubQueueCount(), 3);
    mg::box::AtomicU32 taken(0);
    std::vector<std::unique_ptr<mg::box::ThreadFunc>> threads;
    for (int c = 0; c < 3; c++) {
        threads.emplace_back(new mg::box::ThreadFunc([&] {
            mg::box::MultiConsumerQueueConsumer<Item> consumer(&queue);
            int before = -1;
            while (taken.Load() < count) {
                if (Item *item = consumer.Pop()) {
                    CHECK(item->value > before);
                    before = item->value;
                    taken.Increment();
                }
            }
        }));
        threads.back()->Start();
    }
    for (int i = 0; i < count; i++) {
        items[static_cast<size_t>(i)].value = i;
        if (i % 3 == 0) {
            queue.Push(&items[static_cast<size_t>(i)]);
        } else {
            queue.PushPending(&items[static_cast<size_t>(i)]);
        }
    }
    queue.FlushPending();
    threads.clear();
    CHECK_EQ(taken.Load(), count);
    CHECK(queue.Count() == 0 && queue.ConsumerCount() == 0);
    CHECK(queue.Push(&items[0]) && !queue.Push(&items[1]));
    mg::box::MultiConsumerQueueConsumer<Item> consumer;
    consumer.Attach(&queue);
    CHECK(consumer.Pop() == &items[0] && consumer.Pop() == &items[1] && !consumer.Pop());
}

TEST(a_queue_of_many_consumers_begins_a_sub_queue_late) {
    /* A full sub-queue is flushed by the push of the item after it, which begins the next one. */
    std::vector<Item> items(7);
    mg::box::MultiConsumerQueue<Item> queue(3);
    mg::box::MultiConsumerQueueConsumer<Item> consumer(&queue);
    for (size_t i = 0; i < 3; i++) {
        CHECK(!queue.PushPending(&items[i]));
    }
    CHECK(queue.Count() == 0 && queue.SubQueueCount() == 1 && !consumer.Pop());
    CHECK(queue.PushPending(&items[3]));
    CHECK(queue.Count() == 3 && queue.SubQueueCount() == 2);
    CHECK(consumer.Pop() == &items[0]);
    CHECK(!queue.FlushPending() && !queue.FlushPending());
    CHECK_EQ(queue.Count(), 3);
}

TEST(a_queue_of_many_consumers_uses_its_sub_queues_again) {
    /* As soon as their items are taken, and no consumer is in one of them or before it. */
    std::vector<Item> items(8);
    mg::box::MultiConsumerQueue<Item> queue(2);
    mg::box::MultiConsumerQueueConsumer<Item> ahead(&queue);
    mg::box::MultiConsumerQueueConsumer<Item> behind(&queue);
    const auto push = [&](size_t from, size_t to) {
        for (size_t i = from; i < to; i++) {
            queue.Push(&items[i]);
        }
    };
    push(0, 6);
    for (size_t i = 0; i < 4; i++) {
        CHECK(ahead.Pop() == &items[i]);
    }
    CHECK_EQ(queue.SubQueueCount(), 3);
    ahead.Detach();
    push(6, 7);
    CHECK_EQ(queue.SubQueueCount(), 4);
    behind.Detach();
    push(7, 8);
    push(0, 4);
    CHECK_EQ(queue.SubQueueCount(), 4);
    ahead.Attach(&queue);
    for (size_t i : {4, 5, 6, 7, 0, 1, 2, 3}) {
        CHECK(ahead.Pop() == &items[i]);
    }
    CHECK(!ahead.Pop());
}

TEST(threads_and_times) {
    /* A thread ends when it is asked to; limits of time are points and durations. */
    mg::box::Signal signal;
    mg::box::Mutex mutex;
    mg::box::ThreadFunc thread("named", [&] {
        mg::box::MutexLock lock(mutex);
        signal.Send();
    });
    thread.Start();
    CHECK(signal.ReceiveTimed(mg::box::theTimeDurationInf));
    thread.BlockingStop();
    CHECK(!thread.IsRunning() && mutex.TryLock() && mutex.IsOwnedByThisThread());
    mutex.Unlock();
    CHECK(!signal.ReceiveTimed(mg::box::TimeDuration(1)));
    mg::box::TimePoint past(1);
    CHECK_EQ(mg::box::TimeLimit(past).ToDurationFromNow().myValue, 0);
    CHECK(mg::box::theTimeDurationInf.ToPointFromNow().myValue == MG_TIME_INFINITE);
    CHECK_EQ(mg::box::TimeDuration(-5).myValue, 0);
    CHECK(mg::box::GetMillisecondsPrecise() > 0);
    mg::box::AtomicI32 word(3);
    int32_t expected = 4;
    CHECK(!word.CmpExchgStrong(expected, 5) && expected == 3);
    CHECK(word.FetchAdd(2) == 3 && word.SubFetch(1) == 4 && word.FetchBitOr(3) == 4);
    word.BitOr(8);
    word.BitAndAcquire(13);
    CHECK_EQ(word.Load(), 13);
    CHECK(mg::box::GetCurrentThreadId() == mg::box::GetCurrentThreadId());
}
