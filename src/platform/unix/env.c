/*
 * env.c: texts of errors, the one way to print, and the end of the program.
 */
#include "platform/unix/system.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef EHWPOISON
#define NUMBER_LAST EHWPOISON /* the highest error number of Linux */
#else
#define NUMBER_LAST 90 /* the lowest of the highest ones elsewhere */
#endif

int th_os_pid(void) {
    return getpid();
}

const char *th_os_error_text(int number) {
    if (number > NUMBER_LAST) {
        return NULL; /* for these some C libraries write to a buffer that all threads share */
    }
#if defined(__GLIBC__) && defined(_GNU_SOURCE)
#if __GLIBC_PREREQ(2, 32)
#define HAS_ERROR_TEXT 1 /* tested separately: without the macro the #if does not even parse */
#endif
#endif
#ifdef HAS_ERROR_TEXT
    return strerrordesc_np(number);
#else
    TH_KEEPS_ERRNO;
    const char *text = strerror(number); /* for the numbers that exist it is a constant */
    return text;
#endif
}

void th_os_stderr(const char *text, size_t length) {
    (void)th_os_record_write(STDERR_FILENO, text, length);
}

bool th_os_stderr_waits(int ms) {
    struct pollfd one = {.fd = STDERR_FILENO, .events = POLLOUT};
    TH_KEEPS_ERRNO;
    int n = poll(&one, 1, ms); /* a pipe is ready when it takes a page */
    /* Where RLIMIT_NOFILE is 0 poll fails: then the text is written without a look. */
    bool fails = n < 0 && th_os_errno_get() != EINTR;
    return n > 0 || fails;
}

void th_os_abort(void) {
    abort();
}

void th_os_exit(int status) {
    _exit(status);
}

int th_os_at_exit(void (*call)(void)) {
    return atexit(call) ? -ENOMEM : 0;
}
