/*
 * mark.h: where the library's own code lies in a program, so that the platform (own_code.h) can
 * distinguish a user's calls from the library's. The build includes it before each of the library's
 * files.
 *
 * Each object stores the bounds of its .text and of its unlikely part, each relative to its own
 * word, in a section whose name makes the linker define where all of them begin and end. The number
 * of a subsection orders an object's contributions to a section, so the assembler knows the end,
 * however the compiler orders functions. With link-time optimisation the marks of many objects meet
 * in one object and overlap: then nothing is known. With -ffunction-sections the marks are empty.
 *
 * Assemblers for Windows (PE) know such subsections of .text alone: the build puts all code there.
 */
#ifndef TH_MARK_H
#define TH_MARK_H

#if defined(__clang__)
#define TH_MARK_COLD .text.unlikely.
#else
#define TH_MARK_COLD .text.unlikely
#endif

#ifdef __ASSEMBLER__
#define TH_MARK(...) __VA_ARGS__
#define TH_MARK_END
#else
#define TH_MARK_TEXT(...) __asm__(#__VA_ARGS__)
#define TH_MARK(...) TH_MARK_TEXT(__VA_ARGS__)
#define TH_MARK_END ;
#endif

/* clang-format off */
#if defined(_WIN32)
TH_MARK(.text 0; 7770: .text 8191; 7771: .section thrum_code, "dr"; .balign 4;
        .long 7770b - ., 7771b - .; .text)
#else
TH_MARK(.pushsection .text, 0; 7770: .popsection; .pushsection .text, 8191; 7771: .popsection;
        .pushsection TH_MARK_COLD, 0, "ax", %progbits; 7772: .popsection;
        .pushsection TH_MARK_COLD, 8191, "ax", %progbits; 7773: .popsection;
        .pushsection thrum_code, "a", %progbits; .balign 4;
        .long 7770b - ., 7771b - ., 7772b - ., 7773b - .; .popsection)
#endif
TH_MARK_END
/* clang-format on */

#endif
