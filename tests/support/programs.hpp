/*
 * programs.hpp: for the tests in C++: programs that they start, by a script
 * (support/io/processes.h).
 */
#ifndef SUPPORT_PROGRAMS_HPP
#define SUPPORT_PROGRAMS_HPP

#include "check.h"

#include <stdlib.h>
#include <string.h>

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))
#if defined(_WIN32)
#include "windows/programs.h"
#else
#include "posix/programs.h"
#endif
#undef COUNT_OF

namespace {

/* The arguments of one: thrum::run_process(script("cat").argv). */
struct script {
    const char *argv[4];
    explicit script(const char *text) : argv{SHELL_PROGRAM, SHELL_OPTION, text, nullptr} {
    }
};

} // namespace

#endif
