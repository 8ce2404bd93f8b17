/*
 * windows_arguments.h: the arguments of main in UTF-8, as they were given: the C library has them
 * in a code page, and puts names of files in the place of patterns.
 */
#ifndef WINDOWS_ARGUMENTS_H
#define WINDOWS_ARGUMENTS_H

/* They live until the program ends. Without memory they stay as the C library has them. */
void arguments_take(int *argc, char ***argv);

#endif
