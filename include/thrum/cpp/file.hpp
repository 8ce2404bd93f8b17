/*
 * thrum/cpp/file.hpp: files and directories. The rules are those of thrum/file.h.
 *
 *     thrum::file log("today.log", THRUM_FILE_WRITE | THRUM_FILE_CREATE);
 *     log.append(line.data(), line.size());
 *     for (const thrum_dir_entry &entry : thrum::dir(".")) { ... }
 *
 * Each call takes a deadline (by default none) and throws std::system_error, past the deadline with
 * ETIMEDOUT. All may suspend.
 */
#ifndef THRUM_CPP_FILE_HPP
#define THRUM_CPP_FILE_HPP

#include <iterator>

#include "thrum/cpp/io.hpp"
#include "thrum/file.h"

namespace thrum {
inline namespace THRUM_CPP_ABI {

/* A file with one owner: an `io` that has places, too. It closes itself, and can be moved. */
class file : public io {
  public:
    file() noexcept = default;
    /* Takes over the result of a C call. */
    explicit file(thrum_io owned) noexcept : io(owned) {
    }
    /* Opens it (thrum_file_open). */
    explicit file(const char *path, unsigned flags = THRUM_FILE_READ, unsigned mode = 0666,
                  deadline when = deadline::never())
        : io(opened(path, flags, mode, when)) {
    }
    /* Takes over a descriptor (thrum_file_adopt). */
    static file adopt(int fd) {
        thrum_io out;
        check(thrum_file_adopt(&out, fd));
        return file(out);
    }

    /* Reads there; fewer bytes: the file ends, or something cut it short. */
    size_t pread(void *to, size_t size, int64_t offset, deadline when = deadline::never()) {
        return count(thrum_file_pread(native_handle(), to, size, offset, when.when()));
    }
    /* Writes all of it there, or throws: then the beginning may be written. */
    void pwrite(const void *from, size_t size, int64_t offset, deadline when = deadline::never()) {
        const char *at = static_cast<const char *>(from);
        while (size > 0) { /* after a short write the next one has the reason */
            const size_t n =
                count(thrum_file_pwrite(native_handle(), at, size, offset, when.when()));
            at += n;
            size -= n;
            offset += static_cast<int64_t>(n);
        }
    }
    /*
     * Writes at the end. Returns the number of bytes, which is smaller if something cut the write
     * short.
     */
    size_t append(const void *from, size_t size, deadline when = deadline::never()) {
        return count(thrum_file_append(native_handle(), from, size, when.when()));
    }
    void sync(deadline when = deadline::never()) {
        check(thrum_file_sync(native_handle(), when.when()));
    }
    void sync_data(deadline when = deadline::never()) {
        check(thrum_file_sync_data(native_handle(), when.when()));
    }
    void truncate(int64_t size, deadline when = deadline::never()) {
        check(thrum_file_truncate(native_handle(), size, when.when()));
    }
    thrum_file_info info(deadline when = deadline::never()) {
        thrum_file_info out;
        check(thrum_file_stat_io(native_handle(), &out, when.when()));
        return out;
    }

  private:
    static size_t count(int64_t n) {
        return static_cast<size_t>(check(n));
    }
    static thrum_io opened(const char *path, unsigned flags, unsigned mode, deadline when) {
        thrum_io out;
        check(thrum_file_open(&out, path, flags, mode, when.when()));
        return out;
    }
};

/* A lock on a whole file, given up at the end of the block. The file must live as long. */
class [[nodiscard]] file_lock {
  public:
    /* THRUM_FILE_READ: shared; THRUM_FILE_WRITE: exclusive. It waits until it has it. */
    [[nodiscard]] file_lock(const io &what, unsigned kind, deadline when = deadline::never())
        : io_(what.native_handle()) {
        check(thrum_file_lock(io_, kind, when.when()));
    }
    file_lock(const file_lock &) = delete;
    file_lock &operator=(const file_lock &) = delete;
    ~file_lock() {
        (void)thrum_file_unlock(io_); /* closed meanwhile, the lock is gone */
    }

  private:
    thrum_io io_;
};

/*
 * A directory that is read: its entries in no order, once, by one caller at a time. An entry's name
 * is valid until the next one is read. It can be moved while nobody goes through it.
 */
class dir {
  public:
    explicit dir(const char *path, deadline when = deadline::never()) : when_(when) {
        check(thrum_dir_open(&dir_, path, when.when()));
    }
    dir(dir &&other) noexcept : dir_(std::exchange(other.dir_, nullptr)), when_(other.when_) {
    }
    dir &operator=(dir &&other) noexcept {
        dir taken(std::move(other)); /* at its end it closes the old one */
        std::swap(dir_, taken.dir_);
        std::swap(when_, taken.when_);
        return *this;
    }
    ~dir() {
        if (dir_) {
            thrum_dir_close(dir_);
        }
    }

    /* The next entry goes to `out`; false: there are no more. Its deadline is the directory's. */
    bool next(thrum_dir_entry &out) {
        return check(thrum_dir_next(dir_, &out, when_.when())) == 1;
    }
    thrum_dir *native_handle() const noexcept {
        return dir_;
    }

    /* An input iterator, which has the last entry in it. `++` throws as next does. */
    class iterator {
        /* The result of `it++`: the previous entry. */
        struct previous {
            thrum_dir_entry entry;
            const thrum_dir_entry &operator*() const noexcept {
                return entry;
            }
        };

      public:
        using iterator_category = std::input_iterator_tag;
        using value_type = thrum_dir_entry;
        using difference_type = std::ptrdiff_t;
        using pointer = const thrum_dir_entry *;
        using reference = const thrum_dir_entry &;

        iterator() = default;
        explicit iterator(dir *from) : from_(from) {
            ++*this;
        }
        const thrum_dir_entry &operator*() const noexcept {
            return entry_;
        }
        const thrum_dir_entry *operator->() const noexcept {
            return &entry_;
        }
        iterator &operator++() {
            if (!from_->next(entry_)) {
                from_ = nullptr;
            }
            return *this;
        }
        previous operator++(int) {
            const previous before{entry_};
            ++*this;
            return before;
        }
        /* Both are the end, or both go through one directory. */
        friend bool operator==(const iterator &one, const iterator &other) noexcept {
            return one.from_ == other.from_;
        }
        friend bool operator!=(const iterator &one, const iterator &other) noexcept {
            return one.from_ != other.from_;
        }

      private:
        dir *from_ = nullptr;
        thrum_dir_entry entry_ = {};
    };
    iterator begin() {
        return iterator(this);
    }
    iterator end() {
        return iterator();
    }

  private:
    thrum_dir *dir_ = nullptr;
    deadline when_;
};

} // namespace THRUM_CPP_ABI
} // namespace thrum

#endif
