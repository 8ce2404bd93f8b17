/*
 * samples.c: what the samples of a scheduler's time count.
 */
/* matrix: policy workers */
#include "core/report/samples.h"
#include "support/sync/held.h"

TEST(spares_that_rest_are_no_idle_workers) {
    /* A spare has stood in and sits down again: shares are of the time of those that take part. */
    static hold h;
    held_init_spares(&h);
    held_start(&h);
    held_begin(&h, HELD_READING, held_regular(&h), true);
    open_by_post(&h);
    held_end(&h);
    held_settle(&h);
    th_samples *samples = th_samples_make(h.r.sched);
    CHECK(samples);
    const uint64_t looks = 100;
    const uint64_t regular = (uint64_t)held_regular(&h);
    for (uint64_t i = 0; i < looks; i++) {
        th_samples_look(samples);
    }
    CHECK(samples->samples >= looks * regular);
    CHECK(samples->idle <= looks * regular);
    th_samples_free(samples);
    held_stop(&h);
}
