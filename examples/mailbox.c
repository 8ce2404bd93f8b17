/*
 * mailbox.c: a worker that lives as long as the program and is a single task. Senders put a letter
 * into its mailbox and wake it; it takes all that is there and waits again. While there is nothing
 * to do it costs its struct: no thread, no stack, no polling.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <thrum.h>

enum { SENDERS = 4, LETTERS = 1000 };

struct letter {
    struct letter *next;
    int number;
};

struct mailbox {
    thrum_task task;
    _Atomic(struct letter *) letters; /* the newest first */
    long sum;                         /* only the task uses it, and its runs never overlap */
    int taken;
    bool ended;
};

static struct mailbox box;
static atomic_int lost;

/* Called by any thread. A wakeup while the task runs is remembered, so no letter is overlooked;
 * many wakeups before it runs are one. */
static void send_letter(struct mailbox *to, struct letter *letter) {
    letter->next = atomic_load(&to->letters);
    while (!atomic_compare_exchange_weak(&to->letters, &letter->next, letter)) {
    }
    thrum_task_wakeup(&to->task);
}

static void read_letters(thrum_task *self, void *arg) {
    struct mailbox *me = arg;
    struct letter *letter = atomic_exchange(&me->letters, NULL);
    while (letter) {
        struct letter *next = letter->next;
        me->sum += letter->number;
        me->taken++;
        free(letter);
        letter = next;
    }
    /* Wait for more. When the scheduler stops and no task is left that could write, the run is
     * cancelled: it is the last one. */
    if (thrum_task_is_cancelled(self)) {
        me->ended = true;
    } else if (thrum_task_post_wait(thrum_sched_current(), self) != 0) {
        fprintf(stderr, "mailbox: it cannot wait\n");
    }
}

static int sender(void *arg) {
    (void)arg;
    for (int i = 1; i <= LETTERS; i++) {
        struct letter *letter = malloc(sizeof *letter);
        if (!letter) {
            atomic_fetch_add(&lost, 1);
            continue;
        }
        letter->number = i;
        send_letter(&box, letter);
    }
    return 0;
}

static int run(void *arg) {
    (void)arg;
    thrum_task_init(&box.task, read_letters, &box);
    int err = thrum_task_post_wait(thrum_sched_current(), &box.task);
    for (int i = 0; i < SENDERS && err == 0; i++) {
        err = thrum_go(sender, NULL);
    }
    return err;
}

int main(void) {
    int err = thrum_run(NULL, run, NULL);
    printf("%d letters, their sum is %ld\n", box.taken, box.sum);
    return err == 0 && lost == 0 && box.ended && box.taken == SENDERS * LETTERS &&
                   box.sum == (long)SENDERS * LETTERS * (LETTERS + 1) / 2
               ? 0
               : 1;
}
