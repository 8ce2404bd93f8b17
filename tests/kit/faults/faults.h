/*
 * faults.h: the cases of faults.c that are in other files.
 */
#ifndef FAULTS_H
#define FAULTS_H

#include <setjmp.h>
#include <thrum.h>
#include <thrum/test.h>

#define MUST(call) THRUM_TEST((call) == 0)

/* beside.c */
int crash_beside(void *arg);
int abort_beside(void *arg);
int child_crashes(void *arg);
int ticks_beside(void *arg);
int call_beside(void *arg);
int check_beside(void *arg);
int child_goes_on(void *arg);
int child_fails(void *arg);
int exec_beside(void *arg);
int child_execs(void *arg);
extern jmp_buf jump_beside;
int jumps_beside(void *arg);
#define CASES_BESIDE                                                                               \
    CASE(crash_beside), CASE(abort_beside), CASE(child_crashes), CASE(ticks_beside),               \
        CASE(call_beside), CASE(check_beside), CASE(child_goes_on), CASE(child_fails),             \
        CASE(jumps_beside), CASE(exec_beside), CASE(child_execs)

/* leaks.c */
extern void *early; /* allocated before the test */
int forgets_list(void *arg);
int forgets_cycle(void *arg);
int keeps_memory(void *arg);
int writes_past_end(void *arg);
int writes_past_kept(void *arg);

/* waits.c */
int lock_waits(void *arg);
int many_tasks(void *arg);
int waits_for_duration(void *arg);
int sleeps_for_number(void *arg);

#endif
