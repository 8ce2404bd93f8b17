/*
 * io_shared.c: descriptors that other processes share, sockets and files: they are read and
 * written, and nothing that the others see of them changes. Pipes and terminals are in
 * io_shared_ends.c.
 */
/* matrix: policy workers */
#include "support/io/io.h"
#include "support/io/ios.h"
#include "support/io/shared.h"

#include "platform/faults.h"

static int wait_on_socket(void *arg) {
    (void)arg;
    int fds[2];
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    check_waits(fds[0], fds[1]);
    close(fds[0]);
    close(fds[1]);
    return 0;
}

TEST(socket_is_waited_for) {
    /* The same for a socket, which is only duplicated. */
    rig_do(0, wait_on_socket, NULL);
}

/* One without a name. */
static int file_made(void) {
    char path[] = "/tmp/thrum-shared-XXXXXX";
    const int fd = mkstemp(path);
    CHECK(fd >= 0);
    CHECK_EQ(unlink(path), 0);
    return fd;
}

static int use_file(void *arg) {
    (void)arg;
    char text[16] = "";
    thrum_io io;
    int fd = file_made();
    CHECK_EQ(thrum_io_adopt_shared(&io, fd), 0);
    CHECK_EQ(thrum_io_wait(io, THRUM_IO_READ, THRUM_FOREVER), THRUM_IO_READ);
    CHECK_EQ(thrum_write(io, "one two", 7), 7);
    CHECK_EQ(lseek(fd, 0, SEEK_CUR), 7); /* the place is shared */
    CHECK_EQ(lseek(fd, 4, SEEK_SET), 4);
    thrum_iovec parts[2] = {{text, 1}, {text + 1, sizeof text - 1}};
    CHECK_EQ(thrum_readv_until(io, parts, 2, THRUM_FOREVER), 3);
    CHECK_STR(text, "two");
    CHECK_EQ(thrum_read(io, text, sizeof text), 0);
    parts[0] = (thrum_iovec){(void *)(uintptr_t) "a", 1};
    parts[1] = (thrum_iovec){(void *)(uintptr_t) "bc", 2};
    CHECK_EQ(thrum_writev_until(io, parts, 2, THRUM_FOREVER), 3);
    CHECK_EQ(lseek(fd, 0, SEEK_CUR), 10);
    CHECK_EQ(thrum_io_close(io), 0);
    CHECK_EQ(close(fd), 0);
    return 0;
}

TEST(file_is_read_and_written) {
    /* Files go through the pool, with the caller's place in them; by fibers and plain threads. */
    CHECK_EQ(use_file(NULL), 0);
    rig_do(0, use_file, NULL);
}

enum { FLOOD = 1000000 };

typedef struct flood {
    int ends[2];
    size_t got;
} flood;

static void *drain_flood(void *seat) {
    flood *f = ((crew_seat *)seat)->arg;
    static char bytes[3000];
    ssize_t n;
    while ((n = read(f->ends[0], bytes, sizeof bytes)) > 0) {
        f->got += (size_t)n;
    }
    return NULL;
}

static int write_flood(void *arg) {
    flood *f = arg;
    thrum_io io;
    char *bytes = calloc(1, FLOOD);
    CHECK_EQ(thrum_io_adopt_shared(&io, f->ends[1]), 0);
    CHECK_EQ(thrum_write(io, bytes, FLOOD), FLOOD);
    CHECK_EQ(thrum_io_close(io), 0);
    free(bytes);
    close(f->ends[1]);
    return 0;
}

TEST(large_writes_go_in_pieces) {
    /* More than a pipe holds is written, by a fiber and a plain thread, opened again or not. */
    for (int i = 0; i < 4; i++) {
        flood f = {.got = 0};
        crew c;
        CHECK_EQ(pipe(f.ends), 0);
        th_os_fail(TH_OS_FAULT_REOPEN, 0, i & 1 ? UINT32_MAX : 0);
        crew_start(&c, 1, drain_flood, &f);
        if (i & 2) {
            rig_do(0, write_flood, &f);
        } else {
            CHECK_EQ(write_flood(&f), 0);
        }
        crew_join(&c);
        th_os_fail(TH_OS_FAULT_REOPEN, 0, 0);
        CHECK_EQ(f.got, FLOOD);
        close(f.ends[0]);
    }
}

TEST(what_is_refused) {
    /* Errors come back, and no descriptor is left behind. */
    thrum_io io;
    int fd = file_made();
    CHECK_EQ(thrum_io_adopt_shared(NULL, fd), -EINVAL);
    CHECK_EQ(thrum_io_adopt_shared(&io, 999), -EBADF);
    const int before = fds_in_use();
    th_os_fail(TH_OS_FAULT_DUPLICATE, 0, 1);
    CHECK_EQ(thrum_io_adopt_shared(&io, fd), -EMFILE);
    th_os_fail(TH_OS_FAULT_MAP, 0, 1);
    CHECK_EQ(thrum_io_adopt_shared(&io, fd), -ENOMEM);
    CHECK_EQ(fds_in_use(), before);
    close(fd);
}
