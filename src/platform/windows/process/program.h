/*
 * program.h: the arguments of CreateProcessW (program.c), for process.c.
 */
#ifndef TH_WINDOWS_PROGRAM_H
#define TH_WINDOWS_PROGRAM_H

#include "platform/windows/system/nt.h"

/*
 * The arguments as one line, in UTF-16, from which Microsoft's C library, and CommandLineToArgvW,
 * make the same arguments again. 0 with *out, for th_os_free; -E2BIG; -EILSEQ: it is no UTF-8;
 * -EINVAL: the first one has a quotation mark, which no rule can express there; -ENOMEM.
 */
int th_program_line(const char *const *argv, wchar_t **out);

/*
 * The environment as a block: texts in UTF-16, sorted, each with its zero, and one more zero.
 * -EILSEQ, -ENOMEM. Texts without "=" are left out.
 */
int th_program_environment(const char *const *env, wchar_t **out);

#endif
