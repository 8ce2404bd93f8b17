/*
 * group.h: fibers that are reported together, because they do the same in the same calls.
 *
 * A *group* has the fibers in one state that wait for one kind of thing in the same calls, as far
 * as calls are reported. If none is (core/inspect/backtrace.h), it has the fibers that wait for the
 * same object. Its memory does not grow with the fibers: there are TH_GROUPS_MAX groups at most,
 * and fibers that would need another are counted by their kind. core/watch/DUMP.md has the
 * argument.
 */
#ifndef TH_GROUP_H
#define TH_GROUP_H

#include "core/inspect/snapshot.h"

#define TH_GROUPS_MAX TH_LIMIT(512u, 2u)
#define TH_GROUP_SLOTS (2 * TH_GROUPS_MAX)
#define TH_GROUP_MEMBERS TH_LIMIT(4u, 1u)

/* A fiber of a group, by its number and its name, or a bound thread by its number. */
typedef struct th_member {
    uint64_t id;
    unsigned worker;
    char name[THRUM_NAME_MAX + 1];
} th_member;

typedef struct th_group {
    uint64_t key;
    uint64_t count;
    th_seen longest; /* the fiber whose worker has picked most often since its wait began */
    th_member members[TH_GROUP_MEMBERS]; /* the first that were found */
    int64_t deadline;                    /* the earliest of their waits, or TH_FOREVER */
    bool is_mixed;                       /* they do not all wait for the same object */
    uintptr_t words[TH_CALLS_OF_DUMP];   /* the calls of `longest`, which has their number */
} th_group;

/* Fibers that are in no group, of each kind. */
typedef struct th_ungrouped {
    uint64_t count;
    uint64_t states[TH_SEEN_STATES];
    uint64_t on[TH_ON_KINDS]; /* the blocked ones */
} th_ungrouped;

typedef struct th_groups {
    th_backtrace *backtrace; /* or NULL */
    unsigned calls_max;      /* calls that must be the same, as many as are reported */
    unsigned count;
    uint16_t slots[TH_GROUP_SLOTS]; /* by their keys: numbers from 1 on, 0 for none */
    uint16_t order[TH_GROUPS_MAX];  /* th_groups_sort's */
    th_ungrouped rest;
    th_group groups[TH_GROUPS_MAX]; /* in the order in which they were found */
} th_groups;

/* NULL: there is no memory. The backtrace, if there is one, must live until the end. */
th_groups *th_groups_begin(thrum_sched *sched, th_backtrace *backtrace, unsigned calls_max);
void th_groups_end(thrum_sched *sched, th_groups *groups);

/* Counts a fiber, number `number` of the backtrace: its group's number, or -1 for none. */
int th_groups_add(th_groups *groups, const th_seen *seen, unsigned number);

/* Fills `order`: the largest first. */
void th_groups_sort(th_groups *groups);

#endif
