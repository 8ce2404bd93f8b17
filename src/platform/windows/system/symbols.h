/*
 * symbols.h: names of functions out of the file that a part of the program was loaded from: its
 * COFF symbol table, which mingw's linker writes unless it strips it.
 *
 * It is read at each question, in pieces, and kept nowhere. A file is trusted if its headers are
 * those in memory: so one that has replaced it since is refused. Its contents are a claim, checked
 * against the readable part; the amount that a question may read is counted (`left`).
 */
#ifndef TH_WINDOWS_SYMBOLS_H
#define TH_WINDOWS_SYMBOLS_H

#include "platform/platform.h"

/*
 * Looks for the function around an address, `offset` in the module at `base`, and fills in its name
 * and the offset from its beginning, or leaves the name empty.
 */
void th_nt_symbols_find(th_os_symbols *symbols, uintptr_t base, th_os_place *place);

#endif
