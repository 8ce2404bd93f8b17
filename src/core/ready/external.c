/*
 * external.c: see external.h. core/control/STOP.md argues why stop cannot free memory that an
 * external thread still uses.
 */
#include "core/ready/external.h"

#include "base/annotate.h"
#include "core/state/thread_exit.h"
#include "core/state/worker.h"
#include "core/state/poller.h"
#include "platform/platform.h"

th_lock th_external_lock = TH_LOCK_INIT;

/*
 * A thread's records are used by every task that runs on it, in contexts whose order the thread
 * sanitizer does not see: so finding and making records is not shown to it.
 */
static TH_NO_TSAN th_external *find(th_thread *thread, thrum_sched *sched) {
    for (th_external *r = thread->external; r; r = r->next_of_thread) {
        /* relaxed: it turns from the caller's scheduler to NULL only after the caller's last use,
         * which the user orders */
        if (th_load_relaxed(&r->xsched) == sched) {
            return r;
        }
    }
    return NULL;
}

static thrum_sched *live; /* every scheduler that has not been stopped, under th_external_lock */

void th_external_open(thrum_sched *sched) {
    TH_LOCKED(&th_external_lock);
    sched->next_live = live;
    live = sched;
}

void th_external_abandon(void) {
    for (thrum_sched *s = live; s; s = s->next_live) {
        s->abandoned = true;
        th_pollers_abandon(s);
        th_store_relaxed(&s->xstopping, 1u); /* relaxed: no other thread is there yet */
        s->spawn_slab->abandoned = true;
        for (th_external *r = s->externals.first; r; r = r->next_of_sched) {
            th_store_relaxed(&r->xsched, NULL); /* relaxed: as above */
        }
    }
    live = NULL; /* calls on one of them find it gone */
}

/* With the lock. Does not read the scheduler's memory: a post may come when it is gone. */
static bool is_live(const thrum_sched *sched) {
    const thrum_sched *s = live;
    while (s && s != sched) {
        s = s->next_live;
    }
    return s != NULL;
}

bool th_external_is_live(const thrum_sched *sched) {
    TH_LOCKED(&th_external_lock);
    return is_live(sched);
}

/* A record for the scheduler; NULL: the scheduler is gone (*gone), or there is no memory. */
static TH_NO_TSAN th_external *attach(th_thread *thread, thrum_sched *sched, bool *gone) {
    th_lock_acquire(&th_external_lock);
    *gone = !is_live(sched);
    th_lock_release(&th_external_lock);
    /*
     * If it is gone, allocate nothing: this may be the child of a fork. And there must be no record
     * that would never be retired: it would refer to a thread whose memory is gone.
     */
    if (*gone || !th_thread_keep(thread, TH_EXIT_EXTERNAL, th_external_retire_all)) {
        return NULL;
    }
    th_external *r = find(thread, NULL); /* a record whose scheduler is gone */
    bool fresh = !r;
    if (fresh) {
        th_tsan_fresh_begin();
        r = th_os_alloc(sizeof *r);
        th_tsan_fresh_end();
        if (!r) {
            return NULL;
        }
        r->xinside = 0; /* the rest is set below */
        r->thread = thread;
    }
    th_lock_acquire(&th_external_lock);
    *gone = !is_live(sched);
    if (*gone) {
        th_lock_release(&th_external_lock);
        if (fresh) {
            th_os_free(r);
        }
        return NULL;
    }
    if (fresh) {
        r->next_of_thread = thread->external;
        thread->external = r;
    }
    r->number = th_os_thread_number(); /* anew: this may be the child of a fork */
    r->activity = (th_activity){0};    /* read under the lock */
    th_store_relaxed(&r->xwakes, 0);   /* relaxed: read under the lock */
    r->spawn = (th_slab_cache){.slab = sched->spawn_slab};
    r->next_of_sched = sched->externals.first;
    sched->externals.first = r;
    th_store_relaxed(&r->xsched, sched); /* relaxed: only this thread reads it without the lock */
    th_lock_release(&th_external_lock);
    return r;
}

/* For threads without memory for a record, or without a way to end it with the thread: they share
 * one record, and take turns with it. */
static th_external *enter_shared(thrum_sched *sched) {
    TH_LOCKED(&th_external_lock);
    bool gone = !is_live(sched);
    if (!gone) {
        th_lock_acquire(&sched->externals.shared_lock);
    }
    return gone ? NULL : &sched->externals.retired;
}

th_external *th_external_enter(thrum_sched *sched, bool post) {
    th_thread *thread = th_thread_self();
    bool gone = false;
    bool shared = false;
    th_external *r = find(thread, sched);
    if (th_unlikely(!r)) {
        r = attach(thread, sched, &gone);
    }
    if (th_unlikely(!r)) {
        r = gone ? NULL : enter_shared(sched);
        shared = true;
        if (!r) {
            return NULL;
        }
    }
    /* seq: xinside before the next two are read; th_external_close and stop write those, then read
     * xinside */
    th_xchg_seq(&r->xinside, 1u);
    /* seq: as above; once the record is detached the scheduler may be gone */
    if (th_unlikely(!shared && th_load_seq(&r->xsched) != sched)) {
        /* pairs: wait_left; nothing was done */
        th_store_release(&r->xinside, 0u);
        return NULL;
    }
    /* seq: as above */
    if (post && th_unlikely(th_load_seq(&sched->xstopping)) && thread->acts_for != sched) {
        th_external_leave(sched, r);
        return NULL;
    }
    return r;
}

/* To the thread sanitizer a worker's tasks are not ordered, and they would share its record's
 * objects: it takes them one by one. */
static inline bool has_contexts(void) {
    return TH_TSAN_CONTEXTS && th_here();
}

void *th_external_take_object(thrum_sched *sched, th_external *r) {
    if (th_unlikely(r == &sched->externals.retired) || has_contexts()) {
        return th_slab_get_external(sched->spawn_slab);
    }
    return th_slab_get_part(&r->spawn);
}

/* The thread's record with the scheduler whose slab it is, if it still has one. */
static TH_NO_TSAN th_external *find_slab(const th_thread *thread, const th_slab *slab) {
    for (th_external *r = thread->external; r; r = r->next_of_thread) {
        /* relaxed: as in find; the caller looks again once it is inside */
        if (r->spawn.slab == slab && th_load_relaxed(&r->xsched)) {
            return r;
        }
    }
    return NULL;
}

void th_external_put_object(th_slab *slab, void *object) {
    th_external *r = has_contexts() ? NULL : find_slab(th_thread_self(), slab);
    if (r) {
        /* seq: as in th_external_enter; th_external_close detaches, then waits for xinside */
        th_xchg_seq(&r->xinside, 1u);
        /* seq: as above; once detached, its cache was flushed and its slab may be gone */
        const bool attached = th_load_seq(&r->xsched) != NULL;
        if (th_likely(attached)) {
            th_slab_put(&r->spawn, object);
        }
        /* pairs: wait_left; the last use of the cache */
        th_store_release(&r->xinside, 0u);
        if (attached) {
            return;
        }
    }
    th_slab_put_external(slab, object);
}

void th_external_leave(thrum_sched *sched, th_external *r) {
    if (th_unlikely(r == &sched->externals.retired)) {
        th_store_relaxed(&r->xinside, 0u); /* relaxed: under the shared lock */
        th_lock_release(&sched->externals.shared_lock);
        return;
    }
    /* pairs: th_external_wait_left; the thread's last access to the scheduler came before */
    th_store_release(&r->xinside, 0u);
}

/* With the lock: waits until no external thread is inside. */
static void wait_left(thrum_sched *sched) {
    for (th_external *r = sched->externals.first; r; r = r->next_of_sched) {
        unsigned spins = 0;
        /* pairs: th_external_leave; the thread's calls inside are done */
        while (th_load_acquire(&r->xinside)) {
            th_backoff(&spins); /* short: no thread waits while it is inside */
        }
    }
    TH_LOCKED(&sched->externals.shared_lock);
}

void th_external_wait_left(thrum_sched *sched) {
    th_fence_seq(); /* seq: the caller's flag before xinside is read; th_external_enter */
    TH_LOCKED(&th_external_lock);
    wait_left(sched);
}

void th_external_close(thrum_sched *sched) {
    TH_LOCKED(&th_external_lock);
    (void)TH_UNLINK(&live, sched, next_live);
    for (th_external *r = sched->externals.first; r; r = r->next_of_sched) {
        /* relaxed: ordered by the fence */
        th_store_relaxed(&r->xsched, NULL);
    }
    /* seq: detached before xinside is read; th_external_enter is inside before it reads xsched */
    th_fence_seq();
    wait_left(sched);
    for (th_external *r = sched->externals.first; r; r = r->next_of_sched) {
        th_slab_flush(&r->spawn);
    }
    sched->externals.first = NULL;
}

void th_external_retire_all(th_thread *thread) {
    TH_LOCKED(&th_external_lock);
    th_external *r = thread->external;
    thread->external = NULL;
    for (th_external *next; r; r = next) {
        next = r->next_of_thread;
        thrum_sched *sched = r->xsched;
        if (sched) {
            th_external *sum = &sched->externals.retired;
            th_lock_acquire(&sched->externals.shared_lock);
            th_activity_add(&sum->activity, &r->activity);
            th_count(&sum->xwakes, r->xwakes);
            th_lock_release(&sched->externals.shared_lock);
            th_slab_flush(&r->spawn);
            (void)TH_UNLINK(&sched->externals.first, r, next_of_sched);
        }
        th_os_free(r);
    }
}
