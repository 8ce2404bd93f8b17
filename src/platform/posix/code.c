/*
 * code.c: places in the code. POSIX has no names for them: they are addresses.
 */
#include "platform/unix/system.h"

#include <inttypes.h>
#include <stdio.h>

void th_os_code_name(uintptr_t address, char *text, size_t size, th_os_symbols *symbols) {
    (void)symbols;
    TH_KEEPS_ERRNO;
    snprintf(text, size, "0x%" PRIxPTR, address);
}

bool th_os_code_call(uintptr_t after, th_os_place *place, th_os_symbols *symbols) {
    (void)after, (void)symbols;
    *place = (th_os_place){.file = ""};
    return false;
}

bool th_os_code_place(uintptr_t address, th_os_place *place, th_os_symbols *symbols) {
    return th_os_code_call(address, place, symbols);
}

unsigned th_os_code_spans(th_os_span spans[], unsigned max) {
    (void)spans, (void)max;
    return 0;
}

unsigned th_os_modules(th_os_module modules[], unsigned max) {
    (void)modules, (void)max;
    return 0;
}

void th_os_code_lock(void) {
}

void th_os_code_unlock(void) {
}
