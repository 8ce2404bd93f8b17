/*
 * spares.pml: spare workers, their monitor, and how it becomes dormant and is roused: spares.c, with
 * th_park_unannounce of park.c, th_rouse_monitor of wake.c and end_threads of sched.c.
 * models/README.md ties each part to its C function and says what is left out.
 *
 * A step is `atomic`: one access to shared memory, and what its thread does alone after it, or
 * under the lock of the spares with what only its holder reads. Work is in one queue, and each wake of a
 * free worker is one step. Memory is sequentially consistent.
 *
 * The monitor may look at any time, so the steps never end. The checks are made in each state in
 * which no thread could do anything else than look: QUIET.
 */
#ifndef REGULAR /* workers that take part all the time */
#define REGULAR 1
#endif
#ifndef SPARES
#define SPARES 1
#endif
#ifndef POSTS /* tasks that an external thread posts */
#define POSTS 2
#endif
#ifndef LONGS /* this many tasks at a time hold up their workers until all others have ended */
#define LONGS 1
#endif
#ifndef PINNED /* 1: a task is posted to each spare that has taken over */
#define PINNED 0
#endif
#ifndef IDLERS /* 1: a thread waits until all are parked */
#define IDLERS 0
#endif
#ifndef STOP /* 1: in the end the scheduler stops */
#define STOP 0
#endif
#ifndef BUG
#define BUG 0
#endif

#define WORKERS (REGULAR + SPARES)
#define BIT(i) (1 << (i))
#define ALL (BIT(WORKERS) - 1)
#define ALL_SPARES (ALL & ~(BIT(REGULAR) - 1))
#define HAS(mask, i) (((mask) & BIT(i)) != 0)

/* The sleep words. LISTED is a bit in `listed`: it changes with the stack here. */
#define PARKED 1
#define NOTIFIED 2
#define TOKEN 4
#define MONITOR 8
byte xsleep[WORKERS];

/* The park word. */
byte parked = SPARES;
bool rest;
byte searchers;
byte listed; /* a bit for each worker with an entry in the stack, which may be stale */

/* The idle spares, with the lock of all spares. */
bool spares_lock;
bool has_monitor = true;
byte started = BIT(REGULAR); /* a bit for each spare that has a thread */
byte takes_part;         /* a bit for each spare */
byte active_spares;
byte xmonitor = REGULAR;
byte xidle_spares = SPARES;

byte queued;
byte inbox; /* a bit for each worker with a pinned task */
bool xexit;
bool xwaiters; /* a thread waits until all are parked */
bool told;     /* it was told that they are */

/* What the checks need. */
byte waiting;                      /* a bit for each worker that waits in the futex */
byte timed;                        /* those of them whose wait ends by itself, for a look */
byte held;                         /* those that run a long task */
byte gone;                         /* those that have left */
byte outstanding = POSTS;          /* tasks that have not ended, with those still to be posted */
byte moving = 1 + IDLERS;          /* other threads that do not wait */

#define COUNT(mask) (((mask) & 1) + ((mask) >> 1 & 1) + ((mask) >> 2 & 1) + ((mask) >> 3 & 1))
#define QUIET \
    (moving == 0 && !told && (waiting | held | gone | (ALL_SPARES & ~started)) == ALL && \
     (!held || outstanding > COUNT(held)))

#define AT(i, bit) (i < WORKERS && (xsleep[(i) % WORKERS] & bit))
#define MONITORS (rest + AT(0, MONITOR) + AT(1, MONITOR) + AT(2, MONITOR) + AT(3, MONITOR))

/* ---- waking ---- */

/* notify_sleeper and the futex call; `got` says whether it was this caller. */
inline notify(target, give, got) {
    got = (xsleep[target] & PARKED) != 0;
    xsleep[target] = (got -> (xsleep[target] & ~PARKED) | NOTIFIED | give : xsleep[target]);
    waiting = (got -> waiting & ~BIT(target) : waiting)
}

/* wake_next: one of the stack that is parked is woken as a searcher. */
inline wake_one() {
    do
    :: searchers || !listed -> break
    :: !searchers && listed ->
        if
        :: HAS(listed, 0) -> target = 0
        :: HAS(listed, 1) -> target = 1
#if REGULAR + SPARES > 2
        :: HAS(listed, 2) -> target = 2
#endif
#if REGULAR + SPARES > 3
        :: HAS(listed, 3) -> target = 3
#endif
        fi;
        listed = listed & ~BIT(target);
        notify(target, TOKEN, got);
        if
        :: got -> searchers++; got = false; break
        :: else /* a stale entry */
        fi
    od;
    target = 0
}

/* ---- the monitor ---- */

inline lock_spares() {
    atomic { !spares_lock; spares_lock = true }
}

inline unlock_spares() {
    spares_lock = false
}

/* The or of th_appoint_monitor, its word having been read before; the caller then wakes it. */
inline appoint(target) {
    xsleep[target] = xsleep[target] | MONITOR;
    assert(target >= REGULAR && (MONITORS == 1 || PINNED)) /* PINNED: a rouser may be late */
}

/* another: `target` is a spare that has a thread, or gets one now; 0: there is none. */
inline another(but) {
    target = REGULAR;
    do
    :: target == WORKERS -> target = 0; break
    :: target < WORKERS && target != but && HAS(started & ~takes_part, target) -> break
    :: target < WORKERS && !HAS(started, target) ->
        started = started | BIT(target);
        break
    :: else -> target++
    od
}

/* th_park_tell */
inline tell() {
    if
    :: xwaiters && parked == WORKERS -> told = true
    :: else
    fi
}

/* ---- other threads ---- */

proctype external() {
    byte target, n;
    bool got;

    do
    :: n < POSTS ->
        n++;
        atomic { queued++ };
        atomic { wake_one() }
    :: else -> break
    od;
    moving--
}

#if IDLERS
proctype idler() { /* a thread in th_quiesce_wait, by its count of those that are parked */
    atomic { xwaiters = true };
again:
    atomic {
        if
        :: parked == WORKERS && outstanding == 0 -> goto done
        :: else -> moving--
        fi
    };
end_idler:
    atomic { told -> told = false; moving++; goto again };
done:
    atomic { xwaiters = false; moving-- }
}
#endif

#if PINNED
proctype pinner() { /* a post to a spare that has taken over; th_wake_worker */
    bool got;

end_pinner:
    atomic { takes_part & BIT(REGULAR) -> moving++; outstanding++ };
    atomic { inbox = inbox | BIT(REGULAR) };
    atomic { notify(REGULAR, 0, got); moving-- }
}
#endif

/* ---- a worker ---- */

proctype worker(byte me) {
    byte word;  /* its sleep word before it sleeps; at the look: `parked` */
    byte count; /* `parked` behind its own change */
    byte target;
    bool searching, go_on, got, again, idle_spare, main;

    if
    :: me < REGULAR -> main = true; goto find
    :: else -> idle_spare = true
    fi;
end_no_thread:
    HAS(started, me);
    /* spare_main: it was counted as parked */
#if BUG == 7
    atomic { go_on = xexit };
#endif
    atomic { xsleep[me] = xsleep[me] | PARKED; goto announced };

idle: /* th_spares_find, is_over; and the loop of spare_main */
    atomic {
        if
        :: !main && HAS(takes_part, me) -> main = true
        :: !main && !HAS(takes_part, me) ->
            if
            :: xexit -> goto leave
            :: else -> goto sit
            fi
        :: else
        fi;
        if
        :: HAS(takes_part, me) -> goto find
        :: HAS(takes_part, me) && !HAS(inbox, me) && !spares_lock -> spares_lock = true
        :: !HAS(takes_part, me) -> goto over
        fi
    };
    /* end */
    atomic { takes_part = takes_part & ~BIT(me); active_spares-- };
#if BUG != 3
    xidle_spares++;
#endif
    atomic {
        xsleep[me] = xsleep[me] & ~MONITOR;
        if
#if BUG != 5
        :: !has_monitor -> has_monitor = true; xmonitor = me; appoint(me)
#endif
        :: else
        fi;
        unlock_spares()
    };
over:
    atomic {
        if
        :: xexit -> goto find
        :: else
        fi
    };

sit:
    idle_spare = true;
    if
    :: searching -> go_on = true; goto busy
    :: else
    fi;

announce: /* th_park_announce */
#if BUG == 7 /* a spare reads the flag before it sets PARKED */
    atomic { go_on = idle_spare && xexit };
#endif
    atomic { xsleep[me] = xsleep[me] | PARKED };
#if BUG == 10 /* it tells before it is counted */
    atomic { tell() };
#endif
    atomic {
        parked++;
        if
        :: searching -> searching = false; searchers--
        :: else
        fi;
        if
        :: !idle_spare -> listed = listed | BIT(me)
        :: else
        fi
    };
#if BUG == 3 /* it counts itself as idle when it has retired */
    atomic {
        xidle_spares = SPARES - active_spares
    };
#endif
#if BUG != 10
    atomic { tell() };
#endif
announced:
#if BUG == 7
    atomic { go_on = go_on || (!idle_spare && xexit) };
#else
    atomic { go_on = xexit };
#endif
    atomic {
        go_on = go_on || (main && HAS(inbox, me)) || (!idle_spare && queued);
        if
        :: go_on -> goto go
        :: else
        fi
    };

sleep: /* sleep_until_woken, sleep_as_idle_spare */
    atomic {
        word = xsleep[me];
        if
        :: !(word & PARKED) -> word = 0; goto awake
        :: else
        fi
    };
    atomic { /* the futex compares and sleeps in one step */
        if
#if BUG == 4 /* the monitor is appointed by something else than the word */
        :: (word & PARKED) == (xsleep[me] & PARKED) ->
#else
        :: word == xsleep[me] ->
#endif
            waiting = waiting | BIT(me);
            if
            :: idle_spare && (word & MONITOR) -> timed = timed | BIT(me)
            :: else
            fi;
            word = 0
        :: else -> word = 0; goto sleep
        fi
    };
end_asleep:
    if
    :: atomic { !HAS(waiting, me) -> timed = timed & ~BIT(me); goto sleep }
    :: atomic { HAS(waiting & timed, me) && !spares_lock ->
           waiting = waiting & ~BIT(me);
           timed = timed & ~BIT(me);
           spares_lock = true
       }
    fi;

    /* look: th_stall_look and th_stall_calls, as of this moment */
    atomic { got = queued && active_spares < COUNT(held) };
    atomic {
        word = parked;
        if
        :: word > xidle_spares -> got = active_spares > COUNT(held)
        :: word <= xidle_spares && got -> word = 0; got = false; goto begin
        :: else -> word = 0; unlock_spares(); goto sleep
        fi;
    };
    atomic { /* send_back; those that sleep become idle */
        target = REGULAR;
        do
        :: got && target < WORKERS ->
            if
            :: HAS(takes_part, target) -> notify(target, 0, again)
            :: else
            fi;
            again = false;
            target++
        :: else -> break
        od;
        target = 0;
        got = false;
        if
        :: active_spares -> goto no_rest
        :: !active_spares && word < WORKERS -> goto no_rest /* not free for long enough */
        :: !active_spares
        fi
    };
    /* rest */
#if BUG != 12
    atomic { assert(xsleep[me] & MONITOR); xsleep[me] = xsleep[me] & ~MONITOR };
#endif
exchange:
    atomic {
        if
#if BUG == 1 /* it does not ask whether a worker is free in the word that it changes */
        :: true ->
#else
        :: parked == word -> /* it compared this word when it was read */
#endif
            rest = true;
#if BUG == 12 /* its own bit is cleared when it can be roused already */
            goto rests
#else
            goto no_rest
#endif
        :: parked != word && parked > xidle_spares -> word = parked; goto exchange
        :: else
        fi
    };
    atomic { xsleep[me] = xsleep[me] | MONITOR; assert(MONITORS == 1 || PINNED); goto no_rest };
#if BUG == 12
rests:
    xsleep[me] = xsleep[me] & ~MONITOR;
#endif
no_rest:
    atomic { word = 0; unlock_spares(); goto sleep };

#if PINNED
own: /* come_for_own: active already */
    atomic { !spares_lock; spares_lock = true };
    atomic {
        if
        :: xmonitor == me -> rest = false
        :: else
        fi
    };
#endif

begin:
    atomic { takes_part = takes_part | BIT(me); active_spares++ };
    xidle_spares--;
    atomic { xsleep[me] = xsleep[me] & ~MONITOR };
    /* hand_on */
    atomic {
#if BUG == 6
        target = 0;
#else
        if
        :: has_monitor && xmonitor != me -> goto handed
        :: else
        fi;
        another(me);
        has_monitor = target != 0;
        if
        :: !target -> goto handed
        :: else -> xmonitor = target
        fi
    };
    atomic { appoint(target) };
    atomic {
        waiting = waiting & ~BIT(target);
        target = 0;
#endif
handed:
        unlock_spares();
        if
        :: idle_spare
        :: else -> goto idle
        fi
    };

go: /* th_park_leave */
    atomic { xsleep[me] = xsleep[me] & ~PARKED };

awake: /* th_park_unannounce */
    atomic {
        searching = (xsleep[me] & TOKEN) != 0;
        xsleep[me] = xsleep[me] & ~(NOTIFIED | TOKEN)
    };
#if BUG == 11 /* it reads how many are idle before it counts as awake */
    atomic { target = xidle_spares };
#endif
    atomic {
        parked--;
        count = parked;
        if
        :: rest
        :: else -> goto up
        fi
    };
    /* th_rouse_monitor */
    atomic {
        if
#if BUG == 11
        :: count > target -> goto up
#else
        :: count > xidle_spares -> goto up
#endif
        :: else
        fi
    };
    atomic {
        if
        :: rest -> rest = false
        :: else -> goto up
        fi
    };
#if BUG != 2
    atomic { target = xmonitor; appoint(target) };
    atomic { waiting = waiting & ~BIT(target); target = 0 };
#endif
up:
    atomic {
        count = 0;
        target = 0;
        if
        :: idle_spare -> go_on = false
        :: !idle_spare && go_on -> /* search_anyway */
            go_on = false;
            if
            :: searching
            :: else -> searching = true; searchers++
            fi
        :: else
        fi;
        if
        :: idle_spare && searching -> /* woken by an old entry */
#if BUG == 9 /* it forgets its token */
            searching = false; idle_spare = false; goto no_longer_idle
#else
            goto busy
#endif
        :: idle_spare && !searching -> idle_spare = false; goto no_longer_idle
        :: !idle_spare && me < REGULAR
        :: !idle_spare && me >= REGULAR -> goto idle
        fi
    };

find:
    atomic {
        if
        :: HAS(inbox, me) -> inbox = inbox & ~BIT(me); goto found
        :: !HAS(inbox, me) && queued -> queued--; goto found
        :: !HAS(inbox, me) && !queued && xexit -> goto leave
        :: else -> goto announce
        fi
    };

found:
    if
    :: !searching -> goto run_task
    :: else
    fi;
busy: /* th_went_busy */
    atomic { searching = false; searchers-- };
    atomic {
        if
        :: !searchers && queued -> wake_one()
        :: else
        fi;
        if
        :: idle_spare && go_on -> go_on = false; goto announce
        :: idle_spare && !go_on -> idle_spare = false; goto no_longer_idle
        :: else -> goto run_task
        fi
    };

no_longer_idle:
#if PINNED
    atomic {
        if
#if BUG == 13 /* it runs pinned work as an idle spare */
        :: main && !HAS(takes_part, me) && HAS(inbox, me) -> goto find
#else
        :: main && !HAS(takes_part, me) && HAS(inbox, me) -> goto own
#endif
        :: else
        fi
    };
#endif
    goto idle;

run_task:
    if
    :: atomic { COUNT(held) < LONGS -> held = held | BIT(me) };
       atomic { outstanding == COUNT(held) -> held = held & ~BIT(me); outstanding-- }
    :: outstanding--
    fi;
    if
    :: me < REGULAR -> goto find
    :: else -> goto idle
    fi;

leave:
    gone = gone | BIT(me)
}

/* ---- the checks, and stop ---- */

/* In every state in which no thread could do anything else than look. */
inline check() {
    d_step {
        assert(!spares_lock && searchers == 0);
        /* No worker is free: the monitor is on its way, or all spares take over. */
        assert(parked > xidle_spares || timed || active_spares == SPARES || gone);
        /* Nothing waits beside a free worker. */
        assert(!queued || parked <= xidle_spares);
        assert(!(inbox & waiting));
        /* The counts. */
        assert(xidle_spares + active_spares == SPARES);
        assert(gone || parked == COUNT(waiting | (ALL_SPARES & ~started)));
        assert(gone || MONITORS == has_monitor || (PINNED && MONITORS > has_monitor));
        assert(has_monitor || active_spares == SPARES);
        /* The monitor is the one that would be roused. */
        assert(!has_monitor || !HAS(takes_part, xmonitor));
        /* All are parked: it has been told. */
        assert(!xwaiters || parked < WORKERS || outstanding)
    }
}

init {
    byte i;
#if STOP
    byte joined; /* a bit for each spare that stop waits for */
    bool got;
#endif

    atomic {
        xsleep[REGULAR] = MONITOR; /* th_spares_start */
        do
        :: i < WORKERS -> run worker(i); i++
        :: else -> i = 0; break
        od;
        run external()
#if IDLERS
        ;
        run idler()
#endif
#if PINNED
        ;
        run pinner()
#endif
    };
#if STOP
    outstanding == 0;
    /* end_threads */
    atomic { !spares_lock; joined = started };
#if BUG != 8
    xexit = true;
#endif
    do
    :: atomic { i < WORKERS -> notify(i, 0, got); i++ }
    :: else -> i = 0; break
    od;
#if BUG == 8 /* the flag is set when all were woken */
    xexit = true;
#endif
    /* Now all leave, and no spare has been started that is not waited for. */
end_check:
    atomic {
        QUIET;
        assert(gone == (joined | (ALL & ~ALL_SPARES)) && started == joined);
        assert(parked == COUNT(ALL_SPARES & ~started))
    }
#else
end_check:
    do
    :: atomic { QUIET -> check() }
    od
#endif
}
