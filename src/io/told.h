/*
 * told.h: descriptions of descriptors in dumps and traces (core/inspect/world.h).
 */
#ifndef TH_IO_TOLD_H
#define TH_IO_TOLD_H

#include "io/record.h"

/* Before the first wait: has the core ask this floor. */
void th_told_begin(void);

/* The record that a direction belongs to. */
static inline const th_record *th_told_record(const th_direction *direction) {
    return th_container(direction - (direction->on == TH_ON_OUTPUT), th_record, directions[0]);
}

/* Its turn, which changes only while the direction is CLOSING. */
static inline uint32_t th_told_turn(const th_direction *direction) {
    /*
     * relaxed: a number to be reported; the caller knows that it does not change, or reads it
     * again
     */
    return th_load_relaxed(&th_told_record(direction)->xturn);
}

#endif
