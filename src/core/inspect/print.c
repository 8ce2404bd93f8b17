/*
 * print.c: see print.h.
 */
#include "core/inspect/print.h"

#include <string.h>

#include "base/atomic.h"
#include "platform/platform.h"

#define PAGE_BYTES 4096u /* what stderr takes at once, if it takes any */
#define LOOK_MS 20

void th_print_until(const char *report, const int64_t *xpatience) {
    size_t left = strlen(report);
    while (left) {
        const size_t length = left < PAGE_BYTES ? left : PAGE_BYTES;
        while (!th_os_stderr_waits(LOOK_MS)) {
            if (th_os_now() >= th_load_relaxed(xpatience)) { /* relaxed: a time */
                return;
            }
        }
        th_os_stderr(report, length);
        report += length;
        left -= length;
    }
}
