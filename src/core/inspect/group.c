/*
 * group.c: see group.h.
 */
#include "core/inspect/group.h"

#include <string.h>

th_groups *th_groups_begin(thrum_sched *sched, th_backtrace *backtrace, unsigned calls_max) {
    th_groups *groups = th_sched_alloc(sched, sizeof *groups);
    if (groups) {
        memset(groups, 0, offsetof(th_groups, groups));
        groups->backtrace = backtrace;
        groups->calls_max = calls_max;
    }
    return groups;
}

void th_groups_end(thrum_sched *sched, th_groups *groups) {
    th_sched_free(sched, groups);
}

/* ---- which group ---- */

/* Without calls the object replaces them, if many may wait for one. */
static uint64_t key_of(const th_seen *seen, const th_told_calls *told) {
    uint64_t key = told ? told->key : 0;
    if (!key && seen->held && !th_on_is_outside(seen->on)) {
        key = th_backtrace_mix(0, (uintptr_t)seen->object);
    }
    const unsigned bits = (unsigned)seen->state * 4 + seen->root * 2u + seen->held;
    key = th_backtrace_mix(key, bits);
    return seen->held ? th_backtrace_mix(key, (uint64_t)seen->on + 1) : key;
}

/* The group with this key: a new one has no members. NULL: all are taken. */
static th_group *group_of(th_groups *groups, uint64_t key) {
    unsigned slot = (unsigned)(key >> 32) % TH_GROUP_SLOTS;
    for (; groups->slots[slot]; slot = (slot + 1) % TH_GROUP_SLOTS) {
        th_group *group = &groups->groups[groups->slots[slot] - 1];
        if (group->key == key) {
            return group;
        }
    }
    if (groups->count == TH_GROUPS_MAX) {
        return NULL;
    }
    th_group *group = &groups->groups[groups->count++];
    groups->slots[slot] = (uint16_t)groups->count;
    group->key = key;
    group->count = 0;
    group->deadline = TH_FOREVER;
    group->is_mixed = false;
    return group;
}

/* ---- its members ---- */

static void keep_longest(th_group *group, const th_seen *seen, const th_told_calls *told) {
    if (group->count && seen->ticks <= group->longest.ticks) {
        return;
    }
    group->longest = *seen;
    group->longest.calls = told ? told->count : 0;
    if (told) {
        memcpy(group->words, told->after, told->count * sizeof told->after[0]);
    }
}

static void keep_member(th_group *group, const th_seen *seen) {
    if (group->count < TH_GROUP_MEMBERS) {
        th_member *member = &group->members[group->count];
        member->id = seen->id;
        member->worker = seen->worker;
        memcpy(member->name, seen->name, sizeof member->name);
    }
}

int th_groups_add(th_groups *groups, const th_seen *seen, unsigned number) {
    const th_told_calls *told = NULL;
    if (groups->backtrace) {
        told = th_backtrace_told(groups->backtrace, number, seen->calls, groups->calls_max);
    }
    th_group *group = group_of(groups, key_of(seen, told));
    if (!group) {
        groups->rest.count++;
        groups->rest.states[seen->state]++;
        groups->rest.on[seen->on] += seen->state == TH_SEEN_BLOCKED;
        return -1;
    }
    group->is_mixed = group->is_mixed || (group->count && group->longest.object != seen->object);
    keep_longest(group, seen, told);
    keep_member(group, seen);
    if (seen->deadline < group->deadline) {
        group->deadline = seen->deadline;
    }
    group->count++;
    return (int)(group - groups->groups);
}

void th_groups_sort(th_groups *groups) {
    for (unsigned i = 0; i < groups->count; i++) {
        const uint64_t count = groups->groups[i].count;
        unsigned at = i;
        for (; at > 0 && groups->groups[groups->order[at - 1]].count < count; at--) {
            groups->order[at] = groups->order[at - 1];
        }
        groups->order[at] = (uint16_t)i;
    }
}
