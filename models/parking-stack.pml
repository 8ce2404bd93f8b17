/*
 * parking-stack.pml: the idle stack itself, with its links, its tag and lazy leaving. What
 * parking.pml takes as one step (read the top, read its link, exchange) is three here. See
 * core/worker/PARKING.md, "Lazy leaving" and "ABA" and models/README.md.
 */
#ifndef WORKERS
#define WORKERS 3
#endif
#ifndef PARKS /* parks of each worker */
#define PARKS 2
#endif
#ifndef WAKERS
#define WAKERS 2
#endif
#ifndef WAKES /* calls of th_wake_one by each waker */
#define WAKES 2
#endif
#ifndef BUG
#define BUG 0
#endif

/* The park word has only the top and the tokens here. The tag is `same`. */
#define TOP(word) ((word) & 3)
#define SEARCHERS(word) ((word) >> 2)
#define SEARCHER_ONE 4
#define WITH_TOP(word, top) (((word) & ~3) | (top))

/* The sleep word. */
#define PARKED 1
#define LISTED 2
#define NOTIFIED 4

#define BIT(i) (1 << (i))
#define ALL (BIT(WORKERS) - 1)
#define HAS(mask, i) (((mask) & BIT(i)) != 0)

byte xpark;
byte xsleep[WORKERS];
byte below[WORKERS]; /* xidle_next */
byte waiting;        /* a bit for each worker that waits in the futex */

/*
 * The tag: a bit for each thread that has loaded the word; each push and pop takes all bits away.
 * An exchange needs its thread's bit: it is like a tag that never comes round.
 */
byte same;
#if BUG == 8
#define SAME_TAG true
#else
#define SAME_TAG HAS(same, me)
#endif

byte in_stack; /* a bit for each worker that has an entry in the stack */

inline load_word() {
    w = xpark;
    same = same | BIT(me)
}

/* th_park_announce, then a sleep that may end at any time, then th_park_unannounce. */
proctype sleeper(byte me) {
    byte parks = PARKS;
    byte w;
    bool entry, listed;

again:
    atomic {
        if
        :: parks -> parks--
        :: else -> goto finish
        fi;
        entry = (xsleep[me] & LISTED) != 0;
#if BUG == 12
        entry = false;
#endif
        xsleep[me] = xsleep[me] | PARKED;
        if
        :: entry -> entry = false; goto parked /* its old entry serves again */
        :: else
        fi
    };
    atomic { load_word() };
#if BUG != 5
    xsleep[me] = xsleep[me] | LISTED;
#endif
push:
    below[me] = TOP(w);
    atomic {
        if
        :: xpark == w && SAME_TAG ->
           assert(!HAS(in_stack, me)); /* an entry stands in the stack at most once */
           in_stack = in_stack | BIT(me);
           xpark = WITH_TOP(xpark, me + 1);
           w = 0;
           same = 0
        :: else -> load_word(); goto push
        fi
    };
#if BUG == 5
    xsleep[me] = xsleep[me] | LISTED;
#endif

parked:
    if
    :: !parks -> goto go
    :: true
    fi;
sleep:
    atomic {
        if
        :: xsleep[me] & PARKED -> waiting = waiting | BIT(me)
        :: else -> assert(xsleep[me] & NOTIFIED); goto awake
        fi
    };
end_asleep:
    if
    :: !HAS(waiting, me) -> goto sleep
    :: parks -> /* leaves by itself, for a timer or for work; the last time at once or not at all */
       waiting = waiting & ~BIT(me)
    fi;
go: /* th_park_leave */
#if BUG == 6
    skip;
#else
    xsleep[me] = xsleep[me] & ~PARKED;
#endif
awake: /* th_park_unannounce; th_went_busy gives back a token that came */
    atomic {
        listed = (xsleep[me] & NOTIFIED) != 0;
        xsleep[me] = xsleep[me] & ~NOTIFIED;
        if
        :: listed -> listed = false
        :: else -> goto again
        fi
    };
    atomic { assert(SEARCHERS(xpark)); xpark = xpark - SEARCHER_ONE; goto again };

finish:
    skip
}

/* th_wake_one */
proctype waker(byte me) {
    byte wakes = WAKES;
    byte w, link, target;
    bool got;

again:
    if
    :: wakes -> wakes--
    :: else -> goto finish
    fi;
load:
    atomic {
        load_word();
        if
        :: SEARCHERS(w) || !TOP(w) -> same = same & ~BIT(me); w = 0; goto again
        :: else -> target = TOP(w) - 1
        fi
    };
#if BUG == 23 /* LISTED is cleared before the entry is popped */
    xsleep[target] = xsleep[target] & ~LISTED;
#endif
    link = below[target];
    atomic {
        got = (xpark == w && SAME_TAG);
        same = same & ~BIT(me);
        w = 0;
        if
        :: got ->
           assert(HAS(in_stack, target));
           in_stack = in_stack & ~BIT(target);
           assert(link == below[target]); /* the link is the top's */
           xpark = WITH_TOP(xpark, link) + SEARCHER_ONE;
           same = 0;
           link = 0
        :: else -> link = 0; target = 0; goto load
        fi
    };
    atomic { /* notify_sleeper */
#if BUG != 20
        got = (xsleep[target] & PARKED) != 0;
#endif
        assert(!got || !(xsleep[target] & NOTIFIED)); /* notified once */
#if BUG == 24
        if
        :: got -> xsleep[target] = (xsleep[target] & ~(PARKED | LISTED)) | NOTIFIED
        :: else
        fi;
#else
        if
        :: got -> xsleep[target] = (xsleep[target] & ~(PARKED | LISTED)) | NOTIFIED
        :: else -> xsleep[target] = xsleep[target] & ~LISTED
        fi;
#endif
        if
        :: got -> got = false
        :: else -> target = 0; goto stale
        fi
    };
    atomic {
#if BUG != 9
        waiting = waiting & ~BIT(target);
#endif
        target = 0;
        goto again
    };
stale:
    atomic { assert(SEARCHERS(xpark)); xpark = xpark - SEARCHER_ONE; goto load };

finish:
    skip
}

init {
    byte i, n, seen;

    atomic {
        do
        :: i < WORKERS -> run sleeper(i); i++
        :: else -> break
        od;
        do
        :: i < WORKERS + WAKERS -> run waker(i); i++
        :: else -> break
        od;
        i = 0
    };
    timeout;
    atomic { /* a sleeper can be found, and no worker is notified */
        n = TOP(xpark);
        do
        :: n && i <= WORKERS -> seen = seen | BIT(n - 1); n = below[n - 1]; i++
        :: else -> break
        od;
        assert(i <= WORKERS && seen == in_stack);
        assert((waiting & ~seen) == 0);
        assert(SEARCHERS(xpark) == 0);
        i = 0;
        do
        :: i < WORKERS ->
           assert(HAS(waiting, i) == ((xsleep[i] & PARKED) != 0));
           assert(HAS(in_stack, i) == ((xsleep[i] & LISTED) != 0));
           assert(!(xsleep[i] & NOTIFIED));
           i++
        :: else -> break
        od
    }
}
