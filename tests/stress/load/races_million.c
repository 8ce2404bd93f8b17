/*
 * races_million.c: a million of each of the races of races.c.
 */
/* full: */
/* limit: 1200 */
#include "support/races.h"

TEST(a_million_cancels_against_wakes) {
    /* Each wait is woken or cancelled, and nothing is lost. */
    for (int kind = 0; kind < RACE_WRITE; kind++) {
        race_run((race_kind)kind, false, SCALED(1000000 / RACE_WRITE));
    }
}

TEST(a_million_deadlines_against_wakes) {
    /* Each wait is woken or times out, never early, and nothing is lost. */
    for (int kind = 0; kind < RACE_KINDS; kind++) {
        race_run((race_kind)kind, true, SCALED(1000000 / RACE_KINDS));
    }
}
