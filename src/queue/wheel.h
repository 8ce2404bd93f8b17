/* interim: a sorted list; the wheel is built in another branch */
#ifndef TH_WHEEL_H
#define TH_WHEEL_H
#include "base/cc.h"
typedef struct th_timer {
    struct th_timer *next, *prev, *child;
    int64_t deadline;
} th_timer;
typedef struct th_wheel {
    th_timer *first;
    size_t count;
} th_wheel;
static inline void th_wheel_init(th_wheel *w, int64_t now) {
    (void)now;
    *w = (th_wheel){0};
}
static inline void th_wheel_insert(th_wheel *w, th_timer *t, int64_t deadline) {
    th_timer *before = NULL, *at = w->first;
    t->deadline = deadline;
    while (at && at->deadline <= deadline) {
        before = at;
        at = at->next;
    }
    t->next = at;
    t->prev = before;
    if (at)
        at->prev = t;
    if (before)
        before->next = t;
    else
        w->first = t;
    w->count++;
}
static inline void th_wheel_remove(th_wheel *w, th_timer *t) {
    if (t->next)
        t->next->prev = t->prev;
    if (t->prev)
        t->prev->next = t->next;
    else
        w->first = t->next;
    w->count--;
}
static inline int64_t th_wheel_earliest(const th_wheel *w) {
    return w->first ? w->first->deadline : INT64_MAX;
}
static inline bool th_wheel_turn(th_wheel *w, int64_t now, unsigned most) {
    (void)w;
    (void)now;
    (void)most;
    return false;
}
static inline th_timer *th_wheel_pop(th_wheel *w, int64_t now) {
    th_timer *t = w->first;
    if (!t || t->deadline > now || t->deadline == INT64_MAX)
        return NULL;
    th_wheel_remove(w, t);
    return t;
}
static inline th_timer *th_wheel_any(th_wheel *w) {
    return w->first;
}
static inline th_timer *th_wheel_any_forever(th_wheel *w) {
    th_timer *t = w->first;
    while (t && t->deadline != INT64_MAX)
        t = t->next;
    return t;
}
#endif
