/*
 * trace.c: a timed record of each worker's activity. Writes trace.json (or the file that is named):
 * open it in https://ui.perfetto.dev or chrome://tracing.
 *
 *     trace [FILE]
 *
 * A pipeline is traced: pieces are read (a blocking call), sorted by forks, and summed in order.
 */
#include <stdio.h>
#include <stdlib.h>
#include <thrum.h>

enum { PIECES = 16, LENGTH = 20000, SERIAL = 500 };

typedef struct piece {
    int numbers[LENGTH];
    int room[LENGTH]; /* for merging */
    thrum_ticket turn;
} piece;

typedef struct span {
    int *numbers;
    int *room;
    int count;
} span;

static piece pieces[PIECES];
static thrum_tickets order = THRUM_TICKETS_INIT;

static int read_piece(void *arg) { /* on a thread of the blocking pool */
    piece *p = arg;
    unsigned random = (unsigned)(p - pieces) + 1;
    for (int i = 0; i < LENGTH; i++) {
        random = random * 1103515245u + 12345u;
        p->numbers[i] = (int)(random >> 8);
    }
    return 0;
}

static int by_value(const void *a, const void *b) {
    int x = *(const int *)a;
    int y = *(const int *)b;
    return (x > y) - (x < y);
}

static int sort(void *arg) {
    span *s = arg;
    if (s->count <= SERIAL) {
        qsort(s->numbers, (size_t)s->count, sizeof *s->numbers, by_value);
        return 0;
    }
    int half = s->count / 2;
    span lower = {s->numbers, s->room, half};
    span upper = {s->numbers + half, s->room + half, s->count - half};
    thrum_fork fork;
    thrum_fork_start(&fork, sort, &upper); /* another worker may take it: see the steals */
    sort(&lower);
    thrum_fork_join(&fork);
    for (int i = 0, a = 0, b = half; i < s->count; i++) {
        int first = b == s->count || (a < half && s->numbers[a] <= s->numbers[b]);
        s->room[i] = s->numbers[first ? a++ : b++];
    }
    for (int i = 0; i < s->count; i++) {
        s->numbers[i] = s->room[i];
    }
    return 0;
}

static int work(void *arg) {
    piece *p = arg;
    span all = {p->numbers, p->room, LENGTH};
    int err = thrum_blocking(read_piece, p, NULL);
    err = err ? err : sort(&all);
    int turn = thrum_ticket_wait(&p->turn);
    err = err ? err : turn;
    printf("piece %2d: from %d to %d\n", (int)(p - pieces), p->numbers[0], p->numbers[LENGTH - 1]);
    thrum_ticket_done(&p->turn);
    return err;
}

static int entry(void *arg) {
    thrum_handle *handles[PIECES];
    thrum_sched *sched = thrum_sched_current();
    int err = thrum_trace_start(sched, 0);
    for (int i = 0; i < PIECES && !err; i++) {
        char name[THRUM_NAME_MAX + 1];
        thrum_attr attr = THRUM_ATTR_INIT;
        snprintf(name, sizeof name, "piece %d", i);
        attr.name = name;
        thrum_tickets_take(&order, &pieces[i].turn);
        err = thrum_spawn_with(&handles[i], &attr, work, &pieces[i]);
        if (err) {
            return err;
        }
    }
    for (int i = 0; i < PIECES && !err; i++) {
        err = thrum_join(handles[i], NULL);
    }
    FILE *out = err ? NULL : fopen(arg, "w");
    if (out) {
        err = thrum_trace_stop(sched);
        err = err ? err : thrum_trace_write(sched, out);
        fclose(out);
        printf("look at %s in https://ui.perfetto.dev\n", (const char *)arg);
    }
    return err || !out;
}

int main(int argc, char **argv) {
    static char file[] = "trace.json";
    return thrum_run(NULL, entry, argc > 1 ? argv[1] : file);
}
