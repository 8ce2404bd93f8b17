/*
 * races.c: a cancel against a wake, and a deadline against a wake, on each kind of wait: some
 * thousands of each; races_million.c has the rest.
 */
/* matrix: policy workers */
#include "support/races.h"

TEST(cancel_against_wake) {
    /* Each wait is woken or cancelled, and nothing is lost. */
    for (int kind = 0; kind < RACE_WRITE; kind++) {
        race_run((race_kind)kind, false, SCALED(1000));
    }
}

TEST(deadline_against_wake) {
    /* Each wait is woken or times out, never early, and nothing is lost. */
    for (int kind = 0; kind < RACE_KINDS; kind++) {
        race_run((race_kind)kind, true, SCALED(1000));
    }
}
