/*
 * log.c: see log.h. The file is a sequence of records: an entry, or a term with a vote. An entry
 * removes all earlier ones with its index or a larger one. A checksum shows whether a record was
 * written as a whole.
 */
#include "log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct record {
    uint64_t check; /* a checksum of all that follows */
    uint64_t term;
    uint32_t index; /* 0: no entry, but a vote */
    uint32_t vote;
    uint64_t size; /* of the request behind the record */
};

static thrum_io file;
static int64_t end; /* of the records in the file */
static struct entry **entries;
static uint32_t last, room;

uint32_t log_last(void) {
    return last;
}

const struct entry *log_at(uint32_t index) {
    return entries[index];
}

uint64_t log_term(uint32_t index) {
    return index == 0 ? 0 : entries[index]->term;
}

/* ---- in memory ---- */

static int set(uint32_t index, uint64_t term, struct text request) {
    struct entry *entry = malloc(sizeof *entry + request.size);
    if (index >= room && entry) {
        struct entry **more = realloc(entries, (index * 2 + 64) * sizeof(struct entry *));
        room = more ? index * 2 + 64 : room;
        entries = more ? more : entries;
    }
    if (!entry || index >= room) {
        free(entry);
        return -ENOMEM;
    }
    for (uint32_t i = index; i <= last; i++) {
        free(entries[i]);
    }
    entry->term = term;
    entry->size = request.size;
    memcpy(entry->request, request.at, request.size);
    entries[index] = entry;
    last = index;
    return 0;
}

/* ---- in the file ---- */

/* FNV-1a. It is against records that a crash has torn, not against people. */
static uint64_t checksum(const struct record *record, const char *request) {
    const char *head = (const char *)record;
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    for (size_t i = sizeof record->check; i < sizeof *record + record->size; i++) {
        sum ^= (unsigned char)(i < sizeof *record ? head[i] : request[i - sizeof *record]);
        sum *= UINT64_C(0x100000001b3);
    }
    return sum;
}

static int append(struct record record, const char *request, bool sync) {
    record.check = checksum(&record, request);
    const thrum_iovec parts[] = {{&record, sizeof record},
                                 {(void *)(uintptr_t)request, record.size}};
    const int64_t size = (int64_t)(sizeof record + record.size);
    const int64_t n = thrum_file_pwritev(file, parts, record.size ? 2 : 1, end, THRUM_FOREVER);
    if (n != size) {
        return n < 0 ? (int)n : -ENOSPC;
    }
    end += size;
    return sync ? thrum_file_sync_data(file, THRUM_FOREVER) : 0;
}

int log_put(uint32_t index, uint64_t term, struct text request) {
    const struct record record = {.term = term, .index = index, .size = request.size};
    const int err = append(record, request.at, true);
    return err ? err : set(index, term, request);
}

int log_vote(uint64_t term, unsigned vote, bool sync) {
    return append((struct record){.term = term, .vote = vote}, NULL, sync);
}

/* Reads the next record. Returns 1, 0 if there is no whole one, or an error code. */
static int read_record(struct record *record, char request[REQUEST_MAX]) {
    int64_t n = thrum_file_pread(file, record, sizeof *record, end, THRUM_FOREVER);
    if (n != (int64_t)sizeof *record || record->size > REQUEST_MAX || record->index > last + 1) {
        return n < 0 ? (int)n : 0;
    }
    const int64_t size = (int64_t)record->size;
    if (size > 0) {
        n = thrum_file_pread(file, request, record->size, end + (int64_t)sizeof *record,
                             THRUM_FOREVER);
        if (n != size) {
            return n < 0 ? (int)n : 0;
        }
    }
    if (record->check != checksum(record, request)) {
        return 0;
    }
    end += (int64_t)sizeof *record + size;
    return 1;
}

int log_open(const char *path, uint64_t *term, unsigned *vote) {
    struct record record;
    char request[REQUEST_MAX];
    int err = thrum_file_open(&file, path, THRUM_FILE_READ | THRUM_FILE_WRITE, 0, THRUM_FOREVER);
    if (err == -ENOENT) { /* its name must survive a crash, too */
        err = thrum_file_replace(path, "", 0, 0600, THRUM_FOREVER);
        err = err ? err
                  : thrum_file_open(&file, path, THRUM_FILE_READ | THRUM_FILE_WRITE, 0,
                                    THRUM_FOREVER);
    }
    *term = *vote = 0;
    while (err == 0 && (err = read_record(&record, request)) == 1) {
        err = 0;
        if (record.index > 0) {
            err = set(record.index, record.term, (struct text){request, record.size});
        } else {
            *term = record.term;
            *vote = record.vote;
        }
    }
    /* The rest was never synced. Left there, it might follow a later record. */
    err = err ? err : thrum_file_truncate(file, end, THRUM_FOREVER);
    return err ? err : thrum_file_sync_data(file, THRUM_FOREVER);
}
