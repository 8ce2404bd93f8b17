/*
 * files.h: files for tests.
 *
 *   both       a test's body runs in a task of a rig, and then on a plain thread
 *   in_dir     the test works in a directory of its own, which it leaves empty
 *   fds_open   how many descriptors the process has
 */
#ifndef FILES_H
#define FILES_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* for locks of open files */
#endif

#include "support/sync/actors.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "file/pool.h"
#include "platform/faults.h"
#include "thrum/file.h"

/* The parts that differ between systems: fds_open, file_..., FILE_..., NOT_BY_WINDOWS. */
#if defined(_WIN32)
#include "windows/files.h"
#else
#include "posix/files.h"
#endif

static inline void both(thrum_fn fn) {
    rig_do(0, fn, NULL);
    CHECK_EQ(fn(NULL), 0);
}

static inline void in_dir(char path[64]) {
    CHECK(snprintf(path, 64, "%s/thrum-files-XXXXXX", file_folder()) < 64);
    CHECK(mkdtemp(path) != NULL);
    CHECK_EQ(chdir(path), 0);
}

static inline void out_of_dir(const char *path) {
    CHECK_EQ(chdir("/"), 0);
    CHECK_EQ(rmdir(path), 0); /* nothing was left in it */
}

CHECK_UNUSED static th_jobs_figures figures(void) {
    th_jobs_figures f;
    th_jobs_read(&th_file_jobs, &f);
    return f;
}

/* From now on nothing is done at once: it goes to the rings or, without those, to the threads. */
CHECK_UNUSED static void only_operations(bool on) {
    th_os_fail(TH_OS_FAULT_FILE_NOW, 0, on ? UINT32_MAX : 0);
}

/* The system has no rings for transfers that begin from now on. */
CHECK_UNUSED static void no_rings(bool on) {
    th_os_fail_with(TH_OS_FAULT_RING, -EPERM, 0, on ? UINT32_MAX : 0);
    th_os_fail(TH_OS_FAULT_RING_PUT, 0, on ? UINT32_MAX : 0);
}

CHECK_UNUSED static thrum_io opened(const char *path, unsigned flags) {
    thrum_io io = {0, 0};
    CHECK_EQ(thrum_file_open(&io, path, flags, 0644, THRUM_FOREVER), 0);
    return io;
}

/* All programs of a user share how many watches the system lets it open. */
CHECK_UNUSED static thrum_io watch_opened(void) {
    thrum_io io = {0, 0};
    const int code = thrum_watch_open(&io);
    if (code == -EMFILE) {
        CHECK_SKIP("other programs have all watches that the user may open");
    }
    CHECK_EQ(code, 0);
    return io;
}

CHECK_UNUSED static void check_holds(const char *path, const char *text) {
    char bytes[256] = "";
    CHECK_EQ(thrum_file_load(path, bytes, sizeof bytes - 1, THRUM_FOREVER), strlen(text));
    CHECK_STR(bytes, text);
}

#endif
