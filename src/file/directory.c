/*
 * directory.c: reading directories.
 *
 * A batch of entries is the result of one operation, and is in its memory. An operation that its
 * caller has given up stays the directory's, and the next call waits for the same one: the system
 * counts its entries as delivered.
 */
#include <errno.h>
#include <string.h>

#include "file/operation.h"
#include "io/named.h"
#include "thrum/file.h"

#define BATCH_BYTES TH_LIMIT_OR((size_t)32 << 10, (size_t)2048, (size_t)512)

struct thrum_dir {
    thrum_io io;
    th_operation *batch; /* or NULL */
    bool has;            /* the batch has come */
    size_t at;           /* its next entry */
};

int thrum_dir_open(thrum_dir **out, const char *path, thrum_time deadline) {
    if (!out) {
        return -EINVAL;
    }
    thrum_dir *dir = th_os_alloc(sizeof *dir);
    if (!dir) {
        return -ENOMEM;
    }
    *dir = (thrum_dir){.batch = NULL};
    const int code =
        thrum_file_open(&dir->io, path, THRUM_FILE_READ | THRUM_FILE_DIRECTORY, 0, deadline);
    if (code) {
        th_os_free(dir);
        return code;
    }
    *out = dir;
    return 0;
}

static void drop_batch(thrum_dir *dir) {
    if (dir->batch) {
        th_operation_drop(dir->batch);
    }
    dir->batch = NULL;
    dir->has = false;
    dir->at = 0;
}

/* Waits for the next batch: 1, 0 at the end, or a code. */
static int get_batch(thrum_dir *dir, thrum_time deadline) {
    int code;
    if (!th_record_named(dir->io, &code)) {
        return code; /* in the child of a fork: the parent has begun the operation */
    }
    const th_os_file_request request = {.call = TH_OS_FILE_LIST};
    code = dir->batch ? 0 : th_operation_new_on(&dir->batch, dir->io, &request, BATCH_BYTES, false);
    if (code) {
        return code;
    }
    const int64_t n = th_operation_ask(dir->batch, deadline);
    if (n > 0) {
        dir->has = true;
        return 1;
    }
    if (dir->batch->had) { /* it is over, or has failed; else it is asked for again */
        drop_batch(dir);
    }
    return (int)n;
}

static bool is_self_or_parent(const char *name) {
    return name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));
}

int thrum_dir_next(thrum_dir *dir, thrum_dir_entry *out, thrum_time deadline) {
    if (!dir || !out) {
        return -EINVAL;
    }
    for (;;) {
        if (dir->has && dir->at == (size_t)dir->batch->result) {
            drop_batch(dir);
        }
        const int code = dir->has ? 1 : get_batch(dir, deadline);
        if (code <= 0) {
            return code;
        }
        th_os_file_entry entry;
        dir->at = th_os_file_entry_at(dir->batch->request.bytes, dir->at, &entry);
        if (!is_self_or_parent(entry.name)) {
            *out = (thrum_dir_entry){entry.name, entry.inode, entry.kind};
            return 1;
        }
    }
}

void thrum_dir_close(thrum_dir *dir) {
    if (dir) {
        drop_batch(dir);
        (void)thrum_io_close(dir->io);
        th_os_free(dir);
    }
}
