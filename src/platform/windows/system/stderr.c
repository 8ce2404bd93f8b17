/*
 * stderr.c: stderr, which may be a pipe that nobody reads; and the abort after a message.
 *
 * Windows does not report whether a pipe takes more bytes, and answers no query about a handle, not
 * even its type, while a call on it waits: the program's own may. So a thread, the *printer*,
 * writes all output, out of a copy. A caller waits for a while until its output is written, and
 * then leaves it to the printer: all others find that stderr takes nothing, until that has been
 * taken. A caller that prints without a check waits longer, and so does the end of the program;
 * output that nobody reads by then is lost.
 *
 * The printer begins with the first output, and is there once it runs. If no thread can begin, as
 * in a crash with a lock of the system's, everything is written directly.
 */
#include "platform/platform.h"
#include "platform/windows/system/nt.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"

#define ROOM 8192u
#define WHILE_NS (INT64_C(200) * 1000000)
#define LONGER_NS (INT64_C(1000) * 1000000)

/* Owned by the thread with the turn, and then by the printer, which gives it back. */
static HANDLE file;
static DWORD size;
static char bytes[ROOM];

static uint32_t xtaken; /* 1: somebody has the turn */
static uint32_t xbegun; /* 1: the printer runs */
static bool asked;      /* it was started, or could not be; with the turn */
static HANDLE given;    /* it is to write something */

static void write_all(HANDLE to, const char *text, size_t length) {
    DWORD n;
    while (length > 0 && WriteFile(to, text, (DWORD)length, &n, NULL) && n > 0) {
        text += n;
        length -= n;
    }
}

static void give_turn(void) {
    th_store_release(&xtaken, 0u); /* pairs: take_turn; publishes the protected data */
    th_os_futex_wake(&xtaken, INT32_MAX);
}

/* False: not until then. */
static bool is_free(int64_t deadline) {
    while (th_load_acquire(&xtaken)) { /* pairs: give_turn; stderr has taken its bytes */
        if (th_os_now() >= deadline) {
            return false;
        }
        (void)th_os_futex_wait(&xtaken, 1, deadline);
    }
    return true;
}

/* False: not until then. */
static bool take_turn(int64_t deadline) {
    uint32_t none = 0;
    /* pairs: give_turn; the data that the turn protects */
    while (!th_cas_acquire(&xtaken, &none, 1u)) {
        none = 0;
        if (!is_free(deadline)) {
            return false;
        }
    }
    return true;
}

static DWORD WINAPI print(void *arg) {
    (void)arg;
    th_store_release(&xbegun, 1u); /* pairs: put, begin; publishes the event */
    th_os_futex_wake(&xbegun, INT32_MAX);
    for (;;) {
        (void)WaitForSingleObject(given, INFINITE);
        write_all(file, bytes, size);
        give_turn();
    }
    return 0;
}

/* With the turn: the printer, if there can be one. It is waited for once. */
static void begin(void) {
    const int64_t deadline = th_os_now() + WHILE_NS;
    if (asked) {
        return;
    }
    asked = true;
    given = CreateEventW(NULL, FALSE, FALSE, NULL);
    HANDLE thread = given ? CreateThread(NULL, 65536, print, NULL, 0, NULL) : NULL;
    if (!thread) {
        return; /* the event stays: nobody asks again */
    }
    CloseHandle(thread);
    /* pairs: print; it runs */
    while (!th_load_acquire(&xbegun) && th_os_now() < deadline) {
        (void)th_os_futex_wait(&xbegun, 0, deadline);
    }
}

/* One piece, unless nobody has read the one before for so long. */
static void put(const char *text, size_t length) {
    if (!take_turn(th_os_now() + LONGER_NS)) {
        return;
    }
    HANDLE to = GetStdHandle(STD_ERROR_HANDLE);
    begin();
    /* pairs: print; the event */
    if (!th_load_acquire(&xbegun)) {
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

void th_os_stderr(const char *text, size_t length) {
    const DWORD saved = GetLastError();
    for (size_t done = 0; done < length; done += ROOM) {
        put(text + done, length - done < ROOM ? length - done : ROOM);
    }
    SetLastError(saved);
}

bool th_os_stderr_waits(int ms) {
    if (!take_turn(th_os_now() + (int64_t)ms * 1000000)) {
        return false;
    }
    begin();
    give_turn();
    return true;
}

/*
 * The last output may have the reason. It ends as by abort(), which would print to stderr itself:
 * the C library writes its usual message there, and waits for a reader.
 */
void th_os_abort(void) {
    (void)is_free(th_os_now() + LONGER_NS);
    (void)raise(SIGABRT);
    _exit(3);
}
