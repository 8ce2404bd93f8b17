/*
 * sound.c: programs without a fault in which a simulator could see one: they must stay silent.
 */
#include "planted.h"
#include "platform/platform.h"

static unsigned data, flag;

THREAD(spins) {
    while (!th_load_acquire(&flag)) {
        th_os_relax();
    }
    sim_check(data == 1);
}
/*
 * Two spin until a third has done its part: the search must let it, though each of the two could
 * hand over to the other for ever.
 */
SIM_WORLD(sound_fair_spins, .exhaustive = true, .preemptions = 1, .steps_max = 1000) {
    int a = sim_spawn(spins, NULL);
    int b = sim_spawn(spins, NULL);
    data = 1;
    th_store_release(&flag, 1u);
    sim_join(a);
    sim_join(b);
}
