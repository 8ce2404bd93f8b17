/*
 * system_windows.c: see system.h.
 */
#include "system.h"

#include <fcntl.h>
#include <io.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/base.h>
#include <unistd.h>
#include <windows.h>
/* After the headers that it needs. */
#include <psapi.h>

#include "windows_arguments.h"
#include "windows_errors.h"

void system_begin(int *argc, char ***argv) {
    const HANDLE screen = GetStdHandle(STD_ERROR_HANDLE);
    DWORD mode;
    arguments_take(argc, argv);
    (void)_setmode(STDOUT_FILENO, _O_BINARY);
    (void)_setmode(STDERR_FILENO, _O_BINARY);
    if (GetConsoleMode(screen, &mode)) { /* it has to support clearing a line */
        SetConsoleMode(screen, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
    }
}

unsigned system_files_max(void) {
    return 1u << 24; /* handles; memory ends before */
}

unsigned long long system_peak_kib(void) {
    PROCESS_MEMORY_COUNTERS counters = {.cb = sizeof counters};
    GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof counters);
    return counters.PeakWorkingSetSize >> 10;
}

int system_write(int fd, const char *text, size_t size) {
    const HANDLE to = GetStdHandle(fd == STDERR_FILENO ? STD_ERROR_HANDLE : STD_OUTPUT_HANDLE);
    while (size > 0) {
        DWORD put;
        if (!WriteFile(to, text, size < INT_MAX ? (DWORD)size : INT_MAX, &put, NULL)) {
            return errno_of(GetLastError());
        }
        text += put;
        size -= put;
    }
    return 0;
}

/* The C library has words for old errors alone. */
const char *system_words(int err) {
    return err == ELOOP    ? "Too many levels of symbolic links"
           : err == ESTALE ? "Stale file handle"
                           : strerror(err);
}

/* ---- sorting ---- */

struct order {
    int (*compare)(const void *, const void *, void *);
    void *arg;
};

static int call(void *ctx, const void *left, const void *right) {
    const struct order *order = ctx;
    return order->compare(left, right, order->arg);
}

void system_sort(void *base, size_t n, size_t size,
                 int (*compare)(const void *, const void *, void *), void *arg) {
    struct order order = {compare, arg};
    qsort_s(base, n, size, call, &order);
}
