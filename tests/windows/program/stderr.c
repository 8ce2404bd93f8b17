/*
 * stderr.c: stderr as a pipe that nobody reads: what is printed all the same, also behind a write
 * of the program's own, what is printed before an abort, and what is printed where no thread can
 * begin.
 */
/* wrap: th_os_now */
#include "support/io/unread.h"

#include <windows.h>

#include "platform/platform.h"

static const char last_line[] = "the last line\n";
static unread u;
static int64_t stopped_at; /* the time from then on; 0: it goes on */

int64_t __real_th_os_now(void);
int64_t __wrap_th_os_now(void);

int64_t __wrap_th_os_now(void) {
    return stopped_at ? stopped_at : __real_th_os_now();
}

/* How much can be read of what was printed. */
static DWORD printed(void) {
    DWORD size = 0;
    CHECK(PeekNamedPipe((HANDLE)_get_osfhandle(u.ends[0]), NULL, 0, NULL, &size, NULL));
    return size;
}

TEST(what_is_printed_without_a_question_waits_not_for_ever) {
    /* It is given up, as long as stderr takes nothing. */
    unread_begin(&u);
    CHECK(th_os_stderr_waits(0));
    for (int i = 0; i < 3; i++) {
        th_os_stderr(last_line, strlen(last_line));
    }
    CHECK(!th_os_stderr_waits(0));
    unread_end(&u);
    CHECK(th_os_stderr_waits(60000));
}

static DWORD WINAPI makes_room(void *arg) {
    static char zeroes[PIPE_BYTES];
    (void)arg;
    for (size_t done = 0; done < sizeof zeroes;) {
        const int n = read(u.ends[0], zeroes, (unsigned)(sizeof zeroes - done));
        CHECK(n > 0);
        done += (size_t)n;
    }
    return 0;
}

/* The program's own write, which stands in the call. */
static DWORD WINAPI writes(void *arg) {
    (void)arg;
    CHECK_EQ(write(STDERR_FILENO, "own\n", 4), 4);
    return 0;
}

TEST(what_is_printed_first_waits_not_for_the_programs_own_write) {
    /* Nobody has asked, and no report was printed: as a panic that is the first line. */
    unread_begin(&u);
    HANDLE own = CreateThread(NULL, 0, writes, NULL, 0, NULL);
    CHECK(own != NULL);
    (void)WaitForSingleObject(own, 50); /* it is on its way, or stands */
    th_os_stderr(last_line, strlen(last_line));
    CHECK(!th_os_stderr_waits(0));
    makes_room(NULL);
    CHECK_EQ(WaitForSingleObject(own, INFINITE), WAIT_OBJECT_0);
    CHECK(th_os_stderr_waits(60000));
    CHECK_EQ(printed(), 4 + strlen(last_line));
    CloseHandle(own);
    unread_end(&u);
}

/* Tells on the stderr of before what has come out. */
static void on_abort(int number) {
    char text[sizeof last_line] = "";
    (void)number;
    if (printed() == strlen(last_line)) {
        CHECK_EQ(read(u.ends[0], text, sizeof text), strlen(last_line));
        CHECK_EQ(write(u.kept, text, (unsigned)strlen(text)), strlen(text));
    }
}

static void aborts(void *arg) {
    (void)arg;
    unread_begin(&u);
    CHECK(th_os_stderr_waits(0));
    th_os_stderr(last_line, strlen(last_line));
    signal(SIGABRT, on_abort);
    stopped_at = __real_th_os_now(); /* else it would give up after a second */
    CHECK(CreateThread(NULL, 0, makes_room, NULL, 0, NULL) != NULL);
    th_os_abort();
}

TEST(an_abort_waits_until_its_reason_is_read) {
    /* The pipe is full when it is printed, and somebody begins to read. */
    check_dies(aborts, NULL, last_line);
}

typedef LONG(NTAPI *lock_fn)(ULONG flags, ULONG *result, ULONG_PTR *cookie);
typedef LONG(NTAPI *unlock_fn)(ULONG flags, ULONG_PTR cookie);

TEST(where_no_thread_can_begin_it_is_printed) {
    /* With the loader's lock, as in a crash of a library that is just loaded. */
    ULONG_PTR cookie;
    ULONG result;
    const HMODULE nt = GetModuleHandleA("ntdll.dll");
    const lock_fn take = (lock_fn)(void (*)(void))GetProcAddress(nt, "LdrLockLoaderLock");
    const unlock_fn give_back =
        (unlock_fn)(void (*)(void))GetProcAddress(nt, "LdrUnlockLoaderLock");
    CHECK(take && give_back);
    CHECK_EQ(pipe(u.ends), 0);
    u.kept = dup(STDERR_FILENO);
    CHECK_EQ(dup2(u.ends[1], STDERR_FILENO), STDERR_FILENO);
    CHECK_EQ(take(0, &result, &cookie), 0);
    const bool takes = th_os_stderr_waits(0);
    th_os_stderr(last_line, strlen(last_line));
    const DWORD size = printed();
    CHECK_EQ(give_back(0, cookie), 0);
    unread_end(&u);
    CHECK(takes);
    CHECK_EQ(size, strlen(last_line));
}
