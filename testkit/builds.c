/*
 * builds.c: programs that were compiled or linked in a way that the kit cannot run. One line says
 * so, instead of a crash or a false report.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kit.h"

/* The sanitizers' own libraries, if the program is linked with one. */
#pragma GCC visibility push(default)
extern char __asan_init[] __attribute__((weak));
extern char __hwasan_init[] __attribute__((weak));
extern char __lsan_init[] __attribute__((weak));
extern char __msan_init[] __attribute__((weak));
extern char __tsan_get_current_report[] __attribute__((weak));
#pragma GCC visibility pop

static const struct {
    const char *name;
    const char *there; /* NULL: it is not there */
} sanitizers[] = {{"address", __asan_init},
                  {"hwaddress", __hwasan_init},
                  {"leak", __lsan_init},
                  {"memory", __msan_init}};

bool kit_build_is_wrong(void) {
    for (unsigned i = 0; i < sizeof sanitizers / sizeof *sanitizers; i++) {
        if (sanitizers[i].there) {
            fprintf(stderr,
                    "%s: linked with -fsanitize=%s, which does not work with the test kit's memory;"
                    " use thrum::test_real (-lthrum-test-real)\n",
                    program_invocation_short_name, sanitizers[i].name);
            return true;
        }
    }
    if (__tsan_get_current_report) {
        kit_refuse_tsan();
    }
    return false;
}

/* It may be called before the C library is ready. */
static void refuse(const char *text) {
    (void)!syscall(SYS_write, 2, text, strlen(text));
    syscall(SYS_exit_group, 2);
}

void kit_refuse_tsan(void) {
    if (kit_mode == M_SEQ) {
        refuse("compiled with -fsanitize=thread: link with thrum::test_race (-lthrum-test-race)"
               " instead of thrum::test\n");
    }
    if (__tsan_get_current_report) {
        refuse("linked with -fsanitize=thread: thrum::test_race (-lthrum-test-race) takes the place"
               " of the sanitizer's library, so compile with this option, but link without it\n");
    }
}
