/*
 * wait.pml: one list, and waits on it that wakers, deadlines and cancels end: src/core/wait/wait.c,
 * cancel.c, src/core/ready/waiter.c, timer.c, src/sync/sem.c. models/README.md ties each part to
 * its C function and says what is left out.
 *
 * The list is a semaphore's. What its lock, the timers' or the cancel lock protects is changed in
 * one step with the unlock that follows or the lock that came before; each access to a waiter's
 * word and to a fiber's xblocked and flag is a step of its own. Memory is sequentially consistent.
 */
#define PLAIN 0  /* only a wake or a cancel ends it; the list is unlocked before it suspends */
#define TIMED 1  /* a deadline may end it as well */
#define UNLOCK 2 /* as PLAIN, but the list stays locked until the fiber is parked */

#ifndef KIND0 /* kinds of the two waits */
#define KIND0 PLAIN
#endif
#ifndef KIND1
#define KIND1 PLAIN
#endif
#ifndef POSTS
#define POSTS 1
#endif
#ifndef WAKERS
#define WAKERS 1
#endif
#ifndef CANCELS /* how many of the waits are cancelled */
#define CANCELS 2
#endif
#ifndef BUG
#define BUG 0
#endif

#define FIBERS 2

/* Outcomes. */
#define NONE 0
#define WOKEN 1
#define TIMEDOUT 2
#define CANCELLED 3

typedef waiter {
    byte outcome; /* the word: its outcome, and the next two */
    bool parked;
    bool released;
    bool listed;
    bool gone; /* the frame in which it lay is gone */
};

typedef fiber_state {
    byte kind;
    bool xblocked;
    bool flag;
    bool saved; /* its registers are saved */
    byte queued;
    bool in_timers;
    byte result;
};

waiter w[FIBERS];
fiber_state f[FIBERS];

bool list_lock;
byte list[FIBERS];
byte listed_count;
byte units;

bool timers_lock;
bool cancel_lock;
byte ended;
byte posted;

inline lock(l) {
    atomic {
        !l;
        l = true
    }
}

inline touch(i) {
    assert(!w[i].gone)
}

inline queue(i) {
    d_step {
        assert(f[i].saved && f[i].queued == 0);
        f[i].queued++
    }
}

/* Under the list's lock. */
inline take_off(i) {
    d_step {
        if
        :: listed_count == 2 && list[0] == i -> list[0] = list[1]
        :: else
        fi;
        listed_count--;
        w[i].listed = false
    }
}

inline claim(i, what, won) {
    d_step {
        touch(i);
        won = w[i].outcome == NONE;
        if
        :: won -> w[i].outcome = what
        :: else
        fi
    }
}

/* Sets the rest of the word; `old` says whether it was parked. */
inline release(i, old) {
    d_step {
        touch(i);
        old = w[i].parked;
        w[i].released = true
    }
}

/* Exchanges the whole word. */
inline swap(i, what, old) {
    d_step {
        touch(i);
        old = w[i].parked;
        assert(!w[i].released || BUG);
        w[i].outcome = what;
        w[i].parked = false;
        w[i].released = true
    }
}

inline unpark(i, old) {
    if
    :: old || BUG == 2 -> queue(i)
    :: else
    fi
}

/* end_wait of cancel.c. */
inline end_wait(i, won, old) {
    if
    :: f[i].kind == TIMED ->
        claim(i, CANCELLED, won);
        if
        :: won ->
            release(i, old);
            unpark(i, old)
        :: else
        fi
    :: else ->
        d_step {
            touch(i);
            won = false
        }
        lock(list_lock);
        d_step {
            touch(i);
            if
            :: w[i].listed ->
                won = true;
                if
                :: BUG != 9 -> take_off(i)
                :: else
                fi
            :: else
            fi;
            list_lock = false
        }
        if
        :: won ->
            swap(i, CANCELLED, old);
            unpark(i, old)
        :: else
        fi
    fi
}

/* th_cancel_end. */
inline cancel_end(i) {
    f[i].xblocked = false;
    if
    :: f[i].flag && BUG != 5 ->
        lock(cancel_lock);
        cancel_lock = false
    :: else
    fi
}

proctype fiber(byte i) {
    bool won;
    bool old;
    bool seen;

    lock(list_lock);
    if
    :: d_step {
           units > 0 ->
           units--;
           f[i].result = WOKEN;
           list_lock = false
       }
       goto done
    :: d_step {
           units == 0 ->
           list[listed_count] = i;
           listed_count++;
           w[i].listed = true
       }
    fi;

    if
    :: f[i].kind == UNLOCK ->
        f[i].xblocked = true;
        if
        :: f[i].flag -> list_lock = false
        :: else ->
            f[i].saved = true;
#if BUG == 10
            list_lock = false;
            d_step {
                w[i].outcome = NONE;
                w[i].released = false;
                w[i].parked = true
            }
#else
            w[i].parked = true;
            list_lock = false;
#endif
            goto suspended
        fi
    :: else -> list_lock = false
    fi;

    if
    :: f[i].kind == TIMED ->
        lock(timers_lock);
        d_step {
            f[i].in_timers = true;
            timers_lock = false
        }
    :: else ->
        if
        :: w[i].released -> goto released
        :: else
        fi
    fi;

    /* th_cancel_begin */
#if BUG == 7
    seen = f[i].flag;
    f[i].xblocked = true;
#else
    f[i].xblocked = true;
    seen = f[i].flag;
#endif
    if
    :: seen ->
        end_wait(i, won, old);
        if
        :: won -> goto back
        :: else
        fi
    :: else
    fi;

    /* th_suspend, and the commit on another stack */
    f[i].saved = true;
    if
    :: d_step {
           w[i].released && BUG != 1 -> skip
       }
       queue(i)
    :: d_step {
           !w[i].released || BUG == 1 ->
           w[i].parked = true
       }
    fi;
suspended:
    skip;
    atomic {
        f[i].queued > 0 ->
        f[i].queued--;
        f[i].saved = false
    }
back:
    cancel_end(i);
released:
    assert(w[i].released && w[i].outcome != NONE);
    if
    :: f[i].kind == UNLOCK && f[i].xblocked -> cancel_end(i)
    :: else
    fi;
    if
    :: f[i].kind == TIMED && w[i].outcome != TIMEDOUT && BUG != 3 ->
        lock(timers_lock);
        d_step {
            f[i].in_timers = false;
            timers_lock = false
        }
    :: else
    fi;
    if
    :: f[i].kind == TIMED && w[i].outcome != WOKEN && BUG != 4 ->
        lock(list_lock);
        d_step {
            if
            :: w[i].listed -> take_off(i)
            :: else
            fi;
            list_lock = false
        }
    :: else
    fi;
    f[i].result = w[i].outcome;
done:
    skip;
    d_step {
        assert(f[i].queued == 0);
        w[i].gone = true;
        ended++
    }
}

/* thrum_sem_post: gives a unit to the first that still waits, or to none. */
proctype waker() {
    byte i;
    bool won;
    bool old;

again:
    if
    :: d_step {
           posted < POSTS ->
           posted++
       }
    :: d_step {
           posted == POSTS -> skip
       }
       goto over
    fi;
    lock(list_lock);
next:
    if
    :: d_step {
           listed_count == 0 ->
           units++;
           list_lock = false
       }
    :: d_step {
           listed_count > 0 ->
           i = list[0];
           touch(i);
           take_off(i)
       }
       if
       :: f[i].kind == TIMED && BUG != 8 ->
           claim(i, WOKEN, won);
           if
           :: won || BUG == 6 -> list_lock = false
           :: else -> goto next
           fi;
           if
           :: won ->
               release(i, old);
               unpark(i, old)
           :: else
           fi
       :: else ->
           list_lock = false;
           d_step {
               touch(i);
               won = w[i].parked && !w[i].released && w[i].outcome == NONE
           }
           if
           :: won -> /* no other thread writes the word, so no exchange is needed */
               d_step {
                   touch(i);
                   w[i].outcome = WOKEN;
                   w[i].parked = false;
                   w[i].released = true
               }
               queue(i)
           :: else ->
               swap(i, WOKEN, old);
               unpark(i, old)
           fi
       fi
    fi;
    goto again;
over:
    skip
}

/* th_timers_fire: any deadline may have passed. */
proctype timers() {
    byte i;
    bool won;
    bool old;

    do
    :: ended == FIBERS && !(f[0].in_timers || f[1].in_timers) -> break
    :: d_step {
           !timers_lock && (f[0].in_timers || f[1].in_timers) ->
           timers_lock = true;
           i = (f[0].in_timers -> 0 : 1)
       }
       if
       :: true
       :: i == 0 && f[1].in_timers -> i = 1
       fi;
       f[i].in_timers = false;
       claim(i, TIMEDOUT, won);
       old = false;
       if
       :: won -> release(i, old)
       :: else
       fi;
       timers_lock = false;
       if
       :: won -> unpark(i, old)
       :: else
       fi
    od
}

/* thrum_cancel. */
proctype canceller(byte i) {
    bool won;
    bool old;

    lock(cancel_lock);
    f[i].flag = true;
    if
    :: f[i].xblocked -> end_wait(i, won, old)
    :: else
    fi;
    cancel_lock = false
}

init {
    atomic {
        f[0].kind = KIND0;
        f[1].kind = KIND1;
        run fiber(0);
        run fiber(1);
        run waker();
#if WAKERS > 1
        run waker();
#endif
#if KIND0 == TIMED || KIND1 == TIMED
        run timers();
#endif
#if CANCELS > 0
        run canceller(0);
#endif
#if CANCELS > 1
        run canceller(1);
#endif
    }
    atomic {
        ended == FIBERS && posted == POSTS && _nr_pr == 1 ->
        assert(units + (f[0].result == WOKEN) + (f[1].result == WOKEN) == POSTS);
        assert(listed_count == 0)
    }
}
