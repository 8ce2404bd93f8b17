/*
 * deadline.c: requests with a time limit. Each is a task that waits for its answer or its deadline,
 * whichever comes first, or for its owner's cancel: it ends exactly once, and the task itself says
 * how.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <thrum.h>

enum { REQUESTS = 9 };

struct request {
    thrum_task task;
    int answer;
};

static atomic_int answered, late, cancelled;

/* The only place where a request ends: no answer, deadline or cancel can end it a second time. */
static void end_request(thrum_task *self, void *arg) {
    const struct request *request = arg;
    if (thrum_task_receive_signal(
            self)) { /* the answer: also if the deadline came right after it */
        atomic_fetch_add(&answered, request->answer == 42);
    } else if (thrum_task_is_cancelled(self)) {
        atomic_fetch_add(&cancelled, 1);
    } else if (thrum_task_is_expired(self)) {
        atomic_fetch_add(&late, 1);
    }
}

/* Any thread: the network's, say. */
static void answer(struct request *request) {
    request->answer = 42;
    thrum_task_signal(&request->task); /* what we wrote before is visible to the body */
}

static int run(void *arg) {
    static struct request requests[REQUESTS];
    (void)arg;
    for (int i = 0; i < REQUESTS; i++) {
        struct request *request = &requests[i];
        thrum_task_init(&request->task, end_request, request);
        /* Those that nobody will answer get 5 ms; the others have time. */
        const thrum_time limit = i % 3 == 0 ? thrum_after_ms(5) : thrum_after_s(3600);
        int err = thrum_task_post_until(thrum_sched_current(), &request->task, limit);
        if (err != 0) {
            fprintf(stderr, "deadline: %s\n", thrum_strerror(err));
            return 1;
        }
    }
    for (int i = 0; i < REQUESTS; i++) {
        if (i % 3 == 1) {
            answer(&requests[i]);
        } else if (i % 3 == 2 && thrum_task_cancel(&requests[i].task) != 0) {
            return 1; /* it cannot have ended: nobody answered it */
        }
    }
    return 0;
}

int main(void) {
    int failed = thrum_run(NULL, run, NULL); /* returns when the last request has ended */
    printf("%d answered, %d late, %d cancelled\n", answered, late, cancelled);
    return !failed && answered == 3 && late == 3 && cancelled == 3 ? 0 : 1;
}
