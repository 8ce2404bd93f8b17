/*
 * races.c: a cancel against a wake, and a deadline against a wake, on each kind of wait: some
 * thousands of each; races_million.c has the rest.
 */
/* matrix: policy workers */
/* matrix: quick 1 2 8 */
#define WATCHDOG_SECONDS 110
#include "support/races.h"

TEST(cancel_against_wake) {
    /* Woken or cancelled, and nothing lost. */
    for (int kind = 0; kind < RACE_WRITE; kind++)
        race_run((race_kind)kind, false, SCALED(1000));
}

TEST(deadline_against_wake) {
    /* Woken or late, never early, and nothing lost. */
    for (int kind = 0; kind < RACE_KINDS; kind++)
        race_run((race_kind)kind, true, SCALED(1000));
}
