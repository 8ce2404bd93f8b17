/*
 * stages.c: parcels that go through stages. Each parcel is one task whose body changes: a stage
 * sets the next one and posts the task again, to run at once or after a while. No stage has a
 * stack while its parcel waits, and nothing is allocated after the parcel itself.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <thrum.h>

enum { PARCELS = 1000 };

struct parcel {
    thrum_task task;
    int number;
    int visits; /* stages that it has been through */
};

static struct parcel parcels[PARCELS];
static thrum_waitgroup left = THRUM_WAITGROUP_INIT(PARCELS);
static atomic_int failed;

static void end(int err) {
    if (err != 0) {
        atomic_fetch_add(&failed, 1);
    }
    thrum_waitgroup_done(&left);
}

static void deliver(thrum_task *self, void *arg) {
    struct parcel *parcel = arg;
    (void)self;
    parcel->visits++;
    end(parcel->visits == 3 ? 0 : -EINVAL);
}

/* Ships the parcel for some time: the task waits for a deadline. */
static void send_off(thrum_task *self, void *arg) {
    struct parcel *parcel = arg;
    parcel->visits++;
    thrum_task_set_body(self, deliver, parcel);
    int err = thrum_task_post_after(thrum_sched_current(), self, THRUM_US(parcel->number % 100));
    if (err != 0) {
        end(err); /* refused: it goes no further */
    }
}

static void pack(thrum_task *self, void *arg) {
    struct parcel *parcel = arg;
    parcel->visits++;
    thrum_task_set_body(self, send_off, parcel);
    int err = thrum_task_post(thrum_sched_current(), self); /* from when this body returns */
    if (err != 0) {
        end(err);
    }
}

static int run(void *arg) {
    (void)arg;
    for (int i = 0; i < PARCELS; i++) {
        parcels[i].number = i;
        thrum_task_init(&parcels[i].task, pack, &parcels[i]);
        int err = thrum_task_post(thrum_sched_current(), &parcels[i].task);
        if (err != 0) {
            end(err);
        }
    }
    int err = thrum_waitgroup_wait(&left);
    printf("%d parcels, %d lost\n", PARCELS, atomic_load(&failed));
    return err != 0 || atomic_load(&failed) != 0;
}

int main(void) {
    return thrum_run(NULL, run, NULL);
}
