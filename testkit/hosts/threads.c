/*
 * threads.c: the threads of a host that crashes or is paused.
 */
#include "hosts/hosts.h"

void threads_drop(unsigned host) {
    for (unsigned i = 0; i < E->thread_count; i++) {
        sim_thread *t = &E->threads[i];
        if (t->host == host && !t->gone) {
            const uint32_t others = ~(1u << i);
            t->state = T_ENDED;
            t->gone = true;
            t->started = 0;
            E->runnable &= others;
            E->frozen &= others;
            E->asleep &= others;
            E->tired &= others;
        }
    }
}

void threads_pause(unsigned host, bool pause) {
    uint32_t *from = pause ? &E->runnable : &E->frozen;
    uint32_t *to = pause ? &E->frozen : &E->runnable;
    uint32_t all = 0;
    for (unsigned i = 0; i < E->thread_count; i++) {
        all |= E->threads[i].host == host ? 1u << i : 0;
    }
    *to |= *from & all;
    *from &= ~all;
    E->hosts_paused = pause ? E->hosts_paused | 1u << host : E->hosts_paused & ~(1u << host);
}
