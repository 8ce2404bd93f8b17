/*
 * symbols.h: names of functions out of the file that a part of the program was loaded from: its
 * COFF symbol table, which mingw's linker writes unless it is told to strip it.
 *
 * It is read at each question, in pieces, and kept nowhere. A file is trusted if its headers are
 * those in memory: so one that has replaced it since is refused. What stands in it is a claim, held
 * against what could be read; what a question may read is counted (`left`).
 */
#ifndef TH_WINDOWS_SYMBOLS_H
#define TH_WINDOWS_SYMBOLS_H

#include "platform/platform.h"

/*
 * Looks for the function around an address, `offset` in the module at `base`, and fills in its name
 * and what is past its beginning, or leaves the name empty.
 */
void th_nt_symbols_find(th_os_symbols *symbols, uintptr_t base, th_os_place *place);

#endif
