/*
 * gdb_script.h: tools/user/thrum-gdb.py in the library, for gdb to find (docs/debugging.md). It is
 * not loaded: the section is treated like debug information. It is in the file of the first frames
 * of contexts, which is in every program that links the library.
 */
#ifndef TH_GDB_SCRIPT_H
#define TH_GDB_SCRIPT_H

/* clang-format off */
#if defined(__ASSEMBLER__) && defined(TH_GDB_SCRIPT)
    .section .debug_gdb_scripts, "MS", %progbits, 1
    .byte 4 /* SECTION_SCRIPT_ID_PYTHON_TEXT: a name, a line break, the text */
    .ascii "thrum-gdb.py\n"
    .incbin TH_GDB_SCRIPT
    .byte 0
#endif
/* clang-format on */

#endif
