/*
 * select_join.c: ends of tasks, and results of scopes, among the cases of a select.
 */
/* matrix: policy workers */
#include "support/support.h"
#include "support/times.h"

#define CROWD 100 /* more than THRUM_SELECT_FRAME */

static void in_task(thrum_fn fn) {
    rig r;
    rig_begin(&r, 0);
    CHECK_EQ(rig_run(&r, fn, &r), 0);
    rig_stop(&r);
}

static int waits_for(void *event) {
    const int err = thrum_event_wait(event);
    return err ? err : 9;
}

static thrum_handle *spawn(thrum_fn fn, void *arg) {
    thrum_handle *handle;
    CHECK_EQ(thrum_spawn(&handle, fn, arg), 0);
    return handle;
}

static void join(thrum_handle *handle, int expected) {
    int result = 0;
    CHECK_EQ(thrum_join(handle, &result), 0);
    CHECK_EQ(result, expected);
}

/* ---- a task ---- */

static int one_ends(void *unused) {
    thrum_event end = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false);
    thrum_event never = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false);
    (void)unused;
    thrum_handle *handle = spawn(waits_for, &end);
    thrum_case cases[] = {THRUM_EVENT_CASE(&never), THRUM_JOIN_CASE(handle), THRUM_JOIN_CASE(NULL)};
    const thrum_time when = soon();
    CHECK_EQ(thrum_select(cases, 3, past()), -ETIMEDOUT);
    CHECK_EQ(thrum_select(cases, 3, when), -ETIMEDOUT);
    CHECK_PASSED(when);
    CHECK_EQ(thrum_select(&cases[1], 1, past()), -ETIMEDOUT);
    thrum_event_signal(&end);
    cases[1].status = 5;
    CHECK_EQ(thrum_select(cases, 3, THRUM_FOREVER), 1);
    CHECK_EQ(cases[1].status, 0);
    CHECK_EQ(thrum_select(&cases[1], 1, past()), 0); /* as often as one likes */
    CHECK_EQ(thrum_select(cases, 3, past()), 1);
    join(handle, 9);
    return 0;
}

TEST(a_select_waits_for_the_end_of_a_task) {
    /* A late one takes nothing away; one that succeeds leaves the handle to be joined. */
    in_task(one_ends);
}

static int first_of_many(void *unused) {
    thrum_event ends[CROWD];
    thrum_handle *handles[CROWD];
    thrum_case cases[CROWD];
    (void)unused;
    for (int i = 0; i < CROWD; i++) {
        thrum_event_init(&ends[i], THRUM_EVENT_MANUAL, false);
        handles[i] = spawn(waits_for, &ends[i]);
        cases[i] = THRUM_JOIN_CASE(handles[i]);
    }
    for (int left = CROWD; left > 0; left--) {
        const int i = left * 7 % CROWD; /* 7 and CROWD have no common factor */
        thrum_event_signal(&ends[i]);
        CHECK_EQ(thrum_select(cases, CROWD, THRUM_FOREVER), i);
        join(handles[i], 9);
        cases[i] = THRUM_JOIN_CASE(NULL);
    }
    return 0;
}

TEST(a_select_finds_the_task_that_ends_first) {
    /* Of 100, which end one after the other; the rest are as before. */
    in_task(first_of_many);
}

static int beside_channels(void *unused) {
    thrum_event end = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false);
    thrum_chan *chan;
    int elem = 3;
    int got = 0;
    (void)unused;
    CHECK_EQ(thrum_chan_create(&chan, sizeof elem, 1), 0);
    thrum_handle *handle = spawn(waits_for, &end);
    thrum_case cases[] = {THRUM_RECV_CASE(chan, &got), THRUM_JOIN_CASE(handle)};
    CHECK_EQ(thrum_chan_send(chan, &elem), 0);
    CHECK_EQ(thrum_select(cases, 2, THRUM_FOREVER), 0);
    CHECK_EQ(got, 3);
    thrum_event_signal(&end);
    CHECK_EQ(thrum_select(cases, 2, THRUM_FOREVER), 1);
    join(handle, 9);
    CHECK_EQ(thrum_chan_destroy(chan), 0);
    return 0;
}

TEST(a_task_and_a_channel) {
    /* One case happens; the other one takes nothing. */
    in_task(beside_channels);
}

typedef struct itself {
    thrum_handle *handle;
    thrum_event spawned;
    thrum_event done;
    int status;
} itself;

static int waits_for_itself(void *arg) {
    itself *self = arg;
    CHECK_EQ(thrum_event_wait(&self->spawned), 0);
    thrum_case cases[] = {THRUM_JOIN_CASE(self->handle)};
    CHECK_EQ(thrum_select(cases, 1, THRUM_FOREVER), 0);
    self->status = cases[0].status;
    thrum_event_signal(&self->done);
    return 0;
}

static int spawns_itself(void *unused) {
    itself self = {.status = 0};
    (void)unused;
    thrum_event_init(&self.spawned, THRUM_EVENT_MANUAL, false);
    thrum_event_init(&self.done, THRUM_EVENT_MANUAL, false);
    self.handle = spawn(waits_for_itself, &self);
    thrum_event_signal(&self.spawned);
    CHECK_EQ(thrum_event_wait(&self.done), 0);
    CHECK_EQ(self.status, -EDEADLK);
    join(self.handle, 0);
    return 0;
}

TEST(a_task_does_not_wait_for_itself) {
    /* The status of the case is the code of a join. */
    in_task(spawns_itself);
}

static int select_ends_early(void *handle) {
    thrum_case cases[] = {THRUM_JOIN_CASE(handle)};
    return thrum_select(cases, 1, THRUM_FOREVER);
}

static int is_cancelled(void *unused) {
    thrum_event end = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false);
    (void)unused;
    thrum_handle *handle = spawn(waits_for, &end);
    thrum_handle *waits = spawn(select_ends_early, handle);
    thrum_yield();
    CHECK_EQ(thrum_cancel(waits), 0);
    join(waits, -ECANCELED);
    thrum_event_signal(&end);
    join(handle, 9);
    return 0;
}

TEST(a_cancelled_select_gives_the_handle_back) {
    /* Another call joins the task afterwards. */
    in_task(is_cancelled);
}

/* ---- plain threads ---- */

TEST(a_plain_thread_selects_on_tasks) {
    /* A late call gives the handles back. */
    thrum_event ends[2];
    thrum_handle *handles[2];
    thrum_case cases[2];
    rig r;
    rig_begin(&r, 0);
    thrum_attr attr = rig_attr(&r);
    for (int i = 0; i < 2; i++) {
        thrum_event_init(&ends[i], THRUM_EVENT_MANUAL, false);
        CHECK_EQ(thrum_spawn_with(&handles[i], &attr, waits_for, &ends[i]), 0);
        cases[i] = THRUM_JOIN_CASE(handles[i]);
    }
    CHECK_EQ(thrum_select(cases, 2, soon()), -ETIMEDOUT);
    thrum_event_signal(&ends[1]);
    CHECK_EQ(thrum_select(cases, 2, THRUM_FOREVER), 1);
    CHECK_EQ(cases[1].status, 0);
    thrum_event_signal(&ends[0]);
    join(handles[1], 9);
    CHECK_EQ(thrum_select(cases, 1, THRUM_FOREVER), 0);
    join(handles[0], 9);
    rig_stop(&r);
}

/* ---- the next result of a scope ---- */

typedef struct jobs {
    thrum_chan *chan;
    int sum;
} jobs;

static int sends_jobs(void *arg) {
    jobs *j = arg;
    for (int i = 1; i <= 50; i++) {
        CHECK_EQ(thrum_chan_send(j->chan, &i), 0);
    }
    CHECK_EQ(thrum_chan_close(j->chan), 0);
    return 0;
}

static int returns(void *arg) {
    thrum_yield();
    return (int)(intptr_t)arg;
}

/* At most three jobs at a time: the classic loop over new work and ended work. */
static int serves_jobs(void *arg) {
    jobs *j = arg;
    thrum_scope scope;
    int running = 0;
    int job = 0;
    bool more = true;
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    while (more || running) {
        thrum_case cases[] = {THRUM_RECV_CASE(more && running < 3 ? j->chan : NULL, &job),
                              THRUM_NEXT_CASE(&scope)};
        const int which = thrum_select(cases, 2, THRUM_FOREVER);
        if (which == 1) {
            int result;
            CHECK_EQ(cases[1].status, 0);
            CHECK_EQ(thrum_scope_next_until(&scope, NULL, &result, past()), 0);
            j->sum += result;
            running--;
        } else if (cases[0].status == 0) {
            CHECK_EQ(thrum_scope_spawn(&scope, NULL, returns, (void *)(intptr_t)job), 0);
            CHECK(++running <= 3);
        } else {
            CHECK_EQ(cases[0].status, -EPIPE);
            more = false;
        }
    }
    CHECK_EQ(thrum_scope_join(&scope), 0);
    return 0;
}

static int runs_jobs(void *unused) {
    jobs j = {.sum = 0};
    (void)unused;
    CHECK_EQ(thrum_chan_create(&j.chan, sizeof(int), 0), 0);
    thrum_handle *sender = spawn(sends_jobs, &j);
    CHECK_EQ(serves_jobs(&j), 0);
    CHECK_EQ(j.sum, 50 * 51 / 2);
    join(sender, 0);
    CHECK_EQ(thrum_chan_destroy(j.chan), 0);
    return 0;
}

TEST(a_select_among_new_jobs_and_results) {
    /* A result that the case has found is there; without a child, the case does not happen. */
    in_task(runs_jobs);
}

static int twice_in_one_select(void *unused) {
    thrum_event end = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false);
    thrum_scope scope;
    (void)unused;
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    thrum_case cases[] = {THRUM_NEXT_CASE(&scope), THRUM_NEXT_CASE(NULL), THRUM_NEXT_CASE(&scope)};
    CHECK_EQ(thrum_select(cases, 3, soon()), -ETIMEDOUT);
    CHECK_EQ(thrum_scope_spawn(&scope, NULL, waits_for, &end), 0);
    CHECK_EQ(thrum_select(cases, 3, soon()), -ETIMEDOUT);
    thrum_event_signal(&end);
    const int which = thrum_select(cases, 3, THRUM_FOREVER);
    CHECK(which == 0 || which == 2);
    CHECK_EQ(thrum_scope_next(&scope, NULL, NULL), 0);
    CHECK_EQ(thrum_select(cases, 3, past()), -ETIMEDOUT);
    CHECK_EQ(thrum_scope_join(&scope), 0);
    return 0;
}

TEST(a_scope_is_in_two_cases) {
    /* Either of them happens. */
    in_task(twice_in_one_select);
}

/* ---- misuse ---- */

static int selects_on_the_joined(void *unused) {
    thrum_event end = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, true);
    (void)unused;
    thrum_handle *handle = spawn(waits_for, &end);
    thrum_case cases[] = {THRUM_JOIN_CASE(handle)};
    join(handle, 9);
    return thrum_select(cases, 1, THRUM_FOREVER);
}

static int selects_twice(void *unused) {
    thrum_event end = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false);
    (void)unused;
    thrum_handle *handle = spawn(waits_for, &end);
    thrum_case cases[] = {THRUM_JOIN_CASE(handle), THRUM_JOIN_CASE(handle)};
    return thrum_select(cases, 2, THRUM_FOREVER);
}

static int selects_on_anothers_scope(void *scope) {
    thrum_case cases[] = {THRUM_NEXT_CASE((thrum_scope *)scope)};
    return thrum_select(cases, 1, THRUM_FOREVER);
}

static int lends_its_scope(void *unused) {
    thrum_scope scope;
    (void)unused;
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_scope_go(&scope, selects_on_anothers_scope, &scope), 0);
    return thrum_scope_join(&scope);
}

static void run_misuse(void *fn) {
    rig r;
    rig_begin(&r, 0);
    (void)rig_run(&r, *(thrum_fn *)fn, NULL);
}

TEST(what_is_not_the_callers_to_wait_for) {
    /* A handle that was joined, or that is waited for; another's scope: each has its line. */
    thrum_fn fn = selects_on_the_joined;
    check_dies(run_misuse, &fn, "thrum: thrum_select: the handle was joined or detached before");
    fn = selects_twice;
    check_dies(run_misuse, &fn, "thrum: thrum_select: another call waits for the task already");
    fn = lends_its_scope;
    check_dies(run_misuse, &fn, "thrum: thrum_select: the caller has not opened the scope");
}

TEST(a_wrong_case_is_refused) {
    /* One of a task or a scope has no channel. */
    thrum_case join_case = THRUM_JOIN_CASE(NULL);
    thrum_case next_case = THRUM_NEXT_CASE(NULL);
    CHECK_EQ(thrum_select(&join_case, 1, past()), -ETIMEDOUT);
    CHECK_EQ(thrum_select(&next_case, 1, past()), -ETIMEDOUT);
    join_case.chan = (thrum_chan *)&join_case;
    CHECK_EQ(thrum_select(&join_case, 1, past()), -EINVAL);
    next_case.chan = (thrum_chan *)&next_case;
    CHECK_EQ(thrum_select(&next_case, 1, past()), -EINVAL);
}
