/*
 * free_tasks.c: children, scopes, cancels, values, posted tasks and calls that block, when all run
 * at once.
 */
#include <sched.h>
#include <stdlib.h>

#include "free.h"

/* ---- children: they do some of the steps that follow ---- */

static runner *child_of(runner *r, const step *s) {
    int left = r->count - r->at - 1;
    int n = s->b % 16 < left ? s->b % 16 : left;
    if (r->depth >= 3 || atomic_load(&r->w->ids) >= RUNNERS_MAX - 64) {
        return NULL;
    }
    runner *child = free_runner(r->w, r->steps + r->at + 1, n, r->depth + 1);
    r->at += n;
    return child;
}

static void spawn(runner *r, const step *s) {
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = r->w->sched;
    attr.flags = s->a % 4 == 1 ? THRUM_NEXT : s->a % 4 == 2 && !r->thread ? THRUM_PINNED : 0;
    runner *child = r->children_count < CHILDREN_MAX ? child_of(r, s) : NULL;
    if (!child) {
        return;
    }
    int i = r->children_count++;
    r->children[i] = child;
    int result = thrum_spawn_with(&r->handles[i], &attr, free_life, child);
    if (result != 0) {
        EXPECT(r, free_refused(r, result), result);
        r->children_count--;
        free(child);
    }
}

static void join(runner *r, const step *s) {
    thrum_time t = free_deadline(r, s, false);
    int value = 0;
    if (r->children_count == 0) {
        return;
    }
    free_drop_locks(r); /* the child may be waiting for one */
    int i = r->children_count - 1;
    int result = t == THRUM_FOREVER ? thrum_join(r->handles[i], &value)
                                    : thrum_join_until(r->handles[i], &value, t);
    if (free_ok(r, result, t, 0)) {
        EXPECT(r, value > 0, value);
        r->children_count--;
    }
}

/* Joins all children; they are cancelled if this runner is, or if no other would cancel them. */
static void join_all(runner *r) {
    bool cancels = r->thread;
    while (r->children_count > 0) {
        thrum_handle *handle = r->handles[r->children_count - 1];
        for (int i = 0; cancels && i < r->children_count; i++) {
            (void)thrum_cancel(r->handles[i]);
        }
        if (cancels) {
            thrum_shield_begin();
        }
        int result = thrum_join(handle, NULL);
        if (cancels) {
            thrum_shield_end();
        }
        EXPECT(r, result == 0 || (result == -ECANCELED && !cancels), result);
        cancels |= result != 0;
        r->children_count -= result == 0;
    }
}

/* ---- scopes ---- */

static void scope_join(runner *r) {
    if (r->scope_open) {
        free_drop_locks(r);
        /* No cancel ends this wait. A child of the scope may want what another child has locked
         * that waits for ever, until this runner cancels it. */
        for (int i = 0; i < r->children_count; i++) {
            (void)thrum_cancel(r->handles[i]);
        }
        int result = thrum_scope_join(&r->scope);
        r->scope_open = false;
        EXPECT(r, result == 0 || result == -ECANCELED || result == -ETIMEDOUT, result);
    }
}

static void scope(runner *r, const step *s) {
    if (r->thread) {
        return;
    }
    if (s->op == OP_scope_open && !r->scope_open) {
        thrum_time t = s->b % 8 < 4 ? THRUM_FOREVER : free_deadline(r, s, false);
        EXPECT(r, thrum_scope_open(&r->scope, t) == 0, 0);
        r->scope_open = true;
    } else if (s->op == OP_scope_go && r->scope_open) {
        runner *child = child_of(r, s);
        if (child) {
            EXPECT(r, thrum_scope_go(&r->scope, free_life, child) == 0, 0);
        }
    } else if (s->op == OP_scope_cancel && r->scope_open) {
        thrum_scope_cancel(&r->scope);
    } else if (s->op == OP_scope_join) {
        scope_join(r);
    }
}

/* ---- tasks ---- */

static void task_body(thrum_task *self, void *arg) {
    runner *r = arg;
    (void)thrum_task_receive_signal(self);
    atomic_store(&r->posted, false);
}

static void post(runner *r, const step *s) {
    static const int64_t ahead[] = {0, 20000, 100000};
    int result;
    if (atomic_load(&r->posted)) {
        /* it is this runner's, and its body lets go of it last; but it may run meanwhile */
        if (s->op == OP_task_wake) {
            thrum_task_wakeup(&r->task);
        } else if (s->op == OP_task_signal) {
            thrum_task_signal(&r->task);
        } else if (s->op == OP_task_cancel) {
            (void)thrum_task_cancel(&r->task);
        }
        return;
    }
    if (s->op != OP_task_post) {
        return;
    }
    thrum_task_init(&r->task, task_body, r);
    atomic_store(&r->posted, true);
    if (s->b % 4 == 0) {
        result = thrum_task_post(r->w->sched, &r->task);
    } else if (s->b % 4 == 1) {
        result = thrum_task_post_wait(r->w->sched, &r->task);
    } else {
        result = thrum_task_post_after(r->w->sched, &r->task, ahead[s->a % 3]);
    }
    if (result != 0) {
        EXPECT(r, free_refused(r, result), result);
        atomic_store(&r->posted, false);
    }
}

/* ---- serial tasks, which all runners post ---- */

static void serial_body(thrum_task *self, void *arg) {
    world *w = arg;
    serial *own = (serial *)(void *)self; /* its first member */
    if (atomic_fetch_add(&own->inside, 1) != 0) {
        free_wrong(w, __LINE__, "two runs of a serial task at a time", 0);
    }
    long runs = ++own->runs;
    (void)thrum_task_receive_signal(self);
    if (runs % 3 == 0) {
        thrum_yield();
    } else if (runs % 7 == 0) {
        (void)!thrum_sleep(10000);
    }
    if (own->runs != runs) {
        free_wrong(w, __LINE__, "a run of a serial task inside another one", (int)runs);
    }
    atomic_fetch_sub(&own->inside, 1);
}

void free_serials_make(world *w) {
    for (int i = 0; i < SERIALS; i++) {
        thrum_task_init(&w->serials[i].task, serial_body, w);
        thrum_task_set_serial(&w->serials[i].task);
    }
}

void free_serials_end(world *w) {
    for (int i = 0; i < SERIALS; i++) {
        (void)thrum_task_cancel(&w->serials[i].task);
    }
}

static void post_serial(runner *r, const step *s) {
    static const int64_t ahead[] = {0, 20000, 100000};
    serial *own = &r->w->serials[s->a / 2 % SERIALS];
    int result;
    if (s->op == OP_task_wake) {
        thrum_task_wakeup(&own->task);
    } else if (s->op == OP_task_signal) {
        thrum_task_signal(&own->task);
    } else if (s->op == OP_task_cancel) {
        result = thrum_task_cancel(&own->task);
        EXPECT(r, result == 0 || result == -EBUSY, result);
    } else {
        if (s->b % 4 == 0) {
            result = thrum_task_post(r->w->sched, &own->task);
        } else if (s->b % 4 == 1) {
            result = thrum_task_post_wait(r->w->sched, &own->task);
        } else {
            result = thrum_task_post_after(r->w->sched, &own->task, ahead[s->b / 4 % 3]);
        }
        EXPECT(r, result == 0 || result == -EBUSY || free_refused(r, result), result);
        atomic_fetch_add(&own->posted, result == 0);
    }
}

static void end_task(runner *r) {
    while (atomic_load(&r->posted)) {
        (void)thrum_task_cancel(&r->task);
        thrum_yield();
        sched_yield();
    }
}

/* ---- the rest ---- */

static int blocks(void *arg) {
    int n = *(int *)arg;
    for (int i = 0; i < n; i++) {
        sched_yield();
    }
    return n;
}

static void blocking(runner *r, const step *s) {
    int n = s->a % 8, value = -1;
    int result = thrum_blocking(blocks, &n, &value);
    if (free_ok(r, result, THRUM_FOREVER, 0)) {
        EXPECT(r, value == n, value);
    }
}

static int one(void *arg) {
    atomic_fetch_add((atomic_int *)arg, 1);
    if (atomic_load((atomic_int *)arg) % 2 == 0) {
        thrum_yield();
    }
    return 0;
}

static void range(size_t begin, size_t end, void *ctx) {
    atomic_fetch_add((atomic_int *)ctx, (int)(end - begin));
}

static void parallel(runner *r, const step *s) {
    const thrum_fn fns[3] = {one, one, one};
    atomic_int sum = 0;
    void *const args[3] = {&sum, &sum, &sum};
    thrum_fork forks[3];
    int result = 0;
    switch (s->a % 4) {
    case 0:
        result = thrum_invoke(3, fns, args);
        EXPECT(r, result == 0 && atomic_load(&sum) == 3, sum);
        break;
    case 1:
        result = thrum_parallel_for(0, 200, s->b % 32, range, &sum);
        EXPECT(r, result == 0 && atomic_load(&sum) == 200, sum);
        break;
    case 2:
        for (int i = 0; i < 3; i++) {
            thrum_fork_start(&forks[i], one, &sum);
        }
        for (int i = 2; i >= 0; i--) {
            result |= s->b % 2 && thrum_fork_take_back(&forks[i]) ? one(&sum)
                                                                  : thrum_fork_join(&forks[i]);
        }
        EXPECT(r, result == 0 && atomic_load(&sum) == 3, sum);
        break;
    default:
        result = thrum_dag_run(r->w->dag);
        EXPECT(r, result == 0, result); /* others may run it at the same time */
    }
}

static void value(runner *r, const step *s) {
    if (r->thread) {
        return;
    }
    EXPECT(r, thrum_key_get(r->w->key) == r->value, r->id);
    if (s->op == OP_key_set) {
        r->value = !r->value ? (void *)&r->w : NULL;
        EXPECT(r, thrum_key_set(r->w->key, r->value) == 0, r->id);
    }
}

static void rest(runner *r) {
    thrum_time t = thrum_after(10000);
    (void)free_ok(r, thrum_sleep_until(t), t, 0);
    EXPECT(r, thrum_now() >= t || thrum_cancelled(), 0);
}

void free_step_tasks(runner *r, const step *s) {
    switch (s->op) {
    case OP_spawn:
        spawn(r, s);
        break;
    case OP_join:
        join(r, s);
        break;
    case OP_cancel:
        if (r->w->roots[s->a % ROOTS] && s->b % 4 == 0) {
            (void)thrum_cancel(r->w->roots[s->a % ROOTS]);
        } else if (s->b % 4 == 1 && r->children_count > 0) {
            (void)thrum_cancel(r->handles[r->children_count - 1]);
        }
        break;
    case OP_shield_begin:
        if (!r->thread && r->shields < 2) {
            r->shields++;
            thrum_shield_begin();
        }
        break;
    case OP_shield_end:
        if (r->shields > 0) {
            r->shields--;
            thrum_shield_end();
        }
        break;
    case OP_sleep:
        rest(r);
        break;
    case OP_yield:
        thrum_yield();
        break;
    case OP_key_set:
    case OP_key_get:
        value(r, s);
        break;
    case OP_blocking:
        blocking(r, s);
        break;
    case OP_parallel:
        parallel(r, s);
        break;
    case OP_task_post:
    case OP_task_wake:
    case OP_task_signal:
    case OP_task_cancel:
        (s->a % 2 == 0 ? post : post_serial)(r, s);
        break;
    default:
        scope(r, s);
    }
}

void free_leave(runner *r) {
    while (r->shields > 0) {
        r->shields--;
        thrum_shield_end();
    }
    free_drop_locks(r);
    const step give = {0, OP_pool_give, 0, 0};
    while (r->items_count > 0) {
        free_step_counts(r, &give);
    }
    for (int i = 0; i < GROUPS; i++) {
        for (; r->owed[i] > 0; r->owed[i]--) {
            thrum_waitgroup_done(&r->w->groups[i]);
        }
    }
    scope_join(r);
    join_all(r);
    end_task(r);
    free_end_on(r);
    if (r->value) { /* else it would be destructed after this runner's end */
        EXPECT(r, thrum_key_set(r->w->key, NULL) == 0, r->id);
    }
}
