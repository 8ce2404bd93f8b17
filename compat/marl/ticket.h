/*
 * marl/ticket.h: tickets, which are called one by one in the order in which they were taken. A
 * ticket is called when all that were taken before it are done. Copies are one and the same ticket;
 * when the last of them ends, the ticket is done.
 */
#ifndef THRUM_COMPAT_MARL_TICKET_H
#define THRUM_COMPAT_MARL_TICKET_H

#include "conditionvariable.h"
#include "containers.h"
#include "scheduler.h"

#include <functional>
#include <memory>
#include <utility>

namespace marl {

class Ticket {
    struct Record;

    /* The tickets of a queue that are not done, in their order. */
    struct Shared {
        marl::mutex mutex;
        Record *first = nullptr; /* this one is called */
        Record *last = nullptr;
    };

  public:
    using OnCall = std::function<void()>;

    /* Copies of a queue are one and the same queue. */
    class Queue {
      public:
        Ticket take() {
            std::shared_ptr<Record> made = std::make_shared<Record>(shared);
            marl::lock held(shared->mutex);
            made->enter();
            return Ticket(std::move(made));
        }

        /* Takes that many, which follow each other, and calls f with each of them. */
        template <typename F> void take(std::size_t count, const F &f) {
            containers::vector<Ticket, 16> taken;
            {
                marl::lock held(shared->mutex);
                for (std::size_t i = 0; i < count; i++) {
                    std::shared_ptr<Record> made = std::make_shared<Record>(shared);
                    made->enter();
                    taken.emplace_back(Ticket(std::move(made)));
                }
            }
            for (Ticket &ticket : taken) {
                f(std::move(ticket));
            }
        }

      private:
        std::shared_ptr<Shared> shared = std::make_shared<Shared>();
    };

    Ticket() = default;

    /* Waits until the ticket is called. */
    void wait() const {
        Record *of = record.get();
        marl::lock held(of->queue->mutex);
        of->call.wait(held, [of] { return of->called; });
    }

    /* Calls the next ticket, if this one was called, or as soon as those before it are done. */
    void done() const {
        record->finish();
    }

    /* Schedules f when the ticket is called; at once if it was. Several of them run in order. */
    template <typename F> void onCall(F &&f) const {
        {
            marl::lock held(record->queue->mutex);
            if (!record->called) {
                record->follow(OnCall(std::forward<F>(f)));
                return;
            }
        }
        schedule(std::forward<F>(f));
    }

  private:
    struct Record {
        Record(const std::shared_ptr<Shared> &of) : queue(of) {
        }
        ~Record() {
            finish();
        }

        /* With the queue's mutex held, as all but finish. */
        void enter() {
            prev = queue->last;
            (prev ? prev->next : queue->first) = this;
            queue->last = this;
            listed = true;
            called = !prev;
        }

        void leave() {
            (prev ? prev->next : queue->first) = next;
            (next ? next->prev : queue->last) = prev;
            listed = false;
        }

        void follow(OnCall &&f) {
            if (!on_call) {
                on_call = std::move(f);
                return;
            }
            const OnCall before = std::move(on_call);
            const OnCall after = std::move(f);
            on_call = [before, after] {
                before();
                after();
            };
        }

        void finish() {
            OnCall to_schedule;
            {
                marl::lock held(queue->mutex);
                if (!listed) {
                    return;
                }
                leave();
                Record *head = queue->first;
                if (head && !head->called) {
                    head->called = true;
                    head->call.notify_all();
                    to_schedule.swap(head->on_call);
                }
            }
            if (to_schedule) {
                schedule(std::move(to_schedule));
            }
        }

        const std::shared_ptr<Shared> queue;
        ConditionVariable call;
        Record *next = nullptr;
        Record *prev = nullptr;
        bool listed = false; /* it is not done */
        bool called = false;
        OnCall on_call;
    };

    explicit Ticket(std::shared_ptr<Record> &&of) : record(std::move(of)) {
    }

    std::shared_ptr<Record> record;
};

} // namespace marl

#endif
