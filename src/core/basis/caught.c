/*
 * caught.c: see caught.h.
 */
#include "core/basis/caught.h"

th_lock th_caught_lock = TH_LOCK_INIT;

int th_caught_begin(int number, th_os_catcher catcher, void (*caught)(int number)) {
    TH_LOCKED(&th_caught_lock);
    return th_os_signal_catch(number, catcher, caught);
}

void th_caught_end(int number, th_os_catcher catcher) {
    TH_LOCKED(&th_caught_lock);
    th_os_signal_release(number, catcher);
}
