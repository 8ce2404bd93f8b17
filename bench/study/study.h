/*
 * study.h: which variant of the sharded policy a program of the study's build is (README.md).
 */
#ifndef TH_STUDY_H
#define TH_STUDY_H

#include <stdbool.h>

#include "base/cc.h"
#include "thrum/config.h"

typedef struct th_study {
    bool mutex;        /* "mutex": each use of a local queue takes a lock */
    bool steal_one;    /* "steal-one": a thief takes one task, not up to half of the queue */
    bool overflow_one; /* "overflow-one": only the task that does not fit leaves a full queue */
    bool grab_one;     /* "grab-one": a worker takes one task from the inject queue at a time */
    bool unbounded;    /* "unbounded": a full local queue grows; sets `mutex` too */
    bool take_all;     /* "take-all": a worker takes as much from a shared queue as fits */
    bool alternate;    /* "alternate": only every second pick takes ready fibers first */
} th_study;

/* Constant once main has begun. */
extern th_study th_study_variant;

/* A worker's turn, with "alternate". */
typedef struct th_study_turn {
    _Alignas(TH_CACHE_LINE) bool new_first;
} th_study_turn;

extern th_study_turn th_study_turns[THRUM_WORKERS_MAX];

#endif
