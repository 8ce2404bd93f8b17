/*
 * calls.c: the platform's calls on files, over the disk of the caller's host. Each is one step of
 * the simulation. There are no users: permissions are kept, and nothing is refused because of them.
 */
#include <errno.h>
#include <string.h>

#include "disk/disk.h"

#define UMASK 022u

static disk *here(void) {
    return disk_of(sim_host_here());
}

static bool is_folder(const disk_node *node) {
    return node->kind == TH_OS_FILE_FOLDER;
}

/* ---- open files ---- */

static int64_t transfer(sim_file *file, void *bytes, size_t size, bool write);

static void close_file(sim_file *file) {
    sim_opened *o = file->opened;
    if (o->of) {
        o->node->opens--;
        o->node->shared -= o->lock == TH_OS_FILE_LOCK_SHARED;
        o->node->exclusive = o->node->exclusive && o->lock != TH_OS_FILE_LOCK_EXCLUSIVE;
    }
    disk_give(DISK_AN_OPEN, o);
}

static int new_number(disk *d, disk_node *node, uint32_t flags) {
    sim_file *file = sim_file_new(SIM_REGULAR, TH_OS_FILE);
    file->opened = disk_take(DISK_AN_OPEN);
    *file->opened = (sim_opened){.of = d, .node = node, .flags = flags};
    file->transfer = transfer;
    file->close = close_file;
    node->opens++;
    return sim_number_give(file);
}

/* The open file of a number that permits `access`, or NULL with the code. */
static sim_opened *opened_at(int fd, uint32_t access, int *code) {
    const sim_file *file = sim_number_file(fd);
    sim_opened *o = file ? file->opened : NULL;
    *code = !file                          ? -EBADF
            : !o                           ? -ESPIPE
            : !o->of                       ? -EIO
            : access & ~o->flags           ? -EBADF
            : access && is_folder(o->node) ? -EISDIR
                                           : 0;
    return *code ? NULL : o;
}

static int64_t open_file(disk *d, th_os_file_request *r) {
    const bool creates = r->flags & TH_OS_FILE_CREATE;
    const bool only_new = creates && r->flags & TH_OS_FILE_EXCLUSIVE;
    disk_place at;
    const int code = disk_find(d, r->path, !only_new && !(r->flags & TH_OS_FILE_NOFOLLOW), &at);
    if (code || sim_numbers_full()) {
        return code ? code : -EMFILE;
    }
    if (!at.node && creates) {
        if (at.folder || r->flags & TH_OS_FILE_DIRECTORY) {
            return at.folder ? -EISDIR : -EINVAL;
        }
        at.node = disk_node_new(d, TH_OS_FILE_REGULAR, r->mode & ~UMASK);
        disk_set_name(d, at.dir, at.name, at.node);
    } else if (!at.node || only_new) {
        return at.node ? -EEXIST : -ENOENT;
    } else if (at.node->kind == TH_OS_FILE_SYMBOLIC) {
        return -ELOOP;
    } else if (is_folder(at.node) && (creates || r->flags & TH_OS_FILE_FOR_WRITING)) {
        return -EISDIR;
    } else if (!is_folder(at.node) && (at.folder || r->flags & TH_OS_FILE_DIRECTORY)) {
        return -ENOTDIR;
    }
    if (r->flags & TH_OS_FILE_TRUNCATED && r->flags & TH_OS_FILE_FOR_WRITING) {
        (void)disk_resize(d, at.node, 0);
    }
    r->kind = TH_OS_FILE;
    return new_number(d, at.node, r->flags);
}

static int64_t lock_file(sim_opened *o, uint32_t lock) {
    disk_node *node = o->node;
    const unsigned shared = node->shared - (o->lock == TH_OS_FILE_LOCK_SHARED);
    const bool exclusive = node->exclusive && o->lock != TH_OS_FILE_LOCK_EXCLUSIVE;
    if (lock != TH_OS_FILE_LOCK_NONE &&
        (exclusive || (lock == TH_OS_FILE_LOCK_EXCLUSIVE && shared))) {
        return -EAGAIN;
    }
    node->shared = shared + (lock == TH_OS_FILE_LOCK_SHARED);
    node->exclusive = exclusive || lock == TH_OS_FILE_LOCK_EXCLUSIVE;
    o->lock = lock;
    return 0;
}

/* ---- bytes ---- */

static bool is_unaligned(const sim_opened *o, size_t size, int64_t offset) {
    return o->flags & TH_OS_FILE_DIRECT && ((uint64_t)offset | size) % DISK_SECTOR;
}

static int64_t read_at(sim_opened *o, void *to, size_t size, int64_t offset) {
    return is_unaligned(o, size, offset) ? -EINVAL : disk_read(o->node, to, size, offset);
}

static int64_t write_at(sim_opened *o, const void *from, size_t size, int64_t offset) {
    const bool end = offset == TH_OS_FILE_END || o->flags & TH_OS_FILE_APPEND;
    offset = end ? (int64_t)o->node->now.bytes : offset;
    const int64_t n =
        is_unaligned(o, size, offset) ? -EINVAL : disk_write(o->of, o->node, from, size, offset);
    if (n > 0 && o->flags & TH_OS_FILE_SYNC) {
        disk_sync_file(o->node);
    }
    return n;
}

/* At the position of the open file. */
static int64_t transfer(sim_file *file, void *bytes, size_t size, bool write) {
    sim_opened *o = file->opened;
    const uint32_t access = write ? TH_OS_FILE_FOR_WRITING : TH_OS_FILE_FOR_READING;
    if (!o->of || !(o->flags & access) || is_folder(o->node)) {
        return !o->of ? -EIO : o->flags & access ? -EISDIR : -EBADF;
    }
    const bool end = write && o->flags & TH_OS_FILE_APPEND;
    o->position = end ? (int64_t)o->node->now.bytes : o->position;
    const int64_t n =
        write ? write_at(o, bytes, size, o->position) : read_at(o, bytes, size, o->position);
    o->position += n > 0 ? n : 0;
    return n;
}

static int64_t copy(const th_os_file_request *r) {
    int code;
    sim_opened *from = opened_at(r->fd, TH_OS_FILE_FOR_READING, &code);
    sim_opened *to = from ? opened_at(r->to, TH_OS_FILE_FOR_WRITING, &code) : NULL;
    if (!to) {
        return code;
    }
    const size_t size = r->length < r->size ? (size_t)r->length : r->size;
    const int64_t n = read_at(from, r->bytes, size, r->offset);
    return n > 0 ? write_at(to, r->bytes, (size_t)n, r->to_offset) : n;
}

static int64_t sync_file(const th_os_file_request *r) {
    int code;
    const sim_opened *o = opened_at(r->fd, 0, &code);
    if (o && is_folder(o->node)) {
        disk_sync_folder(o->of, o->node);
    } else if (o) {
        disk_sync_file(o->node);
    }
    return code == -ESPIPE ? -EINVAL : code;
}

/* ---- names ---- */

static bool is_within(const disk_node *dir, const disk_node *outer) {
    while (dir != outer && dir->parent != dir) {
        dir = dir->parent;
    }
    return dir == outer;
}

static int64_t rename_file(disk *d, const th_os_file_request *r) {
    disk_place from, to;
    const int code = disk_find(d, r->path, false, &from);
    const int other = code ? 0 : disk_find(d, r->other, false, &to);
    if (code || other || !from.node) {
        return code ? code : other ? other : -ENOENT;
    }
    if (!from.name[0] || !to.name[0]) {
        return -EBUSY;
    }
    if (to.node && r->flags & TH_OS_FILE_NO_REPLACE) {
        return -EEXIST;
    }
    if (to.node == from.node) {
        return 0;
    }
    if (is_folder(from.node)) {
        if (is_within(to.dir, from.node)) {
            return -EINVAL;
        }
        if (to.node && (!is_folder(to.node) || to.node->entries)) {
            return is_folder(to.node) ? -ENOTEMPTY : -ENOTDIR;
        }
    } else if (from.folder || to.folder || (to.node && is_folder(to.node))) {
        return to.node && is_folder(to.node) ? -EISDIR : -ENOTDIR;
    }
    disk_move_name(d, &from, &to);
    return 0;
}

static int64_t remove_name(disk *d, const th_os_file_request *r, bool folder) {
    disk_place at;
    const int code = disk_find(d, r->path, false, &at);
    if (code || !at.node) {
        return code ? code : -ENOENT;
    }
    if (is_folder(at.node) != folder || (!folder && at.folder)) {
        return is_folder(at.node) ? -EISDIR : -ENOTDIR;
    }
    if (!at.name[0] || (folder && at.node->entries)) {
        return at.name[0] ? -ENOTEMPTY : -EINVAL;
    }
    disk_set_name(d, at.dir, at.name, NULL);
    return 0;
}

/* A new name, for the node, or for a new one of that kind. */
static int64_t make_name(disk *d, const char *path, disk_node *node, th_os_file_kind kind,
                         uint32_t mode) {
    disk_place at;
    const int code = disk_find(d, path, false, &at);
    if (code || at.node) {
        return code ? code : -EEXIST;
    }
    if (at.folder && kind != TH_OS_FILE_FOLDER) {
        return -ENOENT;
    }
    node = node ? node : disk_node_new(d, kind, mode);
    disk_set_name(d, at.dir, at.name, node);
    return 0;
}

static int64_t link_file(disk *d, const th_os_file_request *r) {
    disk_place at;
    const int code = disk_find(d, r->path, false, &at);
    if (code || !at.node || is_folder(at.node)) {
        return code ? code : at.node ? -EPERM : -ENOENT;
    }
    return make_name(d, r->other, at.node, TH_OS_FILE_REGULAR, 0);
}

static int64_t make_symlink(disk *d, const th_os_file_request *r) {
    const size_t size = strlen(r->path) + 1;
    const int64_t code =
        size > 1 ? make_name(d, r->other, NULL, TH_OS_FILE_SYMBOLIC, 0777) : -ENOENT;
    if (!code) {
        d->nodes->text = disk_memory(size); /* the newest node */
        memcpy(d->nodes->text, r->path, size);
    }
    return code;
}

static int64_t read_symlink(disk *d, const th_os_file_request *r) {
    disk_place at;
    const int code = disk_find(d, r->path, false, &at);
    if (code || !at.node || at.node->kind != TH_OS_FILE_SYMBOLIC) {
        return code ? code : at.node ? -EINVAL : -ENOENT;
    }
    const size_t length = strlen(at.node->text);
    const size_t n = length < r->size ? length : r->size;
    memcpy(r->bytes, at.node->text, n);
    return (int64_t)n;
}

static int64_t look(disk *d, th_os_file_request *r) {
    const disk_node *node;
    int code;
    if (r->path) {
        disk_place at;
        code = disk_find(d, r->path, !(r->flags & TH_OS_FILE_LINK_ITSELF), &at);
        node = code ? NULL : at.node;
        code = code || node ? code : -ENOENT;
        code = node && at.folder && !is_folder(node) ? -ENOTDIR : code;
    } else {
        const sim_opened *o = opened_at(r->fd, 0, &code);
        node = o ? o->node : NULL;
    }
    if (code) {
        return code;
    }
    uint64_t pages = 0;
    for (uint32_t i = 0; i < node->pages_room; i++) {
        pages += node->pages[i].now != NULL;
    }
    const bool symbolic = node->kind == TH_OS_FILE_SYMBOLIC;
    r->info = (th_os_file_info){.kind = node->kind,
                                .mode = node->mode,
                                .links = node->links,
                                .size = symbolic ? strlen(node->text) : node->now.bytes,
                                .allocated = pages * DISK_PAGE,
                                .device = sim_host_here() + 1,
                                .inode = node->number,
                                .modified = node->modified,
                                .accessed = node->accessed,
                                .changed = node->changed};
    return 0;
}

/* ---- listing ---- */

typedef struct listed {
    uint64_t inode;
    uint32_t kind;
    uint32_t size; /* with the name, and its zero */
} listed;

static int64_t list(const th_os_file_request *r) {
    int code;
    sim_opened *o = opened_at(r->fd, 0, &code);
    if (!o || !is_folder(o->node)) {
        return code ? code : -ENOTDIR;
    }
    size_t used = 0;
    for (const disk_entry *entry = o->node->entries; entry; entry = entry->next) {
        const size_t size = sizeof(listed) + ((strlen(entry->name) + 8) & ~(size_t)7);
        if (entry->serial > o->listed && size <= r->size - used) {
            const listed l = {entry->node->number, entry->node->kind, (uint32_t)size};
            memcpy((char *)r->bytes + used, &l, sizeof l);
            strcpy((char *)r->bytes + used + sizeof l, entry->name);
            o->listed = entry->serial;
            used += size;
        } else if (entry->serial > o->listed) {
            return used ? (int64_t)used : -EINVAL;
        }
    }
    return (int64_t)used;
}

size_t th_os_file_entry_at(const void *bytes, size_t at, th_os_file_entry *out) {
    const char *begin = (const char *)bytes + at;
    listed l;
    memcpy(&l, begin, sizeof l);
    *out = (th_os_file_entry){begin + sizeof l, l.inode, l.kind};
    return at + l.size;
}

/* ---- */

static int64_t by_number(const th_os_file_request *r) {
    const uint32_t access = r->call == TH_OS_FILE_READ                                  ? 1
                            : r->call == TH_OS_FILE_LOCK || r->call == TH_OS_FILE_CHMOD ? 0
                                                                                        : 2;
    int code;
    sim_opened *o = opened_at(r->fd, access, &code);
    if (!o) {
        return code;
    }
    switch (r->call) {
    case TH_OS_FILE_READ:
        return read_at(o, r->bytes, r->size, r->offset);
    case TH_OS_FILE_WRITE:
        return write_at(o, r->bytes, r->size, r->offset);
    case TH_OS_FILE_ADD:
        return write_at(o, r->bytes, r->size, TH_OS_FILE_END);
    case TH_OS_FILE_RESIZE:
        return disk_resize(o->of, o->node, r->offset);
    case TH_OS_FILE_ALLOCATE:
        return disk_allocate(o->of, o->node, r);
    case TH_OS_FILE_CHMOD:
        o->node->mode = r->mode;
        o->node->changed = sim_now();
        return 0;
    case TH_OS_FILE_LOCK:
    default:
        return lock_file(o, r->flags);
    }
}

static int64_t make(th_os_file_request *r) {
    switch (r->call) {
    case TH_OS_FILE_OPEN:
        return open_file(here(), r);
    case TH_OS_FILE_FLUSH:
    case TH_OS_FILE_FLUSH_DATA:
        return sync_file(r);
    case TH_OS_FILE_LOOK:
        return look(here(), r);
    case TH_OS_FILE_RENAME:
        return rename_file(here(), r);
    case TH_OS_FILE_UNLINK:
        return remove_name(here(), r, false);
    case TH_OS_FILE_RMDIR:
        return remove_name(here(), r, true);
    case TH_OS_FILE_MKDIR:
        return make_name(here(), r->path, NULL, TH_OS_FILE_FOLDER, r->mode & ~UMASK);
    case TH_OS_FILE_LINK:
        return link_file(here(), r);
    case TH_OS_FILE_SYMLINK:
        return make_symlink(here(), r);
    case TH_OS_FILE_READLINK:
        return read_symlink(here(), r);
    case TH_OS_FILE_LIST:
        return list(r);
    case TH_OS_FILE_COPY:
        return copy(r);
    case TH_OS_FILE_WATCH:
        return -ENOSYS;
    default:
        return by_number(r);
    }
}

/* ---- faults ---- */

static int fault_of(th_os_file_call call) {
    switch (call) {
    case TH_OS_FILE_OPEN:
        return sim_fault(SIM_FAULT_OPEN);
    case TH_OS_FILE_READ:
    case TH_OS_FILE_LIST:
        return sim_fault(SIM_FAULT_READ);
    case TH_OS_FILE_WRITE:
    case TH_OS_FILE_ADD:
    case TH_OS_FILE_RESIZE:
    case TH_OS_FILE_ALLOCATE:
    case TH_OS_FILE_COPY:
        return sim_fault(SIM_FAULT_WRITE);
    case TH_OS_FILE_FLUSH:
    case TH_OS_FILE_FLUSH_DATA:
        return sim_fault(SIM_FAULT_SYNC);
    case TH_OS_FILE_RENAME:
    case TH_OS_FILE_UNLINK:
    case TH_OS_FILE_RMDIR:
    case TH_OS_FILE_MKDIR:
    case TH_OS_FILE_LINK:
    case TH_OS_FILE_SYMLINK:
        return sim_fault(SIM_FAULT_NAME);
    default:
        return 0;
    }
}

int64_t th_os_file_do(th_os_file_request *r) {
    sim_call();
    const int fault = fault_of(r->call);
    if (fault == SIM_FAULT_SHORT && r->call != TH_OS_FILE_LIST) {
        r->size = sim_fault_size(r->size);
    }
    if (fault < 0) {
        int code;
        const bool syncs = r->call == TH_OS_FILE_FLUSH || r->call == TH_OS_FILE_FLUSH_DATA;
        const sim_opened *o = syncs ? opened_at(r->fd, 0, &code) : NULL;
        if (o) { /* what was to be written is lost */
            disk_lose_sync(o->node);
        }
        return fault;
    }
    return make(r);
}

/* ---- transfers that do not wait ---- */

/* Whether the bytes are in the page cache, so that a read need not wait. */
static bool is_cached(void) {
    return !sim_faults(SIM_FAULT_READ) && !sim_choose(SIM_EVENT, 2);
}

int64_t th_os_file_readv_now(int fd, const th_os_part parts[], unsigned n, int64_t offset) {
    int code;
    sim_call();
    sim_opened *o = opened_at(fd, TH_OS_FILE_FOR_READING, &code);
    if (!o || !is_cached()) {
        return -EOPNOTSUPP; /* an operation makes the call */
    }
    int64_t sum = 0;
    for (unsigned i = 0; i < n; i++) {
        const int64_t got = read_at(o, parts[i].base, parts[i].size, offset + sum);
        sum += got > 0 ? got : 0;
        if (got < (int64_t)parts[i].size) {
            break;
        }
    }
    return sum;
}

int64_t th_os_file_writev_now(int fd, const th_os_part parts[], unsigned n, int64_t offset) {
    (void)fd, (void)parts, (void)n, (void)offset;
    return -EOPNOTSUPP;
}

int64_t th_os_io_readv_cached(int fd, const th_os_part parts[], unsigned n) {
    sim_call();
    const sim_file *file = sim_number_file(fd);
    return file && file->opened && is_cached() ? th_os_io_readv(fd, TH_OS_FILE, parts, n)
                                               : -EOPNOTSUPP;
}

bool th_os_file_begins(int fd) {
    (void)fd;
    return false;
}

bool th_os_file_waits(int fd) {
    const sim_file *file = sim_number_file(fd);
    return file && file->opened && file->opened->flags & (TH_OS_FILE_DIRECT | TH_OS_FILE_SYNC);
}

int th_os_io_unread(int fd, size_t n) {
    int code;
    sim_opened *o = opened_at(fd, 0, &code);
    if (o) {
        o->position -= (int64_t)n;
    }
    return code;
}
