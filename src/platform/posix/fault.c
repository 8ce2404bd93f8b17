/*
 * fault.c: signals that come again, and how large their frames are.
 */
#include "platform/unix/system.h"

/* The first signal's data does not come again. */
void th_system_signal_again(int number, const siginfo_t *info) {
    (void)info;
    pthread_kill(pthread_self(), number);
}

size_t th_system_signal_frame(void) {
    return 16384; /* more than the vector registers of any processor that is known take */
}
