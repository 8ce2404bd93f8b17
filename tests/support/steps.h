/*
 * steps.h: a thread that goes on step by step: a function is called after each instruction that it
 * executes between steps_begin and steps_end.
 */
#ifndef STEPS_H
#define STEPS_H

#include "check.h"

#if defined(_WIN32)
#include "windows/steps.h"
#else
#include "posix/steps.h"
#endif

#endif
