/*
 * marl/memory.h: allocators. A class derived from Allocator provides the memory of schedulers,
 * tasks and containers. A call of free gets the whole Allocation that allocate returned, so an
 * allocator need not keep sizes.
 */
#ifndef THRUM_COMPAT_MARL_MEMORY_H
#define THRUM_COMPAT_MARL_MEMORY_H

#include "debug.h"
#include "export.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#if defined(_WIN32)
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>
#else
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace marl {

/* The next multiple of the alignment. */
template <typename T> inline T alignUp(T value, T alignment) {
    return (value + alignment - 1) / alignment * alignment;
}

template <std::size_t SIZE, std::size_t ALIGNMENT> struct aligned_storage {
    struct alignas(ALIGNMENT) type {
        unsigned char data[SIZE];
    };
};

/* What is asked for, and what came of it. */
struct Allocation {
    enum class Usage : uint8_t {
        Undefined,
        Stack,  /* never asked for here: thrum's stacks are mappings of the system */
        Create, /* create, make_unique, make_shared */
        Vector, /* containers::vector */
        List,   /* containers::list */
        Stl,    /* StlAllocator */
        Count   /* none: the number of the others */
    };

    struct Request {
        std::size_t size = 0;      /* bytes */
        std::size_t alignment = 0; /* bytes, a power of two; 0: any */
        union {
            bool useGuards = false; /* whether a page before and one after it fault */
            bool use_guards;        /* its older name */
        };
        Usage usage = Usage::Undefined; /* for statistics */
    };

    void *ptr = nullptr;
    Request request;
};

class Allocator;

namespace detail {

#if defined(_WIN32)
inline std::size_t page_size() {
    SYSTEM_INFO info;
    GetSystemInfo(&info);
    return info.dwPageSize;
}
inline void *map_pages(std::size_t bytes) {
    return VirtualAlloc(nullptr, bytes, MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE);
}
inline void unmap_pages(void *at, std::size_t) {
    (void)VirtualFree(at, 0, MEM_RELEASE);
}
inline bool close_page(void *at) {
    DWORD before;
    return VirtualProtect(at, page_size(), PAGE_NOACCESS, &before) != 0;
}
#else
inline std::size_t page_size() {
    return static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}
inline void *map_pages(std::size_t bytes) {
    void *at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? nullptr : at;
}
inline void unmap_pages(void *at, std::size_t bytes) {
    (void)munmap(at, bytes);
}
inline bool close_page(void *at) {
    return mprotect(at, page_size(), PROT_NONE) == 0;
}
#endif

/* Memory between two pages that fault. The alignment is that of a page. */
inline void *guarded_malloc(std::size_t size) {
    const std::size_t page = page_size();
    const std::size_t inside = alignUp(size, page);
    char *at = static_cast<char *>(map_pages(inside + 2 * page));
    if (at && (!close_page(at) || !close_page(at + page + inside))) {
        unmap_pages(at, inside + 2 * page);
        at = nullptr;
    }
    return at ? at + page : nullptr;
}

inline void guarded_free(void *ptr, std::size_t size) {
    const std::size_t page = page_size();
    unmap_pages(static_cast<char *>(ptr) - page, alignUp(size, page) + 2 * page);
}

/* The start of malloc's block is kept right before the memory. */
inline void *aligned_malloc(std::size_t alignment, std::size_t size) {
    char *block = static_cast<char *>(std::malloc(size + alignment + sizeof(void *)));
    if (!block) {
        return nullptr;
    }
    const std::size_t first = reinterpret_cast<std::uintptr_t>(block) + sizeof(void *);
    char *at = block + sizeof(void *) + (alignUp(first, alignment) - first);
    reinterpret_cast<void **>(at)[-1] = block;
    return at;
}

inline void aligned_free(void *ptr) {
    std::free(static_cast<void **>(ptr)[-1]);
}

/*
 * Allocator::Default, in a template: before C++17 only such a static member may be defined in a
 * header.
 */
template <typename Base> struct DefaultAllocator { static Base *Default; };

} // namespace detail

/* The size of a page of the system, in bytes. */
inline std::size_t pageSize() {
    return detail::page_size();
}

/* Default, which a program may replace, allocates by malloc, and guarded memory by mappings. */
class Allocator : public detail::DefaultAllocator<Allocator> {
  public:
    /* Ends the `count` objects that create or make_unique made, and frees them. */
    struct Deleter {
        Deleter() = default;
        Deleter(Allocator *owner, std::size_t n) : allocator(owner), count(n) {
        }

        template <typename T> void operator()(T *object) {
            for (std::size_t i = count; i-- > 0;) {
                object[i].~T();
            }
            Allocation allocation;
            allocation.ptr = object;
            allocation.request = created<T>(count);
            allocator->free(allocation);
        }

        Allocator *allocator = nullptr;
        std::size_t count = 0;
    };

    template <typename T> using unique_ptr = std::unique_ptr<T, Deleter>;

    virtual ~Allocator() = default;

    /* The request in the result is the one that was asked for. */
    virtual Allocation allocate(const Allocation::Request &) = 0;
    virtual void free(const Allocation &) = 0;

    /* An object of this allocator, for destroy. */
    template <typename T, typename... Args> T *create(Args &&...args) {
        void *at = allocate(created<T>(1)).ptr;
        return new (at) T(std::forward<Args>(args)...);
    }

    template <typename T> void destroy(T *object) {
        Deleter(this, 1)(object);
    }

    template <typename T, typename... Args> unique_ptr<T> make_unique(Args &&...args) {
        return unique_ptr<T>(create<T>(std::forward<Args>(args)...), Deleter(this, 1));
    }

    /* An array of n objects, each made of the same arguments; nullptr if n is 0. */
    template <typename T, typename... Args>
    unique_ptr<T> make_unique_n(std::size_t n, const Args &...args) {
        if (n == 0) {
            return unique_ptr<T>(nullptr, Deleter());
        }
        T *first = static_cast<T *>(allocate(created<T>(n)).ptr);
        for (std::size_t i = 0; i < n; i++) {
            new (first + i) T(args...);
        }
        return unique_ptr<T>(first, Deleter(this, n));
    }

    template <typename T, typename... Args> std::shared_ptr<T> make_shared(Args &&...args) {
        return std::shared_ptr<T>(create<T>(std::forward<Args>(args)...), Deleter(this, 1));
    }

  protected:
    Allocator() = default;

  private:
    template <typename T> static Allocation::Request created(std::size_t n) {
        Allocation::Request request;
        request.size = sizeof(T) * n;
        request.alignment = alignof(T);
        request.usage = Allocation::Usage::Create;
        return request;
    }
};

namespace detail {

class SystemAllocator : public Allocator {
  public:
    constexpr SystemAllocator() {
    }

    Allocation allocate(const Allocation::Request &request) override {
        Allocation out;
        out.request = request;
        if (request.useGuards) {
            MARL_ASSERT(request.alignment <= page_size(), "an alignment above that of a page")
            out.ptr = guarded_malloc(request.size);
        } else if (request.alignment > alignof(std::max_align_t)) {
            out.ptr = aligned_malloc(request.alignment, request.size);
        } else {
            out.ptr = std::malloc(request.size != 0 ? request.size : 1);
        }
        if (!out.ptr) {
            stop("marl: ", "there is no memory for %lu bytes",
                 static_cast<unsigned long>(request.size));
        }
        return out;
    }

    void free(const Allocation &allocation) override {
        if (allocation.request.useGuards) {
            guarded_free(allocation.ptr, allocation.request.size);
        } else if (allocation.request.alignment > alignof(std::max_align_t)) {
            aligned_free(allocation.ptr);
        } else {
            std::free(allocation.ptr);
        }
    }
};

template <typename> struct SystemAllocatorHolder { static SystemAllocator instance; };
template <typename T> SystemAllocator SystemAllocatorHolder<T>::instance;

template <typename Base>
Base *DefaultAllocator<Base>::Default = &SystemAllocatorHolder<void>::instance;

} // namespace detail

/* Counts what is allocated from another allocator and not freed yet. */
class TrackedAllocator : public Allocator {
  public:
    struct UsageStats {
        std::size_t count = 0; /* allocations */
        std::size_t bytes = 0; /* as asked for */
    };

    struct Stats {
        std::size_t numAllocations() const {
            std::size_t sum = 0;
            for (const UsageStats &one : byUsage) {
                sum += one.count;
            }
            return sum;
        }

        std::size_t bytesAllocated() const {
            std::size_t sum = 0;
            for (const UsageStats &one : byUsage) {
                sum += one.bytes;
            }
            return sum;
        }

        std::array<UsageStats, static_cast<std::size_t>(Allocation::Usage::Count)> byUsage;
    };

    TrackedAllocator(Allocator *from) : allocator(from) {
    }

    Stats stats() {
        std::lock_guard<std::mutex> guard(mutex);
        return current;
    }

    Allocation allocate(const Allocation::Request &request) override {
        {
            std::lock_guard<std::mutex> guard(mutex);
            UsageStats &usage = of(request);
            usage.count++;
            usage.bytes += request.size;
        }
        return allocator->allocate(request);
    }

    void free(const Allocation &allocation) override {
        {
            std::lock_guard<std::mutex> guard(mutex);
            UsageStats &usage = of(allocation.request);
            MARL_ASSERT(usage.count > 0 && usage.bytes >= allocation.request.size,
                        "TrackedAllocator: more is freed than was allocated")
            usage.count--;
            usage.bytes -= allocation.request.size;
        }
        allocator->free(allocation);
    }

  private:
    UsageStats &of(const Allocation::Request &request) {
        return current.byUsage[static_cast<std::size_t>(request.usage)];
    }

    Allocator *const allocator;
    std::mutex mutex;
    Stats current;
};

/* An Allocator in the shape that the standard's containers take. It must outlive them. */
template <typename T> struct StlAllocator {
    using value_type = T;
    using pointer = T *;
    using const_pointer = const T *;
    using reference = T &;
    using const_reference = const T &;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;

    template <class U> struct rebind { typedef StlAllocator<U> other; };

    StlAllocator(Allocator *from) : allocator(from) {
    }
    template <typename U> StlAllocator(const StlAllocator<U> &other) : allocator(other.allocator) {
    }

    pointer address(reference x) const {
        return std::addressof(x);
    }
    const_pointer address(const_reference x) const {
        return std::addressof(x);
    }

    T *allocate(std::size_t n) {
        return static_cast<T *>(allocator->allocate(request(n)).ptr);
    }

    void deallocate(T *p, std::size_t n) {
        Allocation allocation;
        allocation.ptr = p;
        allocation.request = request(n);
        allocator->free(allocation);
    }

    size_type max_size() const {
        return (std::numeric_limits<size_type>::max)() / sizeof(T);
    }

    template <typename U, typename... Args> void construct(U *p, Args &&...args) {
        ::new (static_cast<void *>(p)) U(std::forward<Args>(args)...);
    }

    template <typename U> void destroy(U *p) {
        p->~U();
    }

    template <typename U> bool operator==(const StlAllocator<U> &other) const {
        return allocator == other.allocator;
    }
    template <typename U> bool operator!=(const StlAllocator<U> &other) const {
        return allocator != other.allocator;
    }

  private:
    static Allocation::Request request(std::size_t n) {
        Allocation::Request out;
        out.size = sizeof(T) * n;
        out.alignment = alignof(T);
        out.usage = Allocation::Usage::Stl;
        return out;
    }

    template <typename U> friend struct StlAllocator;
    Allocator *allocator;
};

} // namespace marl

#endif
