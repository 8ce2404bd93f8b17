/*
 * stderr.c: stderr, which may be a pipe that nobody reads.
 *
 * Windows does not tell whether a pipe takes more. So once somebody has asked for that, what goes
 * into a pipe is written by a thread, the *printer*, out of a copy. Whoever gives it something
 * waits for a while until it is written, and then leaves it to the printer: all others find that
 * stderr takes nothing, until the pipe has taken that.
 *
 * The system answers no question about a handle while a call on it waits, so none is asked then.
 */
#include "platform/platform.h"
#include "platform/windows/nt.h"

#include <string.h>

#include "base/atomic.h"

#define ROOM 8192u
#define WHILE_NS (INT64_C(200) * 1000000)

/* Of whoever has the turn, and then the printer's, which gives it back. */
static HANDLE file;
static DWORD size;
static char bytes[ROOM];

static uint32_t xtaken; /* 1: somebody has the turn */
static uint32_t xbegun; /* 1: there is a printer */
static HANDLE given;    /* it is to write something */

static void write_all(HANDLE to, const char *text, size_t length) {
    DWORD n;
    while (length > 0 && WriteFile(to, text, (DWORD)length, &n, NULL) && n > 0) {
        text += n;
        length -= n;
    }
}

static void give_turn(void) {
    th_store_release(&xtaken, 0u); /* pairs: take_turn; publishes what it protects */
    th_os_futex_wake(&xtaken, INT32_MAX);
}

/* False: not until then. */
static bool is_free(int64_t deadline) {
    while (th_load_acquire(&xtaken)) { /* pairs: give_turn; stderr has taken what it was given */
        if (th_os_now() >= deadline) {
            return false;
        }
        (void)th_os_futex_wait(&xtaken, 1, deadline);
    }
    return true;
}

static void take_turn(void) {
    uint32_t none = 0;
    /* pairs: give_turn; what the turn protects */
    while (!th_cas_acquire(&xtaken, &none, 1u)) {
        none = 0;
        (void)is_free(TH_FOREVER);
    }
}

static DWORD WINAPI print(void *arg) {
    (void)arg;
    for (;;) {
        (void)WaitForSingleObject(given, INFINITE);
        write_all(file, bytes, size);
        give_turn();
    }
    return 0;
}

static BOOL CALLBACK begin(INIT_ONCE *once, void *arg, void **context) {
    (void)once;
    (void)arg;
    (void)context;
    given = CreateEventW(NULL, FALSE, FALSE, NULL);
    HANDLE thread = given ? CreateThread(NULL, 65536, print, NULL, 0, NULL) : NULL;
    if (given && !thread) {
        CloseHandle(given);
    }
    if (!thread) {
        return FALSE;
    }
    CloseHandle(thread);
    th_store_release(&xbegun, 1u); /* pairs: th_os_stderr; publishes the event */
    return TRUE;
}

static bool is_pipe(HANDLE handle) {
    return GetFileType(handle) == FILE_TYPE_PIPE;
}

/* It writes directly what is longer, where there is no printer, and into what is no pipe. */
void th_os_stderr(const char *text, size_t length) {
    HANDLE to = GetStdHandle(STD_ERROR_HANDLE);
    /* pairs: begin; the event */
    if (!th_load_acquire(&xbegun) || length > ROOM) {
        write_all(to, text, length);
        return;
    }
    take_turn();
    if (!is_pipe(to)) {
        give_turn();
        write_all(to, text, length);
        return;
    }
    file = to;
    size = (DWORD)length;
    memcpy(bytes, text, length);
    SetEvent(given);
    (void)is_free(th_os_now() + WHILE_NS);
}

bool th_os_stderr_waits(int ms) {
    static INIT_ONCE once = INIT_ONCE_STATIC_INIT;
    if (!is_free(th_os_now() + (int64_t)ms * 1000000)) {
        return false;
    }
    if (is_pipe(GetStdHandle(STD_ERROR_HANDLE))) {
        (void)InitOnceExecuteOnce(&once, begin, NULL, NULL);
    }
    return true;
}
