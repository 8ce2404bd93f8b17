/*
 * combiner.pml: the fifo policy: the front, the combiner's place with its signal, the ready block; posts
 * and deadlines that have passed are in one order: core/policy/FIFO.md in Promela. models/README.md
 * ties each part to its C function and says what is left out.
 *
 * A step is `atomic`: one access to shared memory, and what its thread does alone after it. Parking
 * is that of parking.pml, with each wake in one step: a sleeper is found and notified at once, and
 * there is no sentinel. Memory is sequentially consistent.
 *
 * A task is the number of its push, so that its taker knows whether it is the next.
 */
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef POSTERS /* external threads, which post */
#define POSTERS 1
#endif
#ifndef POSTS /* posts of each */
#define POSTS 2
#endif
#ifndef CHAIN /* tasks in one post */
#define CHAIN 1
#endif
#ifndef BLOCK /* size of a block of the ready queue */
#define BLOCK 1
#endif
#ifndef LONGS /* this many tasks at a time end only after all others */
#define LONGS 0
#endif
#ifndef DUES /* tasks whose deadline has passed: worker 0 begins by pushing them */
#define DUES 0
#endif
#ifndef PINNED /* 1: then worker 0 runs a pinned task that ends after all others */
#define PINNED 0
#endif
#ifndef ASLEEP /* at first 1: all sleep but worker 0 if it fires deadlines; 0: all look for work */
#define ASLEEP 0
#endif
#ifndef BUG
#define BUG 0
#endif

#define TASKS (POSTERS * POSTS * CHAIN + DUES)

/* The combiner's word. */
#define FREE 0
#define HELD 1
#define SIGNAL 2

#define BIT(i) (1 << (i))
#define ALL (BIT(WORKERS) - 1)
#define HAS(mask, i) (((mask) & BIT(i)) != 0)

/* Where routines return to. */
#define PARKING 1
#define BUSY 2
#define AFTER_SCHEDULE 3

/* The queues, oldest first, and how many are in each. The front is a stack; its top is the last. */
byte front[TASKS + 1];
byte posted;
byte rest[TASKS + 1];
byte rests;
byte ready[BLOCK];
byte readies;
bool xrest;
byte combiner;

byte parked;    /* a bit for each worker that may be notified */
byte waiting;   /* a bit for each worker that waits in the futex */
byte searchers; /* search tokens */

/* What the checks need. */
byte pushed;      /* how many were pushed */
byte next = 1;    /* the number to be taken next */
byte holder;      /* the combiner: its number + 1 */
byte outstanding; /* tasks that have not ended, with those that are still to be posted */
byte longs;

#define AS_COMBINER assert(holder == me + 1)

#define ADD(queue, count, what) queue[count] = what; count++
#define TAKE(queue, count, what) \
    what = queue[0]; \
    i = 0; \
    do \
    :: i + 1 < count -> queue[i] = queue[i + 1]; i++ \
    :: else -> break \
    od; \
    count--; \
    queue[count] = 0; \
    i = 0

/* Wakes any one of the sleepers, with a token. */
inline notify_any() {
    if
    :: HAS(parked, 0) -> target = 0
    :: HAS(parked, 1) -> target = 1
#if WORKERS > 2
    :: HAS(parked, 2) -> target = 2
#endif
    fi;
    parked = parked & ~BIT(target);
    waiting = waiting & ~BIT(target);
    target = 0;
    searchers++
}

inline wake_one() { /* th_wake_one */
    if
    :: parked && !searchers -> notify_any()
    :: else
    fi
}

/* ---- posting ---- */

proctype external() {
    byte target, n, i;

    do
    :: n < POSTS ->
       n++;
#if BUG == 14 /* reads the park word before it pushes */
       atomic { wake_one() };
#endif
       atomic { /* th_mpsc_push: one exchange pushes a chain */
           do
           :: i < CHAIN -> pushed++; front[posted] = pushed; posted++; i++
           :: else -> i = 0; break
           od
       };
#if BUG != 14
       atomic { wake_one() }
#endif
    :: else -> break
    od
}

/* ---- a worker ---- */

inline check_next() {
    assert(work == next);
    next++
}

/* refill */
inline drain() {
    do
#if BUG == 7 /* the order is not turned round */
    :: posted -> posted--; ADD(rest, rests, front[posted]); front[posted] = 0
#else
    :: i < posted -> ADD(rest, rests, front[i]); front[i] = 0; i++
    :: else -> posted = 0; i = 0; break
#endif
#if BUG == 7
    :: else -> break
#endif
    od
}

inline publish() {
    do
    :: rests && readies < BLOCK ->
       TAKE(rest, rests, piece);
       ADD(ready, readies, piece);
       more = true
    :: else -> piece = 0; break
    od
}

#if DUES == 1
/*
 * The end of pick, without a sentinel: whether the worker has taken something else than the one
 * task that it fired. With several such tasks the model leaves this out, as if there were a
 * sentinel.
 */
inline look_after_due() {
    if
    :: owes && BUG != 11 && (posted || xrest || readies) -> owes = false; wake_one() /* 11: no */
    :: else -> owes = false
    fi
}
#endif

proctype worker(byte me; bool asleep) {
    byte work, target, i, piece, left, coming, asked, back;
    bool searching, lost, more, got;
#if DUES
    bool owes;
#endif

    if
    :: asleep -> goto end_asleep
    :: else
    fi;
#if DUES
    if
    :: me == 0 -> goto fire
    :: else
    fi;
#endif

find:
    atomic {
        if
        :: readies -> TAKE(ready, readies, work); check_next(); goto found
        :: else
        fi
    };

    atomic { /* schedule in one step: it is a guess, and a worker that parks looks again */
        if
        :: posted || xrest
        :: else -> goto nothing
        fi
    };
#if BUG == 4 /* it drains before it is the combiner */
    atomic { drain() };
#endif
#if BUG == 3 /* no exchange: another worker may have become the combiner meanwhile */
    if
    :: combiner == FREE
    :: else -> combiner = HELD | SIGNAL; lost = true; goto nothing
    fi;
    atomic { combiner = HELD; assert(!holder); holder = me + 1 };
#else
    atomic { /* th_combiner_take */
        if
        :: combiner == FREE -> combiner = HELD; assert(!holder); holder = me + 1
        :: else -> combiner = HELD | SIGNAL; lost = true; goto nothing
        fi
    };
#endif
    atomic { AS_COMBINER; drain() };
    atomic {
        AS_COMBINER;
        if
#if BUG == 12 /* it takes out of the rest although something is ready */
        :: !work && rests -> TAKE(rest, rests, work); check_next()
#else
        :: !work && !readies && rests -> TAKE(rest, rests, work); check_next()
#endif
        :: else
        fi
    };
#if BUG == 6 /* it publishes after it has given its place up */
    atomic { more = !work || rests; xrest = rests > 0 };
#else
    atomic {
        AS_COMBINER;
        more = !work;
        publish();
        more = more || rests;
#if BUG == 8 /* it looks again only if it was signalled */
        more = false
#endif
    };
#if BUG != 15
    atomic { AS_COMBINER; xrest = rests > 0 };
#endif
#endif
    atomic {
        if
        :: !work && readies -> TAKE(ready, readies, work); check_next()
        :: else
        fi;
        back = AFTER_SCHEDULE
    };

#if BUG == 5 /* it looks before it gives its place up */
    goto wake_others;
#endif
give: /* th_combiner_give */
    atomic {
        AS_COMBINER;
#if BUG == 1 || BUG == 5 /* it does not look at the signal */
        got = more;
#else
        got = more || (combiner & SIGNAL);
#endif
        combiner = FREE;
        holder = 0;
        more = false;
#if BUG == 5
        got = false;
        goto given;
#endif
#if BUG != 6
        if
        :: got -> got = false
        :: else -> goto given
        fi
#endif
    };
#if BUG == 6
    atomic { AS_COMBINER; publish(); more = false };
    if
    :: got -> got = false
    :: else -> goto given
    fi;
#endif

wake_others:
    atomic {
        if
        :: parked -> coming = searchers - searching
        :: else -> goto others
        fi
    };
    atomic { left = readies };
    atomic {
        if
        :: posted -> left++; goto counted
        :: else
        fi
    };
    atomic {
        if
        :: xrest -> left++
        :: else
        fi
    };
counted: /* th_wake_many */
    do
    :: atomic { left > coming && parked -> notify_any(); left-- }
    :: else -> break
    od;
others:
#if BUG == 5
    atomic { left = 0; coming = 0; goto give };
#endif
given:
#if BUG == 15 /* it says only now that something is left */
    atomic { xrest = rests > 0 };
#endif
    atomic {
        left = 0;
        coming = 0;
        if
        :: work -> back = 0; goto found
        :: !work && back == AFTER_SCHEDULE -> back = 0; goto nothing
        fi
    };

nothing:
#if DUES == 1
    atomic { look_after_due() };
#endif
    atomic { /* search */
        if
        :: !searching && !searchers -> searching = true; searchers++
        :: else
        fi
    };
    if /* wait_for_turn */
    :: lost -> lost = false; goto find
    :: lost = false
    fi;

    /* th_park */
#if BUG == 13 /* it looks before it announces itself */
    asked = PARKING;
    goto pending;
announce:
#endif
    atomic {
        parked = parked | BIT(me);
        searchers = searchers - searching;
        searching = false;
        asked = PARKING
    };
#if BUG == 13
    asked = 0;
    if
    :: got -> got = false; goto go
    :: else -> goto sleep
    fi;
#endif

pending: /* `asked` says for which step */
    atomic {
        if
        :: readies -> got = true; goto answer
        :: else
        fi
    };
    atomic {
        if
        :: posted -> goto signal
        :: else
        fi
    };
    atomic {
        if
        :: xrest -> goto signal
        :: else -> goto answer
        fi
    };
signal: /* th_combiner_signal */
#if BUG == 16 /* no exchange: the combiner may have given up its place meanwhile */
    if
    :: combiner != FREE -> combiner = HELD | SIGNAL
    :: else -> got = true
    fi;
#else
    atomic {
        if
        :: combiner == FREE -> got = true
#if BUG == 2 /* it leaves the work to the combiner, and does not signal that */
        :: else
#else
        :: else -> combiner = HELD | SIGNAL
#endif
        fi
    };
#endif
answer:
    atomic {
        if
        :: asked == BUSY -> asked = 0; goto busy_answer
#if BUG == 13
        :: asked == PARKING -> goto announce
#endif
        :: asked == PARKING && got -> asked = 0; got = false; goto go
        :: asked == PARKING && !got -> asked = 0; goto sleep
        fi
    };

go: /* th_park_leave, th_park_unannounce, search_anyway */
    atomic {
        if
        :: HAS(parked, me) -> parked = parked & ~BIT(me); searchers++
        :: else /* it was notified, and has a token */
        fi;
        searching = true;
        goto find
    };

sleep: /* sleep_until_woken */
    atomic {
        if
        :: HAS(parked, me) -> waiting = waiting | BIT(me)
        :: else -> searching = true; goto find
        fi
    };
end_asleep:
    atomic { !HAS(waiting, me) -> searching = true; goto find };

found:
#if DUES == 1
    atomic { look_after_due() };
#endif
    atomic { /* th_went_busy */
        lost = false;
        if
        :: !searching -> goto run_task
        :: else -> searching = false; searchers--
        fi;
        if
#if BUG == 9 /* the last searcher does not look again */
        :: true -> goto run_task
#else
        :: searchers || !parked -> goto run_task
        :: else -> asked = BUSY; goto pending
#endif
        fi
    };
busy_answer:
    atomic {
        if
        :: got -> got = false; wake_one()
        :: else
        fi
    };
run_task:
#if LONGS
    if
    :: atomic { longs < LONGS -> longs++; work = 0 };
       atomic { outstanding == longs -> longs--; outstanding--; goto find }
    :: atomic { outstanding--; work = 0; goto find }
    fi;
#else
    atomic { outstanding--; work = 0; goto find };
#endif

#if DUES
fire: /* th_timers_fire: submit_due, notify_due */
    atomic {
        do
        :: i < DUES -> i++; pushed++; front[posted] = pushed; posted++
        :: else -> i = 0; break
        od
    };
#if DUES == 1
    owes = true;
#else
    do
    :: atomic { left < DUES - 1 && parked -> notify_any(); left++ }
    :: atomic { left = 0; break } /* without a fence, so it may read an older word */
    od;
#endif
#if PINNED
#if DUES == 1
    atomic { look_after_due() };
#endif
    atomic { longs++ };
    atomic { outstanding == longs -> longs--; outstanding-- };
#endif
    goto find;
#endif
}

init {
    byte i;

    atomic {
        outstanding = TASKS + PINNED;
        do
        :: i < WORKERS && ASLEEP && !(DUES && i == 0) ->
           parked = parked | BIT(i);
           waiting = waiting | BIT(i);
           run worker(i, true);
           i++
        :: i < WORKERS && !(ASLEEP && !(DUES && i == 0)) -> run worker(i, false); i++
        :: i == WORKERS -> i = 0; break
        od;
        do
        :: i < POSTERS -> run external(); i++
        :: else -> i = 0; break
        od
    };

    timeout;
    atomic {
        /*
         * No worker sleeps over work: beside long tasks, all that remains is in workers' hands.
         */
        assert(!waiting || (posted == 0 && !rests && !readies));
        /*
         * Each task was taken once and none is left; all sleep, and none is the combiner or has a token.
         */
        assert(outstanding == 0 && next == TASKS + 1);
        assert(waiting == ALL && combiner == FREE && searchers == 0 && !xrest)
    }
}
