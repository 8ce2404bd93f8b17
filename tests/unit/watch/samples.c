/*
 * samples.c: which workers' time the samples count.
 */
/* matrix: policy workers */
#include "core/report/samples.h"
#include "support/sync/held.h"

TEST(dormant_spares_do_not_count_as_idle) {
    /* A spare was activated and has retired: shares cover only the workers that take part. */
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
