/*
 * polling.pml: going to sleep in a set of descriptors, against events, wakes, and threads that open
 * the set or add the first descriptor to it: park.c, poll.c, wake.c, sentinel.c; bound_sleep.c,
 * bound_wake.c and embedded.c for schedulers without workers. models/README.md ties each part to its C
 * function and says what is left out.
 *
 * A step is `atomic`: one access to shared memory or one call of the system, and what its thread
 * does alone after it. With workers, the first one has the set. Memory is sequentially consistent.
 */
#ifndef WORKERS /* 0: no workers, but bound threads */
#define WORKERS 0
#endif
#ifndef THREADS
#define THREADS 0
#endif
#ifndef EMBEDDED /* 1: the first bound thread is embedded in a loop that is not ours */
#define EMBEDDED 0
#endif
#ifndef OPENS /* descriptors that external threads add, each one */
#define OPENS 0
#endif
#ifndef ADDS /* 1: a task on the first worker adds one more */
#define ADDS 0
#endif
#ifndef OPENED /* 1: the set is open from the beginning, and has no member */
#define OPENED 0
#endif
#ifndef POSTS /* tasks that an external thread posts: with workers, pinned to the first one */
#define POSTS 0
#endif
#ifndef LONGS /* this many runs at a time hold up their threads until all the rest has been done */
#define LONGS 0
#endif
#ifndef FIRES /* how often the sentinel's sleep ends while others move */
#define FIRES 0
#endif
#ifndef STOP /* 1: in the end the scheduler stops, and its sets are closed */
#define STOP 0
#endif
#ifndef BUG
#define BUG 0
#endif

#define SLEEPERS (WORKERS + THREADS)
#define EVENTS (OPENS + ADDS)
#define BIT(i) (1 << (i))
#define ALL (BIT(SLEEPERS) - 1)
#define HAS(mask, i) (((mask) & BIT(i)) != 0)
#define COUNT(mask) (((mask) & 1) + ((mask) >> 1 & 1) + ((mask) >> 2 & 1))

/* The sleep words. LISTED is a bit in `listed`: it changes with the stack here. */
#define PARKED 1
#define NOTIFIED 2
#define TOKEN 4
#define POLLING 8
byte xsleep[SLEEPERS];

/* The park word. */
byte parked;
byte sentinel; /* its number + 1, or 0 */
bool long_sleep;    /* it sleeps long, since all were parked */
bool in_time;  /* somebody relies on it all the same: it comes at the end of its long sleep */
byte searchers;
byte listed; /* a bit for each worker with an entry in the stack, which may be stale */

/* The first worker's set, or that of all bound threads. */
bool xopen = OPENED;
byte xmembers;
byte member; /* a bit for each descriptor in it */
byte edge;   /* those of them that the system has an event for */
byte ready;  /* those that became ready, in the set or not */
byte came;   /* those whose event was handed out */
bool closed;

byte wakeup; /* a bit for each set whose wake-up is set: the first worker's, or the threads' own */
byte inbox;  /* tasks pinned to the first worker */
byte queued; /* without workers: tasks for any thread */
byte outstanding = POSTS + EVENTS; /* tasks that have not ended, events not handed out */
byte externals = OPENS + (POSTS > 0);
bool xexit;

/* The system, and what the checks need. */
byte waiting; /* a bit for each thread that waits in the futex */
byte held;    /* those that are held up */
byte let_go;  /* those of them that may go on */
byte gone;    /* workers that have left */
byte fires = FIRES;
bool rung; /* the sentinel's sleep has ended, since nothing else moves */
bool rang; /* it has, and nothing has been handed out since */

/* ---- waking ---- */

/* notify_sleeper: `before` is the word as it was, or 0. */
inline claim(target, give) {
    before = xsleep[target];
    if
    :: before & PARKED -> xsleep[target] = (before & ~PARKED) | NOTIFIED | give
    :: else -> before = 0
    fi
}

/* wake_where_it_sleeps */
inline send(target) {
    if
    :: before & POLLING ->
        assert(!closed && (THREADS || (xopen && target == 0)));
        wakeup = wakeup | BIT(target)
    :: before && !(before & POLLING) -> waiting = waiting & ~BIT(target)
    :: else
    fi;
    before = 0
}

/* th_wake_worker */
inline wake(target) {
    atomic { claim(target, 0) };
    atomic { send(target) }
}

#if WORKERS > 1
/* wake_next: one of the stack, else the sentinel, is woken as a searcher. */
inline wake_one() {
    do
    :: atomic {
           if
           :: searchers || (!listed && !sentinel) -> target = 0; break
           :: !searchers && HAS(listed, 0) -> target = 0
           :: !searchers && HAS(listed, 1) -> target = 1
#if WORKERS > 2
           :: !searchers && HAS(listed, 2) -> target = 2
#endif
           :: !searchers && !listed && sentinel -> target = sentinel - 1
           fi;
           if
           :: listed -> listed = listed & ~BIT(target)
           :: else -> long_sleep = false; in_time = false
           fi;
           searchers++
       };
       atomic {
           claim(target, TOKEN);
           searchers = searchers - !before /* a stale entry, or the sentinel is leaving */
       };
       if
       :: atomic { before -> send(target); target = 0; break }
       :: atomic { !before -> target = 0 }
       fi
    od
}

#else
#define wake_one() skip
#endif

/* th_watch_from; of wake_next first what is for the sentinel that sleeps long, whoever searches */
inline watch() {
    atomic {
        if
        :: long_sleep -> again = true
        :: long_sleep -> in_time = true /* comes_by_then */
        :: !long_sleep -> again = listed && !searchers && !sentinel
        fi
    };
#if WORKERS > 1
    atomic {
        if
        :: again && long_sleep ->
            target = sentinel - 1;
            long_sleep = false;
            in_time = false;
            searchers++;
            lone = true
        :: else
        fi
    };
    if
    :: lone ->
        atomic {
            lone = false;
            claim(target, TOKEN);
            searchers = searchers - !before;
            again = !before
        };
        if
        :: atomic { before -> send(target) }
        :: else
        fi;
        atomic { target = 0 }
    :: else
    fi;
#endif
    if
    :: again -> atomic { again = false }; wake_one()
    :: else
    fi
}

#if THREADS
/* th_bound_wake, of all that sleep. The lock of the list is no step. */
inline wake_all_bound() {
    do
    :: atomic { target < THREADS ->
           claim(target, 0);
#if BUG == 14 /* as with workers: those that sleep in a set are passed over */
           xsleep[target] = (before & POLLING -> before : xsleep[target]);
           before = (before & POLLING -> 0 : before)
#endif
       };
       atomic { send(target); target++ }
    :: atomic { target == THREADS -> target = 0; break }
    od
}

/* The same, of one. */
inline wake_bound() {
    do
    :: atomic { !before && target < THREADS ->
           claim(target, 0);
           target = target + !before
       }
    :: atomic { before -> send(target); target = 0; break }
    :: atomic { !before && target == THREADS -> target = 0; break }
    od
}
#endif

/* ---- sets ---- */

/* The system's wait for a set, when there is something: the wake-up stays set. */
inline take(i) {
    got = edge;
    edge = 0;
    mine = HAS(wakeup, i);
#if BUG == 2 /* the wake-up is edge-triggered: any look at the set takes it */
    wakeup = wakeup & ~BIT(i);
#endif
}

/* hand_out, of descriptors */
inline hand_out() {
    came = came | got;
    outstanding = outstanding - COUNT(got);
    rang = rang && !got;
    got = 0
}

/* The system's add. */
inline add_to_set(d) {
    member = member | BIT(d);
    edge = edge | (ready & BIT(d))
}

#if WORKERS
/* th_poll_add, on the set's owner and on another thread. */
inline add(d, own) {
    atomic { opens = !xopen };
    if
    :: opens ->
#if BUG == 11 /* the sleep word is read before the set is open */
        atomic { word = xsleep[0] };
        atomic { xopen = true };
#else
        atomic { xopen = true };
        atomic { word = xsleep[0] }; /* tell_owner */
#endif
        if
#if BUG != 6
        :: !own && (word & PARKED) && !(word & POLLING) -> wake(0)
#endif
        :: else
        fi;
        opens = false
    :: else
    fi;
#if BUG == 10 /* the sleep word is read before the member is counted */
    atomic { word = xsleep[0] };
#endif
    atomic { first = xmembers == 0; xmembers++ };
    if
    :: first -> /* tell_sentinel */
#if BUG != 10
        atomic { word = xsleep[0] };
#endif
        if
#if BUG != 7
        :: (word & (PARKED | POLLING)) != (PARKED | POLLING) -> watch()
#endif
        :: else
        fi;
        first = false
    :: else
    fi;
    atomic { word = 0; add_to_set(d) }
}
#else
/* The same without workers: tell_owner tells all bound threads. */
inline add(d) {
    atomic { opens = !xopen };
    if
    :: opens ->
        atomic { xopen = true; opens = false };
#if BUG != 6
        wake_all_bound()
#endif
    :: else
    fi;
    atomic { add_to_set(d) }
}
#endif

/* ---- other threads ---- */

#if OPENS
proctype opener(byte d) {
    byte word, target, before;
    bool opens, first, again, lone;

#if WORKERS
    add(d, false);
#else
    add(d);
#endif
    externals--
}
#endif

#if EVENTS
proctype world(byte d) { /* the descriptor becomes ready */
    atomic {
        ready = ready | BIT(d);
        edge = edge | (member & BIT(d))
    }
}
#endif

#if POSTS
proctype poster() {
    byte target, before, n;

    do
    :: atomic { n < POSTS -> n++;
#if WORKERS
           inbox++
       };
       wake(0)
#else
           queued++
       };
       wake_bound()
#endif
    :: atomic { n == POSTS -> externals--; break }
    od
}
#endif

/* A run, which may hold up its thread until all the rest has been done. */
inline run_something() {
    if
    :: atomic { COUNT(held) < LONGS -> held = held | BIT(me) };
       atomic { HAS(let_go, me) -> held = held & ~BIT(me); let_go = let_go & ~BIT(me) }
    :: true
    fi
}

/* ---- a worker ---- */

#if WORKERS
proctype worker(byte me) {
    byte word, target, before, got;
    bool mine;      /* its wake-up is among its events */
    bool polls;     /* as far as it knows, it has a set that is open */
    bool has_work;  /* it has handed out events, and is to run them */
    bool posted;    /* what it has found is a task that was posted */
    bool searching, woken, go_on, last, again, lone, opens, first;

#if OPENED
    polls = me == 0;
#endif
find: /* find_once */
    atomic {
        if
        :: has_work -> has_work = false; goto found
        :: !has_work && me == 0 && inbox -> inbox--; posted = true; goto found
        :: else
        fi
    };
    atomic { /* th_poll_own */
        if
        :: polls && xmembers
        :: else -> goto nothing
        fi
    };
    atomic {
        take(0);
        has_work = got != 0;
        hand_out();
        if
        :: mine -> mine = false
        :: !mine && has_work -> goto find
        :: else -> goto nothing
        fi
    };
    atomic {
        wakeup = wakeup & ~1;
        if
        :: has_work -> goto find
        :: else
        fi
    };
nothing:
#if WORKERS > 1
    atomic { /* search; its limit is one */
        if
        :: !searching && !searchers -> searching = true; searchers++
        :: else
        fi
    };
#endif
#if STOP
    atomic {
        if
        :: xexit -> goto leave
        :: else
        fi
    };
#endif

announce: /* th_park, th_park_announce */
#if BUG == 1
    atomic { xsleep[me] = xsleep[me] | PARKED };
#else
    atomic { xsleep[me] = xsleep[me] | (polls -> PARKED | POLLING : PARKED) };
#endif
    atomic {
        if
        :: parked + 1 < WORKERS && (sentinel == me + 1 || !sentinel) ->
            sentinel = me + 1;
            long_sleep = false;
            in_time = false
        :: else ->
            if
            :: sentinel == me + 1 -> sentinel = 0; long_sleep = false; in_time = false
            :: else
            fi;
            listed = listed | BIT(me)
        fi;
        parked++;
        searchers = searchers - searching;
        searching = false
    };
#if STOP
    atomic { go_on = xexit };
#endif
    atomic { go_on = go_on || (me == 0 && inbox) };
    atomic {
        if
#if BUG != 5 /* it does not look whether the set has been opened meanwhile */
        :: me == 0 && xopen && !polls -> polls = true; go_on = true; goto go
#endif
        :: go_on && !(me == 0 && xopen && !polls) -> goto go
        :: else
        fi
    };

sleep: /* sleep_until_notified, sleep_once */
    atomic {
        word = xsleep[me];
        if
        :: !(word & PARKED) -> word = 0; goto awake
#if BUG == 1 /* POLLING is set when it sleeps there */
        :: (word & PARKED) && polls -> word = 0; goto set_polling
#elif BUG == 4 /* it takes back what a late waker has left, when it may be notified already */
        :: (word & PARKED) && (word & POLLING) -> word = 0; goto take_back
#else
        :: (word & PARKED) && (word & POLLING) -> word = 0; goto end_in_set
#endif
        :: else
        fi
    };
    atomic { /* the futex compares and sleeps in one step */
        if
        :: word == xsleep[me] -> waiting = waiting | BIT(me); word = 0
        :: else -> word = 0; goto sleep
        fi
    };
end_asleep:
    if
    :: atomic { !HAS(waiting, me) -> goto sleep }
    :: atomic { HAS(waiting, me) && sentinel == me + 1 && (rung || fires) ->
           waiting = waiting & ~BIT(me);
           goto round
       }
    fi;
#if BUG == 1
set_polling:
    atomic { xsleep[me] = xsleep[me] | POLLING };
#elif BUG == 4
take_back:
    atomic { wakeup = wakeup & ~1 };
#endif
end_in_set:
    if
    :: atomic { edge || HAS(wakeup, 0) -> take(0); goto go }
    :: atomic { !edge && !HAS(wakeup, 0) && sentinel == me + 1 && (rung || fires) -> goto round }
    fi;

round:
    atomic {
        if
        :: rung -> rung = false; rang = true
        :: else -> fires--
        fi;
    };
    atomic { long_sleep = false; in_time = false }; /* end_long_sleep, begin_long_sleep of one that slept long */
    atomic { /* begin_long_sleep */
        if
        :: parked == WORKERS -> long_sleep = true; goto sleep
#if BUG == 16 /* it sleeps long although somebody has gone on */
        :: parked != WORKERS -> long_sleep = true; goto sleep
#endif
        :: else
        fi
    };
help: /* th_sentinel_round, th_poll_help; is_running is a guess */
    atomic {
        if
        :: me != 0 && xopen && xmembers &&
           (xsleep[0] & (PARKED | POLLING)) != (PARKED | POLLING)
        :: else -> goto sleep
        fi
    };
    atomic {
        take(0);
        has_work = got != 0;
        hand_out();
        if
#if BUG == 3 /* it takes back the wake-up, which is not its own */
        :: mine -> mine = false
#endif
        :: (!mine || BUG != 3) && has_work -> mine = false; goto go
        :: (!mine || BUG != 3) && !has_work -> mine = false; goto sleep
        fi
    };
#if BUG == 3
    atomic {
        wakeup = wakeup & ~1;
        if
        :: has_work -> goto go
        :: else -> goto sleep
        fi
    };
#endif

go: /* th_park_leave */
    atomic { xsleep[me] = xsleep[me] & ~PARKED };

awake: /* th_park_unannounce, th_poll_awake */
#if BUG == 9 /* it looks for members before it counts as awake */
    atomic { again = me == 0 && xmembers };
#endif
    atomic {
        searching = (xsleep[me] & TOKEN) != 0;
        xsleep[me] = xsleep[me] & ~(NOTIFIED | TOKEN | POLLING)
    };
    atomic {
        parked--;
        woken = !go_on;
        if
        :: got -> has_work = true; hand_out()
        :: else
        fi;
        if
        :: mine -> mine = false
        :: !mine && go_on && !searching -> goto search_anyway
        :: else -> go_on = false; goto find
        fi
    };
    atomic { wakeup = wakeup & ~1; goto find };
search_anyway:
    atomic { go_on = false; searching = true; searchers++; goto find };

found: /* th_found */
    atomic {
        if
        :: searching || sentinel == me + 1 -> woken = false
#if BUG == 8
        :: !searching && sentinel != me + 1 -> woken = false; goto busy
#elif BUG == 9
        :: !searching && sentinel != me + 1 && woken -> woken = false; goto alone
        :: !searching && sentinel != me + 1 && !woken -> again = false; goto busy
#else
        :: !searching && sentinel != me + 1 && woken ->
            woken = false;
            again = me == 0 && xmembers;
            goto alone
        :: !searching && sentinel != me + 1 && !woken -> goto busy
#endif
        fi
    };
    /* th_went_busy */
    atomic {
        if
        :: sentinel == me + 1 ->
            sentinel = 0;
            long_sleep = false;
            in_time = false;
            last = !searching && !searchers && listed
        :: else
        fi;
        again = last && parked + 1 < WORKERS /* sentinel_missing */
    };
    atomic {
        if
        :: searching ->
            searching = false;
            searchers--;
            last = !searchers && (listed || sentinel);
            again = last && !sentinel && listed && parked + 1 < WORKERS
        :: else
        fi
    };
    atomic {
        if
        :: again -> again = false; last = false
        :: !again && last && me == 0 && xmembers -> again = true; last = false; goto alone
        :: else -> last = false; goto busy
        fi
    };
    wake_one();
    goto busy;
alone: /* th_went_busy_alone */
    if
    :: again -> watch()
    :: else
    fi;
busy:
#if ADDS
    if
    :: me == 0 && posted && !(member & BIT(OPENS)) -> polls = true; add(OPENS, true)
    :: else
    fi;
#endif
    run_something();
    atomic {
        outstanding = outstanding - posted;
        posted = false;
        goto find
    };

leave:
    gone = gone | BIT(me)
}
#endif

/* ---- a bound thread ---- */

#if THREADS
/* Its own set, in which the shared one is ready as long as that has events. */
#define IS_READY (HAS(wakeup, me) || (nested && edge))

/* What a wait for its own set gives: the shared one is among it, or not. */
inline take_own() {
    mine = HAS(wakeup, me);
    look = nested && edge
}

proctype thread(byte me) {
    byte word, target, before, got;
    bool mine, look;
    bool polls, nested; /* it has a set of its own; the shared one is in it */
    bool was_open, woken, go_on, passing;

#if EMBEDDED
    if
    :: atomic { me == 0 -> polls = true; passing = true; goto unannounce } /* th_poll_embed */
    :: else
    fi;
#endif
find: /* th_bound_find, with th_poll_loose, if the last look was long ago */
    if
    :: atomic { xopen && edge -> got = edge; edge = 0; hand_out() }
    :: true
    fi;
    atomic {
        if
        :: queued -> queued--; goto found
        :: else
        fi
    };

    /* announce */
    atomic { was_open = xopen };
    atomic { /* th_poll_nests */
        if
        :: xopen -> polls = true; nested = true
        :: else
        fi
    };
    atomic { xsleep[me] = xsleep[me] | (polls -> PARKED | POLLING : PARKED) };
#if BUG != 5
    atomic { go_on = !was_open && xopen };
#endif
    atomic {
        go_on = go_on || queued;
        was_open = false;
        if
        :: go_on -> go_on = false; goto unannounce
#if EMBEDDED
        :: !go_on && passing -> passing = false; goto end_foreign
#endif
        :: else
        fi
    };
    atomic { /* sleep */
        word = xsleep[me];
        if
        :: !(word & PARKED) -> goto unannounce
        :: (word & PARKED) && (word & POLLING) -> goto end_in_set
        :: else
        fi
    };
    atomic {
        if
        :: word == xsleep[me] -> waiting = waiting | BIT(me)
        :: else -> goto unannounce
        fi
    };
end_asleep:
    atomic { !HAS(waiting, me) -> goto unannounce };
end_in_set:
    atomic { IS_READY -> take_own() };

unannounce:
    atomic {
        xsleep[me] = 0;
        word = 0;
        woken = true;
        if
        :: mine -> mine = false
        :: !mine && look -> goto loose
        :: else -> goto find
        fi
    };
    atomic {
        wakeup = wakeup & ~BIT(me);
        if
        :: look
        :: else -> goto find
        fi
    };
loose: /* th_poll_loose */
    atomic { look = false; got = edge; edge = 0; hand_out(); goto find };

found:
    atomic { /* hand_over */
        go_on = woken && queued;
        woken = false;
        if
        :: go_on -> go_on = false
        :: else -> goto runs
        fi
    };
    wake_bound();
runs:
    run_something();
    atomic { outstanding--; goto find };

#if EMBEDDED
end_foreign: /* the other loop waits for the set, or its root waits elsewhere */
    if
    :: atomic { IS_READY -> take_own(); passing = true; goto unannounce } /* th_bound_pass */
    :: atomic { COUNT(held) < LONGS -> goto elsewhere }
    fi;

elsewhere: /* th_bound_come_back; a fiber of its own runs first */
#if BUG != 12
    atomic { xsleep[me] = 0 };
#if BUG != 13
    atomic { /* hand_over */
        if
        :: queued
        :: else -> goto own
        fi
    };
    wake_bound();
own:
#endif
#endif
    run_something();
    goto find
#endif
}
#endif

/* ---- the checks, and stop ---- */

init {
    byte i;
    byte target, before;

    atomic {
        do
        :: i < SLEEPERS ->
#if WORKERS
            run worker(i);
#else
            run thread(i);
#endif
            i++
        :: else -> i = 0; break
        od;
#if EVENTS
        do
        :: i < EVENTS -> run world(i); i++
        :: else -> i = 0; break
        od;
#endif
#if OPENS
        do
        :: i < OPENS -> run opener(i); i++
        :: else -> i = 0; break
        od;
#endif
#if POSTS
        run poster()
#endif
    };

#if STOP
    /* thrum_sched_stop: all fibers have ended */
    outstanding == 0;
    xexit = true;
    do
    :: i < WORKERS -> wake(i); i++
    :: else -> i = 0; break
    od;
    gone == ALL;
#if BUG != 15 /* the sets are closed before external callers have left */
    externals == 0;
#endif
    atomic { closed = true }
#else
    /* Whenever nothing can move. */
    do
    :: atomic {
        timeout;
        assert(externals == 0);
        if
        :: held == ALL && !let_go -> let_go = held
        :: held != ALL && edge -> /* somebody is free: the sentinel comes, if the owner runs */
#if WORKERS
            assert(HAS(held, 0) && sentinel && (!long_sleep || in_time) && !rang);
            assert(!HAS(held, sentinel - 1));
            rung = true
#else
            assert(false)
#endif
        :: held != ALL && !edge ->
            assert(!queued && (!inbox || HAS(held, 0)));
            if
            :: held -> let_go = held
            :: else -> break
            fi
        fi
       }
    od;
    assert(outstanding == 0 && came == (1 << EVENTS) - 1)
#endif
}
