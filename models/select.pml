/*
 * select.pml: channels with close, and select: src/sync/chan.h, chan.c, select.c. models/README.md
 * ties each part to its C function and says what is left out.
 *
 * An actor does one select of up to two cases; a plain send or receive is a select of one. What a
 * channel's lock protects is changed in one step with the unlock that follows or the lock that came
 * before; taking a lock, claiming a word, copying and releasing are steps of their own. Memory is
 * sequentially consistent.
 */
#ifndef SCENE
#define SCENE 1
#endif
#ifndef CAP0 /* capacities of the two channels */
#define CAP0 0
#endif
#ifndef CAP1
#define CAP1 0
#endif
#ifndef BUG
#define BUG 0
#endif

#define CHANS 2
#define ACTORS_MAX 4
#define SLOTS 6 /* the most parked operations on one list */

#define SEND 0
#define RECV 1
#define NOBODY 255

/* An actor's word, and how a call ended. */
#define OPEN 0
#define WOKEN 1
#define TIMEDOUT 2
#define DONE 3
#define PIPE 4
#define LATE 5

typedef list {
    byte who[SLOTS]; /* actor * 2 + case */
    byte n;
};

typedef channel {
    bool locked;
    bool closed;
    byte count;
    byte elems[2]; /* an element is its sender's number + 1 */
};

channel chan_[CHANS];
list lists[CHANS * 2]; /* index: channel * 2 + side */

typedef actor {
    byte word;
    bool released;
    byte value;     /* the case that happened; written before `released` */
    byte status;    /* how it ended; written before `released` */
    byte in;        /* what was received; 0: nothing */
    byte result;    /* 0 until it has returned */
    byte cases;
    byte where[2];
    byte side[2];
    bool timed;
    bool alive;     /* its frame is there */
};

actor actors[ACTORS_MAX];
byte left_;  /* actors and closers that have not ended */
byte sent[ACTORS_MAX];
byte got[ACTORS_MAX];

/* ---- locks and lists ---- */

inline lock(c) {
    atomic { !chan_[c].locked -> chan_[c].locked = true }
}

inline unlock(c) {
    chan_[c].locked = false
}

inline push(l, part) {
    assert(lists[l].n < SLOTS);
    lists[l].who[lists[l].n] = part;
    lists[l].n++
}

/* Takes the first of a list into `part`. */
inline pop(l) {
    part = lists[l].who[0];
    remove_at(l, 0)
}

/* No loops: each would have to go round at every use for all lines to be reached. */
inline remove_at(l, from) {
    lists[l].who[0] = (from <= 0 -> lists[l].who[1] : lists[l].who[0]);
    lists[l].who[1] = (from <= 1 -> lists[l].who[2] : lists[l].who[1]);
    lists[l].who[2] = (from <= 2 -> lists[l].who[3] : lists[l].who[2]);
    lists[l].who[3] = (from <= 3 -> lists[l].who[4] : lists[l].who[3]);
    lists[l].who[4] = (from <= 4 -> lists[l].who[5] : lists[l].who[4]);
    lists[l].who[5] = 0;
    lists[l].n--
}

inline remove(l, what) {
    at = 0;
    do
    :: at < lists[l].n && lists[l].who[at] != what -> at++
    :: else -> break
    od;
    if
    :: at < lists[l].n -> remove_at(l, at)
    :: else
    fi;
    at = 0
}

/* `got_it`: the caller has decided the word of this part's actor. */
inline claim(a, outcome) {
    assert(actors[a].alive);
    if
#if BUG == 4
    :: true -> actors[a].word = outcome; got_it = true
#else
    :: actors[a].word == OPEN -> actors[a].word = outcome; got_it = true
    :: else -> got_it = false
#endif
    fi
}

/* ---- a transfer ---- */

#define CAP(c) (c == 0 -> CAP0 : CAP1)
#define CAN_SEND(c) (chan_[c].closed || lists[(c) * 2 + RECV].n > 0 || chan_[c].count < CAP(c))
#define CAN_RECV(c) (chan_[c].closed || lists[(c) * 2 + SEND].n > 0 || chan_[c].count > 0)
#define READY(k) (k < actors[me].cases &&                                                          \
    ((actors[me].side[k] == SEND && CAN_SEND(actors[me].where[k])) ||                              \
     (actors[me].side[k] == RECV && CAN_RECV(actors[me].where[k]))))

inline put(c, elem) {
    assert(chan_[c].count < CAP(c));
    chan_[c].elems[chan_[c].count] = elem;
    chan_[c].count++
}

inline take(c) {
    elem = chan_[c].elems[0]; /* the only element */
    chan_[c].count--;
    chan_[c].elems[chan_[c].count] = 0
}

/*
 * Under the locks: case k, which looked ready. `found` becomes PIPE, or DONE with the parked
 * operation `op` to be served, or 0 when the operation that stood there was late and the list is
 * shorter now.
 */
inline transfer(k) {
    c = actors[me].where[k];
    op = NOBODY;
    copies = false;
    found = 0;
    if
    :: actors[me].side[k] == SEND && chan_[c].closed -> found = PIPE
    :: actors[me].side[k] == SEND && !chan_[c].closed && lists[c * 2 + RECV].n > 0 ->
        atomic {
            pop(c * 2 + RECV);
#if BUG == 5
            assert(part / 2 != me);
#endif
            claim(part / 2, WOKEN)
        }
        if
        :: got_it -> op = part; copies = true; found = DONE
        :: else
        fi
    :: actors[me].side[k] == SEND && !chan_[c].closed && lists[c * 2 + RECV].n == 0 ->
        put(c, me + 1);
        found = DONE
    :: actors[me].side[k] == RECV && chan_[c].count > 0 ->
        take(c);
        actors[me].in = elem;
        elem = 0;
        found = DONE;
        do
        :: lists[c * 2 + SEND].n > 0 && op == NOBODY ->
            atomic {
                pop(c * 2 + SEND);
                claim(part / 2, WOKEN)
            }
            if
            :: got_it -> op = part; put(c, part / 2 + 1)
            :: else
            fi
        :: else -> break
        od
    :: actors[me].side[k] == RECV && chan_[c].count == 0 && lists[c * 2 + SEND].n > 0 ->
        atomic {
            pop(c * 2 + SEND);
#if BUG == 5
            assert(part / 2 != me);
#endif
            claim(part / 2, WOKEN)
        }
        if
        :: got_it -> op = part; copies = true; found = DONE
        :: else
        fi
    :: actors[me].side[k] == RECV && chan_[c].count == 0 && lists[c * 2 + SEND].n == 0 ->
        found = PIPE
    fi;
    part = 0
}

/* Without the locks: th_chan_conclude. `from` and `to` lie in the frames of the waiting actors. */
inline copy(k) {
    if
    :: copies && actors[me].side[k] == SEND ->
        assert(actors[op / 2].alive);
        actors[op / 2].in = me + 1
    :: copies && actors[me].side[k] == RECV ->
        assert(actors[op / 2].alive);
        actors[me].in = op / 2 + 1
    :: else
    fi
}

inline release(a, k, how) {
    d_step {
        assert(actors[a].alive && !actors[a].released);
        actors[a].value = k;
        actors[a].status = how;
        actors[a].released = true
    }
}

inline conclude(k) {
#if BUG == 7
    if
    :: op != NOBODY -> release(op / 2, op % 2, DONE)
    :: else
    fi;
    copy(k)
#else
    copy(k);
    if
    :: op != NOBODY -> release(op / 2, op % 2, DONE)
    :: else
    fi
#endif
}

/* ---- select ---- */

inline end(how, k) {
    d_step {
        actors[me].alive = false;
        actors[me].result = how;
        if
        :: how == DONE && actors[me].side[k] == SEND -> sent[me]++; assert(actors[me].in == 0)
        :: how == DONE && actors[me].side[k] == RECV ->
            assert(actors[me].in != 0);
            got[actors[me].in - 1]++
        :: else -> assert(actors[me].in == 0)
        fi;
        left_--
    }
}

/* Takes the locks of all its channels, each once: low and high. */
inline order() {
    low = actors[me].where[0];
    high = (actors[me].cases == 2 -> actors[me].where[1] : low);
#if BUG != 1
    if
    :: low > high -> part = low; low = high; high = part; part = 0
    :: else
    fi
#endif
}

inline lock_all() {
    lock(low);
    if
    :: high != low -> lock(high)
    :: else
    fi
}

inline unlock_all() {
    if
    :: high != low -> unlock(high)
    :: else
    fi;
    unlock(low)
}

inline stand() {
    d_step {
        push(actors[me].where[0] * 2 + actors[me].side[0], me * 2);
        if
        :: actors[me].cases == 2 -> push(actors[me].where[1] * 2 + actors[me].side[1], me * 2 + 1)
        :: else
        fi
    }
}

/* Takes case k off its list, under its channel's lock. */
inline leave(k) {
    if
    :: k < actors[me].cases && !(actors[me].word == WOKEN && actors[me].value == k) ->
        lock(actors[me].where[k]);
        d_step {
            remove(actors[me].where[k] * 2 + actors[me].side[k], me * 2 + k);
            unlock(actors[me].where[k])
        }
    :: else
    fi
}

proctype Actor(byte me) {
    byte low, high, c, part, op, elem, at, found, k;
    bool got_it, copies;

    order();
    lock_all();
#if BUG == 2
    /* it looks, gives the locks up, and only then stands on the lists */
    if
    :: !READY(0) && !READY(1) -> unlock_all(); lock_all(); stand(); goto waits
    :: else
    fi;
#endif
#if BUG == 5
    stand();
#endif
look:
    if
    :: READY(0) -> k = 0
    :: READY(1) -> k = 1
    :: else -> k = 2
    fi;
    if
    :: k < 2 ->
        transfer(k);
        if
        :: found == 0 -> goto look
        :: else
        fi;
        unlock_all();
        if
        :: found == DONE -> conclude(k)
        :: else
        fi;
        end(found, k);
        goto over
    :: else
    fi;
#if BUG != 5
    stand();
#endif
#if BUG == 2
waits:
#endif
    unlock_all();
    /* th_waiter_wait_until */
    if
    :: actors[me].released
    :: actors[me].timed ->
        atomic { claim(me, TIMEDOUT) }
        if
        :: got_it -> actors[me].released = true
        :: else -> actors[me].released
        fi
    fi;
#if BUG != 3
    leave(0);
    leave(1);
#endif
    if
    :: actors[me].word == WOKEN -> end(actors[me].status, actors[me].value)
    :: else -> end(LATE, 0)
    fi;
over:
    skip
}

/* ---- close ---- */

proctype Closer(byte c) {
    byte part, n, i;
    byte chain[SLOTS];
    bool got_it;

    lock(c);
    chan_[c].closed = true;
    do
    :: lists[c * 2 + SEND].n > 0 ->
        atomic {
            pop(c * 2 + SEND);
            claim(part / 2, WOKEN);
            if
            :: got_it -> chain[n] = part; n++
            :: else
            fi;
            part = 0
        }
#if BUG != 6
    :: lists[c * 2 + RECV].n > 0 ->
        atomic {
            pop(c * 2 + RECV);
            claim(part / 2, WOKEN);
            if
            :: got_it -> chain[n] = part; n++
            :: else
            fi;
            part = 0
        }
#endif
    :: else -> break
    od;
    unlock(c);
    do
    :: i < n -> release(chain[i] / 2, chain[i] % 2, PIPE); i++
    :: else -> break
    od;
    left_--
}

/* ---- scenes ---- */

inline one(a, c0, s0, late) {
    actors[a].cases = 1;
    actors[a].where[0] = c0;
    actors[a].side[0] = s0;
    actors[a].timed = late;
    actors[a].alive = true;
    left_++
}

inline two(a, c0, s0, c1, s1, late) {
    one(a, c0, s0, late);
    actors[a].cases = 2;
    actors[a].where[1] = c1;
    actors[a].side[1] = s1
}

init {
    byte i, n;
    atomic {
#if SCENE == 1 /* two that could meet on either channel, and name them in different orders */
        two(0, 0, SEND, 1, RECV, false);
        two(1, 1, SEND, 0, RECV, false);
        run Actor(0);
        run Actor(1);
#elif SCENE == 2 /* both sides of one channel, twice */
        two(0, 0, SEND, 0, RECV, false);
        two(1, 0, RECV, 0, SEND, false);
        run Actor(0);
        run Actor(1);
#elif SCENE == 3 /* a receiver that selects, a late sender, a patient sender; both channels close */
        two(0, 0, RECV, 1, RECV, false);
        one(1, 0, SEND, true);
        one(2, 1, SEND, false);
        left_ = left_ + 2;
        run Actor(0);
        run Actor(1);
        run Actor(2);
        run Closer(0);
        run Closer(1);
#elif SCENE == 4 /* scene 1 with a late plain sender, a late plain receiver, and a close */
        two(0, 0, SEND, 1, RECV, true);
        two(1, 1, SEND, 0, RECV, false);
        one(2, 0, SEND, true);
        left_ = left_ + 2;
        run Actor(0);
        run Actor(1);
        run Actor(2);
        run Closer(0);
        run Closer(1);
#elif SCENE == 5 /* two senders and two late receivers on one channel that closes */
        one(0, 0, SEND, false);
        one(1, 0, SEND, true);
        one(2, 0, RECV, true);
        one(3, 0, RECV, false);
        left_++;
        run Actor(0);
        run Actor(1);
        run Actor(2);
        run Actor(3);
        run Closer(0);
#elif SCENE == 6 /* three that select over both channels in all ways; one may be late; a close */
        two(0, 0, SEND, 1, RECV, false);
        two(1, 1, SEND, 0, SEND, true);
        two(2, 0, RECV, 1, RECV, false);
        left_ = left_ + 2;
        run Actor(0);
        run Actor(1);
        run Actor(2);
        run Closer(0);
        run Closer(1);
#endif
    }
    /*
     * Every actor ends: it is met, or late, or its channel is closed. Otherwise the end is invalid.
     */
    left_ == 0;
    /* What was sent was received once, or lies in a channel. */
    d_step {
        i = 0;
        do
        :: i < CHANS ->
            assert(lists[i * 2].n == 0 && lists[i * 2 + 1].n == 0 && !chan_[i].locked);
            n = 0;
            do
            :: n < chan_[i].count -> got[chan_[i].elems[n] - 1]++; n++
            :: else -> break
            od;
            i++
        :: else -> break
        od;
        i = 0;
        do
        :: i < ACTORS_MAX -> assert(sent[i] == got[i]); i++
        :: else -> break
        od
    }
}
