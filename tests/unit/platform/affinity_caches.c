/*
 * affinity_caches.c: workers that get the CPUs that share a cache, on made-up machines.
 */
/* POSIX: /sys, <ftw.h> */
#include "support/support.h"

#include <ftw.h>
#include <sys/stat.h>

#include "core/basis/affinity.h"

static char root[64];

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at) {
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

static void drop_root(void) {
    nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void make_root(void) {
    strcpy(root, "/tmp/thrum-affinity-XXXXXX");
    CHECK(mkdtemp(root) != NULL);
    atexit(drop_root);
}

/* Says which CPUs share a cache of `cpu`. */
static void put_cache(unsigned cpu, unsigned index, const char *list) {
    char path[256];
    const char *folders[] = {"/sys", "/sys/devices", "/sys/devices/system",
                             "/sys/devices/system/cpu"};
    for (size_t i = 0; i < COUNT_OF(folders); i++) {
        snprintf(path, sizeof(path), "%s%s", root, folders[i]);
        mkdir(path, 0777);
    }
    snprintf(path, sizeof(path), "%s%s/cpu%u", root, folders[3], cpu);
    mkdir(path, 0777);
    strcat(path, "/cache");
    mkdir(path, 0777);
    sprintf(path + strlen(path), "/index%u", index);
    mkdir(path, 0777);
    strcat(path, "/shared_cpu_list");
    FILE *f = fopen(path, "w");
    CHECK(f != NULL);
    fputs(list, f);
    fclose(f);
}

static th_os_cpuset set_of(uint64_t first, uint64_t second) {
    return (th_os_cpuset){{first, second}};
}

#define CHECK_PART(affinity, set, index, first, second)                                            \
    do {                                                                                           \
        th_os_cpuset part;                                                                         \
        th_affinity_of((affinity), (set), (index), root, &part);                                   \
        CHECK_EQ(part.bits[0], (first));                                                           \
        CHECK_EQ(part.bits[1], (second));                                                          \
        CHECK_EQ(th_affinity_count(&part),                                                         \
                 __builtin_popcountll(first) + __builtin_popcountll(second));                      \
    } while (0)

TEST(those_that_share_a_cache) {
    /*
     * A worker gets the CPUs of its group that are in the set; of the third level, else of the
     * second.
     */
    NOT_BY_POSIX("sets of CPUs");
    const th_os_cpuset set = set_of(0x37u, 0u); /* 0 1 2 4 5 */
    make_root();
    put_cache(0, 3, "0-1,64\n");
    put_cache(1, 3, "0-1,64\n");
    put_cache(2, 3, "2-3\n");
    put_cache(2, 2, "2\n");
    put_cache(4, 2, "4-5\n");
    CHECK_PART(THRUM_AFFINITY_CACHE, &set, 0, 0x3u, 0u);
    CHECK_PART(THRUM_AFFINITY_CACHE, &set, 1, 0x3u, 0u);
    CHECK_PART(THRUM_AFFINITY_CACHE, &set, 2, 0x4u, 0u);
    CHECK_PART(THRUM_AFFINITY_CACHE, &set, 3, 0x30u, 0u);
    CHECK_PART(THRUM_AFFINITY_CACHE, &set, 5, 0x3u, 0u);
    CHECK_PART(THRUM_AFFINITY_CACHE, &set, 4, 0x37u, 0u); /* 5: its cache is unknown */
}

TEST(without_caches_any_of_the_set) {
    /* There are no files, files of another kind, and lists without the CPU itself. */
    static const char *const bad[] = {"", "\n", "x", "-3", "1-", "0-1;2", "7\n", "99999999999\n"};
    const th_os_cpuset set = set_of(0xfu, 0u);
    make_root();
    CHECK_PART(THRUM_AFFINITY_CACHE, &set, 0, 0xfu, 0u);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        put_cache(0, 3, bad[i]);
        CHECK_PART(THRUM_AFFINITY_CACHE, &set, 0, 0xfu, 0u);
    }
}
