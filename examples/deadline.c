/*
 * deadline.c: requests with a time limit. Each is a task that waits for its answer or its deadline,
 * whichever comes first, or for its owner's cancel: it ends exactly once, and thrum_task_cause
 * returns the cause. Wakeups only report progress: the request then waits on, for the rest of its
 * time.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <thrum.h>

enum { REQUESTS = 12 };

struct request {
    thrum_task task;
    thrum_time limit;
    int answer;
    atomic_int progress;
};

static atomic_int answered, late, cancelled;
static thrum_waitgroup reports = THRUM_WAITGROUP_INIT(REQUESTS / 4);

/* The only place where a request ends: no answer, deadline or cancel can end it a second time. */
static void end_request(thrum_task *self, void *arg) {
    struct request *request = arg;
    int err = 0;
    switch (thrum_task_cause(self)) {
    case THRUM_CAUSE_SIGNALED: /* the answer: also if the deadline came right after it */
        thrum_task_receive_signal(self);
        atomic_fetch_add(&answered, request->answer == 42);
        break;
    case THRUM_CAUSE_CANCELLED:
        atomic_fetch_add(&cancelled, 1);
        break;
    case THRUM_CAUSE_EXPIRED:
        atomic_fetch_add(&late, 1);
        break;
    case THRUM_CAUSE_WOKEN:
        if (atomic_load(&request->progress)) {
            thrum_waitgroup_done(&reports);
        }
        err = thrum_task_post_until(thrum_sched_current(), self, request->limit);
        break;
    case THRUM_CAUSE_POSTED: /* none is posted to run at once */
        err = -EINVAL;
        break;
    }
    if (err != 0) {
        fprintf(stderr, "deadline: %s\n", thrum_strerror(err));
    }
}

/* Called by any thread, such as the network's. */
static void answer(struct request *request) {
    request->answer = 42;
    thrum_task_signal(&request->task); /* earlier writes are visible to the body */
}

static void report(struct request *request) {
    atomic_store(&request->progress, 1);
    thrum_task_wakeup(&request->task);
}

static int run(void *arg) {
    static struct request requests[REQUESTS];
    (void)arg;
    for (int i = 0; i < REQUESTS; i++) {
        struct request *request = &requests[i];
        thrum_task_init(&request->task, end_request, request);
        /* Requests without an answer have 5 ms; the others have time. */
        request->limit = i % 4 == 0 ? thrum_after_ms(5) : thrum_after_s(3600);
        int err = thrum_task_post_until(thrum_sched_current(), &request->task, request->limit);
        if (err != 0) {
            fprintf(stderr, "deadline: %s\n", thrum_strerror(err));
            return 1;
        }
    }
    for (int i = 0; i < REQUESTS; i++) {
        if (i % 4 == 1) {
            answer(&requests[i]);
        } else if (i % 4 == 2 && thrum_task_cancel(&requests[i].task) != 0) {
            return 1; /* it cannot have ended: no answer was sent */
        } else if (i % 4 == 3) {
            report(&requests[i]);
        }
    }
    if (thrum_waitgroup_wait(&reports) != 0) {
        return 1;
    }
    for (int i = 3; i < REQUESTS; i += 4) {
        answer(&requests[i]);
    }
    return 0;
}

int main(void) {
    int failed = thrum_run(NULL, run, NULL); /* returns when the last request has ended */
    printf("%d answered, %d late, %d cancelled\n", answered, late, cancelled);
    return !failed && answered == 6 && late == 3 && cancelled == 3 ? 0 : 1;
}
