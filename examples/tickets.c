/*
 * tickets.c: pieces of work are done in any order, and given out in the order in which they began.
 */
#include <stdio.h>
#include <stdlib.h>
#include <thrum.h>

enum { PIECES = 200 };

typedef struct piece {
    thrum_ticket ticket;
    int number;
    long sum;
} piece;

static thrum_tickets output = THRUM_TICKETS_INIT;
static int given_out; /* only the piece that has its turn touches it */
static int out_of_order;

static int give_out(void *arg) {
    piece *p = arg;
    if (p->number != given_out) {
        out_of_order++;
    }
    given_out++;
    thrum_ticket_done(&p->ticket); /* the next one gets its turn */
    free(p);
    return 0;
}

static int work(void *arg) {
    piece *p = arg;
    for (int i = 0; i < (PIECES - p->number) * 100; i++) {
        p->sum += i;
    }
    if (p->number % 2 != 0 && thrum_ticket_on_call(&p->ticket, give_out, p) == 0) {
        return 0; /* it is given out when its turn comes; no task waits for that */
    }
    return thrum_ticket_wait(&p->ticket) == 0 ? give_out(p) : 1;
}

static int run(void *arg) {
    (void)arg;
    for (int i = 0; i < PIECES; i++) {
        piece *p = calloc(1, sizeof *p);
        if (!p) {
            return 1;
        }
        p->number = i;
        thrum_tickets_take(&output, &p->ticket); /* its place in the output */
        if (thrum_go(work, p) != 0) {
            thrum_ticket_done(&p->ticket); /* dropped: the others do not wait for it */
            free(p);
            return 1;
        }
    }
    return 0;
}

int main(void) {
    int err = thrum_run(NULL, run, NULL); /* waits for all of them */
    printf("%d pieces given out, %d out of order\n", given_out, out_of_order);
    return err == 0 && given_out == PIECES && out_of_order == 0 ? 0 : 1;
}
