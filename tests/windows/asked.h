/*
 * asked.h: a part of support/report/asked.h: threads by their descriptions.
 */
#ifndef WINDOWS_ASKED_H
#define WINDOWS_ASKED_H

#include "windows/threads.h"

/* Counts the threads that print dumps. */
static inline int printers(void) {
    return threads_named(L"thrum/dump");
}

#endif
