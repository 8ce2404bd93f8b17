/*
 * order.c: kernels about the order of accesses, and about steps that must not be taken apart.
 */
#include <stdatomic.h>

#include "kernels.h"

static thrum_mutex lock = THRUM_MUTEX_INIT;
static thrum_rwlock rw = THRUM_RWLOCK_INIT;
static thrum_chan *chan;
static int value;

/* ---- an object is published before it is complete ---- */

typedef struct settings {
    int limit;
} settings;
static settings loaded;
static _Atomic(settings *) current;

static int publishes(void *arg) {
    (void)arg;
    if (fixed) {
        loaded.limit = 8;
    }
    current = &loaded;
    if (!fixed) {
        thrum_test_point("published, but not complete");
        loaded.limit = 8;
    }
    return 0;
}

static int looks_at_settings(void *arg) {
    (void)arg;
    const settings *now = current;
    if (now) {
        THRUM_TEST(now->limit == 8);
    }
    return 0;
}

KERNEL(publish_before_init, "check") {
    go(looks_at_settings, NULL);
    go(publishes, NULL);
    go(looks_at_settings, NULL);
    join_all();
    return 0;
}

/* ---- the flag of a double check is set too early ---- */

static atomic_bool made;
static int table;

static void make_table(void) {
    if (made) {
        return; /* the quick way, without the lock */
    }
    thrum_mutex_lock(&lock);
    if (!made) {
        made = !fixed;
        thrum_test_point("the table is not complete");
        table = 42;
        made = true;
    }
    thrum_mutex_unlock(&lock);
}

static int reads_table(void *arg) {
    (void)arg;
    make_table();
    THRUM_TEST(table == 42);
    return 0;
}

KERNEL(double_checked_flag, "check") {
    go(reads_table, NULL);
    go(reads_table, NULL);
    join_all();
    return 0;
}

/* ---- a reader that counts its hits while it holds the lock for reading only ---- */

static int counts_a_hit(void *arg) {
    (void)arg;
    if (fixed) {
        thrum_rwlock_wrlock(&rw);
    } else {
        thrum_rwlock_rdlock(&rw);
    }
    const int hits = value;
    thrum_test_point("between load and store");
    value = hits + 1;
    thrum_rwlock_unlock(&rw);
    return 0;
}

KERNEL(write_in_read_section, "check") {
    go(counts_a_hit, NULL);
    go(counts_a_hit, NULL);
    join_all();
    THRUM_TEST(value == 2);
    return 0;
}

/* ---- the size of a queue is checked before the lock is taken ---- */

static int items[2];
static atomic_uint count;

static int adds_if_room(void *arg) {
    (void)arg;
    bool room = count < 2;
    thrum_mutex_lock(&lock);
    if (fixed) {
        room = count < 2;
    }
    if (room) {
        THRUM_TEST(count < 2);
        items[count++] = 1;
    }
    thrum_mutex_unlock(&lock);
    return 0;
}

KERNEL(size_checked_outside, "check") {
    go(adds_if_room, NULL);
    go(adds_if_room, NULL);
    go(adds_if_room, NULL);
    join_all();
    return 0;
}

/* ---- an object is found, and gone before it is counted as used ---- */

typedef struct object {
    int refs;
    bool gone;
} object;
static object only = {.refs = 1};
static object *entry = &only;

static void drop(object *o) {
    thrum_mutex_lock(&lock);
    o->gone = --o->refs == 0;
    thrum_mutex_unlock(&lock);
}

static int finds(void *arg) {
    (void)arg;
    thrum_mutex_lock(&lock);
    object *o = entry;
    if (!fixed) {
        thrum_mutex_unlock(&lock);
        thrum_mutex_lock(&lock); /* the object has a lock of its own */
    }
    if (o) {
        THRUM_TEST(!o->gone);
        o->refs++;
    }
    thrum_mutex_unlock(&lock);
    if (o) {
        drop(o);
    }
    return 0;
}

static int removes(void *arg) {
    (void)arg;
    thrum_mutex_lock(&lock);
    object *o = entry;
    entry = NULL;
    thrum_mutex_unlock(&lock);
    drop(o);
    return 0;
}

KERNEL(reference_too_late, "check") {
    go(removes, NULL);
    go(finds, NULL);
    join_all();
    return 0;
}

/* ---- the head of a free list is the same again, but its next node is not ---- */

typedef struct node {
    struct node *next;
    bool taken;
} node;
static node nodes[3] = {{.next = &nodes[1]}, {.next = &nodes[2]}, {.next = NULL}};
static node *head = &nodes[0];

static node *take_node(void) {
    thrum_mutex_lock(&lock);
    node *first = head, *second = first ? first->next : NULL;
    if (!fixed) {
        thrum_mutex_unlock(&lock);
        thrum_mutex_lock(&lock);
    }
    if (head != first) {
        first = NULL; /* another task was faster */
    } else if (first) {
        head = second;
        THRUM_TEST(!first->taken);
        first->taken = true;
    }
    thrum_mutex_unlock(&lock);
    return first;
}

static int takes_two(void *arg) {
    (void)arg;
    node *one = take_node();
    (void)take_node();
    if (one) {
        thrum_mutex_lock(&lock);
        one->taken = false;
        one->next = head;
        head = one;
        thrum_mutex_unlock(&lock);
    }
    return 0;
}

KERNEL(aba_free_list, "check") {
    go(takes_two, NULL);
    go(takes_two, NULL);
    join_all();
    return 0;
}

/* ---- a message that is not sent is dropped by the call and by its caller ---- */

static int references = 1;

static void drop_message(void) {
    thrum_mutex_lock(&lock);
    references--;
    THRUM_TEST(references >= 0);
    thrum_mutex_unlock(&lock);
}

static int pass_on(int number) {
    const int err = thrum_chan_send(chan, &number);
    if (err != 0) {
        drop_message();
    }
    return err;
}

static int passes_on(void *arg) {
    (void)arg;
    if (pass_on(1) != 0 && !fixed) {
        drop_message();
    }
    return 0;
}

static int closes_and_drains(void *arg) {
    int number;
    (void)arg;
    MUST(thrum_chan_close(chan));
    while (thrum_chan_recv(chan, &number) == 0) {
        drop_message();
    }
    return 0;
}

KERNEL(dropped_twice, "check") {
    MUST(thrum_chan_create(&chan, sizeof(int), 1));
    go(passes_on, NULL);
    go(closes_and_drains, NULL);
    join_all();
    return thrum_chan_destroy(chan);
}
