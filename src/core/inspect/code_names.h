/*
 * code_names.h: names of places in the program's code, for one report or trace.
 *
 * A look-up takes a lock of the loader, and may read a file's symbol table. Crowds wait in the same
 * calls, so results are kept until the report ends: 256 places, in *sets* by their address; in a
 * full set the oldest goes. The amount that one report may read of files is also limited: beyond
 * that, places are given by file and offset.
 *
 * The memory is taken from the scheduler's allocator at the first question. Without it, function
 * names come from the symbols in memory, and calls are not reported.
 */
#ifndef TH_CODE_NAMES_H
#define TH_CODE_NAMES_H

#include "platform/platform.h"
#include "thrum/sched.h"

#define TH_CALL_TEXT 192u /* bytes for "file+0x1234 (function+0x12)" */

/* A call that returns to some place, if one does. */
typedef struct th_known_call {
    bool is_call;
    bool of_system;     /* of the C library, or the like */
    uintptr_t function; /* the beginning of its function, or 0: not known */
    uintptr_t leads;    /* where it leads, or 0: it is by register */
    char text[TH_CALL_TEXT];
} th_known_call;

typedef struct th_code_names {
    thrum_sched *sched;
    struct th_code_memory *memory; /* NULL: none was asked for, or there is none */
    bool refused;
} th_code_names;

void th_code_names_begin(th_code_names *names, thrum_sched *sched);
void th_code_names_end(th_code_names *names);

/*
 * The name for an address: "function", "function+0x12", "file+0x1234". The text is valid until the
 * next question; without memory it is written to `text`.
 */
const char *th_code_names_function(th_code_names *names, uintptr_t address,
                                   char text[TH_CALL_TEXT]);

/*
 * The call that returns to `address`, or any place in the code (`call` is false), as of a call:
 * `is_call`: there is code. Valid until the next question; NULL: there is no memory.
 */
const th_known_call *th_code_names_known(th_code_names *names, uintptr_t address, bool call);

#endif
