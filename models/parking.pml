/*
 * parking.pml: which workers sleep, which are woken, and that none sleeps over work:
 * core/worker/PARKING.md in Promela. models/README.md ties each part to its C function and says
 * what is left out.
 *
 * A step is `atomic`: one access to shared memory, and what its thread does alone after it. Memory
 * is sequentially consistent, so a fence is no step. What a missing fence would allow is planted as
 * a bug: the two accesses in the wrong order.
 *
 * A call that stands at several places is a routine: `back` and `asked` say where it returns to.
 * The size of the world is set by -D; models/run has the configurations.
 */
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef EXTERNALS /* external threads, which post */
#define EXTERNALS 1
#endif
#ifndef POSTS /* posts of each */
#define POSTS 2
#endif
#ifndef CHAIN /* tasks in one post */
#define CHAIN 1
#endif
#ifndef PINNED /* 1: a post goes to the inject queue or to an inbox; 2: always to an inbox */
#define PINNED 0
#endif
#ifndef TURN /* 1: the inject queue's turn step by step; 0: taking is one step */
#define TURN 0
#endif
#ifndef SPAWNS /* the number of tasks that tasks queue on their own worker, all together */
#define SPAWNS 0
#endif
#ifndef SLOT /* 1: such a task goes into the slot or the ring; 0: it goes into the ring */
#define SLOT 0
#endif
#ifndef LONGS /* this many tasks at a time end only after all others */
#define LONGS 0
#endif
#ifndef BACKOFFS /* the number of back-offs, all together */
#define BACKOFFS 0
#endif
#ifndef TIMER /* 1: the sentinel's sleep ends, at the latest when nothing else moves */
#define TIMER 0
#endif
#ifndef FIRES /* how often it ends before that */
#define FIRES 0
#endif
#ifndef STOP /* 1: the workers are ended when all is done */
#define STOP 0
#endif
#ifndef ASLEEP /* at first 1: all sleep; 2: all but one, with a sentinel; 0: all look for work */
#define ASLEEP 0
#endif
#ifndef GOES /* how often a sentinel may begin a long sleep, until it is woken or all sleep */
#define GOES 0
#endif
#ifndef BUG
#define BUG 0
#endif

/* ---- the words ---- */

/* parkword.h, with narrower fields. The tag is not here: parking-stack.pml. */
#define TOP(word) ((word) & 3)
#define SENTINEL(word) (((word) >> 2) & 3)
#define SEARCHERS(word) (((word) >> 4) & 7)
#define PARKED_COUNT(word) (((word) >> 7) & 3)
#define BACKOFF 512
#define WATCH 1024
#define LONG(word) (SENTINEL(word) && !((word) & WATCH))
#define SEARCHER_ONE 16
#define PARKED_ONE 128
#define WITH_TOP(word, top) (((word) & ~3) | (top))
#define WITH_SENTINEL(word, who) (((word) & ~(12 | WATCH)) | ((who) << 2) | ((who) -> WATCH : 0))
#define ANYONE(word) ((word) & 15)

/* The sleep word. */
#define PARKED 1
#define LISTED 2
#define NOTIFIED 4
#define TOKEN 8

#define RINGS (SPAWNS || CHAIN > 1)
#if PINNED
#define PINNED_HERE (inbox[me] != 0)
#else
#define PINNED_HERE (false)
#endif
#if SLOT
#define OWN_NOTHING (!PINNED_HERE && !ring[me] && !slot[me])
#elif RINGS
#define OWN_NOTHING (!PINNED_HERE && !ring[me])
#else
#define OWN_NOTHING (!PINNED_HERE)
#endif

#define BIT(i) (1 << (i))
#define ALL (BIT(WORKERS) - 1)
#define HAS(mask, i) (((mask) & BIT(i)) != 0)

short xpark;
byte xsleep[WORKERS];
byte below[WORKERS]; /* xidle_next */
byte waiting;        /* a bit for each worker that waits in the futex */
byte sentinel;       /* a bit for each worker with worker->sentinel */

byte itop; /* the inject queue: the producers' stack */
#if TURN
byte ilist; /* what is left of it; the turn protects it */
bit irest;  /* whether something is left, as other threads see it */
bit iturn;
#define SHARED_WORK (itop || ilist)
#else
#define SHARED_WORK (itop)
#endif
/*
 * While another worker is awake and a sentinel sleeps for a bounded time, backlogs are left to the
 * sentinel.
 */
#if !TIMER
#define LATE false
#else
#define LATE ((waiting & sentinel & ~long_sleep) && waiting != ALL)
#endif
#if PINNED
byte inbox[WORKERS];
#endif
#if RINGS
byte ring[WORKERS];
#define BACKLOG(i) (ring[i] >= 2)
#else
#define BACKLOG(i) (false)
#endif
#if SLOT
bit slot[WORKERS];
#endif
#if TIMER && RINGS
byte moved[WORKERS]; /* a bit for each that picked since that worker looked (xtick, seen_ticks) */
#endif
#if TIMER
byte long_sleep;    /* a bit for each sentinel that sleeps long, since all were parked */
#endif
#if GOES
byte deep;     /* a bit for each sentinel that sleeps long behind a barrier */
byte inflight; /* threads that have read the park word and not pushed: a barrier waits for them */
byte goes = GOES;
#endif
#if STOP
bit xexit;
#endif

/* ---- what is not in the code ---- */

#define ROUNDS 4 /* the sentinel's vain rounds after which nothing more is expected of it */

byte in_stack;                        /* a bit for each worker that has an entry in the stack */
byte outstanding = EXTERNALS * POSTS * CHAIN; /* tasks that have not ended */
byte externals = EXTERNALS;             /* external threads that have not finished */
#if SPAWNS
byte spawns = SPAWNS;
#endif
#if LONGS
byte longs; /* the long ones of `outstanding` that have begun */
#endif
#if BACKOFFS
byte backoffs = BACKOFFS;
#endif
#if TIMER
byte fires = FIRES;
byte rounds; /* rounds since a task began last */
bit due;     /* nothing else moves, so the sentinel's sleep ends */
#endif

inline token_give() {
    assert(SEARCHERS(xpark) < 7);
    xpark = xpark + SEARCHER_ONE
}

inline token_back() {
    assert(SEARCHERS(xpark) > 0);
    xpark = xpark - SEARCHER_ONE
}

inline push_entry(who) {
    assert(!HAS(in_stack, who)); /* an entry stands in the stack at most once */
    in_stack = in_stack | BIT(who);
    below[who] = TOP(xpark);
    xpark = WITH_TOP(xpark, who + 1)
}

inline pop_entry(who) {
    assert(HAS(in_stack, who));
    in_stack = in_stack & ~BIT(who);
    xpark = WITH_TOP(xpark, below[who]);
    below[who] = 0
}

/* notify_sleeper: one exchange of the sleep word. */
inline notify_sleeper(who, clear, give) {
#if BUG == 20
    got = true;
#else
    got = (xsleep[who] & PARKED) != 0;
#endif
    assert(!got || !(xsleep[who] & NOTIFIED)); /* notified once */
    xsleep[who] = xsleep[who] & ~(clear);
    if
    :: got -> xsleep[who] = (xsleep[who] & ~PARKED) | NOTIFIED | give
    :: else
    fi
}

/* th_wake_one: reads the word; is done, or takes the top, or else the sentinel, with a token. */
inline wake_one_take() {
    if
    :: SEARCHERS(xpark) || !ANYONE(xpark) -> leaving = 0; goto woke
    :: !SEARCHERS(xpark) && leaving && !TOP(xpark) && SENTINEL(xpark) == leaving ->
#if BUG != 26 /* the wake stops at a sentinel that was leaving and has parked again */
       goto left
#else
       leaving = 0;
       goto woke
#endif
    :: else ->
       token_give();
       if
       :: TOP(xpark) ->
          target = TOP(xpark) - 1;
          listed_too = true;
          pop_entry(target)
       :: else -> target = SENTINEL(xpark) - 1; xpark = xpark | WATCH
       fi
    fi
}

inline wake_one_notify() {
    notify_sleeper(target, (listed_too -> LISTED : 0), TOKEN);
    if
    :: got -> got = false; listed_too = false; leaving = 0
    :: else ->
       leaving = (listed_too -> leaving : target + 1);
       listed_too = false;
       target = 0;
       goto stale
    fi
}

/* steal_from: takes half of a ring, rounded up. */
inline steal_from(who) {
    taken = (ring[who] + 1) / 2;
    ring[who] = ring[who] - taken
}

/* ---- external threads ---- */

proctype external() {
    byte posts = POSTS;
    byte target, leaving;
    bool got, listed_too;

woke:
    if
#if PINNED < 2
    :: posts -> goto post
#endif
#if PINNED
    :: posts -> goto pin
#endif
    :: !posts -> goto finish
    fi;

#if PINNED < 2
post: /* submit_external */
#if BUG == 7
    atomic {
        got = ANYONE(xpark) && !SEARCHERS(xpark);
        posts--
    };
    atomic {
        itop++;
        if
        :: got -> got = false
        :: else -> goto woke
        fi
    };
#else
    atomic { itop = itop + CHAIN; posts-- };
#endif
wake: /* th_notify_shared, th_wake_one */
    atomic { wake_one_take() };
    atomic { wake_one_notify() };
    atomic {
#if BUG != 9
        waiting = waiting & ~BIT(target);
#endif
        target = 0;
        goto woke
    };
stale:
    atomic {
        token_back();
#if BUG == 2
        leaving = 0;
        goto woke
#else
        goto wake
#endif
    };
#if BUG != 26 /* the wake stops at a sentinel that was leaving and has parked again */
left: /* the sentinel that was leaving: has it come back? */
    atomic {
        got = (xsleep[leaving - 1] & PARKED) != 0;
        leaving = 0;
        if
        :: got -> got = false; goto wake
        :: else -> goto woke
        fi
    };
#endif
#endif

#if PINNED
pin: /* submit_pinned, th_wake_worker */
    atomic {
        posts--;
        if
        :: target = 0
        :: target = 1
#if WORKERS > 2
        :: target = 2
#endif
        fi;
#if BUG == 10
        got = (xsleep[target] & PARKED) != 0
#else
        inbox[target]++
#endif
    };
    atomic {
#if BUG == 10
        inbox[target]++;
#else
        got = (xsleep[target] & PARKED) != 0;
#endif
        if
        :: got
        :: else -> target = 0; goto woke
        fi
    };
    atomic {
        notify_sleeper(target, 0, 0);
        if
        :: got -> got = false
        :: else -> target = 0; goto woke
        fi
    };
    atomic {
        waiting = waiting & ~BIT(target);
        target = 0;
        goto woke
    };
#endif

finish:
    externals--
}

/* ---- a worker ---- */

#define AFTER_TAKE 1
#define AFTER_BUSY 2
#define AFTER_PUSH 3

/* A long sleep ends at some deadline, which nobody relies on here. */
#if GOES
#define MAY_END &&(!HAS(long_sleep, me) || fires) && (!HAS(deep, me) || waiting == ALL)
#define EARLY inflight++
#define PUSHED inflight--
#else
#define MAY_END &&(!HAS(long_sleep, me) || fires)
#define EARLY skip
#define PUSHED skip
#endif

#define PARKING 1
#define TIMED 2
#define ROUND 3
#define BUSY 4

proctype worker(byte me; bool asleep) {
    bool searching;      /* worker->searching */
    bool backoff_bit, backoff;   /* worker->backoff_bit, worker->backoff.ns != 0 */
    bool handoff;        /* worker->handoff */
    bool go_on, token;   /* th_park */
    bool entry, listed;  /* th_park_announce */
    bool lost;           /* worker->turn_lost */
    bool got, listed_too;
#if TIMER
    bool lone; /* a sentinel that sleeps long is to be woken */
#endif
    byte v, taken, target, leaving, back, asked;
    short w;

#if ASLEEP
    if
    :: asleep -> asleep = false; goto end_asleep
    :: else
    fi;
#endif

find: /* th_find, find_once, th_steal_backs_off */
#if BACKOFFS
    atomic {
        if
        :: backoffs && !searching && OWN_NOTHING -> backoffs--; backoff = true; goto park
        :: true
        fi
    };
#endif

pick:
#if SLOT
    atomic {
        if
        :: slot[me] -> slot[me] = 0; goto found
        :: else
        fi
    };
#endif
#if PINNED
    atomic {
        if
        :: inbox[me] -> inbox[me]--; goto found
        :: else
        fi
    };
#endif
#if RINGS
    atomic {
#if TIMER
        moved[me] = ALL;
#endif
        if
        :: ring[me] -> ring[me]--; goto found
        :: else
        fi
    };
#endif

#if TURN
    /* take_inject */
    atomic {
        if
        :: itop -> goto turn
        :: else
        fi
    };
    atomic {
        if
        :: irest
        :: else -> goto search
        fi
    };
turn: /* th_inject_turn_begin */
    atomic {
        if
        :: !iturn -> iturn = 1
        :: else -> lost = true; goto search
        fi
    };
    atomic { /* th_inject_take */
        ilist = ilist + itop;
        itop = 0;
        taken = (ilist > 0);
        ilist = ilist - taken
    };
    irest = (ilist > 0); /* th_inject_turn_end */
    atomic {
        iturn = 0;
#if BUG == 11
        goto took
#endif
    };
    atomic {
        if
        :: itop -> goto more
        :: else
        fi
    };
    atomic {
        if
        :: irest -> goto more
        :: else -> goto took
        fi
    };
#else
    atomic {
        if
        :: itop ->
#if CHAIN > 1
           taken = (itop + WORKERS - 1) / WORKERS;
#else
           taken = 1; /* grab one */
#endif
           itop = itop - taken
        :: else -> goto search
        fi
    };
#if CHAIN > 1
    atomic {
        if
        :: taken > 1 -> ring[me] = ring[me] + taken - 1; taken = 1
        :: else
        fi
    };
#endif
    atomic {
        if
        :: itop -> goto more
        :: else
        fi
    };
#if CHAIN > 1
    atomic {
        if
        :: BACKLOG(me) -> goto more
#if TIMER && BUG != 30
        :: ring[me] == 1 && LONG(xpark) -> lone = true; back = AFTER_TAKE; goto wake
#endif
        :: else -> goto took
        fi
    };
#else
    goto took;
#endif
#endif
more: /* th_notify(worker, true) */
    atomic {
        back = AFTER_TAKE;
#if BACKOFFS
        if
        :: SENTINEL(xpark) && (xpark & BACKOFF) -> goto took
        :: else -> goto wake
        fi
#else
        goto wake
#endif
    };
took:
    atomic {
        if
        :: taken -> taken = 0; goto found
        :: else
        fi
    };

search: /* th_search_begin */
    if
    :: searching
    :: !searching && SEARCHERS(xpark) == 0; /* where the exchange fails, a guess */
        atomic { token_give(); searching = true }
    :: !searching && SEARCHERS(xpark) != 0 -> goto nothing
    fi;
#if RINGS
    /* steal */
    atomic {
        if
        :: v = (me + 1) % WORKERS
#if WORKERS > 2
        :: v = (me + 2) % WORKERS
#endif
        fi;
        steal_from(v);
        if
        :: taken -> goto stolen
#if WORKERS > 2
        :: else -> v = 3 - me - v
#else
        :: else -> v = 0; goto nothing
#endif
        fi
    };
#if WORKERS > 2
    atomic {
        steal_from(v);
        if
        :: taken
        :: else -> v = 0; goto nothing
        fi
    };
#endif
stolen: /* keep */
#if GOES && WORKERS > 2 && BUG != 30
    atomic { ring[me] = ring[me] + taken - 1; taken = 0; v = 0 };
    atomic {
        if
        :: ring[me] && LONG(xpark) -> taken = 1; lone = true; back = AFTER_TAKE; goto wake
        :: else -> goto found
        fi
    };
#else
    atomic { ring[me] = ring[me] + taken - 1; taken = 0; v = 0; goto found };
#endif
#endif

nothing:
#if STOP
    atomic {
        if
        :: xexit -> goto leave
        :: else
        fi
    };
#endif
#if TURN
    if /* wait_for_turn */
    :: lost -> lost = false; goto find
    :: lost = false
    fi;
#endif

park: /* th_park */
#if BUG == 1
    atomic { asked = PARKING; goto pending };
announce:
#endif
    atomic { /* th_park_announce */
        entry = (xsleep[me] & LISTED) != 0;
#if BUG == 12
        entry = false;
#endif
        xsleep[me] = xsleep[me] | PARKED;
        if
        :: !entry -> goto list /* it reads the park word, which may be old by now */
        :: true -> goto exchange
        fi
    };
list:
    atomic {
#if BUG != 5
        xsleep[me] = xsleep[me] | LISTED;
#endif
        listed = true
    };
exchange:
    atomic {
        got = PARKED_COUNT(xpark) + 1 < WORKERS && (HAS(sentinel, me) || !SENTINEL(xpark));
        if
        :: !got && !entry && !listed -> got = false; goto list
        :: else
        fi;
        xpark = xpark + PARKED_ONE;
        if
        :: searching -> token_back(); searching = false
        :: else
        fi;
#if BACKOFFS
        if
        :: backoff && !(xpark & BACKOFF) -> xpark = xpark | BACKOFF; backoff_bit = true
        :: else
        fi;
#endif
        if
        :: got -> xpark = WITH_SENTINEL(xpark, me + 1); sentinel = sentinel | BIT(me)
        :: !got && HAS(sentinel, me) -> xpark = WITH_SENTINEL(xpark, 0); sentinel = sentinel & ~BIT(me)
        :: else
        fi;
        if
        :: !got && !entry -> push_entry(me)
        :: else
        fi;
        if
        :: listed && (got || entry) -> listed = false; entry = false; got = false
#if BUG == 5
        :: listed && !got && !entry -> listed = false; entry = false; got = false
#endif
        :: else -> listed = false; entry = false; got = false; goto announced
        fi
    };
#if BUG == 5
    xsleep[me] = xsleep[me] | LISTED;
#else
    xsleep[me] = xsleep[me] & ~LISTED;
#endif

announced:
#if BUG == 1
    atomic {
        if
        :: go_on -> goto go
        :: else -> goto sleep
        fi
    };
#else
#if BACKOFFS
    if
    :: backoff -> goto sleep
    :: else
    fi;
#endif
#if STOP
    atomic {
#if BUG != 19
        if
        :: xexit -> go_on = true; goto go
        :: else
        fi
#else
        skip
#endif
    };
#endif
    asked = PARKING;
#endif

pending: /* `asked` says for which step */
#if TURN
    atomic {
        if
        :: itop -> goto turn_free
        :: else
        fi
    };
    atomic {
        if
        :: irest
        :: else -> goto pending_own
        fi
    };
turn_free:
    atomic {
        if
        :: !iturn -> got = true; goto answer
        :: else
        fi
    };
pending_own:
#else
    atomic {
        if
        :: itop -> got = true; goto answer
        :: else
        fi
    };
#endif
#if PINNED
    atomic {
        if
        :: inbox[me] -> got = true; goto answer
        :: else
        fi
    };
#endif
#if RINGS
    do
    :: v < WORKERS ->
       atomic {
           if
           :: BACKLOG(v) -> v = 0; got = true; goto answer
           :: else -> v++
           fi
       }
    :: else -> v = 0; break
    od;
#endif

answer: /* the answer of `pending` is `got` */
    atomic {
        if
        :: asked == PARKING -> asked = 0; go_on = got; got = false
#if BUG == 1
           goto announce
#endif
        :: asked == BUSY -> asked = 0; goto busy_answer
#if TIMER
        :: asked == TIMED -> asked = 0; goto timed_answer
        :: asked == ROUND -> asked = 0; goto round_answer
#endif
        fi;
        if
        :: go_on -> goto go
        :: else
        fi
    };

sleep: /* sleep_until_woken: the futex compares and sleeps in one step */
    atomic {
        if
        :: xsleep[me] & PARKED -> waiting = waiting | BIT(me)
        :: else -> assert(xsleep[me] & NOTIFIED); goto awake
        fi
    };
end_asleep:
    if
    :: !HAS(waiting, me) -> goto sleep
#if BACKOFFS
    :: atomic { backoff -> waiting = waiting & ~BIT(me); goto go }
#endif
#if TIMER
    :: atomic {
           HAS(sentinel, me) && !backoff && (due || fires) MAY_END ->
           waiting = waiting & ~BIT(me);
           if
           :: due && !HAS(long_sleep, me) -> due = 0
           :: else -> fires--
           fi;
           asked = TIMED;
           if
           :: HAS(long_sleep, me)
           :: else -> goto pending
           fi
       };
       atomic { xpark = xpark | WATCH; long_sleep = long_sleep & ~BIT(me); goto pending } /* end_long_sleep */
#endif
    fi;

#if TIMER
timed_answer:
    atomic {
        if
        :: !got && (PARKED_COUNT(xpark) == WORKERS || BUG == 21)
        :: else -> got = false; goto round
        fi
    };
    /* begin_long_sleep */
#if GOES
    atomic {
        if
        :: LONG(xpark) -> xpark = xpark | WATCH; deep = deep & ~BIT(me)
        :: else
        fi
    };
#endif
    atomic {
        if
        :: PARKED_COUNT(xpark) == WORKERS || BUG == 21 ->
           xpark = xpark & ~WATCH;
           long_sleep = long_sleep | BIT(me);
           goto sleep
        :: else
        fi
    };

round: /* th_sentinel_round */
#if RINGS
    /* rescue_any */
    do
    :: v == me -> v++
    :: v == WORKERS -> v = 0; break
    :: v != me && v < WORKERS ->
#if SLOT
       atomic {
           if
           :: slot[v] -> goto ticked
           :: else
           fi
       };
#endif
       atomic {
           if
           :: ring[v] -> goto ticked
           :: else -> v++; goto next
           fi
       };
ticked:
       atomic {
           if
           :: HAS(moved[v], me) -> moved[v] = moved[v] & ~BIT(me); v++; goto next
           :: else
           fi
       };
#if SLOT
       atomic {
           if
           :: slot[v] -> slot[v] = 0; v = 0; handoff = true; goto go
           :: else
           fi
       };
#endif
       atomic {
           steal_from(v);
           if
           :: taken -> v = 0; handoff = true
           :: else -> v++; goto next
           fi
       };
       atomic { ring[me] = ring[me] + taken - 1; taken = 0; goto go };
next:
       skip
    od;
#endif
    atomic {
        if
        :: SEARCHERS(xpark) -> goto sleep
#if GOES
        :: SEARCHERS(xpark) && goes && !LONG(xpark) -> goto long
#endif
        :: !SEARCHERS(xpark) -> asked = ROUND; goto pending
        fi
    };
round_answer:
    atomic {
        if
        :: got -> got = false; token_give(); searching = true /* search_anyway */
        :: !got -> goto sleep
#if GOES
        :: !got && goes && !LONG(xpark) -> goto long
#endif
        fi
    };
#if GOES
    goto go;

long: /* go_long */
    atomic { goes--; xpark = xpark & ~WATCH };
#if BUG != 27
    inflight == 0; /* the barrier: no other thread is between its read and its push */
#endif
#if BUG != 28
    do /* anything_queued */
    :: v == WORKERS -> v = 0; break
    :: v < WORKERS ->
#if SLOT
       atomic {
           if
           :: v != me && slot[v] -> goto not_long
           :: else
           fi
       };
#endif
       atomic {
           if
           :: v != me && ring[v] -> goto not_long
           :: else -> v++
           fi
       }
    od;
#endif
    atomic { deep = deep | BIT(me); goto sleep };
not_long:
    atomic { v = 0; xpark = xpark | WATCH; goto sleep };
#endif
#endif

go: /* th_park_leave */
#if BUG == 6
    skip;
#else
    xsleep[me] = xsleep[me] & ~PARKED;
#endif

awake: /* th_park_unannounce */
    atomic {
#if GOES
        deep = deep & ~BIT(me);
#endif
#if TIMER
        long_sleep = long_sleep & ~BIT(me);
#endif
        token = (xsleep[me] & TOKEN) != 0;
        xsleep[me] = xsleep[me] & ~(NOTIFIED | TOKEN)
    };
    atomic {
        assert(PARKED_COUNT(xpark) > 0);
        xpark = xpark - PARKED_ONE;
#if BACKOFFS
        if
#if BUG == 17
        :: false
#else
        :: backoff_bit -> xpark = xpark & ~BACKOFF
#endif
        :: else
        fi;
        backoff_bit = false;
#endif
        if
#if TIMER
        :: token && searching -> token = false; go_on = false /* one token is enough */
#endif
        :: !token && !searching && go_on -> go_on = false
        :: else ->
           searching = searching || token;
           token = false;
           go_on = false;
           goto up
        fi
    };
    atomic {
        if
#if BUG == 15
        :: searching
#elif TIMER
        :: searching -> token_back()
#endif
        :: else -> token_give(); searching = true /* search_anyway */
        fi
    };
up:
    atomic {
        if
#if TIMER && RINGS
        :: handoff -> handoff = false; goto found
#endif
#if BACKOFFS
        :: backoff -> backoff = false; goto pick
#endif
        :: else -> goto find
        fi
    };

found: /* th_went_busy */
    atomic {
        lost = false;
#if TIMER
        rounds = 0;
#endif
        if
        :: !searching && !HAS(sentinel, me) -> goto run_task
        :: !searching && HAS(sentinel, me)
        :: searching && HAS(sentinel, me)
        :: searching && !HAS(sentinel, me) -> goto no_searcher
        fi
    };
#if RINGS
    got = ring[me] > 0; /* it has rescued more than it is about to run */
#if BUG == 18
    got = false;
#endif
#endif
    atomic {
        sentinel = sentinel & ~BIT(me);
        xpark = WITH_SENTINEL(xpark, 0);
        w = xpark;
        if
        :: searching
        :: else -> goto last
        fi
    };
no_searcher:
#if BUG == 22 /* it looks before it gives the token back */
    atomic { got = got || itop };
#endif
    atomic {
        token_back();
        w = xpark;
        searching = false
    };
last:
    atomic {
#if RINGS && BUG != 22
        got = got && !SENTINEL(w);
#endif
        if
        :: SEARCHERS(w) || !ANYONE(w) -> w = 0; got = false; goto run_task
        :: else
        fi;
#if BUG != 4
        got = got || (!SENTINEL(w) && TOP(w) && PARKED_COUNT(w) + 1 < WORKERS);
#endif
        w = 0;
        if
#if BUG == 3 || BUG == 22
        :: true -> goto busy_answer
#else
        :: got -> goto busy_answer
        :: else -> asked = BUSY; goto pending
#endif
        fi
    };
busy_answer:
    atomic {
        if
        :: got -> got = false; back = AFTER_BUSY; goto wake
        :: else
        fi
    };

run_task: /* th_run */
#if SPAWNS
    do
#if SLOT
    :: atomic { spawns && !slot[me] -> spawns--; outstanding++ }; /* submit_next */
       if
       :: slot[me] = 1; w = xpark
       :: atomic { w = xpark; EARLY }; /* without a fence, so it may read an older word */
          atomic { slot[me] = 1; PUSHED }
       fi;
       goto notify
#endif
    :: atomic { spawns && ring[me] < 3 -> spawns--; outstanding++ }; /* push */
       if
       :: ring[me]++
       :: atomic { w = xpark; EARLY };
          atomic { ring[me]++; PUSHED };
          got = true
       fi;
       atomic {
           if
           :: ring[me] == 2 -> taken = 2
           :: ring[me] != 2 && got -> got = false; goto notify
           :: else
           fi;
           got = false
       };
#if BUG == 16
       if
       :: taken && w -> goto notify
       :: else
       fi;
#endif
       w = xpark;
notify: /* th_notify: `taken` says whether this is a backlog */
       atomic {
           if
           :: ANYONE(w) && (!SEARCHERS(w) || (LONG(w) && BUG != 29)) &&
              (((!SENTINEL(w) || LONG(w)) && BUG != 14) || (taken && !(w & BACKOFF))) ->
#if TIMER
              lone = LONG(w);
#endif
              taken = 0;
              w = 0;
              back = AFTER_PUSH;
              goto wake
           :: else -> taken = 0; w = 0
           fi
       }
    :: true -> break
    od;
#endif
#if LONGS
    if
    :: atomic { longs < LONGS -> longs++ };
       atomic { outstanding == longs || PINNED_HERE -> longs--; outstanding-- }
    :: outstanding--
    fi;
#else
    outstanding--;
#endif
    goto find;

    /* th_wake_one; `back` says where it was called */
wake:
#if TIMER
    atomic {
        if
        :: lone && LONG(xpark) ->
           token_give();
           target = SENTINEL(xpark) - 1;
           xpark = xpark | WATCH
        :: else -> wake_one_take()
        fi
    };
#else
    atomic { wake_one_take() };
#endif
    atomic { wake_one_notify() };
    atomic {
#if BUG != 9
        waiting = waiting & ~BIT(target);
#endif
        target = 0;
        goto woke
    };
stale:
    atomic {
        token_back();
#if BUG == 2
        leaving = 0;
        goto woke
#else
        goto wake
#endif
    };
#if BUG != 26 /* the wake stops at a sentinel that was leaving and has parked again */
left: /* the sentinel that was leaving: has it come back? */
    atomic {
        got = (xsleep[leaving - 1] & PARKED) != 0;
        leaving = 0;
        if
        :: got -> got = false; goto wake
        :: else -> goto woke
        fi
    };
#endif
woke:
#if TIMER
    lone = false;
#endif
    if
    :: back == AFTER_TAKE -> back = 0; goto took
    :: back == AFTER_BUSY -> back = 0; goto run_task
#if SPAWNS
    :: back == AFTER_PUSH -> back = 0; goto run_task
#endif
    fi;

#if STOP
leave:
    skip
#endif
}

/* ---- time, and stop ---- */

init {
    byte i, n;
#if STOP
    bool got;
#endif

    atomic {
#if ASLEEP
        do
        :: i < WORKERS - (ASLEEP - 1) ->
           waiting = waiting | BIT(i);
           xpark = xpark + PARKED_ONE;
           xsleep[i] = PARKED;
#if ASLEEP == 2
           if
           :: i == 0 ->
              sentinel = BIT(i);
              xpark = WITH_SENTINEL(xpark, i + 1)
           :: else -> xsleep[i] = PARKED | LISTED; push_entry(i)
           fi;
#else
           xsleep[i] = PARKED | LISTED;
           push_entry(i);
#endif
           i++
        :: else -> break
        od;
        i = 0;
#endif
        do
        :: i < WORKERS -> run worker(i, HAS(waiting, i)); i++
        :: else -> break
        od;
        i = 0;
        do
        :: i < EXTERNALS -> run external(); i++
        :: else -> break
        od;
        i = 0
    };

#if STOP
    if
    :: outstanding == 0 && externals == 0
    :: timeout -> assert(false) /* nothing moves although there is something to do */
    fi;
    /* end_threads, th_wake_all */
#if BUG != 25
    xexit = 1;
#endif
    do
    :: i < WORKERS ->
       atomic { notify_sleeper(i, 0, 0) };
       if
       :: got -> waiting = waiting & ~BIT(i)
       :: else
       fi;
       i++
    :: else -> break
    od;
#if BUG == 25
    xexit = 1;
#endif
    timeout;
    assert(_nr_pr == 1); /* all processes have ended */
    assert(PARKED_COUNT(xpark) == 0)
#else
wait:
    timeout;
    atomic {
        /* Promise 1: at this moment no worker sleeps over shared work. */
        assert(!waiting || !SHARED_WORK);
#if PINNED
        assert(!HAS(waiting, 0) || !inbox[0]);
        assert(!HAS(waiting, 1) || !inbox[1]);
        assert(!HAS(waiting, WORKERS - 1) || !inbox[WORKERS - 1]);
#endif
#if RINGS && !BACKOFFS /* back-offs may leave a backlog to the sentinel */
        assert(!waiting || LATE || !(BACKLOG(0) || BACKLOG(1) || BACKLOG(WORKERS - 1)));
#endif
#if TIMER
        if
        :: (waiting & sentinel & ~long_sleep) && rounds < ROUNDS -> rounds++; due = 1; goto wait
        :: else
        fi;
        /* Promise 2: nothing is left, not even in a slot or a ring beside a long task. */
        assert(outstanding == 0);
        /* Promise 3: all sleep without limit. The sentinel, if there is one, is not in the stack. */
        assert(waiting == ALL && sentinel == long_sleep && (!sentinel || LONG(xpark)));
        assert((in_stack | sentinel) == ALL);
        n = TOP(xpark);
        do
        :: n && i < WORKERS -> n = below[n - 1]; i++
        :: else -> break
        od;
        assert(i == (in_stack & 1) + (in_stack >> 1 & 1) + (in_stack >> 2 & 1) && n == 0);
#else
        assert(LONGS || outstanding == 0);
        assert(outstanding || waiting == ALL);
#endif
        /* No token is left. */
        assert(SEARCHERS(xpark) == 0 && !(xpark & BACKOFF))
    };
#endif
}
