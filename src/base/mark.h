/*
 * mark.h: where the library's own code lies in a program, for who tells a user's calls from ours
 * (platform/linux/code.c). The build includes it in front of each of the library's files.
 *
 * Each object tells the bounds of its .text and of its unlikely part, relative to the words that
 * do, in a section whose name lets the linker say where all of them begin and end. A subsection's
 * number orders what an object puts into a section: the assembler knows the end, however the
 * compiler orders functions. With link-time optimisation the marks of many objects meet in one, and
 * overlap: then nothing is known (and with -ffunction-sections the marks are empty).
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
TH_MARK(.pushsection .text, 0; 7770: .popsection; .pushsection .text, 8191; 7771: .popsection;
        .pushsection TH_MARK_COLD, 0, "ax", %progbits; 7772: .popsection;
        .pushsection TH_MARK_COLD, 8191, "ax", %progbits; 7773: .popsection;
        .pushsection thrum_code, "a", %progbits; .balign 4;
        .long 7770b - ., 7771b - ., 7772b - ., 7773b - .; .popsection)
TH_MARK_END
/* clang-format on */

#endif
