/*
 * file_bits.h: parts shared by the calls on files that all systems have (file.c) and the calls that
 * each system has in its own way.
 */
#ifndef TH_UNIX_FILE_BITS_H
#define TH_UNIX_FILE_BITS_H

#include <sys/stat.h>

#include "platform/faults.h"
#include "platform/platform.h"

typedef th_os_file_request th_file_request;

/* The flags of an open descriptor, or 0. */
int th_file_flags(int fd);
int64_t th_file_copy_by_hands(th_file_request *r);

/* A fault that tests order: transfers move a single byte. */
static inline size_t size_of(const th_file_request *r) {
    return r->size > 1 && th_os_fails(TH_OS_FAULT_FILE_SHORT) ? 1 : r->size;
}

/* One bit each, from the contract's to the system's. */
typedef struct bit_pair {
    uint32_t ours;
    uint32_t theirs;
} bit_pair;

static inline uint32_t to_theirs(uint32_t bits, const bit_pair pairs[], unsigned n) {
    uint32_t theirs = 0;
    for (unsigned i = 0; i < n; i++) {
        theirs |= bits & pairs[i].ours ? pairs[i].theirs : 0;
    }
    return theirs;
}

static inline uint32_t to_ours(uint32_t bits, const bit_pair pairs[], unsigned n) {
    uint32_t ours = 0;
    for (unsigned i = 0; i < n; i++) {
        ours |= bits & pairs[i].theirs ? pairs[i].ours : 0;
    }
    return ours;
}

#define COUNT_OF(a) ((unsigned)(sizeof(a) / sizeof((a)[0])))

static inline uint32_t th_file_kind_of(mode_t mode) {
    return S_ISREG(mode)    ? TH_OS_FILE_REGULAR
           : S_ISDIR(mode)  ? TH_OS_FILE_FOLDER
           : S_ISLNK(mode)  ? TH_OS_FILE_SYMBOLIC
           : S_ISFIFO(mode) ? TH_OS_FILE_FIFO
           : S_ISSOCK(mode) ? TH_OS_FILE_SOCKET
           : S_ISCHR(mode)  ? TH_OS_FILE_CHARACTER
           : S_ISBLK(mode)  ? TH_OS_FILE_BLOCK
                            : TH_OS_FILE_UNKNOWN;
}

#endif
