/*
 * samples.c: which workers' time the samples count.
 */
/* matrix: policy workers */
#include "core/report/samples.h"
#include "support/sync/held.h"

TEST(dormant_spares_do_not_count_as_idle) {
    /* A spare was activated and has retired: shares cover only the workers that take part. */
    static hold h;
    static th_samples samples;
    held_init_spares(&h);
    held_start(&h);
    held_begin(&h, HELD_READING, held_regular(&h), true);
    open_by_post(&h);
    held_end(&h);
    held_settle(&h);
    const uint64_t looks = 100;
    const uint64_t regular = (uint64_t)held_regular(&h);
    for (uint64_t i = 0; i < looks; i++) {
        th_samples_look(h.r.sched, &samples);
    }
    CHECK(samples.samples >= looks * regular);
    CHECK(samples.idle <= looks * regular);
    held_stop(&h);
}
