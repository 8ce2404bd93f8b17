/* sys/mman.h: for a test that locks memory, which ends where it comes to it. */
#include "check.h"

#define MCL_CURRENT 1
#define MCL_FUTURE 2
#define MCL_ONFAULT 4

CHECK_UNUSED __attribute__((noreturn)) static int mlockall(int which) {
    (void)which;
    check_skip(__FILE__, __LINE__, "no mlockall here");
}

CHECK_UNUSED static int munlockall(void) {
    return 0;
}
