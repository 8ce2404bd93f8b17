/*
 * marl/thread.h: threads of the system, and the processors that they may run on.
 */
#ifndef THRUM_COMPAT_MARL_THREAD_H
#define THRUM_COMPAT_MARL_THREAD_H

#include "containers.h"
#include "export.h"

#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <initializer_list>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <pthread.h>
#include <sched.h>
#endif

namespace marl {

class Thread {
  public:
    using Func = std::function<void()>;

    /* A processor, by the number that the system gives it. */
    struct Core {
        struct Windows {
            uint8_t group; /* of up to 64 processors */
            uint8_t index; /* in the group */
        };
        struct Pthread {
            uint16_t index;
        };
        union {
            Windows windows;
            Pthread pthread;
        };

        bool operator==(const Core &other) const {
            return pthread.index == other.pthread.index;
        }
        bool operator<(const Core &other) const {
            return pthread.index < other.pthread.index;
        }
    };

    /* A set of processors. */
    struct Affinity {
        /* Whether threads can be tied to processors on this system. */
#if defined(_WIN32) || (defined(__linux__) && !defined(__ANDROID__))
        static constexpr bool supported = true;
#else
        static constexpr bool supported = false;
#endif

        /* Chooses the processors of each worker thread. */
        class Policy {
          public:
            virtual ~Policy() {
            }

            /* All processors of the set; on Windows, those of one group. */
            static std::shared_ptr<Policy> anyOf(Affinity &&affinity,
                                                 Allocator *allocator = Allocator::Default);

            /* The processor `threadId % affinity.count()` of the set. */
            static std::shared_ptr<Policy> oneOf(Affinity &&affinity,
                                                 Allocator *allocator = Allocator::Default);

            virtual Affinity get(uint32_t threadId, Allocator *allocator) const = 0;
        };

        Affinity(Allocator *allocator) : cores(allocator) {
        }
        Affinity(Affinity &&other) : cores(std::move(other.cores), other.cores.allocator) {
        }
        Affinity(const Affinity &other, Allocator *allocator) : cores(other.cores, allocator) {
        }
        Affinity(std::initializer_list<Core> list, Allocator *allocator) : cores(allocator) {
            cores.reserve(list.size());
            for (const Core &core : list) {
                cores.push_back(core);
            }
        }
        Affinity(const containers::vector<Core, 32> &list, Allocator *allocator)
            : cores(list, allocator) {
        }
        Affinity(const Affinity &) = delete;

        /* The processors that the caller may run on; none if that is not supported. */
        static Affinity all(Allocator *allocator = Allocator::Default);

        std::size_t count() const {
            return cores.size();
        }
        Core operator[](std::size_t index) const {
            return cores[index];
        }

        /* The set is in the order of the numbers afterwards. */
        Affinity &add(const Affinity &other) {
            for (const Core &core : other.cores) {
                if (!has(core)) {
                    cores.push_back(core);
                }
            }
            std::sort(cores.begin(), cores.end());
            return *this;
        }

        Affinity &remove(const Affinity &other) {
            Core *end = std::remove_if(cores.begin(), cores.end(),
                                       [&other](const Core &core) { return other.has(core); });
            while (cores.end() != end) {
                cores.pop_back();
            }
            return *this;
        }

        /* Ties the calling thread to the set, unless that is empty. thrum's part of this class. */
        void apply() const;

      private:
        bool has(const Core &core) const {
            return std::find(cores.begin(), cores.end(), core) != cores.end();
        }

        containers::vector<Core, 32> cores;
    };

    Thread() = default;
    Thread(Thread &&) = default;

    /* Starts a thread on these processors. It must be joined. */
    Thread(Affinity &&affinity, Func &&func) : thread(Start{std::move(affinity), std::move(func)}) {
    }

    /* A thread that this object had must have been joined. */
    Thread &operator=(Thread &&) = default;

    void join() {
        MARL_ASSERT(thread.joinable(), "join() of a thread that does not run")
        thread.join();
    }

    /* Names the calling thread, in the manner of printf. The system may keep only 15 bytes. */
    static void setName(const char *format, ...);

    /* The number of processors that are online. */
    static unsigned int numLogicalCPUs();

  private:
    struct Start {
        void operator()() {
            affinity.apply();
            func();
        }
        Affinity affinity;
        Func func;
    };

    std::thread thread;
};

namespace detail {

class AnyOf : public Thread::Affinity::Policy {
  public:
    AnyOf(Thread::Affinity &&of) : all(std::move(of)) {
    }

    Thread::Affinity get(uint32_t threadId, Allocator *allocator) const override {
#if defined(_WIN32)
        Thread::Affinity out(allocator);
        for (std::size_t i = 0; i < all.count(); i++) {
            if (all[i].windows.group == all[threadId % all.count()].windows.group) {
                out.add(Thread::Affinity({all[i]}, allocator));
            }
        }
        return out;
#else
        (void)threadId;
        return Thread::Affinity(all, allocator);
#endif
    }

  private:
    Thread::Affinity all;
};

class OneOf : public Thread::Affinity::Policy {
  public:
    OneOf(Thread::Affinity &&of) : all(std::move(of)) {
    }

    Thread::Affinity get(uint32_t threadId, Allocator *allocator) const override {
        Thread::Affinity out(allocator);
        if (all.count() != 0) {
            out.add(Thread::Affinity({all[threadId % all.count()]}, allocator));
        }
        return out;
    }

  private:
    Thread::Affinity all;
};

} // namespace detail

inline std::shared_ptr<Thread::Affinity::Policy>
Thread::Affinity::Policy::anyOf(Affinity &&affinity, Allocator *allocator) {
    return allocator->make_shared<detail::AnyOf>(std::move(affinity));
}

inline std::shared_ptr<Thread::Affinity::Policy>
Thread::Affinity::Policy::oneOf(Affinity &&affinity, Allocator *allocator) {
    return allocator->make_shared<detail::OneOf>(std::move(affinity));
}

#if defined(_WIN32)

inline Thread::Affinity Thread::Affinity::all(Allocator *allocator) {
    Affinity out(allocator);
    const WORD groups = GetActiveProcessorGroupCount();
    for (WORD group = 0; group < groups; group++) {
        const DWORD n = GetActiveProcessorCount(group);
        for (DWORD i = 0; i < n; i++) {
            Core core;
            core.windows.group = static_cast<uint8_t>(group);
            core.windows.index = static_cast<uint8_t>(i);
            out.cores.push_back(core);
        }
    }
    return out;
}

inline void Thread::Affinity::apply() const {
    GROUP_AFFINITY set = {};
    for (const Core &core : cores) { /* a thread has one group: that of the first */
        set.Group = cores[0].windows.group;
        if (core.windows.group == set.Group) {
            set.Mask |= KAFFINITY(1) << core.windows.index;
        }
    }
    if (set.Mask != 0) {
        (void)SetThreadGroupAffinity(GetCurrentThread(), &set, nullptr);
    }
}

inline unsigned int Thread::numLogicalCPUs() {
    return GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
}

#else

inline Thread::Affinity Thread::Affinity::all(Allocator *allocator) {
    Affinity out(allocator);
#if defined(__linux__)
    cpu_set_t set;
    CPU_ZERO(&set);
    if (supported && sched_getaffinity(0, sizeof set, &set) == 0) {
        for (unsigned i = 0; i < CPU_SETSIZE; i++) {
            if (CPU_ISSET(i, &set)) {
                Core core;
                core.pthread.index = static_cast<uint16_t>(i);
                out.cores.push_back(core);
            }
        }
    }
#endif
    return out;
}

inline void Thread::Affinity::apply() const {
#if defined(__linux__)
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const Core &core : cores) {
        if (core.pthread.index < CPU_SETSIZE) {
            CPU_SET(core.pthread.index, &set);
        }
    }
    if (CPU_COUNT(&set) != 0) {
        (void)sched_setaffinity(0, sizeof set, &set);
    }
#endif
}

inline unsigned int Thread::numLogicalCPUs() {
    return static_cast<unsigned int>(sysconf(_SC_NPROCESSORS_ONLN));
}

#endif

inline void Thread::setName(const char *format, ...) {
    char name[16];
    va_list args;
    va_start(args, format);
    (void)std::vsnprintf(name, sizeof name, format, args);
    va_end(args);
#if defined(__linux__)
    (void)pthread_setname_np(pthread_self(), name);
#endif
}

} // namespace marl

#endif
