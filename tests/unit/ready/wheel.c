/*
 * wheel.c: the deadline queue against a plain list of what is in it, and at its edges.
 */
#include "queue/wheel.h"

#include "base/random.h"
#include "check.h"

#define YEAR (INT64_C(365) * 86400 * 1000000000)
#define TICK (INT64_C(1) << TH_WHEEL_SHIFT)
#define START (123 * YEAR / 10000) /* some four days after a boot */

static th_wheel wheel;
static th_random dice;

/* ---- the list to compare with ---- */

typedef struct item {
    th_timer timer;
    uint64_t since; /* of two with one deadline the lower one comes first */
    int64_t deadline;
    bool inside;
} item;

#define ITEMS 400
static item items[ITEMS];
static uint64_t inserts;
static size_t inside;

/* A timer's words while it is the caller's: any read of them by the wheel would crash. */
static void spoil(item *it) {
    memset(&it->timer, 0xdd, sizeof(it->timer));
}

static bool is_spoilt(const item *it) {
    const unsigned char *bytes = (const unsigned char *)&it->timer;
    for (size_t i = 0; i < sizeof(it->timer); i++) {
        if (bytes[i] != 0xdd) {
            return false;
        }
    }
    return true;
}

static void begin(int64_t now, uint64_t seed) {
    th_wheel_init(&wheel, now);
    th_random_seed(&dice, seed);
    memset(items, 0, sizeof(items));
    for (int i = 0; i < ITEMS; i++) {
        spoil(&items[i]);
    }
    inside = 0;
}

static void insert(item *it, int64_t deadline) {
    it->inside = true;
    it->deadline = deadline;
    it->since = inserts++;
    inside++;
    th_wheel_insert(&wheel, &it->timer, deadline);
}

static void leave(item *it) {
    CHECK(it->inside);
    it->inside = false;
    inside--;
    spoil(it);
}

static void withdraw(item *it) {
    th_wheel_remove(&wheel, &it->timer);
    leave(it);
}

static th_timer *take_any(void) {
    th_timer *timer = th_wheel_next(&wheel, NULL);
    if (timer) {
        th_wheel_remove(&wheel, timer);
    }
    return timer;
}

static item *earliest(void) {
    item *best = NULL;
    for (int i = 0; i < ITEMS; i++) {
        item *it = &items[i];
        if (it->inside && it->deadline != INT64_MAX &&
            (!best || it->deadline < best->deadline ||
             (it->deadline == best->deadline && it->since < best->since))) {
            best = it;
        }
    }
    return best;
}

static int64_t earliest_deadline(void) {
    const item *it = earliest();
    return !it ? INT64_MAX : it->deadline;
}

/* All that is due must come, in order, and nothing else; returns how many came. */
static int expire(int64_t now, unsigned most) {
    int n = 0;
    while (th_wheel_turn(&wheel, now, most)) {
        CHECK(most == 0 || th_wheel_earliest(&wheel) <= earliest_deadline());
    }
    for (;; n++) {
        item *expected = earliest();
        th_timer *timer = th_wheel_pop(&wheel, now);
        if (!expected || expected->deadline > now) {
            CHECK(timer == NULL);
            return n;
        }
        CHECK(timer == &expected->timer);
        leave(expected);
    }
}

static void check_all(void) {
    size_t visited = 0;
    CHECK(th_wheel_is_valid(&wheel));
    CHECK_EQ(th_wheel_count(&wheel), inside);
    for (th_timer *t = th_wheel_next(&wheel, NULL); t; t = th_wheel_next(&wheel, t)) {
        CHECK(th_container(t, item, timer)->inside);
        visited++;
    }
    CHECK_EQ(visited, inside);
    for (int i = 0; i < ITEMS; i++) {
        CHECK(items[i].inside || is_spoilt(&items[i]));
    }
}

static int64_t add(int64_t a, int64_t b) {
    int64_t sum;
    return !__builtin_add_overflow(a, b, &sum) ? sum : b < 0 ? INT64_MIN : INT64_MAX;
}

/* A distance of any magnitude: each number of bits below `bits` is as likely as the others. */
static int64_t distance(unsigned bits) {
    uint64_t random = (uint64_t)th_random_next(&dice) << 32 | th_random_next(&dice);
    return (int64_t)(random >> (64 - 1 - th_random_below(&dice, bits - 1)));
}

static int64_t any_deadline(int64_t now) {
    switch (th_random_below(&dice, 10)) {
    case 0:
        return add(now, -distance(63));
    case 1: /* a deadline that is there, or was */
    case 2:
        return items[th_random_below(&dice, ITEMS)].deadline;
    case 3:
        return add(now, th_random_below(&dice, 4) * TICK);
    case 4:
        return th_random_below(&dice, 4) == 0   ? INT64_MAX
               : th_random_below(&dice, 2) == 0 ? INT64_MIN
                                                : INT64_MAX - 1;
    default:
        return add(now, distance(th_random_below(&dice, 2) ? 63 : 36));
    }
}

static int64_t later(int64_t now) {
    switch (th_random_below(&dice, 16)) {
    case 0:
        return add(now, -distance(40));
    case 1:
    case 2: /* just before it comes due, and exactly then */
        return earliest_deadline() > now ? earliest_deadline() - 1 : now;
    case 3:
    case 4:
        return earliest_deadline() > now ? earliest_deadline() : now;
    case 5:
        return th_random_below(&dice, 50) == 0 ? add(now, distance(63)) : now;
    default:
        return add(now, distance(28));
    }
}

/* Does one operation of any kind. `removals` of eight are removals. */
static void step(int64_t *now, uint32_t removals) {
    item *it = &items[th_random_below(&dice, ITEMS)];
    uint32_t kind = th_random_below(&dice, 8);
    if (kind < removals || (kind < 7 && removals == 0)) {
        if (!it->inside) {
            insert(it, any_deadline(*now));
        } else if (kind < removals) {
            withdraw(it);
        }
    } else if (kind == 7) {
        *now = later(*now);
        expire(*now, 1 + th_random_below(&dice, 5));
    } else if (!it->inside) {
        insert(it, any_deadline(*now));
    }
}

TEST(order_is_that_of_a_sorted_list) {
    /*
     * Inserts, removals and jumps of time are random, of all magnitudes: what comes is what must
     * come.
     */
    for (unsigned seed = 0; seed < 40; seed++) {
        int64_t now = seed % 4 == 0 ? -distance(62) : START;
        begin(now, seed);
        for (int i = check_scaled(5000); i > 0; i--) {
            step(&now, seed % 5);
            CHECK(th_wheel_earliest(&wheel) <= earliest_deadline());
            if (i % 64 == 0) {
                check_all();
            }
        }
        expire(INT64_MAX, 7);
        check_all();
        CHECK_EQ(th_wheel_earliest(&wheel), INT64_MAX);
    }
}

TEST(earliest_is_exact_without_removals) {
    /* It is so after each insert, turn and pop, as long as nothing was removed otherwise. */
    for (unsigned seed = 0; seed < 20; seed++) {
        int64_t now = START;
        begin(now, seed);
        for (int i = check_scaled(5000); i > 0; i--) {
            step(&now, 0);
            CHECK_EQ(th_wheel_earliest(&wheel), earliest_deadline());
        }
    }
}

TEST(anything_may_happen_between_two_turns) {
    /* Timers are inserted and removed while a slot is half moved; equal ones keep their order. */
    for (unsigned seed = 0; seed < 40; seed++) {
        int64_t now = START;
        begin(now, seed);
        for (int round = check_scaled(100); round > 0; round--) {
            for (int i = 0; i < ITEMS / 4; i++) {
                item *it = &items[th_random_below(&dice, ITEMS)];
                if (!it->inside) {
                    insert(it, now + th_random_below(&dice, 30) * (TICK / 3));
                }
            }
            now += th_random_below(&dice, 40) * (TICK / 3);
            while (th_wheel_turn(&wheel, now, 1 + th_random_below(&dice, 3))) {
                item *it = &items[th_random_below(&dice, ITEMS)];
                if (it->inside) {
                    withdraw(it);
                } else {
                    insert(it, items[th_random_below(&dice, ITEMS)].deadline);
                }
                CHECK(th_wheel_earliest(&wheel) <= earliest_deadline());
                CHECK(th_wheel_is_valid(&wheel));
            }
            expire(now, 5);
        }
        check_all();
    }
}

/* ---- earliest after removals ---- */

TEST(one_wake_makes_earliest_exact_again) {
    /* After removals an idle scheduler wakes for nothing once at most, if nothing changes
     * meanwhile. */
    for (unsigned seed = 0; seed < 200; seed++) {
        int64_t now = START;
        begin(now, seed);
        for (int i = 0; i < ITEMS; i++) {
            insert(&items[i], now + distance(50));
        }
        for (int i = 0; i < ITEMS * 3 / 4; i++) {
            item *it = th_random_below(&dice, 2) ? earliest() : &items[th_random_below(&dice, 400)];
            if (it->inside) {
                withdraw(it);
            }
        }
        while (inside > 0) {
            now = th_wheel_earliest(&wheel);
            if (expire(now, 100) == 0) {
                CHECK_EQ(th_wheel_earliest(&wheel), earliest_deadline());
            }
        }
    }
}

TEST(useless_wakes_for_a_far_deadline_are_few) {
    /* However often an earlier timer comes into its slot and goes, one comes a level, no more. */
    int64_t now = START;
    unsigned in_vain = 0;
    int64_t far = now + 200 * YEAR;
    begin(now, 1);
    insert(&items[0], far);
    while (now < far) {
        for (unsigned bits = 0; bits < 63;
             bits++) { /* in its slot, whichever that is, and before it */
            int64_t decoy = far - (INT64_C(1) << bits);
            insert(&items[1], decoy > now ? decoy : far);
            withdraw(&items[1]);
        }
        now = th_wheel_earliest(&wheel);
        CHECK(now <= far);
        in_vain += expire(now, 10) == 0;
    }
    CHECK_EQ(inside, 0);
    CHECK(in_vain <= TH_WHEEL_LEVELS);
}

TEST(removal_elsewhere_leaves_earliest_exact) {
    /* Short timeouts that come and go do not disturb the next deadline: this is the common case. */
    begin(START, 1);
    insert(&items[0], START + YEAR);
    for (int i = 0; i < 1000; i++) {
        insert(&items[1], START + distance(36));
        withdraw(&items[1]);
        CHECK_EQ(th_wheel_earliest(&wheel), START + YEAR);
    }
}

/* ---- edges ---- */

TEST(an_empty_wheel_has_nothing) {
    /* It has nothing when it is turned, either, at any time. */
    static const int64_t times[] = {INT64_MIN, -1, 0, START, INT64_MAX};
    for (unsigned i = 0; i < 5; i++) {
        begin(times[i], 1);
        for (unsigned j = 0; j < 5; j++) {
            CHECK_EQ(expire(times[j], 0), 0);
            CHECK_EQ(th_wheel_earliest(&wheel), INT64_MAX);
            CHECK(take_any() == NULL);
            check_all();
        }
    }
}

TEST(every_deadline_from_every_time) {
    /*
     * The deadlines are the ends of int64_t, zero, ticks and powers of two with their neighbours,
     * seen from such times.
     */
    static int64_t points[ITEMS];
    int n = 0;
    points[n++] = INT64_MIN;
    points[n++] = INT64_MAX;
    for (unsigned bit = 0; bit < 63; bit += 3) {
        int64_t power = INT64_C(1) << bit;
        for (int64_t near = -1; near <= 1; near++) {
            points[n++] = power + near;
            points[n++] = -power + near;
        }
    }
    for (int i = 0; i < n; i++) {
        begin(points[i], 1);
        for (int j = 0; j < n; j++) {
            insert(&items[j], points[(j * 7 + i) % n]);
        }
        CHECK_EQ(th_wheel_earliest(&wheel), INT64_MIN);
        for (int j = 0; j < n; j++) {
            expire(points[(j * 11) % n], 1000);
        }
        check_all();
        expire(INT64_MAX, 1000);
        while (inside > 0) { /* those that never come due */
            th_timer *timer = take_any();
            CHECK_EQ(th_container(timer, item, timer)->deadline, INT64_MAX);
            leave(th_container(timer, item, timer));
        }
    }
}

TEST(a_timer_that_never_comes_due_can_be_removed_and_visited) {
    /* INT64_MAX is no deadline, not even at the end of time. */
    begin(START, 1);
    insert(&items[0], INT64_MAX);
    insert(&items[1], INT64_MAX);
    CHECK_EQ(th_wheel_earliest(&wheel), INT64_MAX);
    CHECK_EQ(expire(INT64_MAX, 10), 0);
    check_all();
    withdraw(&items[0]);
    CHECK(th_wheel_next(&wheel, NULL) == &items[1].timer);
    CHECK(th_wheel_next(&wheel, &items[1].timer) == NULL);
    withdraw(&items[1]);
    check_all();
}

TEST(time_that_goes_back_changes_nothing) {
    /* What is inserted afterwards, for times before the newest turn, is still in exact order. */
    begin(START, 1);
    expire(START + YEAR, 1);
    for (int i = 0; i < ITEMS; i++) {
        insert(&items[i], START + distance(56));
    }
    CHECK_EQ(expire(START - 1, 1), 0);
    for (int64_t now = START; inside > 0; now += YEAR / 100) {
        expire(now, 3);
        CHECK_EQ(th_wheel_earliest(&wheel), earliest_deadline());
    }
}

TEST(a_turn_moves_no_more_than_it_may) {
    /* Many timers of one far slot come near in steps; each is moved once a level at most. */
    enum { MOST = 10 };
    int turns = 0;
    size_t before;
    size_t count = 0;
    begin(START, 1);
    for (int i = 0; i < ITEMS; i++) {
        insert(&items[i], START + YEAR + i);
    }
    do {
        before = count;
        turns++;
        th_treap_is_valid(&wheel.near, &count);
        CHECK(count - before <= MOST);
    } while (th_wheel_turn(&wheel, START + 2 * YEAR, MOST));
    CHECK(turns >= ITEMS / MOST);
    CHECK(turns <= ITEMS / MOST * (int)TH_WHEEL_LEVELS);
    CHECK_EQ(expire(START + 2 * YEAR, MOST), ITEMS);
}

TEST(take_gives_all_in_every_place) {
    /* There are near ones, far ones, those being moved, and those that never come due. */
    begin(START, 1);
    for (int i = 0; i < ITEMS; i++) {
        insert(&items[i], any_deadline(START));
    }
    CHECK(th_wheel_turn(&wheel, START + 100 * YEAR, 20));
    check_all();
    while (inside > 0) {
        leave(th_container(take_any(), item, timer));
    }
    CHECK(take_any() == NULL);
    check_all();
}

TEST(freed_timers_are_not_touched) {
    /* Each is freed as soon as it is the caller's again; the address sanitizer watches. */
    enum { N = 500 };
    static th_timer *all[N];
    int64_t now = START;
    begin(now, 3);
    for (int round = check_scaled(20000); round > 0; round--) {
        unsigned i = th_random_below(&dice, N);
        if (!all[i]) {
            all[i] = malloc(sizeof(*all[i]));
            th_wheel_insert(&wheel, all[i], now + distance(36));
        } else {
            th_wheel_remove(&wheel, all[i]);
            free(all[i]);
            all[i] = NULL;
        }
    }
    for (th_timer *timer; (timer = take_any()) != NULL;) {
        free(timer);
    }
    CHECK_EQ(th_wheel_count(&wheel), 0);
}

/* ---- many ---- */

static th_timer *many;

static unsigned fill(const int64_t *deadlines, unsigned kinds) {
    unsigned n = (unsigned)check_scaled(1000000) / (2 * kinds) * 2 * kinds;
    many = calloc(n, sizeof(many[0]));
    CHECK(many != NULL);
    begin(START, 1);
    for (unsigned i = 0; i < n; i++) {
        th_wheel_insert(&wheel, &many[i], deadlines[i % kinds]);
    }
    CHECK_EQ(th_wheel_count(&wheel), n);
    return n;
}

TEST(a_million_of_one_deadline_come_in_order) {
    /* It lies in the past, in the present tick, or far away; first inserted is first popped. */
    static const int64_t deadlines[] = {START - YEAR, START, START + YEAR, START + YEAR};
    for (unsigned kind = 0; kind < 3; kind++) {
        unsigned n = fill(&deadlines[kind], 1);
        while (th_wheel_turn(&wheel, START + YEAR, 100)) {
        }
        CHECK(th_wheel_is_valid(&wheel));
        for (unsigned i = 0; i < n; i++) {
            CHECK(th_wheel_pop(&wheel, START + YEAR) == &many[i]);
        }
        free(many);
    }
}

TEST(a_million_of_few_deadlines_come_in_order) {
    /*
     * Equal ones are mixed with others in one slot: they are ordered by deadline, then by
     * insertion.
     */
    static const int64_t deadlines[] = {START + YEAR + 3, START + YEAR + 1, START + YEAR + 2};
    static const unsigned order[] = {1, 2, 0};
    unsigned n = fill(deadlines, 3);
    while (th_wheel_turn(&wheel, START + 2 * YEAR, 1000)) {
    }
    for (unsigned kind = 0; kind < 3; kind++) {
        for (unsigned i = order[kind]; i < n; i += 3) {
            CHECK(th_wheel_pop(&wheel, START + 2 * YEAR) == &many[i]);
        }
    }
    CHECK_EQ(th_wheel_count(&wheel), 0);
    free(many);
}

TEST(a_million_are_removed_in_any_order) {
    /* First in first, last in first, or every other one; from one far slot, and from the treap. */
    static const int64_t far = START + YEAR;
    static const int64_t near[] = {START, START - 1, START - 5, START - 3};
    for (unsigned kind = 0; kind < 6; kind++) {
        unsigned n = kind < 3 ? fill(&far, 1) : fill(near, 4);
        for (unsigned i = 0; i < n; i++) {
            unsigned which = kind % 3 == 0   ? i
                             : kind % 3 == 1 ? n - 1 - i
                                             : i * 2 % n + (i >= n / 2);
            th_wheel_remove(&wheel, &many[which]);
        }
        CHECK_EQ(th_wheel_count(&wheel), 0);
        CHECK(th_wheel_is_valid(&wheel));
        free(many);
    }
}

TEST(a_million_sorted_deadlines_make_no_deep_treap) {
    /* They are rising, falling and from both ends: the ranks keep it low, so nothing takes long. */
    for (unsigned kind = 0; kind < 3; kind++) {
        unsigned n = (unsigned)check_scaled(1000000);
        unsigned deepest = 0;
        many = calloc(n, sizeof(many[0]));
        CHECK(many != NULL);
        begin(START, 1);
        for (unsigned i = 0; i < n; i++) {
            int64_t by = kind == 0 || (kind == 2 && i % 2) ? (int64_t)i : -(int64_t)i;
            th_wheel_insert(&wheel, &many[i], START - YEAR + by);
        }
        for (unsigned i = 0; i < n; i += 97) {
            unsigned depth = 0;
            for (th_timer *t = &many[i]; t != &wheel.near.anchor; t = t->parent) {
                depth++;
            }
            deepest = depth > deepest ? depth : deepest;
        }
        CHECK(deepest < 100); /* it is some 50 for a million */
        CHECK(th_wheel_is_valid(&wheel));
        free(many);
    }
}
