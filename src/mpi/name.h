/*
 * name.h: the description of a wait in dumps. Each queued wait writes it, so it does not use
 * snprintf, which takes longer than all the rest.
 */
#ifndef TH_MPI_NAME_H
#define TH_MPI_NAME_H

#include "mpi/engine.h"

#include <string.h>

/* Appends a text, as far as there is room. */
static inline void th_mpi_name_add(th_mpi_record *record, const char *text) {
    const size_t length = strnlen(record->what, TH_MPI_WHAT - 1);
    const size_t room = TH_MPI_WHAT - 1 - length;
    const size_t n = strnlen(text, room);
    memcpy(record->what + length, text, n);
    record->what[length + n] = '\0';
}

static inline void th_mpi_name(th_mpi_record *record, const char *text) {
    record->what[0] = '\0';
    th_mpi_name_add(record, text);
}

static inline void th_mpi_name_number(th_mpi_record *record, int64_t number) {
    char digits[24];
    char *at = digits + sizeof digits - 1;
    uint64_t left = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    *at = '\0';
    do {
        *--at = (char)('0' + left % 10);
        left /= 10;
    } while (left);
    if (number < 0) {
        *--at = '-';
    }
    th_mpi_name_add(record, at);
}

#endif
