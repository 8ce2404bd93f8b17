/*
 * fault.c: signals that come again, and how large their frames are.
 */
#include "platform/unix/system.h"

#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

/* GCOVR_EXCL_START: mostly the end of the process, counts and all (fault/signal/overflow.c) */
void th_system_signal_again(int number, const siginfo_t *info) {
    /* A filter of calls may refuse the first one. */
    if (!info || syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), number, info) != 0) {
        syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), number);
    }
} /* GCOVR_EXCL_STOP */

size_t th_system_signal_frame(void) {
    return (size_t)getauxval(AT_MINSIGSTKSZ);
}
