/*
 * pace.c: how often MPI is asked.
 */
#include "mpi/engine.h"

#define QUIET_NS THRUM_MS(16) /* after so long without a begin or an end there are pauses: */
#define BUSY_NS THRUM_US(50)  /* the source asks at each turn */
#define SHARE 16              /* that part of the time for which it has been quiet */
#define PAUSE_LEAST_NS THRUM_MS(1)
#define PAUSE_NS THRUM_MS(32)   /* the most */
#define PATIENCE_NS THRUM_MS(5) /* the most: the time that a system takes from a peer for others */
#define GAP_NS THRUM_US(200)    /* between two sweeps: the thread was not running */
#define SHORT_WAITS 8u          /* so many since the last time show that it is worth while */
#define WINDOW 64u              /* sweeps, of which the fastest is known */
#define STIR_NS THRUM_US(6)     /* a sweep that takes so much longer may have moved bytes; */
#define SURE_NS THRUM_US(80)    /* and a thread that does so has */
#define FOLLOW_NS THRUM_MS(2)   /* for that long something may follow */
#define DOUBT_NS THRUM_S(1)     /* if it has not, it has to be sure for so long, at first */
#define DOUBT_MOST_NS THRUM_S(16)

/* How long nothing has begun or ended while somebody waits; -1: nobody waits. */
static thrum_time still_for(thrum_time now) {
    thrum_mutex_lock(&th_mpi.gate);
    if (th_mpi.moves != th_mpi.moves_seen) {
        th_mpi.moves_seen = th_mpi.moves;
        th_mpi.moved = now;
    }
    if (th_mpi.short_waits >= SHORT_WAITS) {
        th_mpi.patience = PATIENCE_NS;
        th_mpi.short_waits = 0;
    }
    const thrum_time still = th_mpi.metrics.pending ? now - th_mpi.moved : -1;
    thrum_mutex_unlock(&th_mpi.gate);
    return still;
}

/*
 * If answers mostly come within microseconds, a late answer means that the peer's processor was
 * given to others. A thread that sleeps then keeps the peer waiting in turn, until both sleep for
 * each message. So MPI is polled continuously for as long as that has been of use: patience is full
 * while waits are short, twice as long when an answer came in it, half as long when none did, or
 * only after this thread had not run, since its processor may be the one that the peer needs.
 */
static unsigned insist(thrum_time now, thrum_time still) {
    unsigned ended = 0;
    bool has_run = true;
    if (still < 0 || still >= th_mpi.patience) {
        return 0;
    }
    while (!ended && still >= 0 && still < th_mpi.patience) {
        const thrum_time before = now;
        thrum_yield();
        ended = th_mpi_sweep();
        now = thrum_now();
        has_run = has_run && now - before < GAP_NS;
        still = ended ? 0 : still_for(now);
    }
    if (ended && has_run) {
        const thrum_time twice = 2 * th_mpi.patience;
        th_mpi.patience = twice < PATIENCE_NS ? twice : PATIENCE_NS;
    } else if (ended || still >= 0) {
        th_mpi.patience /= 2;
    }
    return ended;
}

/*
 * Polls once. A long message comes and goes in many pieces, which MPI moves only when it is called,
 * without reporting them. But a sweep that moves some takes longer than sweeps that only test, and
 * the fastest of the last ones is known.
 */
static unsigned ask_timed(void) {
    th_mpi.is_timed = true;
    const unsigned ended = th_mpi_sweep();
    th_mpi.is_timed = false;
    const thrum_time took = th_mpi.took;
    if (++th_mpi.sweeps % WINDOW == 0) {
        th_mpi.least[1] = th_mpi.least[0];
        th_mpi.least[0] = took;
    } else if (took < th_mpi.least[0]) {
        th_mpi.least[0] = took;
    }
    const thrum_time least = th_mpi.least[0] < th_mpi.least[1] ? th_mpi.least[0] : th_mpi.least[1];
    th_mpi.more = took - 2 * least;
    if (th_mpi.more > SURE_NS) {
        th_mpi.stirred = thrum_now();
    }
    return ended;
}

/*
 * After a sweep that has moved bytes MPI is asked at each turn for longer than most pauses of a
 * peer, lest each piece waits for pauses to end, on both sides. Other things take time, too (a
 * thread that was interrupted): so it goes on only while a good part of the sweeps take longer than
 * others, and if none did it is not tried again for a while, unless a sweep took very long.
 */
static unsigned follow(void) {
    unsigned ended = 0, sweeps = 0, long_ones = 0;
    thrum_time now = thrum_now(), last = now;
    bool is_true = false;
    if (th_mpi.more < (now < th_mpi.doubted ? SURE_NS : STIR_NS)) {
        return 0;
    }
    while (!ended && now - last < FOLLOW_NS && still_for(now) >= 0) {
        thrum_yield();
        ended = ask_timed();
        now = thrum_now();
        sweeps++;
        long_ones += th_mpi.more > STIR_NS / 2;
        if (long_ones > 1 && long_ones > sweeps / 8) {
            is_true = true;
            th_mpi.stirred = last = now;
            sweeps = long_ones = 0;
        }
    }
    if (ended || is_true) {
        th_mpi.doubted = th_mpi.doubt = 0;
    } else {
        th_mpi.doubt = th_mpi.doubt ? 2 * th_mpi.doubt : DOUBT_NS;
        th_mpi.doubt = th_mpi.doubt < DOUBT_MOST_NS ? th_mpi.doubt : DOUBT_MOST_NS;
        th_mpi.doubted = now + th_mpi.doubt;
    }
    return ended;
}

/* How long nobody asks, after it has been quiet for so long. */
static thrum_time pause_after(thrum_time now, thrum_time still) {
    const thrum_time stirred = now - th_mpi.stirred;
    /*
     * A call that is handed over wakes three threads, not one; and if there are more workers, the
     * one that wakes makes another one watch it (src/core/worker/PARKING.md).
     */
    const thrum_time times = th_mpi.level == MPI_THREAD_FUNNELED || th_mpi.workers > 1 ? 2 : 1;
    thrum_time pause = still / SHARE * times;
    pause = stirred < pause ? stirred : pause;
    return pause < PAUSE_LEAST_NS     ? PAUSE_LEAST_NS
           : pause < PAUSE_NS * times ? pause
                                      : PAUSE_NS * times;
}

/*
 * The source would ask a thousand times a second, which takes more than a hundredth of a processor.
 * So while it is quiet one call goes on, with growing pauses, which end when a caller begins or
 * gives up.
 */
void th_mpi_ask(void *arg) {
    (void)arg;
    thrum_time now = thrum_now(), still = still_for(now);
    unsigned ended;
    th_mpi.more = 0;
    ended = still < BUSY_NS ? th_mpi_sweep() : ask_timed();
    if (!ended && th_mpi.workers) {
        ended = insist(now, still);
        ended = ended ? ended : follow();
    }
    while (!ended && (still = still_for(now = thrum_now())) > QUIET_NS &&
           thrum_event_wait_outside(&th_mpi.moving, "MPI", now + pause_after(now, still)) ==
               -ETIMEDOUT) {
        ended = ask_timed();
        if (!ended && th_mpi.workers) {
            ended = follow();
        }
    }
    for (; ended; ended--) {
        thrum_source_end(th_mpi.source);
    }
}
