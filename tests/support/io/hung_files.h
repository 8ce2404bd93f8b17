/*
 * hung_files.h: the test's own file system, whose reads hang until the test lets them go on.
 *
 *   hung_mount     a child serves it by the FUSE protocol; false: it is not to be had here
 *   hung_path      the path of one of its files, in the process's own descriptor of the root: the
 *                  mount itself is taken away at once, so nothing stays when a test fails
 *   hung_reads     how many reads have come to it so far
 *   hung_go_on     hanging reads are answered, and later ones at once
 *   hung_die       the server is gone: hanging reads fail
 *
 * It has one file, "held", of HUNG_BYTES bytes 'h', and "fine", whose reads do not hang. The
 * protocol's structures are the test's own, since not every C library finds the kernel's headers.
 */
#ifndef HUNG_FILES_H
#define HUNG_FILES_H

#include "support/io/files.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>

enum { HUNG_BYTES = 4096, HUNG_READS = 64 };

/* ---- the protocol ---- */

enum { LOOKUP = 1, FORGET, GETATTR, OPEN = 14, READ, RELEASE = 18, FLUSH = 25, INIT };
enum { INTERRUPT = 36, BATCH_FORGET = 42 };

typedef struct fuse_ask {
    uint32_t size, what;
    uint64_t number, node;
    uint32_t ids[4];
    char bytes[8192 - 40];
} fuse_ask;

typedef struct fuse_answer {
    uint32_t size;
    int32_t error;
    uint64_t number;
    uint64_t words[HUNG_BYTES / 8];
} fuse_answer;

/* The file system's nodes: the root, and its two files. */
enum { ROOT = 1, HELD, FINE };

/* As the protocol has it, 88 bytes. */
static inline void fuse_attributes(uint64_t words[11], uint64_t node) {
    const uint32_t mode = node == ROOT ? S_IFDIR | 0755 : S_IFREG | 0444;
    memset(words, 0, 11 * sizeof words[0]);
    words[0] = node;
    words[1] = node == ROOT ? 0 : HUNG_BYTES;
    memcpy((char *)&words[6] + 12, &mode, sizeof mode);
    words[8] = 1; /* links; the owner is root */
}

static inline void fuse_answer_with(int fd, uint64_t number, int error, fuse_answer *a, size_t n) {
    a->size = (uint32_t)(16 + (error ? 0 : n));
    a->error = -error;
    a->number = number;
    while (write(fd, a, a->size) < 0 && errno == EINTR) {
    } /* ENOENT: the caller has been interrupted */
}

static inline uint64_t fuse_node_of(const char *name) {
    return strcmp(name, "held") == 0 ? HELD : strcmp(name, "fine") == 0 ? FINE : 0;
}

/* The answer to all requests but reads: its number of bytes, or -1: none. */
static inline int fuse_reply(const fuse_ask *ask, fuse_answer *a, int *error) {
    memset(a->words, 0, 256);
    switch (ask->what) {
    case INIT:
        a->words[0] = 7 | (uint64_t)31 << 32; /* the version of the protocol */
        a->words[2] = 12 | (uint64_t)8 << 16 | (uint64_t)4096 << 32;
        return 64;
    case LOOKUP:
        a->words[0] = fuse_node_of(ask->bytes);
        *error = a->words[0] ? 0 : ENOENT;
        fuse_attributes(&a->words[5], a->words[0]);
        return 128;
    case GETATTR:
        fuse_attributes(&a->words[2], ask->node);
        return 104;
    case OPEN:
        a->words[1] = 1; /* reads go past the system's memory */
        return 16;
    case RELEASE:
    case FLUSH:
        return 0;
    case FORGET:
    case BATCH_FORGET:
    case INTERRUPT:
        return -1;
    default:
        *error = ENOSYS;
        return 0;
    }
}

/* ---- the server ---- */

/* In memory that it shares with the test. */
typedef struct hung_state {
    atomic_int reads; /* of "held" */
    atomic_bool goes_on;
} hung_state;

typedef struct hung {
    int root;
    pid_t server;
    int control; /* a byte there makes the server look at the state; its end ends the server */
    hung_state *state;
} hung;

/* The bytes are there as a whole, or it is the end. */
static inline void fuse_answer_read(int fd, const fuse_ask *ask) {
    fuse_answer a;
    uint64_t at;
    uint32_t size;
    memcpy(&at, ask->bytes + 8, sizeof at);
    memcpy(&size, ask->bytes + 16, sizeof size);
    memset(a.words, 'h', sizeof a.words);
    fuse_answer_with(fd, ask->number, 0, &a, at == 0 && size >= HUNG_BYTES ? HUNG_BYTES : 0);
}

static inline void fuse_serve(int fd, int control, hung_state *state) {
    static fuse_ask ask;
    static fuse_answer a;
    static fuse_ask held[HUNG_READS];
    unsigned n = 0;
    for (;;) {
        struct pollfd fds[2] = {{.fd = fd, .events = POLLIN}, {.fd = control, .events = POLLIN}};
        char byte;
        if (poll(fds, 2, -1) < 0) {
            continue;
        }
        if (fds[1].revents && read(control, &byte, 1) != 1) {
            _exit(0);
        }
        while (n > 0 && atomic_load(&state->goes_on)) {
            fuse_answer_read(fd, &held[--n]);
        }
        if (!(fds[0].revents & POLLIN)) {
            if (fds[0].revents) {
                _exit(0); /* it is no longer mounted */
            }
            continue;
        }
        memset(&ask, 0, 48);
        if (read(fd, &ask, sizeof ask) < 40) {
            continue;
        }
        int error = 0;
        if (ask.what == READ && ask.node == HELD) {
            held[n++ % HUNG_READS] = ask;
            atomic_fetch_add(&state->reads, 1);
        } else if (ask.what == READ) {
            fuse_answer_read(fd, &ask);
        } else {
            const int bytes = fuse_reply(&ask, &a, &error);
            if (bytes >= 0) {
                fuse_answer_with(fd, ask.number, error, &a, (size_t)bytes);
            }
        }
        while (n > 0 && atomic_load(&state->goes_on)) {
            fuse_answer_read(fd, &held[--n]);
        }
    }
}

/* ---- for tests ---- */

static inline bool hung_mount(hung *h) {
    char how[96], path[64];
    int ends[2];
    const int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    snprintf(path, sizeof path, "/tmp/thrum-hung-XXXXXX");
    CHECK(mkdtemp(path) != NULL);
    snprintf(how, sizeof how, "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
    if (mount("thrum", path, "fuse", MS_NOSUID | MS_NODEV, how) != 0) {
        CHECK_EQ(rmdir(path), 0);
        close(fd);
        return false;
    }
    h->state = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(h->state != MAP_FAILED);
    CHECK_EQ(pipe2(ends, O_CLOEXEC), 0);
    h->server = fork();
    CHECK(h->server >= 0);
    if (h->server == 0) {
        close(ends[1]);
        fuse_serve(fd, ends[0], h->state);
    }
    close(fd);
    close(ends[0]);
    h->control = ends[1];
    h->root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    CHECK(h->root >= 0);
    CHECK_EQ(umount2(path, MNT_DETACH), 0);
    CHECK_EQ(rmdir(path), 0);
    return true;
}

static inline void hung_path(const hung *h, const char *name, char path[64]) {
    snprintf(path, 64, "/proc/self/fd/%d/%s", h->root, name);
}

static inline int hung_reads(const hung *h) {
    return atomic_load(&h->state->reads);
}

static inline void hung_go_on(hung *h) {
    atomic_store(&h->state->goes_on, true);
    CHECK_EQ(write(h->control, "g", 1), 1);
}

static inline void hung_die(hung *h) {
    int status;
    close(h->control);
    CHECK_EQ(waitpid(h->server, &status, 0), h->server);
    h->server = 0;
}

/* All files in it have been closed. */
static inline void hung_end(hung *h) {
    CHECK_EQ(close(h->root), 0);
    if (h->server) {
        hung_die(h);
    }
    CHECK_EQ(munmap(h->state, 4096), 0);
}

#endif
