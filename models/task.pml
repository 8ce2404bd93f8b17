/*
 * task.pml: one intrusive task, and the threads that post, wake, signal, cancel and run it, with
 * its deadline: src/core/task/task.c, task_wake.c, task_serial.c, task.h, run.c,
 * src/core/ready/task_due.c, src/core/due/timer.c. models/README.md ties each part to its C
 * function and says what is left out.
 *
 * Each access to the task's word and to its mark is a step of its own. What the timers' lock
 * protects is changed in one step with the lock or the unlock beside it. Memory is sequentially
 * consistent. The variables below "ghosts" are no part of the protocol: they record what the calls
 * so far have promised, and the assertions compare the protocol with them.
 */

/* How the task is posted: to run at once, until woken, or until a deadline. */
#define NOW 0
#define WAIT 1
#define UNTIL 2
#define ANY 3  /* FIRST: one of these; POSTED_AS: NOW or UNTIL */
#define NONE 4 /* the body does not post it */

#ifndef FIRST /* the first post */
#define FIRST WAIT
#endif
#ifndef WAKERS /* callers: each does its call once */
#define WAKERS 0
#endif
#ifndef SIGNALS
#define SIGNALS 0
#endif
#ifndef CANCELS
#define CANCELS 0
#endif
#ifndef STOP /* a stop cancels what waits without a deadline */
#define STOP 0
#endif
#ifndef POSTS /* further posts by another thread; for a plain task, when the body lets go of it */
#define POSTS 0
#endif
#ifndef POSTED_AS
#define POSTED_AS NOW
#endif
#ifndef SELF_NOW /* how often the body may post its task to run at once */
#define SELF_NOW 0
#endif
#ifndef SELF_UNTIL /* and until a deadline */
#define SELF_UNTIL 0
#endif
#ifndef LEAVES /* how often the body may leave a signal where it is */
#define LEAVES 0
#endif
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef WHEELS /* timers, one of which a waiting post takes */
#define WHEELS 1
#endif
#ifndef SERIAL
#define SERIAL 0
#endif
#ifndef BUG
#define BUG 0
#endif

#define CALLS (WAKERS + SIGNALS)
#define DEADLINES (FIRST >= UNTIL || SELF_UNTIL > 0 || (POSTS > 0 && POSTED_AS >= UNTIL))

/* The word. */
#define WAITING 1
#define WOKEN 2
#define SIGNALED 4
#define EXPIRED 8
#define CANCELLED 16
#define DORMANT 32
#define TAKEN 64
#define RUNNING 128
#define NEXT 256
#define PASSED 512 /* in `must` alone: the deadline had passed when the run began */
#define DUE (WOKEN | SIGNALED | EXPIRED | CANCELLED)

/* The mark. */
#define POSTED 1
#define POSTED_LATE 2
#define POSTED_EARLY 3
#define BEGUN 4
#define IN 8
#define IS_POSTED(m) (((m) & 7) >= POSTED && ((m) & 7) <= POSTED_EARLY)

short word;
byte mark;
byte timers; /* those in which it is or was */
byte request; /* of a serial task: reserved[2] and [3] */
bool in_wheel[2];
bool lock[2];
byte queued;
bool passed; /* whether the deadline of the present post has passed */

/* ---- ghosts ---- */

byte kind;      /* of the present post */
bool by_self;   /* the body of a plain task made it, and has not returned */
bool late;      /* its deadline had passed when the deciding step made it due */
byte pending;   /* posts that have no run yet */
byte bodies;    /* bodies that run */
bool owed;      /* a wakeup that no run has absorbed, and that no signal replaces */
bool signal;    /* a signal that is not received */
bool cancelled; /* a cancel that no run has had */
bool gone;      /* the body, or the owner after a serial run, has freed the task */
byte open;      /* calls whose last access to the task is to come */
byte told;      /* wakers and signallers that have written their data */
bool received;  /* the body has received a signal */
bool started;   /* the first post is accepted */
bool lets_go;   /* another thread may post the task while its body runs */
byte posts_left = POSTS;
byte self_now = SELF_NOW;
byte self_until = SELF_UNTIL;
byte leaves = LEAVES;

#define OVER \
    (started && pending == 0 && bodies == 0 && open == 0 && posts_left == 0 && told == CALLS)

inline touch() {
    assert(!gone)
}

/* th_submit: the queue takes the task. */
inline submit() {
    touch();
    assert(queued == 0);
    /* It is not early: this holds until the run begins, which is the next to change any of it. */
    assert(kind == NOW || passed || owed || signal || cancelled);
    queued++
}

/* A post is accepted. */
inline accept(how, self) {
    assert(pending == 0);
    pending++;
    kind = how;
    by_self = self && !SERIAL;
    passed = false;
    late = false;
    started = true
}

/* ---- the timers ---- */

/* mark_in, with the lock of the timers. */
inline mark_in(is_in) {
    d_step {
        touch();
        m = mark
    }
    d_step {
        touch();
        mark = (is_in -> m | IN : m & (~IN))
    }
}

/* th_timed_remove, for the thread that has made the task due. */
inline timed_remove() {
    d_step {
        touch();
        t = timers
    }
#if BUG == 8
    d_step {
        touch();
        m = mark
    }
    if
    :: !(m & IN) -> goto removed
    :: else
    fi;
#endif
    atomic {
        !lock[t];
        lock[t] = true;
        touch();
        m = mark
    }
    if
    :: m & IN ->
        in_wheel[t] = false;
        mark_in(false)
    :: else
    fi;
    lock[t] = false;
#if BUG == 8
removed:
    skip
#endif
}

#if BUG == 5
#define IS_DUE(w) false
#else
#define IS_DUE(w) (((w) & DUE) != 0)
#endif

#if DEADLINES
/* th_timers_fire and th_task_expire. */
proctype fires(byte t) {
    short w;
    byte m;
    bool done;

    do
    :: OVER -> break
    :: atomic {
           in_wheel[t] && kind == UNTIL && passed && !lock[t] ->
           lock[t] = true;
           in_wheel[t] = false
       }
       mark_in(false);
       d_step {
           touch();
           w = word
       }
       done = false;
       do
       :: done || IS_DUE(w) -> break
       :: else ->
           d_step {
               touch();
               if
               :: word == w ->
                   word = w | EXPIRED;
                   late = true;
                   done = true
               :: else -> w = word
               fi
           }
       od;
       lock[t] = false;
       if
       :: done ->
           d_step {
               submit()
           }
       :: else
       fi;
       d_step {
           w = 0;
           m = 0;
           done = false
       }
    od
}

proctype clock() {
    do
    :: OVER -> break
    :: atomic {
           kind == UNTIL && !passed && pending > 0 ->
           passed = true
       }
    od
}
#endif

/* ---- making it due ---- */

/* make_due with stop_waiting: the last access is that of the queue. */
inline make_due() {
#if BUG != 21
    timed_remove();
#endif
    if
#if BUG != 13
    :: !(w & DORMANT) && passed ->
        d_step {
            touch();
            word = word | EXPIRED
        }
#endif
    :: else
    fi;
    d_step {
        submit();
        open--
    }
#if BUG == 21
    timed_remove()
#endif
}

/* The ghosts' side of a wakeup, a signal or a cancel. */
inline comes() {
    if
    :: flag == WOKEN && !signal -> owed = true
    :: flag == SIGNALED ->
        signal = true;
        owed = false
    :: flag == CANCELLED -> cancelled = true
    :: else
    fi
}

/* The step of rouse: the word after `flag` is added. */
inline add_bit() {
    if
#if BUG != 14
    :: flag == WOKEN && (w & SIGNALED)
#endif
    :: flag == SIGNALED && !(w & WAITING) -> word = (w & (~WOKEN)) | SIGNALED
    :: else -> word = w | flag
    fi
}

/* rouse: the caller's last access, unless it makes the task due. */
inline rouse() {
    d_step {
        touch();
        w = word
    }
    done = false;
    do
#if SERIAL
    :: !done && flag == CANCELLED && !(w & TAKEN) ->
#if BUG == 27
        d_step {
            touch();
            word = word | flag
        }
#endif
        open--;
        break
    :: !done && (flag != CANCELLED || (w & TAKEN)) ->
#else
    :: !done ->
#endif
        d_step {
            touch();
            if
            :: word == w || BUG == 19 ->
                comes();
                add_bit();
                done = true;
                first = (w & WAITING) && !(w & DUE);
#if BUG == 4
                first = (w & WAITING) && !(w & flag);
#endif
                if
                :: first && passed && kind == UNTIL -> late = true
                :: !first && BUG != 9 -> open--
                :: else
                fi
            :: else -> w = word
            fi
        }
    :: done -> break
    od;
#if BUG == 9
    if
    :: first
    :: else ->
        d_step {
            open--
        }
        d_step {
            touch();
            w = word
        }
    fi;
#endif
    if
    :: first -> make_due()
    :: else
    fi
}

/* A waker, a signaller, or a canceller, which may come before the first post beside callers. */
proctype caller(byte flag) {
    short w;
    byte m;
    byte t;
    bool done;
    bool first;

    if
    :: flag != CANCELLED -> told++ /* the data that it announces */
#if CANCELS > 0
    :: flag == CANCELLED && (started || CALLS > 0)
#endif
    fi;
#if CANCELS > 0 && !SERIAL
    if
    :: flag == CANCELLED ->
        d_step {
            touch();
            m = mark
        }
        if
        :: !IS_POSTED(m) ->
            open--;
            goto refused
        :: else
        fi
    :: else
    fi;
#endif
#if BUG == 18
    if
    :: flag == CANCELLED ->
        d_step {
            touch();
            w = word
        }
        d_step {
            touch();
            word = word | CANCELLED;
            cancelled = true;
            first = (w & WAITING) && !(w & DUE);
            if
            :: first && passed && kind == UNTIL -> late = true
            :: !first -> open--
            :: else
            fi
        }
        if
        :: first -> make_due()
        :: else
        fi;
        goto refused
    :: else
    fi;
#endif
    rouse();
refused:
    skip
}

/* th_timers_cancel of a stop: take_one with cancel_timed, of what waits without a deadline. */
#if STOP
proctype stop(byte t) {
    short w;
    byte m;

    do
    :: OVER -> break
    :: atomic {
           in_wheel[t] && kind == WAIT && !lock[t] ->
           lock[t] = true;
           in_wheel[t] = false
       }
       mark_in(false);
       d_step {
           touch();
           w = word;
           word = word | CANCELLED;
           cancelled = true;
           lock[t] = false
       }
       if
       :: (w & WAITING) && (!(w & DUE) || BUG == 20) ->
           atomic {
               !lock[t];
               touch();
               assert(!(mark & IN)) /* th_timed_remove finds it taken out */
           }
           d_step {
               submit()
           }
       :: else
       fi;
       d_step {
           w = 0;
           m = 0
       }
    od
}
#endif

/* ---- posts ---- */

/* th_task_begin_waiting; `done`: it is due at once, and is queued by the caller. */
inline begin_waiting(how, last) {
    done = false;
    if
    :: t = 0
#if WHEELS > 1
    :: t = 1
#endif
    fi;
#if BUG != 6
    atomic {
        !lock[t];
        lock[t] = true;
        touch();
        in_wheel[t] = true;
        timers = t
    }
    mark_in(true);
#if BUG == 7
    lock[t] = false;
#endif
#endif
    d_step {
        touch();
        w = word
    }
    m = 0; /* 1: it waits */
    do
    :: m == 1 || done -> break
#if BUG == 10
    :: m == 0 && !done && (w & (WOKEN | CANCELLED)) ->
#else
    :: m == 0 && !done && (w & (WOKEN | SIGNALED | CANCELLED)) ->
#endif
        done = true
    :: else ->
        d_step {
            touch();
            if
            :: word == w || BUG == 3 ->
                assert(!owed && !signal && !cancelled);
                word = WAITING | (how == WAIT -> DORMANT : 0) | (w & TAKEN);
#if BUG == 22
                word = word & (~TAKEN);
#endif
                m = 1;
                open = open - last
            :: else -> w = word
            fi
        }
    od;
#if BUG == 6
    atomic {
        !lock[t];
        lock[t] = true;
        touch();
        in_wheel[t] = true;
        timers = t
    }
    mark_in(true);
    m = !done;
#endif
    if
    :: done ->
#if BUG == 7
        atomic {
            !lock[t];
            lock[t] = true
        }
#endif
#if BUG != 15
        in_wheel[t] = false;
        mark_in(false);
#endif
        lock[t] = false;
        m = passed && how == UNTIL;
        d_step {
            touch();
            late = m;
#if BUG == 16
            mark = POSTED
#else
            mark = (m -> POSTED_LATE : POSTED_EARLY)
#endif
        }
    :: else ->
#if BUG != 7
        lock[t] = false
#endif
    fi
}

/* What follows an accepted post: queue of task.c. */
inline enqueue(how, last) {
    if
    :: how == NOW -> done = true
    :: else -> begin_waiting(how, last)
    fi;
    if
    :: done ->
        d_step {
            submit();
            open = open - last
        }
    :: else
    fi
}

/* mark_posted. */
inline mark_posted(how, self) {
    d_step {
        touch();
        m = mark;
        assert(!IS_POSTED(m))
    }
    d_step {
        touch();
        w = word;
        cancelled = false
    }
#if BUG != 12
    if
    :: w & CANCELLED ->
        d_step {
            touch();
            word = word & (~CANCELLED);
            cancelled = false
        }
    :: else
    fi;
#endif
    d_step {
        touch();
        assert(!(mark & IN));
        mark = POSTED;
        accept(how, self)
    }
}

/* th_task_serial_enter; `done`: the post has the task. */
inline enter(how, self) {
    d_step {
        touch();
        w = word
    }
    done = false;
    do
    :: !done && (w & TAKEN) -> break
    :: done -> break
    :: else ->
        d_step {
            touch();
            if
            :: word == w || BUG == 23 ->
                word = word | TAKEN;
                accept(how, self);
                done = true
            :: else -> w = word
            fi
        }
    od
}

/* th_task_serial_defer; `done`: the present run queues the task. */
inline defer(how, last) {
    done = false;
    do
    :: done -> break
    :: else ->
        d_step {
            touch();
            w = word
        }
        if
        :: !(w & RUNNING) -> break
        :: else
        fi;
#if BUG != 26
        d_step {
            touch();
            request = how
        }
#endif
        d_step {
            touch();
            if
            :: word == w || BUG == 24 ->
                word = word | NEXT;
                done = true;
                open = open - last
            :: else
            fi
        }
#if BUG == 26
        if
        :: done ->
            d_step {
                request = how
            }
        :: else
        fi
#endif
    od
}

/* A serial post that has the task: is_deferred, then queue. */
inline post_entered(how, last) {
    defer(how, last);
    if
    :: done
    :: else ->
        d_step {
            touch();
            assert(!(mark & IN));
            mark = POSTED
        }
        enqueue(how, last)
    fi
}

/* Another thread: the first post, and `later` ones. */
proctype poster(bool later) {
    short w;
    byte m;
    byte t;
    byte how;
    bool done;

again:
    if
#if POSTS > 0 && SERIAL
    :: later && started -> how = POSTED_AS
#elif POSTS > 0
    :: atomic {
           later && lets_go ->
           lets_go = false;
           how = POSTED_AS
       }
#endif
    :: !later -> how = FIRST
    fi;
#if FIRST == ANY
    if
    :: how == ANY -> how = NOW
    :: how == ANY && !later -> how = WAIT
    :: how == ANY -> how = UNTIL
    :: how != ANY
    fi;
#endif
#if SERIAL
    enter(how, false);
    posts_left = posts_left - later;
    if
    :: done -> post_entered(how, 1)
#if POSTS > 0
    :: else -> open-- /* -EBUSY */
#endif
    fi
#else
    mark_posted(how, false);
#if POSTS > 0
    d_step {
        posts_left = posts_left - later;
        later = true;
        open = open + (posts_left > 0)
    }
#endif
    enqueue(how, 1);
#if POSTS > 0
    if
    :: posts_left > 0 -> goto again
    :: else
    fi
#endif
#endif
}

/* ---- a run ---- */

/* The step with which a run begins, as the ghosts see it. */
inline begins() {
    assert(pending == 1 && !in_wheel[0] && !in_wheel[1]);
    assert(!by_self && (bodies == 0 || !SERIAL));
    pending--;
    bodies++;
    /* What the cause of the run must be, in the bits of the word. */
    must = (signal -> SIGNALED : 0) | (cancelled -> CANCELLED : 0) | (owed -> WOKEN : 0) |
        (kind == NOW -> 0 : WAITING) | (late || kind == NOW -> EXPIRED : 0) |
        (passed || kind == NOW -> PASSED : 0);
    owed = false;
    cancelled = false
}

/* came: the cause of the run, from the word as it began and from the mark. */
inline came() {
    cause = w & (CANCELLED | SIGNALED);
    if
    :: w & WAITING -> cause = cause | WAITING | (w & EXPIRED)
    :: else ->
        d_step {
            touch();
            m = mark
        }
        d_step {
            assert(!(m & IN));
            if
            :: m == POSTED_LATE -> cause = cause | WAITING | EXPIRED
            :: m == POSTED_EARLY -> cause = cause | WAITING
            :: else -> cause = cause | EXPIRED
            fi
        }
    fi
}

/* The cause is what the documents promise. */
inline check_cause() {
    assert((cause & (SIGNALED | CANCELLED | WAITING)) == (must & (SIGNALED | CANCELLED | WAITING)));
    assert(!(must & EXPIRED) || (cause & EXPIRED));
    assert(!(cause & EXPIRED) || (must & PASSED));
    /* It is no run for nothing. */
    assert(cause & (SIGNALED | CANCELLED | EXPIRED) || (must & WOKEN))
}

/* th_task_take, with th_task_begin_roused. */
inline take() {
    d_step {
        touch();
        w = word;
        cause = EXPIRED;
        if
        :: w == 0 -> begins()
        :: else
        fi
    }
    if
    :: w != 0 ->
#if BUG == 2
        d_step {
            touch();
            begins();
            word = w & SIGNALED
        }
#else
        d_step {
            touch();
            begins();
            w = word;
#if BUG == 11
            word = 0
#else
            word = word & SIGNALED
#endif
        }
#endif
        came()
    :: else
    fi;
    d_step {
        touch();
        mark = BEGUN;
        check_cause()
    }
}

/* th_task_take_serial. */
inline take_serial() {
    d_step {
        touch();
        w = word
    }
    done = false;
    do
    :: done -> break
    :: else ->
        d_step {
            touch();
            if
            :: word == w ->
                begins();
                word = (w & SIGNALED) | RUNNING;
                done = true
            :: else -> w = word
            fi
        }
    od;
    came();
    d_step {
        touch();
        mark = BEGUN;
        check_cause()
    }
}

/* th_task_serial_end; `done`: the caller queues the next run. */
inline serial_end() {
    d_step {
        touch();
        w = word
    }
    done = false;
    do
    :: done -> break
    :: else ->
        d_step {
            touch();
            if
#if BUG == 25
            :: true ->
                word = word & (~(RUNNING | NEXT));
#else
            :: word == w ->
                word = w & (~(RUNNING | NEXT));
#endif
                bodies--;
                done = true
            :: else -> w = word
            fi
        }
    od;
    done = (w & NEXT) != 0
}

/* thrum_task_receive_signal. */
inline receive() {
    d_step {
        touch();
        w = word;
        assert((w & SIGNALED) != 0 == signal)
    }
    if
    :: w & SIGNALED ->
#if BUG == 1
        d_step {
            word = w & (~SIGNALED);
            signal = false;
            received = true
        }
#else
        d_step {
            touch();
            w = word;
            assert((w & SIGNALED) && signal);
            word = word & (~SIGNALED);
            signal = false;
            received = true
        }
#endif
    :: else
    fi
}

/*
 * The body: receives the signal, looks at the data of all callers, and ends when it has seen them
 * or is cancelled; otherwise it posts its task again.
 */
inline body() {
    if
    :: receive()
    :: atomic {
           leaves > 0 && signal ->
           leaves--;
           left = true
       }
    fi;
    atomic {
        if
        :: (cause & CANCELLED) || (told == CALLS && (SIGNALS == 0 || received)) -> how = NONE
        :: !(cause & CANCELLED) && !(told == CALLS && (SIGNALS == 0 || received)) -> how = WAIT
        :: self_now > 0 ->
            self_now--;
            how = NOW
        :: self_until > 0 ->
            self_until--;
            how = UNTIL
        fi;
        cause = 0;
        must = 0
    }
}

/* The body has posted its task, and may receive the signal that it left. */
inline receive_late() {
    if
    :: left && how != WAIT -> receive()
    :: true
    fi;
    left = false
}

/* A plain body returns. `how`: its post. */
inline ends() {
    d_step {
        bodies--;
        by_self = by_self && how == NONE
    }
}

proctype worker() {
    short w;
    short cause;
    short must;
    byte m;
    byte t;
    byte how;
    bool done;
    bool left;

    do
    :: OVER -> break
    :: atomic {
           queued > 0 ->
           queued--
       }
#if SERIAL
       take_serial();
       body();
       if
       :: how != NONE ->
           enter(how, true);
           if
           :: done -> defer(how, 0)
           :: else /* -EBUSY: another thread has posted it */
           fi;
           receive_late()
       :: else
       fi;
       serial_end();
       if
       :: done ->
           d_step {
               touch();
               mark = POSTED;
               how = request
           }
           enqueue(how, 0)
       :: atomic {
              !done && bodies == 0 && pending == 0 && open == 0 ->
              gone = true /* its owner knows that the run is over */
          }
       :: !done
       fi;
#else
       take();
       body();
       if
       :: how != NONE ->
           mark_posted(how, true);
           receive_late();
#if BUG == 17
           enqueue(how, 0);
           ends()
#else
           ends();
           enqueue(how, 0)
#endif
       :: else ->
           if
           :: atomic {
                  open == 0 ->
                  gone = true /* the body frees its task */
              }
           :: lets_go = posts_left > 0
           fi;
           ends()
       fi;
#endif
       d_step {
           w = 0;
           m = 0;
           t = 0;
           how = 0;
           cause = 0;
           must = 0;
           done = false;
           left = false
       }
    od
}

init {
    byte i;
    atomic {
        open = 1 + CALLS + CANCELS;
        run poster(false);
#if SERIAL
        i = 0;
        do
        :: i < POSTS ->
            open++;
            run poster(true);
            i++
        :: else -> break
        od;
#endif
        i = 0;
        do
        :: i < CALLS + CANCELS ->
            run caller((i < WAKERS -> WOKEN : (i < CALLS -> SIGNALED : CANCELLED)));
            i++
        :: else -> break
        od;
#if STOP
        run stop(0);
#endif
#if DEADLINES
        run clock();
        run fires(0);
#if WHEELS > 1
        run fires(1);
#endif
#endif
        i = 0;
        do
        :: i < WORKERS ->
            run worker();
            i++
        :: else -> break
        od;
        i = 0
    }
    /* All calls have returned, and the last run is over; otherwise the end is invalid. */
    atomic {
        OVER && _nr_pr == 1 ->
        assert(queued == 0 && !lock[0] && !lock[1] && !in_wheel[0] && !in_wheel[1]);
        assert(!(word & (WAITING | EXPIRED | TAKEN | RUNNING | NEXT)));
        assert((word & SIGNALED) != 0 == signal)
    }
}
