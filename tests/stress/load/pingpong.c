/*
 * pingpong.c: pairs and rings of fibers that wake each other, through each primitive.
 */
/* matrix: policy workers */
/* variants: */
#include "support/support.h"

#define PAIRS 16

typedef struct pair {
    thrum_sem sems[2];
    thrum_event events[2];
    thrum_mutex mutex;
    thrum_cond cond;
    int turn; /* protected by mutex */
    int rounds;
    int shared; /* plain: the side that has the turn owns it */
} pair;

typedef struct player {
    pair *p;
    int side;
} player;

static pair pairs[PAIRS];
static player players[PAIRS][2];

static void play(thrum_fn fn, int rounds, thrum_event_mode mode) {
    rig r;
    rig_begin(&r, 0);
    for (int i = 0; i < PAIRS; i++) {
        pair *p = &pairs[i];
        memset(p, 0, sizeof(*p));
        p->rounds = rounds;
        for (int side = 0; side < 2; side++) {
            thrum_sem_init(&p->sems[side], 0);
            thrum_event_init(&p->events[side], mode, false);
        }
        thrum_mutex_init(&p->mutex);
        thrum_cond_init(&p->cond);
        for (int side = 0; side < 2; side++) {
            players[i][side] = (player){p, side};
            rig_go(&r, fn, &players[i][side]);
        }
    }
    rig_stop(&r);
    for (int i = 0; i < PAIRS; i++) {
        CHECK_EQ(pairs[i].shared, 2 * rounds);
    }
}

static int play_sems(void *arg) {
    const player *me = arg;
    pair *p = me->p;
    if (me->side == 0) {
        thrum_sem_post(&p->sems[0]);
    }
    for (int i = 0; i < p->rounds; i++) {
        CHECK_EQ(thrum_sem_wait(&p->sems[me->side]), 0);
        p->shared++;
        thrum_sem_post(&p->sems[!me->side]);
    }
    return 0;
}

TEST(over_semaphores) {
    /* Each fiber wakes the other and sleeps. */
    play(play_sems, SCALED(6000), THRUM_EVENT_AUTO);
}

static int play_events(void *arg) {
    const player *me = arg;
    pair *p = me->p;
    if (me->side == 0) {
        thrum_event_signal(&p->events[0]);
    }
    for (int i = 0; i < p->rounds; i++) {
        CHECK_EQ(thrum_event_wait(&p->events[me->side]), 0);
        p->shared++;
        thrum_event_signal(&p->events[!me->side]);
    }
    return 0;
}

TEST(over_auto_events) {
    /* Each signal lets exactly one fiber through. */
    play(play_events, SCALED(6000), THRUM_EVENT_AUTO);
}

static int play_manual(void *arg) {
    const player *me = arg;
    pair *p = me->p;
    if (me->side == 0) {
        thrum_event_signal(&p->events[0]);
    }
    for (int i = 0; i < p->rounds; i++) {
        CHECK_EQ(thrum_event_wait(&p->events[me->side]), 0);
        thrum_event_clear(&p->events[me->side]);
        p->shared++;
        thrum_event_signal(&p->events[!me->side]);
    }
    return 0;
}

TEST(over_manual_events) {
    /* The events are cleared by hand. */
    play(play_manual, SCALED(6000), THRUM_EVENT_MANUAL);
}

static int play_cond(void *arg) {
    const player *me = arg;
    pair *p = me->p;
    for (int i = 0; i < p->rounds; i++) {
        thrum_mutex_lock(&p->mutex);
        while (p->turn != me->side) {
            CHECK_EQ(thrum_cond_wait(&p->cond, &p->mutex), 0);
        }
        p->turn = !me->side;
        p->shared++;
        thrum_cond_signal(&p->cond);
        thrum_mutex_unlock(&p->mutex);
    }
    return 0;
}

TEST(over_conditions) {
    /* The mutex is taken and released at each turn. */
    play(play_cond, SCALED(4000), THRUM_EVENT_AUTO);
}

static int nothing(void *arg) {
    ++*(int *)arg;
    return 0;
}

static int play_joins(void *arg) {
    const player *me = arg;
    int mine = 0;
    for (int i = 0; i < me->p->rounds; i++) {
        thrum_handle *handle = NULL;
        CHECK_EQ(thrum_spawn(&handle, nothing, &mine), 0);
        CHECK_EQ(thrum_join(handle, NULL), 0);
        CHECK_EQ(mine, i + 1);
    }
    if (me->side == 0) {
        me->p->shared = 2 * me->p->rounds;
    }
    return 0;
}

TEST(over_joins) {
    /* Each turn is a task of its own. */
    play(play_joins, SCALED(3000), THRUM_EVENT_AUTO);
}

/* ---- a token that goes round ---- */

#define RING 100

static thrum_sem stations[RING];
static int laps;
static int token; /* plain: the fiber that has been let through owns it */

static int station(void *arg) {
    const int me = (int)(intptr_t)arg;
    for (int i = 0; i < laps; i++) {
        CHECK_EQ(thrum_sem_wait(&stations[me]), 0);
        CHECK_EQ(token, i * RING + me);
        token++;
        thrum_sem_post(&stations[(me + 1) % RING]);
    }
    return 0;
}

TEST(token_goes_round) {
    /* A hundred fibers pass a token round; one of them is runnable at a time. */
    rig r;
    laps = SCALED(600);
    rig_begin(&r, 0);
    for (int i = 0; i < RING; i++) {
        thrum_sem_init(&stations[i], 0);
    }
    for (int i = 0; i < RING; i++) {
        rig_go(&r, station, (void *)(intptr_t)i);
    }
    thrum_sem_post(&stations[0]);
    rig_wait_done(&r);
    CHECK_EQ(token, laps * RING);
    rig_stop(&r);
}
