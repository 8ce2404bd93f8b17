/*
 * file.c: files for which the system has no descriptor, no memory, no thread, no room, or a broken
 * device: the code comes back, nothing is lost or stays open, and the next call works.
 */
/* matrix: policy workers */
#include "support/io/files.h"
#include "support/times.h"

#define NEW (THRUM_FILE_READ | THRUM_FILE_WRITE | THRUM_FILE_CREATE | THRUM_FILE_EXCLUSIVE)

static thrum_io io; /* the file "a", which holds "text" */
static thrum_io to; /* the file "b", which is empty; "r" is open for nobody */
static thrum_io watch;

static char path[64];
static int fds_before;

static void begin(void) {
    fds_before = fds_open();
#if HAS_WATCHES
    watch = watch_opened();
#else
    CHECK_EQ(thrum_watch_open(&watch), -ENOSYS);
#endif
    in_dir(path);
    io = opened("a", NEW);
    to = opened("b", NEW);
    fclose(fopen("r", "w"));
    CHECK_EQ(thrum_file_pwrite(io, "text", 4, 0, THRUM_FOREVER), 4);
    only_operations(true);
}

static void end(void) {
    only_operations(false);
    CHECK_EQ(thrum_io_close(io), 0);
    CHECK_EQ(thrum_io_close(to), 0);
    CHECK(!HAS_WATCHES || thrum_io_close(watch) == 0);
    check_holds("a", "text");
    CHECK_EQ(unlink("a"), 0);
    CHECK_EQ(unlink("b"), 0);
    CHECK_EQ(unlink("r"), 0);
    CHECK_EQ(fds_open(), fds_before);
    out_of_dir(path);
}

/* ---- one call each ---- */

static int do_open(void) {
    thrum_io again;
    const int code = thrum_file_open(&again, "a", THRUM_FILE_READ, 0, THRUM_FOREVER);
    return code ? code : thrum_io_close(again);
}
static int do_read(void) {
    char text[4] = "";
    const int64_t n = thrum_file_pread(io, text, 4, 0, THRUM_FOREVER);
    return n == 4 && memcmp(text, "text", 4) == 0 ? 0 : (int)n;
}
static int do_write(void) {
    const int64_t n = thrum_file_pwrite(io, "text", 4, 0, THRUM_FOREVER);
    return n == 4 ? 0 : (int)n;
}
CHECK_UNUSED static int do_append(void) {
    const int64_t n = thrum_file_append(to, "text", 4, THRUM_FOREVER);
    return n == 4 ? 0 : (int)n;
}
static int do_sync(void) {
    return thrum_file_sync(io, THRUM_FOREVER);
}
static int do_sync_data(void) {
    return thrum_file_sync_data(io, THRUM_FOREVER);
}
static int do_truncate(void) {
    return thrum_file_truncate(to, 100, THRUM_FOREVER);
}
static int do_allocate(void) {
    const int code = thrum_file_allocate(to, 0, 100, 0, THRUM_FOREVER);
    return code == -EOPNOTSUPP ? 0 : code;
}
static int do_stat(void) {
    thrum_file_info info;
    return thrum_file_stat("a", 0, &info, THRUM_FOREVER);
}
static int do_rename(void) {
    const int code = thrum_file_rename("a", "c", 0, THRUM_FOREVER);
    return code ? code : rename("c", "a");
}
static int do_unlink(void) {
    fclose(fopen("c", "w"));
    const int code = thrum_file_unlink("c", THRUM_FOREVER);
    CHECK_EQ(access("c", F_OK), code ? 0 : -1);
    (void)unlink("c");
    return code;
}
static int do_mkdir(void) {
    const int code = thrum_file_mkdir("c", 0700, THRUM_FOREVER);
    return code ? code : rmdir("c");
}
static int do_rmdir(void) {
    CHECK_EQ(mkdir("c", 0700), 0);
    const int code = thrum_file_rmdir("c", THRUM_FOREVER);
    (void)rmdir("c");
    return code;
}
static int do_link(void) {
    const int code = thrum_file_link("r", "c", THRUM_FOREVER);
    return code ? code : unlink("c");
}
#if HAS_SYMLINKS
static int do_symlink(void) {
    const int code = thrum_file_symlink("a", "c", THRUM_FOREVER);
    return code ? code : unlink("c");
}
static int do_readlink(void) {
    char text[8];
    CHECK_EQ(symlink("a", "c"), 0);
    const int code = thrum_file_readlink("c", text, sizeof text, THRUM_FOREVER);
    CHECK_EQ(unlink("c"), 0);
    return code == 1 ? 0 : code;
}
#endif
static int do_list(void) {
    thrum_dir *dir;
    thrum_dir_entry e;
    int n = 0;
    CHECK_EQ(thrum_dir_open(&dir, ".", THRUM_FOREVER), 0);
    int code = thrum_dir_next(dir, &e, THRUM_FOREVER);
    const int first = code < 0 ? code : 0;
    for (; code; code = thrum_dir_next(dir, &e, THRUM_FOREVER)) {
        n += code == 1;
    }
    CHECK_EQ(n, 3); /* none is lost */
    thrum_dir_close(dir);
    return first;
}
static int do_copy(void) {
    const int64_t n = thrum_file_copy(io, 0, to, 0, 4, THRUM_FOREVER);
    return n == 4 ? 0 : (int)n;
}
CHECK_UNUSED static int do_lock(void) {
    const int code = thrum_file_lock(io, THRUM_FILE_WRITE, THRUM_FOREVER);
    CHECK_EQ(thrum_file_try_lock(to, THRUM_FILE_WRITE), 0);
    return code ? code : thrum_file_unlock(io);
}
#if HAS_WATCHES
static int do_watch(void) {
    const int code = thrum_watch_add(watch, ".", THRUM_WATCH_CREATED, THRUM_FOREVER);
    return code > 0 ? 0 : code;
}
#endif
static int do_replace(void) {
    return thrum_file_replace("r", "text", 4, 0, THRUM_FOREVER);
}
static int do_load(void) {
    char text[8];
    const int64_t n = thrum_file_load("a", text, sizeof text, THRUM_FOREVER);
    return n == 4 ? 0 : (int)n;
}

/* What the pages of the calls name. */
static const struct {
    int (*call)(void);
    th_os_file_call fails;
    int codes[9];
} cases[] = {
    {do_open, TH_OS_FILE_OPEN, {EACCES, EMFILE, ENFILE, ENOMEM, ENOSPC, EDQUOT, EROFS, ETXTBSY}},
    {do_read, TH_OS_FILE_READ, {EIO, EISDIR, EINVAL, EOVERFLOW, ENXIO, EBADF, EAGAIN, ESTALE}},
    {do_write, TH_OS_FILE_WRITE, {EIO, ENOSPC, EDQUOT, EFBIG, EPERM, EINVAL, EAGAIN, ESTALE}},
#if HAS_APPEND
    {do_append, TH_OS_FILE_ADD, {EIO, ENOSPC, EDQUOT, EFBIG, EOPNOTSUPP}},
#endif
    {do_sync, TH_OS_FILE_FLUSH, {EIO, ENOSPC, EDQUOT, EROFS, EINVAL}},
    {do_sync_data, TH_OS_FILE_FLUSH_DATA, {EIO, ENOSPC, EDQUOT, EROFS, EINVAL}},
    {do_truncate, TH_OS_FILE_RESIZE, {EFBIG, EIO, EINVAL, EPERM, EROFS}},
    {do_allocate, TH_OS_FILE_ALLOCATE, {ENOSPC, EFBIG, EIO, ENODEV, ENOSYS, EPERM}},
    {do_stat, TH_OS_FILE_LOOK, {EACCES, ELOOP, ENOENT, ENOMEM, ENOTDIR, EOVERFLOW, EIO}},
    {do_rename,
     TH_OS_FILE_RENAME,
     {EACCES, EBUSY, EDQUOT, EMLINK, ENOSPC, EXDEV, EROFS, ENOTEMPTY}},
    {do_unlink, TH_OS_FILE_UNLINK, {EACCES, EBUSY, EIO, EISDIR, ENOMEM, EPERM, EROFS}},
    {do_mkdir, TH_OS_FILE_MKDIR, {EACCES, EDQUOT, EMLINK, ENOMEM, ENOSPC, EROFS}},
    {do_rmdir, TH_OS_FILE_RMDIR, {EACCES, EBUSY, EINVAL, ENOTEMPTY, EPERM, EROFS}},
    {do_link, TH_OS_FILE_LINK, {EACCES, EDQUOT, EIO, EMLINK, ENOSPC, EPERM, EXDEV}},
#if HAS_SYMLINKS
    {do_symlink, TH_OS_FILE_SYMLINK, {EACCES, EDQUOT, EIO, ENOMEM, ENOSPC, EPERM}},
    {do_readlink, TH_OS_FILE_READLINK, {EACCES, EIO, ELOOP, ENOMEM, ENOTDIR}},
#endif
    {do_list, TH_OS_FILE_LIST, {EIO, ENOENT, EINVAL, EFAULT}},
    {do_copy, TH_OS_FILE_COPY, {EIO, ENOSPC, EFBIG, EISDIR, ENOMEM, ETXTBSY}},
#if HAS_LOCKS
    {do_lock, TH_OS_FILE_LOCK, {ENOLCK, EINVAL, EDEADLK, EOVERFLOW}},
#endif
#if HAS_WATCHES
    {do_watch, TH_OS_FILE_WATCH, {ENOSPC, ENOMEM, EACCES, ENOENT}},
#endif
    /* In the middle of others. */
    {do_replace, TH_OS_FILE_OPEN, {EMFILE, EACCES, EROFS}},
    {do_replace, TH_OS_FILE_CHMOD, {EPERM, EIO, EROFS}},
    {do_replace, TH_OS_FILE_WRITE, {ENOSPC, EDQUOT, EIO}},
    {do_replace, TH_OS_FILE_FLUSH, {EIO, ENOSPC, EDQUOT}},
    {do_replace, TH_OS_FILE_RENAME, {EACCES, ENOSPC, EIO}},
    {do_load, TH_OS_FILE_OPEN, {EMFILE, EACCES}},
    {do_load, TH_OS_FILE_READ, {EIO, EISDIR}},
};

static int cases_body(void *arg) {
    (void)arg;
    begin();
    for (unsigned i = 0; i < COUNT_OF(cases); i++) {
        const th_os_fault fault = (th_os_fault)(TH_OS_FAULT_FILE + (unsigned)cases[i].fails);
        CHECK_EQ(cases[i].call(), 0);
        for (unsigned k = 0; cases[i].codes[k]; k++) {
            th_os_fail_with(fault, -cases[i].codes[k], 0, 1);
            const int code = cases[i].call();
            CHECK_EQ(th_os_fails_left(fault), 0);
            CHECK_EQ(code, -cases[i].codes[k]);
            CHECK_EQ(cases[i].call(), 0);
        }
        th_os_fail_with(fault, -EINTR, 0, HAS_INTERRUPTS ? 3 : 0); /* that is nobody's business */
        CHECK_EQ(cases[i].call(), 0);
        CHECK_EQ(th_os_fails_left(fault), 0);
    }
    end();
    return 0;
}

TEST(each_call_fails_as_its_page_says) {
    /* Nothing is left of it, and it works again. An interrupted one is made again. */
    both(cases_body);
}

static int memory_body(void *arg) {
    (void)arg;
    begin();
    for (unsigned i = 0; i < COUNT_OF(cases); i++) {
        if (cases[i].call == do_list || cases[i].call == do_lock) {
            continue; /* they make several calls, of which others would be refused */
        }
        th_os_fail(TH_OS_FAULT_ALLOC, 0, 1);
        CHECK_EQ(cases[i].call(), -ENOMEM);
        CHECK_EQ(th_os_fails_left(TH_OS_FAULT_ALLOC), 0);
        CHECK_EQ(cases[i].call(), 0);
    }
    end();
    return 0;
}

TEST(no_memory_for_an_operation) {
    /* Then nothing is done. */
    both(memory_body);
}

/* ---- threads ---- */

static int stat_result(void *arg) {
    (void)arg;
    return do_stat();
}

TEST(no_thread_for_an_operation) {
    /* Where there is none yet, all that is queued fails; afterwards one is started. */
    rig r;
    rig_begin(&r, 1);
    in_dir(path);
    CHECK_EQ(close(open("a", O_CREAT | O_WRONLY, 0600)), 0);
    th_os_fail(TH_OS_FAULT_THREAD, 0, 1);
    CHECK_EQ(rig_run(&r, stat_result, NULL), -EAGAIN);
    CHECK_EQ(figures().threads, 0);
    CHECK_EQ(rig_run(&r, stat_result, NULL), 0);
    CHECK(figures().threads <= 1);
    do {
        CHECK_EQ(rig_run(&r, stat_result, NULL), 0); /* by the same thread, unless that has ended */
        CHECK(figures().threads <= 1);
    } while (figures().threads == 0);
    rig_stop(&r);
    CHECK_EQ(unlink("a"), 0);
    out_of_dir(path);
}

static int try_lock_result(void *arg) {
    (void)arg;
    return thrum_file_try_lock(io, THRUM_FILE_WRITE);
}

static int lock_result(void *arg) {
    (void)arg;
    return thrum_file_lock(io, THRUM_FILE_WRITE, far_off());
}

TEST(no_thread_is_not_taken_for_a_lock_of_others) {
    /* Nobody has locked the file: the calls say what is missing, and work when it is there. */
    NOT_BY_POSIX("locks of an open file");
    rig r;
    rig_begin(&r, 1);
    in_dir(path);
    CHECK_EQ(thrum_file_adopt(&io, file_opened("a", false)), 0);
    th_os_fail(TH_OS_FAULT_THREAD, 0, 2);
    CHECK_EQ(rig_run(&r, try_lock_result, NULL), -EAGAIN);
    CHECK_EQ(rig_run(&r, lock_result, NULL), -EAGAIN);
    CHECK_EQ(rig_run(&r, try_lock_result, NULL), 0);
    CHECK_EQ(thrum_io_close(io), 0);
    rig_stop(&r);
    CHECK_EQ(unlink("a"), 0);
    out_of_dir(path);
}

/* ---- a file that is replaced ---- */

TEST(a_replacement_that_is_refused_changes_nothing) {
    /* The directory is opened first, then what is put beside the file. */
    char text[8];
    in_dir(path);
    CHECK_EQ(thrum_file_replace("a", "old", 3, 0, THRUM_FOREVER), 0);
    for (unsigned after = 0; after < 2; after++) {
        th_os_fail_with(TH_OS_FAULT_FILE + TH_OS_FILE_OPEN, -EACCES, after, 1);
        CHECK_EQ(thrum_file_replace("a", "new", 3, 0, THRUM_FOREVER), -EACCES);
        CHECK_EQ(thrum_file_load("a", text, sizeof text, THRUM_FOREVER), 3);
        CHECK(memcmp(text, "old", 3) == 0);
    }
    CHECK_EQ(unlink("a"), 0);
    out_of_dir(path); /* nothing is left beside it */
}

/* ---- what is cut short ---- */

static int cut_body(void *arg) {
    char text[8] = "";
    (void)arg;
    begin();
    /* A byte, and then the error. */
    th_os_fail(TH_OS_FAULT_FILE_SHORT, 0, 1);
    th_os_fail_with(TH_OS_FAULT_FILE + TH_OS_FILE_WRITE, -ENOSPC, 1, 1);
    CHECK_EQ(thrum_file_pwrite(io, "text", 4, 0, THRUM_FOREVER), 1);
    CHECK_EQ(th_os_fails_left(TH_OS_FAULT_FILE + TH_OS_FILE_WRITE), 0);
    th_os_fail(TH_OS_FAULT_FILE_SHORT, 0, 1);
    th_os_fail_with(TH_OS_FAULT_FILE + TH_OS_FILE_READ, -EIO, 1, 1);
    CHECK_EQ(thrum_file_pread(io, text, 4, 0, THRUM_FOREVER), 1);
    CHECK_EQ(text[0], 't');
    th_os_fail(TH_OS_FAULT_FILE_SHORT, 0, 100);
    CHECK_EQ(do_replace(), 0);
    CHECK_EQ(do_load(), 0);
    th_os_fail(TH_OS_FAULT_FILE_SHORT, 0, 0);
    /* It shrinks behind a reader's back. */
    CHECK_EQ(thrum_file_truncate(io, 2, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_file_pread(io, text, 4, 0, THRUM_FOREVER), 2);
    CHECK_EQ(thrum_file_pread(io, text, 4, 2, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_file_pwrite(io, "xt", 2, 2, THRUM_FOREVER), 2);
    end();
    return 0;
}

TEST(a_count_comes_before_its_error) {
    /* What was moved is told; the error is the next call's. */
    both(cut_body);
}

static int descriptor_body(void *arg) {
    thrum_io none;
    (void)arg;
    th_os_fail(TH_OS_FAULT_WATCH_OPEN, 0, 1);
    CHECK_EQ(thrum_watch_open(&none), -EMFILE);
    return 0;
}

TEST(no_descriptor_to_watch_with) {
    /* The system's code. */
    NOT_BY_POSIX("changes of files");
    both(descriptor_body);
}

TEST(no_memory_for_the_record_of_a_file) {
    /* What was opened is closed. */
    thrum_io none;
    const int before = fds_open();
    th_os_fail(TH_OS_FAULT_MAP, 0, 1);
    CHECK_EQ(thrum_file_open(&none, FILE_NULL, THRUM_FILE_READ, 0, THRUM_FOREVER), -ENOMEM);
    CHECK_EQ(fds_open(), before);
    th_os_fail(TH_OS_FAULT_MAP, 0, 1);
    const int code = thrum_watch_open(&none);
    if (code == -EMFILE) {
        CHECK_SKIP("other programs have all watches that the user may open");
    }
    CHECK_EQ(code, HAS_WATCHES ? -ENOMEM : -ENOSYS);
    CHECK_EQ(fds_open(), before);
}
