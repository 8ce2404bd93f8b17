/*
 * fork_join.c: a count over a tree of choices: how many ways there are to place eight queens.
 *
 * Each row forks the boards that go on from it. A fork costs a few nanoseconds while no worker
 * takes it, so there is no need for a limit below which the work is done serially.
 */
#include <stdio.h>
#include <thrum.h>

enum { QUEENS = 8, SOLUTIONS = 92 };

typedef struct board {
    unsigned row;
    unsigned columns; /* taken, as bits; and the diagonals, seen from this row */
    unsigned left;
    unsigned right;
} board;

/* The number of ways to go on from this board. */
static int count(void *arg) {
    const board *b = arg;
    if (b->row == QUEENS) {
        return 1;
    }
    board next[QUEENS];
    thrum_fork forks[QUEENS];
    int n = 0;
    unsigned free_places = ~(b->columns | b->left | b->right) & ((1u << QUEENS) - 1);
    for (; free_places; free_places &= free_places - 1) {
        unsigned place = free_places & -free_places;
        next[n] = (board){b->row + 1, b->columns | place, (b->left | place) << 1,
                          (b->right | place) >> 1};
        thrum_fork_start(&forks[n], count, &next[n]);
        n++;
    }
    int sum = 0;
    while (n > 0) { /* youngest first */
        sum += thrum_fork_join(&forks[--n]);
    }
    return sum;
}

int main(void) {
    board empty = {0, 0, 0, 0};
    int solutions = thrum_run(NULL, count, &empty);
    if (solutions < 0) {
        fprintf(stderr, "fork_join: %s\n", thrum_strerror(solutions));
        return 1;
    }
    printf("%d queens: %d solutions\n", QUEENS, solutions);
    return solutions == SOLUTIONS ? 0 : 1;
}
